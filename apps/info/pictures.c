/* pictures.c -- the picture files of sptrsm-info. */
#include <stdlib.h>

#include "info/info.h"

/* ---- before any work ---- */

static int check_one(const char *option, const char *path, bool force, char **files, int count) {
  if (path == NULL) return CLI_OK;
  const picture_form form = picture_form_of(path);
  if (form == PICTURE_NONE) cli_usage("%s: '%s' ends neither in .svg nor in .png; give one of them", option, path);
  if (form == PICTURE_PNG && !picture_has_png)
    cli_usage("%s: this build writes no PNG, since libpng was missing (Debian: libpng-dev); give a name that ends in .svg", option);
  if (count != 1) cli_usage("%s: '%s' is a picture of one FILE, not of %d", option, path, count);
  return cli_check_output(path, force, (const char *const *)files, count);
}

int pictures_check(const plot_request *plots, bool force, char **files, int count) {
  if (plots->spy && plots->json && plots->spy_file == NULL) cli_usage("--spy: the report of --json is on stdout; give a file, --spy=FILE");
  if (plots->spy_file && plots->levels_file && cli_same_output(plots->spy_file, plots->levels_file))
    cli_usage("--levels-plot: %s is the picture of --spy too", plots->levels_file);
  int code = check_one("--spy", plots->spy_file, force, files, count);
  return code == CLI_OK ? check_one("--levels-plot", plots->levels_file, force, files, count) : code;
}

/* ---- writing ---- */

static int write_one(const picture *p, const char *path) {
  size_t size = 0;
  void *bytes = picture_form_of(path) == PICTURE_SVG ? picture_svg(&size, p) : picture_png(&size, p);
  int code = bytes ? cli_write_file(bytes, size, path) : cli_no_memory("a picture");
  free(bytes);
  return code;
}

static int no_matrix(const file_facts *f, const char *what) {
  cli_error("%s: holds no %s to draw; name one by FILE:/path", f->where, what);
  return CLI_INPUT;
}

static int write_spy(const file_facts *f, const char *path) {
  picture p = {0};
  char title[120];
  bool good = true;
  if (f->triangle_count == 0 && f->general == NULL) return no_matrix(f, "single matrix");
  for (int i = 0; i < f->triangle_count && good; i++) {
    const plot_pattern A = pattern_of_triangle(&f->triangles[i].T);
    snprintf(title, sizeof title, "%s: n %lld, %lld entries", f->triangles[i].name, (long long)A.rows, (long long)A.ptr[A.rows]);
    good = spy_picture(&p, &A, title);
  }
  if (f->general) {
    const plot_pattern A = pattern_of_matrix(f->general);
    snprintf(title, sizeof title, "%lld x %lld, %lld entries", (long long)A.rows, (long long)A.cols,
             (long long)A.ptr[A.format == SPTRSM_CSR ? A.rows : A.cols]);
    good = spy_picture(&p, &A, title);
  }
  int code = good ? write_one(&p, path) : cli_no_memory("a picture");
  picture_free(&p);
  return code;
}

static int write_levels(const file_facts *f, const char *path) {
  picture p = {0};
  bool good = true;
  if (f->triangle_count == 0) return no_matrix(f, "triangle");
  for (int i = 0; i < f->triangle_count && good; i++) good = levels_picture(&p, &f->triangles[i].level_rows, f->triangles[i].name);
  int code = good ? write_one(&p, path) : cli_no_memory("a picture");
  picture_free(&p);
  return code;
}

int pictures_write(const file_facts *f) {
  const plot_request *plots = f->plots;
  int code = plots->spy_file ? write_spy(f, plots->spy_file) : CLI_OK;
  return code == CLI_OK && plots->levels_file ? write_levels(f, plots->levels_file) : code;
}
