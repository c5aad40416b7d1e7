/* structgrid_kernels.h -- the device steps of structgrid as C functions. Pointers are device pointers. A launcher queues on the stream
 * and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, then solve. */
#ifndef SPTI_STRUCTGRID_KERNELS_H
#define SPTI_STRUCTGRID_KERNELS_H

#include "core/launch.h"
#include "core/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STRUCTGRID_COLUMNS = 32 }; /* right-hand sides of one pass, at most */

typedef struct {
  spti_view view;         /* pull */
  spti_stencil stencil;   /* its grid is the view's */
  const int32_t *present; /* [n] by solve position: which entries a row has (core/stencil_kernels.h); NULL: all that the grid allows */
  void *soa;              /* values by stencil entry, or NULL: those of the view are read */
  spti_transfer transfer; /* width <= SPTI_STRUCTGRID_COLUMNS */
  int32_t lanes_log;      /* 2^lanes_log lanes have a right-hand side each; 32 >> lanes_log lines are solved side by side by a warp */
  void *work;             /* x at position s for right-hand side k at (s << lanes_log) + k */
  int32_t workers;        /* warps for each plane */
  int32_t *queue;         /* [Z]: next lines of each plane */
  spti_syncfree sync;
} spti_structgrid_args;

/* Values by stencil entry: `group` lines stand side by side, so that lanes that solve them read neighbouring words. The row of line y that
 * is solved in step t of its group, x = t - skew (y % group), has its entry e at line + (t % X) advance + e step; the diagonal, where it
 * is stored, is behind the entries. No place is left empty, but for lines that the last group of a plane lacks. */
typedef struct {
  int64_t line, step, advance; /* in elements */
  int32_t turn;                /* t % X of x = 0 */
} spti_structgrid_place;

static SPTI_ANYWHERE inline int32_t spti_structgrid_entries(const spti_stencil *s) { return (s->cube ? 13 : 3) + (s->far ? 3 : 0); }
static SPTI_ANYWHERE inline int32_t spti_structgrid_skew(const spti_stencil *s) { return s->cube ? 2 : 1; }
static SPTI_ANYWHERE inline int32_t spti_structgrid_group(const spti_stencil *s) { return s->grid[1] < 32 ? s->grid[1] : 32; }
static SPTI_ANYWHERE inline int64_t spti_structgrid_groups(const spti_stencil *s) {
  const int32_t group = spti_structgrid_group(s);
  return group > 0 ? (s->grid[1] + (int64_t)group - 1) / group : 0;
}
static SPTI_ANYWHERE inline spti_structgrid_place spti_structgrid_soa_place(const spti_structgrid_args *a, int32_t y, int32_t z) {
  const spti_stencil *s = &a->stencil;
  const int32_t group = spti_structgrid_group(s), X = s->grid[0];
  const int64_t lines = spti_structgrid_groups(s) * group, line = ((int64_t)y + (s->cube ? z : 0)) % lines;
  const int32_t member = (int32_t)(line % group);
  const int64_t values = spti_structgrid_entries(s) + (a->view.head || a->view.tail), advance = values * group;
  const int64_t before = z * spti_structgrid_groups(s) + line / group;
  const spti_structgrid_place place = {before * X * advance + member, group, advance,
                                       (int32_t)((int64_t)spti_structgrid_skew(s) * member % X)};
  return place;
}

int spti_structgrid_start_launch(const spti_structgrid_args *, void *stream); /* the work unpublished, queues and control zero */
int spti_structgrid_solve_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_soa_launch(const spti_structgrid_args *, void *stream); /* view -> soa */

/* What spti_structgrid_solve_launch chooses from, one file each. */
int spti_structgrid_f32_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_f64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c128_launch(const spti_structgrid_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
