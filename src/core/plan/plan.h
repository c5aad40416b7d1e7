/* plan.h -- an analysed triangle: the method, the view it reads and the method's state. Read-only while solving. */
#ifndef SPTI_CORE_PLAN_PLAN_H
#define SPTI_CORE_PLAN_PLAN_H

#include <stdatomic.h>

#include "core/blob/blob.h"
#include "core/levels/schedule.h"
#include "core/matrix/matrix.h"

struct spti_method;
struct spti_gpu_levels;
struct spti_row_panels;

struct sptrsm_plan {
  atomic_int references;
  sptrsm_matrix *matrix;
  sptrsm_context *context;  /* the matrix's */
  spti_dependant dependant; /* by which the matrix tells the plan of new values */
  const struct spti_method *method;
  char variant[64]; /* what follows ':' in the method's name, "" if nothing */
  spti_view view;
  spti_op op;
  sptrsm_options options;
  void *state;                        /* the method's */
  int64_t values_version;             /* counts the changes of values that the plan has followed */
  int32_t panel;                      /* right-hand sides worked on at once */
  int32_t levels;                     /* -1: not computed */
  struct spti_gpu_levels *gpu_levels; /* NULL until asked for (core/plan/analysis.h) */
  struct spti_row_panels *row_panels; /* likewise; NULL again once the plan is made */
  const spti_schedule *schedule;      /* host: how threads share one panel, the method's; NULL: they can't */
  double analysis_seconds, view_seconds;
  char reason[160];      /* why this method */
  bool automatic;        /* `auto` chose it */
  void *blob;            /* the bytes that the plan was made of, if it owns them; part of the method's state may be there */
  sptrsm_workspace *own; /* for solves without a workspace; made by the first of them */
  /* Plans of one context and pattern share what the analysis of one of them found (core/clone/like.h): it lends them its state as bytes. */
  void *lent;
  size_t lent_bytes;
  sptrsm_plan *lender; /* retained: the plan from whose bytes this one reads; NULL: none */
};

/* out = the caller's options, checked, or the defaults for NULL. */
sptrsm_status spti_options_read(sptrsm_options *out, const sptrsm_options *in);

/* A plan without method and analysis, with one reference; the matrix does not know it yet. */
sptrsm_status spti_plan_begin(sptrsm_plan **out, const sptrsm_matrix *, spti_op, const sptrsm_options * /* NULL: defaults */);
/* From now on the plan follows sptrsm_matrix_set_values. */
void spti_plan_follow_matrix(sptrsm_plan *);
sptrsm_place spti_plan_view_place(const sptrsm_plan *); /* where the view is: the context's place, unless the method wants it elsewhere */
void spti_plan_retain(const sptrsm_plan *);             /* sptrsm_plan_destroy releases */
/* Memory of the plan. Lists that it reads from a lender's bytes are counted again where it has values of its own. */
size_t spti_plan_bytes(const sptrsm_plan *);

/* create.c: sptrsm_plan_create for an operation given by its two flags. */
sptrsm_status spti_plan_create(sptrsm_plan **out, const sptrsm_matrix *, spti_op, const sptrsm_options *);

/* create.c: likewise, but where the memory limit has no room for it, one that streams, if its method may. */
sptrsm_status spti_plan_create_to_fit(sptrsm_plan **out, const sptrsm_matrix *, spti_op, const sptrsm_options *);

/* panel.c: may a plan with this method, which may be NULL, be made once more as one that streams, if the memory limit of the context has no
 * room for it? */
bool spti_plan_may_stream(const sptrsm_context *, const char *method);
bool spti_plan_streams(const sptrsm_context *, const char *method); /* panel.c: does it stream, by its name, under a memory limit? */
/* panel.c: the name of the method that streams, with the parameters of `method`. */
void spti_plan_streamed_name(char *out, size_t size, const char *method);

/* create.c: a plan whose state is read from a blob in place of an analysis. options->method is the method's name with its variant, and
 * out->reason, levels and automatic are the caller's to set. The blob must outlive the plan: the caller may give it to the plan. */
sptrsm_status spti_plan_restore(sptrsm_plan **out, const sptrsm_matrix *, spti_op, const sptrsm_options *, spti_blob *);

#endif
