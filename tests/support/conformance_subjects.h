/* conformance_subjects.h -- the methods for which the conformance tests run: every registered method of a place, and some variants of
 * methods that their analysis would not choose for small systems. Each test runs once for each of them, in a process of its own. */
#ifndef TESTS_SUPPORT_CONFORMANCE_SUBJECTS_H
#define TESTS_SUPPORT_CONFORMANCE_SUBJECTS_H

#include <stdbool.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <sptrsm.h>

typedef struct {
  char name[64]; /* method[:variant] */
  int number;
  int share; /* it runs one system in this many */
  bool deterministic;
} subject;

struct criterion_test_params conformance_subjects(sptrsm_place, bool deterministic_only);

/* A method runs every fifth system and a variant fewer; each subject runs other systems. */
static inline bool left_to_others(const subject *s, int system_number) { return (system_number + s->number) % s->share != 0; }

#endif
