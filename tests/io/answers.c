/* answers.c -- the process that reads a file is at the mercy of the file and answers what can't be: the program refuses it. */
#include "child_helpers.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pid_t program;
static void (*lie)(spti_io_shared *); /* changes what the child has written before the program sees it */

ssize_t send(int socket, const void *data, size_t bytes, int flags) {
  ssize_t (*real)(int, const void *, size_t, int);
  REAL("send");
  if (lie != NULL && getpid() != program) lie(find_shared());
  return real(socket, data, bytes, flags);
}

static void prepare(void) {
  make_folder();
  program = getpid();
}

TestSuite(io_answers, .init = prepare, .fini = remove_folder);

/* A load inside another one has its own report of lacking memory, and leaves to the outer one what it has seen. */
Test(io_answers, reports_inside_reports) {
  spti_io_report outer, inner;
  memset(&outer, 1, sizeof outer);
  memset(&inner, 1, sizeof inner);
  spti_io_take_report(&outer);
  spti_io_take_report(&inner);
  spti_io_give_report(&inner);
  cr_assert_not(spti_io_lacked_memory());
  spti_io_note_lack();
  spti_io_take_report(&inner);
  cr_assert_not(spti_io_lacked_memory());
  spti_io_give_report(&inner);
  cr_assert(spti_io_lacked_memory());
  spti_io_give_report(&outer);
}

static spti_io_dataset wrong; /* fields that are not 0 take the place of those of the answer */

static void describe_wrongly(spti_io_shared *s) {
  spti_io_dataset *d = &s->calls[0].dataset;
  if (d->rank == 0) return;        /* not the answer of an inspection */
  d->file = NULL, d->where = NULL; /* the program has its own */
  if (wrong.rank != 0) d->rank = wrong.rank;
  if (wrong.count != 0) d->count = wrong.count;
  if (wrong.number.dtype != 0) d->number.dtype = wrong.number.dtype;
  if (wrong.chunk_bytes != 0) d->chunk_bytes = wrong.chunk_bytes;
  if (wrong.filter_bytes != 0) d->filter_bytes = wrong.filter_bytes;
  for (int k = 0; k < 2; k++) {
    if (wrong.dims[k] != 0) d->dims[k] = wrong.dims[k];
    if (wrong.chunk[k] != 0) d->chunk[k] = wrong.chunk[k] > 0 ? wrong.chunk[k] : 0;
  }
  memset(d->number.name, wrong.number.name[0] != 0 ? 'x' : 0, sizeof d->number.name);
}

Test(io_answers, a_dataset_described_wrongly) {
  const spti_io_dataset descriptions[] = {
      {.rank = 3},     {.rank = 1},        {.count = 9},        {.count = -8},        {.dims = {-4, -2}},        {.dims = {1 << 30}},
      {.chunk = {-1}}, {.chunk = {0, -1}}, {.number.dtype = 9}, {.number.name = "x"}, {.chunk_bytes = SIZE_MAX}, {.filter_bytes = SIZE_MAX},
  };
  sptrsm_file_block *X;
  write_numbers("B", 2, (hsize_t[]){4, 2}, (hsize_t[]){2, 2});
  lie = describe_wrongly;
  OK(sptrsm_file_block_load(&X, file, -1, NULL));
  sptrsm_file_block_free(X);
  for (size_t k = 0; k < sizeof descriptions / sizeof *descriptions; k++) {
    wrong = descriptions[k];
    fails(sptrsm_file_block_load(&X, file, -1, NULL), SPTRSM_ERR_IO, "an impossible answer");
  }
}

static int change;

/* A listing of one block begins with the number of its kind; its path "/B" follows sizes and type. */
static void list_wrongly(spti_io_shared *s) {
  spti_io_call *c = &s->calls[0];
  char *window = s->windows[0];
  int kind = 1 << 20;
  c->window = NULL;
  if (c->used == 0 || window[0] != 2) return; /* not the list */
  switch (change) {
  case 1: memcpy(window, &kind, sizeof kind); return;
  case 2: kind = -1, memcpy(window, &kind, sizeof kind); return;
  case 3: c->used = (size_t)1 << 40; return;
  case 4: c->used = SPTI_IO_WINDOW + 1; return;
  case 5: c->used--; return; /* the rule has no end */
  case 6: c->used = 5; return;
  case 7: memset(window + sizeof kind, 'x', c->used - sizeof kind); return;
  default: return;
  }
}

Test(io_answers, a_list_with_impossible_entries) {
  sptrsm_file_listing list;
  write_numbers("B", 2, (hsize_t[]){4, 2}, NULL);
  lie = list_wrongly;
  OK(sptrsm_file_list(&list, file, NULL));
  cr_assert(list.count == 1 && list.entries[0].rows == 4 && list.entries[0].cols == 2 && list.entries[0].nnz == -1);
  cr_assert_str_eq(list.entries[0].path, "/B");
  cr_assert_str_eq(list.entries[0].kind, "block");
  cr_assert_str_eq(list.entries[0].rule, "2-D dataset");
  cr_assert_str_eq(list.entries[0].type, "f64");
  sptrsm_file_listing_free(&list);
  for (change = 1; change <= 7; change++) {
    list = (sptrsm_file_listing){0};
    fails(sptrsm_file_list(&list, file, NULL), SPTRSM_ERR_IO, "an impossible answer");
    cr_assert(list.entries == NULL);
  }
}
