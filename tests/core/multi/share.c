/* share.c -- how columns are handed out, with workers that are simulated: their speeds are given, and the one that is free first asks. */
#include <criterion/criterion.h>

#include "core/multi/share.h"

enum { WORKERS_MAX = 8 };

typedef struct {
  double end;    /* when the last worker is done */
  double ideal;  /* if all had worked all the time */
  int64_t taken; /* columns */
} outcome;

typedef struct {
  const double *speed; /* columns a second, of each worker */
  double load;         /* seconds that the first chunk of each worker in its life takes longer, but for those that are prompt */
} machine;

static double seconds_of(const machine *m, const spti_share_worker *w, int me, int64_t columns) {
  return (double)columns / m->speed[me] + (w[me].warm || w[me].prompt ? 0 : m->load);
}

static int free_first(const spti_share_worker *w, const double *free_at, const bool *waits, int count) {
  int me = -1;
  for (int k = 0; k < count; k++)
    if (!w[k].left && !waits[k] && (me < 0 || free_at[k] < free_at[me])) me = k;
  return me;
}

/* A chunk is counted when its worker is free again, before that worker asks. */
static outcome simulate_on(const machine *m, spti_share_worker *w, int count, int64_t all) {
  double free_at[WORKERS_MAX] = {0}, spent[WORKERS_MAX] = {0}, sum = 0;
  bool waits[WORKERS_MAX] = {false};
  outcome o = {0};
  int64_t next = 0;
  for (int k = 0; k < count; k++) spti_share_begin(&w[k]), sum += m->speed[k];
  for (int me; (me = free_first(w, free_at, waits, count)) >= 0;) {
    int64_t begin, end;
    const double now = free_at[me];
    if (w[me].held > 0) {
      spti_share_count(&w[me], spent[me]);
      for (int k = 0; k < count; k++) /* those that wait ask again */
        if (waits[k]) waits[k] = false, free_at[k] = now;
    }
    const spti_share_answer answer = spti_share_take(&begin, &end, w, count, me, &next, all);
    waits[me] = answer == SPTI_SHARE_LATER;
    w[me].left = answer == SPTI_SHARE_NONE;
    if (answer != SPTI_SHARE_TAKEN) continue;
    cr_assert(begin == o.taken && end > begin && end <= all, "columns %d to %d of %d", (int)begin, (int)end, (int)all);
    cr_assert((end - begin) % w[me].panel == 0 || end == all);
    o.taken = end;
    spent[me] = seconds_of(m, w, me, end - begin);
    free_at[me] = now + spent[me];
    if (free_at[me] > o.end) o.end = free_at[me];
  }
  o.ideal = (double)all / sum;
  return o;
}

static outcome simulate(spti_share_worker *w, const double *speed, int count, int64_t all) {
  return simulate_on(&(machine){.speed = speed}, w, count, all);
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

static spti_share_worker a_device(void) { return (spti_share_worker){.panel = 128, .chunk = 4096}; }
static spti_share_worker a_host(int64_t threads) {
  return (spti_share_worker){.panel = 32, .chunk = 32 * threads, .doubted = true, .prompt = true};
}

/* How fast the next call takes a worker to be; 0: that is not known. */
static double expected(const spti_share_worker *w) {
  const double rate = w->rate > 0 ? w->rate : 2 * w->first;
  return w->slow && w->solved == 0 ? 1.125 * rate : rate;
}

/* The margin: a call takes no longer than the device alone, also if the host, taken for a slow one, is half as fast
 * as it was taken to be. */
Test(share, a_host_beside_a_device_never_delays_the_end) {
  int shared = 0;
  for (int64_t threads = 4; threads <= 16; threads *= 2)
    for (int64_t all = 128; all <= 65536; all *= 2)
      for (double ratio = 2; ratio < 1e4; ratio *= 1.7) {
        const double speeds[2] = {80, 80 / ratio};
        const machine m = {.speed = speeds, .load = 3};
        spti_share_worker w[2] = {a_device(), a_host(threads)};
        for (int call = 0; call < 60; call++) {
          const double alone = (double)all / 80 + (w[0].warm ? 0 : m.load), host = expected(&w[1]);
          const bool known = w[1].warm;
          const outcome o = simulate_on(&m, w, 2, all);
          cr_assert_eq(o.taken, all);
          shared += w[1].solved > 0;
          if (known || (host > 0 && host <= 40 && host <= 2 * speeds[1]))
            cr_assert(o.end <= alone + 1e-9, "1 : %g, %d threads, %d columns, call %d: %g s, alone %g", ratio, (int)threads, (int)all, call,
                      o.end, alone);
        }
      }
  cr_assert_gt(shared, 50, "%d calls", shared);
}

/* Likewise beside two devices, of which the second has up to half of the speed of the first. */
Test(share, a_host_beside_two_devices_never_delays_the_end) {
  int shared = 0;
  for (double second = 80; second > 40; second -= 7)
    for (int64_t all = 128; all <= 65536; all *= 2)
      for (double ratio = 2; ratio < 1e3; ratio *= 1.7) {
        const double speeds[3] = {80, second, 80 / ratio};
        spti_share_worker w[3] = {a_device(), a_device(), a_host(8)}, alone[2] = {a_device(), a_device()};
        for (int call = 0; call < 40; call++) {
          const double host = expected(&w[2]), end = simulate(alone, speeds, 2, all).end;
          const bool known = w[2].warm;
          const outcome o = simulate(w, speeds, 3, all);
          shared += w[2].solved > 0;
          if (call > 1 && (known || (host > 0 && host <= 40 && host <= 1.5 * speeds[2])))
            cr_assert(o.end <= end + 1e-9, "1 : %g : %g, %d columns, call %d: %g s, without the host %g", second / 80, 1 / ratio, (int)all,
                      call, o.end, end);
        }
      }
  cr_assert_gt(shared, 50, "%d calls", shared);
}

/* A call that is too short for a host of an eighth of the device's speed is the device's alone; the host waits, and leaves. */
Test(share, a_host_that_is_not_measured_takes_none_of_few_columns) {
  const double speeds[2] = {80, 10};
  for (int64_t all = 1; all <= 4096; all *= 2) {
    spti_share_worker w[2] = {a_device(), a_host(16)};
    simulate(w, speeds, 2, all);
    cr_assert_eq(w[1].solved, 0, "%d columns", (int)all);
    cr_assert_eq(w[0].solved, all);
  }
  spti_share_worker w[2] = {a_device(), a_host(16)};
  const outcome o = simulate(w, speeds, 2, 65536);
  cr_assert(w[1].solved == 512 && o.end < 65536.0 / 80, "%d columns, %g s", (int)w[1].solved, o.end); /* now it is known to be slow */
}

/* While nobody else goes on who could be measured, the one that is doubted takes all. */
Test(share, a_host_whose_devices_have_no_threads_works) {
  spti_share_worker w[2] = {a_host(4), a_device()};
  int64_t begin, end, next = 0;
  cr_assert_eq(spti_share_take(&begin, &end, w, 2, 0, &next, 1000), SPTI_SHARE_LATER);
  w[1].left = true;
  cr_assert_eq(spti_share_take(&begin, &end, w, 2, 0, &next, 1000), SPTI_SHARE_TAKEN);
  cr_assert(begin == 0 && end == 128 && next == 128);
}

Test(share, a_worker_that_took_nothing_is_tried_again) {
  spti_share_worker w[2] = {{.panel = 8, .chunk = 64}, {.panel = 8, .chunk = 64}};
  const double speeds[2] = {1, 1};
  simulate(w, speeds, 2, 1000);
  w[1].rate = 1e-3;
  int calls = 0;
  for (; calls < 60 && (calls == 0 || w[1].solved == 0); calls++) simulate(w, speeds, 2, 1000);
  cr_assert(calls > 10 && calls < 50, "%d calls", calls);
  simulate(w, speeds, 2, 1000);
  cr_assert(w[1].solved >= 400, "%d columns", (int)w[1].solved);
}

/* ---- single steps, without a simulation ---- */

typedef struct {
  spti_share_worker w[3];
  int64_t next;
} scene;

static int64_t takes(scene *s, int count, int me) {
  int64_t begin, end;
  return spti_share_take(&begin, &end, s->w, count, me, &s->next, 100000) == SPTI_SHARE_TAKEN ? end - begin : 0;
}

/* A host beside GPUs that has shown that it is slow leaves all to them; another device takes half of its part. */
Test(share, a_slow_host_beside_gpus_sits_out) {
  scene s = {
      .w = {{.panel = 8, .chunk = 64, .rate = 80, .warm = true}, {.panel = 8, .chunk = 64, .rate = 20, .warm = true, .doubted = true}}};
  scene device = s;
  device.w[1].doubted = false;
  cr_assert_eq(takes(&device, 2, 1), 64);
  cr_assert_eq(takes(&s, 2, 1), 0);
  cr_assert(s.w[1].left && s.w[1].slow);
}

/* The first chunk of a host took up to twice as long as those after it, so its part is that of twice the speed. */
Test(share, the_first_chunk_of_a_host_counts_twice) {
  scene s = {.w = {{.panel = 8, .chunk = 100000, .rate = 80, .warm = true},
                   {.panel = 8, .chunk = 100000, .first = 40, .warm = true, .prompt = true}}};
  cr_assert_eq(takes(&s, 2, 1), 50000);
}

/* Parts are those of the workers that go on, and of those that are not slow. */
Test(share, who_has_left_and_who_is_slow_has_no_part) {
  const spti_share_worker even = {.panel = 8, .chunk = 100000, .rate = 80, .warm = true};
  scene three = {.w = {even, even, even}}, two = three, beside_slow = three;
  two.w[2].left = true;
  beside_slow.w[2].rate = 30, beside_slow.w[2].doubted = true;
  cr_assert_eq(takes(&three, 3, 0), 33336);
  cr_assert_eq(takes(&two, 3, 0), 50000);
  cr_assert_eq(takes(&beside_slow, 3, 0), 50000);
  beside_slow.next = 0;
  cr_assert_eq(takes(&beside_slow, 3, 2), 0, "it is known to be slow");
}
