/* profile.c -- see profile.h. The format: "Trace Event Format", events of the kinds X (complete) and M (names of threads). */
#include "solve/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/solver.h"

/* A viewer copes with about as many spans; later ones are counted. */
enum { MOST_SPANS = 1 << 18, MOST_NAMED = 256 };
enum { HELPERS = 1 << 23 }; /* above all numbers of threads */

typedef struct {
  const char *what;
  double begin, end;
  int64_t first, nrhs; /* nrhs 0: no columns in particular */
  int thread;          /* its number, or HELPERS + k: helper k of cli_share, which is a new thread each time */
} span;

typedef struct {
  profile *profile;
  int64_t base; /* the column that is the first one of its block; -1: not known */
} watched;

struct profile {
  pthread_mutex_t lock;
  double start;
  int64_t first_column;
  watched members[DEVICES_MAX];
  span *spans;
  int64_t count, room, lost; /* lost: beyond MOST_SPANS */
  bool lacked_memory;
};

/* ---- keeping ---- */

static bool make_room(profile *p) {
  if (p->count < p->room) return true;
  if (p->room == MOST_SPANS || p->lacked_memory) return false;
  const int64_t room = p->room > 0 ? 2 * p->room : 1024;
  span *spans = realloc(p->spans, (size_t)room * sizeof *spans);
  p->lacked_memory = spans == NULL;
  if (spans == NULL) return false;
  p->spans = spans;
  p->room = room;
  return true;
}

static void keep(profile *p, const span *s) {
  pthread_mutex_lock(&p->lock);
  if (make_room(p)) p->spans[p->count++] = *s;
  else p->lost++;
  pthread_mutex_unlock(&p->lock);
}

double profile_span(profile *p, const char *what, double begin, int64_t first, int64_t nrhs) {
  const double end = cli_now();
  if (p) keep(p, &(span){what, begin, end, first, nrhs, gettid()});
  return end - begin;
}

void profile_base(profile *p, int member, int64_t first) {
  if (p) p->members[member].base = first;
}

static void keep_step(void *user, const sptrsm_span *s) {
  const watched *w = user;
  const bool known = w->base >= 0;
  keep(w->profile, &(span){s->step, s->begin, s->end, known ? w->base + s->first : 0, known ? s->nrhs : 0, gettid()});
}

sptrsm_status profile_watch(profile *p, int member, sptrsm_context *context) {
  p->members[member].profile = p;
  return sptrsm_context_set_trace(context, keep_step, &p->members[member]);
}

static void keep_piece(void *argument, double begin, int member) {
  keep(argument, &(span){"residuals", begin, cli_now(), 0, 0, member > 0 ? HELPERS + member : gettid()});
}

int profile_create(profile **out, int64_t first_column) {
  profile *p = calloc(1, sizeof *p);
  if (p == NULL) return cli_no_memory("the profile");
  pthread_mutex_init(&p->lock, NULL);
  p->start = cli_now();
  p->first_column = first_column;
  cli_watch_pieces(keep_piece, p);
  *out = p;
  return CLI_OK;
}

void profile_free(profile *p) {
  if (p == NULL) return;
  cli_watch_pieces(NULL, NULL);
  pthread_mutex_destroy(&p->lock);
  free(p->spans);
  free(p);
}

/* ---- writing ---- */

/* A thread is called after the first thing that it did; the steps of the library are those of a solve. */
static const char *name_of(const span *s) {
  static const char *const names[][2] = {
      {"read", "read"}, {"judge", "judge"}, {"residuals", "judge"}, {"write", "write"}, {"checkpoint", "write"}};
  if (s->thread == getpid()) return "main";
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(s->what, names[k][0]) == 0) return names[k][1];
  return "solve";
}

static void write_names(const profile *p, FILE *f) {
  int named[MOST_NAMED];
  int count = 0;
  for (int64_t i = 0; i < p->count && count < MOST_NAMED; i++) {
    int k = 0;
    while (k < count && named[k] != p->spans[i].thread) k++;
    if (k < count) continue;
    named[count++] = p->spans[i].thread;
    fprintf(f, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": \"%s\"}},\n", (int)getpid(),
            p->spans[i].thread, name_of(&p->spans[i]));
  }
}

static void write_span(const profile *p, const span *s, FILE *f) {
  const double microseconds = 1e6;
  fprintf(f, ",\n{\"ph\": \"X\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f", s->what, (int)getpid(),
          s->thread, microseconds * (s->begin - p->start), microseconds * (s->end - s->begin));
  if (s->nrhs > 0) {
    const long long first = (long long)(p->first_column + s->first);
    fprintf(f, ", \"args\": {\"columns\": \"%lld:%lld\"}", first, first + (long long)s->nrhs);
  }
  fputc('}', f);
}

int profile_write(profile *p, const char *path) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = p->lacked_memory ? NULL : open_memstream(&text, &size);
  if (f == NULL) return cli_no_memory("the profile");
  fprintf(f, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"program\": \"sptrsm-solve %s\", \"lost_spans\": %lld}, \"traceEvents\": [\n",
          sptrsm_version(), (long long)p->lost);
  write_names(p, f);
  fprintf(f, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": \"sptrsm-solve\"}}", (int)getpid());
  for (int64_t i = 0; i < p->count; i++) write_span(p, &p->spans[i], f);
  fputs("\n]}\n", f);
  const bool whole = !ferror(f);
  int code = fclose(f) == 0 && whole ? cli_write_file(text, size, path) : cli_no_memory("the profile");
  free(text);
  if (p->lost > 0) cli_warning("--profile: %lld spans beyond the first %lld are left out", (long long)p->lost, (long long)p->count);
  return code;
}
