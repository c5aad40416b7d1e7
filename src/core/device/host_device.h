/* host_device.h -- SPTI_ANYWHERE marks a function that host code and kernels share. */
#ifndef SPTI_CORE_DEVICE_HOST_DEVICE_H
#define SPTI_CORE_DEVICE_HOST_DEVICE_H

#ifdef __CUDACC__
#define SPTI_ANYWHERE __host__ __device__
#else
#define SPTI_ANYWHERE
#endif

#endif
