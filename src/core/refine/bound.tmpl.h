/* bound.tmpl.h -- bodies of bound.c for one type T. */

static T *NAME(vector)(const estimate *e, int64_t c) { return (T *)e->V.data + c * e->V.n; }

/* V := W V */
static void NAME(weigh)(estimate *e) {
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    T *v = NAME(vector)(e, c);
    for (int32_t i = 0; i < e->V.n; i++) v[i] *= (R)e->w[c * e->V.n + i];
  }
}

static double NAME(sum)(const T *v, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += (double)NAME(modulus)(v[i]);
  return sum;
}

static void NAME(start)(estimate *e) {
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    T *v = NAME(vector)(e, c);
    for (int32_t i = 0; i < e->V.n; i++) v[i] = (R)1 / (R)e->V.n;
  }
}

/* v := sign(v); true if the signs are those of the previous vector. Complex signs hardly ever repeat and are not compared. */
static bool NAME(to_signs)(T *v, int8_t *signs, int32_t n, bool first) {
  bool repeated = !first && !SPTI_IS_COMPLEX;
  for (int32_t i = 0; i < n; i++) {
#if SPTI_IS_COMPLEX
    R size = NAME(modulus)(v[i]);
    v[i] = size > 0 ? v[i] / size : 1;
    (void)signs;
#else
    int8_t sign = v[i] < 0 ? -1 : 1;
    repeated = repeated && sign == signs[i];
    signs[i] = sign;
    v[i] = sign;
#endif
  }
  return repeated;
}

/* After V := M V: updates the estimates and replaces V by its signs, for M^H. A column whose estimate does not grow is finished. False: all
 * columns are finished. */
static bool NAME(take_signs)(estimate *e, bool first) {
  bool some = false;
  int32_t n = e->V.n;
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    T *v = NAME(vector)(e, c);
    if (e->peak[c] >= 0) {
      double norm = NAME(sum)(v, n);
      bool grows = norm > e->est[c]; /* false for NaN */
      if (grows || isnan(norm)) e->est[c] = norm;
      bool repeated = NAME(to_signs)(v, e->signs + c * n, n, first);
      if (!grows || repeated || n == 1) e->peak[c] = -1;
    }
    for (int32_t i = 0; e->peak[c] < 0 && i < n; i++) v[i] = 0;
    some = some || e->peak[c] >= 0;
  }
  return some;
}

/* The row of the largest element. */
static int32_t NAME(peak_of)(const T *v, int32_t n) {
  int32_t peak = 0;
  for (int32_t i = 1; i < n; i++)
    if (NAME(modulus)(v[i]) > NAME(modulus)(v[peak])) peak = i;
  return peak;
}

/* After V := M^H V: replaces V by the unit vectors of steepest ascent. A column whose ascent ends is finished. False: all columns are
 * finished. */
static bool NAME(take_units)(estimate *e, int step) {
  bool some = false;
  int32_t n = e->V.n;
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    T *v = NAME(vector)(e, c);
    if (e->peak[c] >= 0) {
      int32_t last = e->peak[c], peak = NAME(peak_of)(v, n);
      bool ascends = step == 0 || NAME(modulus)(v[last]) != NAME(modulus)(v[peak]);
      e->peak[c] = ascends && step < STEPS_MAX - 1 ? peak : -1;
    }
    for (int32_t i = 0; i < n; i++) v[i] = 0;
    if (e->peak[c] >= 0) v[e->peak[c]] = 1;
    some = some || e->peak[c] >= 0;
  }
  return some;
}

static void NAME(alternate)(estimate *e) {
  int32_t n = e->V.n;
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    T *v = NAME(vector)(e, c);
    for (int32_t i = 0; i < n; i++) v[i] = (R)((i % 2 ? -1 : 1) * (1 + (n > 1 ? (double)i / (n - 1) : 0)));
  }
}

static void NAME(take_alternate)(estimate *e) {
  int32_t n = e->V.n;
  for (int64_t c = 0; c < e->V.nrhs; c++) {
    double norm = 2 * NAME(sum)(NAME(vector)(e, c), n) / (3 * (double)n);
    if (norm > e->est[c] || isnan(norm)) e->est[c] = norm;
  }
}
