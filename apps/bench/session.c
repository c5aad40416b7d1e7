/* session.c -- see session.h. */
#include "bench/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the order of measurements ---- */

int bench_per_load(const bench_args *a) { return a->op_count * a->nrhs_count * a->method_count; }

int bench_count(const bench_args *a, const bench_inputs *inputs) {
  return a->table == TABLE_LIMITS ? 0 : inputs->count * a->dtype_count * bench_per_load(a);
}

bench_id bench_id_of(const bench_args *a, int index) {
  bench_id id;
  id.method = index % a->method_count, index /= a->method_count;
  id.nrhs = index % a->nrhs_count, index /= a->nrhs_count;
  id.op = index % a->op_count, index /= a->op_count;
  id.dtype = index % a->dtype_count;
  id.input = index / a->dtype_count;
  return id;
}

int bench_load_of(const bench_args *a, int index) { return index / bench_per_load(a); }

void bench_session_free(bench_session *s) {
  bench_inputs_free(&s->inputs);
  free(s->features);
  free(s->results);
}

/* ---- figures of a measurement ---- */

const bench_features *bench_features_of(const bench_session *s, int index) { return &s->features[bench_load_of(&s->args, index)]; }
const sptrsm_level_stats *bench_levels_of(const bench_session *s, int index) {
  return &bench_features_of(s, index)->levels[s->args.ops[bench_id_of(&s->args, index).op]];
}
int bench_sibling(const bench_session *s, int index, int method) { return index - index % s->args.method_count + method; }

/* The time of a wrong solution does not count. */
bool bench_is_ok(const bench_session *s, int index) { return strcmp(s->results[index].status, "ok") == 0; }

static double ratio(const bench_session *s, int above, int below) {
  return bench_is_ok(s, above) && bench_is_ok(s, below) ? s->results[above].solve_ms / s->results[below].solve_ms : NAN;
}

double bench_ratio_baseline(const bench_session *s, int index) { return ratio(s, bench_sibling(s, index, 0), index); }

double bench_ratio_cusparse(const bench_session *s, int index) {
  return bench_is_cusparse(s->args.methods[0], s->machine.place) ? bench_ratio_baseline(s, index) : NAN;
}

double bench_chain(const bench_session *s, int index) {
  static const char name[] = "levels_a_hop";
  const double levels = bench_levels_of(s, index)->levels;
  int f = 0;
  while (f < SPTRSM_AUTO_FEATURES && strcmp(sptrsm_auto_feature(f), name) != 0) f++;
  if (f == SPTRSM_AUTO_FEATURES) return levels;
  const double rows_a_step = bench_features_of(s, index)->known[s->args.ops[bench_id_of(&s->args, index).op]][f];
  return rows_a_step > 1 ? levels / rows_a_step : levels;
}

/* On the host there is no limit by hops, because one thread may solve all levels, nor by flops, which are not measured there. */
double bench_limit_ms(const bench_session *s, int index, bench_limit which) {
  const bench_id id = bench_id_of(&s->args, index);
  const bench_limits *l = &s->machine.limits;
  const bench_features *f = bench_features_of(s, index);
  const sptrsm_dtype dtype = s->args.dtypes[id.dtype];
  const double rate = l->flops_per_s[dtype == SPTRSM_F32 || dtype == SPTRSM_C64];
  const double items = s->args.batch > 0 ? (double)s->args.batch : 1, each = (double)sptrsm_dtype_bytes(dtype);
  const double block = (double)f->n * (double)s->args.nrhs[id.nrhs] * each * items;
  const double values = (double)f->nnz * each * (items - 1); /* of the other items of a batch, which share the pattern */
  switch (which) {
  case LIMIT_BANDWIDTH: return 1e3 * ((double)f->matrix_bytes + values + 2 * block) / l->copy_bytes_per_s;
  case LIMIT_HOPS: return s->machine.place == SPTRSM_CUDA && l->hop_s > 0 ? 1e3 * bench_chain(s, index) * l->hop_s : 0;
  case LIMIT_FLOPS: return rate > 0 ? 1e3 * s->results[index].flops / rate : 0;
  case LIMITS: break;
  }
  return 0;
}

bench_limit bench_limit_of(const bench_session *s, int index) {
  bench_limit longest = LIMIT_BANDWIDTH;
  for (bench_limit l = LIMIT_HOPS; l < LIMITS; l++)
    if (bench_limit_ms(s, index, l) > bench_limit_ms(s, index, longest)) longest = l;
  return longest;
}

static double share_of(const bench_session *s, int index, bench_limit which) {
  return bench_is_ok(s, index) ? bench_limit_ms(s, index, which) / s->results[index].solve_ms : NAN;
}

double bench_limit_share(const bench_session *s, int index) { return share_of(s, index, bench_limit_of(s, index)); }
double bench_copy_share(const bench_session *s, int index) { return share_of(s, index, LIMIT_BANDWIDTH); }
