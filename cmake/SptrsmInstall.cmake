# Install rules: headers, libraries, CMake package (sptrsm::sptrsm, sptrsm::io and their _static twins), pkg-config files.
# The prefix can be moved afterwards: package files and run paths are relative. Programs, man pages and completions: apps/CMakeLists.txt.
# The components sptrsm_lib, sptrsm_io_lib, sptrsm_dev and sptrsm_tools become packages (SptrsmPackages.cmake).
include(CMakePackageConfigHelpers)

set(SPTRSM_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sptrsm)

install(FILES include/sptrsm.h include/sptrsm_auto.h include/sptrsm_batch.h include/sptrsm_inspect.h include/sptrsm_multi.h include/sptrsm_reach.h
  include/sptrsm_refine.h include/sptrsm_schur.h bindings/cpp/sptrsm.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sptrsm_dev)
install(FILES bindings/fortran/sptrsm_types.f90 bindings/fortran/sptrsm.f90 DESTINATION ${CMAKE_INSTALL_DATADIR}/sptrsm/fortran
  COMPONENT sptrsm_dev)

# sptrsm_install_library(NAME EXPORT): shared and static library, and their targets for find_package.
function(sptrsm_install_library name export)
  install(TARGETS ${name} ${name}_static EXPORT ${export} ARCHIVE COMPONENT sptrsm_dev
    LIBRARY COMPONENT ${name}_lib NAMELINK_COMPONENT sptrsm_dev)
  install(EXPORT ${export} NAMESPACE sptrsm:: DESTINATION ${SPTRSM_CMAKE_DIR} COMPONENT sptrsm_dev)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
endfunction()
sptrsm_install_library(sptrsm sptrsm-targets)
if(TARGET sptrsm_io)
  install(FILES include/sptrsm_io.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sptrsm_dev)
  sptrsm_install_library(sptrsm_io sptrsm-io-targets)
endif()

set(SPTRSM_WITH_IO ${SPTRSM_BUILD_APPS})
configure_package_config_file(cmake/sptrsmConfig.cmake.in ${PROJECT_BINARY_DIR}/sptrsmConfig.cmake INSTALL_DESTINATION ${SPTRSM_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sptrsmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sptrsmConfig.cmake ${PROJECT_BINARY_DIR}/sptrsmConfigVersion.cmake DESTINATION ${SPTRSM_CMAKE_DIR}
  COMPONENT sptrsm_dev)

# What a static link needs besides the archive, as pkg-config says it. Archives and libraries of CMake's lists are full paths.
set(SPTRSM_PC_PRIVATE "-lm -lpthread")
if(SPTRSM_WITH_CUDA)
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  get_target_property(cusparse CUDA::cusparse IMPORTED_LOCATION)
  string(APPEND SPTRSM_PC_PRIVATE " ${cudart} ${cusparse} -lstdc++ -ldl -lrt")
endif()
set(SPTRSM_PC_IO_PRIVATE "")
foreach(library IN LISTS HDF5_C_LIBRARIES)
  string(APPEND SPTRSM_PC_IO_PRIVATE "${library} ")
endforeach()
string(APPEND SPTRSM_PC_IO_PRIVATE "-ljansson -lz -lm")

# From lib/pkgconfig back to the prefix; a LIBDIR with more parts (lib/x86_64-linux-gnu) or an absolute one works too.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(SPTRSM_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(SPTRSM_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(directory LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    set(SPTRSM_PC_${directory} "${CMAKE_INSTALL_${directory}}")
  else()
    set(SPTRSM_PC_${directory} "\${prefix}/${CMAKE_INSTALL_${directory}}")
  endif()
endforeach()
set(packages sptrsm)
if(SPTRSM_WITH_IO)
  list(APPEND packages sptrsm_io)
endif()
foreach(package IN LISTS packages)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT sptrsm_dev)
endforeach()
