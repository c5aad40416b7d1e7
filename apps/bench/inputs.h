/* inputs.h -- triangles from files, from all files of a folder, and generated in memory. */
#ifndef APPS_BENCH_INPUTS_H
#define APPS_BENCH_INPUTS_H

#include <sptrsm_io.h>

#include "common/gen_triangle.h"

typedef struct {
  char *where;        /* "dir/f.h5:/L", "gen:D3N7:64,64,64" */
  char *file, *group; /* "dir/f.h5" and "/L"; for a generated one "gen:..." and "" */
  const char *shown;  /* "f.h5:/L", the end of where */
  bool is_made;       /* generated in memory */
  triangle_spec spec; /* of a generated one */
} bench_input;

typedef struct {
  bench_input *list;
  int count, room;
  int worst; /* highest exit code of the names that could not be listed; the others are in the list */
} bench_inputs;

/* Lists the triangles of all names. Exits with CLI_USAGE at a wrong gen: specification. */
void bench_inputs_find(bench_inputs *, char *const names[], int count);
void bench_inputs_free(bench_inputs *);

typedef struct {
  sptrsm_sparse T;
  sptrsm_file_matrix *M; /* the matrix of T from a file, or NULL */
  triangle made;         /* the arrays of a generated T */
  const char *stencil;   /* of a generated one, or NULL */
  int64_t grid[3];
} bench_triangle;
sptrsm_status bench_triangle_load(bench_triangle *, const bench_input *, sptrsm_dtype);
void bench_triangle_free(bench_triangle *);

#endif
