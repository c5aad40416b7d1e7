/* emulated_schedule.cpp -- the emulator's schedule for tests in C. */
#include "simt/emulator/emulated_gpu.h"
#include "simt/emulator/simt.h"

extern "C" void emulated_gpu_use_schedule(uint64_t seed) { simt::use(simt::schedule::from_seed(seed)); }
