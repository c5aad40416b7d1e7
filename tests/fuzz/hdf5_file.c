/* hdf5_file.c -- see hdf5_file.h. What HDF5 refuses to write is left out. */
#include "hdf5_file.h"

#include <string.h>

enum { NUMBERS = 64, CLOSE_MAX = 8 };

void fuzz_hdf5_start(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5set_free_list_limits(-1, -1, -1, -1, -1, -1); /* fresh memory for each open file would be most of the time */
}

hid_t fuzz_hdf5_create(void) {
  fuzz_hdf5_start();
  hid_t file = H5Fcreate(fuzz_file(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  FUZZ_CHECK(file >= 0, "HDF5 can't write to memory");
  return file;
}

const char *fuzz_hdf5_name(fuzz_bytes *in) {
  static const char *const names[] = {
      "L",        "U",        "A",      "B",      "M",         "D",         "D_sub",     "data",          "indices", "indptr", "row",
      "col",      "shape",    "format", "values", "indices_0", "ir",        "indices_1", "pointers_to_1", "jc",      "perm_r", "perm_c",
      "perm_row", "perm_col", "p",      "q",      "scale_row", "scale_col", "Rs",        "do_recip",      "P",       "X"};
  return names[fuzz_below(in, sizeof names / sizeof *names)];
}

void fuzz_hdf5_text(hid_t object, const char *name, const char *text, int as_array) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, as_array ? strlen(text) + 1 : H5T_VARIABLE);
  hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute >= 0) H5Awrite(attribute, type, as_array ? (const void *)text : &text);
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

static void write_numbers(hid_t group, const char *name, hid_t stored, hid_t memory, hsize_t count, const void *data) {
  hid_t space = H5Screate_simple(1, &count, NULL), d = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (d >= 0 && count > 0) H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  if (d >= 0) H5Dclose(d);
  H5Sclose(space);
}

static void write_integers(hid_t object, const char *name, hsize_t count, const int64_t *numbers) {
  hid_t space = H5Screate_simple(1, &count, NULL);
  hid_t attribute = H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute >= 0) H5Awrite(attribute, H5T_NATIVE_INT64, numbers);
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
}

/* ---- whole objects ---- */

void fuzz_hdf5_triangle(hid_t group, const char *name, fuzz_bytes *in) {
  static const char *const arrays[][3] = {
      {"indptr", "indices", "data"}, {"jc", "ir", "data"}, {"row", "col", "data"}, {"pointers_to_1", "indices_1", "values"}};
  const int form = fuzz_below(in, 4), n = 1 + fuzz_below(in, 6), upper = fuzz_below(in, 2), said = fuzz_below(in, 4);
  int64_t ptr[8] = {0}, idx[NUMBERS], row[NUMBERS], count = 0;
  double val[NUMBERS];
  char json[320];
  hid_t g = H5Gcreate2(group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (g < 0) return;
  for (int i = 0; i < n; ptr[++i] = count)
    for (int j = upper ? i : 0, pattern = fuzz_below(in, 256); j < (upper ? n : i + 1); j++)
      if (i == j || pattern >> j & 1) row[count] = i, idx[count] = j, val[count++] = fuzz_value(in);
  for (int i = 0; i < n; i++) val[upper ? ptr[i] : ptr[i + 1] - 1] += 0.5;
  if (form == 2) write_numbers(g, "row", H5T_STD_I32LE, H5T_NATIVE_INT64, (hsize_t)count, row);
  else write_numbers(g, arrays[form][0], H5T_STD_I64LE, H5T_NATIVE_INT64, (hsize_t)n + 1, ptr);
  write_numbers(g, arrays[form][1], H5T_STD_I32LE, H5T_NATIVE_INT64, (hsize_t)count, idx);
  write_numbers(g, arrays[form][2], said & 2 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, (hsize_t)count, val);
  snprintf(json, sizeof json,
           "{\"binsparse\":{\"version\":\"0.1\",\"format\":\"CS%c\",\"shape\":[%d,%d],\"number_of_stored_values\":%d,"
           "\"data_types\":{\"values\":\"float64\"}%s}}",
           said & 1 ? 'R' : 'C', n, n, (int)count, said == 3 ? ",\"structure\":\"symmetric_lower\"" : "");
  if (form == 3) fuzz_hdf5_text(g, "binsparse", json, said & 1);
  if (form == 1) write_integers(g, "MATLAB_sparse", 1, (int64_t[]){n});
  if (form == 0 && said) fuzz_hdf5_text(g, said == 1 ? "format" : "encoding-type", said == 3 ? "csr_matrix" : "csc_matrix", 0);
  if (form == 2 && said) write_integers(g, "shape", 2, (int64_t[]){n, n});
  H5Gclose(g);
}

static void write_block(hid_t group, const char *name, fuzz_bytes *in) {
  const hsize_t dims[2] = {1 + (hsize_t)fuzz_below(in, 8), 1 + (hsize_t)fuzz_below(in, 8)};
  const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_I16LE, H5T_IEEE_F32LE};
  const int layout = fuzz_below(in, 4);
  double val[NUMBERS];
  hid_t space = H5Screate_simple(layout == 3 ? 1 : 2, dims, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
  for (int k = 0; k < NUMBERS; k++) val[k] = fuzz_value(in);
  if (layout == 1 || layout == 2) H5Pset_chunk(create, 2, (hsize_t[]){2, 3});
  if (layout == 2) H5Pset_shuffle(create), H5Pset_deflate(create, 1), H5Pset_fletcher32(create);
  hid_t d = H5Dcreate2(group, name, types[fuzz_below(in, 4)], space, H5P_DEFAULT, create, H5P_DEFAULT);
  if (d >= 0) H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, val);
  if (d >= 0 && fuzz_below(in, 3) == 2) fuzz_hdf5_text(d, "order", fuzz_below(in, 2) ? "F" : "C", 1);
  if (d >= 0) H5Dclose(d);
  H5Pclose(create);
  H5Sclose(space);
}

/* A permutation of 0..n-1 or 1..n, or nearly one, or scalings. */
static void write_vector(hid_t group, const char *name, fuzz_bytes *in) {
  const int n = 1 + fuzz_below(in, 6), base = fuzz_below(in, 2), step = 1 + fuzz_below(in, n), as_values = fuzz_below(in, 4) == 3;
  double val[NUMBERS];
  for (int k = 0; k < n; k++) val[k] = as_values ? fuzz_value(in) : base + (k * step + 1) % n;
  write_numbers(group, name, fuzz_below(in, 3) ? H5T_STD_I64LE : H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, (hsize_t)n, val);
  hid_t d = H5Dopen2(group, name, H5P_DEFAULT);
  if (d < 0) return;
  if (fuzz_below(in, 2)) fuzz_hdf5_text(d, "convention", fuzz_below(in, 2) ? "gather" : "scatter", 0);
  if (fuzz_below(in, 2)) fuzz_hdf5_text(d, "op", fuzz_below(in, 2) ? "multiply" : "divide", 1);
  H5Dclose(d);
}

/* ---- single parts, sound or not ---- */

static hid_t number_type(fuzz_bytes *in) {
  const hid_t types[] = {H5T_STD_I64LE,  H5T_STD_I32LE,  H5T_STD_U8LE, H5T_STD_U64BE, H5T_STD_I16BE,
                         H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_C_S1,     H5T_STD_B8LE};
  const int choice = fuzz_below(in, 12);
  if (choice < 9) return H5Tcopy(types[choice]);
  hid_t type = H5Tcreate(H5T_COMPOUND, 16), part = choice == 11 ? H5T_STD_I32LE : H5T_IEEE_F64LE;
  H5Tinsert(type, choice == 10 ? "real" : "r", 0, part);
  H5Tinsert(type, choice == 10 ? "imag" : "i", 8, part);
  return type;
}

static void write_dataset(hid_t group, const char *name, fuzz_bytes *in) {
  const hsize_t large[] = {1, 5, 1000, 1 << 20, (hsize_t)1 << 31, (hsize_t)1 << 40};
  hsize_t dims[3], chunk[3];
  const int rank = fuzz_below(in, 4), chunked = fuzz_below(in, 4), fill = fuzz_below(in, 8);
  unsigned char data[NUMBERS * 16];
  int64_t count = 1;
  for (int k = 0; k < rank; k++) dims[k] = fuzz_below(in, 9), dims[k] = dims[k] == 8 ? large[fuzz_below(in, 6)] : dims[k];
  for (int k = 0; k < rank; k++)
    count = count > NUMBERS || dims[k] > NUMBERS ? NUMBERS + 1 : count * (int64_t)dims[k],
    chunk[k] = dims[k] && dims[k] < 1000 ? dims[k] : 100;
  hid_t type = number_type(in), space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR),
        create = H5Pcreate(H5P_DATASET_CREATE);
  if (chunked && rank) H5Pset_chunk(create, rank, chunk);
  if (chunked == 2 && rank) H5Pset_deflate(create, 1);
  if (fill == 7) H5Pset_fill_value(create, H5T_NATIVE_INT32, &(int32_t){fuzz_below(in, 256) - 3});
  if (fill == 6) H5Pset_external(create, "/nowhere/fuzz.bin", 0, H5F_UNLIMITED);
  hid_t d = H5Dcreate2(group, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
  for (size_t k = 0; k < sizeof data; k++) data[k] = (unsigned char)(k % 8 ? 0 : fuzz_below(in, 256));
  if (d >= 0 && count <= NUMBERS && fill < 5) H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  if (d >= 0) H5Dclose(d);
  H5Pclose(create);
  H5Sclose(space);
  H5Tclose(type);
}

static void write_attribute(hid_t object, fuzz_bytes *in) {
  static const char *const names[] = {"binsparse",      "sptrsm",        "shape",        "format",  "encoding-type", "h5sparse_format",
                                      "h5sparse_shape", "MATLAB_sparse", "MATLAB_class", "order",   "convention",    "op",
                                      "upper",          "hermitian",     "grid",         "stencil", "source",        "sptrsm_layout"};
  static const char *const texts[] = {"csr",
                                      "csc_matrix",
                                      "gather",
                                      "scatter",
                                      "multiply",
                                      "divide",
                                      "C",
                                      "F",
                                      "none",
                                      "transpose",
                                      "conjugate-transpose",
                                      "double",
                                      "D3N7",
                                      "{\"uplo\":\"lower\",\"diag\":\"unit\"}",
                                      "{\"diag\":\"unit-implicit\"}"};
  const char *name = names[fuzz_below(in, sizeof names / sizeof *names)];
  int64_t numbers[4];
  char text[96];
  const int kind = fuzz_below(in, 4);
  if (kind == 0) fuzz_hdf5_text(object, name, texts[fuzz_below(in, sizeof texts / sizeof *texts)], fuzz_below(in, 2));
  if (kind == 1) fuzz_text(in, text, sizeof text), fuzz_hdf5_text(object, name, text, fuzz_below(in, 2));
  for (int k = 0; k < 4; k++)
    numbers[k] = kind == 2 ? fuzz_below(in, 10) - 1 : kind == 3 ? (int64_t)((uint64_t)fuzz_below(in, 256) << fuzz_below(in, 60)) : 0;
  if (kind >= 2) write_integers(object, name, (hsize_t)fuzz_below(in, 5), numbers);
}

static void write_link(hid_t group, const char *name, fuzz_bytes *in) {
  const char *to = fuzz_hdf5_name(in);
  switch (fuzz_below(in, 4)) {
  case 0: H5Lcreate_soft(to, group, name, H5P_DEFAULT, H5P_DEFAULT); break;
  case 1: H5Lcreate_soft("/", group, name, H5P_DEFAULT, H5P_DEFAULT); break;
  case 2: H5Lcreate_hard(group, to, group, name, H5P_DEFAULT, H5P_DEFAULT); break;
  default: H5Lcreate_external(fuzz_file(), to, group, name, H5P_DEFAULT, H5P_DEFAULT);
  }
}

void fuzz_hdf5_fill(hid_t file, fuzz_bytes *in) {
  hid_t open[CLOSE_MAX] = {file};
  int depth = 0;
  for (int commands = 0; in->left > 0 && commands < 24; commands++) {
    const int command = fuzz_below(in, 10);
    const char *name = fuzz_hdf5_name(in);
    hid_t at = open[depth], next;
    switch (command) {
    case 0:
      next = depth + 1 < CLOSE_MAX ? H5Oopen(at, name, H5P_DEFAULT) : -1;
      if (next < 0 && depth + 1 < CLOSE_MAX) next = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      if (next >= 0) open[++depth] = next;
      break;
    case 1:
      if (depth > 0) H5Oclose(open[depth--]);
      break;
    case 2: write_dataset(at, name, in); break;
    case 3:
    case 4: write_attribute(at, in); break;
    case 5: write_link(at, name, in); break;
    case 6:
    case 7: fuzz_hdf5_triangle(at, name, in); break;
    case 8: write_block(at, name, in); break;
    default: write_vector(at, name, in);
    }
  }
  while (depth > 0) H5Oclose(open[depth--]);
}
