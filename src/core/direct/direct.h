/* direct.h -- the inside of sptrsm_direct: a factor set, the plans that its systems need, and the panels that they share. For direct.c
 * and for what is built on a direct solver (core/refine, core/batch). */
#ifndef SPTI_CORE_DIRECT_DIRECT_H
#define SPTI_CORE_DIRECT_DIRECT_H

#include "core/direct/parts.h"
#include "core/direct/systems.h"

typedef struct {
  sptrsm_plan *plan; /* NULL until a system needs it */
  void *work;        /* the plan's workspace without panels, if work_made */
  bool work_made;
} spti_direct_slot;

/* State that a component above keeps with a direct solver: iterative refinement registers the original matrix here. */
typedef struct {
  void *state;      /* NULL: none */
  const char *name; /* for messages */
  void (*free)(void *state, const sptrsm_context *);
  void (*release)(void *state, const sptrsm_context *); /* frees what solving has made, and will make anew */
  /* Of the memory that it will need for solving with panels of that width, and of what it keeps on a device beside them. */
  sptrsm_status (*bytes)(size_t *panels, size_t *rest, const sptrsm_direct *, int32_t panel);
} spti_direct_extension;

/* Memory that plans, also of several solvers, share for their work, since they solve one after the other: as many bytes as
 * spti_direct_work_bytes says. */
typedef struct {
  void *memory;
  size_t bytes;
} spti_direct_shared;

enum { SPTI_L_MATRIX, SPTI_U_MATRIX };

struct sptrsm_direct {
  atomic_int references;
  sptrsm_context *context;
  sptrsm_matrix *matrix[2]; /* SPTI_L_MATRIX, SPTI_U_MATRIX; the latter is NULL where U is L transposed, or absent */
  bool has_U;
  sptrsm_u_kind u_kind;
  sptrsm_dtype dtype;    /* type in which the factors are kept */
  sptrsm_dtype given;    /* type in which the caller gave them */
  sptrsm_place place[2]; /* of the caller's L and U */
  int32_t n;
  spti_side row, col;
  spti_direct_diagonal D;
  sptrsm_options options;
  char method[96];                 /* what options.method points to */
  spti_direct_slot slots[2][2][2]; /* [matrix][transpose][conj] */
  int32_t panel;                   /* right-hand sides of a panel that all plans made so far can solve */
  bool lends;                      /* a component above keeps a plan (spti_direct_plan) */
  spti_panels panels;              /* made at the first solve */
  spti_direct_shared own_shared;   /* for plans that stream the factors, where memory has no room for work of each of them */
  bool shares_work;
  const spti_direct_shared *shared; /* that a component above has for all plans whose method can use it; NULL: there is none */
  spti_direct_extension extension;
  void *blob; /* the bytes that plans were made of, if the solver owns them */
};

enum { SPTI_DIRECT_SLOTS = 8 };
static inline spti_direct_slot *spti_direct_slot_at(sptrsm_direct *d, int s) { return &d->slots[s >> 2 & 1][s >> 1 & 1][s & 1]; }

const char *spti_direct_factor_name(const sptrsm_direct *, int matrix); /* for messages */

/* ---- work.c ---- */

/* Bytes of panels of that width and of all work. For spti_panel_fit: owner is the solver. */
sptrsm_status spti_direct_workspace_bytes(size_t *out, void *owner, int32_t panel);
sptrsm_status spti_direct_need_shared(sptrsm_direct *); /* before spti_direct_need_work: makes what plans share, if it is too small */
sptrsm_status spti_direct_need_work(sptrsm_direct *, spti_direct_slot *);
void spti_direct_free_workspace(sptrsm_direct *); /* the next pipeline makes it anew */
void spti_direct_make_room(sptrsm_direct *);      /* likewise, and what the extension has made */
/* Bytes of the work of the plans made so far, for panels of that width: *shared in the memory that plans share, *own beside it, with
 * what must stay free. */
sptrsm_status spti_direct_work_bytes(size_t *own, size_t *shared, const sptrsm_direct *, int32_t panel);

/* Narrows d->panel so that the new plan can solve it too and all plans together, with the extension, keep within the memory limits. */
sptrsm_status spti_direct_fit_panel(sptrsm_direct *, const sptrsm_plan *added);

/* ---- direct.c ---- */

/* Where the context has a memory limit: frees what solves have made, and chooses the panel anew, for what the extension needs now and the
 * room that there is now. All factors stream if that leaves too narrow a panel. If it fails, solves without the extension still work. */
sptrsm_status spti_direct_refit(sptrsm_direct *);

/* The pipeline of a system's solve. Makes the plans and the work that it needs, but no panels: whoever runs it has some of d->panel
 * columns. Where all of that was made before, nothing is written, so threads may do this and run the pipeline at the same time. */
sptrsm_status spti_direct_pipeline(spti_pipeline *out, sptrsm_direct *, const spti_system_steps *);
sptrsm_status spti_direct_need_plans(sptrsm_direct *, const spti_system_steps *); /* the first half of it: makes no work */
bool spti_direct_has_plans(const sptrsm_direct *, const spti_system_steps *);
unsigned spti_direct_plans(const sptrsm_direct *); /* bit s: slot s has a plan */
/* Gives up the plans of the slots that `kept` does not have; their work was freed before. */
void spti_direct_keep_plans(sptrsm_direct *, unsigned kept);
size_t spti_direct_bytes(const sptrsm_direct *); /* of the factors and the plans made so far */

/* Frees the extension's state; the solver has none afterwards. */
void spti_direct_drop_extension(sptrsm_direct *);

/* For core/clone, which brings plans along. A slot s of SPTI_DIRECT_SLOTS is for a plan of matrix[s / 4]. Adopting takes the plan over in
 * any case. `supply` is called once the factors are there, before the plans for op N are made, unless it has brought them; core/batch
 * sets `shared` by it. */
sptrsm_status spti_direct_adopt_plan(sptrsm_direct *, int slot, sptrsm_plan *);
/* From now on all factors stream: the plans that `like`, which may be the solver itself, has made so far are made anew. */
sptrsm_status spti_direct_begin_to_stream(sptrsm_direct *, const sptrsm_direct *like);
typedef sptrsm_status spti_direct_supply(sptrsm_direct *, void *argument);
sptrsm_status spti_direct_create(sptrsm_direct **out, sptrsm_context *, const sptrsm_factors *, const sptrsm_options *,
                                 spti_direct_supply *supply /* NULL: none */, void *argument);

/* For components that solve panels of their own (core/schur): the plan of a stage with L or U, made if there is none, which belongs to the
 * solver; the permutation and scaling of an edge. */
sptrsm_status spti_direct_plan(const sptrsm_plan **out, sptrsm_direct *, const spti_system_stage *);
spti_edge spti_direct_edge(const sptrsm_direct *, const spti_system_edge *);
void spti_direct_retain(sptrsm_direct *); /* sptrsm_direct_destroy releases */

#endif
