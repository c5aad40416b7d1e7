/* simt.h -- an emulator that runs CUDA kernels on the host: a fibre for each lane, an adversarial scheduler, and a memory in which a write
 * becomes visible only when the memory model requires it. docs/simt.md explains the model. A run is a function of its seed.
 *
 * Schedule. A limited number of blocks is resident; blocks start in order, in reverse order or at random. The next warp is chosen in
 * turn, at random, newest first or oldest first. Its lanes run until they reach a collective, pause between polls, or are preempted.
 *
 * Memory, with a global clock. A write that is not a release waits in its lane's buffer and is performed later; writes to different
 * addresses are performed in any order. A release first performs the lane's own writes, and the writes that other lanes of its warp or
 * block issued before their last common barrier. A read may return an overwritten value, unless the newer value was performed before
 * the moment up to which the lane has acquired, or a barrier orders it before the read, or the lane has seen it before. Atomics that
 * return a value use the newest value. At a barrier, all lanes get what any of them has acquired.
 *
 * Reported as errors: a collective that not all lanes of the warp or block reach, or that they reach at different operations; that no
 * lane can continue; that no block ends in step_limit turns of lanes; data that the kernel reads as constant and writes. */
#ifndef TESTS_SIMT_EMULATOR_SIMT_H
#define TESTS_SIMT_EMULATOR_SIMT_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>

extern "C" int64_t emulated_gpu_launches; /* kernels launched so far */

namespace simt {

enum class word { i32, i64, f32, f64 };
enum class access { constant, relaxed, ordered }; /* ordered: acquire of a read, release of a write */
enum class start_order { ascending, descending, random };
enum class pick { in_turn, random, newest_first, oldest_first };

/* All choices of a run. from_seed draws them all; a test may then set some of them. */
struct schedule {
  uint64_t seed;
  int resident_blocks;
  start_order start;
  pick warps;
  int preempt_one_in; /* a lane is preempted at one in this many memory operations; 0: never */
  int stale_percent;  /* percentage of the reads that may return an old value that do so */
  int drain_one_in;   /* a buffered write is performed without need in one in this many turns of a warp */
  static schedule from_seed(uint64_t seed);
};

void use(const schedule &);
const std::string &error(); /* of the last run, with its seed; empty if there was none */
extern int left_out_step;   /* spti::protocol_step that kernels leave out, 0: none */
extern uint64_t step_limit; /* a run fails when lanes have had more turns than this and no block has ended */

struct grid {
  int64_t blocks;
  int threads;
  size_t shared; /* bytes of SPTI_DYNAMIC_SHARED of a block */
  std::function<void()> kernel;
};

enum { LAUNCH_FAILED = 719 };
int run(const grid &); /* 0 or LAUNCH_FAILED */
int run(int64_t blocks, int threads, const std::function<void()> &kernel);

/* What happens at the same time: grids that begin while others run, and copies between them. */
class work {
public:
  virtual ~work() = default;
  /* Takes a step, and gives the grid that begins by it, if one does. False: no step is taken, which, if the device is idle, means that none
   * is left. */
  virtual bool proceed(bool idle, const grid **begins) = 0;
  virtual void done(const grid *) = 0; /* all its writes are performed */
};
/* Until no step is left. `more`: blocks that are resident beside those of the schedule. */
int run_together(work &, int more);
/* After a step has written memory without a lane: lanes read what is there now. */
void forget(const void *begin, size_t bytes);

/* streams.cpp. Launches at once, unless the stream is one of those of runtime/cuda_runtime_api.h: then the grid is queued there. */
int launch(void *stream, const grid &);

/* ---- for kernels, through device.h ---- */

int thread_in_block();
int threads_per_block();
int block_in_grid();
int blocks_per_grid();
size_t dynamic_shared();
void *shared_array(size_t bytes);
uint64_t read(const void *, word, access);
void write(void *, word, uint64_t bits, bool add, access);
uint64_t read_modify_write(void *, word, uint64_t bits, bool add); /* returns the old value */
void copy_late(void *to, const void *from, size_t bytes);          /* from NULL: zeros */
void end_batch();                                                  /* of the lane's copies */
void await_batches(unsigned but);                                  /* performs all copies except those of the latest `but` batches */
void fence();
uint64_t shuffle(uint64_t bits, int from);
void all_words(uint64_t out[32], uint64_t bits); /* the words of all lanes of the warp */
uint32_t vote(bool);
void warp_barrier();
void block_barrier();
void pause(); /* the lane continues when some memory has changed */

} // namespace simt
#endif
