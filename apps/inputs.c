/* inputs.c -- reads factors and right-hand sides; where their types differ, the narrower one is read again in the wider. */
#include "inputs.h"

bool is_complex(sptrsm_dtype t) { return t == SPTRSM_C64 || t == SPTRSM_C128; }

static sptrsm_dtype wider(sptrsm_dtype a, sptrsm_dtype b) {
  bool is_double = a == SPTRSM_F64 || a == SPTRSM_C128 || b == SPTRSM_F64 || b == SPTRSM_C128;
  if (is_complex(a) || is_complex(b)) return is_double ? SPTRSM_C128 : SPTRSM_C64;
  return is_double ? SPTRSM_F64 : SPTRSM_F32;
}

static sptrsm_status reload_factors(inputs *in, const char *where, sptrsm_io_options options, sptrsm_dtype dtype) {
  sptrsm_file_factors_free(in->factors);
  in->factors = NULL;
  options.dtype = (int)dtype;
  return sptrsm_file_factors_load(&in->factors, where, &options);
}

static sptrsm_status reload_block(inputs *in, const char *where, int32_t n, sptrsm_io_options options, sptrsm_dtype dtype) {
  sptrsm_file_block_free(in->B);
  in->B = NULL;
  options.dtype = (int)dtype;
  return sptrsm_file_block_load(&in->B, where, n, &options);
}

static sptrsm_status load(inputs *in, const char *factors, const char *rhs, const sptrsm_io_options *options) {
  sptrsm_status status = sptrsm_file_factors_load(&in->factors, factors, options);
  if (status != SPTRSM_OK) return status;
  int32_t n = in->factors->L_tri.n;
  status = sptrsm_file_block_load(&in->B, rhs, n, options);
  if (status != SPTRSM_OK) return status;
  sptrsm_dtype of_factors = in->factors->L_tri.dtype, of_B = in->B->block.dtype, both = wider(of_factors, of_B);
  if (of_factors == of_B) return SPTRSM_OK;
  snprintf(in->conversion, sizeof in->conversion, "factors are %s, right-hand sides %s: both taken as %s (--dtype chooses)", cli_dtypes[of_factors],
           cli_dtypes[of_B], cli_dtypes[both]);
  if (of_factors != both) status = reload_factors(in, factors, *options, both);
  if (status == SPTRSM_OK && of_B != both) status = reload_block(in, rhs, n, *options, both);
  return status;
}

int inputs_load(inputs *in, const char *factors, const char *rhs, const sptrsm_io_options *options) {
  *in = (inputs){0};
  return cli_fail(load(in, factors, rhs, options));
}

void inputs_free(inputs *in) {
  sptrsm_file_factors_free(in->factors);
  sptrsm_file_block_free(in->B);
  *in = (inputs){0};
}
