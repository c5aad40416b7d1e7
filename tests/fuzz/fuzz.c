/* fuzz.c -- see fuzz.h. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

/* ---- the input ---- */

int fuzz_below(fuzz_bytes *in, int bound) {
  if (in->left == 0) return 0;
  in->left--;
  return *in->at++ % bound;
}

double fuzz_value(fuzz_bytes *in) {
  static const double plain[] = {1, 2, -1, 0.5, 3, -0.25, 1.5, -7, 0.1, 10, -1e-3, 1e3},
                      odd[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e30, -1e-30, 1e300, 1e-300, 5e-324, 1e-45, 3.4e38};
  const int byte = fuzz_below(in, 256);
  if (byte < 180) return plain[byte % 12];
  return byte < 240 ? (byte - 210) / 16.0 : odd[byte % 12];
}

void fuzz_values(fuzz_bytes *in, void *val, sptrsm_dtype dtype, int64_t count) {
  const bool is_complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128;
  for (int64_t p = 0; p < (is_complex ? 2 * count : count); p++)
    if (dtype == SPTRSM_F32 || dtype == SPTRSM_C64) ((float *)val)[p] = (float)fuzz_value(in);
    else ((double *)val)[p] = fuzz_value(in);
}

void fuzz_text(fuzz_bytes *in, char *out, size_t room) {
  size_t length = 0;
  while (length + 1 < room && in->left > 0 && (out[length] = (char)fuzz_below(in, 256)) != '\0') length++;
  out[length] = '\0';
}

/* ---- files ---- */

static char folder[256];

static void remove_folder(void) {
  char command[sizeof folder + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) perror(folder);
}

const char *fuzz_folder(void) {
  if (folder[0] == '\0') {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sptrsm_fuzz_XXXXXX", base ? base : "/dev/shm");
    FUZZ_CHECK(mkdtemp(folder), "%s can't be made; set TMPDIR", folder);
    atexit(remove_folder);
  }
  return folder;
}

const char *fuzz_file(void) {
  static char name[sizeof folder + 8];
  snprintf(name, sizeof name, "%s/file", fuzz_folder());
  return name;
}

void fuzz_write_file(const char *name, const void *data, size_t bytes) {
  FILE *f = fopen(name, "wb");
  FUZZ_CHECK(f && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0, "%s can't be written", name);
}

/* ---- checks ---- */

static bool is_diagonal_sound(const sptrsm_sparse *T, int64_t p) {
  const bool single = T->dtype == SPTRSM_F32 || T->dtype == SPTRSM_C64, two = T->dtype == SPTRSM_C64 || T->dtype == SPTRSM_C128;
  double part[2] = {0, 0};
  for (int k = 0; k <= two; k++) {
    const int64_t at = two ? 2 * p + k : p;
    part[k] = single ? ((const float *)T->val)[at] : ((const double *)T->val)[at];
  }
  return isfinite(part[0]) && isfinite(part[1]) && (part[0] != 0 || part[1] != 0);
}

bool fuzz_is_triangle(const sptrsm_sparse *T) {
  const bool upper = (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER); /* of the lines, seen as rows */
  for (int32_t line = 0; line < T->n; line++) {
    int64_t diagonal = -1;
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      if (T->idx[p] < 0 || T->idx[p] >= T->n || (p > T->ptr[line] && T->idx[p] <= T->idx[p - 1])) return false;
      if (upper ? T->idx[p] < line : T->idx[p] > line) return false;
      if (T->idx[p] == line) diagonal = p;
    }
    if (T->diag == SPTRSM_NONUNIT && (diagonal < 0 || !is_diagonal_sound(T, diagonal))) return false;
  }
  return true;
}

void fuzz_check_matrix(const sptrsm_file_matrix *M) {
  const int64_t lines = M->format == SPTRSM_CSR ? M->rows : M->cols, length = M->format == SPTRSM_CSR ? M->cols : M->rows;
  FUZZ_CHECK(lines >= 0 && M->ptr[0] == 0, "%lld lines", (long long)lines);
  for (int64_t line = 0; line < lines; line++) {
    FUZZ_CHECK(M->ptr[line] <= M->ptr[line + 1], "line %lld", (long long)line);
    for (int64_t p = M->ptr[line]; p < M->ptr[line + 1]; p++)
      FUZZ_CHECK(M->idx[p] >= 0 && M->idx[p] < length && (p == M->ptr[line] || M->idx[p] > M->idx[p - 1]), "entry %lld", (long long)p);
  }
}

/* ---- solving ---- */

sptrsm_context *fuzz_context(void) {
  static sptrsm_context *context;
  if (context == NULL) {
    FUZZ_CHECK(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    sptrsm_context_set_threads(context, 2);
  }
  return context;
}

test_block fuzz_block(fuzz_bytes *in, int32_t n, int64_t nrhs, sptrsm_dtype dtype) {
  test_block b = test_block_make(n, nrhs, dtype, (sptrsm_layout)fuzz_below(in, 2), fuzz_below(in, 3));
  for (int32_t i = 0; i < n; i++)
    for (int64_t k = 0; k < nrhs; k++) {
      const double re = fuzz_value(in), im = dtype == SPTRSM_C64 || dtype == SPTRSM_C128 ? fuzz_value(in) : 0;
      test_block_set(&b, i, k, re, im);
    }
  return b;
}

void fuzz_options(sptrsm_options *o, fuzz_bytes *in, char *text, size_t room) {
  static const char *const methods[] = {"auto",
                                        "serial",
                                        "levelset",
                                        "block",
                                        "tile-levelset",
                                        "tile-syncfree",
                                        "levelset:isa=baseline",
                                        "block:zeros=0",
                                        "block:zeros=99",
                                        "tile-levelset:tiles=1"};
  sptrsm_options_init(o);
  const int choice = fuzz_below(in, 16);
  if (choice < 10) snprintf(text, room, "%s", methods[choice]);
  else fuzz_text(in, text, room);
  o->method = choice == 15 ? NULL : text;
  o->op = (sptrsm_op)fuzz_below(in, 3);
  o->panel = fuzz_below(in, 12);
  o->nrhs_hint = fuzz_below(in, 80);
  o->deterministic = fuzz_below(in, 2);
  if (fuzz_below(in, 8) == 7) o->memory_limit = (size_t)1 << fuzz_below(in, 40);
}

void fuzz_solve_triangle(const sptrsm_sparse *T, fuzz_bytes *in) {
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  sptrsm_options options;
  char method[64];
  if (T->n > 64) return;
  FUZZ_CHECK(sptrsm_matrix_create(&matrix, fuzz_context(), T, SPTRSM_BORROW) == SPTRSM_OK, "%s", sptrsm_last_error());
  fuzz_options(&options, in, method, sizeof method);
  if (sptrsm_plan_create(&plan, matrix, &options) == SPTRSM_OK) {
    const chain S = fuzz_chain_of(T, options.op);
    const int nrhs = fuzz_below(in, 6);
    test_block B = fuzz_block(in, T->n, nrhs, T->dtype), X = test_block_make(T->n, nrhs, T->dtype, (sptrsm_layout)fuzz_below(in, 2), 1);
    if (sptrsm_solve(plan, NULL, NULL, &B.block, &X.block) == SPTRSM_OK) fuzz_check_solution(&S, NULL, &B, &X);
    else FUZZ_CHECK(options.memory_limit != 0, "%s", sptrsm_last_error());
    test_block_free(&B);
    test_block_free(&X);
  }
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
}

void fuzz_io_options(sptrsm_io_options *o, fuzz_bytes *in) {
  sptrsm_io_options_init(o);
  o->in_process = 1; /* a child of a process with the threads of libFuzzer and AddressSanitizer could find their locks taken */
  const int flags = fuzz_below(in, 32), limit = fuzz_below(in, 8);
  o->memory_limit = limit < 6 ? (size_t)64 << 20 : (size_t)64 << 4 * fuzz_below(in, 5);
  o->tidy = flags & 1, o->take_triangle = flags >> 1 & 1, o->unit = flags >> 2 & 1, o->allow_external = flags >> 3 & 1;
  o->uplo = fuzz_below(in, 8) - 1, o->dtype = fuzz_below(in, 8) - 1, o->order = fuzz_below(in, 6) - 1;
  if (o->uplo > SPTRSM_UPPER) o->uplo = SPTRSM_AS_STORED;
  if (o->dtype > SPTRSM_C128) o->dtype = SPTRSM_AS_STORED;
  if (o->order > SPTRSM_COL_MAJOR) o->order = SPTRSM_AS_STORED;
  if (flags >> 4 & 1) o->col_begin = fuzz_below(in, 4), o->col_end = fuzz_below(in, 6) - 1;
}
