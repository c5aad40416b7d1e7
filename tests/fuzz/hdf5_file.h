/* hdf5_file.h -- HDF5 files that the HDF5 library itself writes, so that they are sound, with contents that the input describes. */
#ifndef TESTS_FUZZ_HDF5_FILE_H
#define TESTS_FUZZ_HDF5_FILE_H

#include <hdf5.h>

#include "fuzz.h"

/* No messages of HDF5, and its memory is used again. */
void fuzz_hdf5_start(void);
/* A new file in the place of fuzz_file(). */
hid_t fuzz_hdf5_create(void);
/* Takes commands from the input, each of which adds a group, dataset, attribute, link or a whole triangle, block or vector. */
void fuzz_hdf5_fill(hid_t file, fuzz_bytes *);
/* Group `name` with a sound triangle of order n in one of the forms of docs/formats.md: AnnData, h5py, COO, MATLAB, Binsparse. */
void fuzz_hdf5_triangle(hid_t group, const char *name, fuzz_bytes *);
/* An attribute of text. as_array: of fixed length, else of variable length. */
void fuzz_hdf5_text(hid_t object, const char *name, const char *text, int as_array);
/* A name out of those that the forms know. */
const char *fuzz_hdf5_name(fuzz_bytes *);

#endif
