/* map.c -- the entries of a matrix, mapped from the file instead of copied (option `map`).
 *
 * Numbers that lie in the file exactly as in memory are used where they lie: the system reads their pages when they are touched, and can
 * drop them again, since the file has them. Only contiguous, aligned datasets of the machine's own types can be; pointers are always
 * copied, since there are few of them. A pass over the entries gives the pages behind it back, so that the memory that the process holds
 * does not grow with the file. What changes entries copies them first (spti_io_own).
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_of(const void *at) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  return (uintptr_t)at / page * page;
}

/* All numbers of a dataset; NULL: they can't be mapped. aligned: bytes of one number, of a complex one those of a part. */
static void *map_numbers(const spti_io_dataset *d, int as, size_t bytes, size_t aligned) {
  spti_io_place place;
  void *memory = MAP_FAILED;
  spti_io_find_place(&place, d, as);
  const off_t page = (off_t)sysconf(_SC_PAGESIZE), inside = place.at % page;
  if (place.fd >= 0 && place.at >= 0 && place.at % (off_t)aligned == 0 && bytes > 0 && bytes <= SIZE_MAX - (size_t)page)
    memory = mmap(NULL, bytes + (size_t)inside, PROT_READ, MAP_PRIVATE, place.fd, place.at - inside);
  if (place.fd >= 0) close(place.fd);
  return memory == MAP_FAILED ? NULL : (char *)memory + inside;
}

static void unmap(void *array, size_t bytes) {
  const uintptr_t first = page_of(array);
  munmap((void *)first, bytes + ((uintptr_t)array - first));
}

void spti_io_map_entries(sptrsm_file_matrix *M, const spti_io_dataset *idx, const spti_io_dataset *val) {
  const size_t each = sptrsm_dtype_bytes(M->dtype), indices = spti_io_bytes(idx->count, sizeof *M->idx);
  if (idx->number.is_integer) M->idx = map_numbers(idx, SPTI_AS_I32, indices, sizeof *M->idx);
  if (M->idx) M->mapped[0] = indices;
  if (val == NULL) return;
  const size_t values = spti_io_bytes(val->pairs ? val->count / 2 : val->count, each);
  M->val = map_numbers(val, (int)M->dtype, values, spti_is_complex(M->dtype) ? each / 2 : each);
  if (M->val) M->mapped[1] = values;
}

void spti_io_free_entries(sptrsm_file_matrix *M) {
  if (M->mapped[0] > 0) unmap(M->idx, M->mapped[0]);
  else free(M->idx);
  spti_io_replace_values(M, NULL);
  M->idx = NULL;
  M->mapped[0] = 0;
}

void spti_io_replace_values(sptrsm_file_matrix *M, void *val) {
  if (M->mapped[1] > 0) unmap(M->val, M->mapped[1]);
  else free(M->val);
  M->val = val;
  M->mapped[1] = 0;
}

sptrsm_status spti_io_own(sptrsm_file_matrix *M) {
  void *copy;
  if (M->mapped[0] > 0) {
    SPTI_IO_TRY(spti_io_allocate(&copy, M->where, M->mapped[0]));
    memcpy(copy, M->idx, M->mapped[0]);
    unmap(M->idx, M->mapped[0]);
    M->idx = copy;
    M->mapped[0] = 0;
  }
  if (M->mapped[1] == 0) return SPTRSM_OK;
  SPTI_IO_TRY(spti_io_allocate(&copy, M->where, M->mapped[1]));
  memcpy(copy, M->val, M->mapped[1]);
  spti_io_replace_values(M, copy);
  return SPTRSM_OK;
}

static void release(const void *array, size_t each, int64_t first, int64_t end) {
  const char *from = (const char *)array + (size_t)first * each, *to = (const char *)array + (size_t)end * each;
  const uintptr_t begin = page_of(from);
  madvise((void *)begin, (size_t)((uintptr_t)to - begin), MADV_DONTNEED);
}

void sptrsm_file_matrix_release(const sptrsm_file_matrix *M, int64_t first, int64_t end) {
  const int64_t nnz = M ? M->ptr[M->format == SPTRSM_CSR ? M->rows : M->cols] : 0;
  if (first < 0) first = 0;
  if (end > nnz) end = nnz;
  if (first >= end) return;
  if (M->mapped[0] > 0) release(M->idx, sizeof *M->idx, first, end);
  if (M->mapped[1] > 0) release(M->val, sptrsm_dtype_bytes(M->dtype), first, end);
}
