/* solver.c -- see solver.h. */
#include "common/solver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/chain.h"

/* ---- device ---- */

device_choice device_parse(const char *text) {
  static const char *const names[] = {"auto", "cpu", "cuda"};
  device_choice d = {.text = text, .place = SPTRSM_HOST};
  if (strcmp(text, "auto") == 0) d.automatic = true;
  else if (strncmp(text, "cuda", 4) == 0 && (text[4] == '\0' || text[4] == ':')) {
    d.place = SPTRSM_CUDA;
    if (text[4] == ':') d.index = (int)cli_integer("--device", text + 5, 0, INT_MAX);
  } else if (strcmp(text, "cpu") != 0)
    cli_usage("--device: '%s' is not one of auto, cpu, cuda, cuda:0, cuda:1, ...%s", text,
              cli_suggestion(text, strcspn(text, ":"), names, 3).text);
  return d;
}

/* Finds the method of "name" or "name:parameters". */
static bool find_method(sptrsm_method_info *out, const char *name) {
  size_t length = strcspn(name, ":");
  for (int i = 0; i < sptrsm_method_count(); i++) {
    *out = (sptrsm_method_info){.size = sizeof *out};
    if (sptrsm_method_at(out, i) != SPTRSM_OK) continue;
    if (strlen(out->name) == length && strncmp(out->name, name, length) == 0) return true;
  }
  return false;
}

static bool built_with_cuda(void) {
  for (int i = 0; i < sptrsm_method_count(); i++) {
    sptrsm_method_info m = {.size = sizeof m};
    if (sptrsm_method_at(&m, i) == SPTRSM_OK && m.place == SPTRSM_CUDA) return true;
  }
  return false;
}

void method_check(const char *option, const char *name) {
  enum { MOST = 64 };
  sptrsm_method_info m;
  const char *names[MOST] = {"auto"};
  char list[400] = "auto";
  int count = 1;
  if (name == NULL || strcmp(name, "auto") == 0 || find_method(&m, name)) return;
  if (strncmp(name, "auto:", 5) == 0) cli_usage("%s: '%s': auto has no parameters; name a method to set those of it", option, name);
  for (int i = 0; i < sptrsm_method_count() && count < MOST; i++) {
    m = (sptrsm_method_info){.size = sizeof m};
    size_t used = strlen(list);
    if (sptrsm_method_at(&m, i) != SPTRSM_OK) continue;
    snprintf(list + used, sizeof list - used, ", %s", m.name);
    names[count++] = m.name;
  }
  cli_usage("%s: '%s' is not one of %s%s; see sptrsm-info --methods%s", option, name, list,
            built_with_cuda() ? "" : " (this build has no CUDA, so no methods for a GPU)",
            cli_suggestion(name, strcspn(name, ":"), names, count).text);
}

/* The message for an option that asks for a device which is not there. */
static int no_device(const char *what, const char *value) {
  if (!built_with_cuda()) cli_error("%s %s: this build has no CUDA; use --device cpu, or build with CUDA", what, value);
  else
    cli_error("%s %s: needs a CUDA device, %d found; use --device cpu and a method of the host, or check the driver with nvidia-smi", what,
              value, sptrsm_device_count());
  return CLI_DEVICE;
}

static int settle_place(solver_request *r) {
  sptrsm_method_info method;
  const char *name = r->options.method;
  bool named = name && strcmp(name, "auto") != 0 && find_method(&method, name);
  if (!r->device.automatic) {
    snprintf(r->reason, sizeof r->reason, "asked for");
    return r->device.place == SPTRSM_CUDA && r->device.index >= sptrsm_device_count() ? no_device("--device", r->device.text) : CLI_OK;
  }
  int devices = sptrsm_device_count();
  if (named) {
    r->device.place = method.place;
    snprintf(r->reason, sizeof r->reason, "method %s works there", method.name);
    return method.place == SPTRSM_CUDA && devices == 0 ? no_device("--method", method.name) : CLI_OK;
  }
  r->device.place = devices > 0 ? SPTRSM_CUDA : SPTRSM_HOST;
  snprintf(r->reason, sizeof r->reason, "%s",
           devices > 0         ? "a CUDA device was found"
           : built_with_cuda() ? "no CUDA device was found"
                               : "this build has no CUDA");
  return CLI_OK;
}

int device_settle(solver_request *r) {
  int code = settle_place(r);
  if (code == CLI_OK && r->tuned_for_gpu && r->device.place == SPTRSM_HOST)
    cli_warning("--p, --q and --select are for syncfree-csc on a GPU; the methods of the host ignore them");
  return code;
}

/* ---- solving ---- */

int solver_fail(sptrsm_status status) {
  if (status != SPTRSM_ERR_MEMORY) return cli_fail(status);
  cli_error("%s; a smaller --panel or fewer --threads take less", sptrsm_last_error());
  return CLI_MEMORY;
}

static sptrsm_status create_plan(solver *s, const sptrsm_sparse *T, const sptrsm_options *options) {
  sptrsm_status status = sptrsm_matrix_create(&s->matrix, s->context, T, SPTRSM_BORROW);
  if (status == SPTRSM_OK) status = sptrsm_plan_create(&s->plan, s->matrix, options);
  if (status == SPTRSM_OK) status = sptrsm_plan_info(&s->info[0], s->plan);
  if (status == SPTRSM_OK) status = sptrsm_workspace_bytes(&s->workspace_bytes, s->plan, 0);
  s->plans = 1;
  return status;
}

/* A solve of a block without columns creates the plans that the system needs, so that their time counts as analysis. */
static sptrsm_status create_direct(solver *s, const sptrsm_file_factors *F, const solver_request *r, const sptrsm_options *options) {
  sptrsm_status status = sptrsm_direct_create(&s->direct, s->context, &F->factors, options);
  sptrsm_dtype kept = F->L_tri.dtype; /* in which the solver stores the factors */
  if (options->precision == SPTRSM_MIXED) kept = kept == SPTRSM_C128 ? SPTRSM_C64 : SPTRSM_F32;
  sptrsm_block none = {.ld = F->L_tri.n > 0 ? F->L_tri.n : 1, .n = F->L_tri.n, .dtype = kept, .layout = SPTRSM_COL_MAJOR};
  if (status == SPTRSM_OK) status = sptrsm_direct_solve(s->direct, s->system, s->op, NULL, &none, &none);
  if (status == SPTRSM_OK) status = sptrsm_direct_workspace_bytes(&s->workspace_bytes, s->direct);
  bool lower = chain_has(r->system, 'L'), upper = chain_has(r->system, 'U');
  if (status == SPTRSM_OK && lower) status = sptrsm_direct_info(&s->info[s->plans++], NULL, s->direct);
  if (status == SPTRSM_OK && upper) status = sptrsm_direct_info(NULL, &s->info[s->plans++], s->direct);
  return status;
}

/* Only structgrid compares a grid with the pattern of the matrix. */
static void warn_of_unread_grid(const solver *s, const solver_request *r) {
  static const char reader[] = "structgrid";
  bool is_read = false;
  for (int i = 0; i < s->plans; i++) is_read = is_read || strncmp(s->info[i].method, reader, sizeof reader - 1) == 0;
  if (r->grid.has_grid && !is_read) cli_warning("--grid and --stencil are for --method %s; nothing else reads or checks them", reader);
}

int solver_create(solver *s, const sptrsm_file_factors *F, const solver_request *r) {
  *s = (solver){.system = r->system, .op = r->op};
  s->info[0].size = s->info[1].size = sizeof(sptrsm_info);
  sptrsm_options options = r->options;
  options.op = r->op;
  grid_settle(&options, &r->grid, F->L);
  if (options.nrhs_hint > 0 && options.panel > options.nrhs_hint) options.panel = (int32_t)options.nrhs_hint;
  double start = cli_now();
  sptrsm_status status = sptrsm_context_create(&s->context, r->device.place, r->device.index, NULL);
  if (status != SPTRSM_OK) return r->device.place == SPTRSM_CUDA ? (cli_fail(status), CLI_DEVICE) : cli_fail(status);
  if (r->device.place == SPTRSM_HOST) status = sptrsm_context_set_threads(s->context, r->threads);
  if (status == SPTRSM_OK) status = F->single ? create_plan(s, &F->L_tri, &options) : create_direct(s, F, r, &options);
  if (status == SPTRSM_OK) status = sptrsm_context_sync(s->context);
  s->analyse_seconds = cli_now() - start;
  if (status == SPTRSM_OK) warn_of_unread_grid(s, r);
  for (int i = 0; i < s->plans; i++) s->flops_per_rhs += s->info[i].flops_per_rhs;
  return solver_fail(status);
}

sptrsm_block block_columns(const sptrsm_block *X, int64_t begin, int64_t end) {
  sptrsm_block part = *X;
  int64_t first = X->layout == SPTRSM_ROW_MAJOR ? begin : begin * X->ld;
  part.data = (char *)X->data + (size_t)first * sptrsm_dtype_bytes(X->dtype);
  part.nrhs = end - begin;
  return part;
}

sptrsm_status solver_run(solver *s, const solver_columns *c) {
  sptrsm_block from = block_columns(c->B, c->begin, c->end), to = block_columns(c->X, c->begin, c->end);
  sptrsm_status status =
      s->plan ? sptrsm_solve(s->plan, NULL, c->alpha, &from, &to) : sptrsm_direct_solve(s->direct, s->system, s->op, c->alpha, &from, &to);
  return status == SPTRSM_OK ? sptrsm_context_sync(s->context) : status;
}

void solver_free(solver *s) {
  sptrsm_direct_destroy(s->direct);
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
  *s = (solver){0};
}
