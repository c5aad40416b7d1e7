/* vector.tmpl.h -- vectors over right-hand sides for host kernels, which are compiled for each type, width and instruction set.
 *
 * A template of for_each_dtype.h includes this file once for each WIDTH, the number of right-hand sides that a kernel works on at
 * once (a power of two), and defines AT_WIDTH(f), the name of f for this type and width, e.g. f_8_f64. The WIDTH values of type T in
 * a row of the panel are then COUNT vectors of type VECTOR, each of LANES numbers of type R; LANE(v, l) is the l-th number of v.
 * Complex vectors hold real and imaginary parts in turn. */

#ifndef SPTI_CORE_BASE_VECTOR_TMPL_H
#define SPTI_CORE_BASE_VECTOR_TMPL_H

#if defined __AVX512F__
#define VECTOR_BYTES 64 /* of a vector register */
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define ROW_BYTES (WIDTH * sizeof(T))
#define BYTES     (ROW_BYTES < VECTOR_BYTES ? ROW_BYTES : VECTOR_BYTES)
#define COUNT     ((int)(ROW_BYTES / BYTES))
#define LANES     ((int)(BYTES / sizeof(R)))
#define VECTOR    AT_WIDTH(vector_)

#endif

#undef LANE
#if WIDTH == 1 && !SPTI_IS_COMPLEX
typedef R VECTOR; /* compilers keep vectors of one element in general registers */
#define LANE(v, l) (v)
#else
typedef R VECTOR __attribute__((vector_size(BYTES), aligned(sizeof(R)), may_alias));
#define LANE(v, l) (v)[l]
#endif

#if SPTI_IS_COMPLEX

/* -i times each element: (im, -re). */
static inline VECTOR AT_WIDTH(turned_)(VECTOR a) {
  VECTOR b = a;
  for (int l = 0; l < LANES; l += 2) {
    b[l] = a[l + 1];
    b[l + 1] = -a[l];
  }
  return b;
}

#endif
