/* column.tmpl.h -- the kernel of rows.tmpl.h for one right-hand side of a real type, whose values lie side by side. There is no other
 * column to hide the instructions of an entry behind, so the loop has no stride and forms four products before the sum takes them. The
 * terms keep their order, so the bits are those of the other kernels. */

/* step: 1 forward, -1 backward, a constant in every call. rows: as in spti_levelset_rows. */
static inline __attribute__((always_inline)) void NAME(column_in)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, T *w,
                                                                  int64_t step) {
  const int64_t *ptr = v->ptr;
  const T *val = v->val;
  const int32_t *idx = v->idx, head = v->head, tail = v->tail, n = v->n;
  const bool unit = v->unit;
  for (int32_t s = begin; s < end; s++) {
    const int32_t i = rows ? rows[s] : step > 0 ? s : n - 1 - s;
    const int64_t first = ptr[i] + head, last = ptr[i + 1] - tail;
    T sum = w[i];
    int64_t left = last - first;
    if (left > 0) {
      const T *a = val + (step > 0 ? first : last - 1);
      const int32_t *j = idx + (step > 0 ? first : last - 1);
      for (; left >= 4; left -= 4, a += 4 * step, j += 4 * step) {
        const T p0 = a[0] * w[j[0]], p1 = a[step] * w[j[step]], p2 = a[2 * step] * w[j[2 * step]], p3 = a[3 * step] * w[j[3 * step]];
        sum = sum - p0 - p1 - p2 - p3;
      }
      for (int64_t k = 0; k < left; k++) sum -= a[k * step] * w[j[k * step]];
    }
    w[i] = unit ? sum : sum / val[head ? first - 1 : last];
  }
}

static void NAME(column)(const spti_view *v, const int32_t *rows, int32_t begin, int32_t end, T *w) {
  if (v->backward && rows) NAME(column_in)(v, rows, begin, end, w, -1);
  else if (v->backward) NAME(column_in)(v, NULL, begin, end, w, -1);
  else if (rows) NAME(column_in)(v, rows, begin, end, w, 1);
  else NAME(column_in)(v, NULL, begin, end, w, 1);
}
