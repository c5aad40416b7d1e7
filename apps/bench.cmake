# sptrsm-bench: with CUDA it measures cuSPARSE by direct calls, times by device events and measures the limits of the device.
sptrsm_add_app(bench bench.c bench_args.c bench_check.c bench_inputs.c bench_json.c bench_limits_host.c bench_means.c bench_measure.c
  bench_run.c bench_table.c bench_tune.c bench_worker.c gen_triangle.c gen_pattern.c)
if(SPTRSM_WITH_CUDA)
  target_sources(sptrsm-bench PRIVATE bench_gpu.c bench_cusparse.c bench_compare.cu bench_limits.cu)
  target_include_directories(sptrsm-bench SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(sptrsm-bench PRIVATE CUDA::cudart_static CUDA::cusparse stdc++)
  set_target_properties(sptrsm-bench PROPERTIES LINKER_LANGUAGE C)
else()
  target_sources(sptrsm-bench PRIVATE bench_host.c)
endif()
