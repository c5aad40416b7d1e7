/* machine.cpp -- tests of the emulator itself: ordered writes must be seen under every seed, unordered writes must be missed under some
 * seed, and broken kernels must be reported. */
#include <criterion/criterion.h>
#include <string.h>

#include <vector>

#include "core/device/copy.cuh"
#include "core/device/syncfree.cuh"
#include "simt/cases/problem.h"

using namespace spti;

extern "C" sptrsm_status spti_gpu_check(int cuda_error, const char *what); /* as in core/context/gpu.h, which only C can include */

static int run_with(uint64_t seed, int64_t blocks, int threads, const std::function<void()> &kernel) {
  simt::use(simt::schedule::from_seed(seed));
  return simt::run(blocks, threads, kernel);
}

/* Seeds out of `count` for which outcome(seed) is true. */
static int seeds_with(int count, const std::function<bool(uint64_t)> &outcome) {
  int found = 0;
  for (uint64_t seed = 1; seed <= uint64_t(count); seed++) found += outcome(seed);
  return found;
}

/* ---- message passing: block 0 writes data, then a flag; block 1 polls the flag, then reads the data ---- */

enum class order { none, release_acquire, fences, only_release, only_acquire };

static bool message_is_missed(uint64_t seed, order how) {
  simt::schedule s = simt::schedule::from_seed(seed);
  s.resident_blocks = 2;
  simt::use(s);
  double data = 0, got = -1;
  int32_t flag = 0;
  const int error = simt::run(2, 32, [&] {
    if (lane() != 0) return;
    if (block_in_grid() == 0) {
      store_relaxed(&data, 7.0);
      if (how == order::fences) fence();
      if (how == order::release_acquire || how == order::only_release) store_release(&flag, 1);
      else store_relaxed(&flag, 1);
    } else {
      load_relaxed(&data); /* an early read, like a stale copy in a cache */
      while (load_relaxed(&flag) == 0) spin_pause();
      if (how == order::release_acquire || how == order::only_acquire) load_acquire(&flag);
      if (how == order::fences) fence();
      got = load_relaxed(&data);
    }
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  cr_assert(got == 7.0 || got == 0.0);
  return got != 7.0;
}

Test(simt_machine, message_passing) {
  cr_expect_eq(seeds_with(300, [](uint64_t s) { return message_is_missed(s, order::release_acquire); }), 0);
  cr_expect_eq(seeds_with(300, [](uint64_t s) { return message_is_missed(s, order::fences); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return message_is_missed(s, order::none); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return message_is_missed(s, order::only_release); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return message_is_missed(s, order::only_acquire); }), 0);
}

/* ---- cumulativity: lane 5 writes, lane 9 of its warp (or block) releases; on the other side lane 0 acquires and lane 3 reads ---- */

static bool relayed_message_is_missed(uint64_t seed, int threads, bool barriers) {
  simt::schedule s = simt::schedule::from_seed(seed);
  s.resident_blocks = 2;
  simt::use(s);
  const int last = threads - 1;
  double data = 0, got = -1;
  int32_t flag = 0;
  const auto meet = [&] {
    if (!barriers) return;
    if (threads == 32) syncwarp();
    else syncthreads();
  };
  const int error = simt::run(2, threads, [&] {
    const int t = thread_in_block();
    if (block_in_grid() == 0) {
      if (t == 5) store(&data, 7.0);
      meet();
      if (t == last) red_add_release(&flag, 1);
    } else {
      if (t == last) load(&data);
      while (t == 0 && load_acquire(&flag) == 0) spin_pause();
      all(true); /* makes lanes wait, orders nothing */
      meet();
      if (t == last) got = load(&data);
    }
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  return got != 7.0;
}

Test(simt_machine, barriers_hand_on) {
  cr_expect_eq(seeds_with(300, [](uint64_t s) { return relayed_message_is_missed(s, 32, true); }), 0);
  cr_expect_eq(seeds_with(300, [](uint64_t s) { return relayed_message_is_missed(s, 96, true); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return relayed_message_is_missed(s, 32, false); }), 0);
}

/* ---- shared memory, collectives, atomics ---- */

static bool exchange_in_shared_fails(uint64_t seed, bool barrier) {
  std::vector<int32_t> out(128, -1);
  const int error = run_with(seed, 2, 64, [&] {
    SPTI_SHARED(int32_t, words, 64);
    const int t = thread_in_block();
    words[t] = 100 + t;
    if (barrier) syncthreads();
    store(&out[size_t(block_in_grid() * 64 + t)], words[63 - t]);
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  for (int t = 0; t < 128; t++)
    if (out[size_t(t)] != 100 + 63 - t % 64) return true;
  return false;
}

Test(simt_machine, shared_memory) {
  cr_expect_eq(seeds_with(50, [](uint64_t s) { return exchange_in_shared_fails(s, true); }), 0);
  cr_expect_gt(seeds_with(50, [](uint64_t s) { return exchange_in_shared_fails(s, false); }), 0);
}

/* Two lanes write one word with a barrier in between: the second value remains. */
static bool second_write_is_lost(uint64_t seed, bool barrier) {
  std::vector<int32_t> out(64, -1);
  const int error = run_with(seed, 2, 64, [&] {
    SPTI_SHARED(int32_t, words, 64);
    const int t = thread_in_block();
    shared_store(words + t, 0);
    if (barrier) syncthreads();
    shared_red_add(words + 63 - t, 1);
    syncthreads();
    if (block_in_grid() == 0) store(&out[size_t(t)], shared_load_relaxed(words + t));
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  for (int32_t word : out)
    if (word != 1) return true;
  return false;
}

Test(simt_machine, writes_keep_their_order) {
  cr_expect_eq(seeds_with(100, [](uint64_t s) { return second_write_is_lost(s, true); }), 0);
  cr_expect_gt(seeds_with(100, [](uint64_t s) { return second_write_is_lost(s, false); }), 0);
}

/* A sum and a count of arrivals in shared memory, one producer and one consumer of a block. */
static bool sum_in_shared_is_missed(uint64_t seed, bool release, bool acquire) {
  bool missed = false;
  const int error = run_with(seed, 3, 64, [&] {
    SPTI_SHARED(double, sum, 1);
    SPTI_SHARED(int32_t, arrived, 1);
    if (thread_in_block() == 0) shared_store(sum, 1.0), shared_store(arrived, 0);
    syncthreads();
    if (lane() != 0) return;
    if (warp_in_block() == 0) {
      shared_red_add(sum, 2.0);
      release ? shared_red_add_release(arrived, 1) : shared_red_add(arrived, 1);
    } else {
      while (shared_load_relaxed(arrived) == 0) spin_pause();
      if (acquire) shared_load_acquire(arrived);
      missed = missed || shared_load_relaxed(sum) != 3.0;
    }
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  return missed;
}

Test(simt_machine, shared_memory_without_barriers) {
  cr_expect_eq(seeds_with(300, [](uint64_t s) { return sum_in_shared_is_missed(s, true, true); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return sum_in_shared_is_missed(s, false, true); }), 0);
  cr_expect_gt(seeds_with(300, [](uint64_t s) { return sum_in_shared_is_missed(s, true, false); }), 0);
}

/* An asynchronous copy is visible after its thread has awaited the batch and has met the reader at a barrier. */
static bool copy_is_missed(uint64_t seed, bool ended, bool second_too) {
  const std::vector<double> from(128, 7.0);
  bool missed = false;
  const int error = run_with(seed, 2, 64, [&] {
    SPTI_SHARED(double, to, 128);
    const int t = thread_in_block();
    to[t] = to[64 + t] = 0;
    syncthreads();
    copy_async(to + t, &from[size_t(t)]);
    if (ended) end_copies();
    copy_async(to + 64 + t, &from[size_t(64 + t)]);
    end_copies();
    await_copies<1>();
    syncthreads();
    missed = missed || to[63 - t] != 7.0 || (second_too && to[127 - t] != 7.0);
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  return missed;
}

Test(simt_machine, copies_in_the_background) {
  cr_expect_eq(seeds_with(20, [](uint64_t s) { return copy_is_missed(s, true, false); }), 0);
  cr_expect_eq(seeds_with(20, [](uint64_t s) { return copy_is_missed(s, true, true); }), 20);
  cr_expect_eq(seeds_with(20, [](uint64_t s) { return copy_is_missed(s, false, false); }), 20);
}

Test(simt_machine, collectives_and_atomics) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    int32_t tickets = 0, sum = 0;
    double reduced = 0;
    std::vector<int32_t> taken(320, 0), votes(320, 0), rotated(320, 0);
    const int error = run_with(seed, 5, 64, [&] {
      const size_t ticket = size_t(fetch_add(&tickets, 1)), thread = size_t(block_in_grid() * 64 + thread_in_block());
      taken[ticket]++;
      red_add(&sum, int32_t(ticket));
      red_add(&reduced, 0.5);
      rotated[thread] = shfl(int32_t(lane()), (lane() + 1) % 32);
      votes[thread] = ballot(lane() % 3 == 0) == 0x49249249u && any(lane() == 31) && !all(lane() < 31) && all(true);
    });
    cr_assert_eq(error, 0, "%s", simt::error().c_str());
    cr_assert_eq(tickets, 320);
    cr_assert_eq(sum, 319 * 320 / 2);
    cr_assert_eq(reduced, 160.0);
    for (size_t t = 0; t < 320; t++) cr_assert(taken[t] == 1 && votes[t] && rotated[t] == int(t + 1) % 32);
  }
}

/* ---- values as flags ---- */

Test(simt_machine, published_values) {
  for (uint64_t seed = 1; seed <= 100; seed++) {
    simt::schedule s = simt::schedule::from_seed(seed);
    s.resident_blocks = 2;
    simt::use(s);
    double word = bits_to_double(~uint64_t(0));
    complex_t<float> pair = {bits_to_float(~0u), bits_to_float(~0u)};
    double got = 0;
    complex_t<float> got_pair = {0, 0};
    const int error = simt::run(2, 32, [&] {
      if (lane() != 0) return;
      if (block_in_grid() == 0) {
        publish(&pair, {1.5f, 2.5f});
        publish(&word, bits_to_double(~uint64_t(0))); /* a result with the bits of the sentinel */
      } else {
        while (is_sentinel(got = peek(&word))) spin_pause();
        while (is_sentinel(got_pair = peek(&pair))) spin_pause();
      }
    });
    cr_assert_eq(error, 0, "%s", simt::error().c_str());
    cr_assert(got != got && !is_sentinel(got), "a published sentinel must arrive as an ordinary NaN");
    cr_assert(got_pair.re == 1.5f && got_pair.im == 2.5f);
  }
}

/* ---- broken kernels ---- */

static void expect_report(const char *what, int error) {
  cr_expect_eq(error, simt::LAUNCH_FAILED, "not noticed: %s", what);
  cr_expect(simt::error().find(what) != std::string::npos, "wanted '%s', got '%s'", what, simt::error().c_str());
  cr_expect(simt::error().find("seed ") != std::string::npos, "no seed in '%s'", simt::error().c_str());
  cr_expect_eq(spti_gpu_check(error, "a kernel"), SPTRSM_ERR_DEVICE);
  cr_expect(strstr(sptrsm_last_error(), what) != nullptr, "the library says '%s'", sptrsm_last_error());
}

Test(simt_machine, broken_kernels_are_reported) {
  int32_t flag = 0;
  for (uint64_t seed = 1; seed <= schedules(20); seed++) {
    expect_report("ended", run_with(seed, 1, 32, [] {
                    if (lane() != 3) syncwarp();
                  }));
    expect_report("ended", run_with(seed, 2, 64, [] {
                    if (thread_in_block() != 40) syncthreads();
                  }));
    expect_report("meet at", run_with(seed, 1, 32, [] { lane() < 7 ? syncwarp() : (void)any(true); }));
    expect_report("deadlock",
                  run_with(seed, 1, 64, [] { warp_in_block() == 0 ? syncthreads() : (void)(lane() == 2 ? syncthreads() : syncwarp()); }));
    expect_report("deadlock", run_with(seed, 1, 32, [&] {
                    while (load_relaxed(&flag) == 0) spin_pause();
                  }));
    expect_report("constant", run_with(seed, 1, 32, [&] {
                    if (lane() == 0) store(&flag, load_const(&flag)), store_release(&flag, 0), load_const(&flag);
                  }));
    expect_report("launch of", run_with(seed, 1, 33, [] {}));
  }
}

/* A launch may take more turns than the limit as long as its blocks end; one that goes on for ever is stopped. */
Test(simt_machine, limit_of_steps) {
  simt::step_limit = 10000;
  for (uint64_t seed = 1; seed <= schedules(20); seed++) {
    const int error = run_with(seed, 200, 32, [] {
      for (int i = 0; i < 8; i++) syncwarp();
    });
    cr_assert_eq(error, 0, "%s", simt::error().c_str());
    expect_report("no thread block ends", run_with(seed, 2, 32, [] {
                    while (block_in_grid() == 1) syncwarp();
                  }));
  }
}

/* A block that waits for one with a higher number hangs when only one is resident, unless numbers follow the start. */
Test(simt_machine, limited_residency) {
  for (int tickets = 0; tickets <= 1; tickets++) {
    int32_t control[SPTI_SYNCFREE_CONTROL_WORDS] = {0, 0, 0}, done = 0;
    int64_t lost = 0;
    const spti_syncfree sync = {control, &lost, 1000};
    simt::schedule s = simt::schedule::from_seed(3);
    s.resident_blocks = 1;
    s.start = simt::start_order::descending;
    simt::use(s);
    const int error = simt::run(4, 32, [&] {
      const int64_t me = tickets ? block_ticket(sync) : block_in_grid();
      while (lane() == 0 && load_acquire(&done) != me) spin_pause();
      syncwarp();
      if (lane() == 0) red_add_release(&done, 1);
    });
    if (tickets) cr_expect_eq(error, 0, "%s", simt::error().c_str());
    else expect_report("deadlock", error);
  }
}

Test(simt_machine, same_seed_same_run) {
  const auto trace = [](uint64_t seed) {
    std::vector<int32_t> order(256, 0);
    int32_t next = 0;
    run_with(seed, 4, 64, [&] { order[size_t(block_in_grid() * 64 + thread_in_block())] = fetch_add(&next, 1); });
    return order;
  };
  int different = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    cr_expect(trace(seed) == trace(seed), "seed %d does not replay", int(seed));
    different += trace(seed) != trace(seed + 1);
  }
  cr_expect_gt(different, 10, "seeds hardly differ");
}

/* The tile product has every element where the comment at mma says it is, and adds the products in ascending order. */
Test(simt_machine, matrix_product) {
  numbers random(5);
  double A[16][8], B[8][8], C[16][8], D[16][8] = {};
  for (auto &row : A)
    for (double &v : row) random.make(v);
  for (auto &row : B)
    for (double &v : row) random.make(v);
  for (auto &row : C)
    for (double &v : row) random.make(v);
  const int error = run_with(1, 1, 32, [&] {
    const int g = lane() / 4, t = lane() % 4;
    const double a[4] = {A[g][t], A[g + 8][t], A[g][t + 4], A[g + 8][t + 4]};
    double c[4] = {C[g][2 * t], C[g][2 * t + 1], C[g + 8][2 * t], C[g + 8][2 * t + 1]};
    mma(c, a, B[t][g], B[t + 4][g]);
    for (int i = 0; i < 4; i++) D[g + i / 2 * 8][2 * t + i % 2] = c[i];
  });
  cr_assert_eq(error, 0, "%s", simt::error().c_str());
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      double sum = C[i][j];
      for (int k = 0; k < 8; k++) sum = fma(A[i][k], B[k][j], sum);
      cr_expect(D[i][j] == sum, "(%d,%d): %g instead of %g", i, j, D[i][j], sum);
    }
}
