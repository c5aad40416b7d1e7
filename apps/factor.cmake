# sptrsm-factor: built with the direct solvers that were found (cmake/SptrsmSolvers.cmake), and not at all without any. All but the
# program itself is an object library, which the comparison shares.
if(NOT SPTRSM_SOLVERS)
  return()
endif()
add_library(sptrsm_factor_objects OBJECT factor_check.c factor_matrix.c factor_rank.c factor_report.c factor_rhs.c factor_set.c)
sptrsm_target_options(sptrsm_factor_objects)
target_link_libraries(sptrsm_factor_objects PUBLIC sptrsm_apps)
foreach(name IN LISTS SPTRSM_SOLVERS)
  string(TOLOWER ${name} stem)
  target_sources(sptrsm_factor_objects PRIVATE factor_${stem}.c)
  target_compile_definitions(sptrsm_factor_objects PUBLIC WITH_${name})
  target_link_libraries(sptrsm_factor_objects PUBLIC solver::${name})
endforeach()
sptrsm_add_app(factor factor.c gen_pattern.c)
target_link_libraries(sptrsm-factor PRIVATE sptrsm_factor_objects)

# The solve phases of the libraries beside that of this one; a development tool that is not installed.
if(TARGET solver::CHOLMOD AND TARGET solver::UMFPACK AND TARGET solver::KLU)
  add_executable(compare_factors compare.c compare_check.c compare_cudss.c compare_mkl.c compare_native.c compare_own.c)
  sptrsm_target_options(compare_factors)
  target_link_libraries(compare_factors PRIVATE sptrsm_factor_objects sptrsm_bench_objects sptrsm_apps ${CMAKE_DL_LIBS})
  set_target_properties(compare_factors PROPERTIES LINKER_LANGUAGE C)
endif()
