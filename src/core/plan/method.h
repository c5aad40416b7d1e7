/* method.h -- what the core knows of a solution method: one const struct of function pointers, registered by one
 * entry of methods.def. docs/adding-a-method.md shows step by step how to write one. */
#ifndef SPTI_CORE_PLAN_METHOD_H
#define SPTI_CORE_PLAN_METHOD_H

#include "core/blob/blob.h"
#include "core/device/transfer.h"
#include "core/plan/plan.h"

/* What a method's `solve` works on: a row-major panel of right-hand sides in the memory of the plan's place,
 * overwritten by the solutions. Element (i,k) is data[i*ld + k]. Columns [width, padded) exist too, hold zeros on
 * entry and may be overwritten. */
typedef struct {
  void *data;
  int64_t ld;
  int32_t width, padded;
  spti_team *team; /* host: the threads that the method may use; NULL: it works alone, since other threads have panels of their own */
  /* The rows in which the solution may be nonzero, in solve order; the other rows hold zeros and keep them. NULL: all rows. A method on the
   * host may leave out the other rows, or ignore this. */
  const int32_t *rows;
  int32_t row_count;
} spti_panel;

/* Values of a group of items, systems with one pattern, on the host. */
enum { SPTI_ITEM_BYTES = 64 };
typedef struct {
  int items; /* 1, or as many as SPTI_ITEM_BYTES hold: the values of an entry lie side by side */
  const void *val;
  const int64_t
      *at; /* [entries of the view] where an entry of the plan's view is in val; NULL, and always with one item: in the same place */
} spti_item_values;

enum {
  SPTI_DETERMINISTIC = 1, /* same bits on every run, for every panel width, thread count and stream */
  SPTI_CAPTURABLE = 2,    /* solve may be captured in a CUDA graph */
  SPTI_VARIANTS = 4,      /* reads plan->variant; other methods refuse a name with ":variant" */
  SPTI_INVERTS = 8,       /* multiplies by inverses of diagonal blocks: see sptrsm_info */
  SPTI_FROM_HOST = 32,    /* CUDA: the view is in host memory, and the method brings what it needs to the device */
  SPTI_REFERENCE = 16,    /* kept to compare with: a published algorithm, a vendor's library or plain loops; `auto` never takes it */
};

/* Groups of sparse right-hand sides on a GPU, each solved in the rows that it reaches and no others. A plan's places are its rows in solve
 * order. A method cuts them into runs, and a group reaches a run as a whole or not at all. What a group reaches is a triangle of its own;
 * the triangles of all groups are solved side by side, by one launch, and share the values of the plan. The grouped block has the runs of
 * the first group, then those of the second and so on, and as many columns as the widest group.
 * spti_group_entries: where the right-hand sides of each group have entries. */
typedef struct {
  int32_t count;
  const int64_t *start; /* [count+1] */
  const int32_t *place; /* [start[count]], in any order */
} spti_group_entries;

typedef struct {
  int32_t groups, runs;
  int32_t rows;            /* of the grouped block */
  int32_t *first;          /* host, [runs+1]: run r has the places [first[r], first[r+1]) */
  int32_t *at;             /* host, [groups][runs]: row of the grouped block of the run's first place; -1: the group does not reach it */
  const int32_t *run_of;   /* device, [n] */
  const int32_t *first_on; /* device: first and at */
  const int32_t *at_on;
  void *state; /* the method's */
} spti_grouped;

/* What a method needs for it (spti_method.grouping). New values of the plan need no new grouping. */
typedef struct {
  /* UNSUPPORTED or MEMORY: the caller solves the plan's whole triangle instead. Waits for the device. */
  sptrsm_status (*create)(spti_grouped *out, const sptrsm_plan *, const spti_group_entries *);
  void (*free)(spti_grouped *, const sptrsm_plan *);
  /* Memory that a solve of `width` columns writes beside its block. One memory may serve many groupings. */
  sptrsm_status (*work_bytes)(size_t *out, const spti_grouped *, const sptrsm_plan *, int32_t width);
  /* Solves in place: `block` is row-major without gaps. Queues its work, allocates nothing. */
  sptrsm_status (*solve)(const spti_grouped *, const sptrsm_plan *, void *work, void *block, int32_t width);
} spti_grouping;

/* Work of a plan in memory that other plans use, too, between its solves: a solve relies on nothing there. */
typedef struct {
  sptrsm_status (*bytes)(size_t *out, const sptrsm_plan *, int32_t panel);
  sptrsm_status (*create)(void **work, const sptrsm_plan *, int32_t panel, void *memory); /* work_free does not free `memory` */
} spti_shared_work;

typedef struct spti_method {
  const char *name, *summary, *cite; /* cite: key in docs/references.bib */
  sptrsm_place place;
  spti_orientation wants;
  unsigned flags;

  /* Analysis: reads plan->view, plan->options and plan->matrix; sets plan->state, and may set plan->levels and
   * plan->schedule. UNSUPPORTED or MEMORY: `auto` then tries another method. */
  sptrsm_status (*analyse)(sptrsm_plan *plan);
  /* Called when plan->view has new values of the same pattern. NULL: the method keeps no copies of values. */
  sptrsm_status (*update_values)(sptrsm_plan *plan);
  /* Host: measures or writes plan->state as bytes, or makes it of them, in place of the analysis, for a view of the same pattern
   * (core/blob/blob.h). Whatever the bytes say, the plan must not reach beyond its memory afterwards, neither in a solve nor with new
   * values. Failures are those of the blob. NULL: the method can't, unless it has no analysis. */
  void (*carry)(sptrsm_plan *plan, spti_blob *blob);
  void (*free)(sptrsm_plan *plan);                              /* frees plan->state, which is there; NULL: nothing to free */
  void (*describe)(const sptrsm_plan *plan, sptrsm_info *info); /* sets info->parameters and info->plan_bytes; NULL: both stay empty */

  int32_t (*panel)(const sptrsm_plan *plan); /* GPU: width of a panel, unless options.panel says it; called after the analysis.
                                              * NULL, or 0 returned: the core's rule (panel.h) */

  /* Memory that one solve of up to `panel` right-hand sides writes, beside the panel itself; all NULL: none. */
  sptrsm_status (*work_bytes)(size_t *out, const sptrsm_plan *plan, int32_t panel);
  sptrsm_status (*work_create)(void **work, const sptrsm_plan *plan, int32_t panel);
  void (*work_free)(void *work, const sptrsm_plan *plan);
  const spti_shared_work *shared_work; /* NULL: its plans need work of their own */

  /* A method has one of these two. Host methods return when the solution is there. CUDA methods queue their work on
   * the context's stream; they allocate nothing and wait for nothing. `solve` works in place on a panel.
   * `solve_between`, for CUDA methods, reads B and writes X itself, in any layout; X may be B. If a dependency never
   * arrives, the content of X is undefined (NaN for methods that wait for the solutions in X themselves). */
  sptrsm_status (*solve)(const sptrsm_plan *plan, void *work, const spti_panel *W);
  sptrsm_status (*solve_between)(const sptrsm_plan *plan, void *work, const spti_transfer *);
  /* Host: as solve, for a group of items: every row of the panel has the first right-hand side of all items, then the second and so on,
   * W->padded in all. Values come from `values`; the analysis must rely on the pattern alone. Each item gets the bits that solve gives it.
   * NULL: the method can't. */
  void (*solve_items)(const sptrsm_plan *plan, const spti_item_values *values, const spti_panel *W);
  /* Can solve_between write `width` right-hand sides to this end? If not, it gets the core's panel instead, and one
   * more pass moves the solutions to X: for methods that read solutions again where they wrote them. NULL: it can
   * write to any. */
  bool (*writes_to)(const sptrsm_plan *plan, const spti_end *to, int32_t width);
  const spti_grouping *grouping; /* CUDA: sparse right-hand sides in the rows that they reach ; NULL: the method can't */
} spti_method;

/* The same end from right-hand side `column` on, for methods that solve a transfer in parts. */
static inline spti_end spti_end_from(spti_end end, int64_t column, size_t value_bytes) {
  end.data = (char *)end.data + column * end.col_stride * (int64_t)value_bytes;
  return end;
}

/* registry.c */
int spti_method_count(void);
const spti_method *spti_method_at(int index);
/* The method of that name. One name may stand for a method on the host and one on a GPU: the one of `place` is
 * preferred. NULL: there is none. */
const spti_method *spti_method_find(const char *name, size_t length, sptrsm_place place);

#endif
