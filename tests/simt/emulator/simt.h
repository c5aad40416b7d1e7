/* simt.h -- a small machine that runs CUDA kernels on the host: a fibre per lane, a scheduler that means ill, and a memory in
 * which nothing is visible before it has to be. docs/simt.md explains the model; a run is a function of its seed.
 *
 * Schedule. A limited number of blocks is resident, started in order, in reverse or at random. The next warp is picked
 * in turn, at random, newest first or oldest first; its lanes run until they meet a collective, wait, or are preempted.
 *
 * Memory, by global time. A write that is not a release waits in its lane's buffer and is performed later, out of order between
 * addresses. A release first performs what its lane wrote, and what other lanes of the warp or block wrote before the
 * last barrier with it. A read may return an overwritten value unless the newer one was performed before the moment
 * up to which the lane has acquired, or precedes it by a barrier, or was seen by the lane before. Atomics that return
 * a value act on the newest. Barriers share what was acquired.
 *
 * Reported as errors: a collective that not all lanes of the warp (block) reach, or reach at different operations; no lane
 * that can go on; data read as constant but written by the same kernel. */
#ifndef TESTS_SIMT_EMULATOR_SIMT_H
#define TESTS_SIMT_EMULATOR_SIMT_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

namespace simt {

enum class word { i32, i64, f32, f64 };
enum class access { constant, relaxed, ordered }; /* ordered: acquire of a read, release of a write */
enum class start_order { ascending, descending, random };
enum class pick { in_turn, random, newest_first, oldest_first };

/* Everything about a run that is not the kernel. from_seed draws all of it; tests may then set what they are about. */
struct schedule {
  uint64_t seed;
  int resident_blocks;
  start_order start;
  pick warps;
  int preempt_one_in; /* memory operations per preemption, 0: never */
  int stale_percent;  /* of reads that may return an old value: how many do */
  int drain_one_in;   /* turns per buffered write that is performed without need */
  static schedule from_seed(uint64_t seed);
};

void use(const schedule &);
const std::string &error(); /* of the last run, with the seed; empty if it went well */
extern int left_out_step;   /* spti::protocol_step that kernels leave out, 0: none */

extern size_t dynamic_shared; /* bytes of the next run's SPTI_DYNAMIC_SHARED */

enum { LAUNCH_FAILED = 719 };
int run(int64_t blocks, int threads, const std::function<void()> &kernel); /* 0 or LAUNCH_FAILED */

/* ---- for kernels, through device.h ---- */

int thread_in_block();
int threads_per_block();
int block_in_grid();
int blocks_per_grid();
void *shared_array(size_t bytes);
uint64_t read(const void *, word, access);
void write(void *, word, uint64_t bits, bool add, access);
uint64_t read_modify_write(void *, word, uint64_t bits, bool add); /* returns the old value */
void copy_late(void *to, const void *from, size_t bytes);          /* from NULL: zeros */
void end_batch();                                                  /* of the lane's copies */
void await_batches(unsigned but); /* all but so many of the latest batches are copied, the others not yet */
void fence();
uint64_t shuffle(uint64_t bits, int from);
void all_words(uint64_t out[32], uint64_t bits); /* what every lane of the warp brings */
uint32_t vote(bool);
void warp_barrier();
void block_barrier();
void pause(); /* nothing to do until some memory changes */

} // namespace simt
#endif
