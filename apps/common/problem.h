/* problem.h -- the system that is solved or checked, op(S) X = alpha B, as the command line and two files give it. */
#ifndef APPS_COMMON_PROBLEM_H
#define APPS_COMMON_PROBLEM_H

#include "common/chain.h"
#include "common/cli.h"

typedef struct {
  const char *factors, *rhs; /* FILE or FILE:/path */
  sptrsm_io_options io;
  sptrsm_system system;
  sptrsm_op op;
  double alpha[2];
  bool pack_rhs; /* sparse right-hand sides: the block holds only rows with entries; else all rows, with zeros */
} problem_request;

typedef struct {
  const problem_request *request;
  sptrsm_file_factors *factors;
  const sptrsm_file_block *B; /* belongs to `reader`, and has no data, until problem_read; then it is `whole` */
  sptrsm_file_reader *reader; /* NULL once B is read */
  sptrsm_file_block *whole;   /* B with its data, or NULL */
  int32_t *b_rows;            /* the rows of B that the block holds, ascending; NULL: all */
  char conversion[160];       /* a sentence about types that were converted, or "" */
  chain S;                    /* op(S) as a product, for residuals */
  union {
    float f[2];
    double d[2];
  } alpha_value;
  const void *alpha; /* one value of the data's type, NULL: 1 */
} problem;

/* Options for argp: reading matrices, reading blocks, the system. */
enum {
  PROBLEM_UPLO = 3000,
  PROBLEM_UNIT,
  PROBLEM_TAKE,
  PROBLEM_TIDY,
  PROBLEM_MEMORY,
  PROBLEM_EXTERNAL,
  PROBLEM_DTYPE,
  PROBLEM_ORDER,
  PROBLEM_COLS,
  PROBLEM_SYS,
  PROBLEM_TRANS,
  PROBLEM_ALPHA
};
#define MATRIX_OPTIONS                                                                                                                     \
  {"uplo", PROBLEM_UPLO, "lower|upper", 0, "take the matrix as this triangle", 0},                                                         \
      {"unit", PROBLEM_UNIT, NULL, 0, "the diagonal is one", 0},                                                                           \
      {"take-triangle", PROBLEM_TAKE, NULL, 0, "drop entries outside the triangle", 0},                                                    \
      {"tidy", PROBLEM_TIDY, NULL, 0, "sort entries and sum duplicates", 0},                                                               \
      {"memory-limit", PROBLEM_MEMORY, "SIZE", 0, "bytes that may be taken, such as 4G", 0}, {                                             \
    "allow-external", PROBLEM_EXTERNAL, NULL, 0, "follow links to other files", 0                                                          \
  }
#define BLOCK_OPTIONS                                                                                                                      \
  {"dtype", PROBLEM_DTYPE, "f32|f64|c64|c128", 0, "type to read and compute in", 0},                                                       \
      {"rhs-order", PROBLEM_ORDER, "C|F", 0, "order of the right-hand sides", 0}, {                                                        \
    "cols", PROBLEM_COLS, "RANGE", 0, "columns of B, first and end", 0                                                                     \
  }
#define SYSTEM_OPTIONS                                                                                                                     \
  {"sys", PROBLEM_SYS, "SYSTEM", 0, "the system to solve", 0},                                                                             \
      {"trans", PROBLEM_TRANS, "N|T|C", 0, "as stored, transposed or Hermitian transposed", 0}, {                                          \
    "alpha", PROBLEM_ALPHA, "NUMBER", 0, "factor of B", 0                                                                                  \
  }

/* Take one option. False: the key is none of theirs. */
bool problem_parse_io(int key, const char *text, sptrsm_io_options *); /* options of matrices and blocks */
bool problem_parse(int key, const char *text, problem_request *);      /* all of them */

void problem_request_init(problem_request *);
/* Reads the factors and finds the right-hand sides. Without io.dtype both are taken in the wider type of the two, complex if one is.
 * Returns an exit code; problem_free is due in any case. */
int problem_open(problem *, const problem_request *);
/* The same with factors that are loaded already, in the type that is meant; the problem takes them. */
int problem_open_with(problem *, const problem_request *, sptrsm_file_factors *);
/* The two checks of problem_open, for programs that read batches: an exit code after a message. problem_settle_alpha sets alpha of p, whose
 * request is set, for data of this type. */
int problem_check_system(const problem_request *, const sptrsm_file_factors *);
int problem_settle_alpha(problem *p, sptrsm_dtype);
sptrsm_dtype problem_wider(sptrsm_dtype, sptrsm_dtype); /* the type that holds both */
int problem_read(problem *);                            /* all right-hand sides, after problem_open */
int problem_load(problem *, const problem_request *);   /* problem_open and problem_read */
int64_t problem_dropped(const problem *);               /* entries outside the triangles */
void problem_free(problem *);
/* "/run/B" and "X" give "/run/X", the path of a block that belongs beside B; the caller frees; NULL without memory. */
char *problem_beside_B(const problem *, const char *name);

#endif
