/* grouped.c -- groups of sparse right-hand sides in the panels that they reach (core/plan/method.h): each group has copies of these
 * panels, which share tiles, inverses and near columns with the plan and have step lists of their own. The solve kernel takes the copies
 * of all groups for the panels of one triangle. */
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "trsm/block/gpu/block.h"
#include "trsm/block/gpu/grouped_kernels.h"

typedef struct {
  spti_block_state copies; /* the panels of all groups */
  spti_block_grouped_args args;
  void *memory[2]; /* device: arrays by copies; arrays by their steps */
} grouped_state;

/* What the host needs of the plan's panels. */
typedef struct {
  int32_t count, *first, *order, *panel_of, *step_start, *col;
  uint64_t *reached; /* [count][words]: the groups that reach a panel */
  int64_t words;
  void *memory;
} host_panels;

/* ---- which groups reach which panels ---- */

static size_t lay_out_host(host_panels *h, const spti_block_state *s, int32_t groups, void *memory) {
  spti_carver c = {.base = memory};
  h->count = s->panels.count;
  h->words = ((int64_t)groups + 63) / 64;
  h->first = spti_carve(&c, (int64_t)h->count + 1, sizeof *h->first);
  h->order = spti_carve(&c, h->count, sizeof *h->order);
  h->panel_of = spti_carve(&c, s->panels.n, sizeof *h->panel_of);
  h->step_start = spti_carve(&c, (int64_t)h->count + 1, sizeof *h->step_start);
  h->col = spti_carve(&c, s->steps * SPTI_BLOCK_STEP, sizeof *h->col);
  h->reached = spti_carve(&c, h->count * h->words, sizeof *h->reached);
  h->memory = memory;
  return c.used;
}

static sptrsm_status fetch_panels(host_panels *h, const spti_block_state *s, const sptrsm_context *context, int32_t groups) {
  const spti_block_panels *p = &s->panels;
  void *memory;
  SPTI_TRY(spti_host_alloc(&memory, (int64_t)lay_out_host(h, s, groups, NULL), 1, "groups of columns"));
  (void)lay_out_host(h, s, groups, memory);
  memset(h->reached, 0, (size_t)(h->count * h->words) * sizeof *h->reached);
  SPTI_TRY(spti_gpu_fetch(context, h->first, p->first, ((size_t)h->count + 1) * sizeof *h->first));
  SPTI_TRY(spti_gpu_fetch(context, h->order, p->order, (size_t)h->count * sizeof *h->order));
  SPTI_TRY(spti_gpu_fetch(context, h->panel_of, s->panel_of, (size_t)p->n * sizeof *h->panel_of));
  SPTI_TRY(spti_gpu_fetch(context, h->step_start, p->step_start, ((size_t)h->count + 1) * sizeof *h->step_start));
  return spti_gpu_fetch(context, h->col, p->col, (size_t)s->steps * SPTI_BLOCK_STEP * sizeof *h->col);
}

static uint64_t *groups_of(const host_panels *h, int32_t panel) { return h->reached + panel * h->words; }

static bool reaches(const host_panels *h, int32_t group, int32_t panel) { return groups_of(h, panel)[group / 64] >> group % 64 & 1; }

/* A panel is reached by those who have an entry in it and by those who reach a column before it. */
static void spread(const host_panels *h, const spti_group_entries *entries) {
  for (int32_t g = 0; g < entries->count; g++)
    for (int64_t e = entries->start[g]; e < entries->start[g + 1]; e++)
      groups_of(h, h->panel_of[entries->place[e]])[g / 64] |= (uint64_t)1 << g % 64;
  for (int32_t k = 0; k < h->count; k++) {
    uint64_t *to = groups_of(h, h->order[k]);
    int32_t last = -1; /* neighbouring columns are mostly of one panel */
    for (int64_t c = (int64_t)h->step_start[h->order[k]] * SPTI_BLOCK_STEP; c < (int64_t)h->step_start[h->order[k] + 1] * SPTI_BLOCK_STEP;
         c++) {
      if (h->col[c] < 0 || h->panel_of[h->col[c]] == last) continue;
      last = h->panel_of[h->col[c]];
      for (int64_t w = 0; w < h->words; w++) to[w] |= groups_of(h, last)[w];
    }
  }
}

/* ---- the copies ---- */

/* Arrays of the host that go to the device, in one allocation at both ends. */
typedef struct {
  int32_t *runs; /* the allocation begins here */
  int32_t *at, *first, *order, *source, *group, *step_start;
  size_t bytes;
} copy_arrays;

static void lay_out_copies(copy_arrays *a, int32_t copies, const host_panels *h, int32_t groups, void *memory) {
  spti_carver c = {.base = memory, .whole = true};
  a->runs = spti_carve(&c, (int64_t)h->count + 1, sizeof *a->runs);
  a->at = spti_carve(&c, (int64_t)groups * h->count, sizeof *a->at);
  a->first = spti_carve(&c, (int64_t)copies + 1, sizeof *a->first);
  a->order = spti_carve(&c, copies, sizeof *a->order);
  a->source = spti_carve(&c, copies, sizeof *a->source);
  a->group = spti_carve(&c, copies, sizeof *a->group);
  a->step_start = spti_carve(&c, (int64_t)copies + 1, sizeof *a->step_start);
  a->bytes = c.used;
}

static size_t lay_out_results(spti_block_grouped_args *args, void *memory) {
  spti_carver c = {.base = memory};
  args->steps = spti_carve(&c, args->copies, sizeof *args->steps);
  args->diag_start = spti_carve(&c, args->copies, sizeof *args->diag_start);
  args->near_start = spti_carve(&c, args->copies, sizeof *args->near_start);
  args->flags = spti_carve(&c, args->copies, sizeof *args->flags);
  return c.used;
}

static size_t lay_out_steps(spti_block_grouped_args *args, int32_t **herald, int64_t steps, void *memory) {
  spti_carver c = {.base = memory};
  args->col = spti_carve(&c, steps * SPTI_BLOCK_STEP, sizeof *args->col);
  args->step = spti_carve(&c, steps, sizeof *args->step);
  *herald = spti_carve(&c, steps, sizeof **herald);
  return c.used;
}

static sptrsm_status count_copies(int32_t *copies, int32_t *rows, const host_panels *h, int32_t groups) {
  int64_t panels = 0, places = 0;
  for (int32_t p = 0; p < h->count; p++)
    for (int32_t g = 0; g < groups; g++)
      if (reaches(h, g, p)) panels++, places += h->first[p + 1] - h->first[p];
  if (places > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: the groups reach %lld rows together, more than %d", (long long)places, INT32_MAX);
  *copies = (int32_t)panels;
  *rows = (int32_t)places;
  return SPTRSM_OK;
}

/* Copies are numbered by group, then by panel, and solved in the order of the plan's panels. */
static void number_copies(copy_arrays *a, const host_panels *h, int32_t groups) {
  int32_t copy = 0, place = 0, solved = 0, *number = a->at; /* for a while */
  for (int32_t g = 0; g < groups; g++)
    for (int32_t p = 0; p < h->count; p++) {
      number[(int64_t)g * h->count + p] = reaches(h, g, p) ? copy : -1;
      if (!reaches(h, g, p)) continue;
      a->source[copy] = p;
      a->group[copy] = g;
      a->first[copy++] = place;
      place += h->first[p + 1] - h->first[p];
    }
  a->first[copy] = place;
  for (int32_t k = 0; k < h->count; k++)
    for (int32_t g = 0; g < groups; g++) {
      const int32_t own = number[(int64_t)g * h->count + h->order[k]];
      if (own >= 0) a->order[solved++] = own;
    }
  for (int64_t e = 0; e < (int64_t)groups * h->count; e++)
    if (number[e] >= 0) a->at[e] = a->first[number[e]];
  memcpy(a->runs, h->first, ((size_t)h->count + 1) * sizeof *a->runs);
}

/* Copy k has step_start[k + 1] steps, which are added to those of the copies before it. UNSUPPORTED beyond 32 bits. */
static sptrsm_status add_up(int32_t *step_start, int32_t copies) {
  step_start[0] = 0;
  for (int32_t k = 0; k < copies; k++) {
    if (step_start[k + 1] > INT32_MAX / SPTI_BLOCK_STEP - step_start[k])
      return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: the groups have more than %d steps of columns together",
                       INT32_MAX / SPTI_BLOCK_STEP);
    step_start[k + 1] += step_start[k];
  }
  return SPTRSM_OK;
}

/* Counts the steps of the copies, and describes these as the panels of one triangle. */
static sptrsm_status count_steps(grouped_state *s, const copy_arrays *host, const copy_arrays *device, const sptrsm_plan *plan) {
  const spti_block_state *own = plan->state;
  const sptrsm_context *context = plan->context;
  const int32_t copies = s->args.copies;
  SPTI_CUDA(spti_block_grouped_count_launch(&s->args, context->stream));
  SPTI_TRY(spti_gpu_fetch(context, host->step_start + 1, s->args.steps, (size_t)copies * sizeof *host->step_start));
  SPTI_TRY(add_up(host->step_start, copies));
  SPTI_TRY(spti_copy_bytes(context, device->step_start, SPTRSM_CUDA, host->step_start, SPTRSM_HOST,
                           ((size_t)copies + 1) * sizeof *host->step_start));
  s->copies = *own;
  s->copies.steps = host->step_start[copies];
  s->copies.tiles = own->steps > 0 ? (int64_t)((double)own->tiles * (double)s->copies.steps / (double)own->steps) : 0;
  spti_block_panels *panels = &s->copies.panels;
  panels->n = host->first[copies];
  panels->count = copies;
  panels->first = device->first;
  panels->order = device->order;
  panels->step_start = device->step_start;
  panels->diag_start = s->args.diag_start;
  panels->near_start = s->args.near_start;
  panels->flags = s->args.flags;
  return SPTRSM_OK;
}

static sptrsm_status make_steps(grouped_state *s, const sptrsm_context *context) {
  spti_block_panels *panels = &s->copies.panels;
  const int64_t total = s->copies.steps;
  int32_t *herald;
  SPTI_TRY(spti_alloc(context, &s->memory[1], (int64_t)lay_out_steps(&s->args, &herald, total, NULL), 1, "steps of groups"));
  (void)lay_out_steps(&s->args, &herald, total, s->memory[1]);
  panels->col = s->args.col;
  panels->step = s->args.step;
  panels->herald = herald;
  SPTI_CUDA(spti_block_grouped_fill_launch(&s->args, context->stream));
  SPTI_CUDA(spti_block_herald_launch(panels, total, herald, context->stream));
  return SPTRSM_OK;
}

static sptrsm_status make_copies(spti_grouped *out, grouped_state *s, const host_panels *h, const sptrsm_plan *plan) {
  const sptrsm_context *context = plan->context;
  const spti_block_state *own = plan->state;
  copy_arrays host, device;
  s->args = (spti_block_grouped_args){.panels = own->panels, .panel_of = own->panel_of};
  SPTI_TRY(count_copies(&s->args.copies, &out->rows, h, out->groups));
  lay_out_copies(&device, s->args.copies, h, out->groups, NULL);
  SPTI_TRY(spti_host_alloc(&out->first, (int64_t)device.bytes, 1, "groups of columns"));
  lay_out_copies(&host, s->args.copies, h, out->groups, out->first);
  number_copies(&host, h, out->groups);
  out->at = host.at;
  SPTI_TRY(spti_alloc(context, &s->memory[0], (int64_t)(device.bytes + lay_out_results(&s->args, NULL)), 1, "groups of columns"));
  lay_out_copies(&device, s->args.copies, h, out->groups, s->memory[0]);
  (void)lay_out_results(&s->args, (char *)s->memory[0] + device.bytes);
  SPTI_TRY(spti_copy_bytes(context, s->memory[0], SPTRSM_CUDA, out->first, SPTRSM_HOST, device.bytes));
  out->run_of = own->panel_of, out->first_on = device.runs, out->at_on = device.at;
  s->args.source = device.source, s->args.group = device.group, s->args.at = device.at, s->args.step_start = device.step_start;
  SPTI_TRY(count_steps(s, &host, &device, plan));
  return make_steps(s, context);
}

/* ---- members of spti_grouping ---- */

static void grouped_free(spti_grouped *g, const sptrsm_plan *plan) {
  grouped_state *s = g->state;
  for (int m = 0; s && m < 2; m++) spti_free(plan->context, s->memory[m]);
  spti_host_free(s);
  spti_host_free(g->first);
  *g = (spti_grouped){0};
}

static sptrsm_status grouped_create(spti_grouped *out, const sptrsm_plan *plan, const spti_group_entries *entries) {
  const spti_block_state *own = plan->state;
  spti_grouped g = {.groups = entries->count, .runs = own->panels.count};
  grouped_state *s;
  host_panels h = {0};
  if (plan->view.n == 0 || entries->count == 0 || (int64_t)g.groups * g.runs > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: %d groups of %d panels", g.groups, g.runs);
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "groups of columns"));
  *s = (grouped_state){0};
  g.state = s;
  sptrsm_status status;
  SPTI_TRY_DONE(fetch_panels(&h, own, plan->context, g.groups));
  spread(&h, entries);
  status = make_copies(&g, s, &h, plan);
done:
  spti_host_free(h.memory);
  if (status == SPTRSM_OK) *out = g;
  else grouped_free(&g, plan);
  return status;
}

static sptrsm_status grouped_work_bytes(size_t *out, const spti_grouped *g, const sptrsm_plan *plan, int32_t width) {
  return spti_two_blocks_shared_bytes(out, plan, g->rows, width);
}

static sptrsm_status grouped_solve(const spti_grouped *g, const sptrsm_plan *plan, void *work, void *block, int32_t width) {
  const grouped_state *s = g->state;
  const spti_end end = {.data = block, .row_stride = width, .col_stride = 1};
  const spti_transfer between = {.from = end, .to = end, .alpha = {1, 0}, .width = width};
  spti_two_blocks blocks;
  if (g->rows == 0 || width == 0) return SPTRSM_OK;
  SPTI_TRY(spti_two_blocks_place(&blocks, work, g->rows, width));
  SPTI_CUDA(spti_block_grouped_flags_launch(&s->args, plan->context->stream));
  return spti_block_solve_in(&s->copies, false, plan, &blocks, &between);
}

const spti_grouping spti_block_grouping = {
    .create = grouped_create, .free = grouped_free, .work_bytes = grouped_work_bytes, .solve = grouped_solve};
