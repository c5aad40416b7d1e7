/* hash.c -- the hash of bytes that plans in files carry. */
#include <criterion/criterion.h>

#include "core/blob/blob.h"

/* Files move between processors, and hashes of them have to be the same with each instruction set: these are of the plain C. */
Test(blobs, hashes_do_not_depend_on_the_processor) {
  static const struct {
    size_t bytes;
    uint64_t hash;
  } known[] = {{0, 0},
               {1, 0x32acdb28a9e9445fu},
               {63, 0x8c26f153678398d5u},
               {64, 0x91be55f040dc6db5u},
               {4096, 0xb62de26de2a9f721u},
               {4100, 0xdd5ee08039cc29ceu},
               {262144, 0x65d702b85917a778u},
               {300001, 0xb16cadcf8c340748u}};
  static unsigned char data[300001];
  uint32_t random = 1;
  for (size_t k = 0; k < sizeof data; k++) data[k] = (unsigned char)((random = random * 1664525u + 1013904223u) >> 24);
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    cr_assert_eq(spti_hash(NULL, data, known[k].bytes), known[k].hash, "%zu bytes", known[k].bytes);
}
