/* schedule.c -- steps, and the number of threads for them, by a model of the time of one right-hand side on a server core of 2024.
 * In tenths of a nanosecond a row costs ROW and an entry ENTRY, both twice as much in a split level, where the rows that a thread reads
 * are scattered; starting a team of threads costs START, and a barrier BARRIER and THREAD for each thread. The model prefers one thread,
 * because sharing gains less than a busy machine can lose by it (README.md). */
#include "trsv/levelset/host/schedule.h"

#include <string.h>

#include "core/context/alloc.h"

enum { ROW = 80, ENTRY = 8, BARRIER = 20000, THREAD = 1000, START = 500000, TEAM_MAX = 64 };

static int64_t row_cost(const spti_view *v, int32_t i) { return ROW + ENTRY * (v->ptr[i + 1] - v->ptr[i]); }

static int64_t barrier_cost(int threads) { return threads > 1 ? BARRIER + (int64_t)THREAD * threads : 0; }

/* A level is split if half of its cost is more than the barrier that splitting needs. */
static bool is_wide(int64_t cost) { return cost > 2 * barrier_cost(2); }

/* Sets step_of[l] of each level: a wide level is a step of its own, consecutive narrow levels share one. */
static void assign_steps(spti_schedule *s, const spti_levels *levels, const spti_view *v, int32_t *step_of) {
  bool previous_wide = true;
  for (int32_t l = 0; l < levels->count; l++) {
    int64_t cost = 0;
    for (int32_t r = levels->ptr[l]; r < levels->ptr[l + 1]; r++) cost += row_cost(v, levels->order[r]);
    bool wide = is_wide(cost);
    if (wide || previous_wide) s->split[s->steps++] = wide;
    s->wide += wide;
    previous_wide = wide;
    step_of[l] = s->steps - 1;
  }
}

/* Sorts the rows by step, by counting; within a step they keep the natural solve order. Adds up their costs. */
static void sort_rows(spti_schedule *s, const spti_view *v, const int32_t *step_of_row) {
  memset(s->ptr, 0, ((size_t)s->steps + 1) * sizeof *s->ptr);
  for (int32_t i = 0; i < v->n; i++) s->ptr[step_of_row[i] + 1]++;
  for (int32_t t = 0; t < s->steps; t++) s->ptr[t + 1] += s->ptr[t];
  for (int32_t r = 0; r < v->n; r++) {
    int32_t i = spti_view_line(v, r);
    s->order[s->ptr[step_of_row[i]]++] = i;
  }
  for (int32_t t = s->steps; t > 0; t--) s->ptr[t] = s->ptr[t - 1];
  s->ptr[0] = 0;
  s->cost[0] = 0;
  for (int32_t r = 0; r < v->n; r++) s->cost[r + 1] = s->cost[r] + row_cost(v, s->order[r]);
}

static int64_t time_with(const spti_schedule *s, int threads) {
  int64_t time = threads > 1 ? START : 0;
  for (int32_t t = 0; t < s->steps; t++) {
    int64_t cost = s->cost[s->ptr[t + 1]] - s->cost[s->ptr[t]];
    time += s->split[t] && threads > 1 ? cost * 2 / threads : cost;
    time += barrier_cost(threads);
  }
  return time;
}

/* Sharing must take at most half of one thread's time. The team is the smallest one within a tenth of the best time. */
static void choose_team(spti_schedule *s) {
  int64_t alone = time_with(s, 1), best = alone;
  s->team = s->least = 1;
  for (int threads = 2; threads <= TEAM_MAX; threads++) {
    int64_t time = time_with(s, threads);
    if (time < best) best = time;
    if (s->least == 1 && time <= alone / 2) s->least = threads;
  }
  if (s->least == 1) return;
  for (s->team = s->least; time_with(s, s->team) > best + best / 10;) s->team++;
}

sptrsm_status spti_schedule_build(spti_schedule *out, const spti_view *v, const spti_levels *levels) {
  spti_schedule s = {0};
  int32_t *step_of = NULL, *step_of_row = NULL;
  int64_t n = v->n;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&step_of, levels->count, sizeof *step_of, "steps of levels"));
  SPTI_TRY_DONE(spti_host_alloc(&step_of_row, n, sizeof *step_of_row, "steps of rows"));
  SPTI_TRY_DONE(spti_host_alloc(&s.split, levels->count, sizeof *s.split, "kinds of steps"));
  SPTI_TRY_DONE(spti_host_alloc(&s.ptr, (int64_t)levels->count + 1, sizeof *s.ptr, "step pointers"));
  SPTI_TRY_DONE(spti_host_alloc(&s.order, n, sizeof *s.order, "step order"));
  SPTI_TRY_DONE(spti_host_alloc(&s.cost, n + 1, sizeof *s.cost, "costs of rows"));
  assign_steps(&s, levels, v, step_of);
  for (int32_t l = 0; l < levels->count; l++)
    for (int32_t r = levels->ptr[l]; r < levels->ptr[l + 1]; r++) step_of_row[levels->order[r]] = step_of[l];
  sort_rows(&s, v, step_of_row);
  choose_team(&s);
  s.bytes = (size_t)levels->count * (sizeof *s.split + sizeof *s.ptr) + (size_t)n * (sizeof *s.order + sizeof *s.cost);
  *out = s;
  s = (spti_schedule){0};
done:
  spti_schedule_free(&s);
  spti_host_free(step_of);
  spti_host_free(step_of_row);
  return status;
}

void spti_schedule_free(spti_schedule *s) {
  spti_host_free(s->ptr);
  spti_host_free(s->order);
  spti_host_free(s->cost);
  spti_host_free(s->split);
  *s = (spti_schedule){0};
}

/* The first row in [begin, end] with a cost of at least `work` before it. */
static int32_t row_at(const int64_t *cost, int32_t begin, int32_t end, int64_t work) {
  while (begin < end) {
    int32_t middle = begin + (end - begin) / 2;
    if (cost[middle] < work) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

void spti_schedule_share(int32_t *begin, int32_t *end, const spti_schedule *s, int32_t step, int thread, int threads) {
  int32_t first = s->ptr[step], last = s->ptr[step + 1];
  *begin = first;
  *end = thread == 0 ? last : first;
  if (!s->split[step]) return;
  int64_t base = s->cost[first], work = s->cost[last] - base;
  *begin = row_at(s->cost, first, last, base + work * thread / threads);
  *end = row_at(s->cost, first, last, base + work * (thread + 1) / threads);
}
