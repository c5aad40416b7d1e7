/* sptrsm_multi.h -- copies of matrices, plans and solvers in other contexts, plans as bytes, and one solve on several contexts.
 *
 * Columns of X are independent, so a program that has several devices, or a device and a host, gives each a copy of one solver and shares
 * out the columns. A copy (clone) needs neither a second validation nor, for methods that can write down what they found, a second
 * analysis. Written down, a plan can also be kept in a file or sent to another process (sptrsm_plan_export).
 */
#ifndef SPTRSM_MULTI_H
#define SPTRSM_MULTI_H

#include <sptrsm_refine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- clones: the same object in another context ----
 * The context may be on the host or any device, and may be that of the original. From then on the two are independent: new values of one
 * are not those of the other. Waits for queued work of the original. Errors: ARGUMENT, MEMORY, DEVICE, and those that are named. */

/* Arrays that were borrowed are borrowed again where the context can reach them, else copied. New values of a clone come from host memory;
 * those of a clone that works on a device as its original does, from where the original takes them. */
SPTRSM_API sptrsm_status sptrsm_matrix_clone(sptrsm_matrix **out, sptrsm_context *, const sptrsm_matrix *);
/* matrix: one of the plan's pattern, usually a clone of its matrix, in the context where the new plan is to work. ARGUMENT if the patterns
 * of two matrices in host memory differ. `block`, `levelset` and `serial` on the host take over what the analysis has found. Plans of all
 * other methods, and of a device, are analysed anew, by the method and the parameters that the plan has. Where the two matrices are in
 * different places, the method is the one of that name there: UNSUPPORTED if there is none, or if it can't; a method that `auto` chose is
 * chosen anew. */
SPTRSM_API sptrsm_status sptrsm_plan_clone(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_plan *);
/* With clones of all plans that were made so far. The original matrix of a refinement does not come along: sptrsm_direct_set_original. */
SPTRSM_API sptrsm_status sptrsm_direct_clone(sptrsm_direct **out, sptrsm_context *, const sptrsm_direct *);

/* ---- plans as bytes ----
 * A plan of `block`, `levelset` or `serial` on the host, whose import takes a fraction of the time of its analysis. The bytes hold no
 * pointers; they have a checksum, the version of the library, and hashes of the matrix. They are for the same version of the library on
 * processors with the same order of bytes; vector instructions are chosen anew. Errors: UNSUPPORTED (another method, a device, another
 * version), ARGUMENT (a matrix of another pattern or type; bytes that are damaged, or no plan), MEMORY. */

SPTRSM_API sptrsm_status sptrsm_plan_export_bytes(size_t *out, const sptrsm_plan *);
/* memory [bytes], as sptrsm_plan_export_bytes says. */
SPTRSM_API sptrsm_status sptrsm_plan_export(void *memory, size_t bytes, const sptrsm_plan *);
/* options: nrhs_hint, panel and memory_limit are for this plan; method, unless NULL or "auto", and op must be those that it was made with.
 * NULL: all are as they were. BORROW: the caller keeps the bytes alive and unchanged while the plan lives; they begin at a multiple of 64,
 * as mapped files do. If the matrix has other values than that of the exported plan, they are taken from the matrix. */
SPTRSM_API sptrsm_status sptrsm_plan_import(sptrsm_plan **out, const sptrsm_matrix *, const sptrsm_options *, const void *memory,
                                            size_t bytes, sptrsm_copy_mode);

/* All plans that a solver has made so far: solve a block without columns first, to have those of the systems that you need. The import
 * validates the factors as sptrsm_direct_create does; options are as in sptrsm_plan_import, but for op, which is ignored. Plans that are
 * missing are made when they are needed. */
SPTRSM_API sptrsm_status sptrsm_direct_export_bytes(size_t *out, const sptrsm_direct *);
SPTRSM_API sptrsm_status sptrsm_direct_export(void *memory, size_t bytes, const sptrsm_direct *);
SPTRSM_API sptrsm_status sptrsm_direct_import(sptrsm_direct **out, sptrsm_context *, const sptrsm_factors *, const sptrsm_options *,
                                              const void *memory, size_t bytes, sptrsm_copy_mode);

/* ---- one solve on several contexts ----
 * Each context has a solver, the first the caller's own, the others clones of it, and a thread during a call, the first the calling one.
 * Columns are handed out in panels as contexts become free; one that is much slower than another leaves it the last ones. If the contexts
 * are of one kind and the method is deterministic, the bits of a column do not depend on the context that solved it. */

typedef struct sptrsm_multi sptrsm_multi;
/* others [count]: more contexts, each at most once and none of them that of the solver; all are kept alive. No other thread may use the
 * contexts or the solver during a call. Solve a block without columns first, to have the plans of the system cloned, too. */
SPTRSM_API sptrsm_status sptrsm_multi_create(sptrsm_multi **out, sptrsm_direct *, sptrsm_context *const *others, int count);
SPTRSM_API sptrsm_status sptrsm_multi_create_plans(sptrsm_multi **out, const sptrsm_plan *, sptrsm_context *const *others, int count);
SPTRSM_API void sptrsm_multi_destroy(sptrsm_multi *);

/* op(S) X = alpha B as in sptrsm_direct_solve, and op(T) X = alpha B as in sptrsm_solve. B and X are in host memory, best page-locked
 * (sptrsm_host_alloc). X may be B. If a context fails, the others end what they are at, the message names the context, and X is undefined.
 * A thread that can't be started leaves its columns to the others. */
SPTRSM_API sptrsm_status sptrsm_multi_direct_solve(sptrsm_multi *, sptrsm_system, sptrsm_op, const void *alpha, const sptrsm_block *B,
                                                   sptrsm_block *X);
SPTRSM_API sptrsm_status sptrsm_multi_solve(sptrsm_multi *, const void *alpha, const sptrsm_block *B, sptrsm_block *X);

/* Likewise with blocks that are shared out already, as where each device has made its own right-hand sides. B and X are arrays of
 * sptrsm_multi_count blocks: number k, of any number of columns, is for the context of member k, and is in memory that its solver takes,
 * of its device or of the host. X[k] may be B[k], and overlaps no block of another member. */
SPTRSM_API sptrsm_status sptrsm_multi_direct_solve_each(sptrsm_multi *, sptrsm_system, sptrsm_op, const void *alpha, const sptrsm_block *B,
                                                        sptrsm_block *X);
SPTRSM_API sptrsm_status sptrsm_multi_solve_each(sptrsm_multi *, const void *alpha, const sptrsm_block *B, sptrsm_block *X);

/* Iterative refinement as by sptrsm_direct_refine, of B and X in host memory whose columns are handed out as above. A, in host memory, is
 * copied for all contexts, as by sptrsm_direct_set_original. If one of them refuses it or has no memory, none has a copy afterwards. */
SPTRSM_API sptrsm_status sptrsm_multi_set_original(sptrsm_multi *, const sptrsm_square *A);
SPTRSM_API sptrsm_status sptrsm_multi_refine(sptrsm_multi *, sptrsm_system, sptrsm_op, const void *alpha, const sptrsm_block *B,
                                             sptrsm_block *X, const sptrsm_refine_options *options, sptrsm_refine_result *out);

/* New values for all contexts, from host memory, as in sptrsm_direct_set_values; for plans L_val holds those of the triangle. After MEMORY
 * or DEVICE some contexts may have old values: call it again before solving. */
SPTRSM_API sptrsm_status sptrsm_multi_set_values(sptrsm_multi *, const void *L_val, const void *D, const void *D_sub, const void *U_val);

/* What one context has; pointers belong to the multi. */
typedef struct {
  size_t size; /* set to sizeof(sptrsm_multi_member) by the caller */
  sptrsm_context *context;
  sptrsm_direct *direct; /* or */
  sptrsm_plan *plan;
  int64_t columns; /* that it solved in the latest call */
} sptrsm_multi_member;
SPTRSM_API int sptrsm_multi_count(const sptrsm_multi *);                                                    /* of contexts */
SPTRSM_API sptrsm_status sptrsm_multi_member_at(sptrsm_multi_member *out, const sptrsm_multi *, int index); /* 0: the caller's own */

#ifdef __cplusplus
}
#endif
#endif
