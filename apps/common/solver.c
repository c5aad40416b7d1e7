/* solver.c -- see solver.h. */
#include "common/solver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/chain.h"

/* ---- device ---- */

device_choice device_parse(const char *text) {
  static const char *const names[] = {"auto", "cpu", "host", "cuda"};
  device_choice d = {.text = text, .place = SPTRSM_HOST};
  if (strcmp(text, "auto") == 0) d.automatic = true;
  else if (strncmp(text, "cuda", 4) == 0 && (text[4] == '\0' || text[4] == ':')) {
    d.place = SPTRSM_CUDA;
    if (text[4] == ':') d.index = (int)cli_integer("--device", text + 5, 0, INT_MAX);
  } else if (strcmp(text, "cpu") != 0 && strcmp(text, "host") != 0)
    cli_usage("--device: '%s' is not one of auto, cpu, cuda, cuda:0, cuda:1, ...%s", text,
              cli_suggestion(text, strcspn(text, ":"), names, 4).text);
  return d;
}

/* One of a list. A number alone is a device of the kind before it. */
static device_at parse_one(const char *item, const device_at *before) {
  if (strcmp(item, "cuda:all") == 0) return (device_at){SPTRSM_CUDA, EVERY_DEVICE};
  if (*item >= '0' && *item <= '9' && before && before->place == SPTRSM_CUDA)
    return (device_at){SPTRSM_CUDA, (int)cli_integer("--device", item, 0, INT_MAX)};
  const device_choice one = device_parse(item);
  if (one.automatic) cli_usage("--device: 'auto' is no device to share work with others; name all of them");
  return (device_at){one.place, one.index};
}

device_choice devices_parse(const char *text) {
  device_at list[DEVICES_MAX];
  int count = 0;
  if (strchr(text, ',') == NULL && strcmp(text, "cuda:all") != 0) return device_parse(text);
  for (const char *at = text;; at++) {
    char item[32];
    const size_t length = strcspn(at, ",");
    if (length == 0 || length >= sizeof item) cli_usage("--device: '%s': a device is missing or unknown; as in cuda:0,1,host", text);
    if (count == DEVICES_MAX) cli_usage("--device: more than %d devices", DEVICES_MAX);
    memcpy(item, at, length);
    item[length] = '\0';
    list[count] = parse_one(item, count > 0 ? &list[count - 1] : NULL);
    count++;
    at += length;
    if (*at == '\0') break;
  }
  device_choice d = {.text = text, .place = list[0].place, .index = list[0].index, .others = count - 1};
  memcpy(d.other, list + 1, (size_t)(count - 1) * sizeof *list);
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

/* Puts numbers in place of EVERY_DEVICE, and checks that all devices are there. */
static int settle_devices(device_choice *d) {
  const int found = sptrsm_device_count();
  device_at list[DEVICES_MAX];
  int count = 0;
  for (int k = 0; k <= d->others; k++) {
    const device_at at = k == 0 ? (device_at){d->place, d->index} : d->other[k - 1];
    const bool every = at.place == SPTRSM_CUDA && at.index == EVERY_DEVICE;
    if (at.place == SPTRSM_CUDA && (every ? 0 : at.index) >= found) return no_device("--device", d->text);
    for (int e = every ? 0 : at.index; e <= (every ? found - 1 : at.index); e++) {
      if (count == DEVICES_MAX) cli_usage("--device: more than %d devices", DEVICES_MAX);
      list[count++] = (device_at){at.place, e};
    }
  }
  d->place = list[0].place, d->index = list[0].index, d->others = count - 1;
  memcpy(d->other, list + 1, (size_t)(count - 1) * sizeof *list);
  return CLI_OK;
}

static int settle_place(solver_request *r) {
  sptrsm_method_info method;
  const char *name = r->options.method;
  bool named = name && strcmp(name, "auto") != 0 && find_method(&method, name);
  if (!r->device.automatic) {
    snprintf(r->reason, sizeof r->reason, "asked for");
    return settle_devices(&r->device);
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

static sptrsm_status create_plan(solver *s, const sptrsm_sparse *T, const solver_request *r, const sptrsm_options *options) {
  sptrsm_status status = sptrsm_matrix_create(&s->matrix, s->context, T, SPTRSM_BORROW);
  if (status == SPTRSM_OK)
    status = r->plan ? sptrsm_plan_import(&s->plan, s->matrix, options, r->plan, r->plan_bytes, SPTRSM_BORROW)
                     : sptrsm_plan_create(&s->plan, s->matrix, options);
  if (status == SPTRSM_OK) status = sptrsm_plan_info(&s->info[0], s->plan);
  if (status == SPTRSM_OK) status = sptrsm_workspace_bytes(&s->workspace_bytes, s->plan, 0);
  s->plans = 1;
  return status;
}

/* A plan that was given and does not fit is a bad input. */
static int create_fail(sptrsm_status status, const solver_request *r) {
  if (!r->plan || (status != SPTRSM_ERR_ARGUMENT && status != SPTRSM_ERR_UNSUPPORTED)) return solver_fail(status);
  cli_error("--plan: %s: %s", r->plan_file, sptrsm_last_error());
  return CLI_INPUT;
}

sptrsm_status solver_tell_plans(solver *s) {
  sptrsm_status status = SPTRSM_OK;
  s->plans = 0;
  if (chain_has(s->system, 'L')) status = sptrsm_direct_info(&s->info[s->plans++], NULL, s->direct);
  if (status == SPTRSM_OK && chain_has(s->system, 'U')) status = sptrsm_direct_info(NULL, &s->info[s->plans++], s->direct);
  return status;
}

/* A solve of a block without columns creates the plans that the system needs, so that their time counts as analysis. */
static sptrsm_status create_direct(solver *s, const sptrsm_file_factors *F, const solver_request *r, const sptrsm_options *options) {
  sptrsm_factors f = F->factors;
  f.copy = SPTRSM_BORROW;
  sptrsm_status status = r->plan ? sptrsm_direct_import(&s->direct, s->context, &f, options, r->plan, r->plan_bytes, SPTRSM_BORROW)
                                 : sptrsm_direct_create(&s->direct, s->context, &f, options);
  sptrsm_dtype kept = F->L_tri.dtype; /* in which the solver stores the factors */
  if (options->precision == SPTRSM_MIXED) kept = kept == SPTRSM_C128 ? SPTRSM_C64 : SPTRSM_F32;
  sptrsm_block none = {.ld = F->L_tri.n > 0 ? F->L_tri.n : 1, .n = F->L_tri.n, .dtype = kept, .layout = SPTRSM_COL_MAJOR};
  if (status == SPTRSM_OK) status = sptrsm_direct_solve(s->direct, s->system, s->op, NULL, &none, &none);
  if (status == SPTRSM_OK) status = sptrsm_direct_workspace_bytes(&s->workspace_bytes, s->direct);
  return status == SPTRSM_OK ? solver_tell_plans(s) : status;
}

/* Only structgrid compares a grid with the pattern of the matrix. */
static void warn_of_unread_grid(const solver *s, const solver_request *r) {
  static const char reader[] = "structgrid";
  bool is_read = false;
  for (int i = 0; i < s->plans; i++) is_read = is_read || strncmp(s->info[i].method, reader, sizeof reader - 1) == 0;
  if (r->grid.has_grid && !is_read) cli_warning("--grid and --stencil are for --method %s; nothing else reads or checks them", reader);
}

/* Threads of a host context, of which there may be several: the processors are shared out. */
static int threads_of(const solver_request *r) {
  int hosts = r->device.place == SPTRSM_HOST;
  for (int k = 0; k < r->device.others; k++) hosts += r->device.other[k].place == SPTRSM_HOST;
  if (r->threads > 0 || hosts < 2) return r->threads;
  return cli_threads() > hosts ? cli_threads() / hosts : 1;
}

static sptrsm_status settle_context(sptrsm_context *context, sptrsm_place place, const solver_request *r) {
  if (place == SPTRSM_HOST) return sptrsm_context_set_threads(context, threads_of(r));
  return r->device_memory > 0 ? sptrsm_context_set_memory_limit(context, r->device_memory) : SPTRSM_OK;
}

static bool has_device(const device_choice *d) {
  bool found = d->place == SPTRSM_CUDA;
  for (int k = 0; k < d->others; k++) found = found || d->other[k].place == SPTRSM_CUDA;
  return found;
}

/* Clones for the other devices. */
static sptrsm_status create_others(solver *s, const solver_request *r) {
  const int count = r->device.others;
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < count && status == SPTRSM_OK; k++) {
    s->place[1 + k] = r->device.other[k].place;
    status = sptrsm_context_create(&s->other[k], r->device.other[k].place, r->device.other[k].index, NULL);
    if (status == SPTRSM_OK) status = settle_context(s->other[k], s->place[1 + k], r);
  }
  if (status == SPTRSM_OK)
    status = s->plan ? sptrsm_multi_create_plans(&s->multi, s->plan, s->other, count)
                     : sptrsm_multi_create(&s->multi, s->direct, s->other, count);
  if (status == SPTRSM_OK) s->members = 1 + count;
  return status;
}

/* Adds the workspaces of other host contexts; those of devices are not in the memory of the host. */
static sptrsm_status add_workspaces(solver *s) {
  sptrsm_status status = SPTRSM_OK;
  for (int k = 1; k < s->members && status == SPTRSM_OK; k++) {
    const sptrsm_multi_member m = solver_member(s, k);
    size_t bytes = 0;
    status = m.plan ? sptrsm_workspace_bytes(&bytes, m.plan, 0) : sptrsm_direct_workspace_bytes(&bytes, m.direct);
    s->workspace_bytes += bytes;
  }
  return status;
}

int solver_create(solver *s, const sptrsm_file_factors *F, const solver_request *r) {
  *s = (solver){.system = r->system, .op = r->op, .members = 1, .place = {r->device.place}};
  s->info[0].size = s->info[1].size = sizeof(sptrsm_info);
  sptrsm_options options = r->options;
  options.op = r->op;
  grid_settle(&options, &r->grid, F->L);
  if (options.nrhs_hint > 0 && options.panel > options.nrhs_hint) options.panel = (int32_t)options.nrhs_hint;
  if (r->device_memory > 0 && !has_device(&r->device)) {
    cli_error("--device-memory is for CUDA devices, and this solve is on the host; leave it out, or give --device cuda");
    return CLI_USAGE;
  }
  double start = cli_now();
  sptrsm_status status = sptrsm_context_create(&s->context, r->device.place, r->device.index, NULL);
  if (status != SPTRSM_OK) return r->device.place == SPTRSM_CUDA ? (cli_fail(status), CLI_DEVICE) : cli_fail(status);
  status = settle_context(s->context, r->device.place, r);
  if (status == SPTRSM_OK) status = F->single ? create_plan(s, &F->L_tri, r, &options) : create_direct(s, F, r, &options);
  if (status != SPTRSM_OK) return create_fail(status, r);
  const double made = cli_now();
  if (r->device.others > 0) status = create_others(s, r);
  s->clone_seconds = cli_now() - made;
  if (status == SPTRSM_OK) status = add_workspaces(s);
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

sptrsm_multi_member solver_member(const solver *s, int member) {
  sptrsm_multi_member m = {.size = sizeof m, .context = s->context, .direct = s->direct, .plan = s->plan};
  if (s->multi) (void)sptrsm_multi_member_at(&m, s->multi, member); /* it exists */
  return m;
}

sptrsm_status solver_run(solver *s, int member, const solver_columns *c) {
  const sptrsm_multi_member m = solver_member(s, member);
  sptrsm_block from = block_columns(c->B, c->begin, c->end), to = block_columns(c->X, c->begin, c->end);
  sptrsm_status status =
      m.plan ? sptrsm_solve(m.plan, NULL, c->alpha, &from, &to) : sptrsm_direct_solve(m.direct, s->system, s->op, c->alpha, &from, &to);
  return status == SPTRSM_OK ? sptrsm_context_sync(m.context) : status;
}

const char *solver_kinds(char *text, size_t size, const solver *s) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < s->members; k++) {
    const char *kind = s->place[k] == SPTRSM_HOST ? "host" : sptrsm_context_describe(solver_member(s, k).context);
    if (strstr(text, kind)) continue;
    snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", kind);
    used = strlen(text);
  }
  return text;
}

void solver_free(solver *s) {
  sptrsm_multi_destroy(s->multi);
  for (int k = 0; k < DEVICES_MAX - 1; k++) sptrsm_context_destroy(s->other[k]);
  sptrsm_direct_destroy(s->direct);
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
  *s = (solver){0};
}
