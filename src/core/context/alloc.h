/* alloc.h -- memory of a context: host memory aligned to cache lines, device memory ordered on the context's stream. */
#ifndef SPTI_CORE_CONTEXT_ALLOC_H
#define SPTI_CORE_CONTEXT_ALLOC_H

#include "core/base/error.h"

/* Host memory of count * bytes, aligned to 64 bytes, and from 4 MiB on to 2 MiB: such arrays are on huge pages if the system
 * gives them, since the processor then looks up fewer addresses. count or bytes 0 gives a valid pointer. `what` names the memory
 * in the error message. */
sptrsm_status spti_host_alloc(void *out /* T ** */, int64_t count, size_t bytes, const char *what);
void spti_host_free(void *);

/* The same in the memory of the context's place. Freeing does not wait: it is queued behind the work that uses the
 * memory. */
sptrsm_status spti_alloc(const sptrsm_context *, void *out, int64_t count, size_t bytes, const char *what);
void spti_free(const sptrsm_context *, void *);

/* Memory that is needed only during an analysis: spti_scratch_take allocates as spti_alloc does, spti_scratch_drop
 * frees all of it. Begin with {.context = context}. */
typedef struct {
  const sptrsm_context *context;
  void *memory[12];
  int used;
} spti_scratch;
sptrsm_status spti_scratch_take(spti_scratch *, void *out /* T ** */, int64_t count, size_t bytes, const char *what);
void spti_scratch_drop(spti_scratch *);

/* count * bytes as size_t; MEMORY if the product does not fit. */
sptrsm_status spti_bytes(size_t *out, int64_t count, size_t bytes, const char *what);

/* ARGUMENT if an array in device memory called `name` does not begin at a multiple of the bytes of an element, as a GPU's loads must. */
sptrsm_status spti_check_alignment(const void *data, size_t bytes, const char *name);

#endif
