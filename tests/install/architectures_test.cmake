# architectures_test.cmake -- for which GPUs kernels are compiled, by a stand-in for nvcc and one for nvidia-smi.
#   cmake -D MODULE=cmake/SptrsmArchitectures.cmake -D WORK=FOLDER -P architectures_test.cmake
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(stand_in name text)
  file(WRITE ${WORK}/${name} "#!/bin/sh\n${text}\n")
  file(CHMOD ${WORK}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
set(ENV{PATH} "${WORK}:/usr/bin:/bin")
set(CMAKE_CUDA_COMPILER ${WORK}/nvcc)
include(${MODULE})
set(PROJECT_IS_TOP_LEVEL ON)

# expect(ASKED WANTED): what is chosen if the user asks for ASKED, or for nothing.
function(expect asked wanted)
  unset(CMAKE_CUDA_ARCHITECTURES CACHE)
  set(CMAKE_CUDA_ARCHITECTURES "${asked}")
  if(asked STREQUAL "")
    unset(CMAKE_CUDA_ARCHITECTURES)
  endif()
  sptrsm_choose_architectures()
  if(NOT "${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "${wanted}")
    message(SEND_ERROR "asked for \"${asked}\": chosen ${CMAKE_CUDA_ARCHITECTURES}, not ${wanted}")
  endif()
endfunction()

set(ENV{CUDAARCHS} "")
stand_in(nvcc "for a in 75 80 86 87 88 89 90 100 110 103 120 121; do echo compute_$a; done") # as CUDA 13.0 lists them
stand_in(nvidia-smi "exit 9")
set(cuda13 75-real 80-real 90-real 100-real 110-real 120)
expect("" "${cuda13}")
expect(all-major "${cuda13}")
expect(86 86)
expect("80;90-real" "80;90-real")

stand_in(nvidia-smi "printf '8.9\\n12.0\\n8.9\\n'")
expect("" "89;120")
expect(native "89;120")
expect(all-major "${cuda13}")
stand_in(nvidia-smi "echo 7.0") # which that nvcc does not know
expect("" "${cuda13}")

set(ENV{CUDAARCHS} 86) # which CMake reads itself
expect("" "")
expect(all-major "${cuda13}") # the option outweighs it
set(ENV{CUDAARCHS} "")
expect(OFF OFF) # none by CMake: the user gives nvcc's options

# What was chosen stays when CMake configures again in another environment.
function(expect_kept)
  unset(CMAKE_CUDA_ARCHITECTURES CACHE)
  unset(CMAKE_CUDA_ARCHITECTURES)
  set(ENV{CUDAARCHS} all-major)
  sptrsm_choose_architectures()
  unset(CMAKE_CUDA_ARCHITECTURES) # the cache is what the next run begins with
  set(ENV{CUDAARCHS} "")
  stand_in(nvidia-smi "echo 8.9")
  sptrsm_choose_architectures()
  if(NOT "${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "${cuda13}")
    message(SEND_ERROR "configured again: ${CMAKE_CUDA_ARCHITECTURES}, not ${cuda13}")
  endif()
endfunction()
expect_kept()

# As a part of another project: that project's choice is not touched.
function(expect_untouched)
  set(PROJECT_IS_TOP_LEVEL OFF)
  set(CMAKE_CUDA_ARCHITECTURES all-major CACHE STRING "of the parent" FORCE)
  sptrsm_choose_architectures()
  if(NOT "${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "${cuda13}" OR NOT "$CACHE{CMAKE_CUDA_ARCHITECTURES}" STREQUAL "all-major")
    message(SEND_ERROR "in a parent: ${CMAKE_CUDA_ARCHITECTURES}, and $CACHE{CMAKE_CUDA_ARCHITECTURES} in its cache")
  endif()
endfunction()
expect_untouched()
stand_in(nvidia-smi "echo 7.0")
stand_in(nvcc "for a in 50 52 53 60 61 62 70 72 75 80 86 87 89 90; do echo compute_$a; done") # as CUDA 12.4 does
expect("" 70)
expect(all-major "70-real;80-real;90")

# expect_shared(WANTED CODE ARCHITECTURE...): what is left, and what is compiled by the PTX of 90.
function(expect_shared wanted wanted_code)
  sptrsm_share_ptx(others code ${ARGN})
  if(NOT "${others}" STREQUAL "${wanted}" OR NOT "${code}" STREQUAL "${wanted_code}")
    message(SEND_ERROR "of ${ARGN}: ${others} and ${code}, not ${wanted} and ${wanted_code}")
  endif()
endfunction()
expect_shared("75-real;80-real" "--generate-code=arch=compute_90,code=[compute_90,sm_90,sm_100,sm_110,sm_120]" ${cuda13})
expect_shared("" "--generate-code=arch=compute_90,code=[compute_90,sm_90,sm_120]" 90 120-real)
expect_shared("" "--generate-code=arch=compute_90,code=[sm_90,sm_100]" 90-real 100-real)
expect_shared("70-real;80-real;90" "" 70-real 80-real 90)
expect_shared("80;90a;100-virtual;120" "" 80 90a 100-virtual 120)
