/* rank.c -- finds out whether a matrix is singular by its pattern alone: a maximum matching of columns with rows, by augmenting paths,
 * depth first with a look ahead for a free row [davis2006]. A column without a row makes the matrix singular, whatever its numbers are.
 */
#include <stdlib.h>

#include "factor/factor.h"

typedef struct {
  const factor_matrix *A;
  int64_t *column_of; /* [n] the column a row is matched with, or -1 */
  int64_t *free_from; /* [n] entry at which the look ahead of a column goes on: the rows before are matched */
  int64_t *at;        /* [n] position of the search in each column of the path */
  int64_t *path;      /* [n] columns of the path */
  int64_t *seen;      /* [n] 1 + the last column whose search met this one */
} matching;

/* A free row of column j, or -1. A matched row stays matched, so each entry is looked at once. */
static int64_t look_ahead(matching *m, int64_t j) {
  for (int64_t p = m->free_from[j]; p < m->A->ptr[j + 1]; p++) {
    if (m->column_of[m->A->idx[p]] >= 0) continue;
    m->free_from[j] = p + 1;
    return m->A->idx[p];
  }
  m->free_from[j] = m->A->ptr[j + 1];
  return -1;
}

/* From column j, the last one of the path: the next column, matched with a row of j, that this search has not met; or -1. */
static int64_t next_column(matching *m, int64_t j, int64_t start) {
  for (; m->at[j] < m->A->ptr[j + 1]; m->at[j]++) {
    int64_t other = m->column_of[m->A->idx[m->at[j]]];
    if (m->seen[other] != start + 1) return other;
  }
  return -1;
}

static void match_path(matching *m, int64_t depth, int64_t row) {
  for (; depth >= 0; depth--) {
    m->column_of[row] = m->path[depth];
    if (depth > 0) row = m->A->idx[m->at[m->path[depth - 1]]];
  }
}

static bool augment(matching *m, int64_t start) {
  int64_t depth = 0;
  m->path[0] = start;
  m->at[start] = m->A->ptr[start];
  m->seen[start] = start + 1;
  while (depth >= 0) {
    int64_t j = m->path[depth], row = look_ahead(m, j);
    if (row >= 0) {
      match_path(m, depth, row);
      return true;
    }
    int64_t next = next_column(m, j, start);
    if (next < 0) {
      depth--;
      if (depth >= 0) m->at[m->path[depth]]++;
      continue;
    }
    m->seen[next] = start + 1;
    m->at[next] = m->A->ptr[next];
    m->path[++depth] = next;
  }
  return false;
}

int factor_unmatched(int64_t *column, const factor_matrix *A) {
  int64_t n = A->n, *work = calloc(5 * (size_t)n, sizeof *work);
  *column = -1;
  if (work == NULL) return factor_no_memory("the structural rank");
  matching m = {.A = A, .column_of = work, .free_from = work + n, .at = work + 2 * n, .path = work + 3 * n, .seen = work + 4 * n};
  for (int64_t i = 0; i < n; i++) m.column_of[i] = -1, m.free_from[i] = A->ptr[i];
  for (int64_t j = 0; j < n && *column < 0; j++)
    if (!augment(&m, j)) *column = j;
  free(work);
  return CLI_OK;
}
