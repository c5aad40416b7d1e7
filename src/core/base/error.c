/* error.c -- status names and the thread's latest error message. */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char latest[1024];

const char *sptrsm_last_error(void) { return latest; }

sptrsm_status sptrsm_error_set(sptrsm_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(latest, sizeof latest, format, args);
  va_end(args);
  return status;
}

sptrsm_status spti_name_object(sptrsm_status status, const char *object) {
  if (status == SPTRSM_OK) return status;
  char text[sizeof latest];
  memcpy(text, latest, sizeof text);
  return spti_fail(status, "%s: %s", object, text);
}

const char *sptrsm_status_name(sptrsm_status status) {
  switch (status) {
  case SPTRSM_OK: return "OK";
  case SPTRSM_ERR_ARGUMENT: return "ARGUMENT";
  case SPTRSM_ERR_STRUCTURE: return "STRUCTURE";
  case SPTRSM_ERR_SINGULAR: return "SINGULAR";
  case SPTRSM_ERR_MEMORY: return "MEMORY";
  case SPTRSM_ERR_IO: return "IO";
  case SPTRSM_ERR_UNSUPPORTED: return "UNSUPPORTED";
  case SPTRSM_ERR_DEVICE: return "DEVICE";
  case SPTRSM_ERR_INTERNAL: return "INTERNAL";
  }
  return "UNKNOWN";
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *sptrsm_version(void) { return TEXT(SPTRSM_VERSION_MAJOR) "." TEXT(SPTRSM_VERSION_MINOR) "." TEXT(SPTRSM_VERSION_PATCH); }

size_t sptrsm_dtype_bytes(sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return 4;
  case SPTRSM_F64: return 8;
  case SPTRSM_C64: return 8;
  case SPTRSM_C128: return 16;
  }
  return 0;
}
