/* none.c -- in place of the engines for a GPU in a build without CUDA, which has no context that could call them. */
#include "core/batch/batch.h"

const spti_batch_engine spti_batch_uniform_gpu, spti_batch_mixed_gpu;
