/* joined_factors.c -- joins factor sets: items of one form become one block-diagonal factor set in device memory. */
#include <string.h>

#include "core/batch/gpu/joined.h"
#include "core/batch/gpu/pattern.h"
#include "core/batch/stand_in.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

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

static int64_t find_set(spti_joined *s, const spti_joined_form *form) {
  int64_t i = 0;
  while (i < s->set_count && !same_form(&s->sets[i].form, form)) i++;
  if (i == s->set_count) s->sets[s->set_count++] = (spti_joined_set){.form = *form};
  return i;
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

static const void *host_part(const sptrsm_factors *f, int part) {
  const void *const parts[SPTI_HOST_PARTS] = {f->D, f->D_sub, f->scale_row, f->scale_col};
  return parts[part];
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
  for (int64_t i = 0; i < b->count; i++) {
    const spti_joined_form form = form_of(source->items[i]);
    s->set_of[i] = find_set(s, &form);
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
    for (int p = 0; p < SPTI_HOST_PARTS; p++) set->has[p][m] = host_part(source->items[i], p) != NULL;
  }
  return SPTRSM_OK;
}

/* ---- the joined arrays on the host ---- */

typedef struct {
  int64_t *ptr[2];
  int32_t *idx[2];
  void *val[2];     /* of items in host memory */
  int32_t *perm[2]; /* GATHER */
  bool permuted[2];
} joined_arrays;

static void arrays_free(joined_arrays *a) {
  for (int i = 0; i < 2; i++) {
    spti_host_free(a->ptr[i]);
    spti_host_free(a->idx[i]);
    spti_host_free(a->val[i]);
    spti_host_free(a->perm[i]);
  }
}

static sptrsm_status arrays_alloc(joined_arrays *a, const spti_joined_set *set, size_t bytes) {
  const int64_t n = set->first[set->members];
  for (int t = 0; t < 2; t++) {
    const int64_t nnz = set->at[t][set->members];
    SPTI_TRY(spti_host_alloc(&a->ptr[t], n + 1, sizeof *a->ptr[t], "joined items"));
    SPTI_TRY(spti_host_alloc(&a->idx[t], nnz, sizeof *a->idx[t], "joined items"));
    SPTI_TRY(spti_host_alloc(&a->val[t], nnz, bytes, "joined items"));
    SPTI_TRY(spti_host_alloc(&a->perm[t], n, sizeof *a->perm[t], "joined items"));
    a->ptr[t][0] = 0;
  }
  return SPTRSM_OK;
}

/* A triangle's pattern, checked, becomes a diagonal block. */
static sptrsm_status join_pattern(joined_arrays *a, const spti_joined_set *set, const sptrsm_batch *b, const sptrsm_sparse *T, int t,
                                  int64_t m) {
  const int32_t n = T->n, first = set->first[m];
  const int64_t at = set->at[t][m], nnz = set->at[t][m + 1] - at;
  int64_t *ptr = a->ptr[t] + first;
  int32_t *idx = a->idx[t] + at;
  int64_t end = 0;
  SPTI_TRY(spti_copy_bytes(b->context, idx, SPTRSM_HOST, T->idx, T->place, (size_t)nnz * sizeof *idx));
  /* ptr[0] is where the item before ended, so ptr[1], ... are copied and shifted */
  SPTI_TRY(spti_copy_bytes(b->context, ptr + 1, SPTRSM_HOST, T->ptr + 1, T->place, (size_t)n * sizeof *ptr));
  SPTI_TRY(spti_copy_bytes(b->context, &end, SPTRSM_HOST, T->ptr, T->place, sizeof end));
  sptrsm_sparse own = *T;
  int64_t *own_ptr;
  SPTI_TRY(spti_host_alloc(&own_ptr, (int64_t)n + 1, sizeof *own_ptr, "joined items"));
  own_ptr[0] = end;
  memcpy(own_ptr + 1, ptr + 1, (size_t)n * sizeof *ptr);
  own.place = SPTRSM_HOST, own.ptr = own_ptr, own.idx = idx, own.val = NULL;
  const sptrsm_status status = spti_name_object(spti_batch_check_pattern(&own), t ? "U" : "L");
  spti_host_free(own_ptr);
  if (status != SPTRSM_OK) return status;
  for (int32_t i = 1; i <= n; i++) ptr[i] += at;
  for (int64_t p = 0; p < nnz; p++) idx[p] += first;
  return SPTRSM_OK;
}

static sptrsm_status join_permutation(joined_arrays *a, const spti_joined_set *set, const int32_t *perm, sptrsm_convention convention,
                                      int side, int64_t m) {
  const int32_t first = set->first[m], n = set->first[m + 1] - first;
  int32_t *out = a->perm[side] + first;
  const char *name = side ? "perm_col" : "perm_row";
  if (perm && convention != SPTRSM_GATHER && convention != SPTRSM_SCATTER)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown convention %d of %s", (int)convention, name);
  if (!perm)
    for (int32_t i = 0; i < n; i++) out[i] = i;
  else SPTI_TRY(spti_permutation_invert(out, perm, n, name)); /* checks it */
  if (perm && convention == SPTRSM_GATHER) memcpy(out, perm, (size_t)n * sizeof *out);
  for (int32_t i = 0; i < n; i++) out[i] += first;
  a->permuted[side] = a->permuted[side] || perm;
  return SPTRSM_OK;
}

static sptrsm_status check_scale_ops(const sptrsm_factors *f) {
  const sptrsm_dtype dtype = f->L->dtype;
  if (!f->D && f->D_sub) return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: D_sub without D");
  SPTI_TRY(spti_scale_check(NULL, f->row_op, 0, dtype, dtype, "scale_row"));
  return spti_scale_check(NULL, f->col_op, 0, dtype, dtype, "scale_col");
}

static sptrsm_status join_item(joined_arrays *a, const spti_joined_set *set, const sptrsm_batch *b, const sptrsm_factors *f, int64_t m) {
  const sptrsm_sparse *const T[2] = {f->L, f->U};
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  SPTI_TRY(check_scale_ops(f));
  for (int t = 0; t < 2; t++) {
    if (!T[t]) continue;
    const int64_t at = set->at[t][m], nnz = set->at[t][m + 1] - at;
    SPTI_TRY(join_pattern(a, set, b, T[t], t, m));
    if (nnz > 0 && !T[t]->val) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: val is NULL with %lld entries", t ? "U" : "L", (long long)nnz);
    if (T[t]->place == SPTRSM_HOST && nnz > 0) memcpy((char *)a->val[t] + (size_t)at * bytes, T[t]->val, (size_t)nnz * bytes);
  }
  SPTI_TRY(join_permutation(a, set, f->perm_row, f->row_convention, 0, m));
  SPTI_TRY(join_permutation(a, set, f->perm_col, f->col_convention, 1, m));
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    const size_t size = p < 2 ? bytes : sizeof(double), skipped = (size_t)set->first[m] * size;
    if (set->has[p][m] && f->L->n > 0) memcpy((char *)set->given[p] + skipped, host_part(f, p), (size_t)f->L->n * size);
  }
  return SPTRSM_OK;
}

/* Room for D and scalings, with identities where members have none. */
static sptrsm_status alloc_given(spti_joined_set *set, const sptrsm_batch *b) {
  const int64_t n = set->first[set->members];
  for (int p = 0; p < SPTI_HOST_PARTS; p++) {
    bool any = false;
    const sptrsm_dtype dtype = p < 2 ? b->dtype : SPTRSM_F64;
    const size_t bytes = sptrsm_dtype_bytes(dtype);
    for (int64_t m = 0; m < set->members; m++) any = any || set->has[p][m];
    if (!any) continue;
    SPTI_TRY(spti_host_alloc(&set->given[p], n, bytes, "joined items"));
    if (p == 1) memset(set->given[p], 0, (size_t)n * bytes);
    else spti_batch_set_ones(set->given[p], n, dtype);
  }
  return SPTRSM_OK;
}

/* ---- to the device ---- */

static sptrsm_status upload(void *out, const sptrsm_batch *b, const void *from, int64_t count, size_t bytes) {
  void *memory;
  SPTI_TRY(spti_alloc(b->context, &memory, count, bytes, "joined items"));
  memcpy(out, &memory, sizeof memory);
  return spti_copy_bytes(b->context, memory, SPTRSM_CUDA, from, SPTRSM_HOST, (size_t)count * bytes);
}

static sptrsm_status upload_rows(spti_joined_set *set, const sptrsm_batch *b) {
  int32_t *member;
  const int64_t n = set->first[set->members];
  SPTI_TRY(spti_host_alloc(&member, n, sizeof *member, "joined items"));
  for (int64_t m = 0; m < set->members; m++)
    for (int32_t r = set->first[m]; r < set->first[m + 1]; r++) member[r] = (int32_t)m;
  set->rows.n = (int32_t)n;
  sptrsm_status status;
  SPTI_TRY_DONE(upload(&set->rows.row_member, b, member, n, sizeof *member));
  SPTI_TRY_DONE(upload(&set->rows.first, b, set->first, set->members + 1, sizeof *set->first));
  SPTI_TRY_DONE(upload(&set->rows.item, b, set->item, set->members, sizeof *set->item));
done:
  spti_host_free(member);
  return status;
}

/* Values of items in device memory go straight to their places. */
static sptrsm_status upload_triangle(spti_joined_set *set, const sptrsm_batch *b, const spti_batch_source *source, const joined_arrays *a,
                                     int t) {
  const int64_t n = set->first[set->members], nnz = set->at[t][set->members];
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  SPTI_TRY(upload(&set->ptr[t], b, a->ptr[t], n + 1, sizeof *a->ptr[t]));
  SPTI_TRY(upload(&set->idx[t], b, a->idx[t], nnz, sizeof *a->idx[t]));
  SPTI_TRY(upload(&set->val[t], b, a->val[t], nnz, bytes));
  for (int64_t m = 0; m < set->members; m++) {
    const sptrsm_factors *f = source->items[set->item[m]];
    const sptrsm_sparse *T = t ? f->U : f->L;
    const int64_t at = set->at[t][m], count = set->at[t][m + 1] - at;
    if (T->place == SPTRSM_HOST || count == 0) continue;
    SPTI_TRY(spti_batch_name_item(spti_gpu_check_pointer(b->context, T->val, t ? "U" : "L"), set->item[m]));
    SPTI_TRY(
        spti_copy_bytes(b->context, (char *)set->val[t] + (size_t)at * bytes, SPTRSM_CUDA, T->val, SPTRSM_CUDA, (size_t)count * bytes));
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

/* Columns of the joined panel, unless options.panel says them: as many as fit into PANEL_BYTES, from 8 to 256. All items have their rows in
 * it, and a solve keeps several such blocks. */
enum { PANEL_BYTES = 1 << 28, PANEL_LEAST = 8, PANEL_MOST = 256 };

static int32_t joined_panel(int32_t rows, sptrsm_dtype dtype) {
  int32_t columns = PANEL_MOST;
  while (columns > PANEL_LEAST && (int64_t)rows * columns * (int64_t)sptrsm_dtype_bytes(dtype) > PANEL_BYTES) columns /= 2;
  return columns;
}

static sptrsm_status create_direct(spti_joined_set *set, const sptrsm_batch *b, const joined_arrays *a) {
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
  if (a->permuted[0]) f.perm_row = a->perm[0];
  if (a->permuted[1]) f.perm_col = a->perm[1];
  sptrsm_options options = b->options;
  if (options.panel == 0) options.panel = joined_panel(set->rows.n, b->dtype);
  SPTI_TRY_DONE(sptrsm_direct_create(&set->direct, b->context, &f, &options));
done:
  for (int p = 0; p < SPTI_HOST_PARTS; p++) spti_host_free(sound[p]);
  return status;
}

static sptrsm_status fill_set(spti_joined_set *set, sptrsm_batch *b, const spti_batch_source *source, joined_arrays *a) {
  SPTI_TRY(arrays_alloc(a, set, sptrsm_dtype_bytes(b->dtype)));
  SPTI_TRY(alloc_given(set, b));
  for (int64_t m = 0; m < set->members; m++)
    SPTI_TRY(spti_batch_name_item(join_item(a, set, b, source->items[set->item[m]], m), set->item[m]));
  SPTI_TRY(upload_rows(set, b));
  for (int t = 0; t < 1 + set->form.has_U; t++) {
    SPTI_TRY(upload_triangle(set, b, source, a, t));
    SPTI_TRY(spti_joined_check(b, set, t, 0, set->members));
  }
  for (int64_t m = 0; m < set->members; m++) SPTI_TRY(spti_batch_name_item(spti_joined_judge(b, set, m), set->item[m]));
  return create_direct(set, b, a);
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
  for (int64_t k = 0; k < s->set_count; k++) {
    joined_arrays a = {0};
    const sptrsm_status status = fill_set(&s->sets[k], b, source, &a);
    arrays_free(&a);
    if (status != SPTRSM_OK) return status;
  }
  return spti_joined_tell(b);
}

void spti_joined_set_free(spti_joined_set *set, const sptrsm_context *context) {
  sptrsm_direct_destroy(set->direct);
  spti_panels_free(&set->panels, context);
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
  spti_free(context, set->panel);
  spti_free(context, set->staging);
}
