/* main.c -- sptrsm-info: shows what is in files, in which form it is read, and how parallel the triangles are. */
#include "info/info.h"

#include <locale.h>

#include "common/problem.h"

static const char help[] = "sptrsm-info factors.h5              what is in the file, level sets, memory\n"
                           "sptrsm-info factors.h5:/L rhs.h5    one object; several files\n"
                           "sptrsm-info --methods               methods of this build: source, capabilities\n"
                           "\n"
                           "usage: sptrsm-info [options] FILE...   FILE: FILE or FILE:/path/in/file\n"
                           "  --methods            list methods\n"
                           "  --list               names, forms and sizes; no array of HDF5 is read\n"
                           "  --tiles              triangles as 16 x 16 tiles: formats, parallelism, memory\n"
                           "  --spy[=FILE]         a picture of the entries, here or as FILE.svg or FILE.png\n"
                           "  --levels-plot[=FILE] likewise of the rows of each level, with a histogram\n"
                           "  --force              replace FILE\n"
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

enum { KEY_METHODS = 2000, KEY_JSON, KEY_LIST, KEY_TILES, KEY_SPY, KEY_LEVELS, KEY_FORCE };

static const struct argp_option options[] = {MATRIX_OPTIONS,
                                             {"methods", KEY_METHODS, NULL, 0, "list the methods of this build", 0},
                                             {"json", KEY_JSON, NULL, 0, "report as JSON on stdout", 0},
                                             {"list", KEY_LIST, NULL, 0, "list objects without reading their arrays", 0},
                                             {"tiles", KEY_TILES, NULL, 0, "triangles as 16 x 16 tiles", 0},
                                             {"spy", KEY_SPY, "FILE", OPTION_ARG_OPTIONAL, "draw the pattern of the matrix", 0},
                                             {"levels-plot", KEY_LEVELS, "FILE", OPTION_ARG_OPTIONAL, "draw the level sets", 0},
                                             {"force", KEY_FORCE, NULL, 0, "replace existing files", 0},
                                             {0}};

typedef struct {
  sptrsm_io_options io;
  bool methods, list, tiles, force;
  plot_request plots;
  char **files;
  int count;
} settings;

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_METHODS: s->methods = true; return 0;
  case KEY_JSON: s->plots.json = true; return 0;
  case KEY_LIST: s->list = true; return 0;
  case KEY_TILES: s->tiles = true; return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_SPY:
    s->plots.spy = true;
    s->plots.spy_file = text;
    return 0;
  case KEY_LEVELS:
    s->plots.levels = true;
    s->plots.levels_file = text;
    return 0;
  case ARGP_KEY_ARGS:
    s->files = state->argv + state->next;
    s->count = state->argc - state->next;
    return 0;
  case ARGP_KEY_END:
    if (s->count == 0 && !s->methods) cli_usage("give files to look at, or --methods");
    if (s->list && (s->tiles || s->plots.spy || s->plots.levels))
      cli_usage("--list reads no arrays, which --tiles, --spy and --levels-plot need; leave it out");
    return 0;
  default: return problem_parse_io(key, text, &s->io) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

static int show_file(const settings *s, sptrsm_context *context, const char *where, json_t *report) {
  file_facts f = {.where = where, .lists = s->list, .wants_tiles = s->tiles, .plots = &s->plots};
  int shown = CLI_OK;
  facts_load(&f, context, &s->io);
  if (s->plots.json) json_array_append_new(report, facts_json(&f));
  else if (f.listing.count > 0 || f.batch) shown = facts_text(&f);
  if (f.code != CLI_OK) cli_error("%s", f.error);
  int code = f.code == CLI_OK ? pictures_write(&f) : f.code;
  facts_free(&f);
  return code > shown ? code : shown;
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-info", help, options, parse};
  settings s = {0};
  sptrsm_context *context;
  sptrsm_io_options_init(&s.io);
  setlocale(LC_CTYPE, ""); /* which characters a terminal can show */
  cli_start(&program, argc, argv, &s);
  int worst = pictures_check(&s.plots, s.force, s.files, s.count);
  if (worst == CLI_OK) worst = cli_fail(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  if (worst != CLI_OK) return worst;
  json_t *files = s.plots.json ? json_array() : NULL;
  for (int i = 0; i < s.count; i++) {
    int code = show_file(&s, context, s.files[i], files);
    if (code > worst) worst = code;
  }
  sptrsm_context_destroy(context);
  if (s.methods && !s.plots.json) methods_text();
  if (s.plots.json) {
    int code = cli_write_json(json_pack("{s:s, s:s, s:o, s:o}", "program", "sptrsm-info", "version", sptrsm_version(), "files", files,
                                        "methods", s.methods ? methods_json() : json_null()),
                              "-");
    return cli_end(code > worst ? code : worst);
  }
  int code = cli_flush();
  return cli_end(code > worst ? code : worst);
}
