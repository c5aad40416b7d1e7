/* word_access.cpp -- see word_access.h. */
#include "simt/emulator/word_access.h"

#include <string.h>

namespace simt {

static bool is_short(word kind) { return kind == word::i32 || kind == word::f32; }

uint64_t read_word(const void *address, word kind) {
  uint64_t bits = 0;
  if (is_short(kind)) memcpy(&bits, address, 4);
  else memcpy(&bits, address, 8);
  return bits;
}

void write_word(void *address, word kind, uint64_t bits) {
  if (is_short(kind)) memcpy(address, &bits, 4);
  else memcpy(address, &bits, 8);
}

void copy_bytes(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }

} // namespace simt
