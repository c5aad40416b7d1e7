/* inputs.c -- see inputs.h. */
#include "bench/inputs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cli.h"

/* ---- the list ---- */

static void note(bench_inputs *s, int code) {
  if (code > s->worst) s->worst = code;
}

/* Appends an input and owns both strings from now on. where: FILE, FILE:/path or gen:... NULL: no memory. */
static bench_input *add(bench_inputs *s, char *where, char *file, const char *group) {
  bench_input *bigger = s->list;
  if (s->count == s->room) bigger = realloc(s->list, (size_t)(2 * s->room + 8) * sizeof *bigger);
  char *kept = strdup(group);
  if (bigger == NULL || where == NULL || file == NULL || kept == NULL) {
    note(s, cli_no_memory("the list of triangles"));
    if (bigger) s->list = bigger;
    free(where), free(file), free(kept);
    return NULL;
  }
  if (s->count == s->room) s->room = 2 * s->room + 8;
  s->list = bigger;
  bench_input *in = &s->list[s->count++];
  const char *slash = strrchr(file, '/');
  *in = (bench_input){.where = where, .file = file, .group = kept, .shown = where};
  if (slash) in->shown = where + (slash + 1 - file);
  return in;
}

/* ---- generated triangles: gen:KIND:A,B,C[:row=8,uplo=upper,...] ---- */

static void parse_settings(triangle_spec *spec, char *text) {
  for (char *rest = text, *part; (part = strsep(&rest, ","));) {
    char *value = strchr(part, '=');
    if (value) *value++ = '\0';
    if (strcmp(part, "unit") == 0 && !value) spec->unit = true;
    else if (value && strcmp(part, "uplo") == 0) spec->uplo = (sptrsm_uplo)cli_choice("gen: uplo", value, cli_uplos, 2);
    else if (value && strcmp(part, "seed") == 0) spec->pattern.seed = (uint64_t)cli_integer("gen: seed", value, 0, INT64_MAX);
    else if (value && (strcmp(part, "row") == 0 || strcmp(part, "density") == 0)) spec_parse_fill(spec, part[0] == 'r', value);
    else cli_usage("gen: '%s' is none of row=R, density=D, seed=S, uplo=lower|upper, unit", part);
  }
}

static void parse_made(triangle_spec *spec, const char *name) {
  char text[256];
  int64_t sizes[3];
  int count = 0;
  if (strlen(name) >= sizeof text) cli_usage("gen: '%s' is too long", name);
  strcpy(text, name + strlen("gen:"));
  char *rest = text, *kind = strsep(&rest, ":"), *numbers = strsep(&rest, ":");
  *spec = (triangle_spec){.dtype = SPTRSM_F64, .pattern.seed = 1};
  spec->pattern.kind = pattern_find(kind);
  if (spec->pattern.kind == NULL)
    cli_usage("%s: unknown kind '%s'; one of %s%s", name, kind, pattern_names(), pattern_suggestion(kind).text);
  for (char *part; numbers && (part = strsep(&numbers, ","));) {
    if (count == spec->pattern.kind->sizes) count = INT32_MAX - 1;
    else sizes[count] = cli_integer("gen: size", part, 0, INT32_MAX);
    count++;
  }
  if (count != spec->pattern.kind->sizes) cli_usage("%s: give gen:%s: and %s, with commas", name, kind, spec->pattern.kind->usage);
  if (!pattern_set_sizes(&spec->pattern, sizes)) cli_usage("%s: the order is above %d", name, INT32_MAX);
  if (rest) parse_settings(spec, rest);
  spec_check(spec);
}

static void add_made(bench_inputs *s, const char *name) {
  triangle_spec spec;
  parse_made(&spec, name);
  int code = spec_check_memory(&spec, 1, 1);
  if (code != CLI_OK) {
    note(s, code);
    return;
  }
  bench_input *in = add(s, strdup(name), strdup(name), "");
  if (in == NULL) return;
  in->is_made = true;
  in->spec = spec;
}

/* ---- files ---- */

/* All triangles of a file, or the one named; returns their number, or -1 where the file can't be read. */
static int add_file(bench_inputs *s, const char *name) {
  sptrsm_file_listing listing;
  sptrsm_status status = sptrsm_file_list(&listing, name, NULL);
  if (status != SPTRSM_OK) {
    note(s, cli_fail(status));
    return -1;
  }
  int triangles = 0;
  for (int e = 0; e < listing.count; e++) {
    const sptrsm_file_entry *entry = &listing.entries[e];
    if (strcmp(entry->kind, "matrix") != 0 || strcmp(entry->path, "/A") == 0) continue;
    const bool is_whole = strcmp(entry->path, "/") == 0 || strcmp(entry->path, ":") == 0;
    char *file = cli_file_of(name), *where = NULL;
    if (file && asprintf(&where, "%s%s%s", file, is_whole ? "" : ":", is_whole ? "" : entry->path) < 0) where = NULL;
    add(s, where, file, is_whole ? "" : entry->path);
    triangles++;
  }
  sptrsm_file_listing_free(&listing);
  return triangles;
}

static int is_h5(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 3 && strcmp(entry->d_name + length - 3, ".h5") == 0;
}

/* Files without a triangle, such as right-hand sides, are skipped. Returns the number of triangles, or -1. */
static int add_folder(bench_inputs *s, const char *folder) {
  struct dirent **names;
  int count = scandir(folder, &names, is_h5, alphasort), triangles = 0;
  if (count < 0) {
    cli_error("%s: can't read the folder", folder);
    note(s, CLI_IO);
    return -1;
  }
  for (int f = 0; f < count; f++) {
    char *path;
    size_t length = strlen(folder);
    if (asprintf(&path, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", names[f]->d_name) < 0) path = NULL;
    int found = path ? add_file(s, path) : 0;
    if (found > 0) triangles += found;
    free(path);
    free(names[f]);
  }
  free(names);
  return triangles;
}

void bench_inputs_find(bench_inputs *s, char *const names[], int count) {
  *s = (bench_inputs){0};
  for (int f = 0; f < count; f++) {
    struct stat info;
    if (strncmp(names[f], "gen:", 4) == 0) {
      add_made(s, names[f]);
      continue;
    }
    bool is_folder = stat(names[f], &info) == 0 && S_ISDIR(info.st_mode);
    if ((is_folder ? add_folder(s, names[f]) : add_file(s, names[f])) != 0) continue;
    cli_error("%s: holds no triangle; give %s", names[f],
              is_folder ? "a folder with .h5 files that hold one" : "a file with one, or its path as FILE:/path");
    note(s, CLI_INPUT);
  }
}

void bench_inputs_free(bench_inputs *s) {
  for (int i = 0; i < s->count; i++) {
    free(s->list[i].where);
    free(s->list[i].file);
    free(s->list[i].group);
  }
  free(s->list);
}

/* ---- one triangle ---- */

sptrsm_status bench_triangle_load(bench_triangle *t, const bench_input *in, sptrsm_dtype dtype) {
  *t = (bench_triangle){0};
  if (in->is_made) {
    triangle_spec spec = in->spec;
    spec.dtype = dtype;
    bool made = triangle_make(&t->made, &spec);
    t->T = t->made.T;
    t->stencil = spec.pattern.kind->dimensions > 0 ? spec.pattern.kind->name : NULL;
    memcpy(t->grid, spec.pattern.grid, sizeof t->grid);
    return made ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for the triangle", in->where);
  }
  sptrsm_io_options io;
  sptrsm_io_options_init(&io);
  io.dtype = (int)dtype;
  sptrsm_status status = sptrsm_file_matrix_load(&t->M, in->where, &io);
  return status == SPTRSM_OK ? sptrsm_file_matrix_triangle(&t->T, t->M, &io) : status;
}

void bench_triangle_free(bench_triangle *t) {
  sptrsm_file_matrix_free(t->M);
  triangle_free(&t->made);
  *t = (bench_triangle){0};
}
