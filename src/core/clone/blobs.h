/* blobs.h -- plans in blobs, one by one: for the clone of a plan, for its export and import, and for those of a factor set. */
#ifndef SPTI_CORE_CLONE_BLOBS_H
#define SPTI_CORE_CLONE_BLOBS_H

#include "core/plan/plan.h"

/* Memory of at least `bytes` bytes for a blob, and a copy of the caller's bytes. */
sptrsm_status spti_blob_alloc(void **out, size_t bytes);
sptrsm_status spti_blob_copy(void **out, const void *memory, size_t bytes);
/* ARGUMENT unless the caller's bytes can be borrowed or copied. */
sptrsm_status spti_blob_check(const void *memory, sptrsm_copy_mode);

/* UNSUPPORTED if the plan's method can't write down what it found. */
sptrsm_status spti_plan_check_export(const sptrsm_plan *);
/* Options with the name of a method: method[SPTI_METHOD_NAME] holds it when read, and options->method points there. */
enum { SPTI_METHOD_NAME = 128 };
void spti_options_carry(sptrsm_options *, char *method, spti_blob *);
/* Measures or writes a plan. hashed: with the hashes of its matrix, by which another process finds that it belongs to its own matrix. */
void spti_plan_write(const sptrsm_plan *, spti_blob *, bool hashed);
/* The plan of a matrix from the blob of one of the same pattern, which must outlive it. asked: options of which nrhs_hint, panel and
 * memory_limit are taken, and whose method must be the plan's if it names one; NULL: all are as in the blob. hashed: as it was written;
 * then the hashes are compared with the matrix, else the caller knows that the pattern is the same. */
sptrsm_status spti_plan_read(sptrsm_plan **out, const sptrsm_matrix *, const sptrsm_options *asked, spti_blob *, bool hashed);

#endif
