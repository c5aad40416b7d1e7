/* gpu_copies.h -- copies between host and device beside the work on the context's stream: one stream for each direction, and slots of
 * device memory, of which one is filled and one is emptied while the context's stream works on a third. The calls for one slot come in the
 * order copy_in, work that is queued on the context's stream, done, copy_out. A copy of pageable host memory may keep the calling
 * thread waiting, so copy_out of a slot is best called when the work on the next slot is queued. The caller's memory and the slots stay as
 * they are until spti_gpu_copies_end. */
#ifndef SPTI_CORE_CONTEXT_GPU_COPIES_H
#define SPTI_CORE_CONTEXT_GPU_COPIES_H

#include "core/context/gpu.h"

enum { SPTI_COPY_SLOTS = 3 };
typedef struct spti_gpu_copies spti_gpu_copies;

sptrsm_status spti_gpu_copies_create(spti_gpu_copies **out, const sptrsm_context *);
void spti_gpu_copies_free(spti_gpu_copies *); /* NULL: nothing happens; in a build without CUDA it does nothing else (gpu_none.c) */
/* What is queued on the context's stream so far comes before the copies. Refuses while the stream is being captured. */
sptrsm_status spti_gpu_copies_begin(const spti_gpu_copies *, const sptrsm_context *);
/* Queues a copy to the device, behind the latest copy out of the slot; what is queued on the context's stream from now on waits for it. */
sptrsm_status spti_gpu_copy_in(spti_gpu_copies *, const sptrsm_context *, int slot, const spti_gpu_pitched *);
/* What is queued on the context's stream so far is the work that the copy out of the slot waits for. */
sptrsm_status spti_gpu_copies_done(const spti_gpu_copies *, const sptrsm_context *, int slot);
sptrsm_status spti_gpu_copy_out(spti_gpu_copies *, int slot, const spti_gpu_pitched *);
/* Waits for all copies, so that the caller may use the host memory; also after an error. */
sptrsm_status spti_gpu_copies_end(spti_gpu_copies *);

#endif
