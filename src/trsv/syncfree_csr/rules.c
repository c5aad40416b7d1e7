/* rules.c -- see rules.h. */
#include "trsv/syncfree_csr/rules.h"

#include "core/base/variant.h"
#include "trsv/syncfree_csr/kernels.h"

static const char *const order_names[] = {"natural", "level", "packed", "block", NULL};

const char *spti_csr_order_name(int32_t order) { return order_names[order]; }

/* ---- text ---- */

enum { THREAD, WARP, YY, AG };
static const char *const preset_names[] = {[THREAD] = "thread", [WARP] = "warp", [YY] = "yy", [AG] = "ag", NULL};

static const spti_csr_settings UNSET = {.order = -1, .lanes = -1, .average = -1, .entries = -1, .split = -1, .gate = -1, .warps = -1};

static void fill(int32_t *setting, int32_t value) {
  if (*setting < 0) *setting = value;
}

/* THREAD is [su2020capellini]; WARP gives each row a warp; YY is [zhang2021yy] with its limit of 10 entries per row; AG searches, as
 * [hu2024ag] does. */
static void apply_preset(spti_csr_settings *s, int32_t preset) {
  s->search = preset == AG;
  if (preset < 0 || preset == AG) return;
  fill(&s->order, SPTI_CSR_NATURAL);
  fill(&s->lanes, preset == THREAD ? 1 : preset == WARP ? 32 : 0);
  if (preset == YY) fill(&s->average, 10);
}

sptrsm_status spti_csr_parse(spti_csr_settings *s, const char *text) {
  int32_t preset = -1;
  const spti_setting known[] = {{"preset", &preset, 0, 0, preset_names},
                                {"order", &s->order, 0, 0, order_names},
                                {"lanes", &s->lanes, 0, 32, NULL},
                                {"average", &s->average, 1, INT32_MAX, NULL},
                                {"entries", &s->entries, 1, INT32_MAX, NULL},
                                {"split", &s->split, 1, INT32_MAX, NULL},
                                {"gate", &s->gate, 0, INT32_MAX, NULL},
                                {"warps", &s->warps, 1, SPTI_CSR_MAX_WARPS, NULL}};
  *s = UNSET;
  SPTI_TRY(spti_variant_parse("syncfree-csr", text, known, (int)(sizeof known / sizeof *known)));
  apply_preset(s, preset);
  if (s->lanes > 0 && (s->lanes & (s->lanes - 1)) != 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "syncfree-csr: lanes=%d is not a power of two up to 32, or 0 for as many as a row needs",
                     s->lanes);
  return SPTRSM_OK;
}

/* ---- defaults ---- */

typedef struct {
  bool (*holds)(double average, double parallelism, const spti_csr_features *);
  int32_t order, entries, split, gate, warps;
  const char *reason;
} rule;

#define RULE(name, condition, order, entries, split, gate, warps, reason)                                                                  \
  static bool name(double average, double parallelism, const spti_csr_features *f) {                                                       \
    (void)average, (void)parallelism, (void)f;                                                                                             \
    return condition;                                                                                                                      \
  }
#include "trsv/syncfree_csr/rules.def"
#undef RULE

static const rule rules[] = {
#define RULE(name, condition, order, entries, split, gate, warps, reason) {name, order, entries, split, gate, warps, reason},
#include "trsv/syncfree_csr/rules.def"
#undef RULE
};

const char *spti_csr_choose(spti_csr_settings *s, const spti_csr_features *f) {
  const double average = f->n > 0 ? (double)f->entries / f->n : 0, parallelism = f->levels > 0 ? (double)f->n / f->levels : 0;
  const rule *r = rules;
  while (!r->holds(average, parallelism, f)) r++;
  fill(&s->order, r->order);
  fill(&s->lanes, s->order == SPTI_CSR_BLOCK ? SPTI_CSR_BLOCK_LANES / 2 : 0);
  if (s->order == SPTI_CSR_BLOCK && (s->lanes == 0 || s->lanes > SPTI_CSR_BLOCK_LANES)) s->lanes = SPTI_CSR_BLOCK_LANES;
  fill(&s->average, 10);
  fill(&s->entries, r->entries);
  fill(&s->split, r->split);
  fill(&s->gate, r->gate);
  fill(&s->warps, r->warps);
  return r->reason;
}

/* ---- search ---- */

/* The axes of [hu2024ag]: how rows are grouped (by number, by windows, by length class), their order, and lanes for each row. */
static const struct {
  int32_t order, lanes, entries;
} candidates[] = {{SPTI_CSR_PACKED, 0, 4},  {SPTI_CSR_PACKED, 0, 1},  {SPTI_CSR_PACKED, 0, 2},  {SPTI_CSR_PACKED, 0, 8},
                  {SPTI_CSR_PACKED, 8, 4},  {SPTI_CSR_PACKED, 32, 4}, {SPTI_CSR_LEVEL, 1, 4},   {SPTI_CSR_LEVEL, 4, 4},
                  {SPTI_CSR_LEVEL, 8, 4},   {SPTI_CSR_LEVEL, 32, 4},  {SPTI_CSR_LEVEL, 0, 4},   {SPTI_CSR_NATURAL, 0, 4},
                  {SPTI_CSR_NATURAL, 1, 4}, {SPTI_CSR_NATURAL, 4, 4}, {SPTI_CSR_NATURAL, 8, 4}, {SPTI_CSR_NATURAL, 32, 4}};

bool spti_csr_candidate(spti_csr_settings *s, int index) {
  if (index >= (int)(sizeof candidates / sizeof *candidates)) return false;
  s->order = candidates[index].order;
  s->lanes = candidates[index].lanes;
  s->entries = candidates[index].entries;
  return true;
}
