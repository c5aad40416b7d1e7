/* blocks.c -- the right-hand sides or solutions of a batch: one array with an axis more, a block for each group, or one block for all.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const sptrsm_file_batch *batch;
  const char *member;
  sptrsm_file_blocks *out;
  spti_io_file *file;
  const sptrsm_io_options *options;
  sptrsm_file_block **parts; /* [count]: of groups, whose data become those of `out` */
} blocks_reader;

static int32_t order_of(const sptrsm_file_batch *b, int64_t i) { return b->items[b->kind == SPTRSM_BATCH_UNIFORM ? 0 : i]->L_tri.n; }

/* The order of all items; -1: there is no item. */
static sptrsm_status common_order(int32_t *n, const sptrsm_file_batch *b, const char *where) {
  *n = b->count > 0 || b->kind == SPTRSM_BATCH_UNIFORM ? order_of(b, 0) : -1;
  for (int64_t i = 1; i < b->count; i++)
    if (order_of(b, i) != *n)
      return sptrsm_error_set(
          SPTRSM_ERR_STRUCTURE,
          "%s: is for items of one order, but %s has item %s of order %d and item %s of order %d; store a block in a group "
          "for each item",
          where, b->where, b->names[0], *n, b->names[i], order_of(b, i));
  return SPTRSM_OK;
}

/* Blocks have all items of the file, or those that were read. *first: the number of the first one. */
static sptrsm_status match_count(int64_t *first, const sptrsm_file_batch *b, int64_t count, const char *where) {
  *first = count == b->file_count ? b->first : 0;
  if (count == b->file_count || count == b->count) return SPTRSM_OK;
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has blocks for %lld items, but %s has %lld; is this the right file?", where,
                          (long long)count, b->where, (long long)b->file_count);
}

static sptrsm_status reserve(void **data, const char *where, int64_t blocks, int64_t n, int64_t nrhs, sptrsm_dtype dtype, size_t limit) {
  size_t column = spti_io_bytes(n, sptrsm_dtype_bytes(dtype)), one = spti_io_bytes(nrhs, column), all = spti_io_bytes(blocks, one);
  SPTI_IO_TRY(spti_io_check_memory(limit, where, all, "take fewer items (--items) or columns (--cols), or raise the limit"));
  return spti_io_allocate(data, where, all);
}

/* ---- an array ---- */

static sptrsm_status read_array(blocks_reader *r, spti_io_block_source *s, const spti_io_dataset *d) {
  const sptrsm_file_batch *b = r->batch;
  sptrsm_batch_block *block = &r->out->block;
  int64_t begin, end, first;
  SPTI_IO_TRY(match_count(&first, b, d->axes[0], d->where));
  SPTI_IO_TRY(spti_io_block_columns(s, r->options, &begin, &end));
  SPTI_IO_TRY(spti_io_choose_dtype(&block->dtype, d->number.dtype, r->options->dtype, d->where));
  const int64_t n = s->rows, w = end - begin;
  block->layout = s->layout;
  block->nrhs = w;
  block->ld = s->layout == SPTRSM_ROW_MAJOR ? w : n;
  if (block->ld == 0) block->ld = 1;
  block->stride = n * w;
  SPTI_IO_TRY(reserve(&block->data, d->where, b->count, n, w, block->dtype, r->file->memory_limit));
  const hsize_t rows = (hsize_t)n, count = (hsize_t)b->count, from = (hsize_t)first, cols = (hsize_t)s->cols, width = (hsize_t)w;
  spti_io_slab slab = {{from * rows, (hsize_t)begin}, {1, 1}, {1, 1}, {count * rows, width}};
  if (s->layout == SPTRSM_COL_MAJOR) slab = (spti_io_slab){{from * cols + (hsize_t)begin, 0}, {cols, 1}, {count, 1}, {width, rows}};
  if (s->layout == SPTRSM_COL_MAJOR && width == cols) slab = (spti_io_slab){{from * cols, 0}, {1, 1}, {1, 1}, {count * cols, rows}};
  return spti_io_read_values(d, &slab, b->count * n * w, block->dtype, block->data);
}

static sptrsm_status load_array(blocks_reader *r, const spti_io_dataset *d) {
  int32_t n;
  spti_io_block_source s = {.file = r->file, .d = *d};
  SPTI_IO_TRY(common_order(&n, r->batch, d->where));
  s.d.rank = 2;
  s.d.dims[0] = d->axes[1]; /* of one item */
  SPTI_IO_TRY(spti_io_block_order(&s, n, r->options->order));
  if (n >= 0 && s.rows != n && d->axes[0] > 0)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                            "%s: has blocks of %lld rows (%s), the items have order %d; is this the right file, or is "
                            "--rhs-order needed?",
                            d->where, (long long)s.rows, s.rule, n);
  const bool guessed = strstr(s.rule, "without a hint") != NULL;
  r->out->rule = s.layout == SPTRSM_COL_MAJOR ? "3-D dataset, F order"
                 : guessed                    ? "3-D dataset, n x n without a hint: C order taken; --rhs-order overrides"
                                              : "3-D dataset, C order";
  r->out->file_nrhs = s.cols;
  return read_array(r, &s, d);
}

/* ---- one block, dense or sparse ---- */

static sptrsm_status load_sparse(sptrsm_file_block **out, const blocks_reader *r, const spti_io_object *o, int32_t n, const char *path) {
  sptrsm_file_matrix *M = NULL;
  SPTI_IO_TRY(spti_io_matrix_load(&M, o, r->options));
  sptrsm_status status = SPTRSM_OK;
  if (n >= 0 && M->rows != n)
    status = sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has %lld rows, the matrix has order %d; is this the right file?", o->where,
                              (long long)M->rows, n);
  if (status == SPTRSM_OK) status = sptrsm_file_matrix_mirror(M);
  if (status == SPTRSM_OK) status = sptrsm_file_block_of_matrix(out, NULL, M, path, r->options);
  sptrsm_file_matrix_free(M);
  return status;
}

static sptrsm_status load_dense(sptrsm_file_block **out, const blocks_reader *r, int32_t n, char *path, const char *where) {
  char *named = r->file->path;
  SPTI_IO_TRY(spti_io_block_new(out, where));
  r->file->path = path;
  sptrsm_status status = spti_io_block_load(*out, r->file, n, r->options);
  r->file->path = named;
  return status;
}

/* *out is to be freed after a failure, too. */
static sptrsm_status load_block(sptrsm_file_block **out, const blocks_reader *r, const spti_io_object *o, int32_t n) {
  spti_io_form form;
  char *path;
  SPTI_IO_TRY(spti_io_detect(&form, o));
  SPTI_IO_TRY(spti_io_copy(&path, o->where + strlen(r->file->name) + 1));
  const bool sparse = form.kind == SPTI_COMPRESSED || form.kind == SPTI_COORDINATE;
  sptrsm_status status = sparse ? load_sparse(out, r, o, n, path) : load_dense(out, r, n, path, o->where);
  free(path);
  return status;
}

static void take_shape(sptrsm_batch_block *to, const sptrsm_block *from) {
  to->dtype = from->dtype;
  to->layout = from->layout;
  to->nrhs = from->nrhs;
  to->ld = from->ld;
}

/* Without a hint, [count, n] may be a column for each item as well as `count` columns for all of them. */
static sptrsm_status check_meaning(const blocks_reader *r, const spti_io_dataset *d, int32_t n) {
  const sptrsm_file_batch *b = r->batch;
  int hint = r->options->order;
  if (d->rank != 2 || d->dims[1] != n || d->dims[0] < 2 || (d->dims[0] != b->count && d->dims[0] != b->file_count)) return SPTRSM_OK;
  if (hint == SPTRSM_AS_STORED) SPTI_IO_TRY(spti_io_block_hint(&hint, d));
  if (hint != SPTRSM_AS_STORED) return SPTRSM_OK;
  const long long count = d->dims[0];
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: is %lld x %d, which may be one right-hand side for each of %lld items, or %lld for all; store %lld x %d x 1 "
                          "for the former, or say --rhs-order (or attribute order) for the latter",
                          d->where, count, n, count, count, count, n);
}

static sptrsm_status load_shared(blocks_reader *r, const spti_io_object *o, const spti_io_dataset *d) {
  int32_t n;
  sptrsm_file_block *X = NULL;
  SPTI_IO_TRY(common_order(&n, r->batch, o->where));
  if (d) SPTI_IO_TRY(check_meaning(r, d, n));
  sptrsm_status status = load_block(&X, r, o, n);
  if (status == SPTRSM_OK) {
    take_shape(&r->out->block, &X->block);
    r->out->block.data = X->block.data;
    X->block.data = NULL;
    r->out->file_nrhs = X->file_nrhs;
    r->out->rule = X->rule;
  }
  sptrsm_file_block_free(X);
  return status;
}

/* ---- groups ---- */

/* The block of one group: itself, or its member. */
static sptrsm_status open_block(spti_io_object *out, bool *is_member, const blocks_reader *r, const spti_io_object *items,
                                const char *name) {
  spti_io_form form;
  spti_io_object child;
  *is_member = false;
  SPTI_IO_TRY(spti_io_object_open(&child, items, name));
  sptrsm_status status = spti_io_detect(&form, &child);
  *is_member = status == SPTRSM_OK && child.type == H5I_GROUP && form.kind == SPTI_NONE;
  if (status == SPTRSM_OK && !*is_member) {
    *out = child;
    return SPTRSM_OK;
  }
  if (status == SPTRSM_OK) status = spti_io_object_open(out, &child, r->member);
  spti_io_object_close(&child);
  return status;
}

static sptrsm_status load_part(blocks_reader *r, int64_t i, const spti_io_object *items, const char *name) {
  spti_io_object o = {.id = -1, .file = r->file};
  bool is_member;
  sptrsm_status status = open_block(&o, &is_member, r, items, name);
  if (status == SPTRSM_OK && i > 0 && is_member != (r->out->members != 0))
    status =
        sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: item %s is %s, but the first one is %s; store all in the same way", items->where, name,
                         is_member ? "a group with a block" : "a block itself", is_member ? "a block itself" : "a group with a block");
  if (status == SPTRSM_OK) status = load_block(&r->parts[i], r, &o, order_of(r->batch, i));
  if (status == SPTRSM_OK) status = spti_io_copy(&r->out->paths[i], r->parts[i]->path);
  r->out->members = is_member;
  if (o.where != NULL) spti_io_object_close(&o);
  return status;
}

/* All blocks of a batch have one type and one layout. One column has both layouts. */
static sptrsm_status join_part(blocks_reader *r, int64_t i, void **data_of, int64_t *ld_of, int64_t *nrhs_of) {
  sptrsm_block *part = &r->parts[i]->block;
  const sptrsm_batch_block *all = &r->out->block;
  if (part->nrhs <= 1 && part->layout != all->layout) part->layout = all->layout, part->ld = all->layout == SPTRSM_ROW_MAJOR ? 1 : part->n;
  if (part->ld == 0) part->ld = 1;
  if (part->layout != all->layout || part->dtype != all->dtype)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: has another %s than the other items; store all alike, or use %s", r->parts[i]->where,
                            part->dtype != all->dtype ? "type" : "order", part->dtype != all->dtype ? "--dtype" : "--rhs-order");
  data_of[i] = part->data;
  part->data = NULL;
  ld_of[i] = part->ld;
  nrhs_of[i] = part->nrhs;
  if (r->parts[i]->file_nrhs > r->out->file_nrhs) r->out->file_nrhs = r->parts[i]->file_nrhs;
  return SPTRSM_OK;
}

static sptrsm_status join_parts(blocks_reader *r, int64_t count) {
  sptrsm_batch_block *all = &r->out->block;
  void **data_of;
  int64_t *ld_of, *nrhs_of;
  const char *where = r->out->where;
  SPTI_IO_TRY(spti_io_allocate(&data_of, where, spti_io_bytes(count, sizeof *data_of)));
  all->data_of = data_of;
  for (int64_t i = 0; i < count; i++) data_of[i] = NULL;
  SPTI_IO_TRY(spti_io_allocate(&ld_of, where, spti_io_bytes(count, sizeof *ld_of)));
  all->ld_of = ld_of;
  SPTI_IO_TRY(spti_io_allocate(&nrhs_of, where, spti_io_bytes(count, sizeof *nrhs_of)));
  all->nrhs_of = nrhs_of;
  const sptrsm_block *first = NULL; /* the first one whose layout is not open */
  for (int64_t i = count - 1; i >= 0; i--)
    if (first == NULL || r->parts[i]->block.nrhs > 1) first = &r->parts[i]->block;
  if (first) take_shape(all, first);
  all->nrhs = 0;
  for (int64_t i = 0; i < count; i++) SPTI_IO_TRY(join_part(r, i, data_of, ld_of, nrhs_of));
  return SPTRSM_OK;
}

/* A mixed batch finds its groups by their names; a uniform one takes them in natural order. */
static sptrsm_status load_groups(blocks_reader *r, const spti_io_object *items, const spti_io_names *names) {
  const sptrsm_file_batch *b = r->batch;
  const size_t list = spti_io_bytes(b->count, sizeof(void *));
  size_t bytes = 0;
  int64_t first;
  SPTI_IO_TRY(match_count(&first, b, (int64_t)names->count, items->where));
  SPTI_IO_TRY(spti_io_allocate(&r->parts, items->where, list));
  memset(r->parts, 0, list);
  SPTI_IO_TRY(spti_io_allocate(&r->out->paths, items->where, list));
  memset(r->out->paths, 0, list);
  for (int64_t i = 0; i < b->count; i++) {
    SPTI_IO_TRY(load_part(r, i, items, b->names ? b->names[i] : names->names[first + i]));
    const sptrsm_block *part = &r->parts[i]->block;
    bytes = spti_io_add(bytes, spti_io_bytes(part->nrhs, spti_io_bytes(part->n, sptrsm_dtype_bytes(part->dtype))));
    SPTI_IO_TRY(spti_io_check_memory(r->file->memory_limit, items->where, bytes, "take fewer items (--items) or columns (--cols)"));
  }
  r->out->rule = r->out->members ? "a group for each item" : "a block for each item";
  return join_parts(r, b->count);
}

/* ---- which object ---- */

static sptrsm_status note_place(blocks_reader *r, const spti_io_object *o) {
  SPTI_IO_TRY(spti_io_copy(&r->out->where, o->where));
  return spti_io_copy(&r->out->path, o->where + strlen(r->file->name) + 1);
}

static sptrsm_status load_dataset(blocks_reader *r, spti_io_object *o) {
  spti_io_dataset d;
  spti_io_object taken = *o;
  SPTI_IO_TRY(note_place(r, o));
  *o = (spti_io_object){.id = -1, .file = r->file};
  SPTI_IO_TRY(spti_io_dataset_of(&d, &taken));
  sptrsm_status status;
  if (d.rank == 3) status = load_array(r, &d);
  else {
    const spti_io_object same = spti_io_object_of(&d);
    status = load_shared(r, &same, &d);
  }
  spti_io_dataset_close(&d);
  return status;
}

/* Blocks that are not in groups: the object named, or its member. */
static sptrsm_status load_object(blocks_reader *r, spti_io_object *o) {
  spti_io_form form;
  spti_io_object member;
  if (o->type == H5I_DATASET) return load_dataset(r, o);
  SPTI_IO_TRY(spti_io_detect(&form, o));
  if (form.kind != SPTI_NONE) {
    SPTI_IO_TRY(note_place(r, o));
    return load_shared(r, o, NULL);
  }
  if (!spti_io_has(o, r->member))
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: holds no %s and no group `items`; name the blocks as FILE:/path", o->where,
                            r->member);
  SPTI_IO_TRY(spti_io_object_open(&member, o, r->member));
  sptrsm_status status = member.type == H5I_DATASET ? load_dataset(r, &member) : SPTRSM_OK;
  if (status == SPTRSM_OK && member.type == H5I_GROUP) {
    status = note_place(r, &member);
    if (status == SPTRSM_OK) status = load_shared(r, &member, NULL);
  }
  spti_io_object_close(&member);
  return status;
}

static sptrsm_status load(blocks_reader *r) {
  spti_io_object items, object;
  spti_io_names names = {0};
  sptrsm_status status = spti_io_items_open(&items, &object, r->file);
  const bool has_member = status == SPTRSM_OK && object.id >= 0 && object.type == H5I_GROUP && spti_io_has(&object, r->member);
  const bool groups = status == SPTRSM_OK && items.id >= 0 && !has_member;
  if (status == SPTRSM_OK && groups) status = spti_io_copy(&r->out->where, items.where);
  if (status == SPTRSM_OK && groups) status = spti_io_names_of(&names, &items);
  if (status == SPTRSM_OK) status = groups ? load_groups(r, &items, &names) : load_object(r, &object);
  spti_io_names_free(&names);
  if (items.file != NULL) spti_io_object_close(&items);
  if (object.file != NULL) spti_io_object_close(&object);
  for (int64_t i = 0; r->parts && i < r->batch->count; i++) sptrsm_file_block_free(r->parts[i]);
  free(r->parts);
  return status;
}

sptrsm_status sptrsm_file_blocks_load(sptrsm_file_blocks **out, const char *where, const char *member, const sptrsm_file_batch *batch,
                                      const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  spti_io_file f;
  blocks_reader r = {.batch = batch, .member = member, .file = &f};
  if (out == NULL || member == NULL || batch == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_blocks_load: out, member or batch is NULL");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  r.options = o;
  SPTI_IO_TRY(spti_io_file_open(&f, where, o));
  sptrsm_status status = SPTRSM_OK;
  if (f.matrix_market)
    status = sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: the blocks of a batch are read from HDF5, not from Matrix Market", f.name);
  if (status == SPTRSM_OK) status = spti_io_allocate(&r.out, where, sizeof *r.out);
  if (status == SPTRSM_OK) {
    *r.out = (sptrsm_file_blocks){.count = batch->count, .rule = ""};
    sptrsm_batch_block_init(&r.out->block);
    status = load(&r);
  } else r.out = NULL;
  status = spti_io_file_end(&f, status);
  if (status == SPTRSM_OK) *out = r.out;
  else sptrsm_file_blocks_free(r.out);
  return status;
}

void sptrsm_file_blocks_free(sptrsm_file_blocks *B) {
  if (B == NULL) return;
  for (int64_t i = 0; i < B->count; i++) {
    if (B->block.data_of != NULL) free(B->block.data_of[i]);
    if (B->paths != NULL) free(B->paths[i]);
  }
  free(B->block.data);
  free((void *)B->block.data_of);
  free((void *)B->block.ld_of);
  free((void *)B->block.nrhs_of);
  free(B->where);
  free(B->path);
  free(B->paths);
  free(B);
}
