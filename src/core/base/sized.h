/* sized.h -- public structs that begin with `size_t size`, the size that the caller's program was compiled with.
 *
 * Such a struct may grow at its end. A program compiled against an older header passes a smaller size, and the
 * library then reads and writes no byte beyond it. A program compiled against a newer header passes a larger one:
 * members that this library does not know must be zero on input, and are set to zero on output. */
#ifndef SPTI_CORE_BASE_SIZED_H
#define SPTI_CORE_BASE_SIZED_H

#include <stdbool.h>
#include <string.h>

#include <sptrsm.h>

/* A member that is added must begin where the struct ended, padding included, or an older program's padding would be taken for it: fill
 * the padding with a reserved member first. */

/* The size of a struct whose last member is `last`, without padding: pass the last member that version 0.1 had. */
#define SPTI_SIZE_UP_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* A size above the known one by more than this is taken for memory that nobody initialised. */
enum { SPTI_SIZED_GROWTH = 4096 };

static inline size_t spti_sized_of(const void *object) {
  size_t size;
  memcpy(&size, object, sizeof size);
  return size;
}

/* May the object's size be that of any version of its type? least: see SPTI_SIZE_UP_TO; known: sizeof in this
 * library. */
static inline bool spti_sized_is_plausible(const void *object, size_t least, size_t known) {
  const size_t size = spti_sized_of(object);
  return size >= least && size <= known + SPTI_SIZED_GROWTH;
}

/* to [known bytes, holding defaults] takes over what `from` says. ARGUMENT: from->size was never set; UNSUPPORTED: it
 * sets members that this library does not know. `type` is the name of the struct. */
static inline sptrsm_status spti_sized_read(void *to, size_t known, const void *from, size_t least, const char *type) {
  const size_t size = spti_sized_of(from);
  if (!spti_sized_is_plausible(from, least, known))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s.size is %zu, but at least %zu is expected: call %s_init first", type, size, least,
                            type);
  for (size_t at = known; at < size; at++)
    if (((const char *)from)[at] != 0)
      return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED,
                              "%s has a member set at byte %zu, which version %s of the library does not know: "
                              "leave it at its default, or use the library your program was compiled for",
                              type, at, sptrsm_version());
  memcpy(to, from, size < known ? size : known);
  memcpy(to, &known, sizeof known);
  return SPTRSM_OK;
}

/* For a struct that a call fills: ARGUMENT if `out` is NULL or its size has not been set. */
static inline sptrsm_status spti_sized_check(const void *out, size_t least, size_t known, const char *call, const char *type) {
  if (out && spti_sized_is_plausible(out, least, known)) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: set out->size to sizeof(%s)", call, type);
}

/* Copies `from` [known bytes] into the caller's struct, whose size stays as it is. */
static inline void spti_sized_write(void *to, const void *from, size_t known) {
  const size_t size = spti_sized_of(to), both = size < known ? size : known;
  memcpy((char *)to + sizeof size, (const char *)from + sizeof size, both - sizeof size);
  memset((char *)to + both, 0, size - both);
}

/* The same for an _init function: `to` has `size` bytes, and from->size is not copied. Does nothing for NULL or a
 * size that can't be. */
static inline void spti_sized_init(void *to, size_t size, const void *from, size_t known) {
  if (!to || size < sizeof size || size > known + SPTI_SIZED_GROWTH) return;
  memcpy(to, &size, sizeof size);
  spti_sized_write(to, from, known);
}

#endif
