/* numbers.c -- reads the numbers of a dataset: from their place in the file, or through HDF5 in parts.
 *
 * Numbers that lie in the file exactly as they would in memory are read by this process. HDF5 reads all others (chunks, filters,
 * conversions, external or unallocated storage, other file drivers): in a child in parts that fit its window, two of which take turns.
 * Parts follow the chunks, so that a chunk is decompressed once, and touch few of them, because a part that ends is progress.
 * HDF5 clips integers that do not fit: an index beyond 32 bits becomes INT32_MAX, which is no index of a matrix (order <= INT32_MAX) and
 * therefore fails the range check of the caller.
 */
#include "io/file/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_integer(int as) { return as == SPTI_AS_I32 || as == SPTI_AS_I64; }

/* Bytes in memory of one stored number: of half a complex number where those are stored as pairs. */
static size_t bytes_of(const spti_io_dataset *d, int as) {
  if (is_integer(as)) return as == SPTI_AS_I32 ? sizeof(int32_t) : sizeof(int64_t);
  return sptrsm_dtype_bytes((sptrsm_dtype)as) / (d->pairs ? 2 : 1);
}

/* The caller closes it; -1 on failure. */
static hid_t memory_type(const spti_io_dataset *d, int as) {
  if (is_integer(as)) return H5Tcopy(as == SPTI_AS_I32 ? H5T_NATIVE_INT32 : H5T_NATIVE_INT64);
  return spti_io_memory_type(&d->number, (sptrsm_dtype)as);
}

static sptrsm_status unreadable(const spti_io_dataset *d) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: can't be read: damaged data, a checksum mismatch, or not enough memory", d->where);
}

/* ---- where the numbers lie ---- */

/* The file descriptor, if HDF5 reads the file by its plain driver (sec2); -1: by another driver. It stays HDF5's. */
static int descriptor(hid_t file) {
  void *handle = NULL;
  hid_t access = H5Fget_access_plist(file);
  bool plain = access >= 0 && H5Pget_driver(access) == H5FD_SEC2;
  if (access >= 0) H5Pclose(access);
  return plain && H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle != NULL ? *(const int *)handle : -1;
}

static bool as_in_memory(const spti_io_dataset *d, int as) {
  bool is_complex = d->pairs || d->number.is_complex, fits = d->number.is_integer == is_integer(as);
  if (!fits || (!is_integer(as) && spti_is_complex((sptrsm_dtype)as) != is_complex)) return false;
  hid_t stored = H5Dget_type(d->id), wanted = memory_type(d, as);
  bool same = stored >= 0 && wanted >= 0 && H5Tequal(stored, wanted) > 0;
  if (stored >= 0) H5Tclose(stored);
  if (wanted >= 0) H5Tclose(wanted);
  return same;
}

static void find_place(spti_io_place *p, const spti_io_dataset *d, int as, const spti_io_file *f) {
  hid_t file = H5Iget_file_id(d->id), plist = H5Dget_create_plist(d->id);
  H5D_layout_t layout = plist >= 0 ? H5Pget_layout(plist) : H5D_LAYOUT_ERROR;
  bool raw = layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) != 0;
  struct stat s = {0};
  *p = (spti_io_place){.fd = file >= 0 ? descriptor(file) : -1, .at = -1};
  p->external = p->fd < 0 || p->fd != descriptor(f->id) || layout == H5D_VIRTUAL || layout == H5D_LAYOUT_ERROR || raw;
  bool known = p->fd >= 0 && fstat(p->fd, &s) == 0;
  p->device = s.st_dev;
  p->inode = s.st_ino;
  if (known && layout == H5D_CONTIGUOUS && !raw && as_in_memory(d, as)) {
    haddr_t at = H5Dget_offset(d->id);
    size_t bytes = spti_io_bytes(d->count, bytes_of(d, as));
    if (at != HADDR_UNDEF && at <= INT64_MAX && bytes <= INT64_MAX - at && at + bytes <= (haddr_t)s.st_size) p->at = (off_t)at;
  }
  if (plist >= 0) H5Pclose(plist);
  if (file >= 0) H5Fclose(file);
}

static sptrsm_status place_job(spti_io_call *c, spti_io_file *f) {
  find_place(&c->place, &c->dataset, c->as, f);
  return SPTRSM_OK;
}

/* Opens the child's file once more. -1 without /proc, or with one that shows other processes under the same numbers. */
static int open_again(const spti_io_file *f, const spti_io_place *p) {
  char path[64];
  struct stat s;
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)spti_io_child_id(f), p->fd);
  int fd = p->fd >= 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0 || (fstat(fd, &s) == 0 && s.st_dev == p->device && s.st_ino == p->inode)) return fd;
  close(fd);
  return -1;
}

void spti_io_find_place(spti_io_place *p, const spti_io_dataset *d, int as) {
  if (d->file->child == NULL) {
    find_place(p, d, as, d->file);
    p->fd = p->fd >= 0 ? fcntl(p->fd, F_DUPFD_CLOEXEC, 3) : -1;
  } else {
    spti_io_call *c = spti_io_call_dataset(d, 0);
    c->job = place_job;
    c->as = as;
    *p = (spti_io_place){.fd = -1, .at = -1, .external = true};
    if (spti_io_call_run(c, d->file) != SPTRSM_OK) return;
    *p = c->place;
    p->fd = open_again(d->file, p);
  }
}

/* ---- through HDF5 ---- */

/* Adds the rows [first, first + rows) of the joined axes to a selection of rank 3; they lie in one item, or are all rows of some. */
static bool add_rows(hid_t space, H5S_seloper_t how, const spti_io_dataset *d, const spti_io_slab *slab, hsize_t first, hsize_t rows) {
  const hsize_t height = (hsize_t)d->axes[1], items = rows > height ? rows / height : 1;
  const hsize_t start[3] = {first / height, first % height, slab->start[1]}, stride[3] = {1, 1, slab->stride[1]};
  const hsize_t blocks[3] = {1, 1, slab->blocks[1]}, size[3] = {items, rows / items, slab->size[1]};
  return rows == 0 || H5Sselect_hyperslab(space, how, start, stride, blocks, size) >= 0;
}

/* Selects in a dataset of rank 3: the same rows of several items, or one block of rows, which is cut into the rest of an item, whole items,
 * and the begin of another one. */
static bool select_joined(hid_t space, const spti_io_dataset *d, const spti_io_slab *slab) {
  const hsize_t height = (hsize_t)d->axes[1], first = slab->start[0], rows = slab->size[0];
  if (height == 0) return false;
  if (slab->blocks[0] > 1) {
    const hsize_t start[3] = {first / height, first % height, slab->start[1]}, stride[3] = {1, 1, slab->stride[1]};
    const hsize_t blocks[3] = {slab->blocks[0], 1, slab->blocks[1]}, size[3] = {1, rows, slab->size[1]};
    return slab->stride[0] == height && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, blocks, size) >= 0;
  }
  const hsize_t rest = (height - first % height) % height, head = rest < rows ? rest : rows, tail = (rows - head) % height;
  return H5Sselect_none(space) >= 0 && add_rows(space, H5S_SELECT_OR, d, slab, first, head) &&
         add_rows(space, H5S_SELECT_OR, d, slab, first + head, rows - head - tail) &&
         add_rows(space, H5S_SELECT_OR, d, slab, first + rows - tail, tail);
}

/* Reads count stored numbers into out. The memory space has the shape of the selection; with another shape HDF5 copies element by
 * element. */
static sptrsm_status read_selection(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, hid_t type, void *out) {
  hsize_t shape[2] = {slab->blocks[0] * slab->size[0], d->rank >= 2 ? slab->blocks[1] * slab->size[1] : 1};
  hid_t from = H5Dget_space(d->id), to = H5Screate_simple(d->rank == 1 ? 1 : 2, shape, NULL);
  bool good = from >= 0 && to >= 0;
  if (d->rank == 3) good = good && select_joined(from, d, slab);
  else good = good && H5Sselect_hyperslab(from, H5S_SELECT_SET, slab->start, slab->stride, slab->blocks, slab->size) >= 0;
  good = good && H5Sget_select_npoints(from) == (hssize_t)count && H5Dread(d->id, type, to, from, H5P_DEFAULT, out) >= 0;
  if (from >= 0) H5Sclose(from);
  if (to >= 0) H5Sclose(to);
  return good ? SPTRSM_OK : unreadable(d);
}

/* Turns count reals, which lie in the upper half of out, into complex numbers in place. Writing never overtakes reading. */
static void widen(void *out, int64_t count, sptrsm_dtype dtype) {
  if (dtype == SPTRSM_C64) {
    float *z = out;
    for (int64_t p = 0; p < count; p++) z[2 * p] = z[count + p], z[2 * p + 1] = 0;
  } else {
    double *z = out;
    for (int64_t p = 0; p < count; p++) z[2 * p] = z[count + p], z[2 * p + 1] = 0;
  }
}

static sptrsm_status read_here(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, int as, void *out) {
  hid_t type = memory_type(d, as);
  if (type < 0) return unreadable(d);
  bool widens = !is_integer(as) && spti_is_complex((sptrsm_dtype)as) && !d->number.is_complex && !d->pairs;
  char *target = out;
  if (widens) target += (size_t)count * bytes_of(d, as) / 2;
  sptrsm_status status = read_selection(d, slab, count, type, target);
  H5Tclose(type);
  if (status == SPTRSM_OK && widens) widen(out, count, (sptrsm_dtype)as);
  return status;
}

/* ---- in parts, by the child ---- */

enum { PART_CHUNKS = 1024 }; /* that a part touches, if its first and last ones are whole */

typedef struct { /* a part of a selection: its first row and column, and their number, in the order of memory */
  int64_t row, rows, col, cols;
} part;

typedef struct {
  const spti_io_dataset *d;
  const spti_io_slab *slab;
  int as;
  int64_t rows, cols; /* of the selection */
  int64_t group;      /* columns that are read together: so few that a row of their chunks fits HDF5's cache */
  int64_t run;        /* rows that lie in one chunk, or in less; 0: no chunks */
  size_t each;
  part next;
  char *out;
} selection;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Where rows come in blocks, a chunk has as many of them as their distances allow. */
static int64_t rows_in_chunk(const spti_io_slab *slab, int64_t chunk) {
  int64_t stride = (int64_t)slab->stride[0], block = (int64_t)slab->size[0];
  return slab->blocks[0] == 1 ? chunk : smaller(chunk, larger(chunk / stride, 1) * block);
}

static selection begin_selection(const spti_io_dataset *d, const spti_io_slab *slab, int as, void *out) {
  selection s = {.d = d, .slab = slab, .as = as, .each = bytes_of(d, as), .out = out};
  s.rows = (int64_t)(slab->blocks[0] * slab->size[0]);
  s.cols = d->rank >= 2 ? (int64_t)(slab->blocks[1] * slab->size[1]) : 1;
  s.group = larger(smaller(s.cols, (int64_t)(SPTI_IO_WINDOW / s.each)), 1);
  if (d->filter_bytes > 0 && d->chunk[1] > 0 && d->rank >= 2) {
    int64_t chunks = larger((int64_t)(spti_io_cache_bytes(d->file) / 2 / larger((int64_t)d->chunk_bytes, 1)), 1);
    if (chunks < s.cols / d->chunk[1] + 1) s.group = smaller(s.group, chunks * d->chunk[1]);
  }
  if (d->chunk[0] == 0) return s;
  s.run = rows_in_chunk(slab, d->chunk[0]);
  if (s.group / d->chunk[1] >= PART_CHUNKS) s.group = (PART_CHUNKS - 1) * d->chunk[1];
  return s;
}

/* Shortens a run of `count` from the position `at` of the file, so that it ends with a chunk if it reaches the end of one. */
static int64_t to_chunk(int64_t at, int64_t count, int64_t chunk) {
  if (chunk <= 0) return count;
  int64_t rest = (at + count) % chunk;
  return rest < count ? count - rest : count;
}

/* The next part; false: there is none. Where rows come in blocks (one column of a block that is stored row by row in one dimension), a
 * part holds whole blocks or lies in one. */
static bool next_part(part *p, selection *s) {
  *p = s->next;
  if (p->col >= s->cols) return false;
  int64_t block = (int64_t)s->slab->size[0], at = (int64_t)s->slab->start[0] + p->row;
  if (p->row == 0) s->next.cols = to_chunk((int64_t)s->slab->start[1] + p->col, smaller(s->group, s->cols - p->col), s->d->chunk[1]);
  p->cols = s->next.cols;
  p->rows = larger((int64_t)(SPTI_IO_WINDOW / ((size_t)p->cols * s->each)), 1);
  if (s->run > 0) p->rows = smaller(p->rows, larger(PART_CHUNKS / ((p->cols - 1) / s->d->chunk[1] + 1) - 1, 1) * s->run);
  p->rows = smaller(p->rows, s->rows - p->row);
  if (s->slab->blocks[0] == 1) p->rows = p->row + p->rows < s->rows ? to_chunk(at, p->rows, s->d->chunk[0]) : p->rows;
  else if (p->row % block == 0 && p->rows >= block) p->rows -= p->rows % block;
  else p->rows = smaller(p->rows, block - p->row % block);
  s->next.row += p->rows;
  if (s->next.row == s->rows) {
    s->next.row = 0;
    s->next.col += p->cols;
  }
  return true;
}

/* Cuts `count` from `first` on out of one dimension of a selection. */
static void cut(spti_io_slab *slab, int k, int64_t first, int64_t count) {
  hsize_t block = (hsize_t)first / slab->size[k], inside = (hsize_t)first % slab->size[k];
  bool whole = inside == 0 && (hsize_t)count % slab->size[k] == 0;
  slab->start[k] += block * slab->stride[k] + inside;
  slab->blocks[k] = whole ? (hsize_t)count / slab->size[k] : 1;
  if (!whole) slab->size[k] = (hsize_t)count;
}

static sptrsm_status read_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  return read_here(&c->dataset, &c->slab, c->count, c->as, c->window);
}

static sptrsm_status begin_part(const selection *s, const part *p, int slot) {
  spti_io_call *c = spti_io_call_dataset(s->d, slot);
  c->job = read_job;
  c->as = s->as;
  c->slab = *s->slab;
  cut(&c->slab, 0, p->row, p->rows);
  if (s->d->rank >= 2) cut(&c->slab, 1, p->col, p->cols);
  c->count = p->rows * p->cols;
  int64_t chunks = s->run > 0 ? ((p->rows - 1) / s->run + 1) * ((p->cols - 1) / s->d->chunk[1] + 1) : 1;
  c->bytes = spti_io_bytes(chunks, s->d->filter_bytes);
  return spti_io_call_begin(c, s->d->file);
}

static sptrsm_status end_part(const selection *s, const part *p, int slot) {
  spti_io_call *c = spti_io_call_of(s->d->file, slot);
  SPTI_IO_TRY(spti_io_call_end(c, s->d->file));
  size_t row = (size_t)s->cols * s->each, piece = (size_t)p->cols * s->each;
  char *to = s->out + (size_t)p->row * row + (size_t)p->col * s->each;
  const char *from = spti_io_call_window(s->d->file, slot);
  if (piece == row) memcpy(to, from, (size_t)p->rows * row);
  for (int64_t i = 0; i < p->rows && piece < row; i++) memcpy(to + (size_t)i * row, from + (size_t)i * piece, piece);
  return SPTRSM_OK;
}

/* Two calls take turns. After a failure the other one is waited for, so that the next call finds the child idle. */
static sptrsm_status read_in_parts(selection *s) {
  part parts[SPTI_IO_CALLS];
  sptrsm_status status = SPTRSM_OK;
  int begun = 0, ended = 0;
  bool more = true;
  while (more || ended < begun) {
    int slot = begun % SPTI_IO_CALLS;
    more = more && status == SPTRSM_OK;
    if (more && begun - ended < SPTI_IO_CALLS) {
      more = next_part(&parts[slot], s);
      if (more) status = begin_part(s, &parts[slot], slot);
      begun += more && status == SPTRSM_OK;
      continue;
    }
    slot = ended++ % SPTI_IO_CALLS;
    sptrsm_status one = end_part(s, &parts[slot], slot);
    if (status == SPTRSM_OK) status = one;
  }
  return status;
}

/* ---- reading ---- */

/* Whether a selection is all of some neighbouring rows. */
static bool is_run_of_rows(const spti_io_dataset *d, const spti_io_slab *s) {
  return s->blocks[0] == 1 && s->blocks[1] == 1 && s->start[1] == 0 && s->size[1] == (hsize_t)d->dims[1];
}

/* count: stored numbers; slab NULL: all. */
static sptrsm_status read_numbers(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, int as, void *out) {
  spti_io_slab all = {{0, 0}, {1, 1}, {1, 1}, {(hsize_t)d->dims[0], (hsize_t)d->dims[1]}};
  spti_io_place place = {.fd = -1, .at = -1};
  if (count == 0) return SPTRSM_OK;
  if (slab == NULL) slab = &all;
  if (is_run_of_rows(d, slab)) spti_io_find_place(&place, d, as);
  sptrsm_status status;
  if (place.fd >= 0 && place.at >= 0) {
    const size_t each = bytes_of(d, as), before = (size_t)slab->start[0] * (size_t)d->dims[1] * each; /* less than the file has */
    status = spti_io_bytes_read(place.fd, place.at + (off_t)before, (size_t)count * each, out, d->where);
  } else if (d->file->child == NULL) {
    status = read_here(d, slab, count, as, out);
  } else {
    selection s = begin_selection(d, slab, as, out);
    status = read_in_parts(&s);
  }
  if (place.fd >= 0) close(place.fd);
  return status;
}

static sptrsm_status read_integers(const spti_io_dataset *d, int as, void *out) {
  if (d->number.is_integer) return read_numbers(d, NULL, d->count, as, out);
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: holds %s, integers are needed", d->where, d->number.name);
}

sptrsm_status spti_io_read_i64(const spti_io_dataset *d, int64_t *out) { return read_integers(d, SPTI_AS_I64, out); }

sptrsm_status spti_io_read_i32(const spti_io_dataset *d, int32_t *out) { return read_integers(d, SPTI_AS_I32, out); }

sptrsm_status spti_io_read_values(const spti_io_dataset *d, const spti_io_slab *slab, int64_t count, sptrsm_dtype dtype, void *out) {
  sptrsm_dtype chosen;
  SPTI_IO_TRY(spti_io_choose_dtype(&chosen, d->number.dtype, (int)dtype, d->where));
  return read_numbers(d, slab, d->pairs ? 2 * count : count, (int)dtype, out);
}

static void stored_integer(char out[24], const spti_io_dataset *d, int64_t p) {
  int64_t value = 0;
  uint64_t large = 0; /* HDF5 clips negative numbers to 0 here */
  hsize_t at[2] = {(hsize_t)(p / d->dims[1]), (hsize_t)(p % d->dims[1])}, one = 1;
  hid_t from = H5Dget_space(d->id), to = H5Screate_simple(1, &one, NULL);
  bool good = from >= 0 && to >= 0 && H5Sselect_elements(from, H5S_SELECT_SET, 1, at) >= 0;
  good = good && H5Dread(d->id, H5T_NATIVE_INT64, to, from, H5P_DEFAULT, &value) >= 0;
  good = good && H5Dread(d->id, H5T_NATIVE_UINT64, to, from, H5P_DEFAULT, &large) >= 0;
  if (from >= 0) H5Sclose(from);
  if (to >= 0) H5Sclose(to);
  if (!good) snprintf(out, 24, "unreadable");
  else if (large > INT64_MAX) snprintf(out, 24, "%llu", (unsigned long long)large);
  else snprintf(out, 24, "%lld", (long long)value);
}

static sptrsm_status stored_job(spti_io_call *c, spti_io_file *f) {
  (void)f;
  stored_integer(c->name, &c->dataset, c->count);
  return SPTRSM_OK;
}

void spti_io_stored_integer(char out[24], const spti_io_dataset *d, int64_t p) {
  if (d->file->child == NULL) {
    stored_integer(out, d, p);
    return;
  }
  spti_io_call *c = spti_io_call_dataset(d, 0);
  c->job = stored_job;
  c->count = p;
  bool good = spti_io_call_run(c, d->file) == SPTRSM_OK;
  snprintf(out, 24, "%.23s", good ? c->name : "unreadable");
}
