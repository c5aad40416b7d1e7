/* batch.c -- files of batches: uniform and mixed factor sets, blocks, solutions, and what must be refused. */
#include "batch_file.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(io_batch, .init = make_folder, .fini = remove_folder);

/* ---- one system is expected ---- */

Test(io_batch, values_with_an_axis_more_are_no_single_system) {
  static const struct {
    hsize_t rows, cols;
    const char *says;
  } shapes[] = {
      {4, 5, "/L/data: is 4 x 5, but one matrix with the entries of "},
      {4, 5, "needs a vector of 5 values; these are the values of a batch, one item in each row: store those of one item, or solve"},
      {5, 4, "/L/data: is 5 x 4"},
      {5, 4, "needs a vector of 5 values; store it in one dimension, or a batch as count x values of an item"},
      {4, 0, "/L/data: is 4 x 0"}};
  static const double v[20] = {1, 1, 1, 1, 1};
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
    sptrsm_file_factors *F = NULL;
    remove(file);
    put_pattern("L", idx);
    put("L/data", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){shapes[k].rows, shapes[k].cols}, v, NULL, 0);
    refuse(sptrsm_file_factors_load(&F, file, NULL), SPTRSM_ERR_STRUCTURE, shapes[k].says);
  }
  sptrsm_file_matrix *M = NULL;
  remove(file);
  put("data", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){2, 0}, NULL, NULL, 0);
  put("indices", H5T_NATIVE_INT32, 1, (hsize_t[]){0}, NULL, NULL, 0);
  put("indptr", H5T_NATIVE_INT64, 1, (hsize_t[]){1}, ptr, NULL, 0);
  refuse(sptrsm_file_matrix_load(&M, file, NULL), SPTRSM_ERR_STRUCTURE, "/data: is 2 x 0");
}

Test(io_batch, vectors_with_an_axis_more_are_no_single_system) {
  static const double v[12] = {1, 1, 1};
  static const struct {
    const char *name, *says;
  } vectors[] = {{"D_sub", "/D_sub: is 4 x 3, but one factor set of order 3 needs a vector of 3 values; these are the values of a batch"},
                 {"scale_row", "/scale_row: is 4 x 3, but one factor set of order 3"}};
  for (int k = 0; k < 2; k++) {
    sptrsm_file_factors *F = NULL;
    remove(file);
    put_pattern("L", idx);
    put_values("L", 1, 1, 0);
    put("D", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){3}, v, NULL, 0);
    put(vectors[k].name, H5T_NATIVE_DOUBLE, 2, (hsize_t[]){4, 3}, v, NULL, 0);
    refuse(sptrsm_file_factors_load(&F, file, NULL), SPTRSM_ERR_STRUCTURE, vectors[k].says);
  }
  sptrsm_file_block *X = NULL;
  remove(file);
  put("B", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){2, 3, 2}, v, NULL, 0);
  refuse(sptrsm_file_block_load(&X, file, 3, NULL), SPTRSM_ERR_STRUCTURE, "/B: is 2 x 3 x 2, the blocks of a batch, but one block");
}

/* ---- uniform ---- */

static void check_uniform(const sptrsm_file_batch *b, int64_t first, const char *what) {
  const double *L = b->values.L;
  cr_assert(b->kind == SPTRSM_BATCH_UNIFORM && b->values.L_stride == NNZ && b->items[0]->L_tri.n == ORDER && L != NULL, "%s", what);
  cr_assert(b->values.first == 0 && b->values.count == b->count && b->file_count == ITEMS && b->first == first, "%s", what);
  for (int64_t i = 0; i < b->count; i++)
    for (int p = 0; p < NNZ; p++) cr_assert(L[i * NNZ + p] == value(first + i, p), "%s: item %d, entry %d", what, (int)i, p);
}

Test(io_batch, a_uniform_batch_is_read_in_every_storage) {
  static const int64_t ranges[][2] = {{0, -1}, {1, 3}, {2, 2}, {3, 4}};
  for (int chunked = 0; chunked < 2; chunked++)
    for (int here = 0; here < 2; here++)
      for (int k = 0; k < 4; k++) {
        sptrsm_io_options o;
        sptrsm_io_options_init(&o);
        o.in_process = here;
        remove(file);
        put_pattern("L", idx);
        put_values("L", 2, ITEMS, chunked);
        sptrsm_file_batch *b = load("", ranges[k][0], ranges[k][1], &o);
        check_uniform(b, ranges[k][0], "plain");
        cr_assert(b->items[0]->single && b->count == (ranges[k][1] < 0 ? ITEMS : ranges[k][1] - ranges[k][0]));
        sptrsm_file_batch_free(b);
        b = load(":/L", ranges[k][0], ranges[k][1], &o);
        check_uniform(b, ranges[k][0], "by its path");
        sptrsm_file_batch_free(b);
      }
}

Test(io_batch, what_a_load_does_to_entries_is_done_to_all_items) {
  static const int32_t unsorted[NNZ] = {0, 1, 0, 2, 1}, outside[NNZ] = {0, 0, 2, 1, 2};
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  put_pattern("L", unsorted);
  put_values("L", 2, ITEMS, 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "row 1 is not sorted");
  o.tidy = 1;
  sptrsm_file_batch *b = load("", 1, -1, &o);
  for (int i = 0; i < 3; i++) {
    const double *v = (const double *)b->values.L + i * NNZ;
    cr_assert(v[1] == value(i + 1, 2) && v[2] == value(i + 1, 1) && v[3] == value(i + 1, 4) && v[4] == value(i + 1, 3));
  }
  sptrsm_file_batch_free(b);
  remove(file);
  o.tidy = 0, o.take_triangle = 1, o.unit = 1, o.uplo = SPTRSM_LOWER, o.dtype = SPTRSM_C64;
  put_pattern("L", outside); /* entry 2 lies above the diagonal */
  put_values("L", 2, ITEMS, 1);
  b = load("", 0, -1, &o);
  cr_assert(b->values.L_stride == NNZ - 1 && b->items[0]->L_tri.dtype == SPTRSM_C64);
  for (int i = 0; i < ITEMS; i++) {
    const float *v = (const float *)b->values.L + 2 * i * (NNZ - 1);
    cr_assert(v[2] == (float)value(i, 1) && v[4] == (float)value(i, 3) && v[5] == 0);
  }
  sptrsm_file_batch_free(b);
}

Test(io_batch, duplicates_are_refused) {
  static const int32_t twice[NNZ] = {0, 0, 0, 1, 2};
  sptrsm_io_options o;
  sptrsm_file_batch *b = NULL;
  sptrsm_io_options_init(&o);
  o.tidy = 1, o.unit = 1;
  put_pattern("L", twice);
  put_values("L", 2, ITEMS, 0);
  refuse(sptrsm_file_batch_load(&b, file, 0, -1, &o), SPTRSM_ERR_UNSUPPORTED,
         "/L: has 1 duplicate entries, which are not summed in a batch");
}

Test(io_batch, parts_are_shared_or_have_the_axis) {
  double D[ITEMS * ORDER], scale[ORDER] = {1, 2, 3};
  for (int q = 0; q < ITEMS * ORDER; q++) D[q] = q + 1;
  put_pattern("L", idx);
  put_values("L", 1, 1, 0);
  put("D", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, ORDER}, D, NULL, 0);
  put("D_sub", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, ORDER - 1}, D, NULL, 0);
  put("scale_row", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, scale, "C", 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "/scale_row: attribute op is missing");
  hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(f, "scale_row", H5P_DEFAULT);
  H5Fclose(f);
  sptrsm_file_batch *b = load("", 1, -1, NULL);
  const sptrsm_batch_values *v = &b->values;
  cr_assert(v->L == NULL && v->D_stride == ORDER && v->D_sub_stride == ORDER && v->count == 3);
  cr_assert(((const double *)v->D)[0] == ORDER + 1 && ((const double *)v->D)[ORDER] == 2 * ORDER + 1);
  cr_assert(((const double *)v->D_sub)[0] == ORDER && ((const double *)v->D_sub)[2] == 0 && ((const double *)v->D_sub)[ORDER] == 5);
  sptrsm_file_batch_free(b);
  put("U", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){1}, D, NULL, 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "/U: ");
}

Test(io_batch, counts_that_differ_are_refused) {
  static const double D[(ITEMS - 1) * ORDER] = {1};
  put_pattern("L", idx);
  put_values("L", 2, ITEMS, 0);
  put("D", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS - 1, ORDER}, D, NULL, 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "/D: is 3 x 3, but the batch has 4 items (L/data): store 4 x 3 values, or 3 ");
  refuse_batch("", 1, 5, SPTRSM_ERR_ARGUMENT, "items 1:5 asked for, but it has 4; choose within 0:4");
  refuse_batch("", 3, 2, SPTRSM_ERR_ARGUMENT, "items 3:2 asked for");
  refuse_batch("", -1, 2, SPTRSM_ERR_ARGUMENT, "items -1:2 asked for");
  static const int64_t perm[2 * ORDER] = {0, 1, 2};
  put("p", H5T_NATIVE_INT64, 2, (hsize_t[]){2, ORDER}, perm, NULL, 0);
  hid_t f = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(f, "D", H5P_DEFAULT);
  H5Fclose(f);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "/p: is 2 x 3, but one factor set of order 3 needs a vector of 3 values; items with perm");
}

Test(io_batch, a_bad_value_harms_its_item_alone) {
  double v[ITEMS * NNZ];
  for (int q = 0; q < ITEMS * NNZ; q++) v[q] = value(q / NNZ, q % NNZ);
  v[1 * NNZ + 2] = 0;   /* the diagonal of row 1 of item 1 */
  v[2 * NNZ + 4] = NAN; /* of row 2 of item 2 */
  put_pattern("L", idx);
  put("L/data", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, NNZ}, v, NULL, 0);
  sptrsm_file_batch *b = load("", 0, -1, NULL);
  sptrsm_context *context;
  sptrsm_batch *batch;
  OK(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  OK(sptrsm_batch_create_uniform(&batch, context, &b->items[0]->factors, &b->values, NULL));
  static const int32_t rows[ITEMS] = {-1, 1, 2, -1};
  for (int i = 0; i < ITEMS; i++) {
    sptrsm_item_status s;
    OK(sptrsm_batch_item(&s, batch, i));
    cr_assert(s.row == rows[i] && s.status == (rows[i] < 0 ? SPTRSM_OK : SPTRSM_ERR_SINGULAR), "item %d", i);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  sptrsm_file_batch_free(b);
}

/* ---- saved and read again ---- */

Test(io_batch, a_saved_uniform_batch_is_read_again) {
  for (sptrsm_dtype dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++)
    for (int compress = 0; compress < 2; compress++) {
      const size_t each = sptrsm_dtype_bytes(dtype), stride = NNZ + 2;
      char *val = calloc(ITEMS * stride, each);
      for (size_t q = 0; q < ITEMS * stride * (each / 4); q++)
        if (dtype == SPTRSM_F32 || dtype == SPTRSM_C64) ((float *)val)[q] = (float)q + 1;
        else if (q % 2 == 0) ((double *)val)[q / 2] = (double)q + 1;
      sptrsm_sparse L;
      sptrsm_factors f = a_set(&L, dtype, val);
      double scale[ITEMS * ORDER];
      for (int q = 0; q < ITEMS * ORDER; q++) scale[q] = q + 1;
      f.scale_row = scale;
      sptrsm_batch_values v;
      sptrsm_batch_values_init(&v);
      v.count = ITEMS, v.L = val, v.L_stride = (int64_t)stride, v.scale_row = scale, v.scale_row_stride = ORDER;
      sptrsm_save_options save;
      sptrsm_save_options_init(&save);
      save.force = 1, save.compress = compress, save.checksum = compress;
      OK(sptrsm_file_batch_save_uniform(file, &f, &v, &save));
      sptrsm_file_batch *b = load("", 1, -1, NULL);
      cr_assert(b->kind == SPTRSM_BATCH_UNIFORM && b->count == 3 && b->items[0]->L_tri.dtype == dtype && b->values.L_stride == NNZ);
      for (size_t i = 0; i < 3; i++)
        cr_assert(memcmp((const char *)b->values.L + i * NNZ * each, val + (i + 1) * stride * each, NNZ * each) == 0, "type %d", dtype);
      cr_assert(b->values.scale_row[ORDER] == scale[2 * ORDER]);
      sptrsm_file_batch_free(b);
      free(val);
    }
}

Test(io_batch, mixed_items_come_in_natural_order) {
  static const char *const names[] = {"item10", "item2", "item", "item1"}, *const order[] = {"item", "item1", "item2", "item10"};
  const double val[NNZ] = {1, 2, 3, 4, 5};
  sptrsm_sparse L;
  const sptrsm_factors f = a_set(&L, SPTRSM_F64, val), *const items[] = {&f, &f, &f, &f};
  const sptrsm_file_matrix *const A[4] = {NULL};
  OK(sptrsm_file_batch_save_mixed(file, 4, names, items, A, NULL, NULL));
  static const char *const paths[] = {"", ":/items", ":/items/*"};
  for (int k = 0; k < 3; k++) {
    sptrsm_file_batch *b = load(paths[k], 0, -1, NULL);
    cr_assert(b->kind == SPTRSM_BATCH_MIXED && b->count == 4 && b->values.L == NULL);
    for (int i = 0; i < 4; i++) {
      cr_assert_str_eq(b->names[i], order[i]);
      cr_assert(((const double *)b->items[i]->L_tri.val)[3] == 4 && b->items[i]->factors.u_kind == SPTRSM_U_IS_LT);
    }
    sptrsm_file_batch_free(b);
  }
  sptrsm_batch_kind kind;
  int64_t count;
  char where[96];
  snprintf(where, sizeof where, "%s:/items/item2", file);
  OK(sptrsm_file_batch_find(&kind, &count, where, NULL));
  cr_assert(kind == SPTRSM_BATCH_NONE);
  refuse_batch(":/items/item2", 0, -1, SPTRSM_ERR_STRUCTURE, "is no batch");
  sptrsm_file_batch *b = load("", 1, 3, NULL);
  cr_assert(b->count == 2 && strcmp(b->names[1], "item2") == 0);
  sptrsm_file_batch_free(b);
  put("items/item3/data", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){NNZ}, val, NULL, 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "/items/item3: neither a matrix nor a factor set");
}

Test(io_batch, types_of_mixed_items_meet_in_the_wider_and_kinds_must_agree) {
  put_pattern("items/a/L", idx), put_pattern("items/b/L", idx), put_pattern("items/c", idx);
  put_values("items/a/L", 1, 1, 0);
  static const float v[NNZ] = {1, 2, 3, 4, 5};
  put("items/b/L/data", H5T_NATIVE_FLOAT, 1, (hsize_t[]){NNZ}, v, NULL, 0);
  put_values("items/c", 1, 1, 0);
  sptrsm_file_batch *b = load("", 0, -1, NULL);
  for (int i = 0; i < 3; i++) cr_assert(b->items[i]->L_tri.dtype == SPTRSM_F64 && ((const double *)b->items[i]->L_tri.val)[4] == 5);
  sptrsm_file_batch_free(b);
  static const double D[ORDER] = {1, 2, 3};
  put("items/b/D", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, D, NULL, 0);
  refuse_batch("", 0, -1, SPTRSM_ERR_STRUCTURE, "item b is a factor set, but item a is one lower triangle");
}

/* ---- blocks ---- */

static double number(int64_t item, int64_t i, int64_t k) { return (double)(100 * item + 10 * i + k); }

static void put_blocks(const char *path, int f_order, int chunked) {
  double v[ITEMS * ORDER * 2];
  for (int b = 0; b < ITEMS; b++)
    for (int i = 0; i < ORDER; i++)
      for (int k = 0; k < 2; k++) v[b * ORDER * 2 + (f_order ? k * ORDER + i : i * 2 + k)] = number(b, i, k);
  put(path, H5T_NATIVE_DOUBLE, 3, f_order ? (hsize_t[]){ITEMS, 2, ORDER} : (hsize_t[]){ITEMS, ORDER, 2}, v, NULL, chunked);
}

static double element(const sptrsm_file_blocks *B, int64_t b, int64_t i, int64_t k) {
  const sptrsm_batch_block *X = &B->block;
  const int64_t ld = X->ld_of ? X->ld_of[b] : X->ld;
  const double *data = X->data_of ? X->data_of[b] : (const double *)X->data + b * X->stride;
  return data[X->layout == SPTRSM_ROW_MAJOR ? i * ld + k : i + k * ld];
}

static sptrsm_file_blocks *load_blocks(const char *path, const sptrsm_file_batch *batch, const sptrsm_io_options *o) {
  char where[96];
  sptrsm_file_blocks *B = NULL;
  snprintf(where, sizeof where, "%s%s", file, path);
  OK(sptrsm_file_blocks_load(&B, where, "B", batch, o));
  NOTHING_STAYS_OPEN(where);
  return B;
}

static void refuse_blocks(const char *path, const sptrsm_file_batch *batch, sptrsm_status want, const char *says) {
  char where[96];
  sptrsm_file_blocks *B = NULL;
  snprintf(where, sizeof where, "%s%s", file, path);
  refuse(sptrsm_file_blocks_load(&B, where, "B", batch, NULL), want, says);
}

Test(io_batch, an_array_of_blocks_is_read_in_both_orders_and_in_part) {
  for (int way = 0; way < 16; way++) {
    const int f_order = way & 1, chunked = way & 2, first = way & 4 ? 1 : 0, column = way & 8 ? 1 : 0;
    sptrsm_io_options o;
    sptrsm_io_options_init(&o);
    o.col_begin = column;
    remove(file);
    put_pattern("L", idx);
    put_values("L", 2, ITEMS, 0);
    put_blocks("B", f_order, chunked);
    sptrsm_file_batch *batch = load("", first, ITEMS - first, NULL);
    sptrsm_file_blocks *B = load_blocks("", batch, &o);
    cr_assert(B->block.layout == (f_order ? SPTRSM_COL_MAJOR : SPTRSM_ROW_MAJOR) && B->block.nrhs == 2 - column && B->file_nrhs == 2);
    cr_assert(B->count == ITEMS - 2 * first && B->block.stride == ORDER * (2 - column) && strcmp(B->path, "/B") == 0);
    for (int b = 0; b < B->count; b++)
      for (int i = 0; i < ORDER; i++)
        for (int k = column; k < 2; k++)
          cr_assert(element(B, b, i, k - column) == number(b + first, i, k), "way %d, item %d, (%d,%d): %g", way, b, i, k,
                    element(B, b, i, k - column));
    sptrsm_file_blocks_free(B);
    sptrsm_file_batch_free(batch);
  }
}

/* Parts of 1 MiB, which the child hands over, begin and end inside of items. */
Test(io_batch, a_large_array_comes_in_parts) {
  enum { LARGE = 50000, BLOCKS = 7 };
  int64_t *p = malloc((LARGE + 1) * sizeof *p);
  double *v = malloc(sizeof *v * BLOCKS * LARGE);
  for (int i = 0; i <= LARGE; i++) p[i] = 0;
  for (int q = 0; q < BLOCKS * LARGE; q++) v[q] = q;
  sptrsm_sparse L = {.n = LARGE, .dtype = SPTRSM_F64, .diag = SPTRSM_UNIT, .ptr = p};
  sptrsm_factors f;
  sptrsm_batch_values values;
  sptrsm_factors_init(&f);
  sptrsm_batch_values_init(&values);
  f.L = &L, f.u_kind = SPTRSM_U_IS_LT, values.count = BLOCKS;
  OK(sptrsm_file_batch_save_uniform(file, &f, &values, NULL));
  put("B", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){BLOCKS, LARGE, 1}, v, "C", 0);
  put("F", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){BLOCKS, 1, LARGE}, v, "F", 0);
  hid_t h = H5Fopen(file, H5F_ACC_RDWR, H5P_DEFAULT), create = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t dims[3] = {BLOCKS, LARGE, 1}, chunk[3] = {2, 30000, 1};
  hid_t space = H5Screate_simple(3, dims, NULL);
  hid_t d = H5Dcreate2(h, "turned", H5T_IEEE_F64BE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
  H5Dclose(d);
  H5Pset_chunk(create, 3, chunk);
  d = H5Dcreate2(h, "chunked", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
  H5Dclose(d), H5Sclose(space), H5Pclose(create), H5Fclose(h);
  static const char *const paths[] = {"", ":/F", ":/chunked", ":/turned"};
  for (int k = 0; k < 4; k++)
    for (int first = 0; first < 3; first++) {
      sptrsm_file_batch *batch = load("", first, -1, NULL);
      sptrsm_file_blocks *B = load_blocks(paths[k], batch, NULL);
      cr_assert(memcmp(B->block.data, v + first * LARGE, sizeof *v * LARGE * (size_t)(BLOCKS - first)) == 0, "%s from %d", paths[k], first);
      sptrsm_file_blocks_free(B);
      sptrsm_file_batch_free(batch);
    }
  free(p), free(v);
}

Test(io_batch, one_block_serves_all_items) {
  static const double v[ORDER * 2] = {1, 2, 3, 4, 5, 6};
  put_pattern("L", idx);
  put_values("L", 2, ITEMS, 0);
  put("B", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ORDER, 2}, v, NULL, 0);
  mark("B", "binsparse", "{}"); /* describes a group, not a dataset */
  put_pattern("sparse/B", idx);
  put_values("sparse/B", 1, 1, 0);
  sptrsm_file_batch *batch = load("", 0, -1, NULL);
  sptrsm_file_blocks *B = load_blocks("", batch, NULL);
  cr_assert(B->block.stride == 0 && B->block.nrhs == 2 && B->paths == NULL && element(B, 3, 2, 1) == 6);
  sptrsm_file_blocks_free(B);
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.dtype = SPTRSM_F32;
  B = load_blocks("", batch, &o);
  cr_assert(B->block.dtype == SPTRSM_F32 && ((float *)B->block.data)[5] == 6);
  sptrsm_file_blocks_free(B);
  static const char *const paths[] = {":/sparse/B", ":/sparse"}; /* the block, and the group that holds it */
  for (int k = 0; k < 2; k++) {
    B = load_blocks(paths[k], batch, NULL);
    cr_assert(B->block.stride == 0 && B->block.nrhs == ORDER && element(B, 1, 2, 2) == 5 && element(B, 1, 0, 2) == 0);
    cr_assert(strcmp(B->path, "/sparse/B") == 0 && strstr(B->where, ":/sparse/B") != NULL, "%s: %s", paths[k], B->where);
    sptrsm_file_blocks_free(B);
  }
  sptrsm_file_batch_free(batch);
}

Test(io_batch, one_block_with_as_many_columns_as_items_needs_a_hint) {
  static const double v[ITEMS * ORDER] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  put_pattern("L", idx);
  put_values("L", 2, ITEMS, 0);
  put("B", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, ORDER}, v, NULL, 0);
  put("hinted", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, ORDER}, v, "F", 0);
  put("matlab", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ITEMS, ORDER}, v, NULL, 0);
  mark("matlab", "MATLAB_class", "double");
  put("square", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ORDER, ORDER}, v, NULL, 0);
  for (int64_t end = ITEMS; end >= 2; end--) { /* all items, or those that were taken */
    sptrsm_file_batch *batch = load("", 0, end, NULL);
    refuse_blocks("", batch, SPTRSM_ERR_STRUCTURE, "one right-hand side for each of 4 items, or 4 for all; store 4 x 3 x 1");
    o.order = SPTRSM_COL_MAJOR;
    sptrsm_file_blocks *B = load_blocks("", batch, &o);
    cr_assert(B->block.stride == 0 && B->block.nrhs == ITEMS && element(B, 1, 2, 1) == 6);
    sptrsm_file_blocks_free(B);
    sptrsm_file_blocks_free(load_blocks(":/hinted", batch, NULL));
    sptrsm_file_blocks_free(load_blocks(":/matlab", batch, NULL));
    if (end == ORDER) refuse_blocks(":/square", batch, SPTRSM_ERR_STRUCTURE, "/square: is 3 x 3, which may be");
    sptrsm_file_batch_free(batch);
  }
}

Test(io_batch, blocks_in_groups_go_by_name) {
  static const double v[ORDER * 2] = {1, 2, 3, 4, 5, 6}, w[ORDER] = {7, 8, 9};
  static const char *const names[] = {"b", "a"};
  const double val[NNZ] = {1, 2, 3, 4, 5};
  sptrsm_sparse L;
  const sptrsm_factors f = a_set(&L, SPTRSM_F64, val), *const items[] = {&f, &f};
  OK(sptrsm_file_batch_save_mixed(file, 2, names, items, NULL, NULL, NULL));
  put("items/a/B", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, w, NULL, 0);
  sptrsm_file_batch *batch = load("", 0, -1, NULL);
  refuse_blocks("", batch, SPTRSM_ERR_IO, "/items/b/B: no such object");
  put("items/b/B", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ORDER, 2}, v, NULL, 0);
  put("rhs/b", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ORDER, 2}, v, NULL, 0);
  put("rhs/a", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ORDER, 1}, w, NULL, 0);
  static const char *const paths[] = {"", ":/rhs/*"};
  for (int k = 0; k < 2; k++) {
    sptrsm_file_blocks *B = load_blocks(paths[k], batch, NULL);
    cr_assert(B->members == !k && B->block.nrhs_of[0] == 1 && B->block.nrhs_of[1] == 2 && B->file_nrhs == 2);
    cr_assert(element(B, 0, 2, 0) == 9 && element(B, 1, 2, 1) == 6);
    cr_assert_str_eq(B->paths[1], k ? "/rhs/b" : "/items/b/B");
    sptrsm_file_blocks_free(B);
  }
  put("rhs/c", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, w, NULL, 0);
  refuse_blocks(":/rhs/*", batch, SPTRSM_ERR_STRUCTURE, "/rhs: has blocks for 3 items, but");
  put("other/a", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, w, NULL, 0);
  put("other/z", H5T_NATIVE_DOUBLE, 1, (hsize_t[]){ORDER}, w, NULL, 0);
  refuse_blocks(":/other/*", batch, SPTRSM_ERR_IO, "/other/b: no such object; there is a, z");
  refuse_blocks(":/other", batch, SPTRSM_ERR_STRUCTURE, "/other: holds no B and no group `items`");
  sptrsm_file_batch_free(batch);
}

Test(io_batch, wrong_blocks_are_refused) {
  put_pattern("L", idx);
  put_values("L", 2, ITEMS, 0);
  put("few", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){3, ORDER, 2}, NULL, NULL, 0);
  put("tall", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){ITEMS, 4, 2}, NULL, NULL, 0);
  put("four", H5T_NATIVE_DOUBLE, 4, (hsize_t[]){2, 2, 2, 2}, NULL, NULL, 0);
  sptrsm_file_batch *batch = load("", 0, -1, NULL);
  refuse_blocks(":/few", batch, SPTRSM_ERR_STRUCTURE, "/few: has blocks for 3 items, but");
  refuse_blocks(":/tall", batch, SPTRSM_ERR_STRUCTURE, "/tall: is 4 x 2, neither side is the order of the matrix, 3");
  refuse_blocks(":/four", batch, SPTRSM_ERR_STRUCTURE, "/four: is an array of more than three dimensions; a vector");
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.memory_limit = 300, o.col_end = 2;
  put_blocks("B", 0, 0);
  char where[96];
  sptrsm_file_blocks *B = NULL;
  snprintf(where, sizeof where, "%s", file);
  o.memory_limit = 100;
  refuse(sptrsm_file_blocks_load(&B, where, "B", batch, &o), SPTRSM_ERR_MEMORY, "take fewer items (--items) or columns (--cols)");
  o.memory_limit = 0, o.col_end = 3;
  refuse(sptrsm_file_blocks_load(&B, where, "B", batch, &o), SPTRSM_ERR_ARGUMENT, "/B: columns 0:3 asked for, but it has 2");
  sptrsm_file_batch_free(batch);
}

/* ---- the edges ---- */

Test(io_batch, batches_of_nothing) {
  const double val[NNZ] = {1, 2, 3, 4, 5};
  static const int64_t no_rows[1];
  sptrsm_sparse L, none = {.dtype = SPTRSM_F64, .ptr = no_rows};
  sptrsm_factors f = a_set(&L, SPTRSM_F64, val);
  sptrsm_batch_values v;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = 1;
  sptrsm_batch_values_init(&v);
  v.L = val, v.L_stride = NNZ;
  for (int k = 0; k < 3; k++) { /* no items; items of order 0; a group without items */
    if (k == 1) f.L = &none, v.count = 3, v.L = NULL, v.L_stride = 0;
    if (k < 2) OK(sptrsm_file_batch_save_uniform(file, &f, &v, &save));
    else OK(sptrsm_file_batch_save_mixed(file, 0, NULL, NULL, NULL, NULL, &save));
    put("B", H5T_NATIVE_DOUBLE, 3, (hsize_t[]){(hsize_t)(k == 1 ? 3 : 0), (hsize_t)(k == 1 ? 0 : ORDER), 2}, NULL, "C", 0);
    sptrsm_file_batch *b = load("", 0, -1, NULL);
    cr_assert(b->count == (k == 1 ? 3 : 0) && b->kind == (k < 2 ? SPTRSM_BATCH_UNIFORM : SPTRSM_BATCH_MIXED));
    sptrsm_file_blocks *B = load_blocks("", b, NULL);
    cr_assert(B->count == b->count && B->block.nrhs == 2);
    sptrsm_file_blocks_free(B);
    sptrsm_file_batch_free(b);
  }
}

Test(io_batch, solutions_are_written_as_an_array_and_in_groups) {
  double data[2 * ORDER * 2], berr[4] = {1, 2, 3, 4};
  for (int q = 0; q < 2 * ORDER * 2; q++) data[q] = q;
  static const int32_t n[2] = {ORDER, ORDER};
  static const char *const paths[2] = {"/items/a/X", "/items/b/X"};
  const sptrsm_item_status status[2] = {{SPTRSM_OK, -1}, {SPTRSM_ERR_SINGULAR, 2}};
  sptrsm_batch_block X;
  sptrsm_save_options save;
  sptrsm_batch_block_init(&X);
  sptrsm_save_options_init(&save);
  X.data = data, X.stride = ORDER * 2, X.ld = X.nrhs = 2;
  sptrsm_file_batch_solution s = {.size = sizeof s, .count = 2, .first = 5, .n = n, .X = &X, .status = status, .berr = berr};
  for (int k = 0; k < 4; k++) {
    const int groups = k & 1;
    s.paths = groups ? paths : NULL;
    save.force = 1, save.compress = k / 2, save.report = "{}";
    OK(sptrsm_file_batch_solution_save(file, &s, &save));
    hid_t f = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, groups ? "/items/b/X" : "X", H5P_DEFAULT);
    double read[2 * ORDER * 2] = {0};
    int32_t number = 0, numbers[2] = {9, 9};
    cr_assert(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
    cr_assert(memcmp(read, groups ? data + ORDER * 2 : data, (groups ? 1 : 2) * ORDER * 2 * sizeof *data) == 0);
    hid_t a = groups ? H5Aopen(d, "row", H5P_DEFAULT) : H5Dopen2(f, "row", H5P_DEFAULT);
    if (groups) H5Aread(a, H5T_NATIVE_INT32, &number), H5Aclose(a), numbers[1] = number;
    else H5Dread(a, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers), H5Dclose(a);
    cr_assert(numbers[1] == 2, "way %d: row %d", k, numbers[1]);
    a = H5Dopen2(f, groups ? "/items/b/berr" : "berr", H5P_DEFAULT);
    cr_assert(H5Dread(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0 && read[groups ? 1 : 3] == 4);
    H5Dclose(a), H5Dclose(d), H5Fclose(f);
  }
  X.stride++;
  s.paths = NULL;
  refuse(sptrsm_file_batch_solution_save(file, &s, &save), SPTRSM_ERR_ARGUMENT, "an array takes blocks of one shape");
  cr_assert(count_files() == 1);
}
