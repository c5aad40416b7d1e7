/* overlap.c -- S of one item in S or a dense side of another one. */
#include "core/base/overlap.h"

#include "core/context/alloc.h"
#include "core/schur/schur.h"

/* Blocks that one call uses: S of each item is number i, its dense sides 2 i + count and the next one. */
static int64_t add_claims(spti_claim *out, sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  int64_t used = 0;
  for (int64_t i = 0; i < count; i++) {
    if (spti_block_span(&S[i]) > 0) out[used++] = spti_claim_of(&S[i], i, true);
    for (int k = 0; k < 2; k++) {
      const spti_schur_side *side = &items[i]->side[k];
      if (side->is_dense && spti_block_span(&side->dense) > 0) out[used++] = spti_claim_of(&side->dense, count + 2 * i + k, false);
    }
  }
  return used;
}

sptrsm_status spti_schur_check_overlap(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S) {
  const spti_claim *pair[2];
  spti_claim *claims;
  SPTI_TRY(spti_host_alloc(&claims, 3 * count, sizeof *claims, "blocks of the call"));
  const bool found = spti_find_overlap(pair, claims, add_claims(claims, items, count, S), NULL);
  const int64_t mine = found ? pair[0]->item : 0, its = found ? pair[1]->item : 0;
  spti_host_free(claims);
  if (!found) return SPTRSM_OK;
  if (its < count) return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: S overlaps S of item %lld", (long long)mine, (long long)its);
  const int64_t other = (its - count) / 2;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: S overlaps dense %s of item %lld", (long long)mine,
                   items[other]->side[(its - count) % 2].name, (long long)other);
}
