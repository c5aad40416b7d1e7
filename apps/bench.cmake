# sptrsm-bench: with CUDA it measures cuSPARSE by direct calls and times by device events.
sptrsm_add_app(bench bench.c bench_check.c bench_measure.c)
if(SPTRSM_WITH_CUDA)
  target_sources(sptrsm-bench PRIVATE bench_gpu.c bench_cusparse.c)
  target_include_directories(sptrsm-bench SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(sptrsm-bench PRIVATE CUDA::cudart_static CUDA::cusparse)
else()
  target_sources(sptrsm-bench PRIVATE bench_host.c)
endif()
