/* method_order.c -- see method_order.h. A plan gets a copy of its method whose functions check the order of calls and then call the
 * method's own functions. The order is
 *
 *     analyse, and once it has succeeded: panel, work_bytes, describe, update_values, work_create, solve, work_free; last of all free
 *
 * free may be called at any time except while a workspace exists; after it an analysis must be the next call. */
#include "simt/core/method_order.h"

#include <stdio.h>
#include <string.h>

#include "core/plan/method.h"

char method_order_breach[160];
int method_order_calls;

enum { METHODS_MOST = 32, PLANS_MOST = 64 };

typedef struct {
  spti_method shown; /* the copy to which plans point */
  const spti_method *own;
} watched;

static watched methods[METHODS_MOST];

/* Plans that are analysed and not freed, and their workspaces. */
static struct {
  const sptrsm_plan *plan;
  int works;
} analysed[PLANS_MOST];

static int place_of(const sptrsm_plan *plan) {
  for (int p = 0; p < PLANS_MOST; p++)
    if (analysed[p].plan == plan) return p;
  return -1;
}

static const spti_method *own_method(const sptrsm_plan *plan) { return ((const watched *)plan->method)->own; }

static void expect(bool kept, const sptrsm_plan *plan, const char *call) {
  method_order_calls++;
  if (!kept && !*method_order_breach) snprintf(method_order_breach, sizeof method_order_breach, "%s: %s", plan->method->name, call);
}

static const spti_method *after_analysis(const sptrsm_plan *plan, const char *call) {
  expect(place_of(plan) >= 0, plan, call);
  return own_method(plan);
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  expect(place_of(plan) < 0 && !plan->state, plan, "analyse of what is analysed");
  if (own_method(plan)->analyse) SPTI_TRY(own_method(plan)->analyse(plan));
  const int free_place = place_of(NULL);
  expect(free_place >= 0, plan, "more plans than are watched");
  if (free_place >= 0) analysed[free_place].plan = plan;
  return SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  const int place = place_of(plan);
  expect(place < 0 || analysed[place].works == 0, plan, "free under an open work");
  if (place >= 0) analysed[place].plan = NULL;
  if (own_method(plan)->free) own_method(plan)->free(plan);
}

static sptrsm_status update_values(sptrsm_plan *plan) { return after_analysis(plan, "update_values")->update_values(plan); }

static void describe(const sptrsm_plan *plan, sptrsm_info *info) { after_analysis(plan, "describe")->describe(plan, info); }

static int32_t panel(const sptrsm_plan *plan) { return after_analysis(plan, "panel")->panel(plan); }

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t width) {
  return after_analysis(plan, "work_bytes")->work_bytes(out, plan, width);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t width) {
  SPTI_TRY(after_analysis(plan, "work_create")->work_create(work, plan, width));
  if (place_of(plan) >= 0) analysed[place_of(plan)].works++;
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  after_analysis(plan, "work_free")->work_free(work, plan);
  if (place_of(plan) >= 0) analysed[place_of(plan)].works--;
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  return after_analysis(plan, "solve")->solve(plan, work, W);
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *transfer) {
  return after_analysis(plan, "solve_between")->solve_between(plan, work, transfer);
}

static bool writes_to(const sptrsm_plan *plan, const spti_end *to, int32_t width) {
  return after_analysis(plan, "writes_to")->writes_to(plan, to, width);
}

/* The copy has no function that the method does not have. */
static spti_method shown(const spti_method *m) {
  spti_method copy = *m;
  copy.analyse = analyse;
  copy.free = release;
  if (m->update_values) copy.update_values = update_values;
  if (m->describe) copy.describe = describe;
  if (m->panel) copy.panel = panel;
  if (m->work_bytes) copy.work_bytes = work_bytes;
  if (m->work_create) copy.work_create = work_create;
  if (m->work_free) copy.work_free = work_free;
  if (m->solve) copy.solve = solve;
  if (m->solve_between) copy.solve_between = solve_between;
  if (m->writes_to) copy.writes_to = writes_to;
  return copy;
}

const spti_method *__real_spti_method_find(const char *name, size_t length, sptrsm_place place);
const spti_method *__wrap_spti_method_find(const char *name, size_t length, sptrsm_place place);

const spti_method *__wrap_spti_method_find(const char *name, size_t length, sptrsm_place place) {
  const spti_method *own = __real_spti_method_find(name, length, place);
  if (!own || own->place != SPTRSM_CUDA) return own;
  int m = 0;
  while (m < METHODS_MOST - 1 && methods[m].own && methods[m].own != own) m++;
  methods[m] = (watched){shown(own), own};
  return &methods[m].shown;
}
