/* method.c -- block on the host: substitution by supernodes: dense blocks in registers, vector lanes over right-hand sides.
 * By rows, x(node) = D^-1 (b(node) - A x(list)); by columns, x(list) -= A x(node) after the triangle: whichever way the factor has its
 * supernodes. Source: [ashcraft1989, chen2008]. Differs: works on any triangle; updates go from registers to the rows of the panel, with no
 * buffer between; diagonal blocks are substituted, not inverted.
 * Wins: factors of direct solvers, two right-hand sides and more. Loses: triangles without supernodes, where it stores more.
 * Deterministic: yes; each row is summed in one order, whatever the width and the threads (an instruction set without fused multiply-add
 * rounds differently). README.md has more. */
#include <stdio.h>

#include "core/base/isa.h"
#include "core/base/variant.h"
#include "core/context/alloc.h"
#include "core/levels/schedule.h"
#include "core/plan/method.h"
#include "trsm/block/host/kernels.h"

enum { WIDTH_DEFAULT = 64, ZEROS_DEFAULT = 40, SLAB = 32 };
enum { NODE = 300, VALUE = 5 }; /* tenths of a nanosecond, for one right-hand side on a server core of 2024 */

typedef struct {
  const spti_block_host_kernels *kernels;
  spti_isa isa;
  spti_nodes nodes;
  spti_schedule schedule; /* of PULL nodes: its row i is node count - 1 - i */
  void *val;
} block_state;

static const spti_block_host_kernels *const kernels[SPTI_ISA_COUNT] = {
#ifdef SPTI_X86_KERNELS
    [SPTI_ISA_AVX512] = &spti_block_host_avx512,
    [SPTI_ISA_AVX2] = &spti_block_host_avx2,
#endif
    [SPTI_ISA_BASELINE] = &spti_block_host_baseline,
};

static void free_state(sptrsm_plan *plan) {
  block_state *state = plan->state;
  if (!state) return;
  spti_nodes_free(&state->nodes);
  spti_schedule_free(&state->schedule);
  spti_host_free(state->val);
  spti_host_free(state);
  plan->state = NULL;
}

/* The orientation in which factors have their supernodes: columns of what is solved forwards, rows of what is solved backwards. */
static sptrsm_status oriented(spti_view *out, const sptrsm_plan *plan) {
  return spti_matrix_view(out, plan->matrix, plan->op, plan->view.backward ? SPTI_PULL : SPTI_PUSH, SPTRSM_HOST);
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  block_state *state = plan->state;
  spti_view v;
  SPTI_TRY(oriented(&v, plan));
  spti_nodes_pack(state->val, &state->nodes, &v);
  return SPTRSM_OK;
}

/* The nodes as rows of a pull view, numbered as backward substitution numbers rows: ptr[count+1], and idx, which has room for each place of
 * a list. */
static void depend_on_nodes(int64_t *ptr, int32_t *idx, int32_t *node_of, int64_t *cost, const spti_nodes *s) {
  const int32_t last = s->count - 1;
  for (int32_t c = 0; c < s->count; c++)
    for (int32_t k = 0; k < s->node[c].width; k++) node_of[s->node[c].first + k] = last - c;
  ptr[0] = 0;
  for (int32_t i = 0; i < s->count; i++) {
    const spti_node *node = &s->node[last - i];
    int64_t end = ptr[i];
    for (int32_t k = 0; k < node->listed; k++) {
      const int32_t needed = node_of[s->list[node->list + k]];
      if (end == ptr[i] || idx[end - 1] != needed) idx[end++] = needed;
    }
    ptr[i + 1] = end;
    cost[i] = NODE + VALUE * spti_node_size(node);
  }
}

/* Pulled nodes write their own rows only, so threads may take nodes that do not depend on each other. */
static sptrsm_status make_schedule(spti_schedule *out, const spti_nodes *s) {
  spti_view v = {.n = s->count, .pull = true, .backward = true};
  int64_t *ptr = NULL, *cost = NULL;
  int32_t *idx = NULL, *node_of = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&ptr, (int64_t)s->count + 1, sizeof *ptr, "pointers of nodes"));
  SPTI_TRY_DONE(spti_host_alloc(&cost, s->count, sizeof *cost, "costs of nodes"));
  SPTI_TRY_DONE(spti_host_alloc(&idx, s->list_length, sizeof *idx, "nodes of nodes"));
  SPTI_TRY_DONE(spti_host_alloc(&node_of, s->n, sizeof *node_of, "nodes of places"));
  depend_on_nodes(ptr, idx, node_of, cost, s);
  v.nnz = ptr[s->count], v.ptr = ptr, v.idx = idx;
  status = spti_schedule_trees(out, &v, cost);
done:
  spti_host_free(ptr);
  spti_host_free(cost);
  spti_host_free(idx);
  spti_host_free(node_of);
  return status;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  int32_t isa = (int32_t)spti_isa_best();
  spti_node_limits limits = {.width = WIDTH_DEFAULT, .zeros = ZEROS_DEFAULT};
  const spti_setting known[] = {{.key = "zeros", .target = &limits.zeros, .least = 0, .most = 99},
                                {.key = "width", .target = &limits.width, .least = 1, .most = 1024},
                                {.key = "isa", .target = &isa, .words = spti_isa_names}};
  SPTI_TRY(spti_variant_parse("block", plan->variant, known, sizeof known / sizeof known[0]));
  if (!spti_isa_runs((spti_isa)isa))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block:isa=%s: this CPU lacks these instructions", spti_isa_names[isa]);
  block_state *state;
  spti_view v;
  SPTI_TRY(spti_host_alloc(&state, 1, sizeof *state, "block plan"));
  *state = (block_state){.kernels = kernels[isa], .isa = (spti_isa)isa, .schedule = {.least = 1, .team = 1}};
  plan->state = state; /* from here on the plan frees it */
  SPTI_TRY(oriented(&v, plan));
  SPTI_TRY(spti_nodes_find(&state->nodes, &v, &limits));
  SPTI_TRY(spti_host_alloc(&state->val, state->nodes.stored, sptrsm_dtype_bytes(v.dtype), "values of supernodes"));
  spti_nodes_pack(state->val, &state->nodes, &v);
  if (state->nodes.pull && v.backward) SPTI_TRY(make_schedule(&state->schedule, &state->nodes));
  plan->team = state->schedule.team;
  return SPTRSM_OK;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const block_state *state = plan->state;
  const spti_nodes *s = &state->nodes;
  info->plan_bytes = sizeof *state + (size_t)s->count * sizeof *s->node + (size_t)(s->list_length + s->n) * sizeof *s->list +
                     (s->pull ? 0 : (size_t)s->n * sizeof *s->gathered) + (size_t)s->stored * sptrsm_dtype_bytes(plan->view.dtype) +
                     state->schedule.bytes;
  double cells = (double)(s->entries + s->added);
  snprintf(info->parameters, sizeof info->parameters, "isa=%s %s team=%d nodes=%d dense=%.0f%% zeros=%.1f%%", spti_isa_names[state->isa],
           s->pull ? "pull" : "push", plan->team, s->count, s->entries > 0 ? 100 * (double)s->dense / (double)s->entries : 0,
           cells > 0 ? 100 * (double)s->added / cells : 0);
}

/* Right-hand sides of a slab: the values of a supernode are reused over the columns of a slab only. */
static int32_t panel(const sptrsm_plan *plan) {
  const int64_t hint = plan->options.nrhs_hint;
  int32_t slab = 8;
  while (slab < SLAB && (hint == 0 || slab < hint)) slab *= 2;
  return slab;
}

static int32_t place_of(const spti_nodes *s, int32_t row) { return s->reversed ? s->n - 1 - row : row; }

/* Has the node one of the panel's rows? *at: where to look for the first of them. A GATHER node stands before the node that has its place,
 * which may begin earlier. */
static bool has_rows(const spti_nodes *s, const spti_node *node, const spti_panel *W, int32_t *at) {
  int32_t a = *at;
  while (a < W->row_count && place_of(s, W->rows[a]) < node->first) a++;
  if (node->kind != SPTI_NODE_GATHER) *at = a;
  return a < W->row_count && place_of(s, W->rows[a]) < node->first + node->width;
}

/* The first node from `node` on whose answer to has_rows is `wanted`, or the end. */
static int32_t next_node(const spti_nodes *s, const spti_panel *W, int32_t node, bool wanted, int32_t *at) {
  while (node < s->count && has_rows(s, &s->node[node], W, at) != wanted) node++;
  return node;
}

typedef struct {
  const sptrsm_plan *plan;
  const spti_panel *W;
} shared_solve;

static void solve_nodes(const shared_solve *job, int32_t begin, int32_t end) {
  const block_state *state = job->plan->state;
  const spti_view *v = &job->plan->view;
  const spti_panel *W = job->W;
  const int64_t last = v->backward && v->n > 0 ? (v->n - 1) * W->ld : 0;
  char *data = (char *)W->data + (size_t)last * sptrsm_dtype_bytes(v->dtype);
  state->kernels->solve[v->dtype](&state->nodes, state->val, begin, end, v->unit, data, v->backward ? -W->ld : W->ld, W->padded);
}

/* Runs of neighbouring nodes. */
static void solve_scheduled(void *argument, int32_t begin, int32_t end) {
  const shared_solve *job = argument;
  const block_state *state = job->plan->state;
  const int32_t *order = state->schedule.order, last = state->nodes.count - 1;
  for (int32_t r = begin, next; r < end; r = next) {
    for (next = r + 1; next < end && order[next] == order[next - 1] - 1;) next++;
    solve_nodes(job, last - order[r], last - order[next - 1] + 1);
  }
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  const block_state *state = plan->state;
  const spti_nodes *s = &state->nodes;
  const int threads = W->rows ? 1 : spti_schedule_threads(&state->schedule, W->team);
  shared_solve job = {plan, W};
  if (threads > 1) {
    spti_schedule_run(&state->schedule, W->team, threads, solve_scheduled, &job);
    return SPTRSM_OK;
  }
  for (int32_t begin = 0, end, at = 0; begin < s->count; begin = end) {
    if (W->rows) begin = next_node(s, W, begin, true, &at);
    end = W->rows ? next_node(s, W, begin, false, &at) : s->count;
    solve_nodes(&job, begin, end);
  }
  return SPTRSM_OK;
}

const spti_method spti_method_block_host = {
    .name = "block",
    .summary = "supernodes: dense blocks of factors in registers, vector lanes over right-hand sides, on the host",
    .cite = "ashcraft1989",
    .place = SPTRSM_HOST,
    .wants = SPTI_ANY,
    .flags = SPTI_DETERMINISTIC | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = free_state,
    .describe = describe,
    .panel = panel,
    .solve = solve,
};
