/* syncfree.cuh -- the dependency protocol of the synchronisation-free methods [liu2017syncfree]: how a thread block waits, inside
 * a kernel, for results of other blocks. README.md has a picture.
 *
 *   ticket    A block draws its number when it starts, so numbers follow the order in which blocks start. Work item t waits only for
 *             items below t, which belong to blocks that have started. Hence the oldest unfinished item can always run: there is no
 *             deadlock, whatever the order and number of resident blocks.
 *   wait      A consumer polls its counter by relaxed loads until the counter has the awaited value. Then one acquire load orders its
 *             reads after all that the producers released, and a warp barrier extends this to the other lanes.
 *   release   The lanes of a producer write their updates. A warp barrier orders them before one decrement with release order for each
 *             consumer, which publishes the updates of the whole warp.
 *   value     Methods can do without counters: a word that is not yet published holds a sentinel (all bits set, a NaN that no operation
 *             produces), and readers poll the value itself. A result with these bits is stored as the ordinary NaN.
 *   lost      A wait gives up if spin_limit polls see no progress of its counter, of the tickets, or of the progress count that long
 *             work items advance, and NAPS further polls neither, with a nap of about a millisecond before each. Counts alone would
 *             pass too quickly while page faults of managed memory hold up every other block, and time alone while another process
 *             has the device. It writes 1 + row to the lost word and raises the abort flag, so that all other waits give up too.
 *             Patterns are checked beforehand, so this means a bug or a damaged device; the host gets an error instead of hanging. */
#ifndef SPTI_CORE_DEVICE_SYNCFREE_CUH
#define SPTI_CORE_DEVICE_SYNCFREE_CUH

#include "core/device/device.cuh"
#include "core/device/syncfree.h"

namespace spti {

enum { POLLS_PER_CHECK = 64 }; /* polls between two checks of the abort flag and of progress */

/* The block's number. All threads of the block must call it, once. */
SPTI_DEVICE int64_t block_ticket(const spti_syncfree &s) {
  SPTI_SHARED(int32_t, ticket, 1);
  if (left_out(protocol_step::ticket)) return block_in_grid();
  if (thread_in_block() == 0) ticket[0] = fetch_add(s.control + SPTI_SYNCFREE_TICKET, 1);
  syncthreads();
  return ticket[0];
}

/* Limits the polls of one lane: counts them since the last sign of progress. */
struct spin_guard {
  int32_t polls, ticket;

  SPTI_DEVICE void start() { polls = ticket = 0; }
  SPTI_DEVICE void progress() { polls = 0; }
  /* To be called after an unsuccessful poll. False: the wait must be given up; `row` is reported as lost. */
  SPTI_DEVICE bool go_on(const spti_syncfree &s, int64_t row) {
    if (++polls % POLLS_PER_CHECK == 0 || polls >= s.spin_limit) {
      if (load_relaxed(s.control + SPTI_SYNCFREE_ABORT)) return false;
      const int32_t now = load_relaxed(s.control + SPTI_SYNCFREE_TICKET) + load_relaxed(s.control + SPTI_SYNCFREE_PROGRESS);
      if (now != ticket) polls = 0;
      ticket = now;
      if (polls >= s.spin_limit) nap();
      if (polls >= s.spin_limit + NAPS) {
        if (exchange(s.control + SPTI_SYNCFREE_ABORT, 1) == 0) store_system(s.lost, row + 1);
        return false;
      }
    }
    spin_pause();
    return true;
  }
};

/* Called by one thread of a work item that takes long, so that waits for it are not given up. */
SPTI_DEVICE void report_progress(const spti_syncfree &s) { red_add(s.control + SPTI_SYNCFREE_PROGRESS, 1); }

/* Values of a counter of missing updates: all updates have arrived; its owner has released it once more, so its row is solved. */
enum { READY = 0, SOLVED = -1 };

/* One lane: waits until the counter is `goal`. False: the dependency is lost. */
SPTI_DEVICE bool poll_until(const spti_syncfree &s, const int32_t *counter, int32_t goal, int64_t row) {
  const int32_t early = left_out(protocol_step::last_arrival) ? goal + 1 : goal;
  spin_guard guard;
  guard.start();
  int32_t seen = load_relaxed(counter);
  while (seen != goal && seen != early) {
    if (!guard.go_on(s, row)) return false;
    const int32_t now = load_relaxed(counter);
    if (now != seen) guard.progress();
    seen = now;
  }
  if (!left_out(protocol_step::acquire)) load_acquire(counter);
  return true;
}

/* The same for a counter in shared memory. Its polls are so fast that the guard counts only one in SHARED_POLLS. */
enum { SHARED_POLLS = 16 };
SPTI_DEVICE bool poll_shared_until(const spti_syncfree &s, const int32_t *counter, int32_t goal, int64_t row) {
  spin_guard guard;
  guard.start();
  int32_t seen = shared_load_relaxed(counter);
  for (uint32_t polls = 1; seen != goal; polls++) {
    if (polls % SHARED_POLLS != 0) spin_pause();
    else if (!guard.go_on(s, row)) return false;
    const int32_t now = shared_load_relaxed(counter);
    if (now != seen) guard.progress();
    seen = now;
  }
  if (!left_out(protocol_step::shared_acquire)) shared_load_acquire(counter);
  return true;
}

/* Whole warp: waits until the counter is `goal`. False: the dependency is lost and the work item must be given up. */
SPTI_DEVICE bool wait_until(const spti_syncfree &s, const int32_t *counter, int32_t goal, int64_t row) {
  bool arrived = true;
  if (lane() == 0) arrived = poll_until(s, counter, goal, row);
  if (!left_out(protocol_step::arrival_barrier)) syncwarp();
  return all(arrived);
}

/* Whole warp, between the updates and their releases. A warp in which every lane releases only its own updates does not need it. */
SPTI_DEVICE void gather_updates() {
  if (!left_out(protocol_step::update_barrier)) syncwarp();
}
/* One lane: decrements a consumer's count of missing updates. */
SPTI_DEVICE void release_one(int32_t *counter) {
  if (left_out(protocol_step::release)) red_add(counter, -1);
  else red_add_release(counter, -1);
}
/* The same within a block, for a count of updates that have arrived. */
SPTI_DEVICE void release_one_shared(int32_t *counter) {
  if (left_out(protocol_step::shared_release)) shared_red_add(counter, 1);
  else shared_red_add_release(counter, 1);
}

/* ---- values that are their own flags ---- */

SPTI_DEVICE bool is_sentinel(float v) { return float_bits(v) == 0xffffffffu; }
SPTI_DEVICE bool is_sentinel(double v) { return double_bits(v) == 0xffffffffffffffffull; }
template <typename R> SPTI_DEVICE bool is_sentinel(complex_t<R> v) { return is_sentinel(v.re) || is_sentinel(v.im); }

/* The content of a word that is not yet published. */
template <typename T> SPTI_DEVICE T sentinel();
template <> SPTI_DEVICE float sentinel<float>() { return bits_to_float(0xffffffffu); }
template <> SPTI_DEVICE double sentinel<double>() { return bits_to_double(0xffffffffffffffffull); }
template <> SPTI_DEVICE complex_t<float> sentinel<complex_t<float>>() { return {sentinel<float>(), sentinel<float>()}; }
template <> SPTI_DEVICE complex_t<double> sentinel<complex_t<double>>() { return {sentinel<double>(), sentinel<double>()}; }

/* The present content of a word that is its own flag; the caller tests is_sentinel and peeks again. No memory order is needed, since the
 * value itself is all that is communicated. */
template <typename T> SPTI_DEVICE T peek(const T *p) { return load_relaxed(p); }

/* Peeks again if v is a sentinel, without a branch. */
template <typename T> SPTI_DEVICE T peek_again(const T *p, T v) { return load_relaxed_if(is_sentinel(v), p, v); }

/* v, or the ordinary NaN if v has the bits of the sentinel. */
SPTI_DEVICE float publishable(float v) { return is_sentinel(v) && !left_out(protocol_step::publishable) ? bits_to_float(0x7fffffffu) : v; }
SPTI_DEVICE double publishable(double v) {
  return is_sentinel(v) && !left_out(protocol_step::publishable) ? bits_to_double(0x7fffffffffffffffull) : v;
}

SPTI_DEVICE void publish(float *p, float v) { store_relaxed(p, publishable(v)); }
SPTI_DEVICE void publish(double *p, double v) { store_relaxed(p, publishable(v)); }
template <typename R> SPTI_DEVICE void publish(complex_t<R> *p, complex_t<R> v) {
  publish(&p->re, v.re);
  publish(&p->im, v.im);
}

/* Is v far from both ends of the type's range? Then it is no sentinel, and a quotient of such numbers by divisor.quick is what divide
 * returns. The test uses the exponent only, because it stands between the arrival of the last value and x, where every instruction
 * counts and none is in the instruction cache yet. */
SPTI_DEVICE bool is_plain(float v) { return (float_bits(v) >> 23 & 0xffu) - 40u < 170u; }
SPTI_DEVICE bool is_plain(double v) { return uint32_t(double_bits(v) >> 52 & 0x7ffu) - 200u < 1640u; }
template <typename R> SPTI_DEVICE bool is_plain(complex_t<R>) { return false; }

/* The same in shared memory, for the threads of a block. clear_shared stores the sentinel; a barrier must follow it. */
template <typename T> SPTI_DEVICE void clear_shared(T *p) { shared_store(p, sentinel<T>()); }
SPTI_DEVICE void publish_shared(float *p, float v) { shared_store_relaxed(p, publishable(v)); }
SPTI_DEVICE void publish_shared(double *p, double v) { shared_store_relaxed(p, publishable(v)); }
template <typename R> SPTI_DEVICE void publish_shared(complex_t<R> *p, complex_t<R> v) {
  publish_shared(&p->re, v.re);
  publish_shared(&p->im, v.im);
}

/* One lane: waits until *p is published and loads it. False: the dependency is lost. */
template <typename T> SPTI_DEVICE bool await_shared(const spti_syncfree &s, const T *p, int64_t row, T *value) {
  spin_guard guard;
  guard.start();
  *value = shared_load_relaxed(p);
  for (uint32_t polls = 1; is_sentinel(*value); polls++) {
    if (polls % SHARED_POLLS != 0) spin_pause();
    else if (!guard.go_on(s, row)) return false;
    *value = shared_load_relaxed(p);
  }
  return true;
}

} // namespace spti
#endif
