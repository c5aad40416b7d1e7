/* host.c -- sptrsm_matrix_stencil: finds the stencil and the grid of a pattern on the host. */
#include <stdatomic.h>
#include <stdio.h>

#include <sptrsm_inspect.h>

#include "core/context/context.h"
#include "core/matrix/matrix.h"
#include "core/stencil/stencil.h"

/* Do lines have their off-diagonal entries before the diagonal? So do the rows of a lower and the columns of an upper triangle. */
static bool points_back(const spti_view *v) { return v->pull != v->backward; }

static int64_t neighbour_of(const spti_stencil *s, const int8_t offset[3], int64_t point) {
  const int64_t X = s->grid[0], Y = s->grid[1], x = point % X + offset[0], y = point / X % Y + offset[1], z = point / (X * Y) + offset[2];
  return x >= 0 && x < X && y >= 0 && y < Y && z >= 0 ? x + X * (y + Y * z) : -1;
}

static bool fits_line(const spti_view *v, const spti_stencil *s, int count, int8_t offset[][3], int32_t line) {
  const bool back = points_back(v);
  const int64_t begin = spti_view_begin(v, line), end = spti_view_end(v, line), point = back ? line : v->n - 1 - line;
  int64_t p = back ? begin : end - 1, left = end - begin;
  for (int o = 0; o < count && left > 0; o++) {
    const int64_t neighbour = neighbour_of(s, offset[o], point);
    if (neighbour < 0 || v->idx[p] != (back ? neighbour : v->n - 1 - neighbour)) continue;
    p += back ? 1 : -1;
    left--;
  }
  return left == 0;
}

typedef struct {
  const spti_view *view;
  const spti_stencil *stencil;
  int count;
  int8_t offset[SPTI_STENCIL_ENTRIES][3];
  atomic_bool fits;
} check;

enum { PIECE = 4096 /* lines */ };

static void check_lines(void *argument, int64_t piece, int member) {
  check *c = argument;
  (void)member;
  const int32_t begin = (int32_t)(piece * PIECE), end = c->view->n - begin < PIECE ? c->view->n : begin + PIECE;
  bool fits = atomic_load(&c->fits);
  for (int32_t line = begin; fits && line < end; line++) fits = fits_line(c->view, c->stencil, c->count, c->offset, line);
  if (!fits) atomic_store(&c->fits, false);
}

static bool fits_all(const spti_view *v, const spti_stencil *s, spti_team *team) {
  check c = {.view = v, .stencil = s};
  atomic_init(&c.fits, true);
  c.count = spti_stencil_offsets(c.offset, s);
  spti_team_run(team, spti_team_ready(team), ((int64_t)v->n - 1) / PIECE + 1, check_lines, &c);
  return atomic_load(&c.fits);
}

static bool guess_on_host(spti_stencil *out, const spti_view *v, spti_team *team) {
  if (v->n == 0) return false;
  const bool back = points_back(v);
  const int32_t last = back ? v->n - 1 : 0;
  const int64_t begin = spti_view_begin(v, last), count = spti_view_end(v, last) - begin;
  int32_t distance[SPTI_STENCIL_ENTRIES];
  if (count > SPTI_STENCIL_ENTRIES) return false;
  for (int64_t e = 0; e < count; e++) distance[e] = back ? last - v->idx[begin + count - 1 - e] : v->idx[begin + e];
  return spti_stencil_guess(out, v->n, distance, (int)count) && fits_all(v, out, team);
}

sptrsm_status sptrsm_matrix_stencil(char stencil[16], int64_t grid[3], const sptrsm_matrix *matrix) {
  if (!stencil || !grid || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_stencil: stencil, grid or matrix is NULL");
  SPTI_VISIT(matrix->context);
  spti_view v;
  spti_stencil s = {.name = ""};
  SPTI_TRY(spti_matrix_view(&v, matrix, (spti_op){false, false}, SPTI_ANY, SPTRSM_HOST));
  if (!guess_on_host(&s, &v, matrix->context->team)) s = (spti_stencil){.name = ""};
  snprintf(stencil, 16, "%s", s.name);
  for (int d = 0; d < 3; d++) grid[d] = s.grid[d];
  return SPTRSM_OK;
}
