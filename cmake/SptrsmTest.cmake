# How many times as long tests may take as in a plain build: under an emulator, and with instrumentation.
set(SPTRSM_TEST_SLOWNESS 1)
if(CMAKE_CROSSCOMPILING)
  set(SPTRSM_TEST_SLOWNESS 30)
elseif(SPTRSM_SANITIZE OR SPTRSM_TSAN OR SPTRSM_COVERAGE)
  set(SPTRSM_TEST_SLOWNESS 3)
endif()

# sptrsm_left_out(VARIABLE label...): whether one of the labels is SPTRSM_LEAVE_OUT_TESTS. Such a test is not registered in this build.
function(sptrsm_left_out variable)
  set(${variable} OFF PARENT_SCOPE)
  if(SPTRSM_LEAVE_OUT_TESTS AND "${SPTRSM_LEAVE_OUT_TESTS}" IN_LIST ARGN)
    set(${variable} ON PARENT_SCOPE)
  endif()
endfunction()

# sptrsm_set_tests_properties(NAME... PROPERTIES property value ...): of those of the tests that are registered.
function(sptrsm_set_tests_properties)
  cmake_parse_arguments(T "" "" "PROPERTIES" ${ARGN})
  foreach(name IN LISTS T_UNPARSED_ARGUMENTS)
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES ${T_PROPERTIES})
    endif()
  endforeach()
endfunction()

# sptrsm_leave_out(VARIABLE target label...): the same, and builds the target only on request then.
function(sptrsm_leave_out variable target)
  sptrsm_left_out(left_out ${ARGN})
  if(left_out)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  set(${variable} ${left_out} PARENT_SCOPE)
endfunction()

# Options of a target that is only for tests: -O1, which compiles faster than -O3. With sanitizers none at all: GCC takes three times as
# long to optimize what it has instrumented. scripts/test.sh leaves out UndefinedBehaviorSanitizer there by SPTRSM_TEST_OPTIONS.
function(sptrsm_test_options target)
  sptrsm_target_options(${target})
  if(SPTRSM_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-O0> ${SPTRSM_TEST_OPTIONS})
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# sptrsm_add_test(name SOURCES a.c ... [LIBRARIES ...] [LABELS ...] [TIMEOUT s] [ENVIRONMENT ...] [DEFINITIONS ...])
# A Criterion program that is one ctest test. Links the static library, so tests see hidden symbols.
function(sptrsm_add_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;DEFINITIONS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  math(EXPR T_TIMEOUT "${SPTRSM_TEST_SLOWNESS} * ${T_TIMEOUT}")
  add_executable(test_${name} ${T_SOURCES})
  sptrsm_test_options(test_${name})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests ${CRITERION_INCLUDE_DIR})
  target_link_libraries(test_${name} PRIVATE test_support sptrsm_static ${T_LIBRARIES} ${CRITERION_LIBRARY} Threads::Threads m)
  target_compile_definitions(test_${name} PRIVATE _GNU_SOURCE SPTRSM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    SPTRSM_DATA="${PROJECT_SOURCE_DIR}/data" ${T_DEFINITIONS})
  sptrsm_leave_out(left_out test_${name} ${T_LABELS})
  if(left_out)
    return()
  endif()
  if("gpu" IN_LIST T_LABELS) # one process at a time: a device that changes between processes is many times slower
    add_test(NAME ${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/support/gpu_or_skip.sh $<TARGET_FILE:gpu_present> $<TARGET_FILE:test_${name}>
      --jobs 1 --timeout ${T_TIMEOUT})
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
  else()
    add_test(NAME ${name} COMMAND test_${name} --timeout ${T_TIMEOUT})
  endif()
  # Criterion runs each case in a process of its own, and does not look at the exit code with which LeakSanitizer ends it.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 FAIL_REGULAR_EXPRESSION "ERROR: LeakSanitizer")
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
  if(T_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${T_ENVIRONMENT}")
  endif()
endfunction()
