/* grid.c -- see grid.h. */
#include "common/grid.h"

#include <string.h>

/* X,Y or X,Y,Z; a plane has Z = 1. */
static void parse_sizes(grid_choice *g, const char *text) {
  char copy[96], *rest = copy, *part;
  int count = 0;
  if (strlen(text) >= sizeof copy) cli_usage("--grid: '%.40s...' is no X,Y,Z", text);
  strcpy(copy, text);
  g->sizes[2] = 1;
  while ((part = strsep(&rest, ","))) {
    if (count == 3) cli_usage("--grid: '%s' has more than three sizes", text);
    g->sizes[count++] = cli_integer("--grid", part, 1, INT32_MAX);
  }
  if (count < 2) cli_usage("--grid: '%s' is no X,Y,Z", text);
  g->has_grid = true;
}

bool grid_parse(int key, const char *text, grid_choice *g) {
  static const char *const names[] = {"D2N5", "D2N9", "D3N7", "D3N13", "D3N27", "D3N33"};
  switch (key) {
  case GRID_SIZES: parse_sizes(g, text); return true;
  case GRID_STENCIL:
    strcpy(g->stencil, names[cli_choice("--stencil", text, names, sizeof names / sizeof *names)]);
    g->has_stencil = true;
    return true;
  default: return false;
  }
}

void grid_check(const grid_choice *g) {
  if (g->has_grid != g->has_stencil) cli_usage("--grid and --stencil go together: --grid 64,64,64 --stencil D3N7");
}

void grid_settle(sptrsm_options *options, const grid_choice *g, const sptrsm_file_matrix *M) {
  const char *stencil = g->has_stencil ? g->stencil : M ? M->stencil : "";
  const int64_t *sizes = g->has_grid ? g->sizes : M ? M->grid : NULL;
  strcpy(options->stencil, stencil);
  if (sizes) memcpy(options->grid, sizes, sizeof options->grid);
}
