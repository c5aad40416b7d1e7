/* child_helpers.h -- what the tests of the process that reads a file share. Included once per test program. */
#ifndef TESTS_IO_CHILD_HELPERS_H
#define TESTS_IO_CHILD_HELPERS_H

#include "fixture.h"
#include "test_folder.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <io/file/child.h>

#define REAL(name) (*(void **)&real = dlsym(RTLD_NEXT, name))

/* What a file shares with its child: the only mapping of that size that is shared and has no name. */
static inline spti_io_shared *find_shared(void) {
  char line[512];
  uintptr_t begin = 0, end = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "/dev/zero") != NULL && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
        end - begin >= sizeof(spti_io_shared))
      break;
  if (maps != NULL) fclose(maps);
  return (spti_io_shared *)begin;
}

static inline void fails(sptrsm_status status, sptrsm_status expected, const char *words) {
  cr_assert_eq(status, expected, "status %d: %s", status, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), words) != NULL, "%s", sptrsm_last_error());
}

/* Without a time in it, the file has the same bytes whenever it is written. */
static inline void write_numbers(const char *name, int rank, const hsize_t *dims, const hsize_t *chunk) {
  static const double data[1 << 18] = {1, 2, 3, 4};
  hid_t f = H5Fcreate(file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plist = H5Pcreate(H5P_DATASET_CREATE);
  cr_assert(H5Pset_obj_track_times(plist, false) >= 0);
  if (chunk != NULL) cr_assert(H5Pset_chunk(plist, rank, chunk) >= 0 && H5Pset_deflate(plist, 1) >= 0);
  hid_t space = H5Screate_simple(rank, dims, NULL), d = H5Dcreate2(f, name, H5T_IEEE_F64BE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  cr_assert(d >= 0 && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Sclose(space), H5Pclose(plist);
  cr_assert(H5Fclose(f) >= 0);
}

#endif
