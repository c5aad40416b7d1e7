/* none.c -- in place of Schur complements on a device in a build without CUDA, which has no context that could ask for them. */
#include "core/schur/gpu/gpu.h"

static sptrsm_status absent(void) { return spti_fail(SPTRSM_ERR_UNSUPPORTED, "this library was built without CUDA"); }

sptrsm_status spti_schur_gpu_create(sptrsm_schur *s) {
  (void)s;
  return absent();
}
void spti_schur_gpu_free(sptrsm_schur *s) { (void)s; }
sptrsm_status spti_schur_gpu_set_values(sptrsm_schur *s, int which) {
  (void)s, (void)which;
  return absent();
}
sptrsm_status spti_schur_gpu_work_bytes(size_t *out, sptrsm_schur *const *items, int64_t count, bool host_S) {
  (void)out, (void)items, (void)count, (void)host_S;
  return absent();
}
sptrsm_status spti_schur_gpu_solve(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  (void)items, (void)count, (void)S;
  return absent();
}
void spti_schur_gpu_facts(sptrsm_schur_facts *out, const sptrsm_schur *s) { (void)out, (void)s; }
