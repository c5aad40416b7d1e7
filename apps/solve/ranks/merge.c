/* merge.c -- sptrsm-solve --merge: one file of a solution whose numbers are in several. */
#include <stdlib.h>
#include <string.h>

#include "solve/ranks/share.h"

bool merge_asked(const share_request *r, const char *out, bool has_arguments) {
  if (r->remove_pieces && !r->merge) cli_usage("--remove-pieces: say which solution is merged, --merge FILE");
  if (!r->merge) return false;
  if (has_arguments) cli_usage("--merge: one argument too many; nothing is solved, %s is all that is read", r->merge);
  if (r->solves) cli_usage("--merge: takes -o, --force, --remove-pieces, -q and -v; leave other options out");
  if (r->remove_pieces && out) cli_usage("--remove-pieces: %s would stay without its numbers; leave -o out", r->merge);
  return true;
}

static void report(const share_request *r, const sptrsm_file_merged *m, const char *out) {
  const double bytes = (double)m->n * (double)m->nrhs * (double)sptrsm_dtype_bytes(m->dtype);
  if (cli_quiet()) return;
  printf("merged   %s: %lld piece%s, %d x %lld %s, %s\n", cli_shown(r->merge), (long long)m->pieces, m->pieces == 1 ? "" : "s", (int)m->n,
         (long long)m->nrhs, cli_dtypes[m->dtype], cli_bytes(bytes).text);
  printf("output   %s; the pieces %s\n", cli_shown(out), r->remove_pieces ? "are removed" : "are still there");
}

static int merge_file(const share_request *r, const char *file, const char *out, bool force) {
  sptrsm_save_options o;
  sptrsm_file_merged merged;
  const char *path = r->merge + strlen(file), *written = out ? out : file;
  int code = out ? cli_check_output(out, force, &r->merge, 1) : CLI_OK;
  if (code != CLI_OK) return code;
  sptrsm_save_options_init(&o);
  o.force = force;
  o.path = *path ? path + 1 : "/X";
  cli_guard_write(written);
  sptrsm_status status = sptrsm_file_solution_merge(&merged, file, out, r->remove_pieces, &o);
  cli_guard_end();
  code = cli_fail(status);
  if (code == CLI_OK) report(r, &merged, written);
  return code == CLI_OK ? cli_flush() : code;
}

int merge_work(const share_request *r, const char *out, bool force) {
  char *file = cli_file_of(r->merge);
  if (file == NULL) return cli_no_memory("a file name");
  const int code = merge_file(r, file, out, force);
  free(file);
  return code;
}
