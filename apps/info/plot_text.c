/* plot_text.c -- pictures of a matrix for the terminal; see plot.h. */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cli.h"
#include "info/plot.h"

enum { WIDTH = 80, LEAST_WIDTH = 40, MOST_WIDTH = 1000, LEVELS_HEIGHT = 8, EIGHTHS = 8 };

typedef struct {
  const char *shades[1 + PLOT_SHADES]; /* of the empty cell, then from light to full */
  const char *eighths[1 + EIGHTHS];    /* [k]: a bar that fills k eighths of a character from below */
  const char *bar;                     /* of a histogram */
  const char *across, *down, *corners[4];
} glyphs;

static const glyphs blocks = {.shades = {" ", "░", "▒", "▓", "█"},
                              .eighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                              .bar = "█",
                              .across = "─",
                              .down = "│",
                              .corners = {"┌", "┐", "└", "┘"}};
static const glyphs ascii = {.shades = {" ", ".", "+", "x", "#"},
                             .eighths = {" ", "_", "_", ".", ".", ":", ":", "|", "#"},
                             .bar = "#",
                             .across = "-",
                             .down = "|",
                             .corners = {"+", "+", "+", "+"}};

static const glyphs *glyphs_here(void) { return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? &blocks : &ascii; }

/* Columns of the terminal; where there is none, those that the environment says. */
static int terminal_width(void) {
  struct winsize size;
  const char *text = getenv("COLUMNS");
  int width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  if (width == 0 && text) width = (int)strtol(text, NULL, 10);
  if (width <= 0) width = WIDTH;
  return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
}

static void repeat(const char *text, int count) {
  for (int k = 0; k < count; k++) fputs(text, stdout);
}

static void edge(const glyphs *g, const char *indent, int width, bool top) {
  printf("%s%s", indent, g->corners[top ? 0 : 2]);
  repeat(g->across, width);
  printf("%s\n", g->corners[top ? 1 : 3]);
}

/* ---- spy ---- */

/* A character is about twice as high as wide: a cell of a small matrix is two characters, and a cell of a large one has more rows than
 * columns. */
static void size_of_spy(int *height, int *width, int *characters, const plot_pattern *A, int room) {
  *characters = 2 * A->cols <= room ? 2 : 1;
  *width = A->cols < room ? (int)A->cols : room;
  if (*width == 0) *width = 1;
  const double each = *characters * (double)*width / (double)(A->cols > 0 ? A->cols : 1) / 2; /* lines of a row of the matrix */
  const double lines = each * (double)A->rows + 0.5;
  *height = lines < 1 ? 1 : lines > room ? room : (int)lines;
  if (*height > A->rows) *height = (int)A->rows;
}

static void spy_legend(const glyphs *g, const char *indent) {
  printf("%s%s: up to %g %% of the positions hold entries", indent, g->shades[1], 100 * plot_shade_limits[1]);
  for (int s = 1; s < PLOT_SHADES; s++) {
    printf(", %s: ", g->shades[1 + s]);
    if (s + 1 < PLOT_SHADES) printf("up to %g %%", 100 * plot_shade_limits[s + 1]);
    else printf("more");
  }
  putchar('\n');
}

bool spy_text(const plot_pattern *A, const char *indent) {
  const glyphs *g = glyphs_here();
  int height, width, characters;
  size_of_spy(&height, &width, &characters, A, terminal_width() - (int)strlen(indent) - 2);
  unsigned char *cells = plot_cells(A, height, width);
  if (cells == NULL) return false;
  edge(g, indent, characters * width, true);
  for (int y = 0; y < height; y++) {
    printf("%s%s", indent, g->down);
    for (int x = 0; x < width; x++) repeat(g->shades[cells[y * width + x]], characters);
    printf("%s\n", g->down);
  }
  edge(g, indent, characters * width, false);
  spy_legend(g, indent);
  free(cells);
  return true;
}

/* ---- levels ---- */

static int32_t most_rows(const plot_levels *L) {
  int32_t most = 0;
  for (int32_t l = 0; l < L->count; l++) most = L->rows[l] > most ? L->rows[l] : most;
  return most;
}

static void levels_chart(const glyphs *g, const plot_levels *L, const char *indent, int room) {
  const int columns = L->count < room ? L->count : room, each = columns > 0 ? room / columns : 0;
  const double most = most_rows(L);
  printf("%srows of each level, on a scale of logarithms up to %.0f", indent, most);
  if (columns < L->count) printf("; a column is the average of %.1f levels", (double)L->count / columns);
  putchar('\n');
  edge(g, indent, each * columns, true);
  for (int line = LEVELS_HEIGHT - 1; line >= 0; line--) {
    printf("%s%s", indent, g->down);
    for (int x = 0; x < columns; x++) {
      int32_t from, to;
      plot_range(&from, &to, L->count, x, columns);
      int filled = (int)(plot_height(plot_average(L, from, to), most) * LEVELS_HEIGHT * EIGHTHS + 0.5) - line * EIGHTHS;
      filled = filled < 0 ? 0 : filled > EIGHTHS ? EIGHTHS : filled;
      repeat(g->eighths[filled], each);
    }
    printf("%s\n", g->down);
  }
  edge(g, indent, each * columns, false);
  printf("%s level 0%*d\n", indent, each * columns - (int)strlen("level 0"), L->count - 1);
}

static void histogram_chart(const glyphs *g, const plot_levels *L, const char *indent, int room) {
  plot_histogram h;
  int32_t most = 1;
  plot_count(&h, L);
  for (int b = 0; b < h.used; b++) most = h.levels[b] > most ? h.levels[b] : most;
  const int width = room - (int)strlen("1073741824-2147483647 1234567890 1234567890  ");
  printf("%s%21s %10s %10s\n", indent, "rows of a level", "levels", "rows");
  for (int b = 0; b < h.used; b++) {
    char range[48];
    const long long least = 1LL << b;
    if (b == 0) snprintf(range, sizeof range, "1");
    else snprintf(range, sizeof range, "%lld-%lld", least, 2 * least - 1);
    const int length = (int)((double)h.levels[b] / most * width + 0.999);
    printf("%s%21s %10d %10lld%s", indent, range, h.levels[b], (long long)h.rows[b], length > 0 ? "  " : "");
    repeat(g->bar, length);
    putchar('\n');
  }
}

void levels_text(const plot_levels *L, const char *indent) {
  const glyphs *g = glyphs_here();
  const int room = terminal_width() - (int)strlen(indent);
  if (L->count == 0) return;
  levels_chart(g, L, indent, room - 2);
  histogram_chart(g, L, indent, room);
}
