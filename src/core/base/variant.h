/* variant.h -- what follows ':' in a method's name, "key=value,key=value": one reader for all methods. */
#ifndef SPTI_CORE_BASE_VARIANT_H
#define SPTI_CORE_BASE_VARIANT_H

#include "core/base/error.h"

typedef struct {
  const char *key;
  int32_t *target;
  int32_t least, most;      /* of a number */
  const char *const *words; /* NULL: a number; else its values by name, NULL at the end, and target gets the place in the list */
} spti_setting;

/* Sets the targets of all keys in `text`, of none for "". ARGUMENT for anything else; the text says the method, the key, the value and
 * what is known, and for a value without its key how to write it. */
sptrsm_status spti_variant_parse(const char *method, const char *text, const spti_setting *known, int count);

#endif
