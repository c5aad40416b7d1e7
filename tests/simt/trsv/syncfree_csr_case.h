/* syncfree_csr_case.h -- a workspace of syncfree-csr on the emulator, and the arguments that solve with it on rows as they are stored. */
#ifndef TESTS_SIMT_TRSV_SYNCFREE_CSR_CASE_H
#define TESTS_SIMT_TRSV_SYNCFREE_CSR_CASE_H

#include <vector>

#include "core/two_blocks/kernels.h"
#include "simt/cases/problem.h"
#include "trsv/syncfree_csr/kernels.h"

/* Still to be set in `args`: lanes or average, and the transfer. */
struct stored_rows_solve {
  std::vector<double> work;
  std::vector<int32_t> control;
  int64_t lost = 0; /* 1 + the row of a lost dependency */
  spti_syncfree_csr_args args = {};

  /* For up to `columns` right-hand sides of a system whose columns are the rows of a forward solve. The system must outlive this. */
  stored_rows_solve(const problem<double> &system, int32_t columns, int32_t spin_limit)
      : work(2 * size_t(system.view.n) * size_t(columns)), control(SPTI_TWO_BLOCKS_CONTROL_WORDS) {
    args.n = system.view.n;
    args.dtype = SPTRSM_F64;
    args.view = system.view;
    args.view.pull = true;
    args.view.backward = false;
    args.work = work.data();
    args.stride = args.n;
    args.block_size = int64_t(args.n) * columns;
    args.block_warps = 2;
    args.sync = {control.data(), &lost, spin_limit};
  }
  stored_rows_solve(const stored_rows_solve &) = delete; /* args points into it */

  /* Fills both work blocks; 0, or a cudaError_t. */
  int start() {
    const spti_two_blocks_args blocks = {control.data(), (int64_t *)work.data(), int64_t(work.size())};
    return spti_two_blocks_start_launch(&blocks, nullptr);
  }
};

#endif
