/* save_block.c -- writes dense blocks: a solution, or several blocks in one file.
 *
 * C order: dimensions n x nrhs, chunks of 4096 rows and 64 columns. F order: dimensions reversed, chunks of 16 columns and 16384 rows.
 * The block is packed and written chunk by chunk, so any ld and any change of order need memory for one chunk only.
 */
#include "io/write/write.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 4096, CHUNK_COLS = 64, PANEL_COLS = 16, PANEL_ROWS = 16384 };

typedef struct { /* the block in the order of the file: element (a,b) is at data + (a * step_a + b * step_b) * each */
  hsize_t dims[2], chunk[2];
  size_t step_a, step_b, each;
  const char *data;
} file_view;

static hsize_t smaller(hsize_t a, hsize_t b) { return a < b ? a : b; }

static file_view view_block(const sptrsm_block *X, sptrsm_layout layout) {
  hsize_t n = (hsize_t)X->n, nrhs = (hsize_t)X->nrhs;
  size_t ld = (size_t)X->ld, step_row = X->layout == SPTRSM_ROW_MAJOR ? ld : 1, step_col = X->layout == SPTRSM_ROW_MAJOR ? 1 : ld;
  file_view v = {.each = sptrsm_dtype_bytes(X->dtype), .data = X->data};
  if (layout == SPTRSM_ROW_MAJOR) {
    v.dims[0] = n, v.dims[1] = nrhs, v.step_a = step_row, v.step_b = step_col;
    v.chunk[0] = smaller(n, CHUNK_ROWS), v.chunk[1] = smaller(nrhs, CHUNK_COLS);
  } else {
    v.dims[0] = nrhs, v.dims[1] = n, v.step_a = step_col, v.step_b = step_row;
    v.chunk[0] = smaller(nrhs, PANEL_COLS), v.chunk[1] = smaller(n, PANEL_ROWS);
  }
  return v;
}

/* Copies the tile of count[0] x count[1] elements at `start` into out, densely. */
static void pack_tile(char *out, const file_view *v, const hsize_t start[2], const hsize_t count[2]) {
  for (hsize_t a = 0; a < count[0]; a++) {
    const char *from = v->data + ((start[0] + a) * v->step_a + start[1] * v->step_b) * v->each;
    if (v->step_b == 1) {
      memcpy(out, from, count[1] * v->each);
      out += count[1] * v->each;
      continue;
    }
    for (hsize_t b = 0; b < count[1]; b++, out += v->each) memcpy(out, from + b * v->step_b * v->each, v->each);
  }
}

spti_io_array spti_io_block_array(const char *name, const sptrsm_block *X, sptrsm_layout layout, int64_t step) {
  file_view v = view_block(X, layout);
  int column = layout == SPTRSM_ROW_MAJOR ? 1 : 0; /* the dimension of the columns */
  v.chunk[column] = smaller(v.chunk[column], (hsize_t)step);
  return (spti_io_array){.name = name, .type = -1, .rank = 2, .dims = {v.dims[0], v.dims[1]}, .chunk = {v.chunk[0], v.chunk[1]}};
}

static bool write_tile(const spti_io_target *to, const char *tile, const hsize_t start[2], const hsize_t count[2]) {
  hid_t file = H5Dget_space(to->id), memory = H5Screate_simple(2, count, NULL);
  bool good = file >= 0 && memory >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dwrite(to->id, to->type, memory, file, H5P_DEFAULT, tile) >= 0;
  if (file >= 0) H5Sclose(file);
  if (memory >= 0) H5Sclose(memory);
  return good;
}

sptrsm_status spti_io_write_columns(const spti_io_target *to, const sptrsm_block *X, int64_t first) {
  file_view view = view_block(X, to->layout), *v = &view;
  int column = to->layout == SPTRSM_ROW_MAJOR ? 1 : 0; /* the dimension of the columns */
  char *tile;
  SPTI_IO_TRY(spti_io_allocate(&tile, to->where, v->chunk[0] * v->chunk[1] * v->each));
  bool good = true;
  for (hsize_t a = 0; a < v->dims[0] && v->dims[1] > 0 && good; a += v->chunk[0])
    for (hsize_t b = 0; b < v->dims[1] && good; b += v->chunk[1]) {
      hsize_t start[2] = {a, b}, count[2] = {smaller(v->chunk[0], v->dims[0] - a), smaller(v->chunk[1], v->dims[1] - b)};
      pack_tile(tile, v, start, count);
      start[column] += (hsize_t)first;
      good = write_tile(to, tile, start, count) && spti_io_driver_error() == 0;
    }
  free(tile);
  return good ? SPTRSM_OK : spti_io_write_failed(to->where, to->name);
}

sptrsm_status spti_io_check_block(const sptrsm_block *X, const char *name) {
  if (X == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: the block is NULL", name);
  if (X->place != SPTRSM_HOST)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: the block is in device memory; copy it to the host first", name);
  if (X->n < 0 || X->nrhs < 0 || sptrsm_dtype_bytes(X->dtype) == 0)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: the block has a negative size or an unknown dtype", name);
  int64_t least = X->layout == SPTRSM_ROW_MAJOR ? X->nrhs : X->n;
  if (X->ld < least)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: ld is %lld, must be at least %lld", name, (long long)X->ld, (long long)least);
  if (X->data == NULL && X->n > 0 && X->nrhs > 0) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: the block has no data", name);
  return SPTRSM_OK;
}

sptrsm_status spti_io_write_block(spti_io_output *out, const char *name, const sptrsm_block *X, const sptrsm_save_options *o,
                                  const char *report) {
  sptrsm_layout layout = o->layout == SPTRSM_AS_STORED ? X->layout : (sptrsm_layout)o->layout;
  hid_t type, dataset;
  SPTI_IO_TRY(spti_io_value_type(&type, X->dtype, out->final));
  spti_io_array array = spti_io_block_array(name, X, layout, X->nrhs);
  array.type = type;
  sptrsm_status status = spti_io_create_array(&dataset, out->id, &array, o, out->final);
  if (status == SPTRSM_OK) {
    spti_io_target target = {.id = dataset, .type = type, .layout = layout, .where = out->final, .name = name};
    status = spti_io_write_columns(&target, X, 0);
    if (status == SPTRSM_OK) status = spti_io_write_text(dataset, "order", layout == SPTRSM_ROW_MAJOR ? "C" : "F", out->final);
    if (status == SPTRSM_OK && report != NULL) status = spti_io_write_text(dataset, "sptrsm_report", report, out->final);
    if (H5Dclose(dataset) < 0 && status == SPTRSM_OK) status = spti_io_write_failed(out->final, name);
  }
  H5Tclose(type);
  return status;
}

sptrsm_status spti_io_beside(char **out, const char *path, const char *name, const char *where) {
  const char *slash = strrchr(path, '/');
  SPTI_IO_TRY(spti_io_allocate(out, where, strlen(path) + strlen(name) + 1));
  size_t folder = slash != NULL ? (size_t)(slash + 1 - path) : 0;
  memcpy(*out, path, folder);
  strcpy(*out + folder, name);
  return SPTRSM_OK;
}

sptrsm_status spti_io_write_beside(spti_io_output *out, const char *path, const spti_io_array *array, const void *data,
                                   const sptrsm_save_options *o) {
  spti_io_array beside = *array;
  char *full;
  SPTI_IO_TRY(spti_io_beside(&full, path, array->name, out->final));
  beside.name = full;
  sptrsm_status status = spti_io_write_array(out->id, &beside, data, o, out->final);
  free(full);
  return status;
}

sptrsm_status spti_io_output_finish(spti_io_output *out, sptrsm_status status) {
  if (status == SPTRSM_OK) return spti_io_output_commit(out);
  spti_io_output_discard(out);
  return status;
}

sptrsm_status sptrsm_file_solution_save(const char *path, const sptrsm_block *X, const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  const char *name = o->path != NULL ? o->path : "X";
  SPTI_IO_TRY(spti_io_check_block(X, "X"));
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  spti_io_array berr = spti_io_vector("berr", H5T_NATIVE_DOUBLE, X->nrhs), ferr = spti_io_vector("ferr", H5T_NATIVE_DOUBLE, X->nrhs);
  spti_io_array rows = spti_io_vector("rows", H5T_NATIVE_INT32, X->n);
  sptrsm_status status = spti_io_write_block(&out, name, X, o, o->report);
  if (status == SPTRSM_OK && o->berr != NULL) status = spti_io_write_beside(&out, name, &berr, o->berr, o);
  if (status == SPTRSM_OK && o->ferr != NULL) status = spti_io_write_beside(&out, name, &ferr, o->ferr, o);
  if (status == SPTRSM_OK && o->rows != NULL) status = spti_io_write_beside(&out, name, &rows, o->rows, o);
  return spti_io_output_finish(&out, status);
}

sptrsm_status sptrsm_file_blocks_save(const char *path, int count, const char *const names[], const sptrsm_block *const blocks[],
                                      const sptrsm_save_options *o) {
  sptrsm_save_options taken;
  spti_io_output out;
  SPTI_IO_TRY(spti_io_take_save_options(&taken, &o));
  if (count < 0 || (count > 0 && (names == NULL || blocks == NULL)))
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_blocks_save: no names or no blocks");
  for (int k = 0; k < count; k++) {
    if (names[k] == NULL || names[k][0] == '\0')
      return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_blocks_save: block %d has no name", k);
    SPTI_IO_TRY(spti_io_check_block(blocks[k], names[k]));
  }
  SPTI_IO_TRY(spti_io_output_begin(&out, path, o));
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < count && status == SPTRSM_OK; k++) status = spti_io_write_block(&out, names[k], blocks[k], o, NULL);
  return spti_io_output_finish(&out, status);
}
