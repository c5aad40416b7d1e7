/* word_access.h -- the emulator's accesses to memory that kernels name: the only part of it that AddressSanitizer instruments. */
#ifndef TESTS_SIMT_EMULATOR_WORD_ACCESS_H
#define TESTS_SIMT_EMULATOR_WORD_ACCESS_H

#include "simt/emulator/simt.h"

namespace simt {

uint64_t read_word(const void *, word);
void write_word(void *, word, uint64_t bits);
void copy_bytes(void *to, const void *from, size_t);

} // namespace simt
#endif
