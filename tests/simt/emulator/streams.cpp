/* streams.cpp -- streams beside the context's own, on the emulator. What is queued there is done as late as possible: when the context's
 * stream, or the host, waits for an event or a stream, and no more of it than was queued before. Copies happen and grids begin in any order
 * that streams and events leave open, also while other grids run. The context's own stream, which is none of these, does everything at
 * once. */
#include <string.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "simt/emulator/emulated_gpu.h"
#include "simt/emulator/memory.h"
#include "simt/emulator/runtime/cuda_runtime_api.h"
#include "simt/emulator/simt.h"

namespace {

struct operation {
  std::vector<size_t> behind;
  std::function<void()> copy; /* of a copy; */
  simt::grid grid;            /* of a grid, which has threads; else nothing is to be done */
  bool begun, done;
};

} // namespace

enum : size_t { NONE = SIZE_MAX };
struct emulated_stream {
  size_t last = NONE; /* operation */
};
struct emulated_event {
  size_t recorded = NONE;
};

namespace {

std::vector<std::unique_ptr<emulated_stream>> streams;
std::vector<std::unique_ptr<emulated_event>> events;
std::vector<operation> queued;
simt::random_source random_steps;

emulated_stream *found(const void *stream) {
  for (auto &s : streams)
    if (s.get() == stream) return s.get();
  return nullptr;
}

void queue(emulated_stream *s, operation o, size_t also_behind = NONE) {
  for (size_t k : {s->last, also_behind})
    if (k != NONE) o.behind.push_back(k);
  s->last = queued.size();
  queued.push_back(std::move(o));
}

/* The operations before `end`. */
class queued_work : public simt::work {
public:
  size_t end;
  bool proceed(bool idle, const simt::grid **begins) override {
    std::vector<operation *> ready;
    for (size_t at = 0; at < end; at++) {
      operation &o = queued[at];
      if (o.begun || !std::all_of(o.behind.begin(), o.behind.end(), [](size_t k) { return queued[k].done; })) continue;
      o.begun = o.done = !o.copy && o.grid.threads == 0;
      if (!o.done) ready.push_back(&o);
    }
    if (ready.empty() || (!idle && !random_steps.one_in(8))) return false;
    operation *o = ready[random_steps.below(ready.size())];
    o->begun = true;
    if (o->copy) o->copy(), o->done = true;
    else *begins = &o->grid;
    return true;
  }
  void done(const simt::grid *g) override {
    for (operation &o : queued)
      if (&o.grid == g) o.done = true;
  }
};

void forget_all() {
  queued.clear();
  for (auto &s : streams) s->last = NONE;
  for (auto &e : events) e->recorded = NONE;
}

int need(size_t last) {
  if (last == NONE || queued[last].done) return cudaSuccess;
  queued_work work;
  work.end = last + 1;
  const int error = simt::run_together(work, int(streams.size()));
  if (error || std::all_of(queued.begin(), queued.end(), [](const operation &o) { return o.done; })) forget_all();
  return error;
}

template <typename T> void drop(std::vector<std::unique_ptr<T>> &all, const T *one) {
  all.erase(std::find_if(all.begin(), all.end(), [=](const auto &other) { return other.get() == one; }));
}

} // namespace

bool emulated_gpu_captures;

/* Launches during a capture, which are done all the same. */
static std::vector<simt::grid> captured;

void emulated_gpu_forget_captured(void) { captured.clear(); }

int emulated_gpu_replay(void) {
  int error = 0;
  for (size_t k = 0; k < captured.size() && !error; k++) error = simt::run(captured[k]);
  return error;
}

int simt::launch(void *stream, const grid &g) {
  emulated_stream *s = found(stream);
  if (emulated_gpu_captures) captured.push_back(g);
  if (!s) return run(g);
  emulated_gpu_launches++;
  queue(s, {{}, nullptr, g, false, false});
  return 0;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
  streams.push_back(std::make_unique<emulated_stream>());
  *out = streams.back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s) { return need(s->last); }

cudaError_t cudaStreamDestroy(cudaStream_t s) {
  const cudaError_t error = need(s->last);
  drop(streams, s);
  return error;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
  events.push_back(std::make_unique<emulated_event>());
  *out = events.back().get();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e) {
  drop(events, e);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  const emulated_stream *s = found(stream);
  e->recorded = s ? s->last : NONE;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  emulated_stream *s = found(stream);
  if (!s) return need(e->recorded);
  queue(s, {{}, nullptr, {}, false, false}, e->recorded);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t stream) {
  emulated_stream *s = found(stream);
  const auto copy = [=] {
    memcpy(to, from, bytes);
    simt::forget(to, bytes);
  };
  if (s) queue(s, {{}, copy, {}, false, false});
  else memcpy(to, from, bytes);
  return cudaSuccess;
}
