/* choose.h -- what `auto` means: a pure function from features to a method and the reason for it. */
#ifndef SPTI_CHOOSE_H
#define SPTI_CHOOSE_H

#include <sptrsm.h>

typedef struct {
  sptrsm_place place;
} spti_features;

typedef struct {
  const char *method;
  const char *reason; /* static storage */
} spti_choice;

spti_choice spti_choose(const spti_features *);

#endif
