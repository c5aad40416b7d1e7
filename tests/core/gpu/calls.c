/* calls.c -- what core/context/gpu.c asks of the CUDA runtime, with one that is made up (fake_runtime.h): devices, streams and pointers
 * that are refused, captures that stay valid, the current device that stays, calls that fail. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/context/gpu.h"
#include "core/gpu/fake_runtime.h"

static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }
static void refused(sptrsm_status status, sptrsm_status expected, const char *why) {
  cr_assert_eq(status, expected, "status %d: %s", (int)status, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), why), "%s", sptrsm_last_error());
}

static sptrsm_context *open_on(int device, fake_stream *stream) {
  sptrsm_context *context = NULL;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, device, stream));
  return context;
}

static void nothing_left(void) { cr_assert_eq(fake.made, 0, "%d objects are left over", fake.made); }

TestSuite(gpu_calls, .init = fake_reset, .fini = nothing_left);

/* ---- devices ---- */

Test(gpu_calls, devices_that_are_refused) {
  sptrsm_context *context = NULL;
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 2, NULL), SPTRSM_ERR_ARGUMENT, "CUDA device 2: there are 2, numbered from 0");
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, -1, NULL), SPTRSM_ERR_ARGUMENT, "CUDA device -1");
  fake.major = 6, fake.minor = 1;
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), SPTRSM_ERR_UNSUPPORTED, "6.1; 7.0 or newer");
  fake.devices = 0;
  cr_assert_eq(sptrsm_device_count(), 0);
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), SPTRSM_ERR_UNSUPPORTED, "no CUDA device is visible");
  cr_assert_null(context);
}

/* The message says what was built, and what to build. */
Test(gpu_calls, a_device_without_code) {
  static const int errors[] = {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction, cudaErrorUnsupportedPtxVersion};
  sptrsm_context *context = NULL;
  fake.major = 7, fake.minor = 5;
  for (int e = 0; e < 3; e++) {
    fake.code = errors[e];
    refused(sptrsm_context_create(&context, SPTRSM_CUDA, 1, NULL), SPTRSM_ERR_UNSUPPORTED,
            "(Fake B) has compute capability 7.5; this library was built for " SPTI_CUDA_ARCHITECTURES);
    cr_assert(strstr(sptrsm_last_error(), "-DCMAKE_CUDA_ARCHITECTURES=75"), "%s", sptrsm_last_error());
  }
  fake.minor = 0; /* which nvcc of CUDA 13 no longer compiles for */
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 1, NULL), SPTRSM_ERR_UNSUPPORTED,
          CUDART_VERSION >= 13000 ? "-DCMAKE_CUDA_ARCHITECTURES=70 and CUDA 12, or" : "-DCMAKE_CUDA_ARCHITECTURES=70, or");
  fake.code = cudaErrorUnknown;
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 1, NULL), SPTRSM_ERR_DEVICE, "looking for code");
}

Test(gpu_calls, the_speed_of_double_precision) {
  fake.single_to_double = 64;
  sptrsm_context *context = open_on(0, NULL);
  cr_assert_eq(context->single_to_double, 64);
  sptrsm_context_destroy(context);
}

/* Whatever the library does on its device, the caller's device is the current one afterwards. */
Test(gpu_calls, the_current_device_stays) {
  for (int current = 0; current < FAKE_DEVICES; current++) {
    fake.current = current;
    sptrsm_context *context = open_on(1, NULL);
    cr_assert_eq(fake.current, current);
    cr_assert_eq(((fake_stream *)context->own_stream)->device, 1, "its stream is on another device");
    ok(sptrsm_context_sync(context));
    ok(sptrsm_context_trim(context));
    ok(sptrsm_context_set_stream(context, NULL));
    ok(sptrsm_context_set_memory_limit(context, 1000));
    cr_assert_eq(fake.current, current);
    sptrsm_context_destroy(context);
    cr_assert_eq(fake.current, current);
  }
}

/* ---- streams and pointers ---- */

Test(gpu_calls, streams_of_other_devices, .disabled = CUDART_VERSION < 12080) {
  fake_stream near = {.device = 0}, far = {.device = 1};
  sptrsm_context *context = NULL;
  refused(sptrsm_context_create(&context, SPTRSM_CUDA, 0, &far), SPTRSM_ERR_ARGUMENT,
          "the stream belongs to device 1, the context works on device 0");
  context = open_on(0, &near);
  refused(sptrsm_context_set_stream(context, &far), SPTRSM_ERR_ARGUMENT, "belongs to device 1");
  cr_assert_eq(context->stream, &near);
  sptrsm_context_destroy(context);
}

/* Later work begins behind what the stream in use has queued. */
Test(gpu_calls, the_next_stream_waits) {
  fake_stream one = {.device = 0}, two = {.device = 0};
  sptrsm_context *context = open_on(0, &one);
  ok(sptrsm_context_set_stream(context, &two));
  cr_assert_eq(context->stream, &two);
  cr_assert_eq(fake.waiting, &two);
  sptrsm_context_destroy(context);
}

Test(gpu_calls, pointers) {
  char near[1];
  sptrsm_context *context = open_on(0, NULL);
  ok(spti_gpu_check_pointer(context, near, "B"));
  ok(spti_gpu_check_pointer(context, NULL, "B"));
  ok(spti_gpu_check_pointer(context, fake_page_locked, "B")); /* which the device reads */
  refused(spti_gpu_check_pointer(context, fake_other_device, "B"), SPTRSM_ERR_ARGUMENT,
          "B is in the memory of device 1, the context works on device 0");
  refused(spti_gpu_check_pointer(context, fake_pageable, "X"), SPTRSM_ERR_ARGUMENT, "X is said to be in device memory");
  context->reads_pageable = true;
  ok(spti_gpu_check_pointer(context, fake_pageable, "X"));
  cr_assert(spti_gpu_page_locked(fake_page_locked));
  cr_assert(!spti_gpu_page_locked(fake_pageable));
  sptrsm_context_destroy(context);
}

/* ---- captures ---- */

Test(gpu_calls, what_is_refused_leaves_a_capture_valid) {
  static const char captured[] = "the stream is being captured";
  fake_stream stream = {.device = 0}, other = {.device = 0};
  sptrsm_context *context = open_on(0, &stream), *beside = open_on(1, NULL);
  void *memory = NULL;
  char a[8] = "", b[8] = "";
  stream.captured = true;
  fake.captured = &stream;
  const sptrsm_status answers[] = {
      spti_gpu_alloc(context, &memory, 8, "work"),
      spti_gpu_host_alloc(context, &memory, 8),
      spti_gpu_send(context, a, b, 8),
      spti_gpu_fetch(context, a, b, 8),
      spti_gpu_copy(context, a, 8, b, 8, 8, 1, SPTI_TO_HOST),
      spti_gpu_copy(context, a, 8, b, 8, 8, 1, SPTI_TO_DEVICE),
      spti_gpu_copy_peer(context, a, beside, b, 8),
      sptrsm_context_sync(context),
      sptrsm_context_trim(context),
      sptrsm_context_set_stream(context, &other),
      sptrsm_host_alloc(&memory, context, 8),
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) cr_assert_eq(answers[i], SPTRSM_ERR_ARGUMENT, "call %zu", i);
  cr_assert(strstr(sptrsm_last_error(), captured), "%s", sptrsm_last_error());
  cr_assert(!stream.spoiled, "a call came that the capture does not survive");
  stream.captured = false;
  fake.captured = NULL;
  other.captured = true;
  fake.captured = &other;
  refused(sptrsm_context_set_stream(context, &other), SPTRSM_ERR_ARGUMENT, captured);
  sptrsm_context *late = NULL;
  refused(sptrsm_context_create(&late, SPTRSM_CUDA, 0, &other), SPTRSM_ERR_ARGUMENT, captured);
  cr_assert(late == NULL && !other.spoiled);
  fake.captured = NULL;
  sptrsm_context_destroy(beside);
  sptrsm_context_destroy(context);
}

/* ---- errors and memory ---- */

Test(gpu_calls, trim_waits_and_keeps_nothing) {
  sptrsm_context *context = open_on(0, NULL);
  fake.trimmed_to = 7;
  fake.waits = 0;
  ok(sptrsm_context_trim(context));
  cr_assert_eq(fake.trims, 1);
  cr_assert_eq(fake.trimmed_to, 0);
  cr_assert_eq(fake.waits, 1);
  sptrsm_context_destroy(context);
}

/* An error that the caller has not looked at yet stays his own. */
Test(gpu_calls, errors_of_others) {
  char a[8] = "", b[8] = "";
  void *memory = NULL;
  fake.left = cudaErrorMemoryAllocation;
  sptrsm_context *context = open_on(1, NULL);
  ok(spti_gpu_alloc(context, &memory, 8, "work"));
  ok(spti_gpu_copy(context, a, 8, b, 8, 8, 1, SPTI_TO_DEVICE));
  ok(sptrsm_context_sync(context));
  spti_gpu_free(context, memory);
  sptrsm_context_destroy(context);
  cr_assert_eq(fake.left, cudaErrorMemoryAllocation);
}

/* A dependency that was lost is reported once to each who asks, and what an analysis finds is no solve's. */
Test(gpu_calls, a_lost_dependency) {
  sptrsm_context *context = open_on(0, NULL);
  *context->lost_device = 1 + 41;
  refused(sptrsm_context_sync(context), SPTRSM_ERR_DEVICE, "row 41");
  ok(sptrsm_context_sync(context));
  cr_assert_eq((long long)context->losses, 1);
  int64_t told = 0;
  refused(spti_gpu_tell(context, &told), SPTRSM_ERR_DEVICE, "row 41");
  ok(spti_gpu_tell(context, &told));
  *context->lost_device = 1 + 7;
  refused(spti_gpu_sync(context), SPTRSM_ERR_DEVICE, "row 7");
  ok(spti_gpu_sync(context));
  ok(sptrsm_context_sync(context));
  sptrsm_context_destroy(context);
}

Test(gpu_calls, a_grid_that_is_too_large) {
  refused(spti_gpu_check(cudaErrorInvalidConfiguration, "a solve"), SPTRSM_ERR_UNSUPPORTED, "use smaller panels (options.panel)");
  refused(spti_gpu_check(cudaErrorMemoryAllocation, "a solve"), SPTRSM_ERR_MEMORY, "a solve");
  refused(spti_gpu_check(cudaErrorUnknown, "a solve"), SPTRSM_ERR_DEVICE, "unknown error in a solve");
}

/* Each call fails once while a context is opened: an error of ours alone, nothing left over, the device as it was. */
Test(gpu_calls, calls_that_fail) {
  sptrsm_context *context = NULL;
  int fail_at = 0;
  for (sptrsm_status status = SPTRSM_ERR_DEVICE; status != SPTRSM_OK && fail_at < 100; fail_at++) {
    fake.fail_at = fail_at;
    status = sptrsm_context_create(&context, SPTRSM_CUDA, 1, NULL);
    fake.fail_at = -1;
    cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_DEVICE, "call %d: status %d", fail_at, (int)status);
    cr_assert_eq(fake.current, 0, "call %d", fail_at);
    cr_assert_eq(fake.left, cudaSuccess, "call %d: its error is left to the caller", fail_at);
    if (status == SPTRSM_OK) sptrsm_context_destroy(context);
    nothing_left();
  }
  cr_assert(fail_at > 6 && fail_at < 100, "%d calls can fail", fail_at - 1);
}
