/* grid.h -- grid and stencil of a structured problem: from the command line, else from the file. */
#ifndef APPS_COMMON_GRID_H
#define APPS_COMMON_GRID_H

#include "common/cli.h"

enum { GRID_SIZES = 4500, GRID_STENCIL };
#define GRID_OPTIONS                                                                                                                       \
  {"grid", GRID_SIZES, "SIZES", 0, "points of the grid along x, y and z", 0}, {                                                            \
    "stencil", GRID_STENCIL, "D2N5|D2N9|D3N7|D3N13|D3N27|D3N33", 0, "neighbours of a grid point", 0                                        \
  }

typedef struct {
  bool has_grid, has_stencil; /* grid_check: both or none */
  int64_t sizes[3];
  char stencil[16];
} grid_choice;

/* Takes one option. False: the key is none of these. */
bool grid_parse(int key, const char *text, grid_choice *);
void grid_check(const grid_choice *); /* exits with CLI_USAGE where one option is given without the other */
/* Fills options->stencil and options->grid from the choice, else from the attributes of M, which may be NULL. */
void grid_settle(sptrsm_options *options, const grid_choice *, const sptrsm_file_matrix *M);

#endif
