/* hash.c -- spti_hash: eight lanes of 64 bits take the words of the data in turn. A lane adds the product of the two halves of a word,
 * after an exclusive or with a key for the place of the word, and the word itself. After each stripe of words the lanes are mixed, so
 * stripes have an order, too. The products are of 32 bits, which vector units have, and no word waits for another, so the speed is that
 * of memory. Compilers do not find the vectors, so they are written out. Threads take pieces of the data, whose hashes are joined in
 * order. */
#include <string.h>

#include "core/base/isa.h"
#include "core/blob/blob.h"
#include "core/context/team.h"

#ifdef SPTI_X86_KERNELS
#include <immintrin.h>
#endif

enum { LANES = 8, STRIPE = 512 /* words */, PIECE = 1 << 18 /* bytes */, ROUND = 256 /* pieces */ };
enum { AHEAD = 4096 }; /* bytes that are asked for early; processors themselves look ahead to the end of a page only */
static const uint64_t ODD = 0x9E3779B97F4A7C15u, MIX = 0xD6E8FEB86659FD93u;

uint64_t spti_hash_join(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + ODD + (a << 6) + (a >> 2))) * MIX;
  h ^= h >> 32;
  h *= MIX;
  return h ^ h >> 29;
}

/* Adds the words of one stripe, or fewer, a multiple of LANES. */
typedef void add_words(uint64_t lane[LANES], const uint64_t key[STRIPE], const char *data, size_t words);

static void add_baseline(uint64_t lane[LANES], const uint64_t key[STRIPE], const char *data, size_t words) {
  for (size_t w = 0; w < words; w += LANES)
    for (size_t l = 0; l < LANES; l++) {
      uint64_t word;
      memcpy(&word, data + (w + l) * sizeof word, sizeof word);
      const uint64_t keyed = word ^ key[w + l];
      lane[l] += (keyed & UINT32_MAX) * (keyed >> 32) + word;
    }
}

#ifdef SPTI_X86_KERNELS
__attribute__((target("avx2"))) static void add_avx2(uint64_t lane[LANES], const uint64_t key[STRIPE], const char *data, size_t words) {
  enum { VECTORS = LANES * sizeof *lane / sizeof(__m256i) };
  __m256i sum[VECTORS];
  memcpy(sum, lane, sizeof sum);
  for (size_t w = 0; w < words; w += LANES) {
    const __m256i *keys = (const __m256i *)(key + w), *at = (const __m256i *)(data + w * sizeof *key);
    __builtin_prefetch((const void *)((uintptr_t)at + AHEAD)); /* may lie beyond the data */
    for (int v = 0; v < VECTORS; v++) {
      const __m256i word = _mm256_loadu_si256(at + v), keyed = _mm256_xor_si256(word, _mm256_loadu_si256(keys + v));
      sum[v] = _mm256_add_epi64(sum[v], _mm256_add_epi64(_mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32)), word));
    }
  }
  memcpy(lane, sum, sizeof sum);
}
#endif

static add_words *best_add(void) {
#ifdef SPTI_X86_KERNELS
  if (spti_isa_runs(SPTI_ISA_AVX2)) return add_avx2;
#endif
  return add_baseline;
}

static void add_stripe(add_words *add, uint64_t lane[LANES], const uint64_t key[STRIPE], const char *data, size_t words) {
  add(lane, key, data, words);
  for (size_t l = 0; l < LANES; l++) lane[l] = (lane[l] ^ lane[l] >> 31) * MIX;
}

static uint64_t hash_piece(const char *data, size_t bytes) {
  add_words *const add = best_add();
  uint64_t lane[LANES], key[STRIPE], rest[LANES] = {0}, hash = bytes;
  const size_t words = bytes / (LANES * sizeof *lane) * LANES;
  for (size_t k = 0; k < STRIPE && k < words + LANES; k++) key[k] = spti_hash_join(ODD, k);
  for (size_t l = 0; l < LANES; l++) lane[l] = ODD * (l + 1);
  for (size_t w = 0; w < words; w += STRIPE) add_stripe(add, lane, key, data + w * sizeof *lane, words - w < STRIPE ? words - w : STRIPE);
  const size_t left = bytes - words * sizeof *lane;
  if (left > 0) memcpy(rest, data + words * sizeof *lane, left);
  add_stripe(add, lane, key, (const char *)rest, LANES);
  for (size_t l = 0; l < LANES; l++) hash = spti_hash_join(hash, lane[l]);
  return hash;
}

typedef struct {
  const char *data;
  size_t bytes;
  uint64_t hash[ROUND];
} hash_round;

static void hash_one(void *argument, int64_t piece, int member) {
  hash_round *r = argument;
  const size_t begin = (size_t)piece * PIECE, left = r->bytes - begin;
  (void)member;
  r->hash[piece] = hash_piece(r->data + begin, left < PIECE ? left : PIECE);
}

uint64_t spti_hash(spti_team *team, const void *data, size_t bytes) {
  uint64_t hash = bytes;
  for (size_t done = 0; done < bytes;) {
    const size_t left = bytes - done, most = (size_t)ROUND * PIECE;
    hash_round r = {.data = (const char *)data + done, .bytes = left < most ? left : most};
    const int64_t pieces = (int64_t)((r.bytes - 1) / PIECE + 1);
    spti_team_run(team, team ? spti_team_threads(team) : 1, pieces, hash_one, &r);
    for (int64_t p = 0; p < pieces; p++) hash = spti_hash_join(hash, r.hash[p]);
    done += r.bytes;
  }
  return hash;
}
