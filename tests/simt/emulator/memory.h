/* memory.h -- the emulator's global memory: buffered writes, a short history of each address, and the values that a lane may read. */
#ifndef TESTS_SIMT_EMULATOR_MEMORY_H
#define TESTS_SIMT_EMULATOR_MEMORY_H

#include <string.h>

#include <array>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "simt/emulator/simt.h"

namespace simt {

/* Times are values of one counter that every performed write and every barrier advances. */
using moment = uint64_t;

class random_source {
public:
  void seed(uint64_t s) { state = s * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du; }
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (next() >> 11) % n; }
  bool one_in(int n) { return n > 0 && below(uint64_t(n)) == 0; }

private:
  uint64_t state = 0;
};

/* A warp or a block: its identity and the moment of its last barrier. */
struct group {
  uint64_t id = 0;
  moment barrier = 0;
};

struct buffered_write {
  char *address;
  word kind;
  bool add;
  uint64_t bits;
  moment issued;
  moment released; /* what a reader acquires from it, because of an earlier fence of the lane */
};

/* A lane's view of the memory. */
struct viewer {
  const group *warp = nullptr, *block = nullptr;
  moment begun = 0;         /* of its grid: what was written before may be read as constant */
  moment acquired = 0;      /* all writes performed up to this moment must be seen */
  moment could_acquire = 0; /* what a fence will acquire, from relaxed reads so far */
  moment fenced = 0;        /* moment of the last fence */
  bool read_stale = false;  /* since the last pause */
  int stale_pauses = 0;     /* consecutive pauses after a stale read; after some the lane reads the newest values, so that polls end */
  std::vector<buffered_write> buffer;
  struct sight {
    const char *address;
    moment performed;
    int stale; /* stale reads of the address; after some the lane reads the newest value, even if it reads it rarely */
    void saw(moment version, bool old);
  };
  std::array<sight, 32> seen; /* a ring of recent addresses, each with the latest version that the lane has seen */
  size_t sights = 0;          /* entered so far */

  void start(const group *w, const group *b, moment now);
  sight &sight_of(const char *address);
};

class memory {
public:
  void start(random_source *, int stale_percent);
  uint64_t read(viewer &, const std::vector<viewer *> &mates, const char *, word, access);
  void write(viewer &, const std::vector<viewer *> &mates, char *, word, uint64_t bits, bool add, access);
  uint64_t read_modify_write(viewer &, const std::vector<viewer *> &mates, char *, word, uint64_t bits, bool add);
  void fence(viewer &, const std::vector<viewer *> &mates);
  moment barrier() { return ++clock; }
  moment now() const { return clock; }
  bool perform_one(const std::vector<viewer *> &); /* performs a random buffered write; false: there is none */
  void retire(viewer &);                           /* the lane's block has ended: its buffered writes are kept apart */
  void perform_all();                              /* performs all writes of retired lanes */
  void forget(const std::vector<viewer *> &, const char *begin, size_t bytes); /* for memory that ends with its block, or is copied to */
  bool constant_was_written() const { return constant_written; }

private:
  struct version {
    uint64_t bits;
    moment performed, released, issued;
    const viewer *by;     /* the writer */
    uint64_t warp, block; /* the identities of its warp and block, since viewers are reused */
  };
  struct location {
    int pending = 0, versions = 0;
    viewer *writer = nullptr;       /* of all pending writes, if `block` is still that of its lane; NULL: there may be several */
    uint64_t block = 0;             /* identity of the writer's block */
    std::array<version, 6> history; /* oldest first */
  };
  location &at(const char *, word);
  void perform(viewer *, const buffered_write &, bool release);
  void perform_buffered(viewer &, size_t which);
  void perform_to(viewer &, const char *address, moment issued_before);
  void perform_ordered(viewer &, const location &, const std::vector<viewer *> &mates, const char *address, bool own);
  void perform_before_release(viewer &, const std::vector<viewer *> &mates);
  static bool must_see(const viewer &, const version &);
  static moment shared_until(const viewer &, const viewer &mate);

  random_source *random = nullptr;
  int stale_percent = 0;
  moment clock = 0;
  bool constant_written = false;
  size_t buffered = 0;                         /* number of buffered writes of all lanes */
  std::pmr::unsynchronized_pool_resource pool; /* for the map, which has a node for every address that a launch writes */
  std::pmr::unordered_map<const char *, location> locations{&pool};
  viewer retired;
};

} // namespace simt
#endif
