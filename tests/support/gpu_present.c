/* gpu_present.c -- exit 0 if there is a CUDA device, else 1. A program of its own: a process that has started CUDA must not fork,
 * and the tests run in forks. */
#include <sptrsm.h>

int main(void) { return sptrsm_device_count() > 0 ? 0 : 1; }
