/* error.h -- errors: a call that fails returns a status and leaves a message of one text line for its thread. */
#ifndef SPTI_CORE_BASE_ERROR_H
#define SPTI_CORE_BASE_ERROR_H

#include <sptrsm.h>

#define SPTI_TRY(call)                                                                                                                     \
  do {                                                                                                                                     \
    sptrsm_status spti_try_status_ = (call);                                                                                               \
    if (spti_try_status_ != SPTRSM_OK) return spti_try_status_;                                                                            \
  } while (0)

/* For functions that own something: sets the local `status` and jumps to a label of the function, `fail` if only
 * failures reach it, `done` if successes reach it too. */
#define SPTI_TRY_TO(label, call)                                                                                                           \
  do {                                                                                                                                     \
    status = (call);                                                                                                                       \
    if (status != SPTRSM_OK) goto label;                                                                                                   \
  } while (0)
#define SPTI_TRY_GOTO(call) SPTI_TRY_TO(fail, call)
#define SPTI_TRY_DONE(call) SPTI_TRY_TO(done, call)

/* Sets the message and returns the status. */
#define spti_fail sptrsm_error_set

/* Unless the status is OK: puts the object that the latest message is about in front of it, "L: ...". Returns the
 * status. */
sptrsm_status spti_name_object(sptrsm_status, const char *object);

#endif
