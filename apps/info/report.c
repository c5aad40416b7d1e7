/* report.c -- the output of sptrsm-info, for people and as JSON (fields: sptrsm-info(1)). */
#include <string.h>

#include "info/info.h"

static const char *convention(sptrsm_convention c) { return c == SPTRSM_GATHER ? "gather" : "scatter"; }
static const char *scaling(sptrsm_scale_op op) { return op == SPTRSM_MULTIPLY ? "multiply" : "divide"; }
static const char *upper_kind(sptrsm_u_kind kind) {
  return kind == SPTRSM_U_GIVEN ? "given" : kind == SPTRSM_U_IS_LT ? "transpose of L" : "conjugate transpose of L";
}

/* ---- for people ---- */

static void print_parts(const sptrsm_factors *f) {
  if (f->perm_row) printf("  rows permuted (%s)", convention(f->row_convention));
  else printf("  rows in order");
  if (f->perm_col) printf(", columns permuted (%s)", convention(f->col_convention));
  else printf(", columns in order");
  if (f->scale_row) printf(", rows scaled (%s)", scaling(f->row_op));
  if (f->scale_col) printf(", columns scaled (%s)", scaling(f->col_op));
  if (f->D) printf(", D%s", f->D_sub ? " with 2x2 blocks" : "");
  if (!f->U) printf(", U is the %s", upper_kind(f->u_kind));
  putchar('\n');
}

static void print_stencil(const char *stencil, const int64_t grid[3], const char *source) {
  printf("     stencil %s on a grid of %lld x %lld x %lld, %s\n", cli_shown(stencil), (long long)grid[0], (long long)grid[1],
         (long long)grid[2], source);
}

static double ratio_to_compressed(const sptrsm_tile_stats *s) { return (double)s->bytes / (double)s->compressed_bytes; }

static void print_tiles(const sptrsm_tile_stats *s) {
  printf("     %lld tiles off the diagonal, %d tile rows in %d level set%s: tile-level parallelism %.1f\n", (long long)s->tiles,
         s->tile_rows, s->levels, s->levels == 1 ? "" : "s", s->parallelism);
  for (size_t f = 0; f < sizeof s->formats / sizeof *s->formats; f++)
    if (s->formats[f].tiles > 0)
      printf("       %-20s %10lld tiles %12lld entries %12s\n", s->formats[f].name, (long long)s->formats[f].tiles,
             (long long)s->formats[f].entries, cli_bytes((double)s->formats[f].bytes).text);
  for (size_t a = 0; a < sizeof s->arrays / sizeof *s->arrays; a++)
    printf("       %-20s %s\n", s->arrays[a].name, cli_bytes((double)s->arrays[a].bytes).text);
  printf("     tiles take %s, %.2f of CSR or CSC (%s)\n", cli_bytes((double)s->bytes).text, ratio_to_compressed(s),
         cli_bytes((double)s->compressed_bytes).text);
}

static void print_triangle(const triangle_facts *t) {
  const sptrsm_level_stats *l = &t->levels;
  const sptrsm_file_matrix *M = t->M;
  printf("  %s: %s, %s%s, %lld entries, %s\n", cli_shown(t->name), cli_uplos[t->T.uplo], t->T.format == SPTRSM_CSR ? "CSR" : "CSC",
         t->T.diag == SPTRSM_UNIT ? ", unit diagonal" : "", (long long)l->nnz, cli_bytes(triangle_bytes(&t->T)).text);
  printf("     %d level set%s, rows in a level: least %d, average %.1f, most %d\n", l->levels, l->levels == 1 ? "" : "s", l->min_rows,
         l->average_rows, l->max_rows);
  printf("     entries of a row: least %d, average %.1f, most %d\n", l->min_length, l->average_length, l->max_length);
  const bool agree = strcmp(M->stencil, t->stencil) == 0 && memcmp(M->grid, t->grid, sizeof t->grid) == 0;
  if (M->stencil[0]) print_stencil(M->stencil, M->grid, agree ? "the file says, and the pattern shows" : "the file says");
  if (t->stencil[0] && !agree) print_stencil(t->stencil, t->grid, "the pattern shows");
  if (t->tiles.size > 0) print_tiles(&t->tiles);
}

/* Pictures in the terminal. A picture that there is no memory for is left out with a message, and an exit code says so. */
static int print_spy(const plot_request *plots, plot_pattern A) {
  return plots->spy && plots->spy_file == NULL && !spy_text(&A, "     ") ? cli_no_memory("a picture") : CLI_OK;
}

static int print_pictures(const plot_request *plots, const triangle_facts *t) {
  const int code = print_spy(plots, pattern_of_triangle(&t->T));
  if (plots->levels && plots->levels_file == NULL) levels_text(&t->level_rows, "     ");
  return code;
}

static int print_factors(const file_facts *f) {
  const sptrsm_file_factors *F = f->factors;
  int code = CLI_OK;
  printf("%s: %s, n %d, %s\n", cli_shown(f->where), F->single ? "one triangle" : "factor set", F->L_tri.n, cli_dtypes[F->L_tri.dtype]);
  printf("  read as %s\n", F->rule);
  if (F->source) printf("  source: %s\n", cli_shown(F->source));
  if (!F->single) print_parts(&F->factors);
  for (int i = 0; i < f->triangle_count; i++) {
    print_triangle(&f->triangles[i]);
    const int shown = print_pictures(f->plots, &f->triangles[i]);
    if (shown > code) code = shown;
  }
  if (f->triangle_count > 0) printf("  a panel of %d right-hand sides takes %s\n", PANEL_COLUMNS, cli_bytes(panel_bytes(&F->L_tri)).text);
  return code;
}

static void print_entry(const sptrsm_file_entry *e) {
  printf("  %-12s %-8s", strcmp(e->path, ":") == 0 ? "(the file)" : cli_shown(e->path), e->kind);
  if (e->rows >= 0 && e->cols >= 0) printf(" %lld x %lld", (long long)e->rows, (long long)e->cols);
  if (e->nnz >= 0) printf(", %lld entries", (long long)e->nnz);
  if (e->type[0]) printf(", %s", e->type);
  printf(" (%s)\n", e->rule);
}

static int print_general(const file_facts *f) {
  static const char *const kinds[] = {"general", "symmetric", "Hermitian", "skew-symmetric"};
  const sptrsm_file_matrix *M = f->general;
  printf("%s: %s matrix, %lld x %lld, %s\n  read as %s\n  no triangle: %s\n", cli_shown(f->where), kinds[M->symmetry], (long long)M->rows,
         (long long)M->cols, cli_dtypes[M->dtype], M->rule, cli_shown(f->error));
  return print_spy(f->plots, pattern_of_matrix(M));
}

static void print_block(const sptrsm_file_block *B) {
  printf("%s: %d rows, %lld column%s, %s\n  read as %s\n", cli_shown(B->where), B->block.n, (long long)B->block.nrhs,
         B->block.nrhs == 1 ? "" : "s", cli_dtypes[B->block.dtype], B->rule);
}

int facts_text(const file_facts *f) {
  int code = CLI_OK;
  if (f->batch) batch_facts_text(f);
  else if (f->factors) code = print_factors(f);
  else if (f->general) code = print_general(f);
  else if (f->reader) print_block(sptrsm_file_reader_block(f->reader));
  else printf("%s:\n", cli_shown(f->where));
  for (int i = 0; i < f->listing.count; i++)
    if (!batch_hides(f, f->listing.entries[i].path)) print_entry(&f->listing.entries[i]);
  return code;
}

static void print_methods(bool reference) {
  for (int i = 0; i < sptrsm_method_count(); i++) {
    sptrsm_method_info m = {.size = sizeof m};
    if (sptrsm_method_at(&m, i) != SPTRSM_OK || (m.reference != 0) != reference) continue;
    printf("%-16s %-5s %-14s %-11s %-18s %s\n", m.name, m.place == SPTRSM_CUDA ? "cuda" : "host", m.deterministic ? "yes" : "no",
           m.capturable ? "yes" : "no", m.cite, m.summary);
  }
}

void methods_text(void) {
  printf("%-16s %-5s %-14s %-11s %-18s %s\n", "method", "place", "deterministic", "CUDA graph", "source", "");
  print_methods(false);
  printf("\nkept to compare with, never chosen by auto:\n");
  print_methods(true);
}

/* ---- JSON ---- */

static json_t *text_or_null(const char *text) { return text && text[0] ? cli_json_text(text) : json_null(); }

static json_t *parts_json(const sptrsm_tile_part *parts, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "name", parts[i].name, "tiles", (json_int_t)parts[i].tiles, "entries",
                                          (json_int_t)parts[i].entries, "bytes", (json_int_t)parts[i].bytes));
  return list;
}

static json_t *tiles_json(const sptrsm_tile_stats *s) {
  if (s->size == 0) return json_null();
  return json_pack("{s:i, s:i, s:f, s:I, s:o, s:o, s:I, s:I}", "tile_rows", (int)s->tile_rows, "levels", (int)s->levels, "parallelism",
                   s->parallelism, "tiles", (json_int_t)s->tiles, "formats", parts_json(s->formats, sizeof s->formats / sizeof *s->formats),
                   "arrays", parts_json(s->arrays, sizeof s->arrays / sizeof *s->arrays), "bytes", (json_int_t)s->bytes, "compressed_bytes",
                   (json_int_t)s->compressed_bytes);
}

/* Null unless levels were asked for. */
static json_t *histogram_json(const plot_levels *L) {
  if (L->rows == NULL) return json_null();
  plot_histogram h;
  plot_count(&h, L);
  json_t *list = json_array();
  for (int b = 0; b < h.used; b++)
    json_array_append_new(
        list, json_pack("{s:I, s:i, s:I}", "least_rows", (json_int_t)1 << b, "levels", (int)h.levels[b], "rows", (json_int_t)h.rows[b]));
  return list;
}

static json_t *triangle_json(const triangle_facts *t) {
  const sptrsm_level_stats *l = &t->levels;
  json_t *levels = json_pack("{s:i, s:i, s:f, s:i, s:o}", "count", (int)l->levels, "min_rows", (int)l->min_rows, "average_rows",
                             l->average_rows, "max_rows", (int)l->max_rows, "histogram", histogram_json(&t->level_rows));
  json_t *rows = json_pack("{s:i, s:f, s:i}", "min", (int)l->min_length, "average", l->average_length, "max", (int)l->max_length);
  return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:[I, I, I], s:o, s:[I, I, I]}", "name", t->name, "where",
                   cli_json_text(t->M->where), "rule", t->M->rule, "uplo", cli_uplos[t->T.uplo], "diag",
                   t->T.diag == SPTRSM_UNIT ? "unit" : "nonunit", "format", t->T.format == SPTRSM_CSR ? "csr" : "csc", "nnz",
                   (json_int_t)l->nnz, "bytes", (json_int_t)triangle_bytes(&t->T), "levels", levels, "row_length", rows, "tiles",
                   tiles_json(&t->tiles), "stencil", text_or_null(t->M->stencil), "grid", (json_int_t)t->M->grid[0],
                   (json_int_t)t->M->grid[1], (json_int_t)t->M->grid[2], "pattern_stencil", text_or_null(t->stencil), "pattern_grid",
                   (json_int_t)t->grid[0], (json_int_t)t->grid[1], (json_int_t)t->grid[2]);
}

static json_t *factors_json(const file_facts *f) {
  const sptrsm_file_factors *F = f->factors;
  if (F == NULL) return json_null();
  const sptrsm_factors *p = &F->factors;
  json_t *triangles = json_array();
  for (int i = 0; i < f->triangle_count; i++) json_array_append_new(triangles, triangle_json(&f->triangles[i]));
  return json_pack("{s:b, s:i, s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:i, s:o}", "single", F->single, "n", (int)F->L_tri.n,
                   "dtype", cli_dtypes[F->L_tri.dtype], "rule", F->rule, "source", text_or_null(F->source), "has_A", F->A != NULL, "upper",
                   F->single ? json_null() : json_string(upper_kind(p->u_kind)), "perm_row",
                   text_or_null(p->perm_row ? convention(p->row_convention) : NULL), "perm_col",
                   text_or_null(p->perm_col ? convention(p->col_convention) : NULL), "scale_row",
                   text_or_null(p->scale_row ? scaling(p->row_op) : NULL), "scale_col",
                   text_or_null(p->scale_col ? scaling(p->col_op) : NULL), "has_D", p->D != NULL, "panel_bytes",
                   (json_int_t)panel_bytes(&F->L_tri), "panel_columns", (int)PANEL_COLUMNS, "triangles", triangles);
}

static json_t *listing_json(const sptrsm_file_listing *list) {
  json_t *entries = json_array();
  for (int i = 0; i < list->count; i++) {
    const sptrsm_file_entry *e = &list->entries[i];
    json_array_append_new(entries,
                          json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:s}", "path", cli_json_text(e->path), "kind", e->kind, "rule", e->rule,
                                    "rows", (json_int_t)e->rows, "cols", (json_int_t)e->cols, "nnz", (json_int_t)e->nnz, "type", e->type));
  }
  return entries;
}

json_t *facts_json(const file_facts *f) {
  return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "where", cli_json_text(f->where), "exit_code", f->code, "error",
                   text_or_null(f->error), "factors", factors_json(f), "batch", batch_facts_json(f), "contents", listing_json(&f->listing));
}

json_t *methods_json(void) {
  json_t *list = json_array();
  for (int i = 0; i < sptrsm_method_count(); i++) {
    sptrsm_method_info m = {.size = sizeof m};
    if (sptrsm_method_at(&m, i) != SPTRSM_OK) continue;
    json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b, s:b, s:s, s:s}", "name", m.name, "place",
                                          m.place == SPTRSM_CUDA ? "cuda" : "host", "deterministic", m.deterministic, "capturable",
                                          m.capturable, "reference", m.reference != 0, "cite", m.cite, "summary", m.summary));
  }
  return list;
}
