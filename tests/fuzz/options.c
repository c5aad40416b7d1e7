/* options.c -- texts: option values (methods with parameters, systems, ranges, sizes, numbers, rows, grids) and OMP_NUM_THREADS. */
#include <common/row_list.h>
#include <common/solver.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <sptrsm_inspect.h>

#include "fuzz.h"

/* Where a text is wrong, the parsers of the programs end them with a message. Here the linker puts these in the place of cli_usage and
 * cli_error (CMakeLists.txt): the message is made, and the parser is left. */
static jmp_buf refused;
static char message[512];
_Noreturn void __wrap_cli_usage(const char *format, ...);
void __wrap_cli_error(const char *format, ...);

void __wrap_cli_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
}

_Noreturn void __wrap_cli_usage(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  longjmp(refused, 1);
}

static void parse_for_programs(const char *text, int which) {
  int64_t begin, end;
  row_list rows = {0};
  sptrsm_io_options io;
  grid_choice grid = {0};
  sptrsm_io_options_init(&io);
  if (setjmp(refused)) return;
  switch (which) {
  case 0: FUZZ_CHECK(cli_integer("--n", text, -3, 1000) <= 1000, "%s", text); break;
  case 1: FUZZ_CHECK(cli_number("--x", text) - cli_number("--x", text) == 0, "%s", text); break;
  case 2: FUZZ_CHECK(cli_size("--memory-limit", text) >= 1, "%s", text); break;
  case 3:
    cli_range("--cols", text, &begin, &end);
    FUZZ_CHECK(begin >= 0 && (end == -1 || end > begin), "%s: %lld:%lld", text, (long long)begin, (long long)end);
    break;
  case 4: FUZZ_CHECK(cli_choice("--dtype", text, cli_dtypes, 4) < 4, "%s", text); break;
  case 5: devices_parse(text); break;
  case 6: method_check("--method", text); break;
  case 7:
    grid_parse(GRID_SIZES, text, &grid);
    FUZZ_CHECK(grid.sizes[0] > 0 && grid.sizes[1] > 0 && grid.sizes[2] > 0, "%s", text);
    break;
  default:
    if (row_list_is_file(text)) break;
    row_list_check(text);
    if (row_list_load(&rows, text, 100, &io) == CLI_OK)
      for (int64_t k = 0; k < rows.count; k++) FUZZ_CHECK(rows.rows[k] >= 0 && rows.rows[k] < 100, "%s", text);
    row_list_free(&rows);
  }
}

/* A method or a stencil that is taken solves correctly; one that is refused leaves a message. */
static void parse_for_library(const char *text, fuzz_bytes *in) {
  const int64_t ptr[] = {0, 1, 3, 5, 8};
  const int32_t idx[] = {0, 0, 1, 0, 2, 1, 2, 3};
  const double val[] = {2, -1, 2, -1, 2, -1, -1, 2};
  const sptrsm_sparse T = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 4, ptr, idx, val};
  sptrsm_matrix *matrix = NULL;
  sptrsm_plan *plan = NULL;
  sptrsm_system system;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = fuzz_below(in, 4) ? text : NULL;
  if (fuzz_below(in, 2)) snprintf(o.stencil, sizeof o.stencil, "%s", text), o.grid[0] = o.grid[1] = 2, o.grid[2] = fuzz_below(in, 4);
  o.op = (sptrsm_op)fuzz_below(in, 3);
  if (sptrsm_system_from_name(&system, text) == SPTRSM_OK) FUZZ_CHECK(system >= 0 && system < SPTRSM_SYS_COUNT, "%s", text);
  FUZZ_CHECK(sptrsm_matrix_create(&matrix, fuzz_context(), &T, SPTRSM_COPY) == SPTRSM_OK, "%s", sptrsm_last_error());
  if (sptrsm_plan_create(&plan, matrix, &o) == SPTRSM_OK) {
    const chain S = fuzz_chain_of(&T, o.op);
    test_block B = fuzz_block(in, 4, 2, SPTRSM_F64), X = test_block_make(4, 2, SPTRSM_F64, SPTRSM_COL_MAJOR, 1);
    FUZZ_CHECK(sptrsm_solve(plan, NULL, NULL, &B.block, &X.block) == SPTRSM_OK, "%s", sptrsm_last_error());
    fuzz_check_solution(&S, NULL, &B, &X);
    test_block_free(&B);
    test_block_free(&X);
  } else FUZZ_CHECK(sptrsm_last_error()[0] != '\0', "%s is refused without a message", text);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
}

static void parse_environment(const char *text) {
  setenv("OMP_NUM_THREADS", text, 1);
  FUZZ_CHECK(sptrsm_host_threads() >= 1, "OMP_NUM_THREADS=%s", text);
  unsetenv("OMP_NUM_THREADS");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes in = {data, size};
  char text[256];
  const int which = fuzz_below(&in, 13);
  fuzz_text(&in, text, sizeof text);
  if (which < 9) parse_for_programs(text, which);
  else if (which == 9) parse_environment(text);
  else parse_for_library(text, &in);
  return 0;
}
