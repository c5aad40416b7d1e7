# Debian packages by CPack, one for each component of the install rules; scripts/packages.sh builds and checks them:
#   libsptrsm0.1, libsptrsm-io0.1   the shared libraries, named after their soname; only the second needs HDF5
#   libsptrsm-dev                   headers, static libraries, packages for CMake and pkg-config
#   sptrsm-tools                    programs, man pages, completions, an example
# With the CUDA methods the names of all but libsptrsm-io0.1 end in -cuda, and a package takes the place of the one without.
set(SPTRSM_MAINTAINER "libsptrsm developers <sptrsm@localhost>" CACHE STRING "Name and address in the Debian packages")
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL sptrsm_lib sptrsm_io_lib sptrsm_dev sptrsm_tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_CONTACT ${SPTRSM_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE sptrsm)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src) # the packages name each other below
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/repack.cmake)
set(CPACK_SPTRSM_SOURCE ${PROJECT_SOURCE_DIR}) # for finish.cmake

set(variant "")
set(cusparse "")
set(cublas "")
if(SPTRSM_WITH_CUDA) # NVIDIA's packages for Debian
  set(variant -cuda)
  set(cusparse "libcusparse-${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR}")
  if(TARGET CUDA::cublas)
    set(cublas "libcublas-${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR}")
  endif()
endif()

# sptrsm_package(COMPONENT NAME SECTION SUMMARY TEXT DEPENDS...)
function(sptrsm_package component name section summary text)
  string(TOUPPER CPACK_DEBIAN_${component} prefix)
  list(JOIN ARGN ", " depends)
  set(${prefix}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(${prefix}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(${prefix}_DESCRIPTION "${summary}
Triangular systems op(T) X = alpha B and the solve phase of direct solvers,
with factors that SciPy, CHOLMOD, UMFPACK, KLU, SuperLU or MATLAB computed.

${text}" PARENT_SCOPE)
  if(name MATCHES "(.*)-cuda$")
    set(${prefix}_PACKAGE_PROVIDES "${CMAKE_MATCH_1} (= ${PROJECT_VERSION})" PARENT_SCOPE)
    set(${prefix}_PACKAGE_CONFLICTS ${CMAKE_MATCH_1} PARENT_SCOPE)
    set(${prefix}_PACKAGE_REPLACES ${CMAKE_MATCH_1} PARENT_SCOPE)
  endif()
endfunction()

set(exact "(= ${PROJECT_VERSION})")
set(library libsptrsm${SPTRSM_SOVERSION})
set(io_library libsptrsm-io${SPTRSM_SOVERSION})
sptrsm_package(sptrsm_lib ${library}${variant} libs "sparse triangular systems with many right-hand sides"
  "This package holds the shared library." ${cusparse})
sptrsm_package(sptrsm_io_lib ${io_library} libs "files of sparse triangular systems"
  "This package holds the shared library that reads and writes HDF5 and Matrix
Market files." "${library} ${exact}")
sptrsm_package(sptrsm_dev libsptrsm-dev${variant} libdevel "sparse triangular systems with many right-hand sides - development"
  "This package holds headers, static libraries, and what CMake and pkg-config
need. Linking statically takes zlib1g-dev, libjansson-dev and libhdf5-dev, too."
  "${library}${variant} ${exact}" "${io_library} ${exact}")
sptrsm_package(sptrsm_tools sptrsm-tools${variant} science "solve sparse triangular systems in files"
  "This package holds the programs, and a real system to try them on."
  "${library}${variant} ${exact}" "${io_library} ${exact}" ${cusparse} ${cublas})
foreach(component SPTRSM_LIB SPTRSM_IO_LIB)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
endforeach()
set(CPACK_DEBIAN_SPTRSM_DEV_PACKAGE_SUGGESTS "zlib1g-dev, libjansson-dev, libhdf5-dev")
include(CPack)
