/* stream.c -- compare_stream: a factor that streams from host memory beside the same factor in device memory, and beside the time that its
 * bytes take to cross the bus.
 *
 * The factor is a band of dense rows, as a Cholesky factor of a long body has it. The memory limit of the second context is a share of what
 * the plan takes on the device without one. B and X are in device memory, outside of the limit. Ways take turns, and the median of the
 * repetitions counts. A development tool, which is not installed. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "common/solver.h"

static const char help[] = "compare_stream                                   4 GB of factor, a quarter of it on the device\n"
                           "compare_stream --order 20000 --band 2000 --share 8 --nrhs 1,64\n"
                           "\n"
                           "usage: compare_stream [options]    a factor that streams beside one in device memory\n"
                           "  --order N           default 60000\n"
                           "  --band W            entries of a row before its diagonal; default 8000\n"
                           "  --share S           the limit is the plan's bytes over S; default 4\n"
                           "  --nrhs K,...        right-hand sides; default 1,32,128,512\n"
                           "  --reps R            default 5\n"
                           "  --method M          of the plan that streams, such as block-streamed:overlap=4; default block-streamed\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 an X has other bits, 2 usage, ...\n";

enum { KEY_ORDER = 2000, KEY_BAND, KEY_SHARE, KEY_NRHS, KEY_REPS, KEY_METHOD, WIDTHS_MOST = 16, REPS_MOST = 1000, COPY_BYTES = 256 << 20 };

static const struct argp_option options[] = {
    {"order", KEY_ORDER, "N", 0, "", 0},
    {"band", KEY_BAND, "W", 0, "", 0},
    {"share", KEY_SHARE, "S", 0, "", 0},
    {"nrhs", KEY_NRHS, "K", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},
    {"method", KEY_METHOD, "M", 0, "", 0},
    {0},
};

typedef struct {
  int32_t order, band;
  int share, reps, widths;
  int64_t nrhs[WIDTHS_MOST];
  const char *method;
} settings;

static void take_widths(settings *s, char *text) {
  s->widths = 0;
  for (char *rest = NULL, *at = strtok_r(text, ",", &rest); at; at = strtok_r(NULL, ",", &rest)) {
    if (s->widths == WIDTHS_MOST) cli_usage("--nrhs: more than %d numbers", WIDTHS_MOST);
    s->nrhs[s->widths++] = cli_integer("--nrhs", at, 1, 1 << 20);
  }
  if (s->widths == 0) cli_usage("--nrhs: no numbers");
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_ORDER: s->order = (int32_t)cli_integer("--order", text, 1, INT32_MAX / 2); return 0;
  case KEY_BAND: s->band = (int32_t)cli_integer("--band", text, 0, INT32_MAX / 2); return 0;
  case KEY_SHARE: s->share = (int)cli_integer("--share", text, 1, 1000); return 0;
  case KEY_NRHS: take_widths(s, text); return 0;
  case KEY_METHOD: s->method = text; return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, REPS_MOST); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- the factor ---- */

typedef struct {
  int64_t *ptr;
  int32_t *idx;
  double *val;
} lines;

/* Diagonal 2, other entries below 1 / band in magnitude: solutions stay near the right-hand sides. */
static int make_factor(sptrsm_sparse *T, lines *l, const settings *s) {
  int64_t nnz = 0;
  for (int32_t i = 0; i < s->order; i++) nnz += (i < s->band ? i : s->band) + 1;
  l->ptr = malloc(((size_t)s->order + 1) * sizeof *l->ptr);
  l->idx = malloc((size_t)nnz * sizeof *l->idx);
  l->val = malloc((size_t)nnz * sizeof *l->val);
  if (!l->ptr || !l->idx || !l->val) return cli_no_memory("the factor");
  l->ptr[0] = 0;
  for (int32_t i = 0; i < s->order; i++) {
    const int32_t first = i < s->band ? 0 : i - s->band;
    int64_t p = l->ptr[i];
    for (int32_t j = first; j < i; j++, p++) {
      l->idx[p] = j;
      l->val[p] = (double)((uint32_t)p * 2654435761u >> 16) / 65536.0 / (s->band + 1) - 0.5 / (s->band + 1);
    }
    l->idx[p] = i;
    l->val[p] = 2;
    l->ptr[i + 1] = p + 1;
  }
  *T = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = s->order, .ptr = l->ptr, .idx = l->idx};
  T->val = l->val;
  return CLI_OK;
}

static void free_factor(lines *l) {
  free(l->ptr);
  free(l->idx);
  free(l->val);
}

/* ---- solvers ---- */

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_info info;
  double seconds; /* to make the matrix and the plan */
} way;

static sptrsm_status open_way(way *w, const sptrsm_sparse *T, const char *method, size_t limit, int64_t nrhs) {
  const double start = cli_now();
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = method;
  o.nrhs_hint = nrhs;
  w->info.size = sizeof w->info;
  sptrsm_status status = sptrsm_context_create(&w->context, SPTRSM_CUDA, 0, NULL);
  if (status == SPTRSM_OK && limit > 0) status = sptrsm_context_set_memory_limit(w->context, limit);
  if (status == SPTRSM_OK) status = sptrsm_matrix_create(&w->matrix, w->context, T, SPTRSM_BORROW);
  if (status == SPTRSM_OK) status = sptrsm_plan_create(&w->plan, w->matrix, &o);
  if (status == SPTRSM_OK) status = sptrsm_plan_info(&w->info, w->plan);
  w->seconds = cli_now() - start;
  return status;
}

static void close_way(way *w) {
  sptrsm_plan_destroy(w->plan);
  sptrsm_matrix_destroy(w->matrix);
  sptrsm_context_destroy(w->context);
  *w = (way){0};
}

static sptrsm_status time_solve(double *ms, const way *w, const sptrsm_block *B, sptrsm_block *X) {
  sptrsm_status status = sptrsm_context_sync(w->context);
  const double start = cli_now();
  if (status == SPTRSM_OK) status = sptrsm_solve(w->plan, NULL, NULL, B, X);
  if (status == SPTRSM_OK) status = sptrsm_context_sync(w->context);
  *ms = 1e3 * (cli_now() - start);
  return status;
}

/* ---- the bus ---- */

static sptrsm_status check_cuda(cudaError_t error) {
  return error == cudaSuccess ? SPTRSM_OK : sptrsm_error_set(SPTRSM_ERR_DEVICE, "CUDA: %s", cudaGetErrorString(error));
}

/* Milliseconds to copy `bytes` from page-locked memory, by copies of 256 MiB. */
static sptrsm_status time_transfer(double *ms, sptrsm_context *context, void *device, size_t bytes) {
  void *host;
  sptrsm_status status = sptrsm_host_alloc(&host, context, COPY_BYTES);
  if (status != SPTRSM_OK) return status;
  memset(host, 0, COPY_BYTES);
  double start = cli_now();
  for (size_t done = 0; done < bytes && status == SPTRSM_OK; done += COPY_BYTES) {
    const size_t left = bytes - done;
    status = check_cuda(cudaMemcpyAsync(device, host, left < COPY_BYTES ? left : COPY_BYTES, cudaMemcpyHostToDevice, cudaStreamPerThread));
  }
  if (status == SPTRSM_OK) status = check_cuda(cudaStreamSynchronize(cudaStreamPerThread));
  *ms = 1e3 * (cli_now() - start);
  sptrsm_host_free(context, host);
  return status;
}

/* ---- the table ---- */

typedef struct {
  void *B, *X[2], *copy; /* device */
  double *host[2];
} blocks;

static sptrsm_status make_blocks(blocks *b, const settings *s, int64_t most) {
  const size_t count = (size_t)s->order * (size_t)most, bytes = count * sizeof(double);
  b->host[0] = malloc(bytes), b->host[1] = malloc(bytes);
  if (!b->host[0] || !b->host[1]) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for X");
  for (size_t i = 0; i < count; i++) b->host[0][i] = 1 + (double)(i % 17) / 8;
  sptrsm_status status = check_cuda(cudaMalloc(&b->B, bytes));
  for (int k = 0; k < 2 && status == SPTRSM_OK; k++) status = check_cuda(cudaMalloc(&b->X[k], bytes));
  if (status == SPTRSM_OK) status = check_cuda(cudaMalloc(&b->copy, COPY_BYTES));
  return status == SPTRSM_OK ? check_cuda(cudaMemcpy(b->B, b->host[0], bytes, cudaMemcpyHostToDevice)) : status;
}

static void free_blocks(blocks *b) {
  (void)cudaFree(b->B), (void)cudaFree(b->X[0]), (void)cudaFree(b->X[1]), (void)cudaFree(b->copy);
  free(b->host[0]), free(b->host[1]);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Bytes that a panel of right-hand sides takes across the bus. */
static size_t bytes_of_sweep(const sptrsm_info *info) {
  size_t bytes = 0;
  const char *at = strstr(info->parameters, "sweep_bytes=");
  return at && sscanf(at, "sweep_bytes=%zu", &bytes) == 1 ? bytes : info->plan_bytes;
}

typedef struct {
  double ms[2], transfer;
  bool same;
} measured;

static sptrsm_status measure(measured *out, const way ways[2], const settings *s, blocks *b, int64_t nrhs) {
  const size_t bytes = (size_t)s->order * (size_t)nrhs * sizeof(double);
  double ms[3][REPS_MOST], ignored;
  sptrsm_block B = {.data = b->B, .ld = nrhs, .n = s->order, .nrhs = nrhs, .dtype = SPTRSM_F64, .place = SPTRSM_CUDA};
  sptrsm_status status = SPTRSM_OK;
  for (int rep = -1; rep < s->reps; rep++) { /* the first is not counted */
    for (int k = 0; k < 2 && status == SPTRSM_OK; k++) {
      sptrsm_block X = B;
      X.data = b->X[k];
      status = check_cuda(cudaMemset(X.data, 0xff, bytes));
      if (status == SPTRSM_OK) status = check_cuda(cudaDeviceSynchronize());
      if (status == SPTRSM_OK) status = time_solve(rep < 0 ? &ignored : &ms[k][rep], &ways[k], &B, &X);
    }
    if (status == SPTRSM_OK)
      status = time_transfer(rep < 0 ? &ignored : &ms[2][rep], ways[0].context, b->copy, bytes_of_sweep(&ways[1].info));
  }
  for (int k = 0; k < 2 && status == SPTRSM_OK; k++) status = check_cuda(cudaMemcpy(b->host[k], b->X[k], bytes, cudaMemcpyDeviceToHost));
  if (status != SPTRSM_OK) return status;
  for (int k = 0; k < 3; k++) qsort(ms[k], (size_t)s->reps, sizeof(double), by_size);
  *out = (measured){.ms = {ms[0][s->reps / 2], ms[1][s->reps / 2]}, .transfer = ms[2][s->reps / 2]};
  out->same = memcmp(b->host[0], b->host[1], bytes) == 0;
  return SPTRSM_OK;
}

static sptrsm_status compare_one(bool *wrong, const way *whole, const sptrsm_sparse *T, const settings *s, blocks *b, int64_t nrhs) {
  way ways[2] = {*whole};
  measured m;
  sptrsm_status status = open_way(&ways[1], T, s->method, whole->info.plan_bytes / (size_t)s->share, nrhs);
  if (status == SPTRSM_OK) status = measure(&m, ways, s, b, nrhs);
  if (status == SPTRSM_OK) {
    const double least = m.transfer > m.ms[0] ? m.transfer : m.ms[0];
    printf("%6lld %6d %10.2f %10.2f %10.2f %7.2f %9.1f %9.1f  %s  %s %s\n", (long long)nrhs, ways[1].info.panel, m.transfer, m.ms[0],
           m.ms[1], m.ms[1] / least, whole->seconds, ways[1].seconds, m.same ? "same" : "OTHER", ways[1].info.method,
           ways[1].info.parameters);
    fflush(stdout);
    *wrong = *wrong || !m.same;
  }
  close_way(&ways[1]);
  return status;
}

static int compare(const settings *s, const sptrsm_sparse *T) {
  way whole = {0};
  blocks b = {0};
  bool wrong = false;
  int64_t most = 0;
  for (int k = 0; k < s->widths; k++) most = s->nrhs[k] > most ? s->nrhs[k] : most;
  sptrsm_status status = make_blocks(&b, s, most);
  if (status == SPTRSM_OK) status = open_way(&whole, T, "block", 0, most);
  if (status == SPTRSM_OK) {
    printf("# n %d, %lld entries, plan %.2f GB, limit %.2f GB; X from B in device memory, C order; ms, seconds for matrix and plan\n", T->n,
           (long long)T->ptr[T->n], 1e-9 * (double)whole.info.plan_bytes, 1e-9 * (double)whole.info.plan_bytes / s->share);
    printf("%6s %6s %10s %10s %10s %7s %9s %9s  %s\n", "nrhs", "panel", "transfer", "device", "streamed", "ratio", "made s", "made s",
           "bits");
  }
  for (int k = 0; k < s->widths && status == SPTRSM_OK; k++) status = compare_one(&wrong, &whole, T, s, &b, s->nrhs[k]);
  close_way(&whole);
  free_blocks(&b);
  const int code = solver_fail(status);
  return code == CLI_OK && wrong ? CLI_ABOVE : code;
}

int main(int argc, char **argv) {
  settings s = {.order = 60000, .band = 8000, .share = 4, .reps = 5, .widths = 4, .nrhs = {1, 32, 128, 512}, .method = "block-streamed"};
  const cli_program program = {.name = "compare_stream", .help = help, .options = options, .parse = parse};
  sptrsm_sparse T;
  lines l = {0};
  cli_start(&program, argc, argv, &s);
  int code = make_factor(&T, &l, &s);
  if (code == CLI_OK) code = compare(&s, &T);
  free_factor(&l);
  if (code == CLI_OK) code = cli_flush();
  return cli_end(code);
}
