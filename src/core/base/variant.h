/* variant.h -- reads the parameters of a method, which follow ':' in its name: "key=value,key=value". */
#ifndef SPTI_CORE_BASE_VARIANT_H
#define SPTI_CORE_BASE_VARIANT_H

#include "core/base/error.h"

typedef struct {
  const char *key;
  int32_t *target;
  int32_t least, most;      /* bounds of a number */
  const char *const *words; /* NULL: the value is a number; else the known words, NULL at the end, and target gets the index of one */
} spti_setting;

/* Sets the targets of all keys in `text`, which may be empty. ARGUMENT for an unknown key or value; the message names
 * the method, the key, the value, and what is known. */
sptrsm_status spti_variant_parse(const char *method, const char *text, const spti_setting *known, int count);

/* The same for the first key=value alone; *text moves on behind it and its comma. */
sptrsm_status spti_variant_take(const char *method, const char **text, const spti_setting *known, int count);

#endif
