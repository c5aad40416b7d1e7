/* joined_factors.c -- joins factor sets: items of one form become one block-diagonal factor set in device memory. */
#include <string.h>

#include "core/batch/gpu/joined.h"
#include "core/batch/stand_in.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"

/* ---- forms ---- */

static spti_joined_form form_of(const sptrsm_factors *f) {
  spti_joined_form form = {.has_U = f->U != NULL, .u_kind = f->u_kind, .hermitian = f->D_sub && f->D_hermitian};
  form.format[0] = f->L->format, form.diag[0] = f->L->diag;
  if (f->U) form.format[1] = f->U->format, form.diag[1] = f->U->diag;
  if (f->scale_row) form.op[0] = f->row_op;
  if (f->scale_col) form.op[1] = f->col_op;
  return form;
}

static bool same_form(const spti_joined_form *a, const spti_joined_form *b) {
  bool same = a->has_U == b->has_U && a->u_kind == b->u_kind && a->hermitian == b->hermitian;
  for (int i = 0; i < 2; i++) same = same && a->format[i] == b->format[i] && a->diag[i] == b->diag[i] && a->op[i] == b->op[i];
  return same;
}

/* All items of a form are in one set, unless that has more than `most` rows then. Only the form's latest set is asked for room. */
static int64_t find_set(spti_joined *s, const spti_joined_form *form, int32_t n, int64_t most) {
  int64_t i = s->set_count - 1;
  while (i >= 0 && !same_form(&s->sets[i].form, form)) i--;
  if (i < 0 || s->sets[i].row_count + n > most) {
    i = s->set_count++;
    s->sets[i] = (spti_joined_set){.form = *form};
  }
  s->sets[i].row_count += n;
  return i;
}

/* ---- panels ---- */

/* Of all blocks of a solve together, if neither options nor the context limit memory and 32 columns fit. */
#ifndef SPTI_JOINED_WORKSPACE
#define SPTI_JOINED_WORKSPACE (1 << 28)
#endif

/* A solve keeps several blocks of all rows of a set: the joined panel, the solver's own, one for blocks in host memory, and two for each
 * plan of `gather`; or, where plans share their work, one for all plans. */
enum { PANEL_LEAST = 32 /* lanes of a warp */, PANEL_MOST = 256, BLOCKS = 3, BLOCKS_OF_PLAN = 2, BLOCKS_SHARED = BLOCKS + 1 };

/* Columns of the narrowest panel that is worth it, as solvers round them: with fewer columns each item's factors are read more often. */
static int64_t columns_worthwhile(const sptrsm_options *o) {
  const int64_t asked = o->panel > 0 ? o->panel : PANEL_LEAST, hint = o->nrhs_hint > INT32_MAX ? INT32_MAX : o->nrhs_hint;
  const int64_t expected = (hint + 7) / 8 * 8, columns = expected > 0 && expected < asked ? expected : asked;
  return (columns + 3) / 4 * 4;
}

static bool can_share_work(const char *name) {
  const spti_method *method = spti_method_find(name, strcspn(name, ":"), SPTRSM_CUDA);
  return method && method->shared_work;
}

/* Bytes of a row of the narrowest panel that is worth it. */
static size_t row_bytes(const sptrsm_batch *b) { return (size_t)columns_worthwhile(&b->options) * sptrsm_dtype_bytes(b->dtype); }

/* Plans share one block where options.memory_limit has no room for the blocks of all items. */
static bool must_share_work(const sptrsm_batch *b, const spti_batch_source *source) {
  int64_t rows = 0;
  for (int64_t i = 0; i < b->count; i++) rows += source->items[i]->L->n;
  if (b->options.memory_limit == 0 || rows <= 0 || !can_share_work(b->options.method)) return false;
  return b->options.memory_limit / row_bytes(b) / (BLOCKS + 2 * BLOCKS_OF_PLAN) < (size_t)rows;
}

/* The most rows of a set: as many as the limit allows, but for a sixteenth that is left for pieces of long rows. */
static int64_t rows_of_a_set(const spti_joined *s, const sptrsm_batch *b) {
  const size_t limit = b->options.memory_limit;
  return s->shares_work ? (int64_t)((limit - limit / 16) / row_bytes(b) / BLOCKS_SHARED) : INT64_MAX;
}

/* The set's part of what options.memory_limit, or else SPTI_JOINED_WORKSPACE, allows to all sets. */
static int64_t share_of(const spti_joined_set *set, const sptrsm_batch *b) {
  const spti_joined *s = b->state;
  double rows = 0;
  for (int64_t k = 0; k < s->set_count; k++) rows += (double)s->sets[k].row_count;
  const double limit = (double)b->options.memory_limit, all = limit <= 0 ? SPTI_JOINED_WORKSPACE : limit < 0x1p62 ? limit : 0x1p62;
  return rows > 0 ? (int64_t)(all * ((double)set->row_count / rows)) : (int64_t)all;
}

/* Unless options.panel says it, the panel is the widest of 256, 128, 64 and 32 columns with which all blocks keep within the set's share;
 * 32 columns may exceed it. Where options or the context limit memory, it may be narrower. Plans that the solver makes later, for other
 * systems, add blocks of that width; only if options.memory_limit leaves no room for them, they narrow the panel. */
static void bound_workspace(sptrsm_options *o, const spti_joined_set *set, const sptrsm_batch *b) {
  const bool two_plans = set->form.has_U || set->form.u_kind != SPTRSM_U_GIVEN, limited = o->memory_limit > 0;
  const int32_t least = limited || b->context->memory_limit > 0 ? 1 : PANEL_LEAST;
  const int64_t column = set->row_count * (int64_t)sptrsm_dtype_bytes(b->dtype);
  const int64_t all_blocks = column * (BLOCKS + BLOCKS_OF_PLAN * (1 + two_plans)), share = share_of(set, b);
  if (column == 0 || (o->panel > 0 && !limited)) return;
  if (o->panel == 0) o->panel = PANEL_MOST;
  while (o->panel > least && o->panel * all_blocks > share) o->panel /= 2;
  const int64_t left = share - o->panel * column;
  if (limited) o->memory_limit = left > 0 ? (size_t)left : 1;
}

static void choose_panel(sptrsm_options *o, const spti_joined_set *set, const sptrsm_batch *b) {
  const spti_joined *s = b->state;
  if (!s->shares_work) {
    bound_workspace(o, set, b);
    return;
  }
  o->memory_limit = 0; /* spti_joined_fit_panels keeps it for all sets */
  if (o->panel == 0) o->panel = PANEL_MOST;
}

/* ---- sizes ---- */

static sptrsm_status count_entries(int64_t *out, const sptrsm_batch *b, const sptrsm_sparse *T) {
  *out = 0;
  if (!T) return SPTRSM_OK;
  SPTI_TRY(spti_validate_description(T));
  SPTI_TRY(spti_copy_bytes(b->context, out, SPTRSM_HOST, T->ptr + T->n, T->place, sizeof *out));
  if (*out < 0 || *out > (int64_t)T->n * ((int64_t)T->n + 1) / 2)
    return spti_fail(SPTRSM_ERR_STRUCTURE, "ptr[%d] = %lld is not a number of entries of an n = %d matrix", T->n, (long long)*out, T->n);
  return SPTRSM_OK;
}

static sptrsm_status add_sizes(spti_joined_set *set, const sptrsm_batch *b, const sptrsm_factors *f, int64_t m) {
  const sptrsm_sparse *const T[2] = {f->L, f->U};
  const int64_t n = (int64_t)set->first[m] + f->L->n;
  if (n > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "the joined items have %lld rows up to here, at most %d can be joined: make several batches",
                     (long long)n, INT32_MAX);
  set->first[m + 1] = (int32_t)n;
  for (int t = 0; t < 2; t++) {
    int64_t nnz;
    SPTI_TRY(spti_name_object(count_entries(&nnz, b, T[t]), t ? "U" : "L"));
    set->at[t][m + 1] = set->at[t][m] + nnz;
    if (set->at[t][m + 1] > INT32_MAX)
      return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                       "the joined items have %lld entries in %s up to here, at most %d can be joined: make several batches",
                       (long long)set->at[t][m + 1], t ? "U" : "L", INT32_MAX);
  }
  return SPTRSM_OK;
}

static sptrsm_status alloc_members(spti_joined_set *set, const sptrsm_context *context) {
  const int64_t members = set->members;
  SPTI_TRY(spti_host_alloc(&set->item, members, sizeof *set->item, "items of a batch"));
  SPTI_TRY(spti_host_alloc(&set->first, members + 1, sizeof *set->first, "items of a batch"));
  for (int t = 0; t < 2; t++) SPTI_TRY(spti_host_alloc(&set->at[t], members + 1, sizeof *set->at[t], "items of a batch"));
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    SPTI_TRY(spti_host_alloc(&set->has[p], members, sizeof *set->has[p], "items of a batch"));
    memset(set->has[p], 0, (size_t)members * sizeof *set->has[p]);
  }
  set->first[0] = 0;
  set->at[0][0] = set->at[1][0] = 0;
  SPTI_TRY(spti_alloc(context, &set->bad, members, sizeof *set->bad, "items of a batch"));
  return spti_gpu_zero(context, set->bad, (size_t)members * sizeof *set->bad);
}

/* Puts the items into sets, and finds where each begins. */
static sptrsm_status sort_items(sptrsm_batch *b, const spti_batch_source *source) {
  spti_joined *s = b->state;
  s->shares_work = must_share_work(b, source);
  const int64_t most = rows_of_a_set(s, b);
  for (int64_t i = 0; i < b->count; i++) {
    const spti_joined_form form = form_of(source->items[i]);
    s->set_of[i] = find_set(s, &form, source->items[i]->L->n, most);
    s->member_of[i] = s->sets[s->set_of[i]].members++;
  }
  for (int64_t k = 0; k < s->set_count; k++) SPTI_TRY(alloc_members(&s->sets[k], b->context));
  for (int64_t i = 0; i < b->count; i++) {
    spti_joined_set *set = &s->sets[s->set_of[i]];
    const int64_t m = s->member_of[i];
    set->item[m] = i;
    SPTI_TRY(spti_batch_name_item(add_sizes(set, b, source->items[i], m), i));
    s->places[i][0] = source->items[i]->L->place;
    s->places[i][1] = source->items[i]->U ? source->items[i]->U->place : SPTRSM_HOST;
    for (int p = 0; p < SPTI_HOST_PARTS; p++) set->has[p][m] = spti_joined_host_part(source->items[i], p) != NULL;
  }
  return SPTRSM_OK;
}

/* ---- the solver ---- */

static sptrsm_sparse joined_triangle(const spti_joined_set *set, const sptrsm_batch *b, int t) {
  return (sptrsm_sparse){.format = set->form.format[t],
                         .dtype = b->dtype,
                         .uplo = t ? SPTRSM_UPPER : SPTRSM_LOWER,
                         .diag = set->form.diag[t],
                         .place = SPTRSM_CUDA,
                         .n = set->first[set->members],
                         .ptr = set->ptr[t],
                         .idx = set->idx[t],
                         .val = set->val[t]};
}

/* What a set's solver gets from here. */
typedef struct {
  const spti_direct_shared *shared;
  spti_side *sides; /* [2]: rows, columns; their maps become the solver's */
} solver_supply;

static sptrsm_status supply(sptrsm_direct *d, void *argument) {
  const solver_supply *s = argument;
  spti_side *const to[2] = {&d->row, &d->col};
  d->shared = s->shared;
  for (int side = 0; side < 2; side++) {
    to[side]->map = s->sides[side].map;
    to[side]->inverse = s->sides[side].inverse;
    s->sides[side] = (spti_side){0};
  }
  return SPTRSM_OK;
}

static sptrsm_status create_direct(spti_joined_set *set, const sptrsm_batch *b, spti_side sides[2]) {
  const spti_joined *s = b->state;
  const sptrsm_sparse L = joined_triangle(set, b, 0), U = joined_triangle(set, b, 1);
  void *sound[SPTI_HOST_PARTS] = {NULL};
  sptrsm_status status = SPTRSM_OK;
  for (int p = 0; p < SPTI_HOST_PARTS; p++) SPTI_TRY_DONE(spti_joined_sound(&sound[p], b, set, p));
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  f.U = set->form.has_U ? &U : NULL;
  f.u_kind = set->form.u_kind;
  f.D = sound[0];
  f.D_sub = sound[1];
  f.D_hermitian = set->form.hermitian;
  f.scale_row = sound[2], f.row_op = set->form.op[0];
  f.scale_col = sound[3], f.col_op = set->form.op[1];
  sptrsm_options options = b->options;
  choose_panel(&options, set, b);
  solver_supply supplied = {.shared = s->shares_work ? &s->shared : NULL, .sides = sides};
  SPTI_TRY_DONE(spti_direct_create(&set->direct, b->context, &f, &options, supply, &supplied));
done:
  for (int p = 0; p < SPTI_HOST_PARTS; p++) spti_host_free(sound[p]);
  return status;
}

static sptrsm_status fill_set(spti_joined_set *set, sptrsm_batch *b, const spti_batch_source *source) {
  spti_side sides[2] = {{0}};
  sptrsm_status status;
  SPTI_TRY_DONE(spti_joined_upload(set, sides, b, source));
  for (int t = 0; t < 1 + set->form.has_U; t++) SPTI_TRY_DONE(spti_joined_check(b, set, t, 0, set->members));
  for (int64_t m = 0; m < set->members; m++) SPTI_TRY_DONE(spti_batch_name_item(spti_joined_judge(b, set, m), set->item[m]));
  status = create_direct(set, b, sides);
done:
  for (int side = 0; side < 2; side++) spti_side_free(&sides[side], b->context);
  return status;
}

sptrsm_status spti_joined_create(sptrsm_batch *b, const spti_batch_source *source) {
  spti_joined *s = b->state;
  SPTI_TRY(spti_host_alloc(&s->sets, b->count, sizeof *s->sets, "joined items"));
  SPTI_TRY(spti_host_alloc(&s->set_of, b->count, sizeof *s->set_of, "joined items"));
  SPTI_TRY(spti_host_alloc(&s->member_of, b->count, sizeof *s->member_of, "joined items"));
  SPTI_TRY(spti_host_alloc(&s->faults, b->count, sizeof *s->faults, "joined items"));
  SPTI_TRY(spti_host_alloc(&s->places, b->count, sizeof *s->places, "joined items"));
  for (int64_t i = 0; i < b->count; i++)
    for (int p = 0; p < SPTI_PARTS; p++) s->faults[i][p] = -1;
  SPTI_TRY(spti_alloc(b->context, &s->device.status, b->count, sizeof *s->device.status, "item statuses"));
  SPTI_TRY(sort_items(b, source));
  for (int64_t k = 0; k < s->set_count; k++) SPTI_TRY(fill_set(&s->sets[k], b, source));
  if (s->shares_work) SPTI_TRY(spti_joined_fit_panels(b));
  return spti_joined_tell(b);
}

void spti_joined_set_free(spti_joined_set *set, const sptrsm_context *context) {
  sptrsm_direct_destroy(set->direct);
  spti_host_free(set->item);
  spti_host_free(set->first);
  for (int t = 0; t < 2; t++) {
    spti_host_free(set->at[t]);
    spti_free(context, set->ptr[t]);
    spti_free(context, set->idx[t]);
    spti_free(context, set->val[t]);
  }
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    spti_host_free(set->given[p]);
    spti_host_free(set->has[p]);
  }
  spti_free(context, (void *)set->rows.row_member);
  spti_free(context, (void *)set->rows.first);
  spti_free(context, (void *)set->rows.item);
  spti_free(context, set->bad);
}
