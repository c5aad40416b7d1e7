/* fake_runtime.h -- a CUDA runtime for tests of core/context/gpu.c without a device: two devices, and streams that know whether a capture
 * of theirs was spoiled. Memory is host memory. */
#ifndef TESTS_CORE_GPU_FAKE_RUNTIME_H
#define TESTS_CORE_GPU_FAKE_RUNTIME_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

enum { FAKE_DEVICES = 2 };

/* A stream points to one of these. */
typedef struct {
  int device;
  bool captured, spoiled; /* spoiled: a call came that a capture does not survive, or that would become part of the graph */
} fake_stream;

extern struct fake_state {
  int devices;           /* that there are */
  int current;           /* device */
  int fail_at;           /* calls that can fail until one does; -1: none does */
  int made;              /* objects that are not destroyed */
  int code;              /* what looking for code of the current device returns */
  int major, minor;      /* compute capability of the devices */
  bool reads_pageable;   /* the devices read all host memory */
  int single_to_double;  /* of cudaDevAttrSingleToDoublePrecisionPerfRatio */
  fake_stream *captured; /* a stream that is being captured: calls that no capture survives spoil it */
  size_t trimmed_to;     /* of the latest call that trimmed a pool */
  int trims, waits;      /* calls that trimmed a pool, and that waited for a stream */
  const void *waiting;   /* the stream that was made to wait last */
  cudaError_t left;      /* the error that cudaGetLastError will return */
} fake;

/* What cudaPointerGetAttributes says of addresses: this one is memory of device 1, that of pageable host memory; all others of device 0. */
extern char fake_other_device[1], fake_pageable[1], fake_page_locked[1];
void fake_reset(void);

#endif
