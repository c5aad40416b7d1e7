/* product.c -- the kernels of the dense product, one instruction set beside the other, against sums in long double. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/schur/kernels.h"
#include "support/factor_set.h"

enum { ROWS = 40, GROUP = SPTI_SCHUR_GROUP };

static const spti_schur_segment segments[] = {
    {.left = 0, .right = 3, .count = 1}, {.left = 5, .right = 4, .count = 17}, {.left = 39, .right = 30, .count = 1}};
enum { SEGMENTS = sizeof segments / sizeof *segments };

typedef struct {
  double left[2 * ROWS * GROUP], right[2 * ROWS * GROUP], tile[2 * GROUP * GROUP + 2];
} operands;

static void draw(operands *o, sptrsm_dtype t) {
  for (int p = 0; p < ROWS * GROUP; p++) {
    put(o->left, p, t, number(t));
    put(o->right, p, t, number(t));
  }
  memset(o->tile, 0, sizeof o->tile);
  for (int p = 0; p < GROUP * GROUP; p++) put(o->tile, p, t, 0.5);
}

static double complex expected(const operands *o, int i, int j, int left_ld, int right_ld, bool conjugate, sptrsm_dtype t) {
  long double complex sum = 0.5;
  for (int s = 0; s < SEGMENTS; s++)
    for (int r = 0; r < segments[s].count; r++) {
      const double complex a = get(o->left, (segments[s].left + r) * left_ld + i, t);
      sum += (long double complex)(conjugate ? conj(a) : a) * get(o->right, (segments[s].right + r) * right_ld + j, t);
    }
  return (double complex)sum;
}

static void check(const operands *o, int left_ld, int right_ld, bool conjugate, sptrsm_dtype t, const char *isa) {
  for (int p = 0; p < GROUP * GROUP; p++) {
    const int i = p / right_ld, j = p % right_ld;
    const double complex want = i < left_ld ? expected(o, i, j, left_ld, right_ld, conjugate, t) : 0.5, is = get(o->tile, p, t);
    cr_assert(cabs(is - want) <= (is_single(t) ? 1e-5 : 1e-14) * (i < left_ld), "%s, type %d, %d x %d: (%d,%d) is %g%+gi instead of %g%+gi",
              isa, t, left_ld, right_ld, i, j, creal(is), cimag(is), creal(want), cimag(want));
  }
}

Test(schur_product, every_kernel_in_every_width) {
  static operands o;
  int kernels = 0;
  for (int isa = 0; isa < SPTI_ISA_COUNT; isa++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128 && spti_schur_products[isa] && spti_isa_runs((spti_isa)isa); t++, kernels++)
      for (int widths = 0; widths < 32; widths++) {
        const int left_ld = 8 * (1 + widths % 4), right_ld = 8 * (1 + widths / 4 % 4);
        draw(&o, (sptrsm_dtype)t);
        spti_schur_products[isa][t](o.tile, o.left, left_ld, o.right, right_ld, segments, SEGMENTS, widths >= 16);
        check(&o, left_ld, right_ld, widths >= 16 && is_complex((sptrsm_dtype)t), (sptrsm_dtype)t, spti_isa_names[isa]);
      }
  cr_assert_geq(kernels, 4);
}
