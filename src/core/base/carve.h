/* carve.h -- several arrays in one allocation, since each allocation costs the host some microseconds. One function
 * describes the arrays and is called twice: with base NULL for the size of all of them, then with the memory for the
 * pointers. */
#ifndef SPTI_CORE_BASE_CARVE_H
#define SPTI_CORE_BASE_CARVE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  char *base;  /* NULL: sizes only */
  size_t used; /* bytes */
} spti_carver;

enum { SPTI_CARVE_ALIGNMENT = 256 };

/* The next array, of count * bytes; NULL if base is NULL. */
static inline void *spti_carve(spti_carver *c, int64_t count, size_t bytes) {
  void *array = c->base ? c->base + c->used : NULL;
  c->used += ((size_t)count * bytes + SPTI_CARVE_ALIGNMENT - 1) / SPTI_CARVE_ALIGNMENT * SPTI_CARVE_ALIGNMENT;
  return array;
}

#endif
