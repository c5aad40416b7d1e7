/* plan_file.c -- --plan and --save-plan: what the analysis found, in a file that later runs map into memory instead of analysing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "solve/solve.h"

int plan_check_options(const settings *s, const char *unfit) {
  const device_choice *d = &s->solver.device;
  const char *option = s->plan ? "--plan" : s->save_plan ? "--save-plan" : NULL;
  if (unfit && d->others > 0) cli_error("--device %s: several devices are not for %s; name one device", d->text, unfit);
  else if (unfit && s->solver.device_memory > 0) cli_error("--device-memory is not for %s; leave it out", unfit);
  else if (unfit && option) cli_error("%s is not for %s; leave it out", option, unfit);
  else if (option && d->place == SPTRSM_CUDA)
    cli_error("%s: plans of a GPU are not kept in files; give --device cpu, or leave it out", option);
  else return CLI_OK;
  return CLI_USAGE;
}

int plan_check_output(const settings *s, const char *const inputs[], int count) {
  const char *path = s->save_plan, *outputs[] = {s->out, s->json, s->profile};
  if (path == NULL) return CLI_OK;
  if (strcmp(path, "-") == 0) cli_usage("--save-plan: give a file; stdout is for the summary");
  for (int k = 0; k < 3; k++)
    if (outputs[k] && cli_same_output(path, outputs[k])) cli_usage("--save-plan: %s is another output too", path);
  int code = cli_check_partial(s->out, "--save-plan", path, inputs, count);
  if (code != CLI_OK) return code;
  return cli_check_output(path, s->force, inputs, count);
}

int plan_map(solver_request *r, const char *path) {
  struct stat s;
  void *memory = MAP_FAILED;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for a writer */
  const bool is_there = file >= 0 && fstat(file, &s) == 0, is_plain = is_there && S_ISREG(s.st_mode), is_empty = is_plain && s.st_size == 0;
  if (is_plain && !is_empty) memory = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) {
    cli_error("--plan: %s: %s", path, is_empty ? "is empty" : is_there && !is_plain ? "is not a regular file" : strerror(error));
    return is_empty ? CLI_INPUT : CLI_IO;
  }
  r->plan = memory;
  r->plan_bytes = (size_t)s.st_size;
  return CLI_OK;
}

void plan_unmap(solver_request *r) {
  if (r->plan) munmap((void *)r->plan, r->plan_bytes);
  r->plan = NULL;
}

static sptrsm_status export_plans(void **out, size_t *bytes, const solver *s) {
  sptrsm_status status = s->plan ? sptrsm_plan_export_bytes(bytes, s->plan) : sptrsm_direct_export_bytes(bytes, s->direct);
  if (status != SPTRSM_OK) return status;
  void *memory = aligned_alloc(64, (*bytes + 63) / 64 * 64);
  if (memory == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the %zu bytes of the plan", *bytes);
  status = s->plan ? sptrsm_plan_export(memory, *bytes, s->plan) : sptrsm_direct_export(memory, *bytes, s->direct);
  if (status == SPTRSM_OK) *out = memory;
  else free(memory);
  return status;
}

int plan_save(const solver *s, const char *path) {
  void *memory = NULL;
  size_t bytes;
  int code = solver_fail(export_plans(&memory, &bytes, s));
  if (code == CLI_OK) code = cli_write_file(memory, bytes, path);
  free(memory);
  return code;
}
