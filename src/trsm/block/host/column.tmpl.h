/* column.tmpl.h -- the kernel of rows.tmpl.h for one column of a real type: the sums of ROWS rows are the lanes of vectors, since a column
 * has no lanes of its own. Each sum adds the same products in the same order. Undefines ROWS for the next inclusion. */

#define AT_ROWS(f) AT_WIDTH(SPTI_CAT(SPTI_CAT(f, ROWS), _))
#define SUMS       AT_ROWS(sums_)
#define LENGTH     ((int)(sizeof(SUMS) / sizeof(T)))

/* No wider than a register: compilers keep wider vectors in memory. */
typedef T SUMS
    __attribute__((vector_size(ROWS * sizeof(T) < VECTOR_BYTES ? ROWS * sizeof(T) : VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* Subtracts a column of ROWS entries times y. */
static inline __attribute__((always_inline)) void AT_ROWS(subtract_)(SUMS *s, const T *a, T y) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r += LENGTH) s[r / LENGTH] -= *(const SUMS *)(a + r) * y;
}

/* The diagonal block: a[r] belongs to row r of its first column. */
static inline __attribute__((always_inline)) void AT_ROWS(triangle_)(T *s, const NAME(operands) * o, const T *a, bool unit) {
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++, a += o->next) {
    if (!unit) s[r] /= a[r];
#pragma GCC unroll 8
    for (int below = r + 1; below < ROWS; below++) s[below] -= a[below] * s[r];
  }
}

/* False if a sum is not finite. */
static inline bool AT_ROWS(rows_)(const NAME(operands) * o, const NAME(targets) * t) {
  const T *a = o->a;
  T *x[ROWS], solved[ROWS];
  SUMS s[ROWS / LENGTH];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) x[r] = o->w + (t->list ? t->list[r] : t->first + r) * o->step;
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r += LENGTH) {
    SUMS part = {0}; /* filled lane by lane, which the array's own vectors would be in memory */
#pragma GCC unroll 8
    for (int l = 0; l < LENGTH; l++) part[l] = *x[r + l];
    s[r / LENGTH] = part;
  }
  for (int32_t k = 0; k < o->listed; k++, a += o->next) {
    NAME(ask_ahead)(a, ROWS, AHEAD_OF_ONE);
    AT_ROWS(subtract_)(s, a, o->w[o->list[k] * o->step]);
  }
  const T *y = o->w + o->first * o->step;
  for (int32_t k = 0; k < o->count; k++, a += o->next, y += o->step) {
    NAME(ask_ahead)(a, ROWS, AHEAD_OF_ONE);
    AT_ROWS(subtract_)(s, a, *y);
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r += LENGTH) {
    const SUMS part = s[r / LENGTH];
#pragma GCC unroll 8
    for (int l = 0; l < LENGTH; l++) solved[r + l] = part[l];
  }
  if (t->solve) AT_ROWS(triangle_)(solved, o, a, t->unit);
  T zero = 0;
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) zero += solved[r] - solved[r];
  if (zero != 0 && !t->exact) {
    NAME(redo)(o, t, ROWS, 1);
    return false;
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) *x[r] = solved[r];
  return true;
}

#undef AT_ROWS
#undef SUMS
#undef LENGTH
#undef ROWS
