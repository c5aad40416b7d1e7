/* judge.c -- whether the residual of one system is within its limit. */
#include "verify/verify.h"

const double g2_limit = 30;
static const double normwise_limit = 30, far_off = 1e-2;

void judge(verdict *v, const settings *s) {
  const residual *r = &v->residual;
  sptrsm_dtype dtype = v->problem.S.dtype;
  bool is_complex = dtype == SPTRSM_C64 || dtype == SPTRSM_C128;
  double u = dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? 0x1p-24 : 0x1p-53;
  v->figure = r->is_triangle ? r->g1 : r->max_normwise / u;
  v->figure_name = r->is_triangle ? "componentwise residual over its bound" : "normwise residual over u";
  v->limit = s->max >= 0 ? s->max : !r->is_triangle ? normwise_limit : is_complex ? 4 : 1;
  v->within = v->figure <= v->limit && (!r->is_triangle || r->g2 < g2_limit); /* NaN is not within */
  /* X_true belongs to A x = b: a transposed, scaled or partial system has another solution. */
  const problem_request *p = &s->problem;
  bool is_plain = p->system == SPTRSM_SYS_A && p->op == SPTRSM_N && p->alpha[0] == 1 && p->alpha[1] == 0;
  v->far_off = v->has_error && is_plain && v->within && !(v->error <= far_off * v->size);
}
