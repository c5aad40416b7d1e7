/* share.c -- how columns are handed out, with workers that are simulated: their speeds are given, and the one that is free first asks. */
#include <criterion/criterion.h>

#include "core/multi/share.h"

enum { WORKERS_MAX = 8 };

typedef struct {
  double end;    /* when the last worker is done */
  double ideal;  /* if all had worked all the time */
  int64_t taken; /* columns */
} outcome;

static outcome simulate(spti_share_worker *w, const double *speed, int count, int64_t all) {
  double free_at[WORKERS_MAX] = {0}, sum = 0;
  outcome o = {0};
  int64_t next = 0;
  for (int k = 0; k < count; k++) spti_share_begin(&w[k]), w[k].left = false, sum += speed[k];
  for (;;) {
    int me = -1;
    int64_t begin, end;
    for (int k = 0; k < count; k++)
      if (!w[k].left && (me < 0 || free_at[k] < free_at[me])) me = k;
    if (me < 0) break;
    if (!spti_share_take(&begin, &end, w, count, me, &next, all)) {
      w[me].left = true;
      continue;
    }
    cr_assert(begin == o.taken && end > begin && end <= all, "columns %d to %d of %d", (int)begin, (int)end, (int)all);
    cr_assert((end - begin) % w[me].panel == 0 || end == all);
    o.taken = end;
    spti_share_count(&w[me], end - begin, (double)(end - begin) / speed[me]);
    free_at[me] += (double)(end - begin) / speed[me];
    if (free_at[me] > o.end) o.end = free_at[me];
  }
  o.ideal = (double)all / sum;
  return o;
}

Test(share, every_column_is_taken_once_whatever_the_speeds) {
  const double speeds[][4] = {{1, 1, 1, 1}, {1, 2, 3, 4}, {1000, 1, 1, 1}, {1, 1000, 1, 1000}, {1e-3, 1e3, 1, 1}};
  const int64_t numbers[] = {0, 1, 7, 8, 9, 100, 4096};
  for (int s = 0; s < 5; s++)
    for (int count = 1; count <= 4; count++)
      for (int n = 0; n < 7; n++) {
        spti_share_worker w[4];
        for (int k = 0; k < 4; k++) w[k] = (spti_share_worker){.panel = 8, .chunk = 8 << k};
        for (int again = 0; again < 2; again++)
          cr_assert_eq(simulate(w, speeds[s], count, numbers[n]).taken, numbers[n], "case %d, %d workers", s, count);
      }
}

Test(share, equal_workers_end_together_and_a_slow_one_keeps_nobody_waiting) {
  spti_share_worker equal[2] = {{.panel = 8, .chunk = 64}, {.panel = 8, .chunk = 64}};
  const outcome even = simulate(equal, (const double[]){1, 1}, 2, 1000);
  cr_assert(even.end <= even.ideal + 8, "%g, ideal %g", even.end, even.ideal);
  cr_assert_eq(equal[0].solved - equal[1].solved, 8);
  spti_share_worker nearly[2] = {{.panel = 512, .chunk = 512}, {.panel = 512, .chunk = 512}};
  for (int again = 0; again < 2; again++) simulate(nearly, (const double[]){1.01, 1}, 2, 4096);
  cr_assert_eq(nearly[0].solved, nearly[1].solved);
  spti_share_worker pair[2] = {{.panel = 128, .chunk = 128}, {.panel = 32, .chunk = 512}};
  const double speeds[2] = {1000, 1};
  for (int call = 0; call < 2; call++) {
    simulate(pair, speeds, 2, 10000); /* its speed is not known, and then not counted: it takes a chunk */
    cr_assert_eq(pair[1].solved, 512, "call %d", call);
  }
  const outcome uneven = simulate(pair, speeds, 2, 10000);
  cr_assert(uneven.end <= 10.0 + 1e-9, "the fast one alone needs 10, both %g", uneven.end);
  cr_assert_eq(pair[1].solved, 0);
}

/* Calls with nothing to do for a worker say nothing about its speed. */
Test(share, many_calls_of_one_column_change_no_part) {
  spti_share_worker w[2] = {{.panel = 32, .chunk = 4096}, {.panel = 32, .chunk = 4096}};
  const double speeds[2] = {10, 10};
  for (int call = 0; call < 3; call++) simulate(w, speeds, 2, 4096);
  for (int call = 0; call < 10000; call++) simulate(w, speeds, 2, 1);
  simulate(w, speeds, 2, 4096);
  cr_assert_eq(w[0].solved, 2048, "%d columns", (int)w[0].solved);
}

/* A worker with a fifth of the other's speed takes a sixth of the columns, and not all that its chunk holds. */
Test(share, known_speeds_decide_the_parts) {
  spti_share_worker w[2] = {{.panel = 256, .chunk = 1024}, {.panel = 32, .chunk = 1024}};
  const double speeds[2] = {80, 16};
  outcome o = {0};
  for (int call = 0; call < 3; call++) o = simulate(w, speeds, 2, 4096);
  cr_assert(o.end <= 4096 / 80.0, "the fast one alone needs %g, both %g", 4096 / 80.0, o.end);
  cr_assert(w[1].solved >= 640 && w[1].solved <= 736, "%d columns", (int)w[1].solved);
}

/* It was slow once, and takes columns again some calls later. */
Test(share, a_worker_that_took_nothing_is_tried_again) {
  spti_share_worker w[2] = {{.panel = 8, .chunk = 64}, {.panel = 8, .chunk = 64}};
  const double speeds[2] = {1, 1};
  simulate(w, speeds, 2, 1000);
  w[1].rate = 1e-3;
  int calls = 0;
  for (; calls < 40 && (calls == 0 || w[1].solved == 0); calls++) simulate(w, speeds, 2, 1000);
  cr_assert(calls > 10 && calls < 30, "%d calls", calls);
  simulate(w, speeds, 2, 1000);
  cr_assert(w[1].solved >= 400, "%d columns", (int)w[1].solved);
}
