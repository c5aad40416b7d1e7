# Libraries of sparse direct solvers, all optional: target solver::NAME for each of CHOLMOD, UMFPACK, KLU and SUPERLU that is found
# (Debian: libsuitesparse-dev, libsuperlu-dev). sptrsm-factor and two examples use them; SPTRSM_FACTOR=OFF leaves them out.
option(SPTRSM_FACTOR "Build sptrsm-factor where a library of sparse direct solvers is found" ON)

set(SPTRSM_SOLVERS "")
function(sptrsm_find_solver name header library folder)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${folder})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    return()
  endif()
  add_library(solver::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(solver::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
  set(SPTRSM_SOLVERS ${SPTRSM_SOLVERS} ${name} PARENT_SCOPE)
endfunction()

if(SPTRSM_FACTOR)
  sptrsm_find_solver(CHOLMOD cholmod.h cholmod suitesparse)
  sptrsm_find_solver(UMFPACK umfpack.h umfpack suitesparse)
  sptrsm_find_solver(KLU klu.h klu suitesparse)
  sptrsm_find_solver(SUPERLU slu_ddefs.h superlu superlu)
endif()
message(STATUS "sptrsm: direct solvers: ${SPTRSM_SOLVERS}")
