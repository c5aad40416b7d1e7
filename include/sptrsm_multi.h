/* sptrsm_multi.h -- copies of matrices, plans and solvers in other contexts, plans as bytes, and one solve on several contexts.
 *
 * Columns of X are independent, so a program that has several devices, or a device and a host, gives each a copy of one solver and shares
 * out the columns. A copy (clone) needs neither a second validation nor, for methods that can write down what they found, a second
 * analysis. Written down, a plan can also be kept in a file or sent to another process (sptrsm_plan_export).
 */
#ifndef SPTRSM_MULTI_H
#define SPTRSM_MULTI_H

#include <sptrsm.h>

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

#ifdef __cplusplus
}
#endif
#endif
