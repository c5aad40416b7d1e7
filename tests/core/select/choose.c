/* choose.c -- the table behind `auto`, without a device: which method it takes for which features, and that it always
 * takes one. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/base/isa.h"
#include "core/select/chains.h"
#include "core/select/choose.h"
#include "core/plan/method.h"

/* A problem on a GPU. */
static spti_features problem(int32_t n, int32_t levels, int32_t thin, int32_t wide, int64_t nrhs) {
  return (spti_features){
      .place = SPTRSM_CUDA, .nrhs = nrhs, .n = n, .nnz = (int64_t)100 * n, .levels = levels, .thin_levels = thin, .wide_levels = wide};
}

/* A factor, or another problem whose row panels have levels. */
static spti_features with_panels(spti_features f, int32_t hops) {
  f.panel_hops = hops;
  return f;
}

static void expect(spti_features f, const char *method) {
  spti_choice choice = spti_choose(&f, 0);
  cr_expect_str_eq(choice.method, method, "n=%d levels=%d thin=%d wide=%d nrhs=%lld: %s", f.n, f.levels, f.thin_levels, f.wide_levels,
                   (long long)f.nrhs, choice.method);
  cr_expect_gt(strlen(choice.reason), 10);
}

Test(choose, known_problems_at_one_right_hand_side) {
  expect(problem(466316, 2, 0, 2, 1), "levelset");           /* boyd2 L */
  expect(problem(7740, 6236, 6230, 0, 1), "levelset");       /* ex40 U */
  expect(problem(13436, 941, 903, 8, 1), "levelset");        /* bayer10 L */
  expect(problem(43243, 1104, 983, 45, 1), "syncfree-csc");  /* cot_armadillo */
  expect(problem(18271, 278, 78, 117, 1), "syncfree-csc");   /* jac_ACTIVSg10k U */
  expect(problem(150102, 733, 7, 658, 1), "syncfree-csr");   /* G2_circuit L */
  expect(problem(7077888, 574, 10, 550, 1), "syncfree-csr"); /* 7-point stencil */
}

/* A row holds for who asks for the same bits on every run exactly if its method has them. */
Test(choose, deterministic_rows) {
  static const struct {
    int32_t n, levels, thin, wide;
    const char *method;
  } cases[] = {{466316, 2, 0, 2, "levelset"}, {13436, 941, 903, 8, "levelset"}, {43243, 1104, 983, 45, "syncfree-csr"}};
  sptrsm_auto_row row = {.size = sizeof row};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    spti_features f = problem(cases[c].n, cases[c].levels, cases[c].thin, cases[c].wide, 1);
    f.deterministic = true;
    expect(f, cases[c].method);
  }
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    cr_assert_eq(sptrsm_auto_row_at(&row, r, NULL), SPTRSM_OK);
    const spti_method *method = spti_method_find(row.method, strcspn(row.method, ":"), row.place);
    if (method && method->place == row.place) /* those for a GPU: on the emulator */
      cr_expect_eq(row.deterministic, (method->flags & SPTI_DETERMINISTIC) != 0, "%s takes %s", row.name, row.method);
  }
}

Test(choose, blocks_and_unknown_numbers_of_right_hand_sides) {
  static const int64_t counts[] = {0, 5, 32, 1000};
  for (int c = 0; c < 4; c++) {
    expect(problem(466316, 2, 0, 2, counts[c]), "levelset");
    expect(problem(43243, 1104, 983, 45, counts[c]), "gather");
    expect(problem(150102, 733, 7, 658, counts[c]), "gather");
    expect(problem(7740, 6236, 6230, 0, counts[c]), counts[c] == 5 || counts[c] == 32 ? "levelset" : "gather");
    spti_features chain = problem(30004, 10003, 10000, 2, counts[c]); /* bloweya LU L */
    chain.nnz = 90007;
    expect(chain, "levelset");
    spti_features bidiagonal = problem(10003, 10003, 10003, 0, counts[c]);
    bidiagonal.nnz = 10002; /* with a unit diagonal */
    expect(bidiagonal, "levelset");
  }
}

/* Few hops of panels decide for any number of right-hand sides; but a triangle with few level sets goes to levelset. */
Test(choose, row_panels) {
  static const int64_t counts[] = {0, 1, 4, 5, 32, 1000};
  for (int c = 0; c < 6; c++) {
    expect(with_panels(problem(43243, 295, 0, 0, counts[c]), 59), "block");  /* cot_armadillo, whose 1104 levels are enough */
    expect(with_panels(problem(7740, 590, 0, 0, counts[c]), 118), "block");  /* ex40 U */
    expect(with_panels(problem(50000, 560, 0, 0, counts[c]), 112), "block"); /* cvxbqp1 Cholesky */
    expect(with_panels(problem(1000, 500, 0, 0, counts[c]), 100), "block");
    expect(with_panels(problem(466316, 2, 0, 2, counts[c]), 107), "levelset"); /* boyd2 */
  }
  expect(with_panels(problem(150102, 733, 7, 658, 1), 490), "syncfree-csr"); /* G2_circuit L */
  expect(with_panels(problem(150102, 733, 7, 658, 32), 490), "gather");
  expect(with_panels(problem(1000, 499, 0, 499, 32), 100), "gather");
}

/* A device for graphics: with few right-hand sides hops of panels decide, with many the products. */
Test(choose, factors_where_double_precision_is_slow) {
  spti_features f = with_panels(problem(43243, 295, 0, 0, 1), 59);
  for (f.single_to_double = 2; f.single_to_double <= 64; f.single_to_double *= 2)
    for (f.nrhs = 1; f.nrhs <= 1024; f.nrhs *= 2) expect(f, f.single_to_double >= 16 && f.nrhs >= 256 ? "gather" : "block");
  f.nrhs = 0;
  expect(f, "block"); /* unknown */
}

/* A stencil is looked for exactly where some stencil on a grid of that order would be taken. */
Test(choose, where_stencils_are_asked_for) {
  static const int32_t orders[] = {0, 1, 499, 500, 501, 999, 1000, 1999, 2000, 3000, 7077888};
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    for (int64_t nrhs = 0; nrhs < 70; nrhs++) {
      spti_features f = problem(orders[o], 0, 0, 0, nrhs);
      const bool asks = spti_choose_asks_for_stencil(&f);
      bool taken = false;
      for (size_t s = 0; s <= o; s++) {
        f.stencil = orders[s];
        taken = taken || spti_choose_by_stencil(&f);
      }
      cr_expect_eq(asks, taken, "n=%d nrhs=%d", orders[o], (int)nrhs);
      f.place = SPTRSM_HOST;
      cr_expect_not(spti_choose_asks_for_stencil(&f));
    }
}

/* Stencils are taken on grids that are not small. If structgrid refuses, the choice is the one without a stencil. */
Test(choose, stencils) {
  static const struct {
    double stencil;
    int64_t nrhs;
    bool taken;
  } cases[] = {{499, 0, false}, {499, 1, false}, {499, 64, false}, {500, 0, true},  {500, 1, true},   {500, 2, true},
               {500, 64, true}, {1000, 5, true}, {1999, 0, true},  {2000, 0, true}, {2000, 32, true}, {2000, 512, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    spti_features f = problem(7077888, 0, 0, 0, cases[c].nrhs);
    f.stencil = cases[c].stencil;
    cr_expect_eq(spti_choose_by_stencil(&f), cases[c].taken, "case %zu", c);
    if (cases[c].taken) expect(f, "structgrid");
  }
  spti_features f = problem(7077888, 574, 10, 550, 1);
  f.stencil = 12331;
  expect(f, "structgrid");
  cr_expect_str_eq(spti_choose(&f, spti_choose(&f, 0).row + 1).method, "syncfree-csr");
}

/* The methods that follow, each after the one before it has refused. */
Test(choose, the_next_method) {
  static const char *const left[] = {"block", "levelset", "levelset", "syncfree-csc", "syncfree-csr", "gather", "syncfree-csr:order=level"};
  const spti_features chain = with_panels(problem(250000, 250000, 250000, 0, 1), 3907);
  int from = 0;
  for (size_t m = 0; m < sizeof left / sizeof *left; m++) {
    spti_choice choice = spti_choose(&chain, from);
    cr_assert_str_eq(choice.method, left[m]);
    cr_assert_geq(choice.row, from);
    from = choice.row + 1;
  }
  cr_assert_null(spti_choose(&chain, from).method);
  const spti_features host = {.place = SPTRSM_HOST, .n = 10, .chained = 1};
  cr_assert_str_eq(spti_choose(&host, spti_choose(&host, 0).row + 1).method, "levelset");
}

/* Where the widths of levels are not looked at, no widths would change the choice. */
Test(choose, asks_for_widths) {
  static const int64_t nrhs[] = {0, 1, 8, 9, 128};
  static const int32_t levels[] = {3, 100, 3000}, panels[] = {0, 10, 90};
  int asked = 0;
  for (int c = 0; c < 5 * 3 * 3; c++) {
    spti_features f = with_panels(problem(6000, levels[c / 5 % 3], 0, 0, nrhs[c % 5]), panels[c / 15]);
    const bool asks = spti_choose_asks_for_widths(&f);
    const char *method = spti_choose(&f, 0).method;
    bool same = true;
    for (f.thin_levels = 0; f.thin_levels <= f.levels; f.thin_levels += f.levels / 3)
      for (f.wide_levels = 0; f.wide_levels < 20; f.wide_levels += 6) same = same && strcmp(spti_choose(&f, 0).method, method) == 0;
    cr_expect(asks || same, "levels=%d nrhs=%d panels=%d", f.levels, (int)f.nrhs, f.panel_hops);
    asked += asks;
  }
  cr_expect(asked > 0 && asked < 45, "%d asked", asked);
}

/* Bounds are inclusive. */
Test(choose, at_the_bounds) {
  expect(problem(6000, 6, 0, 6, 4), "levelset");
  expect(problem(6000, 6, 0, 6, 5), "levelset");
  expect(problem(7000, 7, 0, 7, 8), "syncfree-csr");
  expect(problem(7000, 7, 0, 7, 9), "gather");
  expect(problem(90000, 100, 0, 100, 4), "syncfree-csr");
  expect(problem(89999, 100, 0, 100, 2), "syncfree-csr");
  expect(problem(89999, 100, 0, 100, 3), "gather");
  expect(problem(1000, 100, 79, 12, 2), "syncfree-csr");
  expect(problem(1000, 100, 80, 12, 8), "levelset");
  expect(problem(1000, 100, 80, 12, 9), "levelset");
  expect(problem(1000, 100, 80, 12, 128), "levelset");
  expect(problem(1000, 100, 80, 12, 129), "gather");
  expect(problem(1000, 100, 79, 12, 9), "gather");
  expect(problem(1000, 100, 80, 13, 9), "gather");
  expect(problem(1001, 100, 80, 12, 9), "gather");
  spti_features few_entries = problem(1000, 100, 80, 12, 129);
  few_entries.nnz = 3200;
  expect(few_entries, "levelset");
  few_entries.wide_levels = 13;
  expect(few_entries, "gather");
  few_entries.wide_levels = 12, few_entries.nnz++;
  expect(few_entries, "gather");
  expect(problem(1000, 100, 79, 12, 1), "syncfree-csc");
  expect(problem(1000, 100, 80, 13, 1), "syncfree-csc");
  expect(problem(14000, 100, 0, 100, 1), "syncfree-csc");
  expect(problem(14001, 100, 0, 100, 1), "syncfree-csr");
}

/* On the host the share of entries in chained lines decides; with one right-hand side it must be larger. */
Test(choose, factors_with_supernodes_on_the_host) {
  static const struct {
    double chained;
    const char *method;
  } known[] = {{0.92, "block"} /* wang4 */,
               {0.99, "block"} /* raefsky1 L */,
               {0.7, "block"},
               {0.699, "levelset"},
               {0.75, "block"},
               {0.751, "block"},
               {0.45, "levelset"} /* ct2010 */,
               {0.29, "levelset"} /* bayer10 */,
               {0, "levelset"},
               {1, "block"}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
    for (int64_t nrhs = 0; nrhs < 100; nrhs = 3 * nrhs + 1)
      for (int deterministic = 0; deterministic < 2; deterministic++)
        expect((spti_features){.place = SPTRSM_HOST, .n = 1000, .nrhs = nrhs, .deterministic = deterministic, .chained = known[k].chained},
               nrhs == 1 && known[k].chained <= 0.75 ? "levelset" : known[k].method);
}

/* A host has the same name whatever its threads, on which the choice must not depend. */
Test(choose, names_by_which_devices_are_tuned) {
  sptrsm_context *host;
  cr_assert_str_eq(sptrsm_auto_device(NULL), "");
  cr_assert_eq(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  for (int threads = 1; threads <= 2; threads++) {
    cr_assert_eq(sptrsm_context_set_threads(host, threads), SPTRSM_OK);
    cr_assert_str_eq(sptrsm_auto_device(host), spti_isa_names[spti_isa_best()]);
  }
  sptrsm_context_destroy(host);
}

/* ---- the share of entries in chained lines ---- */

enum { ORDER = 12, ORDER_MOST = 200 };

/* The share for the lower triangle `has` of order n, by rows or columns, or for its mirror image, solved backward. */
static double share_of_kind(int kind, int32_t n, bool has[n][n], bool diagonal) {
  const bool columns = kind & 1, backward = kind & 2;
  static int64_t ptr[ORDER_MOST + 1];
  static int32_t idx[ORDER_MOST * ORDER_MOST];
  int64_t p = 0;
  for (int32_t line = 0; line < n; line++) {
    for (int32_t other = 0; other < n; other++) {
      int32_t i = columns ? other : line, j = columns ? line : other;
      if (i == j ? diagonal : i > j && has[i][j]) idx[p++] = other;
    }
    ptr[line + 1] = p;
  }
  /* Columns of L, which are rows of L^T: pushed forward, pulled backward. */
  spti_view v = {.n = n, .nnz = p, .ptr = ptr, .idx = idx, .pull = columns == backward, .backward = backward};
  if (diagonal && columns) v.head = 1;
  if (diagonal && !columns) v.tail = 1;
  double share = -1;
  cr_assert_eq(spti_chained_share(&share, &v), SPTRSM_OK);
  return share;
}

/* All four kinds must have the same share. */
static double share_of(bool has[ORDER][ORDER], bool diagonal) {
  const double first = share_of_kind(0, ORDER, has, diagonal);
  for (int kind = 1; kind < 4; kind++) {
    const double share = share_of_kind(kind, ORDER, has, diagonal);
    cr_assert_eq(share, first, "kind %d: %g, not %g", kind, share, first);
  }
  return first;
}

Test(choose, chained_lines) {
  static bool has[ORDER][ORDER];
  cr_assert_eq(share_of(has, true), 0, "a diagonal");
  for (int i = 1; i < ORDER; i++) has[i][i - 1] = true;
  cr_assert_eq(share_of(has, false), 0, "a chain: all columns but the last are equally long");
  for (int i = 0; i < ORDER; i++)
    for (int j = 0; j < i; j++) has[i][j] = true;
  cr_assert_eq(share_of(has, false), 1, "a full triangle");
  for (int i = 6; i < ORDER; i++)
    for (int j = 0; j < 6; j++) has[i][j] = false;
  cr_assert_eq(share_of(has, true), 1, "two full triangles");
  has[3][1] = false; /* column 1 has 3 entries then, as column 2; columns 2 to 5 and 6 to 11 remain chains */
  double share = share_of(has, true);
  cr_assert_float_eq(share, (6 + 15) / 29.0, 1e-12, "%g", share);
}

/* Lines of a wide band are chained, also where their lengths differ a little or a gap is more than 40 places from the diagonal. Those of
 * a narrow band, or with a gap nearer to the diagonal, are not. */
Test(choose, bands_are_chained) {
  enum { N = ORDER_MOST };
  static bool has[N][N];
  static const struct {
    int band, gap, jump; /* entries of a row before its diagonal, the place of a missing one, how many fewer every other row has */
    bool chained;
  } known[] = {{40, 0, 0, true},  {80, 0, 0, true},   {60, 0, 2, true}, {60, 50, 0, true},
               {39, 0, 0, false}, {80, 20, 0, false}, {60, 0, 6, true}, {60, 1, 0, false}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    memset(has, 0, sizeof has);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < i; j++) has[i][j] = i - j <= known[k].band - i % 2 * known[k].jump && i - j != known[k].gap;
    for (int kind = 0; kind < 4; kind++) {
      const double share = share_of_kind(kind, N, has, k % 2 == 0);
      cr_assert(known[k].chained ? share > 0.9 : share < 0.45, "band %zu, kind %d: %g", k, kind, share);
    }
  }
}

Test(choose, an_empty_triangle_has_no_chains) {
  int64_t ptr[1] = {0};
  double share = -1;
  cr_assert_eq(spti_chained_share(&share, &(spti_view){.ptr = ptr}), SPTRSM_OK);
  cr_assert_eq(share, 0);
}

/* Whatever is asked for, there is a registered method for it, deterministic where that is asked for. */
Test(choose, always_a_method_that_exists) {
  static const int32_t orders[] = {0, 1, 33, 100000}, levels[] = {0, 1, 7, 5000};
  const bool has_cuda = spti_method_find("cusparse", strlen("cusparse"), SPTRSM_CUDA) != NULL;
  for (int o = 0; o < 4; o++)
    for (int l = 0; l < 4; l++)
      for (int64_t nrhs = 0; nrhs < 12; nrhs++)
        for (int thin = 0; thin <= levels[l]; thin += 1 + levels[l] / 4)
          for (int kind = 0; kind < 4; kind++) {
            spti_features f = problem(orders[o], levels[l], thin, levels[l] - thin, nrhs);
            f.panel_hops = (int32_t)nrhs % 3 * levels[l] / 8;
            f.place = kind & 1 ? SPTRSM_HOST : SPTRSM_CUDA;
            f.deterministic = (kind & 2) != 0;
            f.chained = 0.25 * o;
            spti_choice choice = spti_choose(&f, 0);
            const spti_method *method = spti_method_find(choice.method, strcspn(choice.method, ":"), f.place);
            if (f.place == SPTRSM_CUDA && !has_cuda) continue;
            cr_assert(method, "%s", choice.method);
            cr_assert(!f.deterministic || (method->flags & SPTI_DETERMINISTIC), "%s", choice.method);
            cr_assert_eq(method->place, f.place, "%s", choice.method);
          }
}

/* ---- the table and the registered methods ---- */

/* Does a row of the table name this method of that place? */
static bool auto_can_take(const char *method, sptrsm_place place) {
  sptrsm_auto_row row = {.size = sizeof row};
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    cr_assert_eq(sptrsm_auto_row_at(&row, r, NULL), SPTRSM_OK);
    const size_t length = strcspn(row.method, ":");
    if (row.place == place && strlen(method) == length && memcmp(row.method, method, length) == 0) return true;
  }
  return false;
}

/* Taken where a memory limit leaves no room for the method of the table, by no row of it. */
static bool taken_by_a_limit(const char *method) { return strcmp(method, "block-streamed") == 0; }

/* `auto` never takes a method that is kept as a reference, and can take every other one. */
Test(choose, references_and_no_others_are_left_out) {
  sptrsm_method_info m = {.size = sizeof m};
  int references = 0;
  for (int i = 0; i < sptrsm_method_count(); i++) {
    cr_assert_eq(sptrsm_method_at(&m, i), SPTRSM_OK);
    cr_expect_neq(auto_can_take(m.name, m.place) || taken_by_a_limit(m.name), m.reference != 0, "%s", m.name);
    references += m.reference != 0;
  }
  cr_expect_gt(references, 0);
}

/* ---- the table by sptrsm_auto.h ---- */

static sptrsm_auto_row row_named(const char *name, const char *device) {
  sptrsm_auto_row row = {.size = sizeof row};
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    cr_assert_eq(sptrsm_auto_row_at(&row, r, device), SPTRSM_OK);
    if (strcmp(row.name, name) == 0) return row;
  }
  cr_assert_fail("no row \"%s\"", name);
  return row;
}

static int feature_named(const char *name) {
  int f = 0;
  while (f < SPTRSM_AUTO_FEATURES && strcmp(sptrsm_auto_feature(f), name) != 0) f++;
  cr_assert_lt(f, SPTRSM_AUTO_FEATURES, "no feature \"%s\"", name);
  return f;
}

Test(choose, rows_have_names_of_their_own) {
  sptrsm_auto_row row = {.size = sizeof row};
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    cr_assert_eq(sptrsm_auto_row_at(&row, r, NULL), SPTRSM_OK);
    cr_assert(row.name && row.method && row.reason);
    cr_expect_str_eq(row_named(row.name, NULL).reason, row.reason, "the first row named %s", row.name);
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++) cr_expect(row.most[f] == 0 || row.least[f] <= row.most[f]);
  }
  cr_assert_null(sptrsm_auto_feature(-1));
  cr_assert_null(sptrsm_auto_feature(SPTRSM_AUTO_FEATURES));
  cr_assert_eq(sptrsm_auto_row_at(&row, sptrsm_auto_row_count(), NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_auto_row_at(&row, -1, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_auto_row_at(NULL, 0, NULL), SPTRSM_ERR_ARGUMENT);
}

/* Tuned bounds hold on their device, and those of the table elsewhere. Every tuned bound names a row and a feature
 * that exist. */
Test(choose, bounds_of_devices) {
  static const struct {
    const char *device, *row, *feature;
    double least, most;
  } tuned[] = {
#define AUTO_BOUNDS(device, row, feature, least, most) {device, row, #feature, least, most},
#include "core/select/auto_tuned.def"
      {0}};
  for (size_t t = 0; tuned[t].device; t++) {
    const int f = feature_named(tuned[t].feature);
    const sptrsm_auto_row there = row_named(tuned[t].row, tuned[t].device);
    cr_expect(there.least[f] == tuned[t].least && there.most[f] == tuned[t].most, "%s %s", tuned[t].device, tuned[t].row);
  }
  const sptrsm_auto_row none = row_named("panels", NULL), other = row_named("panels", "a device that nobody has");
  cr_assert_eq(memcmp(none.least, other.least, sizeof none.least), 0);
  cr_assert_eq(none.least[feature_named("levels_a_hop")], 5);
  cr_assert_str_eq(row_named("stencil", NULL).method, "structgrid");
}

/* Beyond the limits the number of level sets does not change the choice. */
Test(choose, levels_beyond_the_limits) {
  const spti_choose_limits limits = spti_choose_limits_on(NULL);
  cr_assert_eq(limits.levels, 7);
  cr_assert_eq(limits.a_hop, 5);
  for (int32_t hops = 1; hops < 300; hops += 23)
    for (int64_t nrhs = 0; nrhs < 100; nrhs = 3 * nrhs + 1) {
      const int32_t enough = hops * limits.a_hop > limits.levels ? hops * limits.a_hop : limits.levels;
      for (int32_t levels = enough; levels < 100000; levels *= 3)
        for (int thin = 0; thin < 2; thin++) expect(with_panels(problem(100000, levels, thin * levels, levels / 2, nrhs), hops), "block");
    }
}

/* The features of a matrix, by their public names. */
Test(choose, features_of_a_matrix) {
  enum { N = 60 };
  static int64_t ptr[N + 1];
  static int32_t idx[N * N];
  static double val[N * N], values[SPTRSM_AUTO_FEATURES];
  for (int i = 0; i < N; i++) {
    ptr[i + 1] = ptr[i] + i + 1;
    for (int j = 0; j <= i; j++) idx[ptr[i] + j] = j, val[ptr[i] + j] = 1;
  }
  const sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = N, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_context *host;
  sptrsm_matrix *matrix;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.nrhs_hint = 7;
  cr_assert_eq(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&matrix, host, &T, SPTRSM_BORROW), SPTRSM_OK);
  cr_assert_eq(sptrsm_auto_features(values, matrix, &options), SPTRSM_OK);
  cr_expect_eq(values[feature_named("nrhs")], 7);
  cr_expect_gt(values[feature_named("chained")], 0.9); /* a dense triangle */
  cr_assert_eq(sptrsm_auto_features(values, matrix, NULL), SPTRSM_OK);
  cr_expect_eq(values[feature_named("nrhs")], 0);
  cr_assert_eq(sptrsm_auto_features(NULL, matrix, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_auto_features(values, NULL, NULL), SPTRSM_ERR_ARGUMENT);
  options.p = -1;
  cr_assert_eq(sptrsm_auto_features(values, matrix, &options), SPTRSM_ERR_ARGUMENT);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(host);
}

#ifdef CHOOSE_EMULATED
/* Two levels decide by themselves, and yet the caller is told of the widths: one level has a row, the other one all others. */
Test(choose, features_that_the_choice_does_not_need) {
  enum { N = 100 };
  static int64_t ptr[N + 1];
  static int32_t idx[2 * N];
  static double val[2 * N], values[SPTRSM_AUTO_FEATURES];
  for (int i = 0, p = 0; i < N; ptr[++i] = p) {
    if (i > 0) idx[p] = 0, val[p++] = 1;
    idx[p] = i, val[p++] = 2;
  }
  const sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = N, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_context *device;
  sptrsm_matrix *matrix;
  cr_assert_eq(sptrsm_context_create(&device, SPTRSM_CUDA, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_str_eq(sptrsm_auto_device(device), sptrsm_context_describe(device));
  cr_assert_eq(sptrsm_matrix_create(&matrix, device, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_auto_features(values, matrix, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_expect_eq(values[feature_named("levels")], 2);
  cr_expect_eq(values[feature_named("thin_share")], 0.5);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(device);
}
#endif
