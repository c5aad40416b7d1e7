/* gpu_present.c -- exit 0 if there is a CUDA device, else 1. It is a program of its own because a process that has started CUDA must not
 * fork, and the tests fork. */
#include <sptrsm.h>

int main(void) { return sptrsm_device_count() > 0 ? 0 : 1; }
