/* variant.c -- the reader of "key=value,key=value". */
#include <criterion/criterion.h>

#include <string.h>

#include "core/base/variant.h"

static const char *const orders[] = {"natural", "level", NULL};
static int32_t lanes, split, order;

static sptrsm_status parse(const char *text) {
  const spti_setting known[] = {{"lanes", &lanes, 1, 32, NULL}, {"split", &split, 0, INT32_MAX, NULL}, {"order", &order, 0, 0, orders}};
  lanes = split = order = -7;
  return spti_variant_parse("toy", text, known, 3);
}

Test(variant, sets_what_it_names_and_nothing_else) {
  cr_assert_eq(parse(""), SPTRSM_OK);
  cr_assert(lanes == -7 && split == -7 && order == -7);
  cr_assert_eq(parse("lanes=32"), SPTRSM_OK);
  cr_assert(lanes == 32 && split == -7 && order == -7);
  cr_assert_eq(parse("order=level,split=0,lanes=1"), SPTRSM_OK);
  cr_assert(lanes == 1 && split == 0 && order == 1);
  cr_assert_eq(parse("split=2147483647,"), SPTRSM_OK);
  cr_assert_eq(split, INT32_MAX);
}

Test(variant, refuses_the_rest_and_says_why) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"lanes", "toy: expected key=value"},
      {"=3", "toy: expected key=value"},
      {",lanes=3", "toy: expected key=value"},
      {"level", "toy: \"level\" has no key; write toy:order=level"},
      {"lanes=2,natural,split=3", "toy: \"natural\" has no key; write toy:order=natural"},
      {"sideways", "toy: expected key=value[,key=value...], not \"sideways\"; known are lanes, split, order"},
      {"lanes=", "toy: lanes= is not a number"},
      {"lanes=4x", "toy: lanes=4x is not a number"},
      {"split=3,lanes=,", "toy: lanes= is not a number"},
      {"lanes=0", "toy: lanes=0 is not in 1..32"},
      {"lanes=33", "toy: lanes=33 is not in 1..32"},
      {"split=-1", "toy: split=-1 is not in 0..2147483647"},
      {"split=2147483648", "is not in 0..2147483647"},
      {"split=99999999999999999999999", "is not in 0..2147483647"},
      {"order=sideways", "toy: order=sideways; known are natural, level"},
      {"order=lev", "toy: order=lev; known are"},
      {"lane=3", "toy: unknown parameter \"lane\"; known are lanes, split, order"},
      {"laness=3", "unknown parameter \"laness\""},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    cr_expect_eq(parse(cases[c].text), SPTRSM_ERR_ARGUMENT, "%s", cases[c].text);
    cr_expect(strstr(sptrsm_last_error(), cases[c].message), "%s: %s", cases[c].text, sptrsm_last_error());
  }
}
