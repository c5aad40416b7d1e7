/* sptrsm_mex.c -- factor sets for MATLAB and Octave, named by numbers; the class sptrsm and sptrsm_solve call it.
 *
 *   id = sptrsm_mex('new', L, U, p, q)      L U = A(p,q); L, U sparse, U = []: L'; p, q vectors or []
 *   X = sptrsm_mex('solve', id, B, op)      op(A) X = B for a full matrix B; op 'N', 'T' (A.') or 'C' (A')
 *   sptrsm_mex('delete', id)
 *
 * Factor sets live until they are deleted or the MEX file is cleared. All use one context: the host with all usable processors. Memory of
 * mxMalloc is released by MATLAB and Octave when the call ends, also with an error.
 */
#include <mex.h>
#include <sptrsm.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct factor_set {
  struct factor_set *next;
  double id;
  int32_t n;
  int is_complex;
  sptrsm_direct *direct;
} factor_set;

static sptrsm_context *context;
static factor_set *sets;
static double last_id;

/* A number that no set has or had. The first one is the time in microseconds, since after `clear sptrsm_mex` all begins anew, and an old
 * handle must not reach a new set. */
static double next_id(void) {
  struct timespec now;
  if (last_id == 0) {
    timespec_get(&now, TIME_UTC);
    last_id = (double)now.tv_sec * 1e6 + (double)(now.tv_nsec / 1000);
  }
  return ++last_id;
}

static void check(sptrsm_status status) {
  if (status != SPTRSM_OK) mexErrMsgIdAndTxt("sptrsm:error", "%s", sptrsm_last_error());
}

static void clear_all(void) {
  while (sets) {
    factor_set *first = sets;
    sets = first->next;
    sptrsm_direct_destroy(first->direct);
    free(first);
  }
  sptrsm_context_destroy(context);
  context = NULL;
}

/* The link that points to the set named by an argument, or the last one, which is NULL, if there is none. */
static factor_set **link_of(const mxArray *name) {
  factor_set **link = &sets;
  if (!mxIsDouble(name) || mxIsEmpty(name)) mexErrMsgIdAndTxt("sptrsm:id", "the factor set was deleted");
  const double id = mxGetScalar(name);
  while (*link && (*link)->id != id) link = &(*link)->next;
  return link;
}

static factor_set *find(const mxArray *name) {
  factor_set *set = *link_of(name);
  if (!set) mexErrMsgIdAndTxt("sptrsm:id", "there is no factor set %g: it was deleted, or the MEX file was cleared", mxGetScalar(name));
  return set;
}

/* Where the numbers of an array are: MATLAB keeps the two parts of a complex number beside each other, Octave in two arrays. */
typedef struct {
  double *re, *im; /* im NULL: real numbers */
  size_t step;
} parts;

static parts parts_of(const mxArray *array) {
#if MX_HAS_INTERLEAVED_COMPLEX
  if (mxIsComplex(array)) {
    double *first = (double *)mxGetComplexDoubles(array);
    return (parts){first, first + 1, 2};
  }
  return (parts){mxGetDoubles(array), NULL, 1};
#else
  return (parts){mxGetPr(array), mxGetPi(array), 1};
#endif
}

static void copy(parts to, parts from, size_t count) {
  for (size_t k = 0; k < count; k++) {
    to.re[k * to.step] = from.re[k * from.step];
    to.im[k * to.step] = from.im ? from.im[k * from.step] : 0;
  }
}

/* The numbers of an array: its own memory for real ones, else a copy as pairs. */
static double *numbers(const mxArray *from, size_t count, int as_complex) {
  if (!as_complex) return parts_of(from).re;
  double *to = mxMalloc((2 * count + 1) * sizeof *to);
  copy((parts){to, to + 1, 2}, parts_of(from), count);
  return to;
}

static sptrsm_sparse triangle(const mxArray *from, const char *name, sptrsm_uplo uplo, int as_complex) {
  const size_t n = mxGetN(from);
  if (!mxIsSparse(from) || !mxIsDouble(from)) mexErrMsgIdAndTxt("sptrsm:type", "%s must be a sparse matrix of doubles", name);
  if (mxGetM(from) != n || n > INT32_MAX)
    mexErrMsgIdAndTxt("sptrsm:size", "%s is %zu x %zu; it must be square, of order 2147483647 at most", name, mxGetM(from), n);
  const mwIndex *jc = mxGetJc(from), *ir = mxGetIr(from);
  int64_t *ptr = mxMalloc((n + 1) * sizeof *ptr);
  int32_t *idx = mxMalloc((jc[n] + 1) * sizeof *idx);
  for (size_t j = 0; j <= n; j++) ptr[j] = (int64_t)jc[j];
  for (size_t p = 0; p < jc[n]; p++) idx[p] = (int32_t)ir[p];
  return (sptrsm_sparse){SPTRSM_CSC, as_complex ? SPTRSM_C128 : SPTRSM_F64, uplo, SPTRSM_NONUNIT, SPTRSM_HOST, (int32_t)n, ptr,
                         idx,        numbers(from, jc[n], as_complex)};
}

/* Indices from 1 to indices from 0; NULL for []. That they are a permutation is checked by the library. */
static int32_t *permutation(const mxArray *from, const char *name, int32_t n) {
  if (mxIsEmpty(from) && n > 0) return NULL;
  if (!mxIsDouble(from) || mxIsComplex(from) || mxIsSparse(from) || mxGetNumberOfElements(from) != (size_t)n)
    mexErrMsgIdAndTxt("sptrsm:size", "%s must be [] or a vector of %d doubles, as [L, U, p, q] = lu(A, 'vector') gives it", name, n);
  const double *values = mxGetPr(from);
  int32_t *to = mxMalloc(((size_t)n + 1) * sizeof *to);
  for (int32_t i = 0; i < n; i++) {
    if (!(values[i] >= 1 && values[i] <= n && values[i] == (int32_t)values[i]))
      mexErrMsgIdAndTxt("sptrsm:range", "%s(%d) = %.10g is not a whole number in 1 .. %d", name, i + 1, values[i], n);
    to[i] = (int32_t)values[i] - 1;
  }
  return to;
}

static mxArray *create(const mxArray *arguments[]) {
  const int has_U = !mxIsEmpty(arguments[1]) || mxIsEmpty(arguments[0]);
  const int as_complex = mxIsComplex(arguments[0]) || (has_U && mxIsComplex(arguments[1]));
  sptrsm_sparse L = triangle(arguments[0], "L", SPTRSM_LOWER, as_complex), U;
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.u_kind = SPTRSM_U_IS_LH;
  if (has_U) {
    U = triangle(arguments[1], "U", SPTRSM_UPPER, as_complex);
    factors.U = &U;
    factors.u_kind = SPTRSM_U_GIVEN;
  }
  factors.perm_row = permutation(arguments[2], "p", L.n);
  factors.perm_col = permutation(arguments[3], "q", L.n);
  factors.row_convention = SPTRSM_GATHER;
  factors.col_convention = SPTRSM_SCATTER;

  sptrsm_direct *direct = NULL;
  if (!context) check(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  check(sptrsm_direct_create(&direct, context, &factors, NULL));
  factor_set *set = malloc(sizeof *set);
  if (!set) {
    sptrsm_direct_destroy(direct);
    mexErrMsgIdAndTxt("sptrsm:memory", "no memory for a factor set");
  }
  *set = (factor_set){sets, next_id(), L.n, as_complex, direct};
  sets = set;
  return mxCreateDoubleScalar(set->id);
}

/* With complex factors numbers are pairs. With real factors the two parts of a complex B are solved as columns of their own. */
static mxArray *solve_complex(factor_set *set, const mxArray *B, size_t columns, sptrsm_op op) {
  const size_t count = (size_t)set->n * columns;
  double *memory = mxMalloc((2 * count + 1) * sizeof *memory);
  const parts work = set->is_complex ? (parts){memory, memory + 1, 2} : (parts){memory, memory + count, 1};
  copy(work, parts_of(B), count);
  sptrsm_block block = {memory, set->n ? set->n : 1, set->n, (int64_t)columns, SPTRSM_C128, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  if (!set->is_complex) {
    block.dtype = SPTRSM_F64;
    block.nrhs *= 2;
  }
  check(sptrsm_direct_solve(set->direct, SPTRSM_SYS_A, op, NULL, &block, &block));
  mxArray *X = mxCreateDoubleMatrix((size_t)set->n, columns, mxCOMPLEX);
  copy(parts_of(X), work, count);
  return X;
}

static mxArray *solve(factor_set *set, const mxArray *B, const mxArray *operation) {
  char name[2] = "";
  const char *const names = "NTC", *at;
  mxGetString(operation, name, sizeof name);
  if (!name[0] || !(at = strchr(names, name[0]))) mexErrMsgIdAndTxt("sptrsm:op", "op must be 'N', 'T' or 'C'");
  const sptrsm_op op = (sptrsm_op)(at - names);
  const size_t columns = mxGetN(B);
  if (!mxIsDouble(B) || mxIsSparse(B)) mexErrMsgIdAndTxt("sptrsm:type", "B must be a full matrix of doubles; full(B) makes one");
  if (mxGetNumberOfDimensions(B) != 2 || mxGetM(B) != (size_t)set->n)
    mexErrMsgIdAndTxt("sptrsm:size", "B has %zu rows, the factors have order %d", mxGetM(B), set->n);
  if (set->is_complex || mxIsComplex(B)) return solve_complex(set, B, columns, op);
  mxArray *X = mxCreateDoubleMatrix(mxGetM(B), columns, mxREAL);
  sptrsm_block from = {mxGetPr(B), set->n ? set->n : 1, set->n, (int64_t)columns, SPTRSM_F64, SPTRSM_COL_MAJOR, SPTRSM_HOST}, to = from;
  to.data = mxGetPr(X);
  check(sptrsm_direct_solve(set->direct, SPTRSM_SYS_A, op, NULL, &from, &to));
  return X;
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[]) {
  char command[8] = "";
  (void)nlhs;
  if (nrhs > 0) mxGetString(prhs[0], command, sizeof command);
  mexAtExit(clear_all);
  if (!strcmp(command, "new") && nrhs == 5) plhs[0] = create(prhs + 1);
  else if (!strcmp(command, "solve") && nrhs == 4) plhs[0] = solve(find(prhs[1]), prhs[2], prhs[3]);
  else if (!strcmp(command, "delete") && nrhs == 2) {
    factor_set **link = link_of(prhs[1]), *set = *link;
    if (!set) return; /* the MEX file was cleared, and all sets with it */
    *link = set->next;
    sptrsm_direct_destroy(set->direct);
    free(set);
  } else mexErrMsgIdAndTxt("sptrsm:usage", "sptrsm_mex('new', L, U, p, q), ('solve', id, B, op) or ('delete', id)");
}
