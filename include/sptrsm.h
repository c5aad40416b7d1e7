/* sptrsm.h -- sparse triangular systems with many right-hand sides: op(T) X = alpha B.
 *
 * Create a context (where to work), a matrix (validated once) and a plan (analysed once), then solve as often as you like.
 * sptrsm_direct does the same for a whole factor set of a direct solver: x = C Q U^-1 D^-1 L^-1 P R b.
 * Other headers: sptrsm_batch.h (many systems), sptrsm_refine.h (refinement), sptrsm_reach.h (sparse right-hand sides, few rows of X),
 * sptrsm_schur.h (Schur complements), sptrsm_multi.h (several devices), sptrsm_inspect.h (level sets), sptrsm_auto.h, sptrsm_io.h (files).
 *
 * Errors: a function that can fail returns a sptrsm_status, and sptrsm_last_error() then holds one line that says what was wrong, where
 *   and what to do. Out-parameters come first and are written only on success.
 * Ownership: an object returned through a pointer-to-pointer belongs to the caller, who ends it with the matching _destroy function, which
 *   accepts NULL. Objects keep those they were made from alive, so they may be destroyed in any order.
 * Sizes: counts are numbers of elements unless the name says bytes. Indices are 0-based. Offsets and products n * nrhs have 64 bits.
 * Threads: a context and its objects are for one thread at a time; different contexts are independent. Several threads may solve with one
 *   plan, and wait (sptrsm_workspace_sync), with a workspace each. After a fork host contexts work in both processes, CUDA's in the parent.
 * Structs that begin with `size` may grow in later versions. An _init function, or the caller where a comment says so, sets it to the size
 *   that the caller's program was compiled with, and the library reads and writes no more than that. The _init functions are inline; each
 *   passes sizeof to a function whose name ends in _init_sized, which bindings for other languages call.
 */
#ifndef SPTRSM_H
#define SPTRSM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(SPTRSM_STATIC)
#define SPTRSM_API __attribute__((visibility("default")))
#else
#define SPTRSM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SPTRSM_VERSION_MAJOR 0
#define SPTRSM_VERSION_MINOR 1
#define SPTRSM_VERSION_PATCH 0

/* ---- status ---- */

typedef enum {
  SPTRSM_OK = 0,
  SPTRSM_ERR_ARGUMENT = -1,    /* the call is wrong: NULL, negative size, ld too small, unknown method */
  SPTRSM_ERR_STRUCTURE = -2,   /* the matrix is wrong: unsorted, duplicate, out of range, wrong triangle */
  SPTRSM_ERR_SINGULAR = -3,    /* a diagonal entry is missing, zero or not finite */
  SPTRSM_ERR_MEMORY = -4,      /* host or device memory is not enough, or a limit would be passed */
  SPTRSM_ERR_IO = -5,          /* a file can't be read or written */
  SPTRSM_ERR_UNSUPPORTED = -6, /* correct, but not available: type, size, method, or built without CUDA */
  SPTRSM_ERR_DEVICE = -7,      /* the GPU or its driver reported an error, or a dependency never arrived */
  SPTRSM_ERR_INTERNAL = -8     /* a bug in this library */
} sptrsm_status;

SPTRSM_API const char *sptrsm_version(void);              /* "MAJOR.MINOR.PATCH" of the library in use; static storage */
SPTRSM_API const char *sptrsm_status_name(sptrsm_status); /* "SINGULAR"; static storage */
SPTRSM_API const char *sptrsm_last_error(void);           /* this thread's latest message, "" if none; valid until its next failing call */
/* For libraries built on this one: sets this thread's message and returns the status. */
SPTRSM_API sptrsm_status sptrsm_error_set(sptrsm_status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* ---- vocabulary ---- */

typedef enum { SPTRSM_F32, SPTRSM_F64, SPTRSM_C64, SPTRSM_C128 } sptrsm_dtype; /* C64: two floats, C128: two doubles (re, im) */
typedef enum { SPTRSM_HOST, SPTRSM_CUDA } sptrsm_place;                        /* of memory, and of work */
typedef enum { SPTRSM_CSR, SPTRSM_CSC } sptrsm_format;
typedef enum { SPTRSM_LOWER, SPTRSM_UPPER } sptrsm_uplo;
typedef enum { SPTRSM_NONUNIT, SPTRSM_UNIT } sptrsm_diag; /* UNIT: the diagonal is one; stored entries of it are never read */
typedef enum { SPTRSM_N, SPTRSM_T, SPTRSM_C } sptrsm_op;  /* T itself, its transpose, its conjugate transpose */
typedef enum { SPTRSM_ROW_MAJOR, SPTRSM_COL_MAJOR } sptrsm_layout;
typedef enum { SPTRSM_COPY, SPTRSM_BORROW } sptrsm_copy_mode; /* BORROW: the caller keeps the arrays alive and unchanged */
/* For all but GENERAL, the entries of one triangle are stored and stand for both. */
typedef enum { SPTRSM_GENERAL, SPTRSM_SYMMETRIC, SPTRSM_HERMITIAN, SPTRSM_SKEW } sptrsm_symmetry;
typedef enum { SPTRSM_WORKING, SPTRSM_MIXED } sptrsm_precision;                                 /* see sptrsm_options.precision */
typedef enum { SPTRSM_SELECT_ADAPTIVE, SPTRSM_SELECT_RHS, SPTRSM_SELECT_COLUMN } sptrsm_select; /* see sptrsm_options.select */

SPTRSM_API size_t sptrsm_dtype_bytes(sptrsm_dtype); /* 4, 8, 8, 16; 0 for an unknown type */

/* A triangular matrix in the caller's arrays: 0-based, sorted within each row (CSR) or column (CSC), no duplicates. */
typedef struct {
  sptrsm_format format;
  sptrsm_dtype dtype;
  sptrsm_uplo uplo;
  sptrsm_diag diag;
  sptrsm_place place; /* of ptr, idx and val */
  int32_t n;
  const int64_t *ptr; /* [n+1], ptr[0] = 0, not decreasing */
  const int32_t *idx; /* [ptr[n]] */
  const void *val;    /* [ptr[n]] of dtype */
} sptrsm_sparse;

/* A dense block: element (i,k) at i*ld+k (ROW_MAJOR, ld >= nrhs) or i+k*ld (COL_MAJOR, ld >= n), in elements of dtype. */
typedef struct {
  void *data; /* in device memory at a multiple of the size of an element, as are the arrays of a matrix */
  int64_t ld;
  int32_t n;
  int64_t nrhs;
  sptrsm_dtype dtype;
  sptrsm_layout layout;
  sptrsm_place place; /* of data */
} sptrsm_block;

/* ---- context: where work happens ---- */

typedef struct sptrsm_context sptrsm_context;
SPTRSM_API int sptrsm_device_count(void); /* usable CUDA devices: 0 without a driver, without a device, or in a build without CUDA */
/* place HOST: device and cuda_stream are ignored. place CUDA: device is the index of the device, cuda_stream a cudaStream_t that outlives
 * the context, or NULL. With NULL the context makes a stream of its own, which does not wait for the default stream: synchronise work that
 * you queued there before its arrays are used here. The calling thread's current device stays what it is, here and in all other calls.
 * Errors: UNSUPPORTED (no device, or no code for it in this build), ARGUMENT (stream of another device: from CUDA 12.8), DEVICE, MEMORY. */
SPTRSM_API sptrsm_status sptrsm_context_create(sptrsm_context **out, sptrsm_place place, int device, void *cuda_stream);
SPTRSM_API void sptrsm_context_destroy(sptrsm_context *);
SPTRSM_API sptrsm_status sptrsm_context_set_threads(sptrsm_context *, int threads); /* 0: OMP_NUM_THREADS, else usable processors */
/* Queues later work of a CUDA context on cuda_stream, behind what is queued already; NULL: on a stream of the context's own. The stream in
 * use until now must still exist, and neither may be being captured (ARGUMENT). A host context ignores it. Errors: DEVICE, MEMORY. */
SPTRSM_API sptrsm_status sptrsm_context_set_stream(sptrsm_context *, void *cuda_stream);
SPTRSM_API sptrsm_status sptrsm_context_sync(sptrsm_context *); /* waits for queued work; returns its first error and clears it */
SPTRSM_API sptrsm_status sptrsm_context_trim(sptrsm_context *); /* waits; gives device memory kept for later use back to the device */
/* Device memory of all objects of a CUDA context, 0: no limit. Set it first: then host arrays of a matrix stay on the host, and a plan by
 * auto or block that would pass the limit streams: with the bits of block, but not in CUDA graphs (docs/devices.md). */
SPTRSM_API sptrsm_status sptrsm_context_set_memory_limit(sptrsm_context *, size_t bytes);
/* Host memory, page-locked on a CUDA context and so fast to copy from and to. Free it before the context is destroyed. */
SPTRSM_API sptrsm_status sptrsm_host_alloc(void **out, sptrsm_context *, size_t bytes);
SPTRSM_API void sptrsm_host_free(sptrsm_context *, void *);
SPTRSM_API const char *sptrsm_context_describe(const sptrsm_context *); /* "NVIDIA H200", "host, 2 threads"; valid while it lives */

/* ---- matrix: validated once ---- */

typedef struct sptrsm_matrix sptrsm_matrix;
/* Copies T, or borrows its arrays if the caller asks for that and they lie in the context's place. Everything that a solve relies on is
 * checked here: STRUCTURE names the first entry that is unsorted, duplicate, out of range or outside the triangle, SINGULAR the first
 * diagonal entry that is missing, zero or not finite. n = 0 is allowed. Other errors: ARGUMENT, MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_matrix_create(sptrsm_matrix **out, sptrsm_context *, const sptrsm_sparse *T, sptrsm_copy_mode);
SPTRSM_API void sptrsm_matrix_destroy(sptrsm_matrix *);
/* New values for the same pattern. val has the place and length it had when the matrix was created. All plans of the matrix use the new
 * values without a new analysis; none of them may be solving meanwhile. A bad diagonal is refused (SINGULAR) and the old values stay. A
 * matrix created with BORROW borrows val from now on. After MEMORY or DEVICE some copies may hold old values: call it again. */
SPTRSM_API sptrsm_status sptrsm_matrix_set_values(sptrsm_matrix *, const void *val);

/* ---- plan: analysed once, for any number of right-hand sides in any layout ---- */

typedef struct {
  size_t size;        /* sizeof(sptrsm_options), set by sptrsm_options_init */
  const char *method; /* NULL or "auto", or a name that sptrsm_method_at lists, with parameters if you like: "name:key=value,key=value" */
  sptrsm_op op;
  int64_t nrhs_hint; /* right-hand sides that a solve will have, 0: unknown. Guides choices; any other number is solved as well */
  /* Short form of syncfree-csc:select=, which goes before it: a warp's lanes take right-hand sides, column entries, or adapt by p and q. */
  sptrsm_select select;
  int32_t p, q;          /* short form of syncfree-csc:p=,q=, which go before it: thresholds; 0: as tuned for the device, else 8 and 8192 */
  int32_t panel;         /* right-hand sides worked on at once, 0: chosen from n, type and place */
  int32_t deterministic; /* nonzero: refuse methods whose bits may change between runs, panel widths or numbers of threads */
  size_t memory_limit;   /* bytes of workspace, 0: no limit. A narrower panel is chosen to fit; on the host each thread has its own */
  char stencil[16];      /* structured grids: D2N5, D2N9, D3N7, D3N13, D3N27 or D3N33; "": unknown. Checked against the pattern */
  int64_t grid[3];       /* points X, Y, Z of that grid; row x + y X + z X Y of the matrix is point (x, y, z) */
  sptrsm_precision precision; /* sptrsm_direct only. MIXED: double factors are stored and used in single, for sptrsm_direct_refine */
} sptrsm_options;
SPTRSM_API void sptrsm_options_init_sized(sptrsm_options *, size_t size); /* method auto, op N, all else chosen by the library */
static inline void sptrsm_options_init(sptrsm_options *out) { sptrsm_options_init_sized(out, sizeof *out); }

typedef struct sptrsm_plan sptrsm_plan;
/* options NULL: defaults. Errors: ARGUMENT, UNSUPPORTED (the method can't take this type, size or place), MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_plan_create(sptrsm_plan **out, const sptrsm_matrix *, const sptrsm_options *);
SPTRSM_API void sptrsm_plan_destroy(sptrsm_plan *);

typedef struct {
  size_t size;          /* set to sizeof(sptrsm_info) by the caller */
  const char *method;   /* static storage */
  char reason[160];     /* why auto chose this method, or "asked for" */
  char parameters[160]; /* those in use, given or decided by the method: "select=adaptive p=8 q=8192 tile=32" */
  sptrsm_place place;
  sptrsm_op op;
  int32_t levels; /* -1 where the analysis does not compute them */
  int32_t panel;  /* right-hand sides worked on at once */
  int32_t deterministic;
  int32_t inverts; /* multiplies by inverses of diagonal blocks: componentwise residuals are larger than those of substitution */
  int64_t nnz;
  double analysis_seconds; /* time of sptrsm_plan_create without view_seconds */
  double view_seconds;     /* time to convert the stored format to the one the method reads; 0 if they are the same */
  size_t plan_bytes;       /* memory of the plan beyond the matrix */
  double flops_per_rhs;    /* floating-point operations of one right-hand side; a multiply-add is two, complex ones count as real */
} sptrsm_info;
SPTRSM_API sptrsm_status sptrsm_plan_info(sptrsm_info *out, const sptrsm_plan *); /* may wait for queued work */

/* The memory that a solve changes; making it waits for queued work. Serves one solve at a time. panel: columns at once, 0: as planned. */
typedef struct sptrsm_workspace sptrsm_workspace;
SPTRSM_API sptrsm_status sptrsm_workspace_create(sptrsm_workspace **out, const sptrsm_plan *, int32_t panel);
SPTRSM_API void sptrsm_workspace_destroy(sptrsm_workspace *);
/* Waits for the work queued on the context, and returns an error that came since the last such call for this workspace. No other call takes
 * the error away, nor does sptrsm_context_sync. All workspaces are told of a lost dependency, whichever solve it was in. */
SPTRSM_API sptrsm_status sptrsm_workspace_sync(sptrsm_workspace *);
/* The bytes that a workspace takes: on the host a panel for each thread; on a GPU the method's own state and two panels, the second from
 * the first block in host memory on. One of several panels takes two more, to copy beside solves, unless memory is limited. */
SPTRSM_API sptrsm_status sptrsm_workspace_bytes(size_t *out, const sptrsm_plan *, int32_t panel);

/* Solves op(T) X = alpha B.
 * alpha: one value of the plan's dtype in host memory; NULL: 1.
 * B, X: the same n, nrhs and dtype; each in any layout, with any ld, in host memory or that of the context's device. X may be B (same
 *   data, ld and layout) but must not overlap it otherwise. Elements of X between nrhs (or n) and ld are not touched. NaN and Inf in a
 *   column of B stay there.
 * workspace: NULL: the plan's own, made at the first such solve; then one solve at a time.
 * On a CUDA context the work is queued on the context's stream. Once the workspace exists a solve allocates nothing and does not wait,
 *   with two exceptions: blocks in host memory are copied, and X is complete on return; cusparse analyses at the first panel of each width.
 * CUDA graphs: a solve may be captured if the method's info says so, the blocks are in device memory, the workspace exists, and no
 *   dependency was lost since it was made or last solved. Otherwise it is refused (ARGUMENT), and the capture stays valid. Destroy nothing
 *   during a capture; plan, workspace, B and X must outlive the graph. Replays use new values of a matrix that was copied. A replay that
 *   lost a dependency reports it, and so do later ones until a plain solve has repaired the workspace.
 * Errors: ARGUMENT, UNSUPPORTED, MEMORY, DEVICE; errors of queued work are returned by the two _sync functions. */
SPTRSM_API sptrsm_status sptrsm_solve(const sptrsm_plan *, sptrsm_workspace *, const void *alpha, const sptrsm_block *B, sptrsm_block *X);

/* ---- methods ---- */

typedef struct {
  size_t size;         /* set to sizeof(sptrsm_method_info) by the caller */
  const char *name;    /* all strings: static storage */
  const char *summary; /* one line */
  const char *cite;    /* key in docs/references.bib */
  sptrsm_place place;
  int32_t deterministic, capturable; /* same bits on every run; may be captured in a CUDA graph */
  int32_t reference; /* nonzero: kept to compare with (a published algorithm, a vendor's library, plain loops); auto never takes it */
} sptrsm_method_info;
SPTRSM_API int sptrsm_method_count(void);
SPTRSM_API sptrsm_status sptrsm_method_at(sptrsm_method_info *out, int index); /* 0 <= index < count */

/* ---- direct: the solve phase of a sparse direct solver ---- */

typedef enum { SPTRSM_GATHER, SPTRSM_SCATTER } sptrsm_convention; /* GATHER: y[i] = x[perm[i]]; SCATTER: y[perm[i]] = x[i] */
typedef enum { SPTRSM_MULTIPLY, SPTRSM_DIVIDE } sptrsm_scale_op;
typedef enum { SPTRSM_U_GIVEN, SPTRSM_U_IS_LT, SPTRSM_U_IS_LH } sptrsm_u_kind; /* U stored; U = L^T; U = L^H (Cholesky, LDL^H) */

/* A factor set: L D U = P R A C Q with
 *   P R: row i of the permuted system is row perm_row[i] of R A (GATHER), or row i of R A goes to row perm_row[i] (SCATTER);
 *   C Q: with y the solution of the permuted system and c = scale_col, x[perm_col[i]] = c[perm_col[i]] y[i] (SCATTER), or
 *        x[i] = c[i] y[perm_col[i]] (GATHER). With DIVIDE scalings divide instead of multiplying.
 * So x = C Q U^-1 D^-1 L^-1 P R b. SciPy's splu gives perm_r as SCATTER and perm_c as GATHER; MATLAB, Julia, UMFPACK and CHOLMOD give p as
 * GATHER and q as SCATTER. All arrays but those of L and U are in host memory and are always copied when a solver is created. */
typedef struct {
  size_t size;            /* sizeof(sptrsm_factors) */
  const sptrsm_sparse *L; /* required */
  const sptrsm_sparse *U; /* with U_GIVEN; else NULL */
  sptrsm_u_kind u_kind;
  const void *D;                      /* [n] of L's dtype, or NULL: no D */
  const void *D_sub;                  /* [n] of L's dtype or NULL: entry i != 0 couples i and i+1 (2x2 blocks of LDL'); last entry 0 */
  int32_t D_hermitian;                /* nonzero: the 2x2 blocks are Hermitian, else symmetric */
  const int32_t *perm_row, *perm_col; /* [n] or NULL: identity */
  sptrsm_convention row_convention, col_convention;
  const double *scale_row, *scale_col; /* [n] or NULL: ones; scale_row indexed by row of A, scale_col by column of A */
  sptrsm_scale_op row_op, col_op;
  sptrsm_copy_mode copy; /* of L and U, as in sptrsm_matrix_create; precision MIXED and batches copy them in any case */
} sptrsm_factors;
SPTRSM_API void sptrsm_factors_init_sized(sptrsm_factors *, size_t size); /* sets size, and everything else as absent */
static inline void sptrsm_factors_init(sptrsm_factors *out) { sptrsm_factors_init_sized(out, sizeof *out); }

/* Systems S x = b, with the names of CHOLMOD and UMFPACK. ': conjugate transpose, .': transpose. Only A, At and Aat use the scalings. */
typedef enum {
  SPTRSM_SYS_A,     /* A x = b */
  SPTRSM_SYS_At,    /* A' x = b */
  SPTRSM_SYS_Aat,   /* A.' x = b */
  SPTRSM_SYS_L,     /* L x = b */
  SPTRSM_SYS_Lt,    /* L' x = b */
  SPTRSM_SYS_Lat,   /* L.' x = b */
  SPTRSM_SYS_U,     /* U x = b */
  SPTRSM_SYS_Ut,    /* U' x = b */
  SPTRSM_SYS_Uat,   /* U.' x = b */
  SPTRSM_SYS_D,     /* D x = b */
  SPTRSM_SYS_LDLt,  /* L D U x = b; in CHOLMOD U = L' */
  SPTRSM_SYS_LD,    /* L D x = b */
  SPTRSM_SYS_DLt,   /* D U x = b */
  SPTRSM_SYS_P,     /* x = P b */
  SPTRSM_SYS_Pt,    /* x = P' b */
  SPTRSM_SYS_Pt_L,  /* P' L x = b */
  SPTRSM_SYS_Lt_P,  /* L' P x = b */
  SPTRSM_SYS_Lat_P, /* L.' P x = b */
  SPTRSM_SYS_U_Qt,  /* U Q' x = b */
  SPTRSM_SYS_Q_Ut,  /* Q U' x = b */
  SPTRSM_SYS_Q_Uat, /* Q U.' x = b */
  SPTRSM_SYS_COUNT
} sptrsm_system;
SPTRSM_API const char *sptrsm_system_name(sptrsm_system);                               /* "Pt_L"; NULL if out of range */
SPTRSM_API sptrsm_status sptrsm_system_from_name(sptrsm_system *out, const char *name); /* also "CHOLMOD_Lt", "UMFPACK_Pt_L" */

typedef struct sptrsm_direct sptrsm_direct;
/* Validates and analyses both factors. options->op is ignored, the other options hold for both triangles; options NULL: defaults. */
SPTRSM_API sptrsm_status sptrsm_direct_create(sptrsm_direct **out, sptrsm_context *, const sptrsm_factors *, const sptrsm_options *);
SPTRSM_API void sptrsm_direct_destroy(sptrsm_direct *);
/* New values for the same pattern, in the places and of the lengths that they had at creation, borrowed likewise. NULL: unchanged. */
SPTRSM_API sptrsm_status sptrsm_direct_set_values(sptrsm_direct *, const void *L_val, const void *D, const void *D_sub, const void *U_val);
/* Solves op(S) X = alpha B for one of the systems S above. alpha, B, X and errors are as in sptrsm_solve; ARGUMENT also if the factor set
 * lacks a factor that the system needs (without D, D is the identity). Permutations, scalings and changes of layout are part of the first
 * and the last pass over a panel. Memory beyond the factors, B and X does not depend on nrhs: a panel for each thread on the host, two
 * panels and the methods' state on a GPU. The plans of a transposed system are made when it is first solved. Not thread-safe. */
SPTRSM_API sptrsm_status sptrsm_direct_solve(sptrsm_direct *, sptrsm_system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                             sptrsm_block *X);
SPTRSM_API sptrsm_status sptrsm_direct_info(sptrsm_info *L, sptrsm_info *U, const sptrsm_direct *); /* L or U may be NULL */
/* Bytes of panels and state of the plans made so far, including those of refinement if the original matrix was given. */
SPTRSM_API sptrsm_status sptrsm_direct_workspace_bytes(size_t *out, const sptrsm_direct *);
#ifdef __cplusplus
}
#endif
#endif
