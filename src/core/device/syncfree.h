/* syncfree.h -- the state that the thread blocks of a synchronisation-free kernel share: the host's view of core/device/syncfree.cuh.
 * Plain C: host code sets it up, kernels take it by value. */
#ifndef SPTI_CORE_DEVICE_SYNCFREE_H
#define SPTI_CORE_DEVICE_SYNCFREE_H

#include <stdint.h>

/* The control words: the next ticket, a flag that makes all waits give up, and a count of signs of progress by long work items. */
enum { SPTI_SYNCFREE_TICKET, SPTI_SYNCFREE_ABORT, SPTI_SYNCFREE_PROGRESS, SPTI_SYNCFREE_CONTROL_WORDS };

typedef struct {
  int32_t *control;   /* device memory, [SPTI_SYNCFREE_CONTROL_WORDS], zero when the kernel starts */
  int64_t *lost;      /* mapped host memory: the first wait that gives up writes 1 + its row here */
  int32_t spin_limit; /* polls without any sign of progress before a wait naps between polls, and then gives up */
} spti_syncfree;

/* The default of a context: about 0.2 s of polls on an H200, and 2 s of naps; real waits see progress within milliseconds. */
#define SPTI_SPIN_LIMIT (1 << 19)

#endif
