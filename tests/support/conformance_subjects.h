/* conformance_subjects.h -- what the conformance tests are run for: every registered method of a place, and some forms of methods that
 * their analysis would not choose for small systems. Each test runs once for each, in a process of its own. */
#ifndef TESTS_SUPPORT_CONFORMANCE_SUBJECTS_H
#define TESTS_SUPPORT_CONFORMANCE_SUBJECTS_H

#include <stdbool.h>

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <sptrsm.h>

typedef struct {
  char name[64]; /* method[:variant] */
  int number;
  int share; /* takes one system in so many */
  bool deterministic;
} subject;

struct criterion_test_params conformance_subjects(sptrsm_place, bool deterministic_only);

/* On a GPU, where a plan costs launches and waits, a method takes every fifth system, a form fewer, each subject others. */
static inline bool left_to_others(const subject *s, int system_number) { return (system_number + s->number) % s->share != 0; }

#endif
