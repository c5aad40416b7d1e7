/* problem.h -- what is to be solved or checked: op(S) X = alpha B, from the command line and two files. */
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
  bool pack_rhs; /* of sparse right-hand sides only the rows that hold entries; else all, with zeros */
} problem_request;

typedef struct {
  const problem_request *request;
  sptrsm_file_factors *factors;
  const sptrsm_file_block *B; /* the reader's until problem_read: then without data */
  sptrsm_file_reader *reader; /* NULL once B is read */
  sptrsm_file_block *whole;   /* B as read, or NULL */
  int32_t *b_rows;            /* rows of B that the block holds, ascending; NULL: all */
  char conversion[160];       /* what was converted and why, or "" */
  chain S;                    /* op(S) written out */
  union {
    float f[2];
    double d[2];
  } alpha_value;
  const void *alpha; /* one value of the data's type, NULL: 1 */
} problem;

/* Options for reading matrices, for reading blocks, and for the system; for tables of argp. */
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
  {"uplo", PROBLEM_UPLO, "SIDE", 0, "", 0}, {"unit", PROBLEM_UNIT, NULL, 0, "", 0}, {"take-triangle", PROBLEM_TAKE, NULL, 0, "", 0},       \
      {"tidy", PROBLEM_TIDY, NULL, 0, "", 0}, {"memory-limit", PROBLEM_MEMORY, "S", 0, "", 0}, {                                           \
    "allow-external", PROBLEM_EXTERNAL, NULL, 0, "", 0                                                                                     \
  }
#define BLOCK_OPTIONS                                                                                                                      \
  {"dtype", PROBLEM_DTYPE, "T", 0, "", 0}, {"rhs-order", PROBLEM_ORDER, "O", 0, "", 0}, { "cols", PROBLEM_COLS, "A:B", 0, "", 0 }
#define SYSTEM_OPTIONS                                                                                                                     \
  {"sys", PROBLEM_SYS, "S", 0, "", 0}, {"trans", PROBLEM_TRANS, "OP", 0, "", 0}, { "alpha", PROBLEM_ALPHA, "X", 0, "", 0 }

/* False where the key is none of the above. */
bool problem_parse_io(int key, const char *text, sptrsm_io_options *);
bool problem_parse(int key, const char *text, problem_request *); /* all of them */

void problem_request_init(problem_request *);
/* Reads the factors and finds the right-hand sides. Without io.dtype the wider type of the two holds for both, complex if one is.
 * Returns an exit code. */
int problem_open(problem *, const problem_request *);
int problem_read(problem *);                          /* all right-hand sides, after problem_open */
int problem_load(problem *, const problem_request *); /* both */
int64_t problem_dropped(const problem *);             /* entries outside the triangles */
void problem_free(problem *);
/* "/run/B" gives "/run/X": path of a block beside B in another or the same file; the caller frees; NULL without memory. */
char *problem_beside_B(const problem *, const char *name);

#endif
