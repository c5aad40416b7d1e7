/* api.c -- the input is a sequence of calls on a few contexts, matrices, plans and workspaces, which are used again, given new values and
 * destroyed in any order. Every solution is compared with the matrix that it belongs to.
 */
#include <stdlib.h>
#include <string.h>

#include <sptrsm_inspect.h>

#include "fuzz.h"

enum { SLOTS = 3, N_MAX = 24, NNZ_MAX = N_MAX * N_MAX, HELD_MAX = 256 };

/* What a handle stands for. The arrays live until the end of the run, because borrowed ones must outlive the plans. */
typedef struct {
  sptrsm_sparse T;
  void *val;
} model;

static struct {
  sptrsm_context *contexts[SLOTS];
  sptrsm_matrix *matrices[SLOTS];
  model *models[SLOTS];
  sptrsm_plan *plans[SLOTS];
  model *solved[SLOTS];
  sptrsm_op ops[SLOTS];
  sptrsm_workspace *workspaces[SLOTS];
  int plan_of[SLOTS]; /* a workspace's; -1: that plan was destroyed */
  void *held[HELD_MAX];
  int held_count;
} s;

static void *hold(size_t bytes) {
  FUZZ_CHECK(s.held_count < HELD_MAX, "too many arrays");
  return s.held[s.held_count++] = calloc(1, bytes + 1);
}

/* Mostly a triangle, at times a pattern with something wrong. */
static model *draw_model(fuzz_bytes *in) {
  model *m = hold(sizeof *m);
  const int n = fuzz_below(in, N_MAX), form = fuzz_below(in, 256), density = fuzz_below(in, 4);
  m->T = (sptrsm_sparse){(sptrsm_format)(form & 1),
                         (sptrsm_dtype)(form >> 1 & 3),
                         (sptrsm_uplo)(form >> 3 & 1),
                         (sptrsm_diag)(form >> 4 & 1),
                         SPTRSM_HOST,
                         n,
                         NULL,
                         NULL,
                         NULL};
  const bool upper = (m->T.format == SPTRSM_CSR) == (m->T.uplo == SPTRSM_UPPER);
  int64_t *ptr = hold(((size_t)n + 1) * sizeof *ptr), count = 0;
  int32_t *idx = hold(NNZ_MAX * sizeof *idx);
  m->val = hold(NNZ_MAX * 16);
  for (int i = 0; i < n; ptr[++i] = count)
    for (int j = upper ? i : 0; j < (upper ? n : i + 1); j++)
      if (i == j ? m->T.diag == SPTRSM_NONUNIT || density < 2 : density == 3 || fuzz_below(in, 4) > density) idx[count++] = j;
  fuzz_values(in, m->val, m->T.dtype, count);
  if (form >> 5 == 7 && count > 0) idx[fuzz_below(in, 256) % count] = fuzz_below(in, n + 2) - 1;
  m->T.ptr = ptr, m->T.idx = idx, m->T.val = m->val;
  return m;
}

static void create_matrix(fuzz_bytes *in, int slot, int from) {
  model *m = draw_model(in);
  if (s.contexts[from] == NULL && sptrsm_context_create(&s.contexts[from], SPTRSM_HOST, 0, NULL) == SPTRSM_OK)
    sptrsm_context_set_threads(s.contexts[from], 1 + from);
  sptrsm_matrix_destroy(s.matrices[slot]);
  s.matrices[slot] = NULL;
  const sptrsm_status status = sptrsm_matrix_create(&s.matrices[slot], s.contexts[from], &m->T, (sptrsm_copy_mode)fuzz_below(in, 2));
  FUZZ_CHECK((status == SPTRSM_OK) == fuzz_is_triangle(&m->T), "status %d: %s", status, sptrsm_last_error());
  s.models[slot] = m;
}

static void create_plan(fuzz_bytes *in, int slot, int from) {
  sptrsm_options o;
  char text[64];
  fuzz_options(&o, in, text, sizeof text);
  sptrsm_plan *plan = NULL;
  if (sptrsm_plan_create(&plan, s.matrices[from], &o) != SPTRSM_OK) return;
  sptrsm_plan_destroy(s.plans[slot]);
  for (int k = 0; k < SLOTS; k++)
    if (s.plan_of[k] == slot) s.plan_of[k] = -1;
  s.plans[slot] = plan, s.solved[slot] = s.models[from], s.ops[slot] = o.op;
}

static void create_workspace(fuzz_bytes *in, int slot, int from) {
  const int32_t panel = fuzz_below(in, 40) - 2;
  sptrsm_workspace *w = NULL;
  size_t bytes;
  sptrsm_workspace_bytes(&bytes, s.plans[from], panel);
  if (sptrsm_workspace_create(&w, s.plans[from], panel) != SPTRSM_OK) return;
  sptrsm_workspace_destroy(s.workspaces[slot]);
  s.workspaces[slot] = w, s.plan_of[slot] = from;
}

/* In place or not, in any layout; a workspace of another plan is refused, and so is a block of another order. */
static void solve(fuzz_bytes *in, int slot, int from) {
  sptrsm_workspace *w = fuzz_below(in, 2) ? s.workspaces[from] : NULL;
  if (s.plans[slot] == NULL) return;
  const sptrsm_sparse *T = &s.solved[slot]->T;
  const chain S = fuzz_chain_of(T, s.ops[slot]);
  const int nrhs = fuzz_below(in, 12), in_place = fuzz_below(in, 4) == 3, with_alpha = fuzz_below(in, 2), wrong = fuzz_below(in, 16) == 15;
  double alpha[2];
  fuzz_values(in, alpha, T->dtype, 1);
  test_block B = fuzz_block(in, T->n, nrhs, T->dtype),
             X = in_place ? test_block_copy(&B) : test_block_make(T->n, nrhs, T->dtype, (sptrsm_layout)fuzz_below(in, 2), 1);
  sptrsm_block b = in_place ? X.block : B.block, x = X.block;
  if (wrong) b.n++, b.ld++;
  const sptrsm_status status = sptrsm_solve(s.plans[slot], w, with_alpha ? alpha : NULL, &b, &x);
  if (status == SPTRSM_OK) {
    FUZZ_CHECK(!wrong && (w == NULL || s.plan_of[from] == slot), "a wrong block or a workspace of another plan was taken");
    fuzz_check_solution(&S, with_alpha ? alpha : NULL, &B, &X);
  } else FUZZ_CHECK(wrong || status == SPTRSM_ERR_MEMORY || (w && s.plan_of[from] != slot), "status %d: %s", status, sptrsm_last_error());
  test_block_free(&B);
  test_block_free(&X);
}

static void set_values(fuzz_bytes *in, int slot) {
  if (s.matrices[slot] == NULL) return;
  model *m = s.models[slot];
  const size_t bytes = (size_t)m->T.ptr[m->T.n] * sptrsm_dtype_bytes(m->T.dtype);
  sptrsm_sparse next = m->T;
  void *val = hold(bytes);
  fuzz_values(in, val, m->T.dtype, m->T.ptr[m->T.n]);
  next.val = val;
  const bool good = fuzz_is_triangle(&next);
  const sptrsm_status status = sptrsm_matrix_set_values(s.matrices[slot], val);
  FUZZ_CHECK((status == SPTRSM_OK) == good, "status %d: %s", status, sptrsm_last_error());
  if (good) m->T.val = val;
}

static void check_levels(const sptrsm_level_stats *levels, int slot, sptrsm_op op) {
  const int32_t n = s.models[slot]->T.n;
  int32_t *level = malloc((size_t)n * sizeof *level + 1), most = -1;
  FUZZ_CHECK(levels->n == n && levels->levels <= n, "%d levels", levels->levels);
  FUZZ_CHECK(level && sptrsm_matrix_row_levels(level, s.matrices[slot], op) == SPTRSM_OK, "%s", sptrsm_last_error());
  for (int32_t i = 0; i < n; i++) most = level[i] > most ? level[i] : most;
  FUZZ_CHECK(most + 1 == levels->levels, "highest level %d of %d", most, levels->levels);
  free(level);
}

static void inspect(fuzz_bytes *in, int slot) {
  sptrsm_level_stats levels = {.size = sizeof levels};
  sptrsm_tile_stats tiles = {.size = sizeof tiles};
  sptrsm_info info = {.size = sizeof info};
  char stencil[16];
  int64_t grid[3];
  const sptrsm_op op = (sptrsm_op)(fuzz_below(in, 5) - 1);
  if (sptrsm_matrix_levels(&levels, s.matrices[slot], op) == SPTRSM_OK) check_levels(&levels, slot, op);
  if (sptrsm_matrix_tiles(&tiles, s.matrices[slot], op) == SPTRSM_OK) FUZZ_CHECK(tiles.n == s.models[slot]->T.n, "order %d", tiles.n);
  sptrsm_matrix_stencil(stencil, grid, s.matrices[slot]);
  if (sptrsm_plan_info(&info, s.plans[slot]) == SPTRSM_OK) FUZZ_CHECK(info.op == s.ops[slot], "op %d", (int)info.op);
}

static void destroy(fuzz_bytes *in, int slot) {
  const int what = fuzz_below(in, 4);
  if (what == 0) sptrsm_context_destroy(s.contexts[slot]), s.contexts[slot] = NULL;
  if (what == 1) sptrsm_matrix_destroy(s.matrices[slot]), s.matrices[slot] = NULL;
  if (what == 2) sptrsm_workspace_destroy(s.workspaces[slot]), s.workspaces[slot] = NULL;
  for (int k = 0; what == 3 && k < SLOTS; k++)
    if (s.plan_of[k] == slot) s.plan_of[k] = -1;
  if (what == 3) sptrsm_plan_destroy(s.plans[slot]), s.plans[slot] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes in = {data, size};
  memset(&s, 0, sizeof s);
  for (int k = 0; k < SLOTS; k++) s.plan_of[k] = -1;
  for (int calls = 0; in.left > 0 && calls < 40; calls++) {
    const int call = fuzz_below(&in, 9), slot = fuzz_below(&in, SLOTS), from = fuzz_below(&in, SLOTS);
    switch (call) {
    case 0: create_matrix(&in, slot, from); break;
    case 1:
    case 2: create_plan(&in, slot, from); break;
    case 3: create_workspace(&in, slot, from); break;
    case 4: set_values(&in, slot); break;
    case 5: inspect(&in, slot); break;
    case 6: destroy(&in, slot); break;
    default: solve(&in, slot, from);
    }
  }
  for (int k = 0; k < SLOTS; k++) {
    sptrsm_matrix_destroy(s.matrices[k]);
    sptrsm_context_destroy(s.contexts[k]);
    sptrsm_plan_destroy(s.plans[k]);
    sptrsm_workspace_destroy(s.workspaces[k]);
  }
  while (s.held_count > 0) free(s.held[--s.held_count]);
  return 0;
}
