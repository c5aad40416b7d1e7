/* emulated_gpu.c -- core/context/gpu.h on the emulator, for tests of host code: device memory is host memory of exactly the requested size,
 * and kernels are finished when their launcher returns. emulated_gpu_fail_at counts allocations down, and
 * emulated_gpu_fail_copy_at copies between host and device; the one at 0 fails. */
#include "simt/emulator/emulated_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu_copies.h"
#include "core/context/gpu_graph.h"

int emulated_gpu_fail_at = -1, emulated_gpu_fail_copy_at = -1, emulated_gpu_blocks = 0;
void *emulated_gpu_latest;
size_t emulated_gpu_latest_bytes, emulated_gpu_total, emulated_gpu_moved, emulated_gpu_most;
const void *emulated_gpu_unreached;
int emulated_gpu_current, emulated_gpu_strays;

int spti_gpu_visit(const sptrsm_context *context) {
  const int before = emulated_gpu_current;
  emulated_gpu_current = context->device;
  return before;
}

void spti_gpu_leave(int device) {
  if (device >= 0) emulated_gpu_current = device;
}

/* What was queued by spti_gpu_send: done as late as a stream allows, so that memory that is changed too early is noticed. */
static struct {
  void *to;
  const void *from;
  size_t bytes;
} sent[64];
static int sent_count;

static void finish_sent(void) {
  for (int i = 0; i < sent_count; i++) memcpy(sent[i].to, sent[i].from, sent[i].bytes);
  sent_count = 0;
}

/* Every call on the device begins with this. */
static void enter(const sptrsm_context *context) {
  emulated_gpu_strays += emulated_gpu_current != context->device;
  finish_sent();
}

sptrsm_status spti_gpu_refuse_capture(const sptrsm_context *context, const char *what) {
  enter(context);
  return emulated_gpu_captures ? spti_fail(SPTRSM_ERR_ARGUMENT, "%s: the stream is being captured", what) : SPTRSM_OK;
}

sptrsm_status spti_gpu_refuse_capture_but(const sptrsm_context *context, const char *what, const char *way_out) {
  enter(context);
  return emulated_gpu_captures ? spti_fail(SPTRSM_ERR_ARGUMENT, "%s: the stream is being captured; %s", what, way_out) : SPTRSM_OK;
}

sptrsm_status spti_gpu_check(int cuda_error, const char *what) {
  return cuda_error ? spti_fail(SPTRSM_ERR_DEVICE, "emulator: error %d in %s: %s", cuda_error, what, emulated_gpu_error()) : SPTRSM_OK;
}

/* All allocations. */
static struct {
  const sptrsm_context *context;
  void *memory;
  size_t bytes;
} * blocks;
static size_t block_room;

size_t emulated_gpu_used(const sptrsm_context *context) {
  size_t used = 0;
  for (size_t at = 0; at < block_room; at++) used += blocks[at].context == context ? blocks[at].bytes : 0;
  return used;
}

static void count_in(const sptrsm_context *context, void *memory, size_t bytes) {
  size_t at = 0;
  while (at < block_room && blocks[at].memory) at++;
  if (at == block_room) {
    blocks = realloc(blocks, (block_room = 2 * block_room + 64) * sizeof *blocks);
    memset(blocks + at, 0, (block_room - at) * sizeof *blocks);
  }
  blocks[at].context = context, blocks[at].memory = memory, blocks[at].bytes = bytes;
  const size_t used = context->memory_limit == 0 ? 0 : emulated_gpu_used(context);
  if (used > emulated_gpu_most) emulated_gpu_most = used;
}

static void count_out(const void *memory) {
  for (size_t at = 0; at < block_room; at++)
    if (blocks[at].memory == memory) memset(&blocks[at], 0, sizeof *blocks);
}

sptrsm_status spti_gpu_room(size_t *out, const sptrsm_context *context, size_t wanted) {
  const size_t used = emulated_gpu_used(context);
  *out = used < context->memory_limit ? context->memory_limit - used : 0;
  return *out < wanted ? spti_gpu_wait(context) : SPTRSM_OK;
}

sptrsm_status spti_gpu_set_limit(sptrsm_context *context, size_t bytes) {
  context->memory_limit = bytes;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_alloc(const sptrsm_context *context, void **out, size_t bytes, const char *what) {
  SPTI_TRY(spti_gpu_refuse_capture(context, what));
  void *memory = emulated_gpu_fail_at >= 0 && emulated_gpu_fail_at-- == 0 ? NULL : malloc(bytes);
  if (!memory) return spti_fail(SPTRSM_ERR_MEMORY, "%s: no device memory for %zu bytes", what, bytes);
  memset(memory, 0xa5, bytes);
  emulated_gpu_blocks++;
  count_in(context, memory, bytes);
  *out = emulated_gpu_latest = memory;
  emulated_gpu_latest_bytes = bytes;
  emulated_gpu_total += bytes;
  return SPTRSM_OK;
}

void spti_gpu_free(const sptrsm_context *context, void *memory) {
  enter(context);
  if (memory) {
    emulated_gpu_blocks--;
    count_out(memory);
  }
  free(memory);
}

static sptrsm_status fail_copy(void) {
  if (emulated_gpu_fail_copy_at < 0 || emulated_gpu_fail_copy_at-- > 0) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_DEVICE, "emulator: a copy fails");
}

sptrsm_status spti_gpu_copy(const sptrsm_context *context, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                            size_t rows, spti_direction direction) {
  enter(context);
  if (direction != SPTI_ON_DEVICE && row_bytes > 0 && rows > 0)
    SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  if (direction != SPTI_ON_DEVICE) {
    SPTI_TRY(fail_copy());
    emulated_gpu_moved += row_bytes * rows;
  }
  for (size_t r = 0; r < rows; r++) memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, row_bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_send(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  if (sent_count == sizeof sent / sizeof *sent) finish_sent();
  emulated_gpu_strays += emulated_gpu_current != context->device;
  SPTI_TRY(fail_copy());
  emulated_gpu_moved += bytes;
  sent[sent_count].to = to, sent[sent_count].from = from, sent[sent_count].bytes = bytes;
  sent_count += bytes > 0;
  return emulated_gpu_captures ? spti_fail(SPTRSM_ERR_ARGUMENT, "copies: the stream is being captured") : SPTRSM_OK;
}

/* Copies in are done at once, as early as a stream allows, and copies out when their slot is filled again or all must be done. */
struct spti_gpu_copies {
  spti_gpu_pitched out[SPTI_COPY_SLOTS];
};

static void copy_lines(const spti_gpu_pitched *c) {
  for (size_t r = 0; r < c->rows; r++) memcpy((char *)c->to + r * c->to_pitch, (const char *)c->from + r * c->from_pitch, c->row_bytes);
  emulated_gpu_moved += c->row_bytes * c->rows;
}

static void finish_out(spti_gpu_copies *c, int slot) {
  copy_lines(&c->out[slot]);
  c->out[slot].rows = 0;
}

sptrsm_status spti_gpu_copies_create(spti_gpu_copies **out, const sptrsm_context *context) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  SPTI_TRY(spti_host_alloc(out, 1, sizeof **out, "streams for copies"));
  memset(*out, 0, sizeof **out);
  return SPTRSM_OK;
}

void spti_gpu_copies_free(spti_gpu_copies *c) { spti_host_free(c); }

sptrsm_status spti_gpu_copies_begin(const spti_gpu_copies *c, const sptrsm_context *context) {
  (void)c;
  return spti_gpu_refuse_capture(context, "copies between host and device");
}

sptrsm_status spti_gpu_copy_in(spti_gpu_copies *c, const sptrsm_context *context, int slot, const spti_gpu_pitched *copy) {
  enter(context);
  SPTI_TRY(fail_copy());
  finish_out(c, slot);
  copy_lines(copy);
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copies_done(const spti_gpu_copies *c, const sptrsm_context *context, int slot) {
  enter(context);
  (void)c, (void)slot;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copy_out(spti_gpu_copies *c, int slot, const spti_gpu_pitched *copy) {
  SPTI_TRY(fail_copy());
  c->out[slot] = *copy;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copies_end(spti_gpu_copies *c) {
  for (int slot = 0; slot < SPTI_COPY_SLOTS; slot++) finish_out(c, slot);
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copy_peer(const sptrsm_context *to_context, void *to, const sptrsm_context *from_context, const void *from,
                                 size_t bytes) {
  enter(to_context);
  SPTI_TRY(spti_gpu_refuse_capture(to_context, "copies between devices"));
  (void)from_context;
  if (bytes > 0) memcpy(to, from, bytes);
  return SPTRSM_OK;
}

/* Always overwrites the pinned words, also if the copy does not go through them, so that no caller relies on their old content. */
sptrsm_status spti_gpu_fetch(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  const bool small = bytes <= SPTI_PINNED_WORDS * sizeof *context->pinned;
  SPTI_TRY(spti_gpu_refuse_capture(context, "results of an analysis"));
  SPTI_TRY(fail_copy());
  emulated_gpu_moved += bytes;
  memset(context->pinned, 0xa5, SPTI_PINNED_WORDS * sizeof *context->pinned);
  memcpy(small ? context->pinned : to, from, bytes);
  if (small) memcpy(to, context->pinned, bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_zero(const sptrsm_context *context, void *memory, size_t bytes) {
  enter(context);
  memset(memory, 0, bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_set_stream(sptrsm_context *context, void *stream) {
  context->stream = stream;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_fork(const sptrsm_context *context, void **stream) {
  *stream = context->stream;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_join(const sptrsm_context *context) {
  (void)context;
  return SPTRSM_OK;
}

/* The emulated device reads any memory but what a test excepts. */
sptrsm_status spti_gpu_check_pointer(const sptrsm_context *context, const void *data, const char *name) {
  (void)context;
  return data && data == emulated_gpu_unreached ? spti_fail(SPTRSM_ERR_ARGUMENT, "emulator: %s is not in device memory", name) : SPTRSM_OK;
}

bool spti_gpu_page_locked(const void *data) { return data != NULL; }

sptrsm_status spti_gpu_wait(const sptrsm_context *context) { return spti_gpu_refuse_capture(context, "waiting for the device"); }

/* A graph keeps the function that records it, and a replay calls it. */
struct spti_gpu_graph {
  sptrsm_status (*record)(const void *what, void *stream);
  const void *what;
};

sptrsm_status spti_gpu_graph_create(spti_gpu_graph **out, const sptrsm_context *context,
                                    sptrsm_status (*record)(const void *what, void *stream), const void *what) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "the launches of a solve"));
  SPTI_TRY(spti_host_alloc(out, 1, sizeof **out, "graph"));
  **out = (spti_gpu_graph){record, what};
  return SPTRSM_OK;
}

void spti_gpu_graph_free(spti_gpu_graph *g) { spti_host_free(g); }

sptrsm_status spti_gpu_graph_start(const spti_gpu_graph *g, const sptrsm_context *context) { return g->record(g->what, context->stream); }
