/* rows.tmpl.h -- the kernel: ROWS rows of a strip in WIDTH columns with all sums in registers, x(rows) = D^-1 (b(rows) - A x(operands)), or
 * the same without D^-1. Undefines ROWS for the next inclusion.
 *
 * Each sum adds its products one after the other, those of the list first, so that the bits of a row depend neither on ROWS nor on WIDTH.
 * Complex vectors hold real and imaginary parts in turn; there are two sums, of re(a) x and of im(a) x, joined at the end of the row. */

#define AT_ROWS(f) AT_WIDTH(SPTI_CAT(SPTI_CAT(f, ROWS), _))
#define SUMS       AT_ROWS(sums_)

typedef struct {
  VECTOR re[ROWS][COUNT];
#if SPTI_IS_COMPLEX
  VECTOR im[ROWS][COUNT];
#endif
} SUMS;

/* Subtracts a[row] y from the sums of rows r to ROWS - 1. */
static inline __attribute__((always_inline)) void AT_ROWS(subtract_)(SUMS *s, int r, const T *a, const VECTOR *y) {
  VECTOR x[COUNT];
  for (int c = 0; c < COUNT; c++) x[c] = y[c];
#pragma GCC unroll 8
  for (; r < ROWS; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < COUNT; c++) {
      VECTOR met = MET(x[c], a[r]);
#if SPTI_IS_COMPLEX
      s->re[r][c] -= __real__ a[r] * met;
      s->im[r][c] += __imag__ a[r] * met;
#else
      s->re[r][c] -= a[r] * met;
#endif
    }
  }
}

static inline __attribute__((always_inline)) void AT_ROWS(join_)(SUMS *s, int r) {
#if SPTI_IS_COMPLEX
  for (int c = 0; c < COUNT; c++) s->re[r][c] += AT_WIDTH(turned_)(s->im[r][c]);
#else
  (void)s, (void)r;
#endif
}

static inline __attribute__((always_inline)) bool AT_ROWS(all_finite_)(const SUMS *s) {
  VECTOR zero = {0};
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COUNT; c++) zero += s->re[r][c] - s->re[r][c];
  return AT_WIDTH(finite_)(zero);
}

/* False if a sum is not finite. */
static inline bool AT_ROWS(rows_)(const NAME(operands) * o, const NAME(targets) * t) {
  const T *a = o->a;
  VECTOR *x[ROWS];
  SUMS s;
  for (int r = 0; r < ROWS; r++) {
    x[r] = (VECTOR *)(o->w + (t->list ? t->list[r] : t->first + r) * o->step);
    for (int c = 0; c < COUNT; c++) {
      s.re[r][c] = x[r][c];
#if SPTI_IS_COMPLEX
      s.im[r][c] = (VECTOR){0};
#endif
    }
  }
  for (int32_t k = 0; k < o->listed; k++, a += o->next) {
    NAME(ask_ahead)(a, ROWS, AHEAD_OF_SEVERAL);
    AT_ROWS(subtract_)(&s, 0, a, (const VECTOR *)(o->w + o->list[k] * o->step));
  }
  const T *y = o->w + o->first * o->step;
  for (int32_t k = 0; k < o->count; k++, a += o->next, y += o->step) {
    NAME(ask_ahead)(a, ROWS, AHEAD_OF_SEVERAL);
    AT_ROWS(subtract_)(&s, 0, a, (const VECTOR *)y);
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++, a += o->next) {
    AT_ROWS(join_)(&s, r);
    if (!t->solve) continue;
    if (!t->unit) AT_WIDTH(divide_)(s.re[r], a[r]);
    AT_ROWS(subtract_)(&s, r + 1, a, s.re[r]);
  }
  bool finite = t->exact || AT_ROWS(all_finite_)(&s);
#if !CAREFUL
  if (!finite) {
    NAME(redo)(o, t, ROWS, WIDTH);
    return false;
  }
#endif
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COUNT; c++) x[r][c] = s.re[r][c];
  return finite;
}

#undef AT_ROWS
#undef SUMS
#undef ROWS
