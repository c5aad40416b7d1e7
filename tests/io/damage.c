/* damage.c -- damaged files of all forms: damage COUNT [SEED [SECONDS]] prints what the library made of them.
 *
 * A case takes one of the fixtures of tests/data, changes bits, cuts it, swaps two blocks or gives it the begin of another file. A child
 * process lists it, loads an object of it beside one of a sound file, and solves. Another child reads the damaged file in a plain way: what
 * was loaded must be what stands there. Everything follows from SEED and the number of the case; after SECONDS no other case begins.
 *
 * Exit code 1 if there was a crash, a call that computed for more than 20 s (the library gives up after 10 s) or lasted ten minutes, more
 * than 500 MB of memory, a sound file that was blamed, or numbers that differ from those in the file. The last such file of each kind is
 * kept as sptrsm_damage_KIND in TMPDIR (/tmp).
 */
#include <common/residual/residual.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define DATA(name) SPTRSM_TEST_DATA "/" name

/* On a busy machine ten seconds of computing may last minutes. */
enum { COMPUTED_MAX = 20, SECONDS_MAX = 600, KILOBYTES_MAX = 500000, FILE_MAX = 1 << 18, HASHES = 24, DATASETS = 2048 };

typedef enum { MATRIX, FACTORS, BLOCK } load_kind;

static const struct {
  const char *file, *object;
  load_kind kind;
} cases[] = {
    {"forms.h5", "ann_csr", MATRIX},       {"forms.h5", "ann_csc", MATRIX},
    {"forms.h5", "ann_gzip", MATRIX},      {"forms.h5", "ann_complex", MATRIX},
    {"forms.h5", "ann_half", MATRIX},      {"forms.h5", "bin_csr", MATRIX},
    {"forms.h5", "bin_coo", MATRIX},       {"forms.h5", "bin_complex", MATRIX},
    {"forms.h5", "bin_iso", MATRIX},       {"forms.h5", "coo", MATRIX},
    {"forms.h5", "h5py_all", MATRIX},      {"forms.h5", "soft", MATRIX},
    {"matlab.mat", "", FACTORS},           {"root.h5", "", MATRIX},
    {"sets.h5", "scipy", FACTORS},         {"sets.h5", "cholesky", FACTORS},
    {"sets.h5", "own", FACTORS},           {"sets.h5", "julia", FACTORS},
    {"sets.h5", "scipy_complex", FACTORS}, {"sets.h5", "umfpack_recip", FACTORS},
    {"sets.h5", "only_L", FACTORS},        {"blocks.h5", "B", BLOCK},
    {"blocks.h5", "gzip", BLOCK},          {"blocks.h5", "dmatc", BLOCK},
    {"blocks.h5", "said_F", BLOCK},        {"blocks.h5", "complex", BLOCK},
    {"blocks.h5", "int16", BLOCK},         {"only_block.h5", NULL, BLOCK},
    {"general.mtx", NULL, MATRIX},         {"symmetric.mtx", NULL, MATRIX},
    {"hermitian.mtx", NULL, MATRIX},       {"integer.mtx", NULL, MATRIX},
    {"general.mtx.gz", NULL, MATRIX},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* What the children tell the parent, in shared memory. Hashes of arrays of the loaded object; 0: an array that is not compared. */
static struct {
  int calls, done, loaded, judged, crashes, loops; /* crashes and endless loops of HDF5 that the library reported */
  double computed;                                 /* seconds of processor time of the longest call */
  char blamed[400], wrong[200];
  int count;
  uint64_t hashes[HASHES][2]; /* either may be the one of a dataset */
} * told;

static char folder[200], damaged[sizeof folder + 40];
static const char sound[] = DATA("blocks.h5") ":/B";

/* ---- random numbers and damage ---- */

static uint64_t state;

static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) % below;
}

static size_t load_bytes(unsigned char *data, const char *file) {
  char path[400];
  snprintf(path, sizeof path, SPTRSM_TEST_DATA "/%s", file);
  FILE *f = fopen(path, "rb");
  size_t bytes = f ? fread(data, 1, FILE_MAX, f) : 0;
  if (f) fclose(f);
  return bytes;
}

/* Half of the damage falls into one window, so that some of it meets the object that is loaded. */
static size_t damage(unsigned char *data, size_t bytes) {
  static unsigned char other[FILE_MAX];
  size_t window = bytes < 600 || draw(2) ? bytes : 600, begin = draw(bytes - window + 1), length;
  switch (draw(6)) {
  case 0: return draw(bytes);
  case 1:
    length = bytes / (2 + draw(20));
    size_t a = draw(bytes - length + 1), b = draw(bytes - length + 1);
    memcpy(other, data + a, length);
    memmove(data + a, data + b, length);
    memcpy(data + b, other, length);
    return bytes;
  case 2:
    length = load_bytes(other, cases[draw(CASES)].file);
    length = draw((length < bytes ? length : bytes) + 1);
    memcpy(data, other, length < 2048 ? length : 2048);
    return bytes;
  default:
    for (uint64_t flips = 1 + draw(8); flips > 0; flips--) data[begin + draw(window)] ^= (unsigned char)(1u << draw(8));
    return bytes;
  }
}

/* ---- arrays as hashes ---- */

static int by_bits(const void *a, const void *b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* Of the numbers plus `shift`; sorted: whatever their order. Never 0. */
static uint64_t hash(const double *numbers, size_t count, double shift, bool sorted) {
  double *copy = malloc(count * sizeof *copy + 1);
  uint64_t h = 0xcbf29ce484222325u + count;
  for (size_t k = 0; k < count; k++) copy[k] = isnan(numbers[k]) ? NAN : numbers[k] + shift;
  if (sorted) qsort(copy, count, sizeof *copy, by_bits);
  for (size_t k = 0; k < count * sizeof *copy; k++) h = (h ^ ((unsigned char *)copy)[k]) * 0x100000001b3u;
  free(copy);
  return h | 1;
}

static void tell(uint64_t first, uint64_t second) {
  if (told->count < HASHES) told->hashes[told->count][0] = first, told->hashes[told->count++][1] = second;
}

static void tell_integers(const void *array, size_t count, size_t width, bool sorted) {
  double *numbers = malloc(count * sizeof *numbers + 1);
  for (size_t k = 0; k < count; k++) numbers[k] = width == 4 ? ((const int32_t *)array)[k] : (double)((const int64_t *)array)[k];
  tell(hash(numbers, count, 0, sorted), hash(numbers, count, 1, sorted)); /* from 0, or as stored from 1 */
  free(numbers);
}

/* Complex numbers count as pairs, or as real ones where they are; equal numbers as one (iso). */
static void tell_values(const void *val, sptrsm_dtype dtype, size_t count) {
  const bool pairs = dtype == SPTRSM_C64 || dtype == SPTRSM_C128, single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
  const size_t reals = pairs ? 2 * count : count;
  double *all = malloc(reals * sizeof *all + 1), *re = malloc(count * sizeof *re + 1);
  bool real = true, equal = true;
  for (size_t k = 0; k < reals; k++) all[k] = single ? ((const float *)val)[k] : ((const double *)val)[k];
  for (size_t k = 0; k < count; k++) {
    re[k] = all[pairs ? 2 * k : k];
    real = real && (!pairs || all[2 * k + 1] == 0);
    equal = equal && re[k] == re[0];
  }
  tell(hash(all, reals, 0, true), hash(re, equal && !pairs && count > 0 ? 1 : real ? count : 0, 0, true));
  free(all);
  free(re);
}

static void tell_matrix(const sptrsm_file_matrix *M) {
  const int64_t lines = M->format == SPTRSM_CSR ? M->rows : M->cols;
  const size_t nnz = (size_t)M->ptr[lines];
  if (!strstr(M->rule, "COO") && !strstr(M->rule, "Market")) tell_integers(M->ptr, (size_t)lines + 1, 8, false);
  tell_integers(M->idx, nnz, 4, true);
  tell_values(M->val, M->dtype, nnz);
}

/* ---- the child that uses the library ---- */

/* Seconds of processor time of this process (RUSAGE_SELF), or of those that HDF5 ran in (RUSAGE_CHILDREN). */
static double computed_by(int whom) {
  struct rusage used;
  getrusage(whom, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Ends a call. A failure must name the damaged file, and no other one. */
static bool check(sptrsm_status status, bool of_sound) {
  static double before;
  const char *text = sptrsm_last_error();
  const double now = computed_by(RUSAGE_SELF) + computed_by(RUSAGE_CHILDREN);
  told->calls++;
  if (now - before > told->computed) told->computed = now - before;
  before = now;
  told->crashes += status == SPTRSM_ERR_IO && strstr(text, "crashed inside HDF5");
  told->loops += status == SPTRSM_ERR_IO && strstr(text, "hangs inside HDF5");
  if (status == SPTRSM_OK) return true;
  if (of_sound || strstr(text, DATA("blocks.h5")) || !strstr(text, damaged)) snprintf(told->blamed, sizeof told->blamed, "%s", text);
  return false;
}

static void solve(const sptrsm_file_factors *F, const sptrsm_block *B) {
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  chain S;
  residual r;
  sptrsm_block X = *B;
  if (F->single || F->L_tri.n != B->n || F->L_tri.dtype != B->dtype || !(X.data = calloc((size_t)B->n, (size_t)B->nrhs * 16))) return;
  sptrsm_file_factors without = *F;
  without.A = NULL;
  chain_build(&S, &without, SPTRSM_SYS_A, SPTRSM_N);
  if (sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) != SPTRSM_OK || sptrsm_context_set_threads(context, 1) != SPTRSM_OK ||
      sptrsm_direct_create(&direct, context, &F->factors, NULL) != SPTRSM_OK ||
      sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, B, &X) != SPTRSM_OK)
    snprintf(told->wrong, sizeof told->wrong, "a loaded factor set is refused: %.150s", sptrsm_last_error());
  else if (max_entry(&X) < 1e100 && residual_of_panel(&r, &S, NULL, B, &X, 1) && r.max_berr > 1e-12)
    snprintf(told->wrong, sizeof told->wrong, "backward error %g", r.max_berr); /* NaN: numbers near the end of their range */
}

static void use(const char *where, load_kind kind) {
  sptrsm_file_matrix *M = NULL;
  sptrsm_file_factors *F = NULL;
  sptrsm_file_block *B = NULL, *X = NULL;
  sptrsm_file_listing list;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.memory_limit = (size_t)64 << 20;
  check(sptrsm_file_list(&list, damaged, &o), false);
  if (kind == MATRIX && check(sptrsm_file_matrix_load(&M, where, &o), false)) tell_matrix(M);
  if (kind == BLOCK && check(sptrsm_file_block_load(&X, where, -1, &o), false))
    tell_values(X->block.data, X->block.dtype, (size_t)X->block.n * (size_t)X->block.nrhs);
  if (kind == FACTORS && check(sptrsm_file_factors_load(&F, where, &o), false)) {
    const size_t n = (size_t)F->L_tri.n;
    tell_matrix(F->L);
    if (F->U) tell_matrix(F->U);
    if (F->factors.perm_row) tell_integers(F->factors.perm_row, n, 4, false);
    if (F->factors.perm_col) tell_integers(F->factors.perm_col, n, 4, false);
    if (F->factors.scale_row) tell_values(F->factors.scale_row, SPTRSM_F64, n);
    if (F->factors.D) tell_values(F->factors.D, F->L_tri.dtype, n);
  }
  told->loaded = told->count > 0;
  if (check(sptrsm_file_block_load(&B, sound, 6, NULL), true) && F) solve(F, &B->block);
  told->done = 1;
}

/* ---- the child that reads the file in a plain way ---- */

static uint64_t stored[4 * DATASETS];
static int stored_count;

static void add(const double *numbers, size_t count) {
  if (stored_count + 4 > 4 * DATASETS) return;
  stored[stored_count++] = hash(numbers, count, 0, false);
  stored[stored_count++] = hash(numbers, count, 0, true);
}

static void add_dataset(hid_t dataset) {
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), memory = H5T_NATIVE_DOUBLE;
  hssize_t count = H5Sget_simple_extent_npoints(space);
  size_t each = 1;
  if (count < 0 || count > 100000 || type < 0) return;
  if (H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2) {
    memory = H5Tcreate(H5T_COMPOUND, each = 2 * sizeof(double));
    for (unsigned k = 0; k < 2; k++) H5Tinsert(memory, H5Tget_member_name(type, k), k * sizeof(double), H5T_NATIVE_DOUBLE);
    each = 2;
  }
  double *numbers = calloc((size_t)count * each + 1, sizeof *numbers);
  if (H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0) add(numbers, (size_t)count * each);
  free(numbers);
}

/* All datasets below a group; one that can't be opened is left out. False: the names in a group can't be read to their end. */
static bool add_below(hid_t group, int depth) {
  bool whole = true;
  H5G_info_t info;
  if (depth > 4 || H5Gget_info(group, &info) < 0) return depth > 4;
  for (hsize_t k = 0; k < info.nlinks && k < 1000 && whole; k++) {
    hid_t object = H5Oopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, k, H5P_DEFAULT);
    H5I_type_t type = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    if (type == H5I_DATASET) add_dataset(object);
    else whole = type != H5I_GROUP || add_below(object, depth + 1);
    if (object >= 0) H5Oclose(object);
  }
  return whole;
}

/* The named object by itself: its name may be found where its neighbours are not. */
static bool add_object(hid_t file, const char *name) {
  hid_t object = name && *name ? H5Oopen(file, name, H5P_DEFAULT) : H5Oopen(file, ".", H5P_DEFAULT);
  H5I_type_t type = object >= 0 ? H5Iget_type(object) : H5I_BADID;
  if (type == H5I_DATASET) add_dataset(object);
  return type == H5I_DATASET || (type == H5I_GROUP && add_below(object, 0));
}

static void read_text(void) {
  static double numbers[4][10000]; /* columns, rows, values, values as pairs */
  char line[1100];
  size_t lines = 0, reals = 0;
  gzFile z = gzopen(damaged, "rb");
  while (z && gzgets(z, line, sizeof line) && lines < 4000) {
    char *at = line;
    if (line[0] == '%' || line[strspn(line, " \t\r\n")] == '\0') continue;
    const double row = (double)strtoll(at, &at, 10), column = (double)strtoll(at, &at, 10);
    numbers[0][lines] = column - 1, numbers[1][lines] = row - 1, numbers[2][lines] = 1;
    for (char *end; lines > 0; at = end, reals++) {
      numbers[3][reals] = strtod(at, &end);
      if (end == at) break;
    }
    lines++;
  }
  if (z) gzclose(z);
  if (lines > 0) add(&numbers[0][1], lines - 1), add(&numbers[1][1], lines - 1), add(&numbers[2][1], lines - 1), add(numbers[3], reals);
}

static void judge(const char *object) {
  bool whole = true, all = true;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fopen(damaged, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file >= 0) whole = add_object(file, object);
  else read_text();
  for (int k = 0; k < told->count; k++) {
    bool one = false;
    for (int s = 0; s < stored_count; s++) one = one || stored[s] == told->hashes[k][0] || stored[s] == told->hashes[k][1];
    if (!one && whole) snprintf(told->wrong, sizeof told->wrong, "array %d of %d is none that is stored", k, told->count);
    all = all && one;
  }
  told->judged = all || whole;
}

/* ---- the parent ---- */

enum { CRASHED, HUNG, LARGE, BLAMED, WRONG, KINDS };
static const char *const kinds[KINDS] = {"crash", "hang", "memory", "blame", "wrong"};
static long found[KINDS], loaded, unjudged, crashes, loops;

static void note(int kind, int number, const char *where, const char *text) {
  char command[sizeof folder + sizeof damaged + 40];
  found[kind]++;
  fprintf(stderr, "%s: case %d, %s%s%s\n", kinds[kind], number, where, *text ? ": " : "", text);
  snprintf(command, sizeof command, "cp '%s' '%s/sptrsm_damage_%s'", damaged, folder, kinds[kind]);
  if (system(command) != 0) perror(command);
}

/* Waits for the child; the signal that ended it, 0, or -1 if one of its calls took too long. */
static int wait_for(pid_t child, struct rusage *used) {
  const struct timespec second = {.tv_sec = 1};
  time_t begin = time(NULL);
  sigset_t ended;
  int status, calls = told->calls;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  while (wait4(child, &status, WNOHANG, used) == 0) {
    if (told->calls != calls) begin = time(NULL), calls = told->calls;
    if (time(NULL) - begin > SECONDS_MAX) {
      kill(child, SIGKILL);
      wait4(child, &status, 0, used);
      return -1;
    }
    sigtimedwait(&ended, NULL, &second);
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void run_case(int number) {
  static unsigned char data[FILE_MAX];
  const int which = number % CASES;
  char where[sizeof damaged + 40];
  struct rusage used = {0};
  size_t bytes = damage(data, load_bytes(data, cases[which].file));
  FILE *f = fopen(damaged, "wb");
  if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) exit((perror(damaged), 2));
  snprintf(where, sizeof where, cases[which].object ? "%s:/%s" : "%s", damaged, cases[which].object);
  memset(told, 0, sizeof *told);
  pid_t child = fork();
  if (child == 0) use(where, cases[which].kind), _exit(0);
  int ended = wait_for(child, &used);
  crashes += told->crashes, loops += told->loops;
  if (ended < 0 || told->computed > COMPUTED_MAX) note(HUNG, number, cases[which].file, "");
  else if (ended > 0 || !told->done) note(CRASHED, number, cases[which].file, ended > 0 ? strsignal(ended) : "it ended the process");
  if (used.ru_maxrss > KILOBYTES_MAX) note(LARGE, number, cases[which].file, "");
  if (told->blamed[0]) note(BLAMED, number, cases[which].file, told->blamed);
  if (ended == 0 && told->done && told->loaded) {
    loaded++;
    if ((child = fork()) == 0) judge(cases[which].object), _exit(0);
    wait_for(child, &used);
    unjudged += !told->judged;
  }
  if (told->wrong[0]) note(WRONG, number, cases[which].file, told->wrong);
}

int main(int argc, char **argv) {
  const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0, seed = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  const time_t end = argc > 3 ? time(NULL) + strtol(argv[3], NULL, 10) : 0;
  long bad = 0;
  int number = 0;
  sigset_t ended;
  if (count < 1) return fprintf(stderr, "usage: damage COUNT [SEED [SECONDS]]\n"), 2;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, NULL);
  snprintf(folder, sizeof folder, "%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  snprintf(damaged, sizeof damaged, "%s/sptrsm_damaged_%ld", folder, (long)getpid());
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (; number < count && (end == 0 || time(NULL) < end); number++) {
    state = 0x9e3779b97f4a7c15u * (uint64_t)(number + 1) ^ (uint64_t)seed << 32;
    for (int k = 0; k < 8; k++) draw(2);
    run_case(number);
  }
  remove(damaged);
  printf("%d damaged files: %ld loaded, %ld of them not judged since the plain reading ended early; in HDF5 %ld crashes, %ld loops;",
         number, loaded, unjudged, crashes, loops);
  for (int k = 0; k < KINDS; k++) bad += found[k], printf(" %s %ld%s", kinds[k], found[k], k + 1 < KINDS ? "," : "\n");
  return bad > 0;
}
