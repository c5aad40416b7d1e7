/* device.h -- the device interface of core/device/device.cuh on the emulator (simt.h). device.cuh includes it when SPTI_SIMT is defined and
 * explains the names. CUDA is not needed. */
#ifndef TESTS_SIMT_EMULATOR_DEVICE_H
#define TESTS_SIMT_EMULATOR_DEVICE_H

#include <math.h>
#include <string.h>

#include "simt/emulator/simt.h"

#define SPTI_DEVICE                           inline
#define SPTI_KERNEL(threads)                  void
#define SPTI_KERNEL_RESIDENT(threads, blocks) void
#define SPTI_SHARED(type, name, count)        type *const name = (type *)simt::shared_array(sizeof(type) * (count))
#define SPTI_DYNAMIC_SHARED(type, name)       type *const name = (type *)simt::shared_array(simt::dynamic_shared())

namespace spti {

inline int thread_in_block() { return simt::thread_in_block(); }
inline int threads_per_block() { return simt::threads_per_block(); }
inline int block_in_grid() { return simt::block_in_grid(); }
inline int blocks_per_grid() { return simt::blocks_per_grid(); }
inline int lane() { return thread_in_block() % 32; }
inline int warp_in_block() { return thread_in_block() / 32; }
inline int warps_per_block() { return threads_per_block() / 32; }

/* ---- words as bits ---- */

template <typename W> struct word_kind;
template <> struct word_kind<int32_t> { static constexpr simt::word value = simt::word::i32; };
template <> struct word_kind<int64_t> { static constexpr simt::word value = simt::word::i64; };
template <> struct word_kind<float> { static constexpr simt::word value = simt::word::f32; };
template <> struct word_kind<double> { static constexpr simt::word value = simt::word::f64; };

/* No memcpy: without optimizations that is a call, and with AddressSanitizer a slow one. The low bytes come first. */
template <typename W> union word_bits {
  uint64_t bits;
  W v;
};
template <typename W> uint64_t to_bits(W v) {
  word_bits<W> word = {0};
  word.v = v;
  return word.bits;
}
template <typename W> W from_bits(uint64_t bits) {
  const word_bits<W> word = {bits};
  return word.v;
}
inline float bits_to_float(uint32_t v) { return from_bits<float>(v); }
inline double bits_to_double(uint64_t v) { return from_bits<double>(v); }
inline uint32_t float_bits(float v) { return uint32_t(to_bits(v)); }
inline uint64_t double_bits(double v) { return to_bits(v); }

/* ---- memory: overloads for words only, as on the device, so that complex values use those of device.cuh ---- */

/* Writes to shared memory are delayed like those to global memory. */
#define SIMT_WORD(W)                                                                                                                       \
  inline W load_const(const W *p) { return from_bits<W>(simt::read(p, word_kind<W>::value, simt::access::constant)); }                     \
  inline W load(const W *p) { return from_bits<W>(simt::read(p, word_kind<W>::value, simt::access::relaxed)); }                            \
  inline W load_relaxed(const W *p) { return load(p); }                                                                                    \
  inline W load_relaxed_if(bool wanted, const W *p, W v) { return wanted ? load(p) : v; }                                                  \
  inline W load_const_if(bool wanted, const W *p, W v) { return wanted ? load_const(p) : v; }                                              \
  inline W load_once(const W *p) { return load(p); }                                                                                       \
  inline W load_acquire(const W *p) { return from_bits<W>(simt::read(p, word_kind<W>::value, simt::access::ordered)); }                    \
  inline void store(W *p, W v) { simt::write(p, word_kind<W>::value, to_bits(v), false, simt::access::relaxed); }                          \
  inline void store_once(W *p, W v) { store(p, v); }                                                                                       \
  inline void store_relaxed(W *p, W v) { store(p, v); }                                                                                    \
  inline void store_release(W *p, W v) { simt::write(p, word_kind<W>::value, to_bits(v), false, simt::access::ordered); }                  \
  inline void red_add(W *p, W v) { simt::write(p, word_kind<W>::value, to_bits(v), true, simt::access::relaxed); }                         \
  inline W shared_load_relaxed(const W *p) { return load(p); }                                                                             \
  inline void shared_store(W *p, W v) { store(p, v); }                                                                                     \
  inline void shared_store_relaxed(W *p, W v) { store(p, v); }                                                                             \
  inline void shared_red_add(W *p, W v) { red_add(p, v); }                                                                                 \
  inline W shfl(W v, int from) { return from_bits<W>(simt::shuffle(to_bits(v), from)); }
SIMT_WORD(int32_t)
SIMT_WORD(int64_t)
SIMT_WORD(float)
SIMT_WORD(double)
#undef SIMT_WORD

inline uint8_t load_const(const uint8_t *p) { return *p; }
inline void store(uint8_t *p, uint8_t v) { *p = v; }
template <typename W> two<W> load_const(const two<W> *p) { return {load_const(&p->first), load_const(&p->second)}; }
template <typename W> two<W> load(const two<W> *p) { return {load(&p->first), load(&p->second)}; }
template <typename W> two<W> load_relaxed(const two<W> *p) { return {load_relaxed(&p->first), load_relaxed(&p->second)}; }
template <typename W> void store(two<W> *p, two<W> v) {
  store(&p->first, v.first);
  store(&p->second, v.second);
}
template <typename W> void store_once(two<W> *p, two<W> v) {
  store_once(&p->first, v.first);
  store_once(&p->second, v.second);
}
template <typename W> void store_relaxed(two<W> *p, two<W> v) {
  store_relaxed(&p->first, v.first);
  store_relaxed(&p->second, v.second);
}

inline void red_add_release(int32_t *p, int32_t v) { simt::write(p, simt::word::i32, to_bits(v), true, simt::access::ordered); }
inline int32_t generic_load_relaxed(const int32_t *p) { return load(p); }
inline int32_t shared_load_acquire(const int32_t *p) { return load_acquire(p); }
inline void shared_red_add_release(int32_t *p, int32_t v) { red_add_release(p, v); }
inline int32_t fetch_add(int32_t *p, int32_t v) {
  return from_bits<int32_t>(simt::read_modify_write(p, simt::word::i32, to_bits(v), true));
}
inline int32_t exchange(int32_t *p, int32_t v) {
  return from_bits<int32_t>(simt::read_modify_write(p, simt::word::i32, to_bits(v), false));
}
/* By exchanges: a value that is taken out and is greater than the one put in is put back, so the maximum is never lost. */
inline void red_max(int32_t *p, int32_t v) {
  for (int32_t out = exchange(p, v); out > v; out = exchange(p, v)) v = out;
}
inline void red_max(int64_t *p, int64_t v) {
  for (;;) {
    const int64_t out = from_bits<int64_t>(simt::read_modify_write(p, simt::word::i64, to_bits(v), false));
    if (out <= v) return;
    v = out;
  }
}
/* Likewise no bit is lost. */
inline void shared_red_or(int32_t *p, int32_t v) {
  for (int32_t out = exchange(p, v); out & ~v; out = exchange(p, v)) v |= out;
}
inline void store_system(int64_t *p, int64_t v) { store(p, v); }
/* Each call is one cycle. */
inline int64_t cycles_now() {
  static int64_t now = 0;
  return ++now;
}
inline void prefetch(const void *) {}

inline void copy_async(float *shared, const float *global) { simt::copy_late(shared, global, sizeof *shared); }
inline void copy_async(double *shared, const double *global) { simt::copy_late(shared, global, sizeof *shared); }
inline void copy_async_16(void *shared, const void *global) { simt::copy_late(shared, global, 16); }
inline void end_copies() { simt::end_batch(); }
template <int But> void await_copies() { simt::await_batches(But); }

inline void fence() { simt::fence(); }

inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return fma(a, b, c); }
inline float product(float a, float b) { return a * b; }
inline double product(double a, double b) { return a * b; }

/* ---- collectives ---- */

inline void syncwarp() { simt::warp_barrier(); }
inline void syncthreads() { simt::block_barrier(); }
inline void syncwarps_apart() { simt::block_barrier(); }
inline int popcount(uint32_t v) { return __builtin_popcount(v); }
inline int first_lane(uint32_t lanes) { return __builtin_ctz(lanes); }
inline int last_lane(uint32_t lanes) { return 31 - __builtin_clz(lanes); }
inline int32_t warp_max(int32_t v) {
  int32_t most = v;
  for (int by = 16; by > 0; by >>= 1) {
    const int32_t other = shfl(most, lane() ^ by);
    most = other > most ? other : most;
  }
  return most;
}
inline uint32_t warp_or(uint32_t v) {
  for (int by = 16; by > 0; by >>= 1) v |= uint32_t(shfl(int32_t(v), lane() ^ by));
  return v;
}
inline uint32_t ballot(bool v) { return simt::vote(v); }
inline bool any(bool v) { return ballot(v) != 0; }
inline bool all(bool v) { return ballot(v) == 0xffffffffu; }

inline void mma(double (&c)[4], const double (&a)[4], double b0, double b1) {
  uint64_t A[4][32], B[2][32];
  for (int i = 0; i < 4; i++) simt::all_words(A[i], to_bits(a[i]));
  simt::all_words(B[0], to_bits(b0));
  simt::all_words(B[1], to_bits(b1));
  const int g = lane() / 4, t = lane() % 4;
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 4; i++) {
      const double row = from_bits<double>(A[k / 4 * 2 + i / 2][4 * g + k % 4]);
      c[i] = fma(row, from_bits<double>(B[k / 4][4 * (2 * t + i % 2) + k % 4]), c[i]);
    }
}

inline void mma(double (&c)[4], const double (&a)[4], const double (&a8)[4], const double (&b)[4]) {
  mma(c, a, b[0], b[1]);
  mma(c, a8, b[2], b[3]);
}

inline void spin_pause() { simt::pause(); }
inline void nap() { simt::pause(); }
enum { NAPS = 20 }; /* fewer than on a device, since each costs the emulator as much as a poll */
inline bool left_out(protocol_step step) { return simt::left_out_step == int(step); }

template <typename Kernel> int find_code(Kernel) { return 0; }
template <typename Kernel, typename Args>
int launch(Kernel kernel, int64_t blocks, int threads, size_t shared, void *stream, const Args &args) {
  return simt::launch(stream, {blocks, threads, shared, [kernel, args] { kernel(args); }});
}

} // namespace spti
#endif
