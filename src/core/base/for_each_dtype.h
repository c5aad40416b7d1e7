/* for_each_dtype.h -- includes the file SPTI_TEMPLATE once for each type of values, with
 *   T the value type, R its real type, NAME(f) the name f_f32 ... f_c128, CONJ(x) the conjugate (identity for real types),
 *   SPTI_IS_COMPLEX 0 or 1.
 * Define SPTI_TEMPLATE as the quoted file name first. */
#include <complex.h>

#define SPTI_CAT_(a, b) a##b
#define SPTI_CAT(a, b)  SPTI_CAT_(a, b)

#define T               float
#define R               float
#define NAME(f)         SPTI_CAT(f, _f32)
#define CONJ(x)         (x)
#define SPTI_IS_COMPLEX 0
#include SPTI_TEMPLATE
#undef T
#undef R
#undef NAME
#undef CONJ
#undef SPTI_IS_COMPLEX

#define T               double
#define R               double
#define NAME(f)         SPTI_CAT(f, _f64)
#define CONJ(x)         (x)
#define SPTI_IS_COMPLEX 0
#include SPTI_TEMPLATE
#undef T
#undef R
#undef NAME
#undef CONJ
#undef SPTI_IS_COMPLEX

#define T               float _Complex
#define R               float
#define NAME(f)         SPTI_CAT(f, _c64)
#define CONJ(x)         conjf(x)
#define SPTI_IS_COMPLEX 1
#include SPTI_TEMPLATE
#undef T
#undef R
#undef NAME
#undef CONJ
#undef SPTI_IS_COMPLEX

#define T               double _Complex
#define R               double
#define NAME(f)         SPTI_CAT(f, _c128)
#define CONJ(x)         conj(x)
#define SPTI_IS_COMPLEX 1
#include SPTI_TEMPLATE
#undef T
#undef R
#undef NAME
#undef CONJ
#undef SPTI_IS_COMPLEX

#undef SPTI_TEMPLATE

/* SPTI_SWITCH(dtype, f): calls f_f32(...), f_f64(...), ... e.g. SPTI_SWITCH(v->dtype, solve)(v, W). */
#ifndef SPTI_SWITCH
#define SPTI_SWITCH(dtype, f)                                                                                                              \
  ((dtype) == SPTRSM_F32 ? f##_f32 : (dtype) == SPTRSM_F64 ? f##_f64 : (dtype) == SPTRSM_C64 ? f##_c64 : f##_c128)
#endif
