/* main.c -- sptrsm-bench: times of solves and analyses by every method, beside cuSPARSE in the same run. The only file that knows tuning.
 * */
#include <stdlib.h>
#include <string.h>

#include "bench/json.h"
#include "bench/run.h"
#include "bench/table.h"
#include "bench/tune/tune.h"

/* Checks, before hours of measuring, that the reports can be written and are none of the inputs. */
static int check_outputs(const bench_session *s) {
  const bench_args *a = &s->args;
  const int count = s->inputs.count + a->name_count; /* names that could not be listed are inputs, too */
  const char **read = calloc((size_t)count + 1, sizeof *read);
  int code = read ? CLI_OK : cli_no_memory("the list of files");
  for (int i = 0; read && i < count; i++) read[i] = i < a->name_count ? a->names[i] : s->inputs.list[i - a->name_count].file;
  if (code == CLI_OK && a->json) code = cli_check_json("--json", a->json, a->force, read, count);
  if (code == CLI_OK && a->csv) code = cli_check_output(a->csv, a->force, read, count);
  if (code == CLI_OK && a->tune_out) code = cli_check_output(a->tune_out, true, read, count);
  if (code == CLI_OK && a->json && a->csv && cli_same_output(a->json, a->csv)) cli_usage("--json and --csv name one file");
  free(read);
  return code;
}

static int report(bench_session *s) {
  int code = CLI_OK;
  bench_table_end(s);
  if (s->args.tune) code = bench_tune_report(s);
  if (s->args.csv && code == CLI_OK) code = bench_csv_write(s, s->args.csv);
  if (s->args.json && code == CLI_OK) code = cli_write_json(bench_json(s), s->args.json);
  return code == CLI_OK ? cli_flush() : code;
}

/* Checks, before hours of measuring, that there are enough triangles for tuning. */
static int check_tuning(const bench_session *s) {
  if (s->args.tune != TUNE_AUTO || s->inputs.count >= BENCH_TUNE_TRIANGLES) return CLI_OK;
  cli_error("--tune=auto needs %d triangles or more; this is %d", BENCH_TUNE_TRIANGLES, s->inputs.count);
  return CLI_USAGE;
}

int main(int argc, char **argv) {
  bench_session s = {0};
  bench_args_read(&s.args, argc, argv);
  if (s.args.tune) bench_tune_methods(&s.args);
  s.table = s.args.json && strcmp(s.args.json, "-") == 0 ? stderr : stdout;
  bench_inputs_find(&s.inputs, s.args.names, s.args.name_count);
  s.worst = s.inputs.worst;
  int code = check_outputs(&s);
  if (code == CLI_OK) code = check_tuning(&s);
  if (code == CLI_OK && (s.inputs.count > 0 || s.args.table == TABLE_LIMITS) && bench_run(&s)) code = report(&s);
  if (code == CLI_OK) code = s.worst;
  bench_session_free(&s);
  return code;
}
