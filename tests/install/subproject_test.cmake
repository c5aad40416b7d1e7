# cmake -D SOURCE=project -D WORK=folder -D GENERATOR=... -D CRITERION=folder of its headers -P subproject_test.cmake
# Configures, without building: this project inside another one, and this project where Criterion can't be found.
file(REMOVE_RECURSE ${WORK})
function(configure what)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -D SPTRSM_CUDA=OFF ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what}: ${out}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

configure("as a part of another project" -S ${SOURCE}/tests/install/subproject -B ${WORK}/part -D SPTRSM_SOURCE=${SOURCE})
file(GLOB_RECURSE rules ${WORK}/part/sptrsm/*cmake_install.cmake)
foreach(file IN LISTS rules)
  file(READ ${file} text)
  if(text MATCHES "file\\(INSTALL")
    message(FATAL_ERROR "${file} installs something")
  endif()
endforeach()

configure("without Criterion" -S ${SOURCE} -B ${WORK}/bare -D SPTRSM_BUILD_APPS=OFF -D SPTRSM_BUILD_EXAMPLES=OFF -D CMAKE_IGNORE_PATH=${CRITERION})
if(NOT said MATCHES "the tests are left out")
  message(FATAL_ERROR "no message that the tests are left out: ${said}")
endif()
