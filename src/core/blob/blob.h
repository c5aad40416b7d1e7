/* blob.h -- an analysis as bytes in memory: to be kept in a file, sent to another process, or read by a plan of another context.
 *
 * A method describes what its plan holds by one function that serves to measure, to write and to read (spti_method.carry). Values are
 * copied. Arrays begin at multiples of SPTI_BLOB_ALIGNMENT; when read they are not copied, but point into the blob, which is not written
 * to and outlives them. What is read may be anything: only the ends of arrays are checked here, indices and offsets by the method. */
#ifndef SPTI_CORE_BLOB_BLOB_H
#define SPTI_CORE_BLOB_BLOB_H

#include <stdbool.h>

#include "core/base/error.h"

struct spti_team;

enum { SPTI_BLOB_ALIGNMENT = 64 };

typedef enum { SPTI_BLOB_MEASURE, SPTI_BLOB_WRITE, SPTI_BLOB_READ } spti_blob_mode;

typedef struct {
  spti_blob_mode mode;
  char *memory;         /* aligned; NULL while measuring */
  size_t bytes, used;   /* of the memory; of these, written or read so far */
  sptrsm_status status; /* of the first failure, after which nothing more is moved and arrays become NULL */
} spti_blob;

void spti_blob_value(spti_blob *, void *value, size_t bytes);
void spti_blob_array(spti_blob *, void *array /* T ** */, int64_t count, size_t bytes);
void spti_blob_align(spti_blob *);
/* A failure, unless there was one before. The message says what of the plan is wrong, and what to do about it. */
#define spti_blob_refuse(blob, ...) spti_blob_fail(blob, SPTRSM_ERR_ARGUMENT, __VA_ARGS__)
void spti_blob_fail(spti_blob *, sptrsm_status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- blobs that leave the process ---- */

/* What a blob is, in front of everything else. */
typedef enum { SPTI_BLOB_PLAN, SPTI_BLOB_SOLVER } spti_blob_kind;
typedef struct {
  char magic[8];
  uint32_t byte_order, format, kind, unused;
  char library[16];  /* version */
  uint64_t bytes;    /* of all, this included */
  uint64_t checksum; /* of all, with this member zero */
  uint64_t reserved;
} spti_blob_frame;

/* Fills in the frame of a blob that is written but for its first sizeof(spti_blob_frame) bytes. */
void spti_blob_seal(void *blob, size_t bytes, spti_blob_kind, struct spti_team *);
/* ARGUMENT: not a blob of this kind, cut off, or damaged; UNSUPPORTED: one of another library. *out is to be read from behind the frame. */
sptrsm_status spti_blob_open(spti_blob *out, const void *blob, size_t bytes, spti_blob_kind, struct spti_team *);

/* 64 bits that tell arrays apart; they do not depend on the number of threads. Not meant to withstand forgery. */
uint64_t spti_hash(struct spti_team *, const void *data, size_t bytes);
uint64_t spti_hash_join(uint64_t, uint64_t);

#endif
