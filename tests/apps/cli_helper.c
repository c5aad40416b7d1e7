/* cli_helper.c -- makes the files that the command-line tests need and no program makes, and reads JSON reports.
 *
 *   cli_helper set OUT f64|c128 0..4     factor set with permutations, scalings and D; OUT's sibling NAME_rhs.h5 with B.
 *                                        0: L D U, gather/scatter, multiply/divide; 1: the other conventions;
 *                                        2: L and 2x2 blocks, U = L'; 3: as 2 with the conjugate transpose;
 *                                        4: as 3, but with one permutation and no scaling, so that A is Hermitian
 *   cli_helper nonfinite OUT N           B of N rows and 4 columns: a NaN in column 1, an infinity in column 3
 *   cli_helper empty OUT N               B of N rows and no columns
 *   cli_helper list OUT x ...            dataset rows with these numbers
 *   cli_helper rows PART WHOLE           rows of X in PART, and their largest difference to those in WHOLE
 *   cli_helper schur S C X T|C           the largest difference of S and C^T X or C^H X, relative to the largest element of S
 *   cli_helper same A B                  are the two blocks (FILE:/path) the same to the last bit?
 *   cli_helper poke BATCH OUT I P x      copies a uniform batch of f64, with x for value P of L of item I
 *   cli_helper item BATCH I OUT          item I of a uniform batch as a factor set
 *   cli_helper block BATCH WHERE M I OUT block I of the batch's blocks M (B or X) in WHERE, as dataset B
 *   cli_helper mixed OUT                 a mixed batch of orders 3, 5 and 4; /items/b is singular in row 2; B are columns of the identity
 *   cli_helper uniform SET OUT N         a uniform batch of N items with the factors of SET, f64, but L of item i is multiplied by i + 1
 *   cli_helper put FILE PATH P x ...     number P and those behind it of the dataset PATH become x ...
 *   cli_helper attribute FILE NAME x     attribute of the root: an integer, or a real number if x has a point
 *   cli_helper cut FILE PATH             only the first row of a dataset of two dimensions stays, as 1 x n
 *   cli_helper shape FILE PATH           the dimensions of a dataset
 *   cli_helper unlink FILE PATH          removes an object
 *   cli_helper json FILE [key ...]       is FILE valid JSON? prints the value under the keys (numbers: index in a list)
 */
#include <complex.h>
#include <hdf5.h>
#include <jansson.h>
#include <math.h>
#include <sptrsm_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, NRHS = 5 };

static int fail(const char *what) {
  fprintf(stderr, "cli_helper: %s: %s\n", what, sptrsm_last_error());
  return 1;
}

/* ---- factor sets ---- */

typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[N * N];
  double complex z[N * N];
  double d[N * N];
} arrays;

/* All numbers differ, so that no two mistakes cancel. */
static double complex number(int i, int j) { return ((i * 7 + j * 3) % 11 - 5.5) / 16 + ((i * 5 + j) % 7 - 2.5) / 16 * I; }

static sptrsm_sparse triangle(arrays *a, int complex_type, int lower) {
  for (int i = 0, p = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      if (lower ? j > i : j < i) continue;
      if (i != j && (i + 2 * j) % 5 != 0) continue;
      double complex v = i == j ? 3 + i % 4 + (1 + i % 3) * I : number(i, j);
      a->idx[p] = j;
      a->z[p] = v;
      a->d[p++] = creal(v);
    }
    a->ptr[i + 1] = p;
  }
  return (sptrsm_sparse){.format = SPTRSM_CSR,
                         .dtype = complex_type ? SPTRSM_C128 : SPTRSM_F64,
                         .uplo = lower ? SPTRSM_LOWER : SPTRSM_UPPER,
                         .n = N,
                         .ptr = a->ptr,
                         .idx = a->idx,
                         .val = complex_type ? (void *)a->z : a->d};
}

static int write_rhs(const char *path, int complex_type) {
  static double complex z[N * NRHS];
  static double d[N * NRHS];
  char name[512];
  const char *const names[] = {"B"};
  for (int i = 0; i < N * NRHS; i++) d[i] = creal(z[i] = number(i, i / 3) * 16 + 0.25);
  sptrsm_block B = {
      .data = complex_type ? (void *)z : d, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = complex_type ? SPTRSM_C128 : SPTRSM_F64};
  const sptrsm_block *const blocks[] = {&B};
  snprintf(name, sizeof name, "%.*s_rhs.h5", (int)(strlen(path) - 3), path);
  return sptrsm_file_blocks_save(name, 1, names, blocks, NULL) == SPTRSM_OK ? 0 : fail(name);
}

static int make_set(const char *path, int complex_type, int variant) {
  static arrays lower, upper;
  static double complex D[N], sub[N];
  static double real_D[N], real_sub[N], scale_row[N], scale_col[N];
  static int32_t perm_row[N], perm_col[N];
  for (int i = 0; i < N; i++) {
    real_D[i] = creal(D[i] = variant >= 3 ? 2 + i % 5 : 2 + i % 5 + (i % 3) * I); /* Hermitian blocks have a real diagonal */
    real_sub[i] = creal(sub[i] = i % 4 == 1 && i + 1 < N ? 0.5 + 0.25 * I : 0);
    perm_row[i] = (i * 5 + 3) % N; /* 37 is prime: permutations that are not their own inverse */
    perm_col[i] = (i * 8 + 1) % N;
    scale_row[i] = 0.5 + (i % 7) * 0.25;
    scale_col[i] = 2 - (i % 5) * 0.25;
  }
  sptrsm_sparse L = triangle(&lower, complex_type, 1), U = triangle(&upper, complex_type, 0);
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &L;
  f.D = complex_type ? (void *)D : real_D;
  f.D_sub = variant < 2 ? NULL : complex_type ? (void *)sub : real_sub;
  f.D_hermitian = variant >= 3;
  f.U = variant < 2 ? &U : NULL;
  f.u_kind = variant < 2 ? SPTRSM_U_GIVEN : variant == 2 ? SPTRSM_U_IS_LT : SPTRSM_U_IS_LH;
  f.perm_row = perm_row;
  f.perm_col = perm_col;
  f.scale_row = scale_row;
  f.scale_col = scale_col;
  f.row_convention = f.col_convention = variant % 2 ? SPTRSM_SCATTER : SPTRSM_GATHER;
  f.row_op = variant % 2 ? SPTRSM_DIVIDE : SPTRSM_MULTIPLY;
  f.col_op = variant % 2 ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
  if (variant == 4) {
    f.perm_col = perm_row, f.col_convention = SPTRSM_SCATTER;
    f.scale_row = f.scale_col = NULL;
  }
  if (sptrsm_file_factors_save(path, &f, NULL, NULL) != SPTRSM_OK) return fail(path);
  return write_rhs(path, complex_type);
}

/* ---- blocks that are not finite ---- */

static int make_nonfinite(const char *path, int32_t n) {
  double *data = calloc((size_t)n * 4, sizeof *data);
  const char *const names[] = {"B"};
  sptrsm_block B = {.data = data, .ld = 4, .n = n, .nrhs = 4, .dtype = SPTRSM_F64};
  const sptrsm_block *const blocks[] = {&B};
  if (data == NULL) return fail("no memory");
  for (int32_t i = 0; i < 4 * n; i++) data[i] = 1 + i % 3;
  data[4 * (n / 2) + 1] = NAN;
  data[4 * (n / 3) + 3] = INFINITY;
  int code = sptrsm_file_blocks_save(path, 1, names, blocks, NULL) == SPTRSM_OK ? 0 : fail(path);
  free(data);
  return code;
}

static int make_empty(const char *path, int32_t n) {
  double none = 0;
  const char *const names[] = {"B"};
  sptrsm_block B = {.data = &none, .ld = 1, .n = n, .dtype = SPTRSM_F64};
  const sptrsm_block *const blocks[] = {&B};
  return sptrsm_file_blocks_save(path, 1, names, blocks, NULL) == SPTRSM_OK ? 0 : fail(path);
}

/* ---- rows of a solution ---- */

static int make_list(const char *path, int count, char **values) {
  double *data = calloc((size_t)count + 1, sizeof *data);
  const char *const names[] = {"rows"};
  sptrsm_block list = {.data = data, .ld = 1, .n = count, .nrhs = 1, .dtype = SPTRSM_F64};
  const sptrsm_block *const blocks[] = {&list};
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  if (data == NULL) return fail("no memory");
  for (int i = 0; i < count; i++) data[i] = atof(values[i]);
  int code = sptrsm_file_blocks_save(path, 1, names, blocks, &save) == SPTRSM_OK ? 0 : fail(path);
  free(data);
  return code;
}

/* ---- batches ---- */

static int poke(const char *in, const char *out, int item, int p, const char *value) {
  sptrsm_file_batch *b = NULL;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  if (sptrsm_file_batch_load(&b, in, 0, -1, NULL) != SPTRSM_OK) return fail(in);
  ((double *)b->values.L)[item * b->values.L_stride + p] = atof(value);
  int code = sptrsm_file_batch_save_uniform(out, &b->items[0]->factors, &b->values, &save) == SPTRSM_OK ? 0 : fail(out);
  sptrsm_file_batch_free(b);
  return code;
}

static int take_item(const char *in, int item, const char *out) {
  sptrsm_file_batch *b = NULL;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  if (sptrsm_file_batch_load(&b, in, item, item + 1, NULL) != SPTRSM_OK) return fail(in);
  int code = sptrsm_file_factors_save(out, &b->items[0]->factors, NULL, &save) == SPTRSM_OK ? 0 : fail(out);
  sptrsm_file_batch_free(b);
  return code;
}

static int take_block(char **arguments) {
  const char *const names[] = {"B"};
  const int item = atoi(arguments[3]);
  sptrsm_file_batch *b = NULL;
  sptrsm_file_blocks *X = NULL;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  if (sptrsm_file_batch_load(&b, arguments[0], 0, -1, NULL) != SPTRSM_OK) return fail(arguments[0]);
  if (sptrsm_file_blocks_load(&X, arguments[1], arguments[2], b, NULL) != SPTRSM_OK) return fail(arguments[1]);
  const sptrsm_batch_block *all = &X->block;
  sptrsm_block one = {.ld = all->ld, .nrhs = all->nrhs, .dtype = all->dtype, .layout = all->layout};
  one.n = b->items[b->kind == SPTRSM_BATCH_UNIFORM ? 0 : item]->L_tri.n;
  if (all->data_of) one.data = all->data_of[item], one.ld = all->ld_of[item], one.nrhs = all->nrhs_of[item];
  else one.data = (char *)all->data + (size_t)(item * all->stride) * sptrsm_dtype_bytes(all->dtype);
  const sptrsm_block *const blocks[] = {&one};
  int code = sptrsm_file_blocks_save(arguments[4], 1, names, blocks, &save) == SPTRSM_OK ? 0 : fail(arguments[4]);
  sptrsm_file_blocks_free(X);
  sptrsm_file_batch_free(b);
  return code;
}

/* Diagonal matrices with the numbers 2, 3, ... */
static int make_mixed(const char *path) {
  enum { ITEMS = 3, MOST = 5 };
  static const char *const names[ITEMS] = {"a", "b", "c"};
  static const int orders[ITEMS] = {3, 5, 4};
  int64_t ptr[MOST + 1];
  int32_t idx[MOST];
  double val[ITEMS][MOST], ones[MOST];
  sptrsm_sparse L[ITEMS];
  sptrsm_factors sets[ITEMS];
  sptrsm_file_matrix B[ITEMS];
  const sptrsm_factors *items[ITEMS];
  const sptrsm_file_matrix *B_of[ITEMS];
  for (int i = 0; i <= MOST; i++) ptr[i] = i;
  for (int i = 0; i < MOST; i++) idx[i] = i, ones[i] = 1;
  for (int k = 0; k < ITEMS; k++) {
    for (int i = 0; i < MOST; i++) val[k][i] = i + 2;
    L[k] = (sptrsm_sparse){.n = orders[k], .dtype = SPTRSM_F64, .ptr = ptr, .idx = idx, .val = val[k]};
    sptrsm_factors_init(&sets[k]);
    sets[k].L = &L[k];
    sets[k].u_kind = SPTRSM_U_IS_LT;
    B[k] =
        (sptrsm_file_matrix){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .rows = orders[k], .cols = 2, .ptr = ptr, .idx = idx, .val = ones};
    items[k] = &sets[k];
    B_of[k] = &B[k];
  }
  val[1][2] = 0;
  return sptrsm_file_batch_save_mixed(path, ITEMS, names, items, NULL, B_of, NULL) == SPTRSM_OK ? 0 : fail(path);
}

static int make_uniform(const char *in, const char *out, int count) {
  sptrsm_file_factors *F = NULL;
  sptrsm_batch_values values;
  sptrsm_batch_values_init(&values);
  if (sptrsm_file_factors_load(&F, in, NULL) != SPTRSM_OK) return fail(in);
  const int64_t entries = F->L_tri.ptr[F->L_tri.n];
  double *L = malloc((size_t)(entries * count) * sizeof *L);
  for (int64_t p = 0; L && p < entries * count; p++) L[p] = ((const double *)F->L_tri.val)[p % entries] * (double)(p / entries + 1);
  values.L = L, values.L_stride = entries, values.count = count;
  int code = L && sptrsm_file_batch_save_uniform(out, &F->factors, &values, NULL) == SPTRSM_OK ? 0 : fail(out);
  sptrsm_file_factors_free(F);
  free(L);
  return code;
}

static double complex entry(const sptrsm_block *b, int64_t i, int64_t k) {
  int64_t at = b->layout == SPTRSM_ROW_MAJOR ? i * b->ld + k : i + k * b->ld;
  const double *d = b->data;
  return b->dtype == SPTRSM_C128 ? CMPLX(d[2 * at], d[2 * at + 1]) : d[at];
}

/* The largest difference between rows of X, with their numbers from dataset `rows`, and the same rows of the whole solution. */
static int compare_rows(const char *part, const char *whole) {
  char where[256];
  sptrsm_file_block *X = NULL, *rows = NULL, *Y = NULL;
  double most = 0;
  sptrsm_status status = sptrsm_file_block_load(&Y, whole, -1, NULL);
  snprintf(where, sizeof where, "%s:/X", part);
  if (status == SPTRSM_OK) status = sptrsm_file_block_load(&X, where, -1, NULL);
  snprintf(where, sizeof where, "%s:/rows", part);
  if (status == SPTRSM_OK) status = sptrsm_file_block_load(&rows, where, -1, NULL);
  if (status == SPTRSM_OK && (rows->block.n != X->block.n || X->block.nrhs != Y->block.nrhs))
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %d rows, %d numbers", part, X->block.n, rows->block.n);
  for (int32_t i = 0; status == SPTRSM_OK && i < X->block.n; i++)
    for (int64_t k = 0; k < X->block.nrhs; k++) {
      double difference = cabs(entry(&X->block, i, k) - entry(&Y->block, (int64_t)creal(entry(&rows->block, i, 0)), k));
      if (isnan(difference) || difference > most) most = difference;
    }
  if (status == SPTRSM_OK) printf("%d %.17g\n", X->block.n, most);
  sptrsm_file_block_free(X);
  sptrsm_file_block_free(rows);
  sptrsm_file_block_free(Y);
  return status == SPTRSM_OK ? 0 : fail(part);
}

/* ---- Schur complements ---- */

/* A block, or a sparse matrix as a block with all rows. */
static sptrsm_status load_columns(sptrsm_file_block **out, const char *where) {
  sptrsm_file_matrix *M = NULL;
  if (sptrsm_file_matrix_load(&M, where, NULL) != SPTRSM_OK) return sptrsm_file_block_load(out, where, -1, NULL);
  sptrsm_status status = sptrsm_file_block_of_matrix(out, NULL, M, "C", NULL);
  sptrsm_file_matrix_free(M);
  return status;
}

static int compare_schur(const char *s, const char *c, const char *x, int conjugated) {
  sptrsm_file_block *S = NULL, *C = NULL, *X = NULL;
  if (sptrsm_file_block_load(&S, s, -1, NULL) != SPTRSM_OK) return fail(s);
  if (load_columns(&C, c) != SPTRSM_OK) return fail(c);
  if (sptrsm_file_block_load(&X, x, -1, NULL) != SPTRSM_OK) return fail(x);
  const int fits = S->block.n == C->block.nrhs && S->block.nrhs == X->block.nrhs && C->block.n == X->block.n;
  double worst = 0, largest = 0;
  for (int64_t i = 0; fits && i < S->block.n; i++)
    for (int64_t j = 0; j < S->block.nrhs; j++) {
      double complex sum = -entry(&S->block, i, j);
      if (cabs(sum) > largest) largest = cabs(sum);
      for (int64_t l = 0; l < X->block.n; l++)
        sum += (conjugated ? conj(entry(&C->block, l, i)) : entry(&C->block, l, i)) * entry(&X->block, l, j);
      if (isnan(cabs(sum)) || cabs(sum) > worst) worst = cabs(sum);
    }
  if (fits) printf("%.3g\n", worst / largest);
  sptrsm_file_block_free(S);
  sptrsm_file_block_free(C);
  sptrsm_file_block_free(X);
  return !fits;
}

/* ---- two blocks ---- */

static int compare(const char *a, const char *b) {
  sptrsm_file_block *A = NULL, *B = NULL;
  if (sptrsm_file_block_load(&A, a, -1, NULL) != SPTRSM_OK) return fail(a);
  if (sptrsm_file_block_load(&B, b, -1, NULL) != SPTRSM_OK) return fail(b);
  const sptrsm_block *x = &A->block, *y = &B->block;
  int same = x->n == y->n && x->nrhs == y->nrhs && x->dtype == y->dtype && x->layout == y->layout &&
             memcmp(x->data, y->data, (size_t)x->n * (size_t)x->nrhs * sptrsm_dtype_bytes(x->dtype)) == 0;
  if (!same) fprintf(stderr, "cli_helper: %s and %s differ\n", a, b);
  sptrsm_file_block_free(A);
  sptrsm_file_block_free(B);
  return !same;
}

/* ---- changes to a file ---- */

static int damaged(hid_t file, const char *path, int good) {
  if (file >= 0 && H5Fclose(file) < 0) good = 0;
  if (!good) fprintf(stderr, "cli_helper: %s can't be changed\n", path);
  return !good;
}

static int put_numbers(const char *path, const char *dataset, hsize_t first, int count, char **numbers) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(file, dataset, H5P_DEFAULT), space = H5Dget_space(d);
  const hssize_t length = H5Sget_simple_extent_npoints(space);
  double *x = malloc((size_t)(length > 0 ? length : 1) * sizeof *x);
  int good = x && (hssize_t)first + count <= length && H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  for (int k = 0; good && k < count; k++) x[first + (hsize_t)k] = atof(numbers[k]);
  good = good && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  free(x);
  H5Sclose(space), H5Dclose(d);
  return damaged(file, path, good);
}

static int put_attribute(const char *path, const char *name, const char *number) {
  const int is_real = strchr(number, '.') != NULL;
  const double real = atof(number);
  const int64_t integer = atoll(number);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR),
        type = is_real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
  if (H5Aexists(file, name) > 0) H5Adelete(file, name);
  hid_t a = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const int good = H5Awrite(a, type, is_real ? (const void *)&real : &integer) >= 0;
  H5Aclose(a), H5Sclose(space);
  return damaged(file, path, good);
}

static int cut_rows(const char *path, const char *dataset) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), d = H5Dopen2(file, dataset, H5P_DEFAULT), space = H5Dget_space(d);
  hsize_t dims[2] = {0, 0};
  int good = H5Sget_simple_extent_ndims(space) == 2 && H5Sget_simple_extent_dims(space, dims, NULL) == 2;
  double *x = malloc((size_t)(dims[0] * dims[1] + 1) * sizeof *x);
  good = good && x && H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  H5Sclose(space), H5Dclose(d);
  dims[0] = 1;
  space = H5Screate_simple(2, dims, NULL);
  good = good && H5Ldelete(file, dataset, H5P_DEFAULT) >= 0;
  d = H5Dcreate2(file, dataset, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  good = good && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0;
  free(x);
  H5Sclose(space), H5Dclose(d);
  return damaged(file, path, good);
}

static int print_shape(const char *path, const char *dataset) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(file, dataset, H5P_DEFAULT), space = H5Dget_space(d);
  hsize_t dims[H5S_MAX_RANK] = {0};
  const int rank = H5Sget_simple_extent_dims(space, dims, NULL);
  for (int k = 0; k < rank; k++) printf("%s%llu", k > 0 ? " x " : "", (unsigned long long)dims[k]);
  putchar('\n');
  H5Sclose(space), H5Dclose(d), H5Fclose(file);
  return rank < 0;
}

static int remove_object(const char *path, const char *name) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  return damaged(file, path, H5Ldelete(file, name, H5P_DEFAULT) >= 0);
}

/* ---- JSON ---- */

static int look_up(const char *file, int count, char **keys) {
  json_error_t error;
  json_t *root = strcmp(file, "-") == 0 ? json_loadf(stdin, 0, &error) : json_load_file(file, 0, &error), *at = root;
  if (root == NULL) {
    fprintf(stderr, "cli_helper: %s:%d: %s\n", file, error.line, error.text);
    return 1;
  }
  for (int i = 0; i < count && at; i++) at = json_is_array(at) ? json_array_get(at, (size_t)atoi(keys[i])) : json_object_get(at, keys[i]);
  if (at == NULL) fprintf(stderr, "cli_helper: %s: no such key\n", file);
  else if (count > 0 && json_is_string(at)) puts(json_string_value(at));
  else if (count > 0) {
    json_dumpf(at, stdout, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    putchar('\n');
  }
  int code = at == NULL;
  json_decref(root);
  return code;
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "set") == 0) return make_set(argv[2], strcmp(argv[3], "c128") == 0, atoi(argv[4]));
  if (argc == 4 && strcmp(argv[1], "nonfinite") == 0) return make_nonfinite(argv[2], atoi(argv[3]));
  if (argc == 4 && strcmp(argv[1], "empty") == 0) return make_empty(argv[2], atoi(argv[3]));
  if (argc >= 3 && strcmp(argv[1], "list") == 0) return make_list(argv[2], argc - 3, argv + 3);
  if (argc == 4 && strcmp(argv[1], "rows") == 0) return compare_rows(argv[2], argv[3]);
  if (argc == 6 && strcmp(argv[1], "schur") == 0) return compare_schur(argv[2], argv[3], argv[4], strcmp(argv[5], "C") == 0);
  if (argc == 4 && strcmp(argv[1], "same") == 0) return compare(argv[2], argv[3]);
  if (argc == 7 && strcmp(argv[1], "poke") == 0) return poke(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]), argv[6]);
  if (argc == 5 && strcmp(argv[1], "item") == 0) return take_item(argv[2], atoi(argv[3]), argv[4]);
  if (argc == 7 && strcmp(argv[1], "block") == 0) return take_block(argv + 2);
  if (argc == 3 && strcmp(argv[1], "mixed") == 0) return make_mixed(argv[2]);
  if (argc == 5 && strcmp(argv[1], "uniform") == 0) return make_uniform(argv[2], argv[3], atoi(argv[4]));
  if (argc >= 6 && strcmp(argv[1], "put") == 0) return put_numbers(argv[2], argv[3], (hsize_t)atoll(argv[4]), argc - 5, argv + 5);
  if (argc == 5 && strcmp(argv[1], "attribute") == 0) return put_attribute(argv[2], argv[3], argv[4]);
  if (argc == 4 && strcmp(argv[1], "cut") == 0) return cut_rows(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "shape") == 0) return print_shape(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "unlink") == 0) return remove_object(argv[2], argv[3]);
  if (argc >= 3 && strcmp(argv[1], "json") == 0) return look_up(argv[2], argc - 3, argv + 3);
  fprintf(stderr, "usage: cli_helper set OUT f64|c128 VARIANT | nonfinite OUT N | empty OUT N | list OUT x ... | rows PART WHOLE | same A "
                  "B | put FILE PATH COLUMNS x ... | attribute FILE NAME x | cut FILE PATH | shape FILE PATH | unlink FILE PATH | "
                  "json FILE [key ...]\n");
  return 2;
}
