/* failing_memory.h -- an allocator that fails on demand and counts the allocations that have not been freed. The linker replaces the
 * library's posix_memalign and free by these (--wrap). Included once per test program. */
#ifndef TESTS_SUPPORT_FAILING_MEMORY_H
#define TESTS_SUPPORT_FAILING_MEMORY_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void __real_free(void *memory);
void __wrap_free(void *memory);

static atomic_long until_failure = -1; /* allocations that still succeed; negative: all of them */
static atomic_long alive, failures;

/* The allocations not freed yet. A library that is linked in statically (the CUDA runtime) calls __wrap_free for its
 * own memory too. */
enum { MOST_BLOCKS = 4096 };
static _Atomic(void *) blocks[MOST_BLOCKS];

static bool replace_block(void *old, void *new) {
  for (int b = 0; b < MOST_BLOCKS; b++) {
    void *expected = old;
    if (atomic_compare_exchange_strong(&blocks[b], &expected, new)) return true;
  }
  return false;
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (until_failure >= 0 && until_failure-- == 0) {
    failures++;
    return ENOMEM;
  }
  int error = __real_posix_memalign(out, alignment, bytes);
  if (error == 0 && replace_block(NULL, *out)) alive++;
  return error;
}

void __wrap_free(void *memory) {
  if (memory && replace_block(memory, NULL)) alive--;
  __real_free(memory);
}

#endif
