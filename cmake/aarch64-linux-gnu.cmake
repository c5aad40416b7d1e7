# Toolchain file: the host code for 64-bit ARM with Debian's cross compiler and its arm64 libraries; programs run under QEMU.
#   cmake -S . -B build/aarch64 --toolchain cmake/aarch64-linux-gnu.cmake -DSPTRSM_CUDA=OFF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(PKG_CONFIG_EXECUTABLE aarch64-linux-gnu-pkg-config CACHE FILEPATH "")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
