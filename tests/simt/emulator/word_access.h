/* word_access.h -- where the emulator touches memory that kernels name: the one part of it that AddressSanitizer watches. */
#ifndef TESTS_SIMT_EMULATOR_WORD_ACCESS_H
#define TESTS_SIMT_EMULATOR_WORD_ACCESS_H

#include "simt/emulator/simt.h"

namespace simt {

uint64_t read_word(const void *, word);
void write_word(void *, word, uint64_t bits);
void copy_bytes(void *to, const void *from, size_t);

} // namespace simt
#endif
