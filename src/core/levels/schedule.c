/* schedule.c -- steps; for how many threads they are, by a model of the time of one right-hand side on a server core of 2024; the run.
 * In tenths of a nanosecond a row costs ROW and an entry ENTRY, both twice as much in a wide level, where the rows that a thread reads are
 * scattered; starting a team of threads costs START, and a barrier BARRIER and THREAD for each thread. The model prefers one thread,
 * because sharing gains less than a busy machine can lose by it. */
#include "core/levels/schedule.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/pause.h"
#include "core/context/alloc.h"
#include "core/levels/forest.h"

enum { ROW = 80, ENTRY = 8, BARRIER = 20000, THREAD = 1000, START = 500000, TEAM_MAX = 64 };

/* A schedule of levels, whose steps are many, must halve the time of one thread, one of trees save a quarter of it. */
enum { LEVELS_PERCENT = 50, TREES_PERCENT = 75 };

enum { PARTS_OF_TREES = 4 }; /* for each thread in a layer, since subtrees differ in cost */

static const spti_schedule none_shared = {.least = 1, .team = 1};

static int64_t barrier_cost(int threads) { return threads > 1 ? BARRIER + (int64_t)THREAD * threads : 0; }

/* A level is wide if half of its cost is more than the barrier that splitting needs. */
static bool is_wide(int64_t cost) { return cost > 2 * barrier_cost(2); }

static sptrsm_status allocate(spti_schedule *s, int64_t steps, int64_t units) {
  SPTI_TRY(spti_host_alloc(&s->ptr, steps + 1, sizeof *s->ptr, "steps"));
  SPTI_TRY(spti_host_alloc(&s->cost, units + 1, sizeof *s->cost, "costs of units"));
  SPTI_TRY(spti_host_alloc(&s->heaviest, steps, sizeof *s->heaviest, "costs of steps"));
  s->bytes = (size_t)steps * (sizeof *s->ptr + sizeof *s->heaviest) + (size_t)units * sizeof *s->cost;
  return SPTRSM_OK;
}

/* Sets step_of[l] of each level, and whether it is wide: a wide level is a step of its own, consecutive narrow levels share one. */
static int32_t assign_steps(int32_t *step_of, bool *wide, const spti_levels *levels, const int64_t *cost) {
  int32_t steps = 0;
  for (int32_t l = 0; l < levels->count; l++) {
    int64_t sum = 0;
    for (int32_t r = levels->ptr[l]; r < levels->ptr[l + 1]; r++) sum += cost[levels->order[r]];
    wide[l] = is_wide(sum);
    if (l == 0 || wide[l] || wide[l - 1]) steps++;
    step_of[l] = steps - 1;
  }
  return steps;
}

/* Sorts the rows by step, by counting; within a step they keep the natural solve order. */
static void sort_rows(spti_schedule *s, const spti_view *v, const int32_t *step_of_row, int32_t *next) {
  memset(next, 0, ((size_t)s->steps + 1) * sizeof *next);
  for (int32_t i = 0; i < v->n; i++) next[step_of_row[i] + 1]++;
  for (int32_t t = 0; t < s->steps; t++) next[t + 1] += next[t];
  for (int32_t r = 0; r < v->n; r++) {
    const int32_t i = spti_view_line(v, r);
    s->order[next[step_of_row[i]]++] = i;
  }
}

static sptrsm_status of_levels(spti_schedule *s, const spti_view *v, const spti_levels *levels, const int64_t *cost) {
  int32_t *step_of = NULL, *step_of_row = NULL, *next = NULL, units = 0;
  bool *wide = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&step_of, levels->count, sizeof *step_of, "steps of levels"));
  SPTI_TRY_DONE(spti_host_alloc(&wide, levels->count, sizeof *wide, "wide levels"));
  SPTI_TRY_DONE(spti_host_alloc(&step_of_row, v->n, sizeof *step_of_row, "steps of rows"));
  s->steps = assign_steps(step_of, wide, levels, cost);
  SPTI_TRY_DONE(spti_host_alloc(&next, (int64_t)s->steps + 1, sizeof *next, "ends of steps"));
  SPTI_TRY_DONE(allocate(s, s->steps, v->n));
  SPTI_TRY_DONE(spti_host_alloc(&s->unit, (int64_t)v->n + 1, sizeof *s->unit, "units of steps"));
  SPTI_TRY_DONE(spti_host_alloc(&s->order, v->n, sizeof *s->order, "rows by step"));
  s->bytes += (size_t)v->n * (sizeof *s->unit + sizeof *s->order);
  for (int32_t l = 0, t = -1; l < levels->count; l++) {
    const int32_t first = levels->ptr[l], last = levels->ptr[l + 1];
    if (step_of[l] != t) s->ptr[t = step_of[l]] = units, s->unit[units++] = first; /* earlier steps have the rows before it */
    if (wide[l])
      for (int32_t r = first + 1; r < last; r++) s->unit[units++] = r;
    for (int32_t r = first; r < last; r++) step_of_row[levels->order[r]] = t;
  }
  s->ptr[s->steps] = units;
  s->unit[units] = v->n;
  sort_rows(s, v, step_of_row, next);
done:
  spti_host_free(step_of);
  spti_host_free(wide);
  spti_host_free(step_of_row);
  spti_host_free(next);
  return status;
}

/* Can trees save what they must? Not if all rows take less than a team costs, nor if a chain of rows that depend on each other takes nearly
 * all of the time. */
static sptrsm_status may_pay(bool *out, const spti_view *v, const int64_t *cost) {
  int64_t *chain, total = 0, longest = 0;
  *out = false;
  for (int32_t i = 0; i < v->n; i++) total += cost[i];
  const int64_t most = total / 100 * TREES_PERCENT;
  if (total - most <= START + SPTI_FOREST_LAYERS * barrier_cost(2)) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&chain, v->n, sizeof *chain, "costs of chains"));
  for (int32_t r = 0; r < v->n && longest <= most; r++) {
    const int32_t i = spti_view_line(v, r);
    int64_t before = 0;
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
      if (chain[v->idx[p]] > before) before = chain[v->idx[p]];
    chain[i] = before + cost[i];
    if (chain[i] > longest) longest = chain[i];
  }
  spti_host_free(chain);
  *out = longest <= most;
  return SPTRSM_OK;
}

/* Leaves s without arrays if trees can't pay. */
static sptrsm_status of_trees(spti_schedule *s, const spti_view *v, const int64_t *cost) {
  bool worth;
  spti_forest forest;
  SPTI_TRY(may_pay(&worth, v, cost));
  if (!worth) return SPTRSM_OK;
  SPTI_TRY(spti_forest_build(&forest, v, cost));
  sptrsm_status status = allocate(s, SPTI_FOREST_LAYERS, forest.trees);
  if (status == SPTRSM_OK) {
    s->trees = true;
    s->steps = SPTI_FOREST_LAYERS;
    memcpy(s->ptr, forest.ptr, sizeof forest.ptr);
    s->unit = forest.tree, s->order = forest.order;
    s->bytes += (size_t)forest.trees * sizeof *s->unit + (size_t)v->n * sizeof *s->order;
    forest.tree = forest.order = NULL;
  }
  spti_forest_free(&forest);
  return status;
}

static void add_costs(spti_schedule *s, const int64_t *cost) {
  s->cost[0] = 0;
  for (int32_t t = 0; t < s->steps; t++) {
    s->heaviest[t] = 0;
    s->split += s->ptr[t + 1] - s->ptr[t] > 1;
    for (int32_t u = s->ptr[t]; u < s->ptr[t + 1]; u++) {
      int64_t sum = 0;
      for (int32_t r = s->unit[u]; r < s->unit[u + 1]; r++) sum += cost[s->order[r]];
      s->cost[u + 1] = s->cost[u] + sum;
      if (sum > s->heaviest[t]) s->heaviest[t] = sum;
    }
  }
}

/* A step takes the time of its heaviest unit at least. */
static int64_t time_with(const spti_schedule *s, int threads) {
  if (threads == 1) return s->cost[s->ptr[s->steps]];
  int64_t time = START;
  for (int32_t t = 0; t < s->steps; t++) {
    const int64_t scattered = s->trees || s->ptr[t + 1] - s->ptr[t] == 1 ? 1 : 2;
    const int64_t share = (s->cost[s->ptr[t + 1]] - s->cost[s->ptr[t]]) * scattered / threads, least = s->heaviest[t] * scattered;
    time += (share > least ? share : least) + barrier_cost(threads);
  }
  return time;
}

/* The smallest team within a tenth of the best time; returns its time. */
static int64_t choose_team(spti_schedule *s, const int64_t *row_cost) {
  if (!s->ptr) return INT64_MAX;
  add_costs(s, row_cost);
  const int64_t alone = time_with(s, 1), most = alone * (s->trees ? TREES_PERCENT : LEVELS_PERCENT) / 100;
  int64_t best = alone;
  for (int threads = 2; threads <= TEAM_MAX; threads++) {
    const int64_t time = time_with(s, threads);
    if (time < best) best = time;
    if (s->least == 1 && time <= most) s->least = threads;
  }
  if (s->least == 1) return alone;
  for (s->team = s->least; time_with(s, s->team) > best + best / 10;) s->team++;
  return time_with(s, s->team);
}

static sptrsm_status row_costs(int64_t **out, const spti_view *v) {
  SPTI_TRY(spti_host_alloc(out, v->n, sizeof **out, "costs of rows"));
  for (int32_t i = 0; i < v->n; i++) (*out)[i] = ROW + ENTRY * (v->ptr[i + 1] - v->ptr[i]);
  return SPTRSM_OK;
}

/* Hands out the schedule, without arrays if nothing is shared. */
static void give(spti_schedule *out, spti_schedule *s) {
  if (s->team == 1) spti_schedule_free(s);
  *out = *s;
  *s = none_shared;
}

sptrsm_status spti_schedule_trees(spti_schedule *out, const spti_view *v, const int64_t *cost) {
  spti_schedule s = none_shared;
  sptrsm_status status = of_trees(&s, v, cost);
  if (status == SPTRSM_OK) {
    choose_team(&s, cost);
    give(out, &s);
  }
  spti_schedule_free(&s);
  return status;
}

sptrsm_status spti_schedule_build(spti_schedule *out, const spti_view *v, const spti_levels *levels) {
  spti_schedule by_levels = none_shared, by_trees = none_shared;
  int64_t *cost = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(row_costs(&cost, v));
  SPTI_TRY_DONE(of_levels(&by_levels, v, levels, cost));
  SPTI_TRY_DONE(of_trees(&by_trees, v, cost));
  give(out, choose_team(&by_trees, cost) < choose_team(&by_levels, cost) ? &by_trees : &by_levels);
done:
  spti_schedule_free(&by_levels);
  spti_schedule_free(&by_trees);
  spti_host_free(cost);
  return status;
}

void spti_schedule_free(spti_schedule *s) {
  if (!s->borrowed) {
    spti_host_free(s->ptr);
    spti_host_free(s->unit);
    spti_host_free(s->order);
    spti_host_free(s->cost);
    spti_host_free(s->heaviest);
  }
  *s = none_shared;
}

/* ---- in a blob ---- */

/* Do the pointers begin at 0, never decrease and end with `last`? */
static bool is_partition(const int32_t *ptr, int32_t count, int32_t last) {
  if (ptr[0] != 0) return false;
  for (int32_t k = 0; k < count; k++)
    if (ptr[k + 1] < ptr[k]) return false;
  return ptr[count] == last;
}

/* The sums of costs must not overflow where they are multiplied by numbers of threads, and the sum must be positive, since times are
 * divided by it. No unit costs more than its step. */
static bool are_costs(const spti_schedule *s) {
  const int64_t most = INT64_MAX / (2 * PARTS_OF_TREES * TEAM_MAX);
  const int32_t units = s->ptr[s->steps];
  if (s->cost[0] != 0) return false;
  for (int32_t k = 0; k < units; k++)
    if (s->cost[k + 1] < s->cost[k]) return false;
  for (int32_t t = 0; t < s->steps; t++)
    if (s->heaviest[t] < 0 || s->heaviest[t] > s->cost[s->ptr[t + 1]] - s->cost[s->ptr[t]]) return false;
  return s->cost[units] > 0 && s->cost[units] <= most;
}

static bool are_rows(const int32_t *order, int32_t count, int32_t rows) {
  for (int32_t r = 0; r < count; r++)
    if (order[r] < 0 || order[r] >= rows) return false;
  return true;
}

void spti_schedule_carry(spti_schedule *s, spti_blob *b, int32_t rows) {
  const bool reads = b->mode == SPTI_BLOB_READ;
  int32_t shape[] = {s->steps, s->split, s->least, s->team, s->ptr ? s->ptr[s->steps] : 0, s->ptr ? s->unit[s->ptr[s->steps]] : 0,
                     s->trees};
  spti_blob_value(b, shape, sizeof shape);
  const int32_t steps = shape[0], least = shape[2], team = shape[3], units = shape[4], ordered = shape[5];
  if (b->status != SPTRSM_OK || team == 1) return;
  if (steps < 1 || units < 1 || ordered < 0 || ordered > rows || least < 1 || least > team || team > TEAM_MAX) {
    spti_blob_refuse(b, "plan: a schedule of %d steps, %d units and %d of %d rows for %d to %d threads is none; make the plan anew", steps,
                     units, ordered, rows, least, team);
    return;
  }
  spti_schedule t = *s;
  if (reads) t = (spti_schedule){.trees = shape[6] != 0, .steps = steps, .split = shape[1], .least = least, .team = team, .borrowed = true};
  const size_t before = b->used;
  spti_blob_array(b, &t.ptr, (int64_t)steps + 1, sizeof *t.ptr);
  spti_blob_array(b, &t.unit, (int64_t)units + 1, sizeof *t.unit);
  spti_blob_array(b, &t.order, ordered, sizeof *t.order);
  spti_blob_array(b, &t.cost, (int64_t)units + 1, sizeof *t.cost);
  spti_blob_array(b, &t.heaviest, steps, sizeof *t.heaviest);
  if (!reads || b->status != SPTRSM_OK) return;
  t.bytes = b->used - before;
  if (is_partition(t.ptr, steps, units) && is_partition(t.unit, units, ordered) && are_costs(&t) && are_rows(t.order, ordered, rows))
    *s = t;
  else spti_blob_refuse(b, "plan: its schedule has steps, units or rows that are not there; make the plan anew");
}

/* The first unit in [begin, end] with a cost of at least `work` before it. */
static int32_t unit_at(const int64_t *cost, int32_t begin, int32_t end, int64_t work) {
  while (begin < end) {
    const int32_t middle = begin + (end - begin) / 2;
    if (cost[middle] < work) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

void spti_schedule_share(int32_t *begin, int32_t *end, const spti_schedule *s, int32_t step, int part, int parts) {
  const int32_t first = s->ptr[step], last = s->ptr[step + 1];
  const int64_t base = s->cost[first], work = s->cost[last] - base;
  *begin = unit_at(s->cost, first, last, base + work * part / parts);
  *end = unit_at(s->cost, first, last, base + work * (part + 1) / parts);
}

/* Of `ready` threads, those that share a panel. */
static int sharers(const spti_schedule *s, int ready) {
  const int threads = ready < s->team ? ready : s->team;
  return threads < s->least ? 1 : threads;
}

double spti_schedule_time(const spti_schedule *s, int threads) {
  const int used = sharers(s, threads);
  return used > 1 ? (double)time_with(s, used) / (double)time_with(s, 1) : 1;
}

int spti_schedule_threads(const spti_schedule *s, const spti_team *team) { return sharers(s, spti_team_threads(team)); }

/* Piece p is part p % parts of step p / parts. */
typedef struct {
  const spti_schedule *schedule;
  spti_schedule_solve *solve;
  void *argument;
  int parts;
  atomic_llong done; /* pieces */
} shared_solve;

/* Pieces are claimed in the order of the steps, so all parts of earlier steps are done or in work. Their solutions are visible here, since
 * each part is counted after it was written. A part without rows waits as well: it would otherwise be counted in place of a part of an
 * earlier step that is still in work. */
static void solve_part(void *argument, int64_t piece, int member) {
  shared_solve *job = argument;
  const int32_t step = (int32_t)(piece / job->parts);
  int32_t begin, end;
  (void)member;
  spti_schedule_share(&begin, &end, job->schedule, step, (int)(piece % job->parts), job->parts);
  for (int round = 0; atomic_load(&job->done) < (int64_t)step * job->parts; round++) spti_pause(round);
  job->solve(job->argument, step, begin, end);
  atomic_fetch_add(&job->done, 1);
}

void spti_schedule_run(const spti_schedule *s, spti_team *team, int threads, spti_schedule_solve *solve, void *argument) {
  shared_solve job = {.schedule = s, .solve = solve, .argument = argument, .parts = s->trees ? PARTS_OF_TREES * threads : threads};
  atomic_init(&job.done, 0);
  spti_team_run(team, threads, (int64_t)s->steps * job.parts, solve_part, &job);
}
