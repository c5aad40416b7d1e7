/* two_views.h -- a system by columns and by rows. */
#ifndef TESTS_SIMT_CASES_TWO_VIEWS_H
#define TESTS_SIMT_CASES_TWO_VIEWS_H

#include "simt/cases/problem.h"

/* A system by columns, for its residual, and the same system by rows, for the method. */
template <typename T> struct two_views {
  problem<T> columns;
  std::vector<int64_t> ptr;
  std::vector<int32_t> idx;
  std::vector<T> val;
  spti_view rows;

  /* Case has pattern, n, backward, unit, stored_diagonal, conj. */
  template <typename Case>
  two_views(const Case &c, uint64_t seed)
      : columns(c.pattern, c.n, c.backward, c.unit, c.stored_diagonal, c.conj, seed), rows(columns.view) {
    ptr.push_back(0);
    for (int32_t i = 0; i < c.n; i++) {
      for (int32_t j = 0; j < c.n; j++)
        for (int64_t p = columns.ptr[size_t(j)]; p < columns.ptr[size_t(j) + 1]; p++)
          if (columns.idx[size_t(p)] == i) {
            idx.push_back(j);
            val.push_back(columns.val[size_t(p)]);
          }
      ptr.push_back(int64_t(idx.size()));
    }
    rows.pull = true;
    rows.ptr = ptr.data();
    rows.idx = idx.data();
    rows.val = val.data();
    std::swap(rows.head, rows.tail); /* where the diagonal is the first entry of a column, it is the last entry of a row */
  }
  void scale_values(T factor) {
    for (T &v : val) v = v * factor;
    for (T &v : columns.val) v = v * factor;
  }
};

#endif
