/* sptrsm_batch.h -- many systems in one call: the solve phase of `count` factor sets, each with right-hand sides of its own.
 *
 * There are two kinds of batches. In a uniform batch all items have one pattern and differ in their values (scenarios, time steps,
 * one circuit with many parameters). In a mixed batch every item has a factor set of its own (subdomains, blocks of a preconditioner).
 *
 *   sptrsm_batch_create_uniform(&batch, context, &values, options);          or sptrsm_batch_create_mixed
 *   sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, NULL);   as often as you like
 *
 * Each item stands for itself. An item with a singular or nonfinite diagonal harms no other: it is left out of solves, and its status
 * says which row is at fault. NaN and Inf elsewhere in its values stay in its X. The bits of an item do not depend on the other items,
 * their number, the mask, strides or threads; on the host they are those of sptrsm_direct_solve with the same method. A mixed batch on a
 * device promises this for method auto alone. Memory that a solve needs has no term in count times nrhs; that of a mixed batch on a device
 * grows with the rows of all items: at most 256 MiB for a system, or what 32 columns of all items take if that is more, unless
 * options.panel or a limit of memory says otherwise.
 * A single lower triangle is a factor set with L alone, solved as system L; the arrays of an upper triangle in CSR are those of its
 * transpose in CSC, so it is system L with op T.
 */
#ifndef SPTRSM_BATCH_H
#define SPTRSM_BATCH_H

#include <sptrsm_refine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sptrsm_batch sptrsm_batch;

/* The values of the items [first, first + count) of a batch. Item first + i has its values at L + i * L_stride and so on; strides count
 * elements. Stride 0: all these items have the same values. A pointer that is NULL leaves that part as it is (sptrsm_batch_set_values), or
 * takes the factor set's own array with stride 0 (sptrsm_batch_create_uniform). L, D and D_sub lie where the arrays of L lie, U where those
 * of U lie, the scalings in host memory. Lengths and types are those of the arrays of sptrsm_factors. */
typedef struct {
  size_t size; /* sizeof(sptrsm_batch_values), set by sptrsm_batch_values_init */
  int64_t first, count;
  const void *L, *U, *D, *D_sub;
  const double *scale_row, *scale_col;
  int64_t L_stride, U_stride, D_stride, D_sub_stride, scale_row_stride, scale_col_stride;
} sptrsm_batch_values;
/* Defaults: first 0, count 0, no arrays, strides 0. */
SPTRSM_API void sptrsm_batch_values_init_sized(sptrsm_batch_values *, size_t size);
static inline void sptrsm_batch_values_init(sptrsm_batch_values *out) { sptrsm_batch_values_init_sized(out, sizeof *out); }

/* A uniform batch of values->count items with the pattern, permutations and conventions of `pattern`, whose value arrays serve where
 * `values` has none. The pattern is validated and analysed once. Everything is copied. values->first must be 0; count = 0 is allowed.
 * options as in sptrsm_direct_create; precision MIXED is UNSUPPORTED. `auto` is levelset, which solves the items of a group together. With
 * any other method each item is kept as in a mixed batch, which on a device analyses the pattern once for each item.
 * Errors: ARGUMENT (a stride that is negative, or shorter than its array without being 0; sizes beyond 64 bits), STRUCTURE (the pattern, or
 * 2x2 blocks of D that overlap), SINGULAR (the pattern lacks a diagonal entry), UNSUPPORTED, MEMORY, DEVICE. An item with a bad diagonal
 * value is no error here: see sptrsm_batch_item. */
SPTRSM_API sptrsm_status sptrsm_batch_create_uniform(sptrsm_batch **out, sptrsm_context *, const sptrsm_factors *pattern,
                                                     const sptrsm_batch_values *values, const sptrsm_options *options);
/* A mixed batch: items[i] is the factor set of item i, with an order and a pattern of its own; all have one dtype. Everything is copied. On
 * the host, items with equal patterns (all but the values is the same) are found, analysed once and keep one copy of the pattern.
 * Errors as above, with the item's number. */
SPTRSM_API sptrsm_status sptrsm_batch_create_mixed(sptrsm_batch **out, sptrsm_context *, const sptrsm_factors *const *items, int64_t count,
                                                   const sptrsm_options *options);
SPTRSM_API void sptrsm_batch_destroy(sptrsm_batch *);

/* New values for some items, without a new analysis. In a mixed batch values->count must be 1. An item that was singular serves again once
 * its diagonal is good, and the other way round. Values in device memory do not pass through the host. After ARGUMENT and STRUCTURE the
 * old values stay; in a uniform batch by another method than levelset, items before the one at fault may have new ones. After MEMORY and
 * DEVICE the values of these items are undefined on a device, until a later call sets them.
 * Errors: ARGUMENT, STRUCTURE (2x2 blocks of D that overlap), MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_batch_set_values(sptrsm_batch *, const sptrsm_batch_values *values);

/* What became of an item. */
typedef struct {
  int32_t status; /* sptrsm_status: OK or SINGULAR */
  int32_t row;    /* row of the triangle, of D or of a scaling at fault, else -1 */
} sptrsm_item_status;
/* The item as its values left it: OK or SINGULAR. */
SPTRSM_API sptrsm_status sptrsm_batch_item(sptrsm_item_status *out, const sptrsm_batch *, int64_t item);

/* The blocks of all items. Item i has nrhs_of[i] columns, or nrhs where nrhs_of is NULL, and the leading dimension ld_of[i], or ld. Its
 * data begin at data_of[i], or at data + i * stride elements where data_of is NULL. Stride 0 lets all items of B share one block; X must
 * not. All blocks have one layout and place. The arrays nrhs_of, ld_of and data_of have `count` elements in host memory. data_of[i] may be
 * NULL for items that have no rows or columns, or that a mask in host memory leaves out. */
typedef struct {
  size_t size; /* sizeof(sptrsm_batch_block), set by sptrsm_batch_block_init */
  void *data;
  void *const *data_of;
  int64_t stride, ld, nrhs;
  const int64_t *ld_of, *nrhs_of;
  sptrsm_dtype dtype;
  sptrsm_layout layout;
  sptrsm_place place;
} sptrsm_batch_block;
/* Defaults: f64, row-major, in host memory, everything else 0. */
SPTRSM_API void sptrsm_batch_block_init_sized(sptrsm_batch_block *, size_t size);
static inline void sptrsm_batch_block_init(sptrsm_batch_block *out) { sptrsm_batch_block_init_sized(out, sizeof *out); }

/* Which items to solve, and where to say how it went. */
typedef struct {
  size_t size;         /* sizeof(sptrsm_batch_run), set by sptrsm_batch_run_init */
  const uint8_t *mask; /* [count] 0: leave the item out, its X is not touched; NULL: all items */
  sptrsm_place mask_place;
  /* [count], written for all items but those masked out; NULL: not wanted. In host memory it waits for the device where items have new
   * values since the last look at their states. */
  sptrsm_item_status *status;
  sptrsm_place status_place;
  /* [count], in memory of the place of B and X, which must be one, or NULL: the largest componentwise backward error of each item's
   * columns (sptrsm_refine.h has the formula), NaN for a singular item; not written for those masked out. It must not lie in B or X. It
   * takes a pass over the items' matrices (sptrsm_batch_set_original) after the solve. Every item needs one, except those that a mask in
   * host memory leaves out. For the systems A, At and Aat, if these matrices are A, and L, Lt and Lat, if they are L. */
  double *berr;
} sptrsm_batch_run;
/* Defaults: all items, no status, no errors. */
SPTRSM_API void sptrsm_batch_run_init_sized(sptrsm_batch_run *, size_t size);
static inline void sptrsm_batch_run_init(sptrsm_batch_run *out) { sptrsm_batch_run_init_sized(out, sizeof *out); }

/* Gives an item a copy of the matrix A that its factors were made from, or of the triangle L for the system L: run->berr needs it, and
 * nothing else does. L has its ones stored here, also where diag is SPTRSM_UNIT. Which of the two it is can't be checked: an error of the
 * system A by the matrix L, or the other way round, has no meaning. Call it again when A has new values; A NULL removes the copy. A CUDA
 * graph that was captured with run->berr reads the copies of that time, which this call frees: capture it again. During a capture the call
 * is refused (ARGUMENT). Errors, with the item's number: ARGUMENT, STRUCTURE (names the first index out of range), MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_batch_set_original(sptrsm_batch *, int64_t item, const sptrsm_square *A);

/* Solves op(S_i) X_i = alpha B_i for all items i that the mask has, for one of the systems of sptrsm.h. alpha is one value for all items.
 * X_i may be B_i, but must not overlap it otherwise, nor any block of another item. X of a singular item is not touched, and the call
 * succeeds: look at run->status. run NULL: all items, no status.
 * On a CUDA context the work is queued as in sptrsm_solve. For blocks in device memory, a uniform batch by levelset takes one kernel for
 * all items. Any other batch takes the kernels of one system for each panel of columns, and for each group of items that differ in storage
 * formats, unit diagonals, kind of U or scale operations. Panels have the rows of all items of a group, so that more rows may mean
 * narrower panels (256 to 32 columns, so that all blocks of a solve keep within 256 MiB; fewer only where memory is limited; or
 * options.panel) and more of them. Where options.memory_limit has no room for 32 columns of all items (or for options.panel or nrhs_hint,
 * if that is less), `gather`, the default, and `block` solve a group in parts, one after the other in the same memory; each part takes the
 * launches of a group. Other methods have narrower panels then. Once a solve of this system has been made (or sptrsm_batch_prepare), a
 * solve of blocks in device memory allocates nothing, does not wait, and may be captured in a CUDA graph where the info says so, unless a
 * dependency was lost since its workspace was made or last solved. The batch, blocks, mask and arrays of results must outlive the graph.
 * Its replays use new values of sptrsm_batch_set_values, but not of sptrsm_batch_set_original. The batch keeps one copy on the device of
 * data_of, ld_of, nrhs_of and of a mask in host memory: a call with others than the one before waits, can't be captured, and changes what
 * replays of earlier graphs solve. Where memory is limited, by the options or the context, prepare all systems before the first capture: a
 * new one may narrow the panels of the others or move their memory; their graphs are void then.
 * Errors: ARGUMENT (blocks or strides that do not fit, with the item's number; nothing is written then), UNSUPPORTED, MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_batch_solve(sptrsm_batch *, sptrsm_system, sptrsm_op op, const void *alpha, const sptrsm_batch_block *B,
                                            sptrsm_batch_block *X, const sptrsm_batch_run *run);
/* Makes the plans and the workspace that solves of this system need. */
SPTRSM_API sptrsm_status sptrsm_batch_prepare(sptrsm_batch *, sptrsm_system, sptrsm_op op);

typedef struct {
  size_t size; /* set to sizeof(sptrsm_batch_facts) by the caller */
  int64_t count;
  int64_t patterns; /* analyses: on the host one for each pattern among the items; on a device 1 in a uniform batch by levelset, else one
                     * for each group of items that are solved as one system (sptrsm_batch_solve), of one pattern or many */
  int64_t singular; /* items that solves leave out */
  int32_t n_most;   /* order of the largest item */
  int32_t panel;    /* right-hand sides of the largest item that are worked on at once */
  char method[32];  /* of the largest item */
  char reason[160];
  int32_t deterministic, capturable;
  size_t batch_bytes;     /* factors and analyses of all items, without the matrices for run->berr; a little more than the truth where items
                           * by `block` share lists */
  size_t workspace_bytes; /* what solves need beyond them, for the systems prepared so far */
  double analysis_seconds;
} sptrsm_batch_facts;
SPTRSM_API sptrsm_status sptrsm_batch_info(sptrsm_batch_facts *out, const sptrsm_batch *);

#ifdef __cplusplus
}
#endif
#endif
