/* factors.c -- loads a factor set: L and U, or L alone (Cholesky, LDL'), with permutations, scalings, D and A.
 *
 * For L without U, attribute `upper` of the group says what U is: transpose, conjugate-transpose, or none (one triangular system).
 * Without the attribute, D, a permutation, a scaling or A beside L means Cholesky or LDL', and L alone means one triangular system.
 */
#include "io/read/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sptrsm_file_factors_free(sptrsm_file_factors *F) {
  if (F == NULL) return;
  sptrsm_file_matrix_free(F->L);
  sptrsm_file_matrix_free(F->U);
  sptrsm_file_matrix_free(F->A);
  free((void *)F->factors.D);
  free((void *)F->factors.D_sub);
  free((void *)F->factors.perm_row);
  free((void *)F->factors.perm_col);
  free((void *)F->factors.scale_row);
  free((void *)F->factors.scale_col);
  free(F->source);
  free(F->rule);
  free(F);
}

static sptrsm_status load_member(sptrsm_file_matrix **out, spti_io_factor_reader *r, const char *name, const sptrsm_io_options *o) {
  spti_io_object group;
  SPTI_IO_TRY(spti_io_object_open(&group, r->group, name));
  sptrsm_status status = spti_io_matrix_load(out, &group, o);
  spti_io_object_close(&group);
  return status;
}

/* ---- values of a batch ---- */

static sptrsm_dtype common_dtype(sptrsm_dtype a, sptrsm_dtype b) {
  bool wide = a == SPTRSM_F64 || a == SPTRSM_C128 || b == SPTRSM_F64 || b == SPTRSM_C128;
  sptrsm_dtype real = wide ? SPTRSM_F64 : SPTRSM_F32;
  return spti_is_complex(a) || spti_is_complex(b) ? spti_io_complex_of(real) : real;
}

/* name NULL: the group of the reader itself. */
static sptrsm_status open_member(spti_io_object *out, const spti_io_factor_reader *r, const char *name) {
  return name ? spti_io_object_open(out, r->group, name) : spti_io_object_open(out, r->group, ".");
}

static sptrsm_status member_type(sptrsm_dtype *out, const spti_io_factor_reader *r, const char *name) {
  spti_io_object group;
  SPTI_IO_TRY(open_member(&group, r, name));
  sptrsm_status status = spti_io_stored_type(out, &group);
  spti_io_object_close(&group);
  return status;
}

static sptrsm_status take_member(sptrsm_file_matrix *M, int64_t *stride, spti_io_factor_reader *r, const char *name, sptrsm_dtype dtype) {
  spti_io_object group;
  SPTI_IO_TRY(open_member(&group, r, name));
  sptrsm_status status = spti_io_take_values(M, stride, r->batch, &group, dtype);
  spti_io_object_close(&group);
  return status;
}

/* Gives the triangles, which are patterns so far, their values. */
static sptrsm_status take_values(spti_io_factor_reader *r, const char *lower, const char *upper, const sptrsm_io_options *o) {
  sptrsm_file_factors *F = r->F;
  sptrsm_dtype stored, other;
  SPTI_IO_TRY(member_type(&stored, r, lower));
  if (upper) {
    SPTI_IO_TRY(member_type(&other, r, upper));
    stored = common_dtype(stored, other);
  }
  SPTI_IO_TRY(spti_io_choose_dtype(&stored, stored, o->dtype, F->L->where));
  SPTI_IO_TRY(take_member(F->L, &r->batch->values.L_stride, r, lower, stored));
  F->L_tri.val = F->L->val;
  F->L_tri.dtype = stored;
  if (upper == NULL) return SPTRSM_OK;
  SPTI_IO_TRY(take_member(F->U, &r->batch->values.U_stride, r, upper, stored));
  F->U_tri.val = F->U->val;
  F->U_tri.dtype = stored;
  return SPTRSM_OK;
}

/* ---- one triangle ---- */

static sptrsm_status take_single(spti_io_factor_reader *r, const sptrsm_io_options *o, const char *name) {
  sptrsm_file_factors *F = r->F;
  F->single = 1;
  SPTI_IO_TRY(sptrsm_file_matrix_triangle(&F->L_tri, F->L, o));
  F->factors.L = &F->L_tri;
  if (r->batch) SPTI_IO_TRY(take_values(r, name[0] != '\0' ? name + 2 : NULL, NULL, o));
  snprintf(r->rule, sizeof r->rule, "one %s triangle%s (%s)", F->L_tri.uplo == SPTRSM_LOWER ? "lower" : "upper", name, F->L->rule);
  return SPTRSM_OK;
}

/* ---- what U is ---- */

static bool has_any(const spti_io_object *group, const char *const names[], size_t count) {
  for (size_t k = 0; k < count; k++)
    if (spti_io_has(group, names[k])) return true;
  return false;
}

typedef enum { UPPER_NOT_STATED, UPPER_GIVEN, UPPER_TRANSPOSE, UPPER_CONJUGATE, UPPER_NONE } stated_upper;

static sptrsm_status read_upper(stated_upper *out, const spti_io_object *group) {
  static const char *const names[] = {"given", "transpose", "conjugate-transpose", "none"};
  char *text;
  *out = UPPER_NOT_STATED;
  SPTI_IO_TRY(spti_io_attr_text(&text, group, "upper"));
  if (text == NULL) return SPTRSM_OK;
  for (int k = 0; k < 4; k++)
    if (strcmp(text, names[k]) == 0) *out = (stated_upper)(k + 1);
  sptrsm_status status = SPTRSM_OK;
  if (*out == UPPER_NOT_STATED)
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute upper is \"%s\"; use given, transpose, conjugate-transpose or none",
                              group->where, text);
  free(text);
  return status;
}

/* Decides what U is; UPPER_NONE: the group is a single triangle, not a set. */
static sptrsm_status decide_upper(stated_upper *out, const spti_io_object *group) {
  static const char *const partners[] = {"D", "A", "perm_row", "perm_col", "perm_r", "perm_c", "p", "q", "scale_row", "scale_col", "Rs"};
  bool has_l = spti_io_has(group, "L"), has_u = spti_io_has(group, "U"),
       has_partner = has_any(group, partners, sizeof partners / sizeof partners[0]);
  SPTI_IO_TRY(read_upper(out, group));
  if (!has_l && !has_u) {
    char candidates[400];
    SPTI_IO_TRY(spti_io_name_candidates(candidates, group, true));
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: neither a matrix nor a factor set (no L, no U)%s", group->where,
                            candidates[0] != '\0' ? candidates : "; name the object as FILE:/path, see sptrsm-info");
  }
  if (!has_l && has_partner)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has U but no L; name U as FILE:/path to solve with U alone", group->where);
  if (*out == UPPER_GIVEN && !has_u)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute upper says U is given, but there is no U", group->where);
  if (*out == UPPER_NOT_STATED) *out = has_l && has_u ? UPPER_GIVEN : has_partner ? UPPER_CONJUGATE : UPPER_NONE;
  return SPTRSM_OK;
}

/* Whether a dataset of numbers is 2-D with more than one row and column. Other objects are refused where they are read. */
static sptrsm_status is_matrix(bool *out, const spti_io_object *group, const char *name) {
  spti_io_object o;
  spti_io_dataset d;
  SPTI_IO_TRY(spti_io_object_open(&o, group, name));
  *out = o.type != H5I_DATASET;
  if (*out) {
    spti_io_object_close(&o);
    return SPTRSM_OK;
  }
  SPTI_IO_TRY(spti_io_dataset_of(&d, &o));
  *out = d.dims[0] > 1 && d.dims[1] > 1;
  spti_io_dataset_close(&d);
  return SPTRSM_OK;
}

/* MATLAB's [L,U,P,Q,D] = lu(S) gives P, Q and D as matrices; to ignore them would give wrong solutions. */
static sptrsm_status refuse_matrices(const spti_io_factor_reader *r) {
  static const char *const names[] = {"P", "Q", "R", "D"};
  for (int k = 0; k < 4; k++) {
    bool matrix = true;
    if (!spti_io_has(r->group, names[k])) continue;
    if (strcmp(names[k], "D") == 0 && r->batch) continue; /* its shape is checked where it is read */
    if (strcmp(names[k], "D") == 0) SPTI_IO_TRY(is_matrix(&matrix, r->group, "D"));
    if (!matrix) continue;
    return sptrsm_error_set(
        SPTRSM_ERR_UNSUPPORTED,
        "%s: a matrix %s is not read in a factor set; store vectors: p, q (permutations), Rs or scale_row (scaling), D (diagonal); "
        "one triangle alone: FILE:/L",
        r->group->where, names[k]);
  }
  return SPTRSM_OK;
}

/* ---- a set ---- */

static sptrsm_status load_triangles(spti_io_factor_reader *r, stated_upper upper, const sptrsm_io_options *o) {
  sptrsm_file_factors *F = r->F;
  sptrsm_io_options lower_options = *o, upper_options = *o;
  lower_options.uplo = SPTRSM_LOWER;
  upper_options.uplo = SPTRSM_UPPER;
  upper_options.unit = 0;
  SPTI_IO_TRY(load_member(&F->L, r, "L", &lower_options));
  if (upper == UPPER_GIVEN) {
    SPTI_IO_TRY(load_member(&F->U, r, "U", &upper_options));
    sptrsm_dtype dtype = common_dtype(F->L->dtype, F->U->dtype);
    SPTI_IO_TRY(spti_io_matrix_convert(F->L, dtype));
    SPTI_IO_TRY(spti_io_matrix_convert(F->U, dtype));
  }
  SPTI_IO_TRY(spti_io_triangle(&F->L_tri, F->L, F->U != NULL ? SPTI_L_WITH_U : SPTI_L_OF_SET, &lower_options));
  F->factors.L = &F->L_tri;
  if (F->U == NULL && r->batch) SPTI_IO_TRY(take_values(r, "L", NULL, o));
  if (F->U == NULL) {
    F->factors.u_kind = upper == UPPER_CONJUGATE && spti_is_complex(F->L->dtype) ? SPTRSM_U_IS_LH : SPTRSM_U_IS_LT;
    snprintf(r->rule, sizeof r->rule, "L, U = %s (%s)", F->factors.u_kind == SPTRSM_U_IS_LH ? "conjugate transpose of L" : "transpose of L",
             F->L->rule);
    return SPTRSM_OK;
  }
  SPTI_IO_TRY(spti_io_triangle(&F->U_tri, F->U, SPTI_U_WITH_L, &upper_options));
  if (F->L_tri.n != F->U_tri.n)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: order %d, but %s has order %d", F->L->where, F->L_tri.n, F->U->where, F->U_tri.n);
  F->factors.U = &F->U_tri;
  if (r->batch) SPTI_IO_TRY(take_values(r, "L", "U", o));
  snprintf(r->rule, sizeof r->rule, "L and U (%s)", F->L->rule);
  return SPTRSM_OK;
}

static sptrsm_status load_original(spti_io_factor_reader *r, const sptrsm_io_options *o) {
  sptrsm_file_factors *F = r->F;
  sptrsm_io_options options = *o;
  if (!spti_io_has(r->group, "A")) return SPTRSM_OK;
  options.dtype = (int)F->L->dtype;
  options.tidy = 1; /* A is only multiplied with, so the order of its entries does not matter */
  SPTI_IO_TRY(load_member(&F->A, r, "A", &options));
  if (F->A->rows != F->L_tri.n || F->A->cols != F->L_tri.n)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %lld x %lld, but the factors have order %d", F->A->where, (long long)F->A->rows,
                            (long long)F->A->cols, F->L_tri.n);
  return r->batch ? take_member(F->A, &r->batch->A_stride, r, "A", F->L->dtype) : spti_io_check_finite(F->A, true);
}

static sptrsm_status check_layout(const spti_io_factor_reader *r) {
  char *layout;
  bool found;
  int64_t n;
  SPTI_IO_TRY(spti_io_attr_text(&layout, r->group, "sptrsm_layout"));
  bool known = layout == NULL || strcmp(layout, "1") == 0;
  free(layout);
  if (!known)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: attribute sptrsm_layout is not \"1\": written by a newer version; update this one",
                            r->group->where);
  SPTI_IO_TRY(spti_io_attr_integers(&found, &n, 1, r->group, "n"));
  if (found && n != r->F->L_tri.n)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: attribute n is %lld, but L has order %d", r->group->where, (long long)n,
                            r->F->L_tri.n);
  return SPTRSM_OK;
}

static sptrsm_status load_set(spti_io_factor_reader *r, const sptrsm_io_options *o) {
  stated_upper upper;
  SPTI_IO_TRY(decide_upper(&upper, r->group));
  SPTI_IO_TRY(refuse_matrices(r));
  if (upper == UPPER_NONE) {
    const char *name = spti_io_has(r->group, "L") ? "L" : "U";
    SPTI_IO_TRY(load_member(&r->F->L, r, name, o));
    return take_single(r, o, name[0] == 'L' ? " /L" : " /U");
  }
  SPTI_IO_TRY(load_triangles(r, upper, o));
  SPTI_IO_TRY(check_layout(r));
  SPTI_IO_TRY(spti_io_read_diagonal(r));
  SPTI_IO_TRY(spti_io_read_permutations(r));
  SPTI_IO_TRY(spti_io_read_scalings(r));
  return load_original(r, o);
}

sptrsm_status spti_io_load_factors(spti_io_factor_reader *r, const sptrsm_io_options *o) {
  spti_io_form form;
  SPTI_IO_TRY(spti_io_detect(&form, r->group));
  if (form.kind == SPTI_NONE && r->group->type == H5I_GROUP) SPTI_IO_TRY(load_set(r, o));
  else {
    SPTI_IO_TRY(spti_io_matrix_load(&r->F->L, r->group, o));
    SPTI_IO_TRY(take_single(r, o, ""));
  }
  SPTI_IO_TRY(spti_io_attr_text(&r->F->source, r->group, "source"));
  const spti_io_object root = {.id = r->file->id, .type = H5I_FILE, .where = r->file->name, .file = r->file};
  if (r->F->source == NULL) SPTI_IO_TRY(spti_io_attr_text(&r->F->source, &root, "source"));
  return SPTRSM_OK;
}

sptrsm_status spti_io_new_factors(spti_io_factor_reader *r, const char *where) {
  SPTI_IO_TRY(spti_io_allocate(&r->F, where, sizeof *r->F));
  *r->F = (sptrsm_file_factors){0};
  sptrsm_factors_init(&r->F->factors);
  return SPTRSM_OK;
}

static sptrsm_status load_any(spti_io_factor_reader *r, const char *where, const sptrsm_io_options *o) {
  SPTI_IO_TRY(spti_io_new_factors(r, where));
  if (r->file->matrix_market) {
    SPTI_IO_TRY(spti_io_mtx_load(&r->F->L, r->file, o));
    SPTI_IO_TRY(take_single(r, o, ""));
  } else {
    SPTI_IO_TRY(spti_io_object_open_path(r->group, r->file, r->file->path));
    SPTI_IO_TRY(spti_io_load_factors(r, o));
  }
  return spti_io_copy(&r->F->rule, r->rule);
}

sptrsm_status sptrsm_file_factors_load(sptrsm_file_factors **out, const char *where, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  spti_io_object group = {.id = -1};
  spti_io_factor_reader r = {.file = &f, .group = &group};
  if (out == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_factors_load: out is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = load_any(&r, where, o);
  spti_io_object_close(&group);
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = r.F;
  else sptrsm_file_factors_free(r.F);
  return status;
}
