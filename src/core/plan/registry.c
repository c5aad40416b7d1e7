/* registry.c -- the table of all methods, made from methods.def, and the search by name. */
#include <string.h>

#include "core/base/sized.h"
#include "core/plan/method.h"

#define METHOD(id) extern const spti_method spti_method_##id;
#include "core/plan/methods.def"
#undef METHOD

static const spti_method *const table[] = {
#define METHOD(id) &spti_method_##id,
#include "core/plan/methods.def"
#undef METHOD
};

int spti_method_count(void) { return (int)(sizeof table / sizeof table[0]); }

const spti_method *spti_method_at(int index) { return table[index]; }

const spti_method *spti_method_find(const char *name, size_t length, sptrsm_place place) {
  const spti_method *elsewhere = NULL;
  for (int m = 0; m < spti_method_count(); m++) {
    if (strlen(table[m]->name) != length || memcmp(table[m]->name, name, length) != 0) continue;
    if (table[m]->place == place) return table[m];
    elsewhere = table[m];
  }
  return elsewhere;
}

int sptrsm_method_count(void) { return spti_method_count(); }

sptrsm_status sptrsm_method_at(sptrsm_method_info *out, int index) {
  SPTI_TRY(spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_method_info, reference), sizeof *out, "sptrsm_method_at", "sptrsm_method_info"));
  if (index < 0 || index >= spti_method_count())
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_method_at: index %d is not in 0..%d", index, spti_method_count() - 1);
  const spti_method *m = table[index];
  sptrsm_method_info info = {.name = m->name,
                             .summary = m->summary,
                             .cite = m->cite,
                             .place = m->place,
                             .deterministic = (m->flags & SPTI_DETERMINISTIC) != 0,
                             .capturable = (m->flags & SPTI_CAPTURABLE) != 0,
                             .reference = (m->flags & SPTI_REFERENCE) != 0};
  spti_sized_write(out, &info, sizeof info);
  return SPTRSM_OK;
}
