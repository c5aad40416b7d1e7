/* analysis.c -- the analysis of `block-streamed`. The host finds the panels and their levels, the device counts the columns of one range of
 * panels after another, the panels are cut into pieces, and the device makes one piece after another by the kernels of `block`. */
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "trsm/block/gpu/streamed/streamed.h"

/* A piece takes this part of the memory limit: two buffers, and what new values need for a piece, are to leave most of it to right-hand
 * sides, also where L and U stream. It takes up to twice that if it holds fewer than PANELS_WORTHWHILE of the widest panels, since a kernel
 * that solves with one or two of them keeps few multiprocessors busy, and then takes longer than the copy. Where kernels of N pieces run at
 * the same time, pieces are smaller, so that N buffers take as much as two of those; packed tiles need more room. Without a limit, this
 * many bytes. Pieces of some megabytes are copied at full speed. */
enum { SHARE_OF_LIMIT = 32, PANELS_WORTHWHILE = 4, PIECE_BYTES = 64 << 20 };
enum { TIMES_THE_MATRIX = 64, NEVER_TOO_LARGE = 1 << 28 /* bytes; both as in block's analysis */ };

/* ---- a piece in memory ---- */

/* The arrays by panels; returns their size. */
static size_t lay_out_panels(spti_block_values_args *args, char *memory) {
  spti_carver c = {.base = memory, .whole = true};
  args->columns.first = spti_carve(&c, (int64_t)args->columns.count + 1, sizeof *args->columns.first);
  return c.used + spti_block_lay_out_panels(args, memory ? memory + c.used : NULL);
}

/* All arrays, for panels with these totals; returns their size. */
static size_t lay_out(spti_block_values_args *args, int32_t **herald, const int64_t *totals, char *memory) {
  const size_t panels = lay_out_panels(args, memory);
  return panels + spti_block_lay_out_tiles(args, herald, totals, memory ? memory + panels : NULL);
}

/* A piece whose image lies at `image`. */
static spti_block_analysis analysis_of(const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p, char *image) {
  spti_block_analysis a = {.set = s->set, .args = spti_block_args(&s->set, &plan->view, p->count)};
  memcpy(a.totals, p->totals, sizeof a.totals);
  lay_out(&a.args, &a.herald, a.totals, image);
  a.panels = spti_block_panels_of(&a);
  return a;
}

spti_block_values_args spti_streamed_args(const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p, void *image) {
  return analysis_of(s, plan, p, image).args;
}

void spti_streamed_state(spti_block_state *out, const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p,
                         void *image) {
  const spti_block_analysis a = analysis_of(s, plan, p, image);
  *out = (spti_block_state){.panels = a.panels, .tile = s->tile, .single = s->single};
  out->panels.row = s->row;
}

void spti_streamed_flagged(int32_t out[3], const spti_streamed *s, const sptrsm_plan *plan) {
  out[0] = out[1] = out[2] = 0;
  for (int32_t i = 0; i < s->piece_count; i++) {
    const spti_block_analysis a = analysis_of(s, plan, &s->piece[i], s->image + s->piece[i].at);
    for (int f = 0; f < 3; f++) out[f] += a.args.flagged[f];
  }
}

/* ---- a range of the view on the device ---- */

/* What kernels read of the view for a range of places, and of its places. The pointers that a kernel gets are shifted by `by` elements, so
 * that lines and places keep the numbers that they have among all places. */
typedef struct {
  spti_scratch scratch;
  int64_t *ptr;
  int32_t *idx, *panel;
  void *val;
  int32_t *ready_at; /* [n]: the numbers 0 to n - 1, since places stand in ready order */
  char *image;
} device_memory;

static void *shifted(void *array, int64_t by, size_t bytes) { return (void *)((uintptr_t)array - (uintptr_t)by * bytes); }

typedef struct {
  int32_t first, end; /* places */
  int64_t begin, entries;
} range;

static range range_of(const spti_block_partition *f, int32_t panel, int32_t count) {
  range r = {.first = f->first[panel], .end = f->first[panel + count]};
  r.begin = f->entries[r.first];
  r.entries = f->entries[r.end] - r.begin;
  return r;
}

static sptrsm_status put(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  return spti_copy_bytes(context, to, SPTRSM_CUDA, from, SPTRSM_HOST, bytes);
}

/* The pattern of a range; entries count from its first one. Its lines are gathered by place, so the view goes forward. A line's columns, by
 * place, do not ascend, but those of its own panel come last and the diagonal after them. */
static sptrsm_status put_pattern(spti_view *out, const device_memory *d, const spti_streamed *s, const sptrsm_plan *plan, const range *r) {
  const spti_block_partition *f = &s->found;
  const spti_view *v = &plan->view;
  const int64_t lines = r->end - r->first;
  int64_t *ptr = NULL;
  int32_t *idx = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&ptr, lines + 1, sizeof *ptr, "lines of a piece"));
  SPTI_TRY_DONE(spti_host_alloc(&idx, r->entries, sizeof *idx, "entries of a piece"));
  for (int64_t i = 0; i <= lines; i++) ptr[i] = f->entries[r->first + i] - r->begin;
  spti_block_partition_columns(idx, f, v, r->first, r->end);
  SPTI_TRY_DONE(put(plan->context, d->ptr, ptr, ((size_t)lines + 1) * sizeof *ptr));
  SPTI_TRY_DONE(put(plan->context, d->idx, idx, (size_t)r->entries * sizeof *idx));
  *out = *v;
  out->place = SPTRSM_CUDA;
  out->nnz = r->entries;
  out->ptr = shifted(d->ptr, r->first, sizeof *ptr);
  out->idx = d->idx;
  out->val = NULL;
  out->backward = false;
  if (v->backward) out->head = v->tail, out->tail = v->head;
done:
  spti_host_free(ptr);
  spti_host_free(idx);
  return status;
}

static sptrsm_status put_values(spti_view *view, const device_memory *d, const spti_streamed *s, const sptrsm_plan *plan, const range *r) {
  const size_t bytes = sptrsm_dtype_bytes(view->dtype);
  void *values;
  SPTI_TRY(spti_host_alloc(&values, r->entries, bytes, "entries of a piece"));
  spti_block_partition_values(values, &s->found, &plan->view, r->first, r->end);
  view->val = d->val;
  const sptrsm_status status = put(plan->context, d->val, values, (size_t)r->entries * bytes);
  spti_host_free(values);
  return status;
}

/* ---- how many steps and tiles a panel has ---- */

typedef struct {
  int32_t *steps, *tiles; /* [panels], host */
} counts;

static sptrsm_status count_range(const counts *c, spti_streamed *s, const sptrsm_plan *plan, int32_t panel, int32_t count,
                                 int32_t *ready_at) {
  const range r = range_of(&s->found, panel, count);
  device_memory d = {.scratch = {.context = plan->context}};
  spti_block_values_args args = spti_block_args(&s->set, &plan->view, count);
  spti_block_columns_args *columns = &args.columns;
  int32_t *first;
  void *memory;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &d.ptr, (int64_t)r.end - r.first + 1, sizeof *d.ptr, "lines of a piece"));
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &d.idx, r.entries, sizeof *d.idx, "entries of a piece"));
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &memory, (int64_t)spti_block_lay_out_panels(&args, NULL), 1, "panels of a piece"));
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &first, (int64_t)count + 1, sizeof *first, "panels of a piece"));
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &columns->steps, count, sizeof *columns->steps, "panels of a piece"));
  SPTI_TRY_DONE(spti_scratch_take(&d.scratch, &columns->tiles, count, sizeof *columns->tiles, "panels of a piece"));
  spti_block_lay_out_panels(&args, memory);
  SPTI_TRY_DONE(put(plan->context, first, s->found.first + panel, ((size_t)count + 1) * sizeof *first));
  SPTI_TRY_DONE(put_pattern(&columns->view, &d, s, plan, &r));
  columns->first = first;
  columns->ready_at = ready_at;
  columns->totals = (int64_t *)plan->context->pinned_device;
  SPTI_TRY_DONE(spti_gpu_check(spti_block_count_launch(columns, plan->context->stream), "the count of columns"));
  SPTI_TRY_DONE(spti_gpu_fetch(plan->context, c->steps + panel, columns->steps, (size_t)count * sizeof *c->steps));
  SPTI_TRY_DONE(spti_gpu_fetch(plan->context, c->tiles + panel, columns->tiles, (size_t)count * sizeof *c->tiles));
done:
  spti_scratch_drop(&d.scratch);
  return status;
}

/* Places stand in ready order. */
static sptrsm_status put_ready_order(int32_t *ready_at, const sptrsm_plan *plan) {
  const int32_t n = plan->view.n;
  int32_t *identity;
  SPTI_TRY(spti_host_alloc(&identity, n, sizeof *identity, "order of rows"));
  for (int32_t place = 0; place < n; place++) identity[place] = place;
  const sptrsm_status status = put(plan->context, ready_at, identity, (size_t)n * sizeof *identity);
  spti_host_free(identity);
  return status;
}

/* The indices of a range take no more than `most` bytes, unless it is one panel. */
static sptrsm_status count_all(const counts *c, spti_streamed *s, const sptrsm_plan *plan, size_t most) {
  const int64_t entries = (int64_t)(most / sizeof *plan->view.idx);
  spti_scratch scratch = {.context = plan->context};
  int32_t *ready_at;
  sptrsm_status status = spti_scratch_take(&scratch, &ready_at, plan->view.n, sizeof *ready_at, "order of rows");
  if (status == SPTRSM_OK) status = put_ready_order(ready_at, plan);
  for (int32_t panel = 0, count; panel < s->found.count && status == SPTRSM_OK; panel += count) {
    count = 1;
    while (panel + count < s->found.count && range_of(&s->found, panel, count + 1).entries <= entries) count++;
    status = count_range(c, s, plan, panel, count, ready_at);
  }
  spti_scratch_drop(&scratch);
  return status;
}

/* ---- pieces ---- */

static void add_panel(int64_t *totals, const spti_streamed *s, const counts *c, int32_t panel) {
  const int32_t rows = s->found.first[panel + 1] - s->found.first[panel], strips = (rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
  totals[SPTI_BLOCK_STEPS] += c->steps[panel];
  totals[SPTI_BLOCK_TILES] += c->tiles[panel];
  totals[SPTI_BLOCK_DIAGONAL_TILES] += spti_block_diagonal_tiles(strips);
  totals[SPTI_BLOCK_NEAR_TILES] += (int64_t)strips * spti_block_near(c->steps[panel]);
}

static size_t image_bytes(const spti_streamed *s, const sptrsm_plan *plan, int32_t count, const int64_t *totals) {
  spti_block_values_args args = spti_block_args(&s->set, &plan->view, count);
  int32_t *herald;
  return lay_out(&args, &herald, totals, NULL);
}

/* The piece from `panel` on: as many panels as `most` bytes hold, and at least one. */
static spti_streamed_piece cut_piece(const spti_streamed *s, const sptrsm_plan *plan, const counts *c, int32_t panel, size_t most) {
  spti_streamed_piece p = {.panel = panel};
  for (; panel < s->found.count; panel++) {
    int64_t totals[SPTI_BLOCK_TOTALS];
    memcpy(totals, p.totals, sizeof totals);
    add_panel(totals, s, c, panel);
    const size_t bytes = image_bytes(s, plan, p.count + 1, totals);
    if (p.count > 0 && bytes > most) break;
    memcpy(p.totals, totals, sizeof totals);
    p.bytes = bytes;
    p.count++;
  }
  return p;
}

static size_t widest_panel_bytes(const spti_streamed *s, const sptrsm_plan *plan, const counts *c) {
  size_t widest = 0;
  for (int32_t panel = 0; panel < s->found.count; panel++) {
    const size_t bytes = cut_piece(s, plan, c, panel, 0).bytes; /* a piece of this panel alone */
    if (bytes > widest) widest = bytes;
  }
  return widest;
}

static size_t most_of_piece(const spti_streamed *s, const sptrsm_plan *plan, const int64_t *all, size_t widest) {
  if (s->pieces > 0) return image_bytes(s, plan, s->found.count, all) / (size_t)s->pieces;
  if (plan->context->memory_limit == 0) return PIECE_BYTES;
  const size_t share = plan->context->memory_limit / SHARE_OF_LIMIT;
  if (s->overlap > 1) return 2 * share / (size_t)s->overlap;
  const size_t wide = PANELS_WORTHWHILE * widest;
  return wide < share ? share : wide < 2 * share ? wide : 2 * share;
}

static sptrsm_status cut_pieces(spti_streamed *s, const sptrsm_plan *plan, const counts *c) {
  const size_t matrix = (size_t)plan->view.nnz * (sptrsm_dtype_bytes(plan->view.dtype) + sizeof(int32_t));
  int64_t all[SPTI_BLOCK_TOTALS] = {0};
  for (int32_t panel = 0; panel < s->found.count; panel++) add_panel(all, s, c, panel);
  const size_t widest = widest_panel_bytes(s, plan, c);
  spti_streamed_choose_form(s, plan, all, widest);
  const size_t most = most_of_piece(s, plan, all, widest);
  SPTI_TRY(spti_host_alloc(&s->piece, s->found.count, sizeof *s->piece, "pieces"));
  for (int32_t panel = 0; panel < s->found.count;) {
    spti_streamed_piece *p = &s->piece[s->piece_count++];
    *p = cut_piece(s, plan, c, panel, most);
    p->at = s->bytes;
    s->bytes += p->bytes;
    s->tiles += p->totals[SPTI_BLOCK_TILES] + p->totals[SPTI_BLOCK_DIAGONAL_TILES];
    if (p->bytes > s->largest) s->largest = p->bytes;
    panel += p->count;
  }
  if (s->bytes > NEVER_TOO_LARGE && s->bytes / TIMES_THE_MATRIX > matrix)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block-streamed: panels of %zu bytes would be more than %d times the matrix; use gather",
                     s->bytes, TIMES_THE_MATRIX);
  return SPTRSM_OK;
}

/* ---- images ---- */

/* The arrays by panels that do not depend on values, in the piece's image. */
static void describe_panels(const spti_streamed *s, const sptrsm_plan *plan, const counts *c, const spti_streamed_piece *p) {
  const spti_block_analysis a = analysis_of(s, plan, p, s->image + p->at);
  const spti_block_columns_args *columns = &a.args.columns;
  int64_t totals[SPTI_BLOCK_TOTALS] = {0};
  memcpy((int32_t *)columns->first, s->found.first + p->panel, ((size_t)p->count + 1) * sizeof *columns->first);
  for (int32_t i = 0; i <= p->count; i++) {
    columns->step_start[i] = (int32_t)totals[SPTI_BLOCK_STEPS];
    columns->tile_start[i] = totals[SPTI_BLOCK_TILES];
    columns->diag_start[i] = (int32_t)totals[SPTI_BLOCK_DIAGONAL_TILES];
    columns->near_start[i] = (int32_t)totals[SPTI_BLOCK_NEAR_TILES];
    if (i == p->count) break;
    columns->order[i] = i;
    add_panel(totals, s, c, p->panel + i);
  }
}

/* Which panel of the piece each place of it is in. */
static sptrsm_status put_panel_numbers(const device_memory *d, const spti_streamed *s, const sptrsm_plan *plan,
                                       const spti_streamed_piece *p) {
  const int32_t *first = s->found.first + p->panel, places = first[p->count] - first[0];
  int32_t *panel;
  SPTI_TRY(spti_host_alloc(&panel, places, sizeof *panel, "panels of a piece"));
  for (int32_t i = 0; i < p->count; i++)
    for (int32_t place = first[i]; place < first[i + 1]; place++) panel[place - first[0]] = i;
  const sptrsm_status status = put(plan->context, d->panel, panel, (size_t)places * sizeof *panel);
  spti_host_free(panel);
  return status;
}

/* The piece's image goes to the device, as far as it is made, is completed there and comes back. */
static sptrsm_status make_piece(const device_memory *d, const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p,
                                bool has_steps) {
  spti_block_analysis a = analysis_of(s, plan, p, d->image);
  const range r = range_of(&s->found, p->panel, p->count);
  spti_view view;
  spti_block_values_args panels = a.args;
  SPTI_TRY(put(plan->context, d->image, s->image + p->at, has_steps ? p->bytes : lay_out_panels(&panels, NULL)));
  SPTI_TRY(put_pattern(&view, d, s, plan, &r));
  SPTI_TRY(put_values(&view, d, s, plan, &r));
  SPTI_TRY(put_panel_numbers(d, s, plan, p));
  a.args.columns.view = view;
  a.args.columns.panel = shifted(d->panel, r.first, sizeof *d->panel);
  a.args.columns.ready_at = a.args.columns.place_at = d->ready_at;
  SPTI_TRY(spti_block_fill(&a, &view, plan->context, has_steps));
  return spti_copy_bytes(plan->context, s->image + p->at, SPTRSM_HOST, d->image, SPTRSM_CUDA, p->bytes);
}

/* For the largest piece of each kind; returns the size. */
static size_t carve_memory(device_memory *d, const spti_streamed *s, const sptrsm_plan *plan, char *memory) {
  int32_t places = 0;
  int64_t entries = 0;
  for (int32_t i = 0; i < s->piece_count; i++) {
    const range r = range_of(&s->found, s->piece[i].panel, s->piece[i].count);
    if (r.end - r.first > places) places = r.end - r.first;
    if (r.entries > entries) entries = r.entries;
  }
  spti_carver c = {.base = memory, .whole = true}; /* the memory may be a workspace's, which has other arrays in it */
  d->ready_at = spti_carve(&c, plan->view.n, sizeof *d->ready_at);
  d->ptr = spti_carve(&c, (int64_t)places + 1, sizeof *d->ptr);
  d->panel = spti_carve(&c, places, sizeof *d->panel);
  d->idx = spti_carve(&c, entries, sizeof *d->idx);
  d->val = spti_carve(&c, entries, sptrsm_dtype_bytes(plan->view.dtype));
  d->image = spti_carve(&c, (int64_t)s->largest, 1);
  return c.used;
}

static sptrsm_status make_images_in(void *memory, const spti_streamed *s, const sptrsm_plan *plan, bool has_steps) {
  device_memory d;
  carve_memory(&d, s, plan, memory);
  SPTI_TRY(put_ready_order(d.ready_at, plan));
  for (int32_t i = 0; i < s->piece_count; i++) SPTI_TRY(make_piece(&d, s, plan, &s->piece[i], has_steps));
  return SPTRSM_OK;
}

static sptrsm_status make_images(const spti_streamed *s, const sptrsm_plan *plan, bool has_steps) {
  void *memory;
  if (s->lent) return make_images_in(s->lent->memory, s, plan, has_steps);
  SPTI_TRY(spti_alloc(plan->context, &memory, (int64_t)s->working_bytes, 1, "a piece of the factor"));
  const sptrsm_status status = make_images_in(memory, s, plan, has_steps);
  spti_free(plan->context, memory);
  return status;
}

/* ---- all of it ---- */

static sptrsm_status make(spti_streamed *s, const sptrsm_plan *plan, const counts *c) {
  SPTI_TRY(count_all(c, s, plan, plan->context->memory_limit > 0 ? plan->context->memory_limit / SHARE_OF_LIMIT : PIECE_BYTES));
  SPTI_TRY(cut_pieces(s, plan, c));
  s->working_bytes = carve_memory(&(device_memory){0}, s, plan, NULL);
  void *image;
  SPTI_TRY(spti_gpu_host_alloc(plan->context, &image, s->bytes));
  s->image = image;
  for (int32_t i = 0; i < s->piece_count; i++) describe_panels(s, plan, c, &s->piece[i]);
  SPTI_TRY(make_images(s, plan, false));
  SPTI_TRY(spti_alloc(plan->context, &s->row, plan->view.n, sizeof *s->row, "rows by place"));
  SPTI_TRY(put(plan->context, s->row, s->found.line, (size_t)plan->view.n * sizeof *s->row));
  return s->packs ? spti_streamed_pack(s, plan) : SPTRSM_OK;
}

sptrsm_status spti_streamed_make(spti_streamed *s, const sptrsm_plan *plan) {
  counts c = {NULL, NULL};
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_block_check_window(&s->set, plan->view.n));
  SPTI_TRY(spti_block_partition_make(&s->found, &plan->view, s->set.rows, s->set.least));
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&c.steps, s->found.count, sizeof *c.steps, "steps of panels"));
  SPTI_TRY_DONE(spti_host_alloc(&c.tiles, s->found.count, sizeof *c.tiles, "tiles of panels"));
  status = make(s, plan, &c);
done:
  spti_host_free(c.steps);
  spti_host_free(c.tiles);
  return status;
}

/* Copies of the old images may still be queued. */
sptrsm_status spti_streamed_update(spti_streamed *s, const sptrsm_plan *plan) {
  SPTI_TRY(spti_gpu_wait(plan->context));
  if (plan->view.n > 0) SPTI_TRY(make_images(s, plan, true));
  return s->packs ? spti_streamed_pack(s, plan) : SPTRSM_OK;
}

void spti_streamed_free(spti_streamed *s, const sptrsm_plan *plan) {
  spti_free(plan->context, s->row);
  spti_gpu_host_free(s->image);
  spti_gpu_host_free(s->packed);
  spti_host_free(s->piece);
  spti_block_partition_free(&s->found);
}
