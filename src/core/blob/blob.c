/* blob.c -- see blob.h. */
#include "core/blob/blob.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "SPTRSM:"; /* with its NUL, 8 bytes */
enum { BYTE_ORDER_MARK = 0x01020304, FORMAT = 2 };

void spti_blob_fail(spti_blob *b, sptrsm_status status, const char *format, ...) {
  char text[400];
  va_list args;
  if (b->status != SPTRSM_OK) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  b->status = spti_fail(status, "%s", text);
}

/* Where the next `bytes` bytes are, or NULL if nothing is to be moved. */
static char *take(spti_blob *b, size_t bytes) {
  if (b->status != SPTRSM_OK) return NULL;
  if (b->mode != SPTI_BLOB_MEASURE && bytes > b->bytes - b->used) {
    spti_blob_refuse(b, "the plan in memory ends after %zu bytes, of which it needs more; make the plan anew", b->bytes);
    return NULL;
  }
  char *at = b->memory ? b->memory + b->used : NULL;
  b->used += bytes;
  return at;
}

void spti_blob_align(spti_blob *b) {
  const size_t padding = (SPTI_BLOB_ALIGNMENT - b->used % SPTI_BLOB_ALIGNMENT) % SPTI_BLOB_ALIGNMENT;
  char *at = take(b, padding);
  if (at && b->mode == SPTI_BLOB_WRITE) memset(at, 0, padding);
}

void spti_blob_value(spti_blob *b, void *value, size_t bytes) {
  char *at = take(b, bytes);
  if (!at) return;
  if (b->mode == SPTI_BLOB_READ) memcpy(value, at, bytes);
  else memcpy(at, value, bytes);
}

void spti_blob_array(spti_blob *b, void *array, int64_t count, size_t bytes) {
  void *memory = NULL;
  char *at = NULL;
  spti_blob_align(b);
  if (count < 0 || (uint64_t)count > SIZE_MAX / 4 / bytes)
    spti_blob_refuse(b, "the plan in memory has an array of %lld elements", (long long)count);
  else at = take(b, (size_t)count * bytes);
  if (b->mode == SPTI_BLOB_READ) {
    memory = at;
    memcpy(array, &memory, sizeof memory);
  } else if (at && count > 0) {
    memcpy(&memory, array, sizeof memory);
    memcpy(at, memory, (size_t)count * bytes);
  }
}

/* ---- frames ---- */

static uint64_t checksum_of(const void *blob, size_t bytes, spti_blob_frame frame, struct spti_team *team) {
  frame.checksum = 0;
  return spti_hash_join(spti_hash(NULL, &frame, sizeof frame), spti_hash(team, (const char *)blob + sizeof frame, bytes - sizeof frame));
}

void spti_blob_seal(void *blob, size_t bytes, spti_blob_kind kind, struct spti_team *team) {
  spti_blob_frame frame = {.byte_order = BYTE_ORDER_MARK, .format = FORMAT, .kind = kind, .bytes = bytes};
  memcpy(frame.magic, magic, sizeof frame.magic);
  snprintf(frame.library, sizeof frame.library, "%s", sptrsm_version());
  frame.checksum = checksum_of(blob, bytes, frame, team);
  memcpy(blob, &frame, sizeof frame);
}

sptrsm_status spti_blob_open(spti_blob *out, const void *blob, size_t bytes, spti_blob_kind kind, struct spti_team *team) {
  static const char *const kinds[] = {[SPTI_BLOB_PLAN] = "the plan of one triangle", [SPTI_BLOB_SOLVER] = "the plans of a factor set"};
  spti_blob_frame frame;
  if (bytes < sizeof frame || memcmp(blob, magic, sizeof frame.magic) != 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: these %zu bytes are not what a plan was exported to", bytes);
  memcpy(&frame, blob, sizeof frame);
  if (frame.byte_order != BYTE_ORDER_MARK || frame.format != FORMAT ||
      memcmp(frame.library, sptrsm_version(), strlen(sptrsm_version()) + 1) != 0)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "plan: written by version %.15s of the library, in format %u, this is version %s with format %d; make the plan anew",
                     memchr(frame.library, 0, sizeof frame.library) ? frame.library : "?", frame.format, sptrsm_version(), FORMAT);
  if (frame.bytes != bytes)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: has %llu bytes, %zu are given; it was cut off, or more was added",
                     (unsigned long long)frame.bytes, bytes);
  if (checksum_of(blob, bytes, frame, team) != frame.checksum)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is damaged, its checksum differs; make the plan anew");
  if (frame.kind != (uint32_t)kind)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "plan: is not %s%s", kinds[kind],
                     frame.kind <= SPTI_BLOB_SOLVER
                         ? kind == SPTI_BLOB_PLAN ? ", but the plans of a factor set" : ", but the plan of one triangle"
                         : "");
  *out = (spti_blob){.mode = SPTI_BLOB_READ, .memory = (char *)blob, .bytes = bytes, .used = sizeof frame};
  return SPTRSM_OK;
}
