/* factors.c -- sends a factor set from rank 0 to all others, so that the file is read and validated once. The entries of large matrices lie
 * once in the memory of each machine, but for rank 0, which has its own.
 *
 * The structs are sent as they are, since all ranks run the same program; then each array and text in a fixed order, and the receiving
 * ranks put their own pointers in place of those of rank 0. A rank without memory is no rank less: it ends the run.
 */
#include "solve/ranks/factors.h"

#include <stdlib.h>
#include <string.h>

#include "solve/ranks/ranks.h"

enum { SHARED_LEAST = 4 << 20 }; /* bytes of an array that ranks of one machine have once */

/* Sends an array of rank 0; the others get one of their own, which they free. */
static bool send_array(void *array /* a pointer's address */, size_t bytes) {
  char *data;
  memcpy(&data, array, sizeof data); /* the address of rank 0 only tells whether there is an array */
  const bool is_there = data != NULL;
  if (!is_there) return true;
  if (ranks_own() > 0) data = cli_large_memory(bytes);
  if (ranks_own() > 0) memcpy(array, &data, sizeof data);
  if (data == NULL) return false;
  ranks_send(data, bytes);
  return true;
}

/* Likewise the entries of a matrix. *mapped: bytes that the others have mapped, as for a matrix whose file is mapped; 0: a copy. */
static bool send_entries(void *array, size_t bytes, size_t *mapped) {
  void *data;
  memcpy(&data, array, sizeof data);
  if (data == NULL || bytes < SHARED_LEAST || !ranks_share(&data, bytes)) return send_array(array, bytes);
  memcpy(array, &data, sizeof data);
  if (ranks_own() > 0) *mapped = bytes;
  return true;
}

static bool send_text(char **text) {
  size_t bytes = ranks_own() == 0 && *text ? strlen(*text) + 1 : 0;
  ranks_send(&bytes, sizeof bytes);
  return send_array(text, bytes);
}

/* *M NULL: there is none. */
static bool send_matrix(sptrsm_file_matrix **M) {
  int64_t shape[2] = {0, 0};
  if (ranks_own() == 0 && *M) {
    const int64_t lines = (*M)->format == SPTRSM_CSR ? (*M)->rows : (*M)->cols;
    shape[0] = lines + 1;
    shape[1] = (*M)->ptr ? (*M)->ptr[lines] : 0;
  }
  ranks_send(shape, sizeof shape);
  if (shape[0] == 0) return *M = NULL, true;
  if (ranks_own() > 0) *M = malloc(sizeof **M);
  if (*M == NULL) return false;
  ranks_send(*M, sizeof **M);
  sptrsm_file_matrix *m = *M;
  char *where = m->where;
  if (ranks_own() > 0) m->where = NULL, m->rule = "of rank 0"; /* texts of rank 0's program may lie elsewhere */
  const size_t entries = (size_t)shape[1];
  bool good = send_array(&m->ptr, (size_t)shape[0] * sizeof *m->ptr) && send_entries(&m->idx, entries * sizeof *m->idx, &m->mapped[0]) &&
              send_entries(&m->val, entries * sptrsm_dtype_bytes(m->dtype), &m->mapped[1]);
  m->where = where;
  return good && send_text(&m->where);
}

/* Describes the arrays of M again. */
static void take_arrays(sptrsm_sparse *T, const sptrsm_file_matrix *M) {
  T->ptr = M->ptr;
  T->idx = M->idx;
  T->val = M->val;
}

static bool send_lists(sptrsm_factors *f, size_t n, size_t value) {
  return send_array(&f->D, n * value) && send_array(&f->D_sub, n * value) && send_array(&f->perm_row, n * sizeof *f->perm_row) &&
         send_array(&f->perm_col, n * sizeof *f->perm_col) && send_array(&f->scale_row, n * sizeof *f->scale_row) &&
         send_array(&f->scale_col, n * sizeof *f->scale_col);
}

static bool send_all(sptrsm_file_factors *F) {
  if (!send_matrix(&F->L) || !send_matrix(&F->U) || !send_matrix(&F->A) || !send_text(&F->source) || !send_text(&F->rule)) return false;
  if (ranks_own() > 0) {
    take_arrays(&F->L_tri, F->L);
    if (F->U) take_arrays(&F->U_tri, F->U);
    F->factors.L = F->factors.L ? &F->L_tri : NULL;
    F->factors.U = F->factors.U ? &F->U_tri : NULL;
  }
  return send_lists(&F->factors, (size_t)F->L_tri.n, sptrsm_dtype_bytes(F->L_tri.dtype));
}

int ranks_send_factors(sptrsm_file_factors **F) {
  if (ranks_own() > 0) *F = malloc(sizeof **F);
  if (*F == NULL) return cli_no_memory("the factors");
  ranks_send(*F, sizeof **F);
  return send_all(*F) ? CLI_OK : cli_no_memory("the factors"); /* what is lost then is the whole process, by ranks_end */
}
