/* 13_schur.c -- the local Schur complements of a domain decomposition (FETI): F_i = B_i K_i^-1 B_i' for every subdomain of a cube.
 *
 *   13_schur                 2 x 2 x 2 subdomains of 6^3 points
 *   13_schur 4 20 5          4 x 4 x 4 subdomains of 20^3 points, each way timed 5 times, the best counts: the case of docs/benchmarks.md
 *
 * K_i is the 7-point Laplacian of a subdomain without boundary conditions, made regular by a small diagonal, and factorised by CHOLMOD.
 * Columns of B_i' glue every second point of a face to the neighbour in both directions; every other one takes the mean of two points. The
 * example makes F_i by sptrsm_schur_solve_many, and by solving K_i X = B_i' with B_i' as a dense block and multiplying, and compares.
 *
 *   cc 13_schur.c $(pkg-config --cflags --libs sptrsm) -I/usr/include/suitesparse -lcholmod -lm
 */
#include <cholmod.h>
#include <math.h>
#include <sptrsm_schur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the program: an example has no other use for an error. */
static void need(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, sptrsm_last_error());
  exit(1);
}

static void *memory(size_t count, size_t bytes) {
  void *m = calloc(count + 1, bytes);
  need(m != NULL, "no memory");
  return m;
}

/* ---- one subdomain: its factor, the columns of B', and F ---- */

typedef struct {
  int32_t n, columns;
  int64_t *ptr; /* B', by columns */
  int32_t *idx;
  double *val;
  sptrsm_direct *direct;
  sptrsm_schur *schur;
} subdomain;

/* The lower triangle of K; ctype REAL, stype -1: it stands for both. */
static cholmod_sparse *laplacian(int side, cholmod_common *c) {
  const int n = side * side * side, step[3] = {1, side, side * side};
  cholmod_triplet *T = cholmod_allocate_triplet((size_t)n, (size_t)n, 4 * (size_t)n, -1, CHOLMOD_REAL, c);
  need(T != NULL, "CHOLMOD");
  int *row = T->i, *column = T->j;
  double *value = T->x, *diagonal = memory((size_t)n, sizeof *diagonal);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++) {
      if (i / step[d] % side == side - 1) continue;
      row[T->nnz] = i + step[d], column[T->nnz] = i, value[T->nnz++] = -1;
      diagonal[i]++, diagonal[i + step[d]]++;
    }
  for (int i = 0; i < n; i++) row[T->nnz] = column[T->nnz] = i, value[T->nnz++] = diagonal[i] + 1e-2;
  cholmod_sparse *K = cholmod_triplet_to_sparse(T, 0, c);
  cholmod_free_triplet(&T, c);
  free(diagonal);
  return K;
}

/* Adds the columns of one face: the plane of points whose coordinate `axis` is `at`. */
static void glue_face(subdomain *s, int side, int axis, int at, double sign) {
  const int step[3] = {1, side, side * side}, u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
  for (int a = 0; a < side; a += 2)
    for (int b = 0; b < side; b += 2) {
      const int two = (a / 2 + b / 2) % 2 && a + 1 < side, i = at * step[axis] + a * u + b * v;
      int64_t p = s->ptr[s->columns];
      for (int k = 0; k <= two; k++) s->idx[p] = i + k * u, s->val[p++] = two ? sign / 2 : sign;
      s->ptr[++s->columns] = p;
    }
}

static void glue(subdomain *s, int cuts, int side, const int where[3]) {
  const size_t most = 6 * (size_t)(side + 1) * (size_t)(side + 1) / 4 + 6;
  s->ptr = memory(most + 1, sizeof *s->ptr);
  s->idx = memory(2 * most, sizeof *s->idx);
  s->val = memory(2 * most, sizeof *s->val);
  for (int axis = 0; axis < 3; axis++) {
    if (where[axis] > 0) glue_face(s, side, axis, 0, 1);
    if (where[axis] < cuts - 1) glue_face(s, side, axis, side - 1, -1);
  }
}

static void hand_over(subdomain *s, sptrsm_context *context, const cholmod_factor *f) {
  int64_t *ptr = memory(f->n + 1, sizeof *ptr);
  for (size_t j = 0; j <= f->n; j++) ptr[j] = ((const int *)f->p)[j]; /* offsets have 64 bits here */
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, s->n, ptr, f->i, f->x};
  sptrsm_factors set;
  sptrsm_factors_init(&set);
  set.L = &L;
  set.u_kind = SPTRSM_U_IS_LT;
  set.perm_row = set.perm_col = f->Perm;
  set.row_convention = SPTRSM_GATHER;
  set.col_convention = SPTRSM_SCATTER;
  need(sptrsm_direct_create(&s->direct, context, &set, NULL) == SPTRSM_OK, "factors");
  free(ptr);
}

/* All columns at once: an analysis for a pattern, then a solve for each set of values. */
static void analyse(subdomain *s) {
  sptrsm_schur_columns B;
  sptrsm_schur_request request;
  sptrsm_schur_columns_init(&B);
  sptrsm_schur_request_init(&request);
  B.count = s->columns, B.ptr = s->ptr, B.idx = s->idx, B.val = s->val;
  request.B = &B; /* no C: the symmetric form, its lower triangle */
  need(sptrsm_schur_create(&s->schur, s->direct, &request) == SPTRSM_OK, "Schur complement");
}

static sptrsm_block square(double *data, int32_t order) {
  return (sptrsm_block){data, order > 0 ? order : 1, order, order, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
}

/* ---- the plain way: B' as a dense block, K X = B', and F = B X by the few entries of B ---- */

static void plain(const subdomain *s, double *X, double *F) {
  const size_t m = (size_t)s->columns;
  sptrsm_block block = {X, s->columns, s->n, s->columns, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  memset(X, 0, (size_t)s->n * m * sizeof *X);
  memset(F, 0, m * m * sizeof *F);
  for (int32_t k = 0; k < s->columns; k++)
    for (int64_t p = s->ptr[k]; p < s->ptr[k + 1]; p++) X[(size_t)s->idx[p] * m + (size_t)k] = s->val[p];
  need(sptrsm_direct_solve(s->direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &block, &block) == SPTRSM_OK, "solve");
  for (int32_t k = 0; k < s->columns; k++)
    for (int64_t p = s->ptr[k]; p < s->ptr[k + 1]; p++)
      for (size_t l = 0; l < m; l++) F[(size_t)k * m + l] += s->val[p] * X[(size_t)s->idx[p] * m + l];
}

/* The largest difference of the lower triangles, relative to the largest element. */
static double difference(const double *F, const double *G, int32_t order) {
  double largest = 0, worst = 0;
  for (int32_t i = 0; i < order; i++)
    for (int32_t j = 0; j <= i; j++) {
      const size_t at = (size_t)i * (size_t)order + (size_t)j;
      if (!(fabs(F[at] - G[at]) <= worst)) worst = fabs(F[at] - G[at]);
      if (fabs(G[at]) > largest) largest = fabs(G[at]);
    }
  return order > 0 ? worst / largest : 0;
}

int main(int argc, char **argv) {
  const int cuts = argc > 1 ? atoi(argv[1]) : 2, side = argc > 2 ? atoi(argv[2]) : 6, rounds = argc > 3 ? atoi(argv[3]) : 1;
  need(cuts > 0 && cuts <= 20 && side > 1 && side <= 60 && rounds > 0, "usage: 13_schur [CUTS 1..20 [SIDE 2..60 [ROUNDS]]]");
  const int count = cuts * cuts * cuts;
  cholmod_common c;
  cholmod_start(&c);
  sptrsm_context *context;
  need(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) == SPTRSM_OK, "context");
  cholmod_sparse *K = laplacian(side, &c);
  cholmod_factor *f = K ? cholmod_analyze(K, &c) : NULL;
  need(f && cholmod_factorize(K, f, &c) && f->minor == f->n && cholmod_change_factor(CHOLMOD_REAL, 1, 0, 1, 1, f, &c), "CHOLMOD");

  /* Here all K_i are equal, but nothing below makes use of that: each has its factor. */
  subdomain *subdomains = memory((size_t)count, sizeof *subdomains);
  sptrsm_schur **items = memory((size_t)count, sizeof *items);
  sptrsm_block *F = memory((size_t)count, sizeof *F);
  double analysis = 0, reached = 0, worst = 0, best = INFINITY, best_plain = INFINITY;
  int32_t least = INT32_MAX, most = 0;
  for (int i = 0; i < count; i++) {
    subdomain *s = &subdomains[i];
    s->n = (int32_t)f->n;
    glue(s, cuts, side, (const int[3]){i % cuts, i / cuts % cuts, i / cuts / cuts});
    hand_over(s, context, f);
    analyse(s);
    sptrsm_schur_facts facts = {.size = sizeof facts};
    need(sptrsm_schur_info(&facts, s->schur) == SPTRSM_OK, "information");
    analysis += facts.analysis_seconds;
    reached += facts.reached / count;
    if (s->columns < least) least = s->columns;
    if (s->columns > most) most = s->columns;
    items[i] = s->schur;
    F[i] = square(memory((size_t)s->columns * (size_t)s->columns, sizeof(double)), s->columns);
  }
  double *X = memory((size_t)subdomains[0].n * (size_t)most, sizeof *X), *G = memory((size_t)most * (size_t)most, sizeof *G);
  for (int r = 0; r < rounds; r++) { /* the two ways take turns */
    const double start = seconds();
    need(sptrsm_schur_solve_many(items, count, F) == SPTRSM_OK, "Schur complements");
    const double between = seconds();
    for (int i = 0; i < count; i++) plain(&subdomains[i], X, G);
    const double end = seconds();
    if (between - start < best) best = between - start;
    if (end - between < best_plain) best_plain = end - between;
  }
  for (int i = 0; i < count; i++) {
    plain(&subdomains[i], X, G);
    const double d = difference(F[i].data, G, subdomains[i].columns);
    if (!(d <= worst)) worst = d;
  }
  printf("%d subdomains of %d unknowns, %d entries in L, %d to %d columns, groups reach %.0f %% of the rows\n", count, subdomains[0].n,
         ((const int *)f->p)[f->n], least, most, 100 * reached);
  printf("analysis %.1f ms, Schur complements %.1f ms, solving and multiplying %.1f ms, largest relative difference %.1e\n", 1e3 * analysis,
         1e3 * best, 1e3 * best_plain, worst);

  for (int i = 0; i < count; i++) {
    sptrsm_schur_destroy(items[i]);
    sptrsm_direct_destroy(subdomains[i].direct);
    free(subdomains[i].ptr), free(subdomains[i].idx), free(subdomains[i].val);
    free(F[i].data);
  }
  free(subdomains), free(items), free(F), free(X), free(G);
  sptrsm_context_destroy(context);
  cholmod_free_factor(&f, &c);
  cholmod_free_sparse(&K, &c);
  cholmod_finish(&c);
  return !(worst <= 1e-12);
}
