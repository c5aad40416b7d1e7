/* main.c -- sptrsm-info: what is in files, by which rule it is read, and how parallel the triangles are. */
#include "info/info.h"

#include <stdlib.h>
#include <string.h>

#include "common/problem.h"

static const char help[] = "sptrsm-info factors.h5              what is in the file, level sets, memory\n"
                           "sptrsm-info factors.h5:/L rhs.h5    one object; several files\n"
                           "sptrsm-info --methods               methods of this build: source, capabilities\n"
                           "\n"
                           "usage: sptrsm-info [options] FILE...   FILE: FILE or FILE:/path/in/file\n"
                           "  --methods            list methods\n"
                           "  --tiles              triangles as 16 x 16 tiles: formats, parallelism, memory\n"
                           "  --json               all of it as JSON, on stdout\n"
                           "  --uplo lower|upper   take a matrix as this triangle\n"
                           "  --unit               its diagonal is one\n"
                           "  --take-triangle      drop entries outside the triangle, do not refuse them\n"
                           "  --tidy               sort entries and sum duplicates, do not refuse them\n"
                           "  --memory-limit S     bytes one object may take: 512M, 4G\n"
                           "  --allow-external     follow external links and storage\n"
                           "  -q, -v, --help, --version\n"
                           "A file that can't be read gives its error and the others go on.\n"
                           "exit: that of the worst file: 0 ok, 2 usage, 3 bad input, 4 singular, 5 I/O,\n"
                           "      6 memory\n";

enum { KEY_METHODS = 2000, KEY_JSON, KEY_TILES };

static const struct argp_option options[] = {MATRIX_OPTIONS,
                                             {"methods", KEY_METHODS, NULL, 0, "", 0},
                                             {"json", KEY_JSON, NULL, 0, "", 0},
                                             {"tiles", KEY_TILES, NULL, 0, "", 0},
                                             {0}};

typedef struct {
  sptrsm_io_options io;
  bool methods, json, tiles;
  char **files;
  int count;
} settings;

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_METHODS: s->methods = true; return 0;
  case KEY_JSON: s->json = true; return 0;
  case KEY_TILES: s->tiles = true; return 0;
  case ARGP_KEY_ARGS:
    s->files = state->argv + state->next;
    s->count = state->argc - state->next;
    return 0;
  case ARGP_KEY_END:
    if (s->count == 0 && !s->methods) cli_usage("give files to look at, or --methods");
    return 0;
  default: return problem_parse_io(key, text, &s->io) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

/* ---- facts of one file ---- */

static void note_error(file_facts *f, sptrsm_status status) {
  f->code = cli_exit_code(status);
  snprintf(f->error, sizeof f->error, "%s", sptrsm_last_error());
}

static sptrsm_status add_triangle(file_facts *f, sptrsm_context *context, const char *name, const sptrsm_file_matrix *M,
                                  const sptrsm_sparse *T) {
  triangle_facts *t = &f->triangles[f->triangle_count];
  sptrsm_matrix *matrix;
  *t = (triangle_facts){.name = name, .M = M, .T = *T, .levels.size = sizeof t->levels};
  sptrsm_status status = sptrsm_matrix_create(&matrix, context, T, SPTRSM_BORROW);
  if (status != SPTRSM_OK) return status;
  status = sptrsm_matrix_levels(&t->levels, matrix, SPTRSM_N);
  if (status == SPTRSM_OK) status = sptrsm_matrix_stencil(t->stencil, t->grid, matrix);
  if (status == SPTRSM_OK && f->wants_tiles) {
    t->tiles.size = sizeof t->tiles;
    status = sptrsm_matrix_tiles(&t->tiles, matrix, SPTRSM_N);
  }
  sptrsm_matrix_destroy(matrix);
  if (status == SPTRSM_OK) f->triangle_count++;
  return status;
}

static sptrsm_status look_at_factors(file_facts *f, sptrsm_context *context, const sptrsm_io_options *io) {
  sptrsm_status status = sptrsm_file_factors_load(&f->factors, f->where, io);
  if (status != SPTRSM_OK) return status;
  const sptrsm_file_factors *F = f->factors;
  if (!F->single && io->uplo != SPTRSM_AS_STORED) {
    f->code = CLI_USAGE;
    snprintf(f->error, sizeof f->error, "%s: --uplo is for single triangles, this is a factor set; leave it out", f->where);
    return SPTRSM_OK;
  }
  status = add_triangle(f, context, F->single ? "T" : "L", F->L, &F->L_tri);
  if (status == SPTRSM_OK && F->U) status = add_triangle(f, context, "U", F->U, &F->U_tri);
  return status;
}

static int count_kind(const sptrsm_file_listing *list, const char *kind) {
  int count = 0;
  for (int i = 0; i < list->count; i++) count += strcmp(list->entries[i].kind, kind) == 0;
  return count;
}

/* One sound matrix that is no triangle, and was not asked to be one, is worth a look and no error. */
static void look_at_general(file_facts *f, const sptrsm_io_options *io) {
  if (f->code != CLI_INPUT || f->listing.count != 1 || io->uplo != SPTRSM_AS_STORED) return;
  if (sptrsm_file_matrix_load(&f->general, f->where, io) == SPTRSM_OK) f->code = CLI_OK;
}

static bool has_path(const sptrsm_file_listing *list, const char *path) {
  for (int e = 0; e < list->count; e++)
    if (strcmp(list->entries[e].path, path) == 0) return true;
  return false;
}

/* Why the first group that claims to be a matrix is none. */
static bool look_at_broken(file_facts *f, const sptrsm_io_options *io) {
  int e = 0;
  while (e < f->listing.count && strcmp(f->listing.entries[e].rule, "claims a known form, but breaks it") != 0) e++;
  char *file = e < f->listing.count ? cli_file_of(f->where) : NULL, *where = NULL;
  sptrsm_file_matrix *M = NULL;
  if (file && asprintf(&where, "%s:%s", file, f->listing.entries[e].path) < 0) where = NULL;
  sptrsm_status status = where ? sptrsm_file_matrix_load(&M, where, io) : SPTRSM_OK;
  if (status != SPTRSM_OK) note_error(f, status);
  sptrsm_file_matrix_free(M);
  free(where);
  free(file);
  return status != SPTRSM_OK;
}

/* A file without matrices is no error: right-hand sides and solutions are files too. */
static void look(file_facts *f, sptrsm_context *context, const sptrsm_io_options *io) {
  sptrsm_status status = sptrsm_file_list(&f->listing, f->where, io);
  if (status != SPTRSM_OK) {
    note_error(f, status);
    return;
  }
  int matrices = count_kind(&f->listing, "matrix");
  if (matrices > 0) {
    status = look_at_factors(f, context, io);
    bool several = matrices > 1 && status == SPTRSM_ERR_STRUCTURE && !has_path(&f->listing, "/L"); /* listed: each by its path */
    if (status != SPTRSM_OK && !several) note_error(f, status);
    look_at_general(f, io);
  } else if (!look_at_broken(f, io) && f->listing.count == 1) {
    status = sptrsm_file_reader_open(&f->reader, f->where, -1, io); /* reads no numbers: a block may be larger than memory */
    if (status != SPTRSM_OK) note_error(f, status);
  }
}

static void facts_free(file_facts *f) {
  sptrsm_file_listing_free(&f->listing);
  sptrsm_file_factors_free(f->factors);
  sptrsm_file_matrix_free(f->general);
  sptrsm_file_reader_close(f->reader);
}

/* ---- the whole ---- */

static int show_file(const settings *s, sptrsm_context *context, const char *where, json_t *report) {
  file_facts f = {.where = where, .wants_tiles = s->tiles};
  cli_guard_begin(where);
  look(&f, context, &s->io);
  cli_guard_end();
  if (s->json) json_array_append_new(report, facts_json(&f));
  else if (f.listing.count > 0) facts_text(&f);
  if (f.code != CLI_OK) cli_error("%s", f.error);
  int code = f.code;
  facts_free(&f);
  return code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-info", help, options, parse};
  settings s = {0};
  sptrsm_context *context;
  sptrsm_io_options_init(&s.io);
  cli_start(&program, argc, argv, &s);
  int worst = cli_fail(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  if (worst != CLI_OK) return worst;
  json_t *files = s.json ? json_array() : NULL;
  for (int i = 0; i < s.count; i++) {
    int code = show_file(&s, context, s.files[i], files);
    if (code > worst) worst = code;
  }
  sptrsm_context_destroy(context);
  if (s.methods && !s.json) methods_text();
  if (s.json) {
    int code = cli_write_json(json_pack("{s:s, s:s, s:o, s:o}", "program", "sptrsm-info", "version", sptrsm_version(), "files", files,
                                        "methods", s.methods ? methods_json() : json_null()),
                              "-");
    return code > worst ? code : worst;
  }
  int code = cli_flush();
  return code > worst ? code : worst;
}
