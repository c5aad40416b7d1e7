/* inputs.h -- triangles from files, from all files of a folder, and made in memory. */
#ifndef APPS_BENCH_INPUTS_H
#define APPS_BENCH_INPUTS_H

#include <sptrsm_io.h>

#include "common/gen_triangle.h"

typedef struct {
  char *where;        /* "dir/f.h5:/L", "gen:D3N7:64,64,64" */
  char *file, *group; /* "dir/f.h5" and "/L"; the whole of gen:... and "" */
  const char *shown;  /* "f.h5:/L", within where */
  bool is_made;
  triangle_spec spec; /* of a made one */
} bench_input;

typedef struct {
  bench_input *list;
  int count, room;
  int worst; /* highest exit code of what could not be listed; the rest is there */
} bench_inputs;

/* Lists what the names mean. A wrong gen: specification exits with CLI_USAGE. */
void bench_inputs_find(bench_inputs *, char *const names[], int count);
void bench_inputs_free(bench_inputs *);

typedef struct {
  sptrsm_sparse T;
  sptrsm_file_matrix *M; /* of a file */
  triangle made;
  const char *stencil; /* of a made one, or NULL */
  int64_t grid[3];
} bench_triangle;
sptrsm_status bench_triangle_load(bench_triangle *, const bench_input *, sptrsm_dtype);
void bench_triangle_free(bench_triangle *);

#endif
