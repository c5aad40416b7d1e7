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

/* Sets the targets of all that `text` names, "" for nothing. ARGUMENT, with the method, the key, the value and what is known, for
 * anything else. */
sptrsm_status spti_variant_parse(const char *method, const char *text, const spti_setting *known, int count);

/* The same for the first key=value alone; *text moves behind it and its comma. */
sptrsm_status spti_variant_take(const char *method, const char **text, const spti_setting *known, int count);

#endif
