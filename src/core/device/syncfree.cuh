/* syncfree.cuh -- the dependency protocol of the synchronisation-free methods, as one component.
 *
 *   ticket    Blocks number themselves in the order in which they start. Work item t waits only for items below t, and these
 *             belong to blocks that have started, so the oldest unfinished item can always run: no deadlock, whatever
 *             the order and number of resident blocks.
 *   wait      A consumer polls its counter, relaxed, until it has the awaited value. Then an acquire orders its reads after everything
 *             the producers released, and a warp barrier hands that on to the other lanes.
 *   release   A producer's lanes make their updates; a warp barrier gathers them; then one release-decrement per consumer
 *             publishes the updates of the whole warp.
 *   value     For methods whose results are their own flags: an unpublished word holds the sentinel (all bits set, a NaN no
 *             operation produces); readers poll the value itself. A result that equals it is stored as the ordinary NaN.
 *   lost      A wait that sees no progress for spin_limit polls -- neither of its counter nor of the tickets, nor of the word in which
 *             items count that take long -- stores 1 + row in the lost word and raises the abort flag; all other waits then give up
 *             too. Patterns are checked before, so this means a bug or a damaged device, but the host hears of it instead
 *             of hanging.
 */
#ifndef SPTI_CORE_DEVICE_SYNCFREE_CUH
#define SPTI_CORE_DEVICE_SYNCFREE_CUH

#include "core/device/device.cuh"
#include "core/device/launch.h"

namespace spti {

enum { POLLS_PER_CHECK = 64 }; /* polls between two looks at abort flag and tickets */

/* Called by all threads of a block once; the block's number. */
SPTI_DEVICE int64_t block_ticket(const spti_syncfree &s) {
  SPTI_SHARED(int32_t, ticket, 1);
  if (left_out(protocol_step::ticket)) return block_in_grid();
  if (thread_in_block() == 0) ticket[0] = fetch_add(s.control + SPTI_SYNCFREE_TICKET, 1);
  syncthreads();
  return ticket[0];
}

/* One lane. Counts polls since the last sign of progress. */
struct spin_guard {
  int32_t polls, ticket;

  SPTI_DEVICE void start() { polls = ticket = 0; }
  SPTI_DEVICE void progress() { polls = 0; }
  /* After a poll in vain: may it go on? row is what is reported if not. */
  SPTI_DEVICE bool go_on(const spti_syncfree &s, int64_t row) {
    if (++polls % POLLS_PER_CHECK == 0 || polls >= s.spin_limit) {
      if (load_relaxed(s.control + SPTI_SYNCFREE_ABORT)) return false;
      const int32_t now = load_relaxed(s.control + SPTI_SYNCFREE_TICKET) + load_relaxed(s.control + SPTI_SYNCFREE_PROGRESS);
      if (now != ticket) polls = 0;
      ticket = now;
      if (polls >= s.spin_limit) {
        if (exchange(s.control + SPTI_SYNCFREE_ABORT, 1) == 0) store_system(s.lost, row + 1);
        return false;
      }
    }
    spin_pause();
    return true;
  }
};

/* One thread of an item that takes so long that waits for it might be given up. */
SPTI_DEVICE void report_progress(const spti_syncfree &s) { red_add(s.control + SPTI_SYNCFREE_PROGRESS, 1); }

/* What a counter of missing updates says: all have arrived; and, released once more by its owner, its row is solved. */
enum { READY = 0, SOLVED = -1 };

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

/* The same for a counter in shared memory. Its polls are so fast that the guard hears of one in SHARED_POLLS only. */
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

/* Whole warp. False: the dependency is lost and the item must be given up. */
SPTI_DEVICE bool wait_until(const spti_syncfree &s, const int32_t *counter, int32_t goal, int64_t row) {
  bool arrived = true;
  if (lane() == 0) arrived = poll_until(s, counter, goal, row);
  if (!left_out(protocol_step::arrival_barrier)) syncwarp();
  return all(arrived);
}

/* Whole warp, between its updates and the releases of them. A warp whose lanes release only what they updated themselves
 * needs no barrier. */
SPTI_DEVICE void gather_updates() {
  if (!left_out(protocol_step::update_barrier)) syncwarp();
}
/* One lane: one update less to wait for. */
SPTI_DEVICE void release_one(int32_t *counter) {
  if (left_out(protocol_step::release)) red_add(counter, -1);
  else red_add_release(counter, -1);
}
/* The same within a block: one update more has arrived. */
SPTI_DEVICE void release_one_shared(int32_t *counter) {
  if (left_out(protocol_step::shared_release)) shared_red_add(counter, 1);
  else shared_red_add_release(counter, 1);
}

/* ---- values that are their own flags ---- */

SPTI_DEVICE bool is_sentinel(float v) { return float_bits(v) == 0xffffffffu; }
SPTI_DEVICE bool is_sentinel(double v) { return double_bits(v) == 0xffffffffffffffffull; }
template <typename R> SPTI_DEVICE bool is_sentinel(complex_t<R> v) { return is_sentinel(v.re) || is_sentinel(v.im); }

/* What an unpublished word holds. */
template <typename T> SPTI_DEVICE T sentinel();
template <> SPTI_DEVICE float sentinel<float>() { return bits_to_float(0xffffffffu); }
template <> SPTI_DEVICE double sentinel<double>() { return bits_to_double(0xffffffffffffffffull); }
template <> SPTI_DEVICE complex_t<float> sentinel<complex_t<float>>() { return {sentinel<float>(), sentinel<float>()}; }
template <> SPTI_DEVICE complex_t<double> sentinel<complex_t<double>>() { return {sentinel<double>(), sentinel<double>()}; }

/* What is there now; the caller tests is_sentinel and peeks again. The word is the message, so no order is needed. */
template <typename T> SPTI_DEVICE T peek(const T *p) { return load_relaxed(p); }

/* Peeks again where v is not there yet, without a branch. */
template <typename T> SPTI_DEVICE T peek_again(const T *p, T v) { return load_relaxed_if(is_sentinel(v), p, v); }

/* What may be published: v, or the ordinary NaN in its stead. */
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

/* Well within the range of the type, so that a quotient by divisor.quick is what divide returns, and no sentinel. All bits of the test
 * are in the exponent: the way from the last value's arrival to x is kept short, and none of it is in the instruction cache. */
SPTI_DEVICE bool is_plain(float v) { return (float_bits(v) >> 23 & 0xffu) - 40u < 170u; }
SPTI_DEVICE bool is_plain(double v) { return uint32_t(double_bits(v) >> 52 & 0x7ffu) - 200u < 1640u; }
template <typename R> SPTI_DEVICE bool is_plain(complex_t<R>) { return false; }

/* The same in shared memory, for the threads of a block. clear_shared: nothing there yet; a barrier must follow. */
template <typename T> SPTI_DEVICE void clear_shared(T *p) { shared_store(p, sentinel<T>()); }
SPTI_DEVICE void publish_shared(float *p, float v) { shared_store_relaxed(p, publishable(v)); }
SPTI_DEVICE void publish_shared(double *p, double v) { shared_store_relaxed(p, publishable(v)); }
template <typename R> SPTI_DEVICE void publish_shared(complex_t<R> *p, complex_t<R> v) {
  publish_shared(&p->re, v.re);
  publish_shared(&p->im, v.im);
}

/* Each lane for itself: the value once it is there. False: it is lost. */
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
