/* method.h -- what a solution method is to the core: one const struct of function pointers, one line in methods.def.
 * docs/adding-a-method.md walks through it. */
#ifndef SPTI_CORE_PLAN_METHOD_H
#define SPTI_CORE_PLAN_METHOD_H

#include "core/device/launch.h"
#include "core/plan/plan.h"

/* What a method works on: a row-major panel of right-hand sides in the plan's place, overwritten by the solution.
 * Element (i,k) is data[i*ld + k]. Columns [width, padded) exist too, hold zeros on entry and may be overwritten. */
typedef struct {
  void *data;
  int64_t ld;
  int32_t width, padded;
  int threads; /* host methods: how many the method may use; 1 inside a parallel region */
} spti_panel;

enum {
  SPTI_DETERMINISTIC = 1, /* same bits on every run, panel width, thread count and stream */
  SPTI_CAPTURABLE = 2,    /* solve may be captured in a CUDA graph */
  SPTI_VARIANTS = 4,      /* reads plan->variant; others refuse a name with one */
  SPTI_INVERTS = 8,       /* multiplies by inverses of diagonal blocks: see sptrsm_info */
  SPTI_REFERENCE = 16,    /* kept to compare with: a published algorithm, a vendor's library or plain loops; `auto` never takes it */
};

typedef struct spti_method {
  const char *name, *summary, *cite; /* cite: key in docs/references.bib */
  sptrsm_place place;
  spti_orientation wants;
  unsigned flags;

  /* Analysis: reads plan->view, plan->options, plan->matrix; sets plan->state, and may set plan->levels, plan->team. */
  sptrsm_status (*analyse)(sptrsm_plan *plan);
  /* plan->view holds new values of the same pattern; NULL: the method reads values through the view only. */
  sptrsm_status (*update_values)(sptrsm_plan *plan);
  void (*free)(sptrsm_plan *plan);                              /* frees plan->state; NULL: nothing to free */
  void (*describe)(const sptrsm_plan *plan, sptrsm_info *info); /* parameters, plan_bytes; NULL: nothing to say */

  int32_t (*panel)(const sptrsm_plan *plan); /* GPU: right-hand sides worked on at once, unless the caller says; after the analysis;
                                              * NULL, or 0 returned: the core's rule */

  /* Per-solve state beyond the panel itself, for up to `panel` right-hand sides; all NULL: none. */
  sptrsm_status (*work_bytes)(size_t *out, const sptrsm_plan *plan, int32_t panel);
  sptrsm_status (*work_create)(void **work, const sptrsm_plan *plan, int32_t panel);
  void (*work_free)(void *work, const sptrsm_plan *plan);

  /* One of the two. Host: returns when done. CUDA: queues on the context's stream, allocates nothing, waits for nothing.
   * solve works in place on a panel; solve_between, for CUDA methods, reads B and writes X itself, in any layout; X may be B. After a
   * dependency was lost what X holds is undefined (NaN, for a method whose solutions are their own flags in X). */
  sptrsm_status (*solve)(const sptrsm_plan *plan, void *work, const spti_panel *W);
  sptrsm_status (*solve_between)(const sptrsm_plan *plan, void *work, const spti_transfer *);
  /* May solve_between write so many right-hand sides to that end? Where not it is given the panel, and a pass more moves the solutions on:
   * for methods that read their solutions again. NULL: to any. */
  bool (*writes_to)(const sptrsm_plan *plan, const spti_end *to, int32_t width);
} spti_method;

/* An end from right-hand side `column` on, for methods that solve a transfer in parts. */
static inline spti_end spti_end_from(spti_end end, int64_t column, size_t value_bytes) {
  end.data = (char *)end.data + column * end.col_stride * (int64_t)value_bytes;
  return end;
}

/* registry.c */
int spti_method_count(void);
const spti_method *spti_method_at(int index);
/* A name may stand for one method on the host and one on a GPU: that of `place` if there is one, else any; NULL if there is none. */
const spti_method *spti_method_find(const char *name, size_t length, sptrsm_place place);

#endif
