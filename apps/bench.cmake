# sptrsm-bench: with CUDA it measures cuSPARSE by direct calls, times by device events and measures the limits of the device. All but
# the program itself is an object library, so that tests reach it.
add_library(sptrsm_bench_objects OBJECT bench_args.c bench_check.c bench_inputs.c bench_json.c bench_limits_host.c bench_means.c
  bench_measure.c bench_run.c bench_table.c bench_tune.c bench_tune_auto.c bench_worker.c gen_triangle.c gen_pattern.c tune_bounds.c)
sptrsm_target_options(sptrsm_bench_objects)
target_link_libraries(sptrsm_bench_objects PUBLIC sptrsm_apps)
if(SPTRSM_WITH_CUDA)
  target_sources(sptrsm_bench_objects PRIVATE bench_gpu.c bench_cusparse.c bench_compare.cu bench_limits.cu)
  target_include_directories(sptrsm_bench_objects SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(sptrsm_bench_objects PUBLIC CUDA::cudart_static CUDA::cusparse stdc++)
  if(TARGET CUDA::cublas) # the peer on dense triangles; the library does not use it
    target_sources(sptrsm_bench_objects PRIVATE bench_cublas.c)
    target_compile_definitions(sptrsm_bench_objects PRIVATE BENCH_CUBLAS)
    target_link_libraries(sptrsm_bench_objects PUBLIC CUDA::cublas)
  endif()
else()
  target_sources(sptrsm_bench_objects PRIVATE bench_host.c)
endif()
sptrsm_add_app(bench bench.c)
target_link_libraries(sptrsm-bench PRIVATE sptrsm_bench_objects)
set_target_properties(sptrsm-bench PROPERTIES LINKER_LANGUAGE C)
