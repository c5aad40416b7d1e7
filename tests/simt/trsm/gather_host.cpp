/* The host code of gather over its kernels on the emulated GPU: analysis, new values, panels of every width, workspaces that a solve
 * left unfinished, allocations that fail. What the kernels do under adversarial schedules is in gather.cpp. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/host_case.h"

extern "C" const struct spti_method spti_method_gather;

namespace {

struct opened : host_case {
  opened(shape pattern, bool unit) : host_case(&spti_method_gather, pattern, unit) {}
};
using blocks = host_blocks;

const char *const variants[] = {"",          "split=4,segment=3", "form=lanes,split=1,segment=1", "form=slots,split=5,segment=2",
                                "form=rows", "form=pairs,sort=3"};

} // namespace

/* A panel as wide as the block, wider, and of one column: the same bits; new values are those of the next solve. */
Test(simt_gather_host, panels_and_values) {
  for (int s = 0; s < int(shape::count); s++)
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
      if (spared(v + size_t(s), 3)) continue;
      const char *variant = variants[v];
      opened o(shape(s), s % 2 != 0);
      blocks whole, single;
      std::vector<double> other(o.columns.val);
      for (double &value : other) value = -3 * value;
      cr_assert_eq(o.analyse(variant), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
      for (const double factor : {1.0, -3.0}) {
        if (factor != 1.0) cr_assert_eq(method_case_new_values(o.plan, other.data()), SPTRSM_OK);
        const spti_transfer all = whole.part(0, WIDTH);
        cr_assert_eq(method_case_solve(o.plan, WIDTH + s, &all, 2), SPTRSM_OK, "%s", sptrsm_last_error());
        const double worst = o.residual(whole.X, whole.B, factor);
        cr_assert(worst <= 1, "%s, %s: residual %g bounds", shape_name(shape(s)), variant, worst);
        for (int32_t k = 0; k < WIDTH; k++) {
          const spti_transfer one = single.part(k, 1);
          cr_assert_eq(method_case_solve(o.plan, 1, &one, 1), SPTRSM_OK, "%s", sptrsm_last_error());
        }
        cr_assert(memcmp(whole.X.data(), single.X.data(), sizeof(double) * N * WIDTH) == 0, "%s, %s: other bits in panels of one",
                  shape_name(shape(s)), variant);
      }
    }
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* After a lost dependency was reported every workspace is made whole before its next solve, not the first one alone. */
Test(simt_gather_host, workspaces_after_a_loss) {
  for (const char *variant : variants) {
    opened o(shape::random, false);
    blocks first, second;
    cr_assert_eq(o.analyse(variant), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
    const spti_transfer transfers[] = {first.part(0, WIDTH), second.part(0, WIDTH)};
    cr_assert_eq(method_case_solve_after_loss(o.plan, WIDTH, transfers), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
    cr_assert(o.residual(first.X, first.B, 1) <= 1, "%s: the first workspace", variant);
    cr_assert(o.residual(second.X, second.B, 1) <= 1, "%s: the second workspace", variant);
  }
}

/* A row of the work blocks is counted in bytes by 32 bits: a panel too wide for that is refused before memory is asked for. */
Test(simt_gather_host, widest_panel) {
  opened o(shape::chain, false);
  cr_assert_eq(o.analyse(""), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(method_case_solve(o.plan, INT32_MAX / 16 + 1, nullptr, 0), SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strstr(sptrsm_last_error(), "134217728 right-hand sides, more than 134217727"), "%s", sptrsm_last_error());
}

/* Each allocation of an analysis and a work fails once: an error, and nothing left over. */
Test(simt_gather_host, allocations) {
  sptrsm_status status = SPTRSM_ERR_MEMORY;
  int fail_at = 0;
  for (; status != SPTRSM_OK; fail_at++) {
    {
      opened o(shape::dense_last, false);
      emulated_gpu_fail_at = fail_at;
      status = o.analyse("split=8,segment=4");
      if (status == SPTRSM_OK) status = method_case_solve(o.plan, WIDTH, nullptr, 0);
      emulated_gpu_fail_at = -1;
      cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "allocation %d: %s", fail_at, sptrsm_last_error());
    }
    cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", fail_at, emulated_gpu_blocks);
  }
  cr_assert_gt(fail_at, 7, "only %d allocations", fail_at - 1);
}
