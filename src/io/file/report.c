/* report.c -- HDF5's error report: silent while this library works, and searched for missing memory.
 *
 * HDF5 reports a failed allocation as a failure of whatever needed it, so that a sound file would look damaged, or an attribute absent.
 * While the report is taken, a handler looks for a failed allocation among the causes that HDF5 lists. One flag per thread: HDF5 calls the
 * handler in the thread of the failed call.
 */
#include "io/file/file.h"

#include <errno.h>

static _Thread_local bool lacked_memory;

static herr_t look_at_cause(unsigned depth, const H5E_error2_t *error, void *data) {
  (void)depth, (void)data;
  if (error->maj_num == H5E_RESOURCE && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC)) lacked_memory = true;
  return 0;
}

/* Not every failed allocation is listed; errno, 0 at the begin, tells of the others. */
static herr_t look_at_causes(hid_t stack, void *data) {
  if (errno == ENOMEM) lacked_memory = true;
  return H5Ewalk2(stack, H5E_WALK_UPWARD, look_at_cause, data);
}

bool spti_io_take_report(spti_io_report *old) {
  *old = (spti_io_report){.lacked_memory = lacked_memory};
  lacked_memory = false;
  errno = 0;
  old->taken = H5Eget_auto2(H5E_DEFAULT, &old->handler, &old->data) >= 0 && H5Eset_auto2(H5E_DEFAULT, look_at_causes, NULL) >= 0;
  return old->taken;
}

/* A load inside another one leaves to that what it has seen itself. */
void spti_io_give_report(const spti_io_report *old) {
  lacked_memory = lacked_memory || old->lacked_memory;
  if (old->taken) H5Eset_auto2(H5E_DEFAULT, old->handler, old->data);
}

bool spti_io_lacked_memory(void) { return lacked_memory; }

void spti_io_note_lack(void) { lacked_memory = true; }

void spti_io_clear_lack(void) { lacked_memory = false; }

sptrsm_status spti_io_settle(sptrsm_status status, const char *where) {
  if (!lacked_memory || status == SPTRSM_ERR_MEMORY) return status;
  return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory to read it; use a machine with more memory, or h5ls if the file may be damaged",
                          where);
}
