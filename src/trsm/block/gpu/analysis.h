/* analysis.h -- the analysis of `block`: makes its panels (kernels.h) on the device from a pull view. */
#ifndef SPTI_TRSM_BLOCK_GPU_ANALYSIS_H
#define SPTI_TRSM_BLOCK_GPU_ANALYSIS_H

#include "core/base/variant.h"
#include "core/levels/row_panels_gpu.h"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/gpu/kernels.h"

typedef struct {
  int32_t rows, least; /* most rows of a panel; rows before it may end early (core/levels/row_panels_gpu.h) */
  int32_t window;      /* columns share a step only within a window of this many places in ready order: a multiple of 64 */
  int32_t bound;       /* on |inverse| |diagonal block| in rows of few terms: above it the product with the inverse is refined */
  int32_t spare;       /* factor by which the lowered limit of rows of few terms is raised (limits.cuh) */
  int32_t refine;      /* where it is exceeded both in solutions and in residuals, the block is substituted; at most SPTI_BLOCK_REFINE_F32
                        * in single precision */
  int32_t products;    /* 32 or 64: bits of the numbers in which products of f32 and c64 are computed */
} spti_block_settings;

/* The inverse is kept in the type of the values; a step of refinement with products in f64 leaves (bound * unit roundoff)^2 of its
 * error. */
enum { SPTI_BLOCK_REFINE_F32 = 1000 };

typedef struct {
  spti_block_settings set;
  spti_block_panels panels;
  int64_t totals[SPTI_BLOCK_TOTALS]; /* steps, tiles, tiles of diagonal blocks, of near steps */
  int32_t levels;                    /* of panels */
  spti_block_values_args args;       /* the arrays of panels, writable */
  int32_t *herald;                   /* likewise */
  spti_row_panels found;             /* the partition of rows into panels; new values need it */
  void *memory[2];                   /* device: arrays by panels, and arrays by steps and tiles */
  void *scratch;                     /* device, during the analysis only */
  size_t bytes;                      /* of found and memory */
} spti_block_analysis;

/* Deterministic. Waits for the device twice. UNSUPPORTED where offsets are beyond 32 bits or the panels are much larger than the matrix.
 * After a failure, too, call spti_block_analysis_free. */
sptrsm_status spti_block_analysis_make(spti_block_analysis *out, sptrsm_plan *, const spti_block_settings *);
sptrsm_status spti_block_analysis_update(const spti_block_analysis *, const sptrsm_plan *);         /* new values, same pattern */
sptrsm_status spti_block_flagged(int32_t out[3], const spti_block_analysis *, const sptrsm_plan *); /* substituted, refined, apart; waits */
void spti_block_analysis_free(spti_block_analysis *, const sptrsm_plan *);

/* Its parts, for panels of which only a range is on the device (streamed/). A range has panels 0 to count - 1 and the pointers of its view
 * are those of the whole view, as far as its rows go: places, lines and columns keep their numbers, entries count from its first. */
spti_block_settings spti_block_defaults(void);
/* Reads the parameters of a variant. more [more_count]: beside those of block. */
enum { SPTI_BLOCK_SETTINGS_MORE = 3 /* at most */ };
sptrsm_status spti_block_parse(const char *method, spti_block_settings *, int32_t *tile, const spti_setting *more, int more_count,
                               const char *text);
sptrsm_status spti_block_check_device(const sptrsm_context *);
bool spti_block_is_single(const spti_block_settings *, const sptrsm_plan *); /* products are in f32 */
sptrsm_status spti_block_check_window(const spti_block_settings *, int32_t n);
spti_block_values_args spti_block_args(const spti_block_settings *, const spti_view *, int32_t count); /* without arrays */
/* Place the arrays by panels, and those by steps and tiles, in one memory each; return its size. */
size_t spti_block_lay_out_panels(spti_block_values_args *, void *memory /* NULL: only the size */);
size_t spti_block_lay_out_tiles(spti_block_values_args *, int32_t **herald, const int64_t *totals, void *memory);
spti_block_panels spti_block_panels_of(const spti_block_analysis *); /* from args and herald */
/* Steps, unless they are there, then values, inverses and near columns. Reads args, herald, totals and panels. */
sptrsm_status spti_block_fill(const spti_block_analysis *, const spti_view *, const sptrsm_context *, bool has_steps);

#endif
