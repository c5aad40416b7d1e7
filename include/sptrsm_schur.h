/* sptrsm_schur.h -- Schur complements: S = C op(A)^-1 B as a dense block, from the factors of A and sparse or dense B and C.
 *
 *   sptrsm_direct_create(&direct, context, &factors, options);
 *   sptrsm_schur_create(&schur, direct, &request);      once for a pattern
 *   sptrsm_schur_solve(schur, &S);                      again after new values of the factors, of B or of C
 *
 * With A^-1 = (C_s Q U^-1) D^-1 (L^-1 P R) no system is solved with both triangles, and no solution A^-1 B is ever made:
 *   Y = L^-1 P R B,   Z = U^-T Q^T C_s C^T,   S = Z^T D^-1 Y.
 * In the symmetric form, C = B^T with U = L^T or C = B^H with U = L^H, Z is Y or its conjugate, and one triangle of S is made; the other
 * one is a copy of it.
 *
 * Sparse columns make only few rows of Y nonzero: those that they reach in L [gilbert1988]. Columns that begin near to each other are
 * solved in groups of 32. A group is solved and kept in the rows that it reaches, and the product of two groups runs over the rows that
 * both reach. Nothing is assumed of the ordering, but after a postorder of the elimination tree, which CHOLMOD and others apply,
 * neighbouring columns reach nearly the same rows. Terms that are left out are products with zeros of Y or Z.
 * The bits of S depend neither on threads nor on other Schur complements that are made with it.
 *
 * The solver's context may be on the host or on a CUDA device. There groups have 64 columns, the method `block` solves them in the rows
 * that they reach, and other methods solve all columns in all rows. Products are made by cuBLAS, which is loaded when the first Schur
 * complement of a context is created; so the bits depend on its version and on the device, too.
 */
#ifndef SPTRSM_SCHUR_H
#define SPTRSM_SCHUR_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sptrsm_schur sptrsm_schur;

/* The columns of B, or the rows of C: C is given by rows, so that C = B^T has the same description as B. All arrays are of the
 * factors' type, and in host memory; a dense block may be in device memory where the context is.
 * Sparse: column k has the entries ptr[k] <= p < ptr[k+1]; idx[p], its rows, ascend without duplicates. Everything is copied.
 * Dense: `dense` is a block with n rows and `nrhs` columns, and the other members but size stay 0. The block is not copied: its data must
 * stay valid, and are read at each solve. */
typedef struct {
  size_t size;               /* sizeof(sptrsm_schur_columns), set by sptrsm_schur_columns_init */
  const sptrsm_block *dense; /* NULL: sparse */
  int64_t count;             /* columns, 0 <= count < 2^31 */
  const int64_t *ptr;        /* [count+1], ptr[0] = 0, not decreasing */
  const int32_t *idx;        /* [ptr[count]] */
  const void *val;           /* [ptr[count]] */
} sptrsm_schur_columns;
/* Defaults: no columns. */
SPTRSM_API void sptrsm_schur_columns_init_sized(sptrsm_schur_columns *, size_t size);
static inline void sptrsm_schur_columns_init(sptrsm_schur_columns *out) { sptrsm_schur_columns_init_sized(out, sizeof *out); }

typedef struct {
  size_t size; /* sizeof(sptrsm_schur_request), set by sptrsm_schur_request_init */
  const sptrsm_schur_columns *B;
  const sptrsm_schur_columns *C; /* NULL: the symmetric form, C = B^T where U = L^T and C = B^H where U = L^H */
  sptrsm_op op;                  /* N in the symmetric form */
  sptrsm_uplo uplo;              /* symmetric form: the triangle of S to be made, its diagonal included */
  int32_t whole;                 /* symmetric form: not zero: both triangles are written; uplo says nothing then */
} sptrsm_schur_request;
/* Defaults: no B, symmetric form, op N, the lower triangle alone. */
SPTRSM_API void sptrsm_schur_request_init_sized(sptrsm_schur_request *, size_t size);
static inline void sptrsm_schur_request_init(sptrsm_schur_request *out) { sptrsm_schur_request_init_sized(out, sizeof *out); }

/* Finds the groups of columns and the rows that they reach, and makes the plans that are missing. On the host that costs less than one
 * solve, most of it one pass over the pattern of a triangle for each group; on a device it waits. The schur keeps `direct` alive, and
 * belongs to its context and its thread.
 * Errors: ARGUMENT (members of the request; a factor set without U; the symmetric form of factors that are not symmetric, with the first
 * difference), STRUCTURE (ptr, or the first idx that is out of range or order), UNSUPPORTED (factors kept in single precision by
 * SPTRSM_MIXED; no cuBLAS for a CUDA context), MEMORY (also where the workspace of one thread, or that on a device, would exceed
 * options.memory_limit of the solver; more threads work only where it allows them). */
SPTRSM_API sptrsm_status sptrsm_schur_create(sptrsm_schur **out, sptrsm_direct *direct, const sptrsm_schur_request *);
SPTRSM_API void sptrsm_schur_destroy(sptrsm_schur *);

/* New values for the same patterns, of the lengths that they had at creation; NULL leaves that side unchanged. After new values of the
 * factors (sptrsm_direct_set_values) no call is needed: the next solve uses them. Errors: ARGUMENT (also for a side that is dense: write
 * into its block, or set another one), on a device also what copies give. */
SPTRSM_API sptrsm_status sptrsm_schur_set_values(sptrsm_schur *, const void *B_val, const void *C_val);
/* Other blocks in place of those of dense sides, from the next solve on: of the same order and number of columns, in any layout and with
 * any ld, in host memory or where the context is. NULL leaves that side unchanged; after an error both are as they were. Errors: ARGUMENT
 * (also for a side that is sparse). */
SPTRSM_API sptrsm_status sptrsm_schur_set_blocks(sptrsm_schur *, const sptrsm_block *B, const sptrsm_block *C);

/* Computes S, a block of the factors' type with as many rows (n) as C and columns (nrhs) as B, in any layout, with any ld, in host
 * memory or, with a CUDA context, in that of the device. S must not overlap dense B or C. Elements outside S are not touched, nor are those
 * outside the triangle in the symmetric form unless the request says `whole`. The diagonal of a Hermitian S is real. A column of B or a row
 * of C that is not finite harms only its own column and row of S; entries of the factors that are not finite make this S undefined, and no
 * later one. The first solve allocates the workspace, which the schur keeps; later ones allocate nothing, unless there are more threads, or
 * S is in host memory and the context on a device. On a device the work is queued on the context's stream; where S is in host memory the
 * call waits for it. Errors: ARGUMENT (S does not fit; 2x2 blocks of D in other places than at creation; a Hermitian A whose D is no longer
 * real), MEMORY. */
SPTRSM_API sptrsm_status sptrsm_schur_solve(sptrsm_schur *, sptrsm_block *S);

/* The same for `count` Schur complements, S[i] of items[i]. All blocks are checked before any is written; the message begins with the
 * number of the item. No S may overlap another one, or dense B or C of any item.
 * On the host the threads are those of the context of items[0]; no other thread may use a context of any item meanwhile. Threads work on
 * different items where there are as many items as threads, so nothing is shared between them. A workspace for each thread, large enough
 * for the largest item, lasts as long as the call.
 * On a device all items have one context; they follow one another on its stream and share one workspace, as large as the largest needs. */
SPTRSM_API sptrsm_status sptrsm_schur_solve_many(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S);

typedef struct {
  size_t size;             /* set to sizeof(sptrsm_schur_facts) by the caller */
  int64_t rows, columns;   /* of S */
  int64_t groups;          /* of columns of B and, in the general form, rows of C */
  double reached;          /* rows that the groups reach, as a share of all rows: 1 for dense columns, 0 without columns */
  size_t workspace_bytes;  /* of sptrsm_schur_solve, with S where the context is */
  double analysis_seconds; /* of sptrsm_schur_create */
} sptrsm_schur_facts;
SPTRSM_API sptrsm_status sptrsm_schur_info(sptrsm_schur_facts *out, const sptrsm_schur *);

#ifdef __cplusplus
}
#endif
#endif
