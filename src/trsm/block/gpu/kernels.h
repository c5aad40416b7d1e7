/* kernels.h -- how `block` stores a triangle on the device, and the launchers of its solve kernels.
 *
 * The place of a row is its position in the order of substitution: place s is row s forward and row n-1-s backward. A panel is a run of at
 * most 64 consecutive places, a strip is 16 rows of a panel. The columns before a panel in which any of its rows has an entry are listed
 * once per panel, in the order in which their solutions become ready, and grouped into steps of 8 columns. A step stores a dense tile of
 * 16 rows by 8 columns for each strip that has an entry in it. The rest of the panel, its diagonal block, is stored as a triangle and as
 * the inverse of that.
 *
 * A tile is stored as the A operand of mma.m16n8k8: lane 4 g + t has the elements (g,t), (g+8,t) as its first pair and (g,t+4), (g+8,t+4)
 * as its second; element i of pair h of a lane is value (32 h + lane) 2 + i of the tile. A missing entry is +0, a stored zero is -0. */
#ifndef SPTI_TRSM_BLOCK_GPU_KERNELS_H
#define SPTI_TRSM_BLOCK_GPU_KERNELS_H

#include <sptrsm.h>

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/two_blocks/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_BLOCK_STRIP = 16, SPTI_BLOCK_STRIPS = 4, SPTI_BLOCK_ROWS = 64, SPTI_BLOCK_STEP = 8, SPTI_BLOCK_TILE = 128 };

/* The record of a step: bits 0 to 3 say which strips have a tile, the bits above them are the number of the first of these tiles; the
 * others follow it in the order of the strips. */
static SPTI_ANYWHERE inline int32_t spti_block_step_strips(int64_t step) { return (int32_t)(step & 15); }
static SPTI_ANYWHERE inline int64_t spti_block_step_tile(int64_t step) { return step >> 4; }

/* Number of a tile in the lower half of a diagonal block: half h (columns 8 h to 8 h + 7) of the 16 columns c of strip s; and how many. */
static SPTI_ANYWHERE inline int32_t spti_block_diagonal_tile(int32_t s, int32_t c, int32_t h) { return (s * (s + 1) / 2 + c) * 2 + h; }
static SPTI_ANYWHERE inline int32_t spti_block_diagonal_tiles(int32_t strips) { return strips * (strips + 1); }

/* Flags of a panel for which the product with the inverse alone would lose accuracy: its triangle is solved by substitution, or one step of
 * refinement of the first k strips, flag k * REFINE, follows the product. APART, alone or with REFINE: the near columns, below, are taken
 * like all others. */
enum { SPTI_BLOCK_SUBSTITUTE = 1, SPTI_BLOCK_APART = 2, SPTI_BLOCK_REFINE = 4 };
static SPTI_ANYWHERE inline int32_t spti_block_refined_strips(int32_t flags) { return flags / SPTI_BLOCK_REFINE; }

/* The near steps of a panel are its last steps, whose columns are ready last. Their tiles are stored a second time, multiplied by the
 * inverse: so only one product stands between the arrival of their solutions and the panel's own solutions. Tile i of strip s is number
 * s near + i of them, for `near` near steps. APART panels do not use them, since accuracy would be lost. */
enum { SPTI_BLOCK_NEAR = 16 };
static SPTI_ANYWHERE inline int32_t spti_block_near(int32_t steps) { return steps < SPTI_BLOCK_NEAR ? steps : SPTI_BLOCK_NEAR; }

typedef struct {
  int32_t n, count;          /* places, panels */
  const int32_t *row;        /* [n]: row of each place; NULL: places are the order of substitution (spti_block_solve_args.backward) */
  const int32_t *first;      /* [count+1]: panel p has places [first[p], first[p+1]) */
  const int32_t *order;      /* [count]: panels in the order in which they can be solved */
  const int32_t *step_start; /* [count+1]: panel p has steps [step_start[p], step_start[p+1]) */
  const int32_t *col;        /* [8 steps]: places of the columns; -1: no column */
  const int64_t *step;       /* [steps] */
  const void *tile;          /* [128 tiles] */
  const int32_t *diag_start; /* [count+1]: first tile of panel p in triangle and in inverse */
  const void *triangle;      /* the diagonal block, with ones on a unit diagonal; the identity beyond the panel's end */
  const void *inverse;       /* its inverse; undefined where the panel is substituted */
  const int32_t *near_start; /* [count+1]: first tile of panel p's near steps */
  const void *near;          /* inverse times their tiles; undefined where the panel is substituted or APART */
  const int32_t *flags;      /* [count] */
  const int32_t *herald;     /* [steps] or NULL: the herald of a step is the place that is polled alone before all columns of the step are:
                              * the last place that the panel of the step's last column waits for; -1: none */
} spti_block_panels;

int spti_block_herald_launch(const spti_block_panels *, int64_t steps, int32_t *herald, void *stream);

/* A solve: one thread block for each panel and each tile of right-hand sides. */
typedef struct {
  spti_block_panels panels;
  int32_t backward; /* without panels.row: place s is row n-1-s, not row s */
  spti_transfer between;
  void *work;       /* two blocks of n rows, by place (core/two_blocks/two_blocks.cuh) */
  int64_t ld;       /* of the work blocks: at least between.width, and even unless it is 1; a row has less than 2^31 bytes */
  int32_t single;   /* products and sums of f32 and c64 in f32, not f64 */
  int32_t tile;     /* right-hand sides of a thread block: 8, 16 or 32 (complex: 16 at most); tiles * count < 2^31 */
  int32_t together; /* one of several launches of a solve, with tickets that begin at first_ticket (two_blocks.cuh) */
  int32_t first_ticket;
  spti_syncfree sync; /* control: [SPTI_TWO_BLOCKS_CONTROL_WORDS], as spti_two_blocks_start_launch or the last solve left it */
} spti_block_solve_args;

/* One source file each (f32.cu ... c128.cu), so that they are compiled side by side. */
int spti_block_f32_launch(const spti_block_solve_args *, void *stream);
int spti_block_f64_launch(const spti_block_solve_args *, void *stream);
int spti_block_c64_launch(const spti_block_solve_args *, void *stream);
int spti_block_c128_launch(const spti_block_solve_args *, void *stream);

static inline int spti_block_solve_launch(const spti_block_solve_args *a, sptrsm_dtype dtype, void *stream) {
  switch (dtype) {
  case SPTRSM_F32: return spti_block_f32_launch(a, stream);
  case SPTRSM_F64: return spti_block_f64_launch(a, stream);
  case SPTRSM_C64: return spti_block_c64_launch(a, stream);
  default: return spti_block_c128_launch(a, stream);
  }
}

#ifdef __cplusplus
}
#endif
#endif
