/* simt.cpp -- see simt.h: blocks, warps and lanes, and the choice of the lane that runs next. */
#include "simt/emulator/simt.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <iterator>

#include "simt/emulator/emulated_gpu.h"
#include "simt/emulator/fibre.h"
#include "simt/emulator/memory.h"
#include "simt/emulator/word_access.h"

int64_t emulated_gpu_launches = 0;
size_t emulated_gpu_shared_bytes = 227 << 10;
int64_t emulated_gpu_writes = 0, emulated_gpu_lose_at = -1;

namespace simt {

uint64_t step_limit = 100 * 1000 * 1000;

enum { WARP = 32, IDLE_LIMIT = 100 * 1000 };
enum class collective { none, barrier, shuffle, exchange, vote };

struct block_state;
struct lane_state;

struct warp_state {
  group ids;
  block_state *block;
  std::array<lane_state *, WARP> lanes;
  uint32_t ready, paused, done; /* a bit for each lane; those with none wait in a collective or at a block barrier */
  int arrived;
  collective waiting_at;
  /* Used in turn, since a fast lane may enter the next collective before a slow one has left this one. */
  uint64_t exchanged[2][WARP];
  uint32_t ballots[2];
};

struct late_copy {
  void *to;
  const void *from;
  size_t bytes;
  unsigned batch;
};

struct lane_state {
  fibre stack;
  viewer view;
  warp_state *warp;
  int thread;
  uint32_t bit;       /* of the lane in the masks of its warp */
  uint64_t paused_at; /* machine::version when it paused */
  unsigned collectives;
  size_t arrays; /* shared arrays declared so far */
  std::vector<late_copy> copies;
  unsigned batch; /* number of the batch of the next copy */
};

struct grid_state {
  const grid *what;
  std::vector<int> order; /* blocks not yet started, last first */
  int live;               /* blocks that have started and not ended */
  moment begun;           /* all that was performed before is seen by its lanes */
};

struct block_state {
  group ids;
  grid_state *of = nullptr;
  bool live = false;
  int index, running, arrived;
  std::vector<std::unique_ptr<lane_state>> lanes;
  std::vector<std::unique_ptr<warp_state>> warps;
  std::vector<viewer *> views;
  struct array {
    std::unique_ptr<char[]> words;
    size_t bytes;
    const void *declared_at;
  };
  std::vector<array> shared;
};

namespace {

struct machine {
  schedule plan = schedule::from_seed(1);
  random_source random;
  memory global;
  std::string error;
  bool failed;
  work *to_do; /* NULL: one grid only */
  std::vector<std::unique_ptr<grid_state>> grids;
  std::vector<std::unique_ptr<block_state>> slots;
  std::vector<std::unique_ptr<lane_state>> spare_lanes;
  std::vector<warp_state *> live_warps; /* oldest first */
  std::vector<viewer *> live_views;
  uint64_t next_id, idle;
  uint64_t steps; /* turns of lanes since a block ended: a long launch may take any number in all */
  size_t turn;
  struct {
    warp_state *warp;
    size_t first, stride, step;
  } pass; /* the order of the warp's lanes, and how many have had their turn */
  fibre scheduler;
  lane_state *current;

  void fail(const std::string &what);
  bool begin(const grid *);
  bool proceed(bool stuck);
  grid_state *pick_grid();
  void start_block(block_state &, grid_state &);
  void start_blocks();
  void end_block(block_state &);
  void list_live();
  uint64_t version() const { return global.now() + idle; } /* changes when a read may return something new */
  bool can_run(const warp_state &w, size_t lane) const {
    return (w.ready >> lane & 1) || ((w.paused >> lane & 1) && w.lanes[lane]->paused_at != version());
  }
  bool can_run(const warp_state &w) const {
    for (size_t lane = 0; lane < WARP && !w.ready && w.paused; lane++)
      if (can_run(w, lane)) return true;
    return w.ready != 0;
  }
  warp_state *pick_warp();
  lane_state *next_lane();
  void run_warp(warp_state &);
  void wake_or_fail();
  std::string where() const;
};

machine m;

lane_state &me() { return *m.current; }
block_state &my_block() { return *m.current->warp->block; }

/* Whose turn is next: a lane of the same warp, or the scheduler's. */
fibre &next_turn() {
  m.current = m.next_lane();
  return m.current ? m.current->stack : m.scheduler;
}

/* The lane has its turn again when next_lane returns it; it waits for more than that if it has given up its bit in `ready`. */
void yield() {
  lane_state &l = me();
  fibre::change(l.stack, next_turn());
}

/* From ready to what `mask` stands for. */
void leave_ready(lane_state &l, uint32_t warp_state::*mask) {
  l.warp->ready &= ~l.bit;
  l.warp->*mask |= l.bit;
}

/* Does not return: the launch has failed. Objects on this stack are not destroyed, so none may own memory. */
void give_up(std::string what) {
  m.fail(what);
  std::string().swap(what);
  yield();
  abort(); /* the scheduler ends the run first */
}

void run_lane() {
  my_block().of->what->kernel();
  lane_state &l = me();
  if (l.warp->arrived > 0) give_up("lane " + std::to_string(l.thread % WARP) + " ended while others of its warp wait in a collective");
  if (my_block().arrived > 0) give_up("thread " + std::to_string(l.thread) + " ended while others of its block wait at a block barrier");
  leave_ready(l, &warp_state::done);
  my_block().running--;
  fibre::finish(l.stack, next_turn());
}

void lane_body() {
  fibre::arrived();
  for (;;) run_lane(); /* a lane of one block after another */
}

void maybe_preempt() {
  if (m.random.one_in(m.plan.preempt_one_in)) yield();
}

void machine::fail(const std::string &what) {
  if (failed) return;
  failed = true;
  error = what + " (seed " + std::to_string(plan.seed) + ", " + where() + ")";
}

std::string machine::where() const {
  if (!current) return "no lane running";
  return "block " + std::to_string(current->warp->block->index) + ", thread " + std::to_string(current->thread);
}

/* ---- blocks ---- */

/* Lanes are reused for other blocks, since making a stack takes longer than most kernels of the tests. */
void fit_slot(block_state &b, int threads) {
  while (b.lanes.size() > size_t(threads)) {
    m.spare_lanes.push_back(std::move(b.lanes.back()));
    b.lanes.pop_back();
  }
  while (b.lanes.size() < size_t(threads)) {
    b.lanes.push_back(m.spare_lanes.empty() ? std::make_unique<lane_state>() : std::move(m.spare_lanes.back()));
    if (!m.spare_lanes.empty()) m.spare_lanes.pop_back();
  }
  b.warps.resize(size_t(threads / WARP));
  b.views.clear();
  for (auto &w : b.warps)
    if (!w) w.reset(new warp_state);
  for (auto &l : b.lanes) b.views.push_back(&l->view);
}

void machine::start_block(block_state &b, grid_state &of) {
  const int threads = of.what->threads;
  fit_slot(b, threads);
  b.ids = {next_id++, 0};
  b.of = &of;
  b.live = true;
  b.index = of.order.back();
  of.order.pop_back();
  of.live++;
  b.running = threads;
  b.arrived = 0;
  b.shared.clear();
  for (size_t w = 0; w < b.warps.size(); w++) {
    warp_state &warp = *b.warps[w];
    warp.ids = {next_id++, 0};
    warp.block = &b;
    warp.ready = ~uint32_t(0);
    warp.paused = warp.done = 0;
    warp.arrived = 0;
    warp.waiting_at = collective::none;
  }
  for (int t = 0; t < threads; t++) {
    lane_state &l = *b.lanes[size_t(t)];
    l.warp = b.warps[size_t(t / WARP)].get();
    l.warp->lanes[size_t(t % WARP)] = &l;
    l.thread = t;
    l.bit = uint32_t(1) << t % WARP;
    l.collectives = 0;
    l.arrays = 0;
    l.copies.clear();
    l.batch = 0;
    l.view.start(&l.warp->ids, &b.ids, of.begun);
    l.stack.start(lane_body);
  }
}

/* Grids do not take turns: a later one may take all slots before an earlier one has them. */
grid_state *machine::pick_grid() {
  std::vector<grid_state *> waiting;
  for (auto &g : grids)
    if (!g->order.empty()) waiting.push_back(g.get());
  if (waiting.size() < 2) return waiting.empty() ? nullptr : waiting[0];
  return random.one_in(2) ? waiting.back() : waiting[random.below(waiting.size())];
}

void machine::start_blocks() {
  bool changed = false;
  for (auto &b : slots) {
    grid_state *g = b->live ? nullptr : pick_grid();
    if (!g) continue;
    start_block(*b, *g);
    changed = true;
  }
  if (changed) list_live();
}

void machine::end_block(block_state &b) {
  b.live = false;
  steps = 0;
  for (const block_state::array &a : b.shared) global.forget(b.views, a.words.get(), a.bytes);
  for (viewer *v : b.views) global.retire(*v);
  list_live();
  grid_state &g = *b.of;
  if (--g.live == 0 && g.order.empty()) {
    const grid *what = g.what;
    grids.erase(std::find_if(grids.begin(), grids.end(), [&](const auto &other) { return other.get() == &g; }));
    global.perform_all();
    if (to_do) to_do->done(what);
  }
  start_blocks();
}

void machine::list_live() {
  std::vector<block_state *> live;
  for (auto &b : slots)
    if (b->live) live.push_back(b.get());
  std::sort(live.begin(), live.end(), [](const block_state *a, const block_state *b) { return a->ids.id < b->ids.id; });
  live_warps.clear();
  live_views.clear();
  for (block_state *b : live) {
    for (auto &w : b->warps) live_warps.push_back(w.get());
    live_views.insert(live_views.end(), b->views.begin(), b->views.end());
  }
}

/* ---- the scheduler ---- */

warp_state *machine::pick_warp() {
  const size_t count = live_warps.size();
  pick how = plan.warps;
  if ((how == pick::newest_first || how == pick::oldest_first) && random.one_in(8)) how = pick::random;
  size_t first = 0;
  if (how == pick::in_turn) first = turn++ % count;
  if (how == pick::random) first = random.below(count);
  for (size_t step = 0; step < count; step++) {
    const size_t at = how == pick::newest_first ? count - 1 - step : (first + step) % count;
    if (can_run(*live_warps[at])) return live_warps[at];
  }
  return nullptr;
}

/* NULL: all lanes of the warp that can run have had their turn. */
lane_state *machine::next_lane() {
  warp_state &w = *pass.warp;
  while (pass.step < WARP && !failed) {
    const size_t at = (pass.first + pass.step++ * pass.stride) % WARP;
    if (!can_run(w, at)) continue;
    w.paused &= ~w.lanes[at]->bit;
    w.ready |= w.lanes[at]->bit;
    if (++steps > step_limit) fail("no thread block ends in " + std::to_string(step_limit) + " turns of lanes");
    return w.lanes[at];
  }
  return nullptr;
}

void machine::run_warp(warp_state &w) {
  const size_t first = random.below(WARP);
  pass = {&w, first, random.one_in(2) ? 1 : size_t(WARP - 1), 0};
  fibre &first_turn = next_turn();
  if (current) fibre::change(scheduler, first_turn);
  if (!failed && w.block->running == 0) end_block(*w.block);
}

/* Called when no lane can run: performs a buffered write or, if there is none, lets paused lanes poll again. */
void machine::wake_or_fail() {
  if (global.perform_one(live_views)) return;
  bool paused = false;
  for (const warp_state *w : live_warps) paused = paused || w->paused;
  if (!paused) fail("deadlock: all lanes wait in collectives that the others do not reach");
  if (++idle > IDLE_LIMIT) fail("deadlock: lanes poll for what never comes");
}

} // namespace

/* ---- runs ---- */

schedule schedule::from_seed(uint64_t seed) {
  random_source r;
  r.seed(seed);
  schedule s;
  s.seed = seed;
  s.resident_blocks = 1 + int(r.below(6));
  s.start = start_order(r.below(3));
  s.warps = pick(r.below(4));
  static const int preempt[] = {0, 0, 100, 10}, stale[] = {0, 20, 50, 100}, drain[] = {1, 4, 30, 1000};
  s.preempt_one_in = preempt[r.below(4)];
  s.stale_percent = stale[r.below(4)];
  s.drain_one_in = drain[r.below(4)];
  return s;
}

void use(const schedule &s) { m.plan = s; }
const std::string &error() { return m.error; }
int left_out_step = 0;

static void make_slots(int count) {
  for (auto &slot : m.slots) {
    if (!slot) slot.reset(new block_state);
    slot->live = false;
  }
  for (size_t k = size_t(count); k < m.slots.size(); k++) fit_slot(*m.slots[k], 0);
  m.slots.resize(size_t(count));
  for (auto &slot : m.slots)
    if (!slot) slot.reset(new block_state);
}

/* False: such a launch is an error. */
bool machine::begin(const grid *what) {
  if (what->blocks < 0 || what->blocks > INT32_MAX || what->threads <= 0 || what->threads % WARP != 0 || what->threads > 1024) {
    fail("launch of " + std::to_string(what->blocks) + " blocks of " + std::to_string(what->threads) + " threads");
    return false;
  }
  if (what->blocks == 0) {
    if (to_do) to_do->done(what);
    return true;
  }
  grids.emplace_back(new grid_state{what, {}, 0, global.now()});
  std::vector<int> &order = grids.back()->order;
  for (int b = 0; b < int(what->blocks); b++) order.push_back(int(what->blocks) - 1 - b);
  if (plan.start == start_order::descending) std::reverse(order.begin(), order.end());
  if (plan.start == start_order::random)
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
  start_blocks();
  return true;
}

/* Takes a step beside the lanes; false: there is none. */
bool machine::proceed(bool stuck) {
  const grid *next = nullptr;
  if (!to_do || !to_do->proceed(stuck, &next)) return false;
  return !next || begin(next);
}

static void prepare(int slots, work *to_do) {
  m.failed = false;
  m.error.clear();
  m.current = nullptr;
  m.random.seed(m.plan.seed);
  m.global.start(&m.random, m.plan.stale_percent);
  m.to_do = to_do;
  m.next_id = 1;
  m.steps = m.idle = m.turn = 0;
  m.grids.clear();
  m.live_warps.clear();
  m.live_views.clear();
  make_slots(slots);
}

static int go_on() {
  while (!m.failed) {
    m.proceed(false);
    warp_state *w = m.live_warps.empty() ? nullptr : m.pick_warp();
    if (w) m.run_warp(*w);
    else if (m.proceed(true)) continue;
    else if (m.live_warps.empty()) break;
    else m.wake_or_fail();
    if (m.random.one_in(m.plan.drain_one_in)) m.global.perform_one(m.live_views);
  }
  m.global.perform_all();
  if (m.global.constant_was_written()) m.fail("the kernel wrote data that it also read as constant");
  return m.failed ? LAUNCH_FAILED : 0;
}

int run(const grid &one) {
  emulated_gpu_launches++;
  prepare(int(std::min<int64_t>(m.plan.resident_blocks, std::max<int64_t>(one.blocks, 1))), nullptr);
  return m.begin(&one) ? go_on() : LAUNCH_FAILED;
}

int run(int64_t blocks, int threads, const std::function<void()> &kernel) { return run({blocks, threads, 0, kernel}); }

int run_together(work &to_do, int more) {
  prepare(m.plan.resident_blocks + more, &to_do);
  return go_on();
}

void forget(const void *begin, size_t bytes) { m.global.forget(m.live_views, (const char *)begin, bytes); }

/* ---- for kernels ---- */

int thread_in_block() { return me().thread; }
int threads_per_block() { return my_block().of->what->threads; }
int block_in_grid() { return my_block().index; }
int blocks_per_grid() { return int(my_block().of->what->blocks); }
size_t dynamic_shared() { return my_block().of->what->shared; }

/* A launch whose dynamic shared memory alone exceeds 48 KiB asks for all that the device has; another may take 48 KiB in all. What is
 * declared in a loop is one array on a device. */
void check_shared(const block_state &b) {
  constexpr size_t WITHOUT_ASKING = 48 << 10;
  size_t taken = 0;
  for (auto a = b.shared.begin(); a != b.shared.end(); ++a)
    if (std::none_of(b.shared.begin(), a, [&](const auto &earlier) { return earlier.declared_at == a->declared_at; })) taken += a->bytes;
  const size_t given = dynamic_shared() > WITHOUT_ASKING ? emulated_gpu_shared_bytes : WITHOUT_ASKING;
  if (taken > given) give_up(std::to_string(taken) + " bytes of shared memory in a block that may take " + std::to_string(given));
}

/* The k-th array that a lane declares is the block's k-th array. It is filled with a pattern that no kernel expects. */
void *shared_array(size_t bytes) {
  block_state &b = my_block();
  const size_t k = me().arrays++;
  if (k == b.shared.size()) {
    b.shared.push_back({std::unique_ptr<char[]>(new char[bytes]), bytes, __builtin_return_address(0)});
    memset(b.shared[k].words.get(), 0xA5, bytes);
    check_shared(b);
  }
  return b.shared[k].words.get();
}

/* Copies are performed as late as allowed, when they are awaited. Nothing may write the source until then. */
void copy_late(void *to, const void *from, size_t bytes) { me().copies.push_back({to, from, bytes, me().batch}); }
void end_batch() { me().batch++; }
void await_batches(unsigned but) {
  lane_state &l = me();
  const auto rest = std::find_if(l.copies.begin(), l.copies.end(), [&](const late_copy &c) { return c.batch + but >= l.batch; });
  for (auto c = l.copies.begin(); c != rest; ++c) copy_bytes(c->to, c->from, c->bytes);
  l.copies.erase(l.copies.begin(), rest);
  maybe_preempt();
}

uint64_t read(const void *address, word kind, access how) {
  maybe_preempt();
  return m.global.read(me().view, my_block().views, (const char *)address, kind, how);
}

/* A write that others may wait for: neither to shared memory, nor of a word that says that there is no value yet. */
static bool is_awaited(const void *address, word kind, uint64_t bits, bool add) {
  for (const block_state::array &a : my_block().shared)
    if (address >= a.words.get() && address < a.words.get() + a.bytes) return false;
  return add || bits != (kind == word::f32 || kind == word::i32 ? UINT32_MAX : UINT64_MAX);
}

void write(void *address, word kind, uint64_t bits, bool add, access how) {
  maybe_preempt();
  if (is_awaited(address, kind, bits, add) && emulated_gpu_writes++ == emulated_gpu_lose_at) return;
  m.global.write(me().view, my_block().views, (char *)address, kind, bits, add, how);
}

uint64_t read_modify_write(void *address, word kind, uint64_t bits, bool add) {
  maybe_preempt();
  return m.global.read_modify_write(me().view, my_block().views, (char *)address, kind, bits, add);
}

void fence() {
  maybe_preempt();
  m.global.fence(me().view, my_block().views);
}

void pause() {
  lane_state &l = me();
  l.paused_at = l.view.read_stale ? m.version() - 1 : m.version();
  l.view.stale_pauses = l.view.read_stale ? l.view.stale_pauses + 1 : 0;
  l.view.read_stale = false;
  leave_ready(l, &warp_state::paused);
  yield();
}

static const char *name_of(collective kind) {
  switch (kind) {
  case collective::barrier: return "a warp barrier";
  case collective::shuffle: return "a shuffle";
  case collective::exchange: return "a matrix product";
  default: return "a vote";
  }
}

/* Gives the lane's word, waits for the whole warp and returns the words of all lanes. */
static const uint64_t *meet(collective kind, uint64_t deposit) {
  lane_state &l = me();
  warp_state &w = *l.warp;
  uint64_t *words = w.exchanged[l.collectives++ & 1];
  words[l.thread % WARP] = deposit;
  if (w.arrived > 0 && w.waiting_at != kind)
    give_up(std::string("lanes of a warp meet at ") + name_of(w.waiting_at) + " and at " + name_of(kind));
  if (w.done) give_up(std::string("a lane waits at ") + name_of(kind) + " for one that has ended");
  w.waiting_at = kind;
  if (++w.arrived < WARP) {
    w.ready &= ~l.bit;
    yield();
    return words;
  }
  w.arrived = 0;
  w.ready = ~uint32_t(0);
  if (kind == collective::barrier) {
    moment acquired = 0;
    for (const lane_state *other : w.lanes) acquired = std::max(acquired, other->view.acquired);
    w.ids.barrier = m.global.barrier();
    for (lane_state *other : w.lanes) other->view.acquired = acquired;
  }
  return words;
}

uint64_t shuffle(uint64_t bits, int from) {
  if (from < 0 || from >= WARP) give_up("shuffle from lane " + std::to_string(from));
  return meet(collective::shuffle, bits)[from];
}

void all_words(uint64_t out[WARP], uint64_t bits) { std::copy_n(meet(collective::exchange, bits), size_t(WARP), out); }

uint32_t vote(bool v) {
  warp_state &w = *me().warp;
  uint32_t &ballot = w.ballots[me().collectives & 1];
  ballot = (w.arrived == 0 ? 0 : ballot) | (v ? me().bit : 0);
  meet(collective::vote, 0);
  return ballot;
}

void warp_barrier() { meet(collective::barrier, 0); }

void block_barrier() {
  lane_state &l = me();
  block_state &b = my_block();
  if (b.running != threads_per_block()) give_up("a thread waits at a block barrier for one that has ended");
  if (++b.arrived < threads_per_block()) {
    l.warp->ready &= ~l.bit;
    yield();
    return;
  }
  b.arrived = 0;
  b.ids.barrier = m.global.barrier();
  moment acquired = 0;
  for (auto &w : b.warps) w->ready = ~uint32_t(0);
  for (const auto &other : b.lanes) acquired = std::max(acquired, other->view.acquired);
  for (auto &other : b.lanes) other->view.acquired = acquired;
}

} // namespace simt
