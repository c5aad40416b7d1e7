/* carve.h -- several arrays in one allocation, since each allocation costs the host some microseconds. One function
 * describes the arrays and is called twice: with base NULL for the size of all of them, then with the memory for the
 * pointers. */
#ifndef SPTI_CORE_BASE_CARVE_H
#define SPTI_CORE_BASE_CARVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define SPTI_UNPOISON __asan_unpoison_memory_region
#define SPTI_POISON   __asan_poison_memory_region
#else
#define SPTI_UNPOISON(memory, bytes) ((void)0)
#define SPTI_POISON(memory, bytes)   ((void)0)
#endif

typedef struct {
  char *base;  /* NULL: sizes only */
  size_t used; /* bytes */
  bool whole;  /* the memory is also copied as a whole, with what lies between arrays */
} spti_carver;

enum { SPTI_CARVE_ALIGNMENT = 256 };

/* The next array, of count * bytes; NULL if base is NULL. AddressSanitizer reports who reads or writes between arrays, unless `whole`. */
static inline void *spti_carve(spti_carver *c, int64_t count, size_t bytes) {
  const size_t length = (size_t)count * bytes, room = (length + SPTI_CARVE_ALIGNMENT - 1) / SPTI_CARVE_ALIGNMENT * SPTI_CARVE_ALIGNMENT;
  char *array = c->base ? c->base + c->used : NULL;
  c->used += room;
  if (!array) return NULL;
  SPTI_UNPOISON(array, length);
  if (!c->whole) SPTI_POISON(array + length, room - length);
  return array;
}

#endif
