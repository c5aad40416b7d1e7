/* feti.c -- sptrsm-gen feti: the subdomains of a cube that is cut into CUTS^3 cubes of SIDE^3 points, as in domain decomposition (FETI).
 *
 * Item i has the Cholesky factor of K_i, the 7-point Laplacian of the subdomain without boundary conditions, made regular by a small
 * diagonal; K_i itself as A; and the sparse matrix B, whose columns glue every second point of a face to the neighbour in both directions:
 * every other column takes the mean of two points.
 */
#include <stdlib.h>
#include <string.h>

#include "factor/factor.h"
#include "gen/gen.h"

enum { CUTS_MAX = 100, SIDE_MAX = 128 };

void feti_check(const settings *s) {
  if (s->size_count < 2) cli_usage("give feti CUTS SIDE");
  if (s->sizes[0] < 1 || s->sizes[0] > CUTS_MAX) cli_usage("feti: CUTS is %lld, choose 1 to %d", (long long)s->sizes[0], CUTS_MAX);
  if (s->sizes[1] < 2 || s->sizes[1] > SIDE_MAX) cli_usage("feti: SIDE is %lld, choose 2 to %d", (long long)s->sizes[1], SIDE_MAX);
  if (s->count >= 0) cli_usage("--count: feti makes CUTS x CUTS x CUTS items; leave it out");
  if (s->spec.unit || s->spec.uplo != SPTRSM_LOWER || s->spec.dtype != SPTRSM_F64 || s->spec.pattern.entries > 0 ||
      s->spec.pattern.density > 0)
    cli_usage("feti: makes Cholesky factors in f64; leave --unit, --uplo, --dtype, --row and --density out");
}

#ifdef WITH_CHOLMOD

static const double mass = 1e-2; /* on the diagonal of K */

static bool allocate(sptrsm_file_matrix *M, int64_t rows, int64_t cols, int64_t most) {
  *M = (sptrsm_file_matrix){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .rows = rows, .cols = cols, .uplo = SPTRSM_LOWER, .where = "K"};
  M->ptr = calloc((size_t)cols + 1, sizeof *M->ptr);
  M->idx = malloc(((size_t)most + 1) * sizeof *M->idx);
  M->val = malloc(((size_t)most + 1) * sizeof(double));
  return M->ptr && M->idx && M->val;
}

static void matrix_free(sptrsm_file_matrix *M) {
  free(M->ptr);
  free(M->idx);
  free(M->val);
}

static void append(sptrsm_file_matrix *M, int64_t column, int64_t row, double value) {
  const int64_t p = M->ptr[column + 1]++;
  M->idx[p] = (int32_t)row;
  ((double *)M->val)[p] = value;
}

/* The lower triangle of K, by columns. */
static bool laplacian(sptrsm_file_matrix *K, int64_t side) {
  const int64_t n = side * side * side, step[3] = {1, side, side * side};
  if (!allocate(K, n, n, 4 * n)) return false;
  K->symmetry = SPTRSM_SYMMETRIC;
  for (int64_t i = 0; i < n; i++) {
    int neighbours = 0;
    K->ptr[i + 1] = K->ptr[i];
    for (int d = 0; d < 3; d++) neighbours += (i / step[d] % side > 0) + (i / step[d] % side < side - 1);
    append(K, i, i, neighbours + mass);
    for (int d = 0; d < 3; d++)
      if (i / step[d] % side < side - 1) append(K, i, i + step[d], -1);
  }
  return true;
}

/* Appends the columns of one face: the plane of points whose coordinate `axis` is `at`. */
static void glue_face(sptrsm_file_matrix *B, int64_t side, int axis, int64_t at, double sign) {
  const int64_t step[3] = {1, side, side * side}, u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
  for (int64_t a = 0; a < side; a += 2)
    for (int64_t b = 0; b < side; b += 2) {
      const bool two = (a / 2 + b / 2) % 2 && a + 1 < side;
      const int64_t i = at * step[axis] + a * u + b * v;
      B->ptr[B->cols + 1] = B->ptr[B->cols];
      append(B, B->cols, i, two ? sign / 2 : sign);
      if (two) append(B, B->cols, i + u, sign / 2);
      B->cols++;
    }
}

static bool glue(sptrsm_file_matrix *B, int64_t cuts, int64_t side, const int64_t where[3]) {
  const int64_t half = (side + 1) / 2, most = 6 * half * half;
  if (!allocate(B, side * side * side, most, 2 * most)) return false;
  B->cols = 0;
  for (int axis = 0; axis < 3; axis++) {
    if (where[axis] > 0) glue_face(B, side, axis, 0, 1);
    if (where[axis] < cuts - 1) glue_face(B, side, axis, side - 1, -1);
  }
  return true;
}

/* ---- the batch ---- */

typedef struct {
  int64_t count;
  sptrsm_file_matrix K, *B;
  factor_set set;
  char (*names)[24];
  const char **name_of;
  const sptrsm_factors **factors;
  const sptrsm_file_matrix **A_of, **B_of;
} subdomains;

static int factorise(subdomains *d) {
  factor_matrix A = {0};
  const factor_request request = {.order = ORDER_DEFAULT, .pivot = -1};
  int code = factor_matrix_make(&A, &d->K);
  if (code == CLI_OK) code = factor_cholmod.factorise(&d->set, &A, &request);
  if (code == CLI_OK) factor_set_finish(&d->set);
  factor_matrix_free(&A);
  return code;
}

static int make(subdomains *d, const settings *s) {
  const int64_t cuts = s->sizes[0], side = s->sizes[1];
  d->count = cuts * cuts * cuts;
  const size_t room = (size_t)d->count;
  d->B = calloc(room, sizeof *d->B);
  d->names = calloc(room, sizeof *d->names);
  d->name_of = calloc(room, sizeof *d->name_of);
  d->factors = calloc(room, sizeof(void *));
  d->A_of = calloc(room, sizeof(void *));
  d->B_of = calloc(room, sizeof(void *));
  if (!d->B || !d->names || !d->name_of || !d->factors || !d->A_of || !d->B_of || !laplacian(&d->K, side))
    return cli_no_memory("the subdomains");
  int code = factorise(d);
  for (int64_t i = 0; i < d->count && code == CLI_OK; i++) {
    snprintf(d->names[i], sizeof d->names[i], "sub%lld", (long long)i);
    d->name_of[i] = d->names[i];
    d->factors[i] = &d->set.set;
    d->A_of[i] = &d->K;
    d->B_of[i] = &d->B[i];
    if (!glue(&d->B[i], cuts, side, (const int64_t[]){i % cuts, i / cuts % cuts, i / cuts / cuts})) code = cli_no_memory("the gluing");
  }
  return code;
}

static void subdomains_free(subdomains *d) {
  for (int64_t i = 0; d->B && i < d->count; i++) matrix_free(&d->B[i]);
  matrix_free(&d->K);
  factor_set_free(&d->set);
  free(d->B);
  free(d->names);
  free((void *)d->name_of);
  free((void *)d->factors);
  free((void *)d->A_of);
  free((void *)d->B_of);
}

static int report(const subdomains *d, const settings *s) {
  int64_t least = INT64_MAX, most = 0;
  for (int64_t i = 0; i < d->count; i++) {
    if (d->B[i].cols < least) least = d->B[i].cols;
    if (d->B[i].cols > most) most = d->B[i].cols;
  }
  printf("%s: %lld subdomain%s, n %lld, %lld entries in each L, B of ", cli_shown(s->out), (long long)d->count, d->count == 1 ? "" : "s",
         (long long)d->K.rows, (long long)d->set.L.ptr[d->set.L.n]);
  if (least < most) printf("%lld to ", (long long)least);
  printf("%lld columns\n", (long long)most);
  return cli_flush();
}

int feti_write(const settings *s) {
  char source[160];
  subdomains d = {0};
  sptrsm_save_options save;
  int code = make(&d, s);
  if (code == CLI_OK) {
    save_options(&save, source, s);
    cli_guard_write(s->out);
    sptrsm_status status = sptrsm_file_batch_save_mixed(s->out, d.count, d.name_of, d.factors, d.A_of, d.B_of, &save);
    cli_guard_end();
    code = cli_fail(status);
  }
  if (code == CLI_OK && !cli_quiet()) code = report(&d, s);
  subdomains_free(&d);
  return code;
}

#else

int feti_write(const settings *s) {
  cli_error("%s: feti needs CHOLMOD, which this build lacks; install SuiteSparse and build again", s->out);
  return CLI_USAGE;
}

#endif
