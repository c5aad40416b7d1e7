/* kernels.h -- the panels that `block` solves by, in device memory, and the launchers of its kernels.
 *
 * Rows are counted by place: the position in solve order, place s = row s forward, row n-1-s backward. A panel is a run of at most 64
 * consecutive places; a strip, 16 rows of a panel. All columns before the panel that any of its rows needs are listed once per panel, in
 * the order in which they become ready, and dealt out to steps of 8 columns. A step stores a dense tile of 16 rows by 8 columns for each
 * strip that has an entry in it; the rest of the panel, its diagonal block, is kept as a triangle and as its inverse.
 *
 * A tile is stored as the A operand of mma.m16n8k8: lane 4 g + t has the elements (g,t), (g+8,t) as its first pair and (g,t+4), (g+8,t+4)
 * as its second; element i of pair h of a lane is value (32 h + lane) 2 + i of the tile. No entry is +0; a stored zero is -0. */
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

/* A step: its strips as bits 0 to 3, its first tile above them; the tiles of its strips follow each other in the order of the strips. */
static SPTI_ANYWHERE inline int32_t spti_block_step_strips(int64_t step) { return (int32_t)(step & 15); }
static SPTI_ANYWHERE inline int64_t spti_block_step_tile(int64_t step) { return step >> 4; }

/* Tiles of the lower half of a diagonal block: half h (columns 8 h to 8 h + 7) of block column c of strip s. */
static SPTI_ANYWHERE inline int32_t spti_block_diagonal_tile(int32_t s, int32_t c, int32_t h) { return (s * (s + 1) / 2 + c) * 2 + h; }
static SPTI_ANYWHERE inline int32_t spti_block_diagonal_tiles(int32_t strips) { return strips * (strips + 1); }

/* Flag of a panel whose inverse alone would lose accuracy: its triangle is solved by substitution, or one step of refinement follows.
 * APART, alone or with REFINE, is for the near columns only, below. */
enum { SPTI_BLOCK_SUBSTITUTE = 1, SPTI_BLOCK_REFINE = 2, SPTI_BLOCK_APART = 4 };

/* The near steps of a panel: its last ones, whose columns are ready last. Their tiles are kept a second time, multiplied by the inverse,
 * so that one product is all that stands between the last of these solutions and the panel's own. Tile i of strip s, of `near` steps, is
 * number s near + i of them. APART: with these columns multiplied in advance accuracy would be lost. */
enum { SPTI_BLOCK_NEAR = 16 };
static SPTI_ANYWHERE inline int32_t spti_block_near(int32_t steps) { return steps < SPTI_BLOCK_NEAR ? steps : SPTI_BLOCK_NEAR; }

typedef struct {
  int32_t n, count;          /* places, panels */
  const int32_t *first;      /* [count+1]: panel p has places [first[p], first[p+1]) */
  const int32_t *order;      /* [count]: panels in the order in which they can be solved */
  const int32_t *step_start; /* [count+1]: steps of panel p */
  const int32_t *col;        /* [8 steps]: places of the columns; -1: no column */
  const int64_t *step;       /* [steps] */
  const void *tile;          /* [128 tiles] */
  const int32_t *diag_start; /* [count+1]: first tile of panel p's diagonal block, in both of */
  const void *triangle;      /* the block itself, ones on a unit diagonal; beyond the panel's end the identity */
  const void *inverse;       /* its inverse; anything where the panel is substituted */
  const int32_t *near_start; /* [count+1]: first tile of panel p's near steps */
  const void *near;          /* inverse times their tiles; anything where the panel is substituted or APART */
  const int32_t *flags;      /* [count] */
  const int32_t *herald;     /* [steps] or NULL: the place to wait for before asking for all columns of a step: the last that the panel of
                              * its last column waits for; -1: none */
} spti_block_panels;

int spti_block_herald_launch(const spti_block_panels *, int64_t steps, int32_t *herald, void *stream);

/* A solve: a thread block for each panel and each tile of right-hand sides. */
typedef struct {
  spti_block_panels panels;
  int32_t backward; /* place s is row n-1-s, not row s */
  spti_transfer between;
  void *work;         /* two blocks of n rows, by place (core/two_blocks/two_blocks.cuh) */
  int64_t ld;         /* of the work blocks, at least between.width, even unless it is 1; a row of less than 2^31 bytes */
  int32_t tile;       /* right-hand sides of a thread block: 8, 16 or 32 (complex: 16 at most); tiles * count < 2^31 */
  spti_syncfree sync; /* control: [SPTI_TWO_BLOCKS_CONTROL_WORDS], as the last solve or the start left it */
} spti_block_solve_args;

int spti_block_solve_launch(const spti_block_solve_args *, sptrsm_dtype, void *stream);

/* What spti_block_solve_launch chooses from, one file each. */
int spti_block_f32_launch(const spti_block_solve_args *, void *stream);
int spti_block_f64_launch(const spti_block_solve_args *, void *stream);
int spti_block_c64_launch(const spti_block_solve_args *, void *stream);
int spti_block_c128_launch(const spti_block_solve_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
