# install_test.cmake -- run by ctest; see CMakeLists.txt beside it for the variables.
cmake_minimum_required(VERSION 3.22)

# run(WHAT COMMAND...): the command must succeed.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${what}: ${result}\n${ARGN}\n${output}")
  endif()
  message(STATUS "${what}: ok")
endfunction()

# run_user(WHAT PROGRAM ARGUMENT...): it must succeed and print the solution it should.
function(run_user what program)
  execute_process(COMMAND ${program} ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0 OR NOT output MATCHES "sptrsm 0\\.1\\.0: x = 1 2 3")
    message(FATAL_ERROR "${what}: ${result}\n${output}${errors}")
  endif()
  message(STATUS "${what}: ${output}")
endfunction()

file(REMOVE_RECURSE ${WORK})
run("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)
set(prefix ${WORK}/moved)

# Beside libraries: each header of the sources, and with each program its man page and its completions.
file(GLOB headers RELATIVE ${SOURCE}/../../../include ${SOURCE}/../../../include/*.h)
set(expected include/sptrsm.hpp ${DATADIR}/sptrsm/fortran/sptrsm.f90 ${DATADIR}/sptrsm/fortran/sptrsm_types.f90)
foreach(header IN LISTS headers)
  if(WITH_IO OR NOT header STREQUAL "sptrsm_io.h")
    list(APPEND expected include/${header})
  endif()
endforeach()
if(WITH_IO)
  foreach(program sptrsm-solve sptrsm-info sptrsm-gen sptrsm-verify sptrsm-bench sptrsm-factor)
    if(EXISTS ${BUILD}/apps/${program} OR NOT program STREQUAL "sptrsm-factor") # which needs a direct solver
      list(APPEND expected ${BINDIR}/${program} ${MANDIR}/man1/${program}.1 ${DATADIR}/bash-completion/completions/${program}
        ${ZSH}/_${program} ${DATADIR}/fish/vendor_completions.d/${program}.fish)
    endif()
  endforeach()
endif()
foreach(file IN LISTS expected)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

set(names core)
if(WITH_IO)
  list(APPEND names io)
endif()

# By CMake: shared and static targets of one project.
run("cmake configure" ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/cmake -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix} -DWITH_IO=${WITH_IO}
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX})
run("cmake build" ${CMAKE_COMMAND} --build ${WORK}/cmake)
foreach(name IN LISTS names)
  foreach(kind shared static)
    run_user("cmake ${name} ${kind}" ${WORK}/cmake/user_${name}_${kind} ${DATA}/add32_splu.h5)
  endforeach()
endforeach()
run_user("cmake C++ shared" ${WORK}/cmake/user_cxx ${DATA}/add32_splu.h5)

# By pkg-config: shared first; then static, from a prefix without the shared libraries.
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
function(pkg_config_user name kind package)
  set(flags --cflags --libs)
  if(kind STREQUAL "static")
    list(PREPEND flags --static)
  endif()
  execute_process(COMMAND ${PKG_CONFIG} ${flags} ${package} OUTPUT_VARIABLE line RESULT_VARIABLE result ERROR_VARIABLE errors OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "pkg-config ${package}: ${errors}")
  endif()
  separate_arguments(arguments UNIX_COMMAND "${line}")
  set(program ${WORK}/pkg_${name}_${kind})
  run("pkg-config ${name} ${kind} build" ${CC} ${SOURCE}/user_${name}.c -o ${program} ${arguments} -Wl,-rpath,${prefix}/${LIBDIR})
  run_user("pkg-config ${name} ${kind}" ${program} ${DATA}/add32_splu.h5)
endfunction()
function(pkg_config_users kind)
  pkg_config_user(core ${kind} sptrsm)
  if(WITH_IO)
    pkg_config_user(io ${kind} sptrsm_io)
  endif()
endfunction()
pkg_config_users(shared)

# An installed program finds its libraries wherever the prefix went.
if(EXISTS ${prefix}/${BINDIR}/sptrsm-info)
  run("installed program" ${prefix}/${BINDIR}/sptrsm-info ${DATA}/add32_splu.h5)
endif()

file(GLOB shared ${prefix}/${LIBDIR}/*.so*)
file(REMOVE ${shared})
pkg_config_users(static)
