/* passes.c -- see reach.h: the passes over all entries of a triangle. They go by windows of lines, after each of which the caller is told,
 * so that it can give back memory of arrays that are mapped from a file. */
#include "core/reach/reach.h"

#include "core/matrix/matrix.h"

typedef struct {
  int32_t first, end;
} line_range;

/* The lines that a pass comes to at line `at`, or backward before it: one, or as many as have a window of entries. */
static line_range next_lines(const sptrsm_sparse *T, int32_t at, bool forward) {
  enum { WINDOW = 1 << 19 };
  line_range lines = {at, at};
  if (forward) {
    while (lines.end < T->n && (lines.end == at || T->ptr[lines.end + 1] - T->ptr[at] <= WINDOW)) lines.end++;
  } else {
    while (lines.first > 0 && (lines.first == at || T->ptr[at] - T->ptr[lines.first - 1] <= WINDOW)) lines.first--;
  }
  return lines;
}

static void tell(const sptrsm_reach_request *request, const sptrsm_sparse *T, line_range lines) {
  if (request->passed) request->passed(request->context, T, T->ptr[lines.first], T->ptr[lines.end]);
}

static void close_lines(spti_row_set *set, const sptrsm_sparse *T, bool push, bool forward, line_range lines) {
  for (int32_t s = lines.first; s < lines.end; s++) {
    int32_t i = forward ? s : lines.first + lines.end - 1 - s;
    if (push && !set[i]) continue;
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
      if (push) set[T->idx[p]] = 1;
      else set[i] |= set[T->idx[p]];
    }
  }
}

void spti_reach_close(spti_row_set *set, const sptrsm_sparse *T, bool transpose, const sptrsm_reach_request *request) {
  bool push = (T->format == SPTRSM_CSC) != transpose, forward = (T->uplo == SPTRSM_LOWER) != transpose;
  for (int32_t at = forward ? 0 : T->n; at != (forward ? T->n : 0);) {
    const line_range lines = next_lines(T, at, forward);
    close_lines(set, T, push, forward, lines);
    tell(request, T, lines);
    at = forward ? lines.end : lines.first;
  }
}

sptrsm_status spti_reach_validate(const sptrsm_sparse *T, const sptrsm_reach_request *request) {
  SPTI_TRY(spti_validate_frame(T));
  for (int32_t at = 0; at < T->n;) {
    const line_range lines = next_lines(T, at, true);
    SPTI_TRY(spti_validate_lines(T, lines.first, lines.end));
    tell(request, T, lines);
    at = lines.end;
  }
  return SPTRSM_OK;
}
