# Language standards, warnings, sanitizers, and the decision whether CUDA is built.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(SPTRSM_WITH_CUDA OFF)
if(NOT SPTRSM_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    include(SptrsmArchitectures)
    sptrsm_choose_architectures()
    enable_language(CUDA)
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " SPTRSM_CUDA_CODE) # for the error that a device is of another architecture
    string(REGEX REPLACE "-(real|virtual)" "" SPTRSM_CUDA_CODE "${SPTRSM_CUDA_CODE}")
    message(STATUS "sptrsm: GPU architectures: ${SPTRSM_CUDA_CODE}")
    sptrsm_share_ptx(sptrsm_others sptrsm_shared ${CMAKE_CUDA_ARCHITECTURES})
    if(sptrsm_shared AND CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
      add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:${sptrsm_shared}>)
      set(CMAKE_CUDA_ARCHITECTURES ${sptrsm_others})
      if(NOT sptrsm_others)
        set(CMAKE_CUDA_ARCHITECTURES OFF)
      endif()
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(SPTRSM_WITH_CUDA ON)
  elseif(SPTRSM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SPTRSM_CUDA=ON, but no CUDA compiler was found. Put nvcc on PATH, set CUDACXX, or configure with -DSPTRSM_CUDA=OFF.")
  endif()
endif()
message(STATUS "sptrsm: CUDA methods: ${SPTRSM_WITH_CUDA}")

# Only sptrsm-solve and an example use MPI; the libraries know nothing of it.
set(SPTRSM_WITH_MPI OFF)
if(NOT SPTRSM_MPI STREQUAL "OFF" AND (SPTRSM_BUILD_APPS OR SPTRSM_BUILD_EXAMPLES))
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    set(SPTRSM_WITH_MPI ON)
  elseif(SPTRSM_MPI STREQUAL "ON")
    message(FATAL_ERROR "SPTRSM_MPI=ON, but no MPI was found (Debian: libopenmpi-dev). Configure with -DSPTRSM_MPI=OFF to build without it.")
  endif()
endif()
message(STATUS "sptrsm: MPI in sptrsm-solve: ${SPTRSM_WITH_MPI}")

# For arithmetic whose bits are promised: products are never fused with sums, so that scalar and vector loops agree.
include(CheckCCompilerFlag)
set(SPTRSM_EXACT_FLAGS -ffp-contract=off)

# Every product is fused with its sum, or the bits of a row would depend on how many rows and columns a kernel takes at once. GCC leaves
# products unfused where it puts those of a loop into vectors of its own (the kernels have vectors already), and, in tunings for some
# processors and in GCC 13 for all, in long chains of sums.
set(SPTRSM_FUSED_FLAGS -ffp-contract=fast -mfma)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND SPTRSM_FUSED_FLAGS -fno-tree-vectorize -ftree-slp-vectorize --param=avoid-fma-max-bits=0)
endif()

# Warnings and instrumentation for a target of this project.
function(sptrsm_target_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  if(SPTRSM_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
  if(SPTRSM_SANITIZE)
    # -O1 -g1: half the time of compilation, a tenth more at run time
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1)
  elseif(SPTRSM_FUZZ)
    set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1)
  elseif(SPTRSM_TSAN)
    set(flags -fsanitize=thread -fno-omit-frame-pointer)
  endif()
  if(flags)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:${flags}>)
    target_link_options(${target} PUBLIC ${flags})
  endif()
  if(SPTRSM_COVERAGE) # several threads count
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:--coverage -fprofile-update=atomic -O1 -DSPTRSM_COVERAGE>)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()
