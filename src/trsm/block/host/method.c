/* method.c -- block on the host: substitution by supernodes: dense blocks in registers, vector lanes over right-hand sides.
 * By rows, x(node) = D^-1 (b(node) - A x(list)); by columns, x(list) -= A x(node) after the triangle: whichever way the factor has its
 * supernodes. Source: [ashcraft1989, chen2008]. Differs: works on any triangle; updates go from registers to the rows of the panel, with no
 * buffer between; diagonal blocks are substituted, not inverted.
 * Wins: factors of direct solvers, two right-hand sides and more. Loses: triangles without supernodes, where it stores more.
 * Deterministic: yes; each row is summed in one order, whatever the width and the threads (an instruction set without fused multiply-add
 * rounds differently). README.md has more. */
#include <stdio.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/base/variant.h"
#include "core/context/alloc.h"
#include "core/plan/method.h"
#include "trsm/block/host/kernels.h"
#include "trsm/block/host/trees.h"

enum { WIDTH_DEFAULT = 64, ZEROS_DEFAULT = 40, SLAB = 32 };

typedef struct {
  const spti_block_host_kernels *kernels;
  spti_isa isa;
  spti_nodes nodes;
  spti_node_trees trees;
  void *val;
  bool val_borrowed; /* it is in a blob */
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
  spti_node_trees_free(&state->trees);
  if (!state->val_borrowed) spti_host_free(state->val);
  spti_host_free(state);
  plan->state = NULL;
}

/* The lines in which factors have their supernodes: columns of what is solved forwards, rows of what is solved backwards. They may
 * have no values. */
static sptrsm_status oriented(spti_view *out, const sptrsm_plan *plan) {
  return spti_matrix_lines(out, plan->matrix, plan->op, plan->view.backward ? SPTI_PULL : SPTI_PUSH);
}

static sptrsm_status alloc_values(void **out, const spti_nodes *nodes, sptrsm_dtype dtype) {
  return spti_host_alloc(out, nodes->stored, sptrsm_dtype_bytes(dtype), "values of supernodes");
}

/* From the lines of oriented() if they have values, which takes less time, else from the lines that are stored. */
static void pack(const block_state *state, const sptrsm_plan *plan, const spti_view *v) {
  spti_nodes_pack(state->val, &state->nodes, v->val ? v : &plan->view);
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  block_state *state = plan->state;
  spti_view v;
  SPTI_TRY(oriented(&v, plan));
  if (state->val_borrowed) {
    SPTI_TRY(spti_nodes_check_fit(&state->nodes, &v));
    SPTI_TRY(alloc_values(&state->val, &state->nodes, v.dtype));
    memset(state->val, 0, (size_t)state->nodes.stored * sptrsm_dtype_bytes(v.dtype)); /* a damaged file may call a node exact that is not */
    state->val_borrowed = false;
  }
  pack(state, plan, &v);
  return SPTRSM_OK;
}

/* A state without nodes; from here on the plan frees it. */
static sptrsm_status begin(sptrsm_plan *plan, spti_node_limits *limits) {
  int32_t isa = (int32_t)spti_isa_best();
  *limits = (spti_node_limits){.width = WIDTH_DEFAULT, .zeros = ZEROS_DEFAULT};
  const spti_setting known[] = {{.key = "zeros", .target = &limits->zeros, .least = 0, .most = 99},
                                {.key = "width", .target = &limits->width, .least = 1, .most = 1024},
                                {.key = "isa", .target = &isa, .words = spti_isa_names}};
  SPTI_TRY(spti_variant_parse("block", plan->variant, known, sizeof known / sizeof known[0]));
  if (!spti_isa_runs((spti_isa)isa))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block:isa=%s: this CPU lacks these instructions", spti_isa_names[isa]);
  block_state *state;
  SPTI_TRY(spti_host_alloc(&state, 1, sizeof *state, "block plan"));
  *state = (block_state){.kernels = kernels[isa], .isa = (spti_isa)isa, .trees = {.schedule = {.least = 1, .team = 1}}};
  plan->state = state;
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_node_limits limits;
  spti_view v;
  SPTI_TRY(begin(plan, &limits));
  block_state *state = plan->state;
  SPTI_TRY(oriented(&v, plan));
  SPTI_TRY(spti_nodes_find(&state->nodes, &v, &limits));
  SPTI_TRY(alloc_values(&state->val, &state->nodes, v.dtype));
  pack(state, plan, &v);
  SPTI_TRY(spti_node_trees_build(&state->trees, &state->nodes));
  plan->schedule = &state->trees.schedule;
  return SPTRSM_OK;
}

/* The orientation is known without making a storage of it, which only new values need. */
static void carry(sptrsm_plan *plan, spti_blob *blob) {
  spti_node_limits limits;
  spti_view v = plan->view;
  v.pull = v.backward;
  if (blob->mode == SPTI_BLOB_READ) blob->status = begin(plan, &limits);
  if (blob->status != SPTRSM_OK) return;
  block_state *state = plan->state;
  spti_nodes_carry(&state->nodes, blob, &v);
  state->val_borrowed = state->val_borrowed || blob->mode == SPTI_BLOB_READ;
  spti_blob_array(blob, &state->val, state->nodes.stored, sptrsm_dtype_bytes(v.dtype));
  spti_node_trees_carry(&state->trees, blob, &state->nodes);
  plan->schedule = &state->trees.schedule;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const block_state *state = plan->state;
  const spti_nodes *s = &state->nodes;
  info->plan_bytes = sizeof *state + (size_t)s->count * sizeof *s->node + (size_t)(s->list_length + s->n) * sizeof *s->list +
                     (size_t)s->n * sizeof *s->places + (s->pull ? 0 : (size_t)s->n * sizeof *s->gathered) +
                     (size_t)s->stored * sptrsm_dtype_bytes(plan->view.dtype) + state->trees.bytes;
  double cells = (double)(s->entries + s->added);
  snprintf(info->parameters, sizeof info->parameters, "isa=%s %s team=%d nodes=%d dense=%.0f%% zeros=%.1f%%", spti_isa_names[state->isa],
           s->pull ? "pull" : "push", state->trees.schedule.team, s->count,
           s->entries > 0 ? 100 * (double)s->dense / (double)s->entries : 0, cells > 0 ? 100 * (double)s->added / cells : 0);
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
  const block_state *state;
  spti_block_host_panel panel;
  sptrsm_dtype dtype;
} shared_solve;

static void solve_trees(void *argument, int32_t layer, int32_t begin, int32_t end) {
  const shared_solve *job = argument;
  const spti_node_trees *t = &job->state->trees;
  const spti_block_host_kernels *kernel = job->state->kernels;
  for (int64_t k = t->ptr[begin]; k < t->ptr[end]; k++) {
    const bool own = t->visit[k] >= 0;
    const int32_t node = own ? t->visit[k] : ~t->visit[k], *part = t->part ? &t->part[(int64_t)node * SPTI_FOREST_LAYERS + layer] : NULL;
    if (own) kernel->solve[job->dtype](&job->panel, node, node + 1, part ? part[0] : 0);
    else kernel->push[job->dtype](&job->panel, node, part[-1], part[0]);
  }
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  const block_state *state = plan->state;
  const spti_nodes *s = &state->nodes;
  const spti_view *v = &plan->view;
  const int64_t last = v->backward && v->n > 0 ? (v->n - 1) * W->ld : 0;
  const int threads = W->rows ? 1 : spti_schedule_threads(&state->trees.schedule, W->team);
  shared_solve job = {.state = state, .dtype = v->dtype};
  job.panel = (spti_block_host_panel){.nodes = s,
                                      .val = state->val,
                                      .w = (char *)W->data + (size_t)last * sptrsm_dtype_bytes(v->dtype),
                                      .step = v->backward ? -W->ld : W->ld,
                                      .width = W->padded,
                                      .unit = v->unit};
  if (threads > 1) {
    spti_schedule_run(&state->trees.schedule, W->team, threads, solve_trees, &job);
    return SPTRSM_OK;
  }
  for (int32_t begin = 0, end, at = 0; begin < s->count; begin = end) {
    if (W->rows) begin = next_node(s, W, begin, true, &at);
    end = W->rows ? next_node(s, W, begin, false, &at) : s->count;
    state->kernels->solve[v->dtype](&job.panel, begin, end, INT32_MAX);
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
    .carry = carry,
    .free = free_state,
    .describe = describe,
    .panel = panel,
    .solve = solve,
};
