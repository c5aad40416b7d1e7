/* memory.cpp -- see memory.h and docs/simt.md. */
#include "simt/emulator/memory.h"

#include <algorithm>

#include "simt/emulator/word_access.h"

namespace simt {

enum { WORD_BYTES = 4, BUFFER_LIMIT = 64, STALE_PAUSES_LIMIT = 3, STALE_READS_LIMIT = 8, RETIRED_LIMIT = 512 };
static const moment FOREVER = ~moment(0);

template <typename W> static uint64_t sum_bits(uint64_t a, uint64_t b) {
  W x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  x = W(x + y);
  uint64_t bits = 0;
  memcpy(&bits, &x, sizeof x);
  return bits;
}

static uint64_t add_bits(word kind, uint64_t a, uint64_t b) {
  switch (kind) {
  case word::i32: return sum_bits<uint32_t>(a, b);
  case word::i64: return sum_bits<uint64_t>(a, b);
  case word::f32: return sum_bits<float>(a, b);
  default: return sum_bits<double>(a, b);
  }
}

void viewer::start(const group *w, const group *b, moment now) {
  warp = w;
  block = b;
  acquired = begun = now;
  could_acquire = fenced = 0;
  read_stale = false;
  stale_pauses = 0;
  buffer.clear();
  sights = 0;
}

void viewer::sight::saw(moment version, bool old) {
  stale = version > performed ? old : stale + old;
  performed = std::max(performed, version);
}

viewer::sight &viewer::sight_of(const char *address) {
  for (size_t k = std::min(sights, seen.size()); k-- > 0;)
    if (seen[k].address == address) return seen[k];
  return seen[sights++ % seen.size()] = {address, 0, 0};
}

void memory::start(random_source *source, int percent) {
  random = source;
  stale_percent = percent;
  constant_written = false;
  locations.clear();
  buffered = 0;
  clock = 1;
  retired.start(nullptr, nullptr, 0);
}

memory::location &memory::at(const char *address, word kind) {
  const auto [found, is_new] = locations.try_emplace(address);
  location &l = found->second;
  if (!is_new) return l;
  l.versions = 1;
  l.history[0] = {read_word(address, kind), 0, 0, 0, nullptr, 0, 0};
  return l;
}

void memory::perform(viewer *by, const buffered_write &w, bool release) {
  location &l = at(w.address, w.kind);
  const version &old = l.history[size_t(l.versions - 1)];
  version v;
  v.bits = w.add ? add_bits(w.kind, old.bits, w.bits) : w.bits;
  v.performed = ++clock;
  /* An atomic operation continues a release sequence; a plain store ends it. */
  v.released = release ? clock : std::max(w.released, w.add ? old.released : 0);
  v.issued = w.issued;
  v.by = by;
  v.warp = by->warp ? by->warp->id : 0;
  v.block = by->block ? by->block->id : 0;
  if (size_t(l.versions) == l.history.size()) {
    std::copy(l.history.begin() + 1, l.history.end(), l.history.begin());
    l.versions--;
  }
  l.history[size_t(l.versions++)] = v;
  write_word(w.address, w.kind, v.bits);
  by->sight_of(w.address).saw(v.performed, false);
}

void memory::perform_buffered(viewer &by, size_t which) {
  const buffered_write w = by.buffer[which];
  by.buffer.erase(by.buffer.begin() + std::ptrdiff_t(which));
  buffered--;
  at(w.address, w.kind).pending--;
  perform(&by, w, false);
}

/* Performs by's writes to address (nullptr: to any) that were issued before the moment, in program order. */
void memory::perform_to(viewer &by, const char *address, moment issued_before) {
  for (size_t which = 0; which < by.buffer.size();) {
    const buffered_write &w = by.buffer[which];
    if (w.issued < issued_before && (!address || w.address == address)) perform_buffered(by, which);
    else which++;
  }
}

/* The moment up to which another lane's writes are ordered before this lane's next operation. */
moment memory::shared_until(const viewer &by, const viewer &mate) {
  if (&by == &mate) return FOREVER;
  return by.warp == mate.warp ? std::max(by.warp->barrier, by.block->barrier) : by.block->barrier;
}

/* Performs writes of other lanes, and its own if they are wanted, that barriers order before this lane's operation on the same address. */
void memory::perform_ordered(viewer &by, const location &l, const std::vector<viewer *> &mates, const char *address, bool own) {
  const auto perform_mate = [&](viewer *mate) {
    if (own || mate != &by) perform_to(*mate, address, shared_until(by, *mate));
  };
  if (l.pending == 0 || (l.writer && l.block != by.block->id)) return;
  if (l.writer) perform_mate(l.writer);
  else std::for_each(mates.begin(), mates.end(), perform_mate);
}

void memory::perform_before_release(viewer &by, const std::vector<viewer *> &mates) {
  for (viewer *mate : mates)
    if (!mate->buffer.empty()) perform_to(*mate, nullptr, shared_until(by, *mate));
}

bool memory::must_see(const viewer &by, const version &v) {
  if (v.performed <= by.acquired) return true;
  if (v.block != by.block->id) return false;
  if (v.issued < by.block->barrier) return true;
  return v.warp == by.warp->id && (v.by == &by || v.issued < by.warp->barrier);
}

uint64_t memory::read(viewer &by, const std::vector<viewer *> &mates, const char *address, word kind, access how) {
  const uint64_t newest = read_word(address, kind);
  auto found = locations.find(address);
  if (found == locations.end()) return newest;
  location &l = found->second;
  if (how == access::constant && (l.pending || l.history[size_t(l.versions - 1)].performed > by.begun)) constant_written = true;
  perform_ordered(by, l, mates, address, true);

  viewer::sight &seen = by.sight_of(address);
  int oldest = l.versions - 1;
  while (oldest > 0 && !must_see(by, l.history[size_t(oldest)]) && l.history[size_t(oldest)].performed > seen.performed) oldest--;
  int chosen = l.versions - 1;
  const bool may_be_stale = by.stale_pauses < STALE_PAUSES_LIMIT && seen.stale < STALE_READS_LIMIT;
  if (oldest < chosen && may_be_stale && random->below(100) < uint64_t(stale_percent))
    chosen = oldest + int(random->below(uint64_t(chosen - oldest)));
  const bool stale = chosen < l.versions - 1;
  by.read_stale |= stale;
  const version &v = l.history[size_t(chosen)];
  seen.saw(v.performed, stale);
  by.could_acquire = std::max(by.could_acquire, v.released);
  if (how == access::ordered) by.acquired = std::max(by.acquired, v.released);
  return v.bits;
}

void memory::write(viewer &by, const std::vector<viewer *> &mates, char *address, word kind, uint64_t bits, bool add, access how) {
  location &l = at(address, kind); /* reads the word, so that AddressSanitizer reports a wrong address here */
  perform_ordered(by, l, mates, address, false);
  const buffered_write w = {address, kind, add, bits, clock, by.fenced};
  if (how == access::ordered) {
    perform_before_release(by, mates);
    perform(&by, w, true);
    return;
  }
  if (l.pending++ == 0) l.writer = &by, l.block = by.block->id;
  else if (l.writer != &by || l.block != by.block->id) l.writer = nullptr;
  by.buffer.push_back(w);
  buffered++;
  if (by.buffer.size() > BUFFER_LIMIT) perform_buffered(by, 0);
}

uint64_t memory::read_modify_write(viewer &by, const std::vector<viewer *> &mates, char *address, word kind, uint64_t bits, bool add) {
  const location &l = at(address, kind);
  perform_ordered(by, l, mates, address, false);
  perform_to(by, address, FOREVER);
  const version old = l.history[size_t(l.versions - 1)];
  by.could_acquire = std::max(by.could_acquire, old.released);
  perform(&by, {address, kind, add, bits, clock, std::max(by.fenced, old.released)}, false);
  return old.bits;
}

void memory::fence(viewer &by, const std::vector<viewer *> &mates) {
  perform_before_release(by, mates);
  by.fenced = ++clock;
  by.acquired = std::max(by.acquired, by.could_acquire);
}

/* Writes of one lane to one address keep their order; otherwise the choice is random. */
bool memory::perform_one(const std::vector<viewer *> &lanes) {
  const size_t count = lanes.size() + 1;
  size_t at_lane = random->below(count);
  if (buffered == 0) return false;
  for (size_t step = 0; step < count; step++, at_lane = at_lane + 1 < count ? at_lane + 1 : 0) {
    viewer &by = at_lane < lanes.size() ? *lanes[at_lane] : retired;
    if (by.buffer.empty()) continue;
    const char *address = by.buffer[random->below(by.buffer.size())].address;
    size_t which = 0;
    while (by.buffer[which].address != address) which++;
    perform_buffered(by, which);
    return true;
  }
  return false;
}

void memory::retire(viewer &by) {
  if (retired.buffer.size() > RETIRED_LIMIT) perform_all();
  retired.buffer.insert(retired.buffer.end(), by.buffer.begin(), by.buffer.end());
  by.buffer.clear();
}

void memory::forget(const std::vector<viewer *> &lanes, const char *begin, size_t bytes) {
  const auto inside = [=](const char *address) { return address >= begin && address < begin + bytes; };
  for (viewer *lane : lanes) {
    std::vector<buffered_write> &b = lane->buffer;
    const auto kept = std::remove_if(b.begin(), b.end(), [&](const buffered_write &w) { return inside(w.address); });
    buffered -= size_t(b.end() - kept);
    b.erase(kept, b.end());
  }
  if (locations.size() < bytes / WORD_BYTES) {
    for (auto l = locations.begin(); l != locations.end();) l = inside(l->first) ? locations.erase(l) : std::next(l);
  } else {
    for (size_t at = -reinterpret_cast<uintptr_t>(begin) % WORD_BYTES; at < bytes; at += WORD_BYTES) locations.erase(begin + at);
  }
}

void memory::perform_all() {
  for (const buffered_write &w : retired.buffer) {
    at(w.address, w.kind).pending--;
    perform(&retired, w, false);
  }
  buffered -= retired.buffer.size();
  retired.buffer.clear();
}

} // namespace simt
