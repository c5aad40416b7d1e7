/* error.h -- the error idiom: every failing call returns a status and leaves one line of text for its thread. */
#ifndef SPTI_CORE_BASE_ERROR_H
#define SPTI_CORE_BASE_ERROR_H

#include <sptrsm.h>

#define SPTI_TRY(call)                                                                                                                     \
  do {                                                                                                                                     \
    sptrsm_status spti_try_status_ = (call);                                                                                               \
    if (spti_try_status_ != SPTRSM_OK) return spti_try_status_;                                                                            \
  } while (0)

/* For functions that own something: sets the local `status` and jumps to a label of the function, `fail` if only failures reach it,
 * `done` if successes reach it too. */
#define SPTI_TRY_TO(label, call)                                                                                                           \
  do {                                                                                                                                     \
    status = (call);                                                                                                                       \
    if (status != SPTRSM_OK) goto label;                                                                                                   \
  } while (0)
#define SPTI_TRY_GOTO(call) SPTI_TRY_TO(fail, call)
#define SPTI_TRY_DONE(call) SPTI_TRY_TO(done, call)

/* The one writer of the text; returns its status, so that `return spti_fail(...)` reads naturally. */
#define spti_fail sptrsm_error_set

/* Says which object the latest message is about, "L: ...", unless the status is OK; returns it. */
sptrsm_status spti_name_object(sptrsm_status, const char *object);

#endif
