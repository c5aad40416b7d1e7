/* sets.c -- factor sets of several producers: the conventions read are right if L D U = P R A C Q holds. */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { N = FIXTURE_N };
typedef double complex dense[N * N];

static sptrsm_file_factors *load(const char *where, const sptrsm_io_options *o) {
  const sptrsm_io_options here = fixture_in_process(o);
  sptrsm_file_factors *F = NULL;
  for (int k = 0; k < 2; k++) {
    sptrsm_file_factors_free(F);
    sptrsm_status status = sptrsm_file_factors_load(&F, where, k == 0 ? &here : o);
    cr_assert(status == SPTRSM_OK, "%s: %s", where, sptrsm_last_error());
    NOTHING_STAYS_OPEN(where);
  }
  return F;
}

static void triangle_dense(dense out, const sptrsm_sparse *T) {
  fixture_dense(out, N, N, T->format, T->dtype, T->ptr, T->idx, T->val);
  for (int i = 0; i < N && T->diag == SPTRSM_UNIT; i++) out[i * N + i] = 1;
}

static void multiply(dense out, const dense a, const dense b) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      out[i * N + j] = 0;
      for (int k = 0; k < N; k++) out[i * N + j] += a[i * N + k] * b[k * N + j];
    }
}

static void diagonal_dense(dense out, const sptrsm_factors *f, sptrsm_dtype dtype) {
  for (int q = 0; q < N * N; q++) out[q] = 0;
  for (int i = 0; i < N; i++) {
    out[i * N + i] = f->D != NULL ? fixture_value(dtype, f->D, i) : 1;
    if (f->D_sub == NULL || i + 1 == N) continue;
    double complex s = fixture_value(dtype, f->D_sub, i);
    out[(i + 1) * N + i] = s;
    out[i * N + i + 1] = f->D_hermitian ? conj(s) : s;
  }
}

/* L D U */
static void product(dense out, const sptrsm_file_factors *F) {
  dense l, d, u, ld;
  const sptrsm_factors *f = &F->factors;
  triangle_dense(l, f->L);
  diagonal_dense(d, f, f->L->dtype);
  if (f->u_kind == SPTRSM_U_GIVEN) triangle_dense(u, f->U);
  for (int i = 0; i < N && f->u_kind != SPTRSM_U_GIVEN; i++)
    for (int j = 0; j < N; j++) u[i * N + j] = f->u_kind == SPTRSM_U_IS_LH ? conj(l[j * N + i]) : l[j * N + i];
  multiply(ld, l, d);
  multiply(out, ld, u);
}

/* The row (column) of A that becomes row (column) i of the permuted system. */
static int source_of(const int32_t *perm, int gathers, int i) {
  if (perm == NULL) return i;
  if (gathers) return perm[i];
  for (int k = 0; k < N; k++)
    if (perm[k] == i) return k;
  return -1;
}

static double scale_of(const double *scale, sptrsm_scale_op op, int i) {
  return scale == NULL ? 1 : op == SPTRSM_MULTIPLY ? scale[i] : 1 / scale[i];
}

/* P R A C Q as the header of sptrsm_factors defines it. */
static void permuted(dense out, const sptrsm_file_factors *F) {
  dense a;
  const sptrsm_factors *f = &F->factors;
  fixture_dense(a, N, N, F->A->format, F->A->dtype, F->A->ptr, F->A->idx, F->A->val);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int row = source_of(f->perm_row, f->row_convention == SPTRSM_GATHER, i);
      int col = source_of(f->perm_col, f->col_convention == SPTRSM_SCATTER, j);
      out[i * N + j] = scale_of(f->scale_row, f->row_op, row) * a[row * N + col] * scale_of(f->scale_col, f->col_op, col);
    }
}

typedef struct {
  const char *where, *rule;
  int permutes, scales;
} set_row;

Test(io_sets, conventions_of_every_producer) {
  static const set_row sets[] = {
      {DATA("sets.h5:/scipy"), "perm_r scatter (SciPy); perm_c gather (SciPy)", 1, 0},
      {DATA("sets.h5:/five_lines"), "h5py CSC, no shape said: taken as square", 1, 0},
      {DATA("sets.h5:/scipy_complex"), "perm_r scatter (SciPy); perm_c gather (SciPy)", 1, 0},
      {DATA("sets.h5:/umfpack_recip"), "Rs multiply", 1, 1},
      {DATA("sets.h5:/umfpack_divide"), "Rs divide", 1, 1},
      {DATA("sets.h5:/julia"), "p gather (MATLAB, Julia, UMFPACK, CHOLMOD)", 1, 1},
      {DATA("sets.h5:/matlab"), "p 1-based", 1, 0},
      {DATA("sets.h5:/own"), "perm_row gather; perm_col scatter; scale_row divide; scale_col multiply", 1, 1},
      {DATA("sets.h5:/cholesky"), "permuted alike", 1, 0},
      {DATA("sets.h5:/ldl"), "permuted alike", 1, 0},
      {DATA("sets.h5:/ldl_blocks"), "D_sub 2x2 blocks", 0, 0},
      {DATA("sets.h5:/ldl_hermitian"), "conjugate transpose of L", 0, 0},
      {DATA("sets.h5:/complex_symmetric"), "U = transpose of L", 0, 0},
  };
  for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
    dense left, right;
    sptrsm_file_factors *F = load(sets[k].where, NULL);
    cr_assert(strstr(F->rule, sets[k].rule) != NULL, "%s: rule \"%s\"", sets[k].where, F->rule);
    cr_assert(!F->single && F->A != NULL && F->factors.L == &F->L_tri, "%s", sets[k].where);
    cr_assert((F->factors.perm_row != NULL) == sets[k].permutes && (F->factors.perm_col != NULL) == sets[k].permutes, "%s", sets[k].where);
    cr_assert((F->factors.scale_row != NULL) == sets[k].scales, "%s", sets[k].where);
    cr_assert_str_eq(F->source, "make_fixtures.py");
    product(left, F);
    permuted(right, F);
    for (int q = 0; q < N * N; q++)
      cr_assert(cabs(left[q] - right[q]) <= 1e-12 * (1 + cabs(right[q])), "%s: L D U and P R A C Q differ at (%d,%d): %g%+gi, %g%+gi",
                sets[k].where, q / N, q % N, creal(left[q]), cimag(left[q]), creal(right[q]), cimag(right[q]));
    sptrsm_file_factors_free(F);
  }
}

Test(io_sets, factors_of_two_precisions_meet_in_the_wider) {
  sptrsm_file_factors *F = load(DATA("sets.h5:/mixed"), NULL);
  cr_assert(F->L_tri.dtype == SPTRSM_F64 && F->U_tri.dtype == SPTRSM_F64 && F->L->val == F->L_tri.val);
  sptrsm_file_factors_free(F);
}

Test(io_sets, the_dtype_asked_for_holds_for_all_members) {
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  for (o.dtype = SPTRSM_F32; o.dtype <= SPTRSM_C128; o.dtype++) {
    sptrsm_file_factors *F = load(DATA("sets.h5:/scipy"), &o);
    cr_assert(F->L_tri.dtype == (sptrsm_dtype)o.dtype && F->U_tri.dtype == F->L_tri.dtype && F->A->dtype == F->L_tri.dtype);
    sptrsm_file_factors_free(F);
  }
}

Test(io_sets, one_triangle_is_solved_as_it_is) {
  static const struct {
    const char *where;
    sptrsm_uplo uplo;
  } singles[] = {{DATA("sets.h5:/only_L"), SPTRSM_LOWER},
                 {DATA("sets.h5:/only_U"), SPTRSM_UPPER},
                 {DATA("root.h5"), SPTRSM_LOWER},
                 {DATA("sets.h5:/scipy/U"), SPTRSM_UPPER},
                 {DATA("general.mtx.gz"), SPTRSM_LOWER}};
  for (size_t k = 0; k < sizeof singles / sizeof singles[0]; k++) {
    sptrsm_file_factors *F = load(singles[k].where, NULL);
    cr_assert(F->single && F->U == NULL && F->A == NULL && F->L_tri.uplo == singles[k].uplo, "%s", singles[k].where);
    cr_assert(F->factors.L == &F->L_tri && F->factors.U == NULL && F->factors.perm_row == NULL, "%s", singles[k].where);
    sptrsm_file_factors_free(F);
  }
}

Test(io_sets, ldl_reads_d_and_an_implicit_unit_diagonal) {
  sptrsm_file_factors *F = load(DATA("sets.h5:/ldl"), NULL);
  cr_assert(F->L_tri.diag == SPTRSM_UNIT && F->factors.D != NULL && F->factors.u_kind == SPTRSM_U_IS_LT);
  sptrsm_file_factors_free(F);
  F = load(DATA("sets.h5:/ldl_hermitian"), NULL);
  cr_assert(F->factors.D_hermitian && F->factors.u_kind == SPTRSM_U_IS_LH);
  cr_assert(fixture_value(SPTRSM_C128, F->factors.D_sub, N - 1) == 0); /* one entry less in the file */
  sptrsm_file_factors_free(F);
}

/* ---- sets that are written here ---- */

Test(io_sets, one_permutation_of_a_symmetric_set_is_that_of_both_sides, .init = make_folder, .fini = remove_folder) {
  static const int64_t ptr[4];
  static const int32_t perm[3] = {2, 0, 1};
  for (int turn = 0; turn < 4; turn++) {
    sptrsm_sparse L = {.n = 3, .dtype = SPTRSM_F64, .diag = SPTRSM_UNIT, .ptr = ptr};
    sptrsm_save_options o;
    sptrsm_factors f;
    sptrsm_save_options_init(&o);
    o.force = 1;
    sptrsm_factors_init(&f);
    f.L = &L;
    f.u_kind = SPTRSM_U_IS_LT;
    sptrsm_convention given = turn & 1 ? SPTRSM_GATHER : SPTRSM_SCATTER, other = turn & 1 ? SPTRSM_SCATTER : SPTRSM_GATHER;
    if (turn & 2) f.perm_row = perm, f.row_convention = given;
    else f.perm_col = perm, f.col_convention = given;
    cr_assert(sptrsm_file_factors_save(file, &f, NULL, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
    sptrsm_file_factors *F = load(file, NULL);
    const sptrsm_factors *g = &F->factors;
    cr_assert(memcmp(g->perm_row, perm, sizeof perm) == 0 && memcmp(g->perm_col, perm, sizeof perm) == 0, "turn %d", turn);
    cr_assert(g->row_convention == (turn & 2 ? given : other) && g->col_convention == (turn & 2 ? other : given), "turn %d", turn);
    sptrsm_file_factors_free(F);
  }
}

Test(io_sets, what_is_no_set_is_not_written, .init = make_folder, .fini = remove_folder) {
  static const int64_t ptr[4] = {0, 1, 2, 3}, shrinking[4] = {0, 2, 1, 3};
  static const int32_t idx[3] = {0, 1, 2};
  static const double val[3] = {1, 2, 3};
  const sptrsm_sparse good = {.n = 3, .dtype = SPTRSM_F64, .ptr = ptr, .idx = idx, .val = val};
  static const char *const says[] = {"L: negative order, no pointers, or unknown dtype",
                                     "L: negative order, no pointers, or unknown dtype",
                                     "L: negative order, no pointers, or unknown dtype",
                                     "L: ptr[2] = 1: pointers begin with 0 and do not decrease",
                                     "L: has entries but no arrays",
                                     "L: is in device memory",
                                     "factors: L and U differ in order or dtype",
                                     "factors: U is given, but u_kind says",
                                     "factors: A and L differ in order",
                                     "sptrsm_factors.size is 1, "};
  for (size_t k = 0; k < sizeof says / sizeof says[0]; k++) {
    sptrsm_sparse L = good, U = good;
    sptrsm_file_matrix A = {.rows = 4, .cols = 3};
    sptrsm_factors f;
    sptrsm_factors_init(&f);
    U.uplo = SPTRSM_UPPER;
    f.L = &L, f.U = &U;
    switch (k) {
    case 0: L.n = -1; break;
    case 1: L.ptr = NULL; break;
    case 2: L.dtype = (sptrsm_dtype)9; break;
    case 3: L.ptr = shrinking; break;
    case 4: L.val = NULL; break;
    case 5: L.place = SPTRSM_CUDA; break;
    case 6: U.dtype = SPTRSM_F32; break;
    case 7: f.u_kind = SPTRSM_U_IS_LT; break;
    case 8: break;
    default: f.size = 1;
    }
    cr_assert(sptrsm_file_factors_save(file, &f, k == 8 ? &A : NULL, NULL) == SPTRSM_ERR_ARGUMENT, "%s", says[k]);
    cr_assert(strstr(sptrsm_last_error(), says[k]) != NULL, "\"%s\" lacks \"%s\"", sptrsm_last_error(), says[k]);
    cr_assert(count_files() == 0, "%s: a file was written", says[k]);
  }
}

/* ---- blocks of D on the edge of singular ---- */

static void put(void *val, int64_t i, sptrsm_dtype dtype, double complex z) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)val)[i] = (float)creal(z); break;
  case SPTRSM_F64: ((double *)val)[i] = creal(z); break;
  case SPTRSM_C64: ((float complex *)val)[i] = (float complex)z; break;
  default: ((double complex *)val)[i] = z; break;
  }
}

/* Is a set with this block loaded? The solve must agree. */
static int is_regular(sptrsm_context *context, sptrsm_dtype dtype, int hermitian, const double complex block[3]) {
  static const int64_t ptr[3];
  double D[4], sub[4];
  sptrsm_save_options o;
  sptrsm_factors f;
  sptrsm_file_factors *F = NULL;
  sptrsm_direct *direct = NULL;
  sptrsm_sparse L = {.n = 2, .dtype = dtype, .diag = SPTRSM_UNIT, .ptr = ptr};
  put(D, 0, dtype, block[0]), put(D, 1, dtype, block[2]);
  put(sub, 0, dtype, block[1]), put(sub, 1, dtype, 0);
  sptrsm_factors_init(&f);
  f.L = &L;
  f.u_kind = hermitian ? SPTRSM_U_IS_LH : SPTRSM_U_IS_LT;
  f.D = D, f.D_sub = sub, f.D_hermitian = hermitian;
  sptrsm_save_options_init(&o);
  o.force = 1;
  cr_assert(sptrsm_file_factors_save(file, &f, NULL, &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_status solved = sptrsm_direct_create(&direct, context, &f, NULL);
  sptrsm_status loaded = sptrsm_file_factors_load(&F, file, NULL);
  cr_assert(loaded == solved && (loaded == SPTRSM_OK || loaded == SPTRSM_ERR_SINGULAR), "type %d: loaded %d, solved %d: %s", dtype, loaded,
            solved, sptrsm_last_error());
  sptrsm_direct_destroy(direct);
  sptrsm_file_factors_free(F);
  return loaded == SPTRSM_OK;
}

/* Blocks a few rounding errors from singular: some are loaded, some are not. */
static void check_edge(sptrsm_context *context, sptrsm_dtype dtype, int hermitian, double a_real) {
  int is_complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128, regular = 0;
  double eps = dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (double)FLT_EPSILON : DBL_EPSILON;
  double complex a = a_real, s = is_complex ? 3 + 1.5 * I : 3, edge = s * (hermitian ? conj(s) : s) / a;
  for (int k = -4; k <= 4; k++) {
    const double complex block[3] = {a, s, edge * (1 + k * eps)};
    regular += is_regular(context, dtype, hermitian, block);
  }
  cr_assert(regular > 0 && regular < 9, "type %d, hermitian %d, a %g: %d of 9 regular", dtype, hermitian, a_real, regular);
}

Test(io_sets, a_block_of_d_is_loaded_if_the_solve_takes_it, .init = make_folder, .fini = remove_folder) {
  sptrsm_context *context;
  cr_assert(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) == SPTRSM_OK);
  for (int dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++)
    for (int hermitian = 0; hermitian < 2; hermitian++) {
      check_edge(context, (sptrsm_dtype)dtype, hermitian, 7);
      check_edge(context, (sptrsm_dtype)dtype, hermitian, 1.25);
    }
  sptrsm_context_destroy(context);
}
