/* emulated_schedule.cpp -- the emulator's schedule and its reports for code in C. */
#include "simt/emulator/emulated_gpu.h"
#include "simt/emulator/simt.h"

extern "C" void emulated_gpu_use_schedule(uint64_t seed) { simt::use(simt::schedule::from_seed(seed)); }

extern "C" const char *emulated_gpu_error(void) { return simt::error().c_str(); }
