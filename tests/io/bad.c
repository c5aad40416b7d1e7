/* bad.c -- files that must be refused: status, and a message that names place, value and way out.
 *
 * One row per bad file of tests/data/make_bad_fixtures.py. Every case also runs under AddressSanitizer, so nothing leaks.
 */
#include "fixture.h"
#include "test_folder.h"

#include <criterion/criterion.h>
#include <float.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef enum {
  MATRIX,
  TIDY_MATRIX,
  TRIANGLE,
  LOWER,
  UPPER,
  FACTORS,
  BLOCK,
  ANY_BLOCK,
  COLUMNS,
  SMALL_BLOCK,
  SMALL_MATRIX,
  REAL_MATRIX,
  LIST
} way;

typedef struct {
  const char *where;
  way how;
  sptrsm_status status;
  const char *says[4]; /* what the message must contain */
} bad_row;

#define M(name)     DATA("bad_matrices.h5:/" name)
#define P(name)     DATA("bad_binsparse.h5:/" name)
#define S(name)     DATA("bad_storage.h5:/" name)
#define F(name)     DATA("bad_sets.h5:/" name)
#define X(name)     DATA("bad_market/" name ".mtx")
#define STRUCTURE   SPTRSM_ERR_STRUCTURE
#define SINGULAR    SPTRSM_ERR_SINGULAR
#define UNSUPPORTED SPTRSM_ERR_UNSUPPORTED
#define MEMORY      SPTRSM_ERR_MEMORY
#define IO          SPTRSM_ERR_IO
#define ARGUMENT    SPTRSM_ERR_ARGUMENT

static const bad_row matrices[] = {
    {M("ptr_start"), MATRIX, STRUCTURE, {"ptr_start/indptr: [0] is 1", "must be 0"}},
    {M("ptr_decrease"), MATRIX, STRUCTURE, {"ptr_decrease/indptr: [3] is 1", "less than [2]"}},
    {M("ptr_beyond"), MATRIX, STRUCTURE, {"ptr_beyond/indptr: [3] is 1000", "indices"}},
    {M("ptr_end"), MATRIX, STRUCTURE, {"ptr_end/indptr: the last one, [6]", "number of indices"}},
    {M("ptr_negative"), MATRIX, STRUCTURE, {"ptr_negative/indptr: [1] is -1"}},
    {M("ptr_short"), MATRIX, STRUCTURE, {"ptr_short/indptr: has 6 pointers", "6 x 6 needs 7"}},
    {M("ptr_float"), MATRIX, STRUCTURE, {"ptr_float/indptr: holds f64", "integers"}},
    {M("ptr_scalar"), MATRIX, STRUCTURE, {"ptr_scalar/indptr", "scalar"}},
    {M("ptr_3d"), MATRIX, STRUCTURE, {"ptr_3d/indptr: is 7 x 1 x 1, a vector is needed"}},
    {M("ptr_huge"), MATRIX, STRUCTURE, {"ptr_huge/indptr: [3] is", "only"}},
    {M("idx_negative"), MATRIX, STRUCTURE, {"idx_negative/indices: [4] is -1, outside [0, 6)"}},
    {M("idx_beyond"), MATRIX, STRUCTURE, {"idx_beyond/indices: [4] is 6, outside [0, 6)", "0-based"}},
    {M("idx_64bit"), MATRIX, STRUCTURE, {"idx_64bit/indices: [4] is 4294967297, outside [0, 6)"}},
    {M("idx_short"), MATRIX, STRUCTURE, {"idx_short/data: has", "idx_short/indices has"}},
    {M("idx_text"), MATRIX, STRUCTURE, {"idx_text/indices", "not numbers"}},
    {M("val_short"), MATRIX, STRUCTURE, {"val_short/data: has", "entries, which need"}},
    {M("val_text"), MATRIX, STRUCTURE, {"val_text/data", "not numbers"}},
    {M("val_compound"), MATRIX, STRUCTURE, {"val_compound/data", "not numbers", "{r,i}"}},
    {M("val_nan"), TRIANGLE, STRUCTURE, {"val_nan: entry (1,0) is NaN", "first of 1"}},
    {M("val_inf2"), TRIANGLE, STRUCTURE, {"val_inf2: entry (1,0) is NaN or infinite", "first of 2"}},
    {M("diag_nan"), TRIANGLE, SINGULAR, {"diag_nan: diagonal entry (5,5) is NaN"}},
    {M("diag_zero"), TRIANGLE, SINGULAR, {"diag_zero: diagonal entry (5,5) is zero"}},
    {M("shape_negative"), MATRIX, STRUCTURE, {"shape_negative: shape -1 x 6"}},
    {M("shape_large"), MATRIX, STRUCTURE, {"shape_large: shape 2147483648 x 6"}},
    {M("shape_three"), MATRIX, STRUCTURE, {"shape_three: attribute shape must hold 2 integers"}},
    {M("format"), MATRIX, STRUCTURE, {"format: encoding-type is \"dok_matrix\"", "csr_matrix"}},
    {M("unsorted"), MATRIX, STRUCTURE, {"unsorted: row 1 is not sorted: column 0 comes after 1", "--tidy"}},
    {M("duplicate"), MATRIX, STRUCTURE, {"duplicate: row 1 has column 1 twice", "--tidy"}},
    {M("rectangle"), TRIANGLE, STRUCTURE, {"rectangle: is 3 x 5", "square"}},
    {M("above"), TRIANGLE, STRUCTURE, {"above: has entries on both sides", "(1,0)", "(1,2)", "--take-triangle"}},
    {M("above"), LOWER, STRUCTURE, {"above: row 1 has entry (1,2) above the diagonal", "--uplo upper", "--take-triangle"}},
    {M("above"), UPPER, STRUCTURE, {"above: row 1 has entry (1,0) below the diagonal", "--uplo lower"}},
    {M("no_diagonal"), TRIANGLE, SINGULAR, {"no_diagonal: row 1 has no diagonal entry", "--unit"}},
    {M("complex"), REAL_MATRIX, UNSUPPORTED, {"complex/data: values are complex", "--dtype c128"}},
    {M("bad_own"), MATRIX, STRUCTURE, {"bad_own: uplo is \"sideways\"", "lower"}},
    {M("bad_diag"), MATRIX, STRUCTURE, {"bad_diag: diag is \"none\"", "unit-implicit"}},
    {M("nothing"), MATRIX, STRUCTURE, {"nothing: not a sparse matrix", "sptrsm-info"}},
    {M("nothing/x"), MATRIX, STRUCTURE, {"nothing/x: not a sparse matrix"}},
    {M("absent"), MATRIX, IO, {"absent: no such object", "there is above"}},
    {M("ptr_empty"), MATRIX, STRUCTURE, {"ptr_empty/indptr: is empty"}},
    {M("ptr_empty_shape"), MATRIX, STRUCTURE, {"ptr_empty_shape: shape -1 x -1 is negative"}},
    {M("matlab_jc_empty"), MATRIX, STRUCTURE, {"matlab_jc_empty/jc: is empty"}},
    {M("turned/L"),
     TRIANGLE,
     STRUCTURE,
     {"L: says neither CSR nor CSC", "as CSR it is upper", "looks like CSC: store format = \"csc\"", "or give --uplo upper"}},
    {M("turned/L"), LOWER, STRUCTURE, {"looks like CSC: store format = \"csc\""}},
    {M("turned/L"), FACTORS, STRUCTURE, {"looks like CSC: store format = \"csc\"", "or give --uplo upper"}},
    {M("turned/U"), TRIANGLE, STRUCTURE, {"as CSR it is lower", "looks like CSC: store format = \"csc\"", "or give --uplo lower"}},
    {M("idx_64bit_unsigned"), MATRIX, STRUCTURE, {"idx_64bit_unsigned/indices: [4] is 18446744073709551615, outside [0, 6)"}},
    {M("coo_range"), MATRIX, STRUCTURE, {"coo_range/row: ", "is 6, outside [0, 6)"}},
    {M("coo_huge"), MATRIX, SINGULAR, {"coo_huge: order 2147483647, but only 2 entries", "--unit"}},
    {M("coo_huge_shape"),
     SMALL_MATRIX,
     MEMORY,
     {"coo_huge_shape: needs 34.4 GB of memory and the limit is 100 B", "raise the limit (--memory-limit)"}},
    {M("coo_length"), MATRIX, STRUCTURE, {"coo_length/row: has", "coo_length/col has"}},
    {M("coo_values"), MATRIX, STRUCTURE, {"coo_values/data: has"}},
    {M("coo_negative"), MATRIX, STRUCTURE, {"coo_negative/row: [", "is -1, outside [0, 6)"}},
    {M("coo_twice"), MATRIX, STRUCTURE, {"coo_twice: row 0 has column 0 twice", "--tidy"}},
    {M("matlab_rows"), MATRIX, STRUCTURE, {"matlab_rows/ir: [", "outside [0, 3)"}},
    {M("matlab_attribute"), MATRIX, STRUCTURE, {"matlab_attribute: attribute MATLAB_sparse must hold 1 integer"}},
    {M("matlab_no_jc"), MATRIX, STRUCTURE, {"matlab_no_jc/jc: no such object"}},
    {M("matlab_no_data"), MATRIX, STRUCTURE, {"matlab_no_data/data: no such object"}},
    {DATA("root.h5"), SMALL_MATRIX, MEMORY, {"root.h5:/: needs", "the limit is 100 B; raise the limit (--memory-limit)"}},
};

static const bad_row binsparse[] = {
    {P("version"), MATRIX, STRUCTURE, {"version: Binsparse version \"2.0\"", "0.1"}},
    {P("version_number"), MATRIX, STRUCTURE, {"\"version\" must be a string"}},
    {P("format"), MATRIX, STRUCTURE, {"format \"DCSR\" is not read", "CSR"}},
    {P("format_missing"), MATRIX, STRUCTURE, {"\"format\" must be a string"}},
    {P("shape_missing"), MATRIX, STRUCTURE, {"\"shape\" must be an array of two integers"}},
    {P("shape_one"), MATRIX, STRUCTURE, {"\"shape\" must be an array of two integers"}},
    {P("shape_real"), MATRIX, STRUCTURE, {"\"shape\" must be made of integers"}},
    {P("shape_large"), MATRIX, STRUCTURE, {"shape 1099511627776 x 6"}},
    {P("shape_minus"), MATRIX, STRUCTURE, {"shape_minus: shape -1 x -1 is negative"}},
    {P("nnz_missing"), MATRIX, STRUCTURE, {"\"number_of_stored_values\" must be"}},
    {P("nnz_real"), MATRIX, STRUCTURE, {"\"number_of_stored_values\" must be"}},
    {P("nnz_negative"), MATRIX, STRUCTURE, {"\"number_of_stored_values\" must be"}},
    {P("nnz_wrong"), MATRIX, STRUCTURE, {"nnz_wrong: declares", "indices_1 has"}},
    {P("types_missing"), MATRIX, STRUCTURE, {"\"data_types.values\" must be"}},
    {P("structure"), MATRIX, STRUCTURE, {"unknown structure \"diagonal_magic\"", "symmetric_lower"}},
    {P("structure_number"), MATRIX, STRUCTURE, {"\"structure\" must be a string"}},
    {P("type_unknown"), MATRIX, STRUCTURE, {"value type \"quaternion[float64]\"", "complex[float64]"}},
    {P("complex_short"), MATRIX, STRUCTURE, {"complex_short/values: has"}},
    {P("complex_compound"), MATRIX, STRUCTURE, {"complex_compound/values: declared as complex[...]", "compound"}},
    {P("iso_long"), MATRIX, STRUCTURE, {"iso_long/values: has"}},
    {P("own_bad"), MATRIX, STRUCTURE, {"own_bad: uplo is \"middle\""}},
    {P("symmetric"), TRIANGLE, STRUCTURE, {"symmetric: declared symmetric", "--take-triangle", "lower triangle"}},
    {P("hermitian"), TRIANGLE, STRUCTURE, {"hermitian: declared Hermitian", "upper triangle"}},
    {P("dense"), MATRIX, STRUCTURE, {"dense: is a dense block (Binsparse DMATR)"}},
    {P("dense_length"), BLOCK, STRUCTURE, {"dense_length/values: has 5 values", "6 x 3 needs 18"}},
    {P("dense_iso"), BLOCK, UNSUPPORTED, {"dense_iso: a dense block of one repeated value"}},
    {P("no_values"), MATRIX, STRUCTURE, {"no_values/values: no such object", "there is indices_1"}},
    {P("json_broken"), MATRIX, STRUCTURE, {"json_broken: attribute binsparse is not valid JSON", "line 1"}},
    {P("json_array"), MATRIX, STRUCTURE, {"json_array: attribute binsparse: \"binsparse\" must be an object"}},
    {P("json_deep"), MATRIX, STRUCTURE, {"json_deep: attribute binsparse nests deeper than 32"}},
    {P("json_twice"), MATRIX, STRUCTURE, {"json_twice", "not valid JSON", "duplicate"}},
    {P("json_overflow"), MATRIX, STRUCTURE, {"json_overflow", "not valid JSON", "integer"}},
    {P("json_empty"), MATRIX, STRUCTURE, {"json_empty", "not valid JSON"}},
    {P("json_number"), MATRIX, STRUCTURE, {"json_number: attribute binsparse is not a string"}},
    {P("json_two"), MATRIX, STRUCTURE, {"json_two: attribute binsparse is not a string"}},
    {P("symmetric"), BLOCK, STRUCTURE, {"symmetric: is a sparse matrix (Binsparse CSR)", "dense block"}},
};

static const bad_row storage[] = {
    {S("link"), MATRIX, IO, {"link: an external link", "--allow-external"}},
    {S("link_missing"), MATRIX, IO, {"link_missing: an external link"}},
    {S("inside"), MATRIX, IO, {"inside/data: an external link"}},
    {S("link/data"), MATRIX, IO, {"link/data: an external link"}},
    {S("dangling"), MATRIX, IO, {"dangling: can't be opened", "dangling link"}},
    {S("external"), BLOCK, IO, {"external: its numbers lie in another file", "--allow-external"}},
    {S("virtual"), BLOCK, IO, {"virtual: a virtual dataset", "--allow-external"}},
    {S("lzf"), BLOCK, UNSUPPORTED, {"lzf: filter 32000", "h5repack"}},
    {S("scaleoffset"), BLOCK, UNSUPPORTED, {"scaleoffset: filter 6", "deflate"}},
    {S("bomb"), ANY_BLOCK, MEMORY, {"bomb: needs", "--cols"}},
    {S("overflow"), ANY_BLOCK, MEMORY, {"overflow: 4611686018427387904 x 8 numbers"}},
    {S("big_chunk"), SMALL_BLOCK, MEMORY, {"big_chunk: needs 537 MB"}},
    {S("inflates"), BLOCK, MEMORY, {"inflates: its compressed data are larger", "decompression bomb"}},
    {S("cube"), BLOCK, STRUCTURE, {"cube: is ", "the blocks of a batch, but one block of two dimensions is needed"}},
    {S("scalar"), BLOCK, STRUCTURE, {"scalar: is a scalar"}},
    {S("null"), BLOCK, STRUCTURE, {"null: is a scalar or empty"}},
    {S("text"), BLOCK, STRUCTURE, {"text: not numbers"}},
    {S("type"), BLOCK, STRUCTURE, {"type: neither a group nor a dataset"}},
    {S("order"), BLOCK, STRUCTURE, {"order: attribute order is \"Z\"", "use C"}},
    {S("order_F"), BLOCK, STRUCTURE, {"order_F: has 3 rows", "order 6", "--rhs-order"}},
    {S("loop"), BLOCK, STRUCTURE, {"loop: is a group"}},
    {S("checksum"), ANY_BLOCK, IO, {"checksum: can't be read", "checksum"}},
    {DATA("blocks.h5:/B"), COLUMNS, ARGUMENT, {"columns 2:9 asked for, but it has 3"}},
    {DATA("blocks.h5:/B"), SMALL_BLOCK, MEMORY, {"B: needs", "--memory-limit"}},
    {DATA("blocks.h5:/column"), COLUMNS, ARGUMENT, {"columns 2:9", "within 0:1"}},
    {DATA("other.h5:/B"), TRIANGLE, STRUCTURE, {"B: not a sparse matrix"}},
    {DATA("bad_matrices.h5"), BLOCK, STRUCTURE, {"holds no B and no other block; name one as FILE:/path"}},
    {DATA("truncated.h5"), MATRIX, IO, {"truncated.h5: an HDF5 file that can't be opened", "truncated"}},
    {DATA("not_hdf5.h5"), MATRIX, STRUCTURE, {"not_hdf5.h5: not an HDF5 file"}},
    {DATA("empty.h5"), FACTORS, STRUCTURE, {"empty.h5: is empty"}},
    {DATA("raw.bin"), FACTORS, STRUCTURE, {"raw.bin: not an HDF5 file"}},
    {DATA("absent.h5:/L"), FACTORS, IO, {"absent.h5: No such file"}},
    {DATA("."), LIST, IO, {"not a regular file"}},
    {DATA("general.mtx"), BLOCK, UNSUPPORTED, {"general.mtx: dense blocks are read from HDF5"}},
    {DATA("general.mtx:/L"), MATRIX, ARGUMENT, {"general.mtx: a Matrix Market file holds no /L"}},
    {S("link"), LIST, IO, {"link: an external link"}},
};

static const bad_row sets[] = {
    {F("nothing"), FACTORS, STRUCTURE, {"nothing: neither a matrix nor a factor set", "sptrsm-info"}},
    {F("no_L"), FACTORS, STRUCTURE, {"no_L: has U but no L"}},
    {F("orders"), FACTORS, STRUCTURE, {"orders/L: order 6", "orders/U has order 4"}},
    {F("swapped"), FACTORS, STRUCTURE, {"swapped/L: row", "above the diagonal", "are L and U swapped"}},
    {F("some_above"), FACTORS, STRUCTURE, {"some_above/L: row 0 has entry (0,3) above the diagonal; use --take-triangle to drop"}},
    {F("unsaid"),
     FACTORS,
     STRUCTURE,
     {"unsaid/L: says neither", "L and U look like CSC: store format = \"csc\"", "or are L and U swapped?"}},
    {F("unsaid_one"), FACTORS, STRUCTURE, {"unsaid_one/L: says neither", "looks like CSC: store format = \"csc\" (attribute or dataset)"}},
    {F("singular"), FACTORS, SINGULAR, {"singular/L: diagonal entry (0,0) is zero"}},
    {F("A_order"), FACTORS, STRUCTURE, {"A_order/A: is 4 x 4", "order 6"}},
    {F("A_nan"), FACTORS, STRUCTURE, {"A_nan/A: entry (", "NaN"}},
    {F("perm_unsaid"), FACTORS, STRUCTURE, {"perm_unsaid/perm_row: attribute convention is missing", "gather", "scatter"}},
    {F("perm_nonsense"), FACTORS, STRUCTURE, {"perm_nonsense/perm_row: attribute convention is \"both\""}},
    {F("perm_twice"), FACTORS, STRUCTURE, {"perm_twice/perm_r: [4] is 3, which [3] is already"}},
    {F("perm_range"), FACTORS, STRUCTURE, {"perm_range/perm_r: [4] is 9, outside [0, 6)"}},
    {F("perm_negative"), FACTORS, STRUCTURE, {"perm_negative/perm_c: [2] is -2"}},
    {F("perm_length"), FACTORS, STRUCTURE, {"perm_length/perm_r: has 5 values", "order 6"}},
    {F("perm_fraction"), FACTORS, STRUCTURE, {"perm_fraction/p: [2] is 2.5, not an integer"}},
    {F("perm_text"), FACTORS, STRUCTURE, {"perm_text/p: not numbers"}},
    {F("perm_both"), FACTORS, STRUCTURE, {"perm_both: has both perm_r and p"}},
    {F("scale_unsaid"), FACTORS, STRUCTURE, {"scale_unsaid/Rs: attribute op is missing", "multiply", "divide"}},
    {F("scale_zero"), FACTORS, STRUCTURE, {"scale_zero/scale_row: [2] is 0"}},
    {F("scale_nan"), FACTORS, STRUCTURE, {"scale_nan/scale_row: [3] is nan"}},
    {F("scale_op"), FACTORS, STRUCTURE, {"scale_op/scale_row: attribute op must be multiply or divide"}},
    {F("scale_length"), FACTORS, STRUCTURE, {"scale_length/scale_row: has 5 values"}},
    {F("D_zero"), FACTORS, SINGULAR, {"D_zero/D: [2] is zero"}},
    {F("D_nan"), FACTORS, SINGULAR, {"D_nan/D: [2] is NaN or infinite"}},
    {F("D_length"), FACTORS, STRUCTURE, {"D_length/D: has 5 values"}},
    {F("D_missing"), FACTORS, STRUCTURE, {"D_missing: has D_sub but no D"}},
    {F("D_overlap"), FACTORS, STRUCTURE, {"D_overlap/D_sub: [1] and [2] are both nonzero"}},
    {F("D_last"), FACTORS, STRUCTURE, {"D_last/D_sub: the last entry, [5], must be zero"}},
    {F("D_sub_length"), FACTORS, STRUCTURE, {"D_sub_length/D_sub: has 2 values, needs 6"}},
    {F("D_block"), FACTORS, SINGULAR, {"D_block/D: the 2x2 block of rows 2 and 3, [2, 4; 4, 8]", "singular", "repair"}},
    {F("D_block_zero"), FACTORS, SINGULAR, {"D_block_zero/D: [4] is zero"}},
    {F("D_block_overflow"), FACTORS, SINGULAR, {"D_block_overflow/D: the 2x2 block of rows 1 and 2", "or overflows"}},
    {F("D_block_complex"), FACTORS, SINGULAR, {"D_block_complex/D: the 2x2 block of rows 3 and 4, [1+0i, "}},
    {F("P_matrix"), FACTORS, UNSUPPORTED, {"P_matrix: a matrix P is not read", "p, q"}},
    {F("D_matrix"), FACTORS, UNSUPPORTED, {"D_matrix: a matrix D is not read"}},
    {F("dense_P"), FACTORS, UNSUPPORTED, {"dense_P: a matrix P is not read", "p, q"}},
    {F("dense_Q"), FACTORS, UNSUPPORTED, {"dense_Q: a matrix Q is not read"}},
    {F("dense_R"), FACTORS, UNSUPPORTED, {"dense_R: a matrix R is not read", "Rs"}},
    {F("lone_P"), FACTORS, UNSUPPORTED, {"lone_P: a matrix P is not read", "FILE:/L"}},
    {F("lone_Q"), FACTORS, UNSUPPORTED, {"lone_Q: a matrix Q is not read"}},
    {F("dense_D"), FACTORS, UNSUPPORTED, {"dense_D: a matrix D is not read", "D (diagonal)"}},
    {DATA("sets.h5"), FACTORS, STRUCTURE, {"(no L, no U); there is /cholesky, /complex_symmetric", "say which, as FILE:/path"}},
    {M("turned"), MATRIX, STRUCTURE, {"row/col/data); there is /turned/L, /turned/U: say which, as FILE:/path"}},
    {F("layout"), FACTORS, UNSUPPORTED, {"layout: attribute sptrsm_layout is not \"1\"", "update"}},
    {F("n"), FACTORS, STRUCTURE, {"n: attribute n is 99, but L has order 6"}},
    {F("upper"), FACTORS, STRUCTURE, {"upper: attribute upper is \"maybe\"", "transpose"}},
    {F("upper_missing"), FACTORS, STRUCTURE, {"upper_missing: attribute upper says U is given"}},
};

static const bad_row market[] = {
    {X("short"), MATRIX, STRUCTURE, {"short.mtx: ends after line 3", "truncated"}},
    {X("long"), MATRIX, STRUCTURE, {"long.mtx: line 4: more entries"}},
    {X("range"), MATRIX, STRUCTURE, {"range.mtx: line 3: entry (4,1) lies outside the 3 x 3", "1-based"}},
    {X("zero"), MATRIX, STRUCTURE, {"zero.mtx: line 3: entry (0,1)"}},
    {X("word"), MATRIX, STRUCTURE, {"word.mtx: line 3: needs a value"}},
    {X("value"), MATRIX, STRUCTURE, {"value.mtx: line 3: needs a value"}},
    {X("extra"), MATRIX, STRUCTURE, {"extra.mtx: line 3: has more on it"}},
    {X("sizes"), MATRIX, STRUCTURE, {"sizes.mtx: line 2: needs three sizes"}},
    {X("large"), MATRIX, STRUCTURE, {"large.mtx: shape 3000000000 x 3"}},
    {X("claims"), MATRIX, MEMORY, {"claims.mtx: needs"}},
    {X("nan"), TRIANGLE, STRUCTURE, {"nan.mtx: entry (1,0) is NaN"}},
    {X("field"), MATRIX, STRUCTURE, {"field.mtx: line 1: the field must be"}},
    {X("symmetry"), MATRIX, STRUCTURE, {"symmetry.mtx: line 1: the symmetry must be"}},
    {X("array"), MATRIX, STRUCTURE, {"array.mtx: format \"array\""}},
    {X("banner"), MATRIX, STRUCTURE, {"banner.mtx: line 1: the banner"}},
    {X("object"), MATRIX, STRUCTURE, {"object.mtx: line 1: only the object"}},
    {X("both"), MATRIX, STRUCTURE, {"both.mtx: entry (1,3): a symmetric file must store one triangle"}},
    {X("oblong"), MATRIX, STRUCTURE, {"oblong.mtx: line 2: a symmetric matrix must be square"}},
    {X("twice"), MATRIX, STRUCTURE, {"twice.mtx: row 1 has column 1 twice", "--tidy"}},
    {X("line"), MATRIX, STRUCTURE, {"line.mtx: line 3: longer than"}},
    {X("null"), MATRIX, STRUCTURE, {"null.mtx: line 4: has a zero byte"}},
    {X("unfinished"), MATRIX, STRUCTURE, {"unfinished.mtx: line 4: the last line does not end", "add a newline"}},
    {X("unfinished_size"), MATRIX, STRUCTURE, {"unfinished_size.mtx: line 2: the last line does not end"}},
    {X("crowded"), MATRIX, STRUCTURE, {"crowded.mtx: line 2: promises 4000000000000000 entries", "3 x 3 matrix holds at most 9"}},
    {X("sparse"), MATRIX, SINGULAR, {"sparse.mtx: order 2147483647, but only 2 entries", "--unit"}},
    {DATA("bad_market/cut.mtx.gz"), MATRIX, STRUCTURE, {"cut.mtx.gz: ends after line", "truncated"}},
    {DATA("bad_market/cut_number.mtx.gz"), MATRIX, STRUCTURE, {"cut_number.mtx.gz: ends after line", "truncated"}},
    {DATA("bad_market/cut_end.mtx.gz"), MATRIX, STRUCTURE, {"cut_end.mtx.gz: ends after line 202", "truncated"}},
    {DATA("bad_market/damaged.mtx.gz"), MATRIX, IO, {"damaged.mtx.gz: the compressed data are damaged"}},
};

static sptrsm_status load_matrix(const bad_row *row, const sptrsm_io_options *o) {
  sptrsm_file_matrix *matrix = NULL;
  sptrsm_sparse T;
  sptrsm_status status = sptrsm_file_matrix_load(&matrix, row->where, o);
  int as_triangle = row->how == TRIANGLE || row->how == LOWER || row->how == UPPER;
  if (as_triangle) cr_assert(status == SPTRSM_OK || row->where == NULL || matrix == NULL);
  if (status == SPTRSM_OK && as_triangle) status = sptrsm_file_matrix_triangle(&T, matrix, o);
  if (status != SPTRSM_OK && !as_triangle) cr_assert(matrix == NULL, "%s: out was written", row->where);
  sptrsm_file_matrix_free(matrix);
  return status;
}

static sptrsm_status load_block(const bad_row *row, const sptrsm_io_options *o) {
  sptrsm_file_block *block = NULL;
  sptrsm_status status = sptrsm_file_block_load(&block, row->where, row->how == ANY_BLOCK ? -1 : FIXTURE_N, o);
  cr_assert((status == SPTRSM_OK) == (block != NULL), "%s: out was written", row->where);
  sptrsm_file_block_free(block);
  return status;
}

static sptrsm_status load_factors(const bad_row *row, const sptrsm_io_options *o) {
  sptrsm_file_factors *factors = NULL;
  sptrsm_status status = sptrsm_file_factors_load(&factors, row->where, o);
  cr_assert((status == SPTRSM_OK) == (factors != NULL), "%s: out was written", row->where);
  sptrsm_file_factors_free(factors);
  return status;
}

static sptrsm_status try_row(const bad_row *row, int in_process) {
  sptrsm_io_options o;
  sptrsm_file_listing list = {0};
  sptrsm_io_options_init(&o);
  o.in_process = in_process;
  o.tidy = row->how == TIDY_MATRIX;
  if (row->how == LOWER || row->how == UPPER) o.uplo = row->how == LOWER ? SPTRSM_LOWER : SPTRSM_UPPER;
  if (row->how == SMALL_BLOCK || row->how == SMALL_MATRIX) o.memory_limit = 100;
  if (row->how == REAL_MATRIX) o.dtype = SPTRSM_F64;
  if (row->how == COLUMNS) o.col_begin = 2, o.col_end = 9;
  switch (row->how) {
  case BLOCK:
  case ANY_BLOCK:
  case COLUMNS:
  case SMALL_BLOCK: return load_block(row, &o);
  case FACTORS: return load_factors(row, &o);
  case LIST: return sptrsm_file_list(&list, row->where, &o);
  default: return load_matrix(row, &o);
  }
}

static void check_rows(const bad_row *rows, size_t count) {
  for (size_t t = 0; t < 2 * count; t++) {
    const size_t k = t / 2;
    sptrsm_status status = try_row(&rows[k], t % 2);
    NOTHING_STAYS_OPEN(rows[k].where);
    cr_expect(status == rows[k].status, "%s: status %d, not %d: %s", rows[k].where, status, rows[k].status, sptrsm_last_error());
    for (int s = 0; s < 4 && rows[k].says[s] != NULL && status != SPTRSM_OK; s++)
      cr_expect(strstr(sptrsm_last_error(), rows[k].says[s]) != NULL, "%s: \"%s\" lacks \"%s\"", rows[k].where, sptrsm_last_error(),
                rows[k].says[s]);
  }
}

#define CHECK_ROWS(table) check_rows(table, sizeof table / sizeof table[0])

Test(io_bad, matrices) { CHECK_ROWS(matrices); }
Test(io_bad, binsparse_descriptions) { CHECK_ROWS(binsparse); }
Test(io_bad, storage) { CHECK_ROWS(storage); }
Test(io_bad, factor_sets) { CHECK_ROWS(sets); }
Test(io_bad, matrix_market) { CHECK_ROWS(market); }

/* The names of a large group, one letter of which is changed: HDF5 finds by a checksum that they are damaged. What it then frees
 * without having set it must not be luck, so fresh memory is filled. */
Test(io_bad, a_damaged_name_among_many, .init = make_folder, .fini = remove_folder) {
  static const char name[] = "ann_complex64";
  static char data[1 << 16];
  char missing[96];
  sptrsm_file_listing list;
  sptrsm_file_matrix *matrix;
  size_t at = 0;
  FILE *f = fopen(DATA("forms.h5"), "rb");
  cr_assert(f != NULL);
  size_t bytes = fread(data, 1, sizeof data, f);
  fclose(f);
  while (at + sizeof name < bytes && memcmp(data + at, name, sizeof name - 1) != 0) at++;
  cr_assert(at + sizeof name < bytes);
  data[at + 3] = ']';
  f = fopen(file, "wb");
  cr_assert(f != NULL && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0);
  mallopt(M_PERTURB, 0x41);
  cr_expect(sptrsm_file_list(&list, file, NULL) == IO);
  cr_expect(strstr(sptrsm_last_error(), "out.h5:/: its links can't be read; the file is damaged") != NULL, "%s", sptrsm_last_error());
  snprintf(missing, sizeof missing, "%s:/none", file);
  cr_expect(sptrsm_file_matrix_load(&matrix, missing, NULL) == IO);
  cr_expect(strstr(sptrsm_last_error(), "no such object") != NULL, "%s", sptrsm_last_error());
}

/* Right-hand sides may be NaN; what a triangle or A must not be is refused where it becomes one. */
Test(io_bad, a_matrix_alone_may_have_any_values) {
  static const char *const paths[] = {M("val_nan"), M("val_inf2"), X("nan")};
  for (int k = 0; k < 3; k++) {
    sptrsm_file_matrix *matrix = NULL;
    cr_assert(sptrsm_file_matrix_load(&matrix, paths[k], NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
    cr_expect(!isfinite(((const double *)matrix->val)[1]));
    sptrsm_file_matrix_free(matrix);
  }
}

/* Each entry off the diagonal in each type, both of its parts; the largest number and the least are values like others. */
Test(io_bad, every_value_of_a_triangle) {
  static const double odd[] = {NAN, INFINITY, -INFINITY};
  for (int dtype = SPTRSM_F32; dtype <= SPTRSM_C128; dtype++) {
    const bool is_single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64;
    const int words = dtype == SPTRSM_F32 || dtype == SPTRSM_F64 ? 1 : 2;
    sptrsm_file_matrix *M;
    sptrsm_sparse T;
    sptrsm_io_options o;
    sptrsm_io_options_init(&o);
    o.dtype = dtype;
    cr_assert_eq(sptrsm_file_matrix_load(&M, DATA("../../data/sherman5_splu.h5:/L"), &o), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(M->dtype, dtype);
    for (int64_t j = 0; j < M->rows; j += 101) {
      if (M->ptr[j + 1] - M->ptr[j] < 3) continue;
      const int64_t w = words * (M->ptr[j] + 1) + j % words; /* the second of three entries or more is not the diagonal */
      for (int k = 0; k < 5; k++) {
        const double largest = is_single ? FLT_MAX : DBL_MAX, value = k < 3 ? odd[k] : k == 3 ? -largest : is_single ? 1e-45 : 5e-324;
        const double before = is_single ? (double)((float *)M->val)[w] : ((double *)M->val)[w];
        if (is_single) ((float *)M->val)[w] = (float)value;
        else ((double *)M->val)[w] = value;
        const sptrsm_status status = sptrsm_file_matrix_triangle(&T, M, &o);
        cr_assert_eq(status, k < 3 ? SPTRSM_ERR_STRUCTURE : SPTRSM_OK, "type %d, word %lld, %g: %s", dtype, (long long)w, value,
                     sptrsm_last_error());
        cr_assert(k >= 3 || strstr(sptrsm_last_error(), "is NaN or infinite"), "%s", sptrsm_last_error());
        if (is_single) ((float *)M->val)[w] = (float)before;
        else ((double *)M->val)[w] = before;
      }
    }
    sptrsm_file_matrix_free(M);
  }
}

/* A program compiled against a later header passes options that are longer: what is new may be zero, and nothing else. */
Test(io_bad, options_of_a_newer_program) {
  struct {
    sptrsm_io_options known;
    int64_t later;
  } o;
  sptrsm_file_matrix *matrix;
  sptrsm_io_options_init_sized(&o.known, sizeof o);
  cr_assert(o.known.size == sizeof o && o.later == 0 && o.known.col_end == -1);
  cr_assert(sptrsm_file_matrix_load(&matrix, DATA("root.h5"), &o.known) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_file_matrix_free(matrix);
  o.later = 1;
  cr_assert(sptrsm_file_matrix_load(&matrix, DATA("root.h5"), &o.known) == SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strstr(sptrsm_last_error(), "sptrsm_io_options has a member set at byte") != NULL, "%s", sptrsm_last_error());
}

/* The list of a group's links is damaged: a name that can't be looked up does not count as absent. */
Test(io_bad, names_that_cannot_be_looked_up, .init = make_folder, .fini = remove_folder) {
  char bytes[1 << 14];
  FILE *from = fopen(DATA("root.h5"), "rb"), *to = fopen(file, "wb");
  const size_t count = from ? fread(bytes, 1, sizeof bytes, from) : 0;
  char *list = memmem(bytes, count, "SNOD", 4);
  cr_assert(to && list);
  *list = 'X';
  cr_assert(fwrite(bytes, 1, count, to) == count && fclose(to) == 0 && fclose(from) == 0);
  for (int in_process = 0; in_process < 2; in_process++) {
    sptrsm_file_matrix *matrix;
    sptrsm_io_options o;
    sptrsm_io_options_init(&o);
    o.in_process = in_process;
    cr_assert_eq(sptrsm_file_matrix_load(&matrix, file, &o), SPTRSM_ERR_IO, "%s", sptrsm_last_error());
    cr_assert(strstr(sptrsm_last_error(), "names in it can't be looked up"), "%s", sptrsm_last_error());
  }
}

/* A small compressed file may hold gigabytes of blank lines. */
Test(io_bad, blank_lines_without_end, .init = make_folder, .fini = remove_folder) {
  static char lines[1 << 20];
  static const char *const begins[] = {"", "%"};
  memset(lines, '\n', sizeof lines);
  for (int k = 0; k < 2; k++) {
    sptrsm_file_matrix *matrix;
    gzFile z = gzopen(file, "w1");
    cr_assert(z && gzputs(z, "%%MatrixMarket matrix coordinate real general\n") > 0 && gzputs(z, begins[k]) >= 0);
    if (k == 1) memset(lines, 'x', sizeof lines); /* one comment */
    for (int megabytes = 0; megabytes < 17; megabytes++) cr_assert(gzwrite(z, lines, sizeof lines) == sizeof lines);
    cr_assert(gzputs(z, "\n1 1 1\n1 1 2\n") > 0 && gzclose(z) == Z_OK);
    cr_assert_eq(sptrsm_file_matrix_load(&matrix, file, NULL), STRUCTURE, "%s", sptrsm_last_error());
    cr_assert(strstr(sptrsm_last_error(), "after 16 MiB of comments and blank lines"), "%s", sptrsm_last_error());
  }
}

Test(io_bad, calls) {
  sptrsm_io_options o;
  sptrsm_file_matrix *matrix;
  sptrsm_file_block *block;
  sptrsm_file_factors *factors;
  sptrsm_io_options_init(&o);
  o.size = 1;
  cr_assert(sptrsm_file_matrix_load(&matrix, DATA("root.h5"), &o) == ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "sptrsm_io_options_init") != NULL);
  sptrsm_io_options_init(&o);
  o.uplo = 7;
  cr_assert(sptrsm_file_matrix_load(&matrix, DATA("root.h5"), &o) == ARGUMENT);
  sptrsm_io_options_init(&o);
  o.dtype = 4;
  cr_assert(sptrsm_file_factors_load(&factors, DATA("root.h5"), &o) == ARGUMENT);
  sptrsm_io_options_init(&o);
  o.order = -2;
  cr_assert(sptrsm_file_block_load(&block, DATA("blocks.h5"), 6, &o) == ARGUMENT);
  cr_assert(sptrsm_file_matrix_load(NULL, DATA("root.h5"), NULL) == ARGUMENT);
  cr_assert(sptrsm_file_matrix_load(&matrix, NULL, NULL) == ARGUMENT);
  cr_assert(sptrsm_file_block_load(NULL, DATA("blocks.h5"), 6, NULL) == ARGUMENT);
  cr_assert(sptrsm_file_factors_load(NULL, DATA("root.h5"), NULL) == ARGUMENT);
  cr_assert(sptrsm_file_list(NULL, DATA("root.h5"), NULL) == ARGUMENT);
  cr_assert(sptrsm_file_matrix_triangle(NULL, NULL, NULL) == ARGUMENT);
  cr_assert(sptrsm_file_matrix_mirror(NULL) == ARGUMENT);
  sptrsm_file_matrix_free(NULL);
  sptrsm_file_block_free(NULL);
  sptrsm_file_factors_free(NULL);
  sptrsm_file_listing_free(NULL);
}
