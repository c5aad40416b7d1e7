/* joined.h -- mixed batches on a GPU: the items that have one form are joined into one factor set, which is block-diagonal, and one solver
 * (sptrsm_direct) solves it. So every method serves unchanged, level sets of different items merge, and a solve takes as many launches as
 * that of one system. Where options.memory_limit has no room for panels of all items, there are more sets of a form, which are solved one
 * after the other in the same memory. For the files joined_*.c and mixed.c. */
#ifndef SPTI_CORE_BATCH_GPU_JOINED_H
#define SPTI_CORE_BATCH_GPU_JOINED_H

#include "core/batch/gpu/device_call.h"
#include "core/batch/gpu/joined_kernels.h"

/* What the items of one joined set have in common. Permutations, D, D_sub and scalings that an item lacks become identities. */
typedef struct {
  sptrsm_format format[2];
  sptrsm_diag diag[2];
  bool has_U;
  sptrsm_u_kind u_kind;
  bool hermitian;
  sptrsm_scale_op op[2];
} spti_joined_form;

enum { SPTI_HOST_PARTS = 4 }; /* D, D_sub and the scalings of rows and columns: SPTI_PART_D + 0, 1, 2, 3 */

typedef struct {
  spti_joined_form form;
  sptrsm_direct *direct;
  unsigned plans; /* that it had before those for another system were made */
  int64_t members, row_count;
  int64_t *item;                /* [members], in the batch */
  int32_t *first;               /* [members + 1]: rows */
  int64_t *at[2];               /* [members + 1]: entries of L and U */
  void *given[SPTI_HOST_PARTS]; /* host, [n]: as callers gave them; NULL: no member has that part */
  bool *has[SPTI_HOST_PARTS];   /* [members] */
  /* device */
  spti_joined_rows rows;
  int64_t *ptr[2];
  int32_t *idx[2];
  void *val[2]; /* as the solver got them */
  int32_t *bad; /* [members] */
} spti_joined_set;

typedef struct {
  spti_joined_set *sets;
  int64_t set_count;
  int64_t *set_of, *member_of;   /* [count] */
  int32_t (*faults)[SPTI_PARTS]; /* [count]: first bad row of each part, -1: none */
  sptrsm_place (*places)[2];     /* [count]: of L and U, as callers gave them */
  spti_batch_device device;
  bool chosen; /* the method is this engine's choice */
  double seconds;
  /* memory of solves, which all sets share: they are solved one after the other */
  spti_panels panels;
  void *panel;   /* rows x width values: room for the panel of each set */
  void *staging; /* as panel, for blocks in host memory; NULL until one comes */
  int32_t rows, width;
  bool shares_work; /* the sets have at most the rows for which memory_limit has room, and their plans share the memory of their work */
  spti_direct_shared shared;
} spti_joined;

/* ---- joined_factors.c ---- */

/* Sorts the items into sets, joins their arrays and makes the solvers. */
sptrsm_status spti_joined_create(sptrsm_batch *, const spti_batch_source *);
void spti_joined_set_free(spti_joined_set *, const sptrsm_context *);

/* ---- joined_arrays.c ---- */

/* Part `part` of an item, of those that are in host memory: D, D_sub, scalings of rows and columns. NULL: it has none. */
const void *spti_joined_host_part(const sptrsm_factors *, int part);
/* Checks the patterns and permutations of all members, and fills the set: ptr, idx and val on the device, `given` and `rows`. sides: the
 * joined maps of rows and columns, without scalings, for the solver; the caller frees them, after an error, too. */
sptrsm_status spti_joined_upload(spti_joined_set *, spti_side sides[2], const sptrsm_batch *, const spti_batch_source *);

/* ---- joined_values.c ---- */

/* Checks the diagonals of the members [begin, end) in triangle m on the device, and gives those that are bad the identity. */
sptrsm_status spti_joined_check(sptrsm_batch *, spti_joined_set *, int m, int64_t begin, int64_t end);
/* Checks D and the scalings of a member, as given. */
sptrsm_status spti_joined_judge(sptrsm_batch *, const spti_joined_set *, int64_t member);
/* A copy of part `part` for the solver, in which members with a fault have ones, or zeros for D_sub. NULL: there is none. The caller
 * frees it. */
sptrsm_status spti_joined_sound(void **out, const sptrsm_batch *, const spti_joined_set *, int part);
sptrsm_status spti_joined_set_values(sptrsm_batch *, const sptrsm_batch_values *);
/* Sets the statuses of the batch from the faults, and copies them to the device. */
sptrsm_status spti_joined_tell(sptrsm_batch *);

/* ---- joined_solve.c ---- */

int32_t spti_joined_width(const spti_joined *); /* of the widest panel of a set */
/* Narrows the panels of all sets until all memory of solves keeps within options.memory_limit. MEMORY: it has no room for one column. */
sptrsm_status spti_joined_fit_panels(sptrsm_batch *);
void spti_joined_free_memory(spti_joined *, const sptrsm_context *);
/* Bytes of all memory of solves by panels of that width, beside the factors. For spti_panel_fit: owner is the batch. */
sptrsm_status spti_joined_workspace_bytes(size_t *out, void *owner, int32_t panel);
sptrsm_status spti_joined_prepare(sptrsm_batch *, const spti_system_steps *);
sptrsm_status spti_joined_solve(sptrsm_batch *, const spti_batch_call *);

#endif
