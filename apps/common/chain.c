/* chain.c -- the products of all systems.
 *
 * Letters of the table: r = R^-1, p = P', L, D, U, q = Q', c = C^-1, P. With L D U = P R A C Q:
 *   A = R^-1 P' L D U Q' C^-1,  At = A^H, Aat = A^T;  P: x = P b, so S = P';  Lt_P = L^H P = (P' L)^H;  Q_Ut = (U Q')^H.
 */
#include "common/chain.h"

#include <string.h>

typedef struct {
  const char *product;
  sptrsm_op op;
} spelling;

static const spelling spellings[SPTRSM_SYS_COUNT] = {
    [SPTRSM_SYS_A] = {"rpLDUqc", SPTRSM_N}, [SPTRSM_SYS_At] = {"rpLDUqc", SPTRSM_C}, [SPTRSM_SYS_Aat] = {"rpLDUqc", SPTRSM_T},
    [SPTRSM_SYS_L] = {"L", SPTRSM_N},       [SPTRSM_SYS_Lt] = {"L", SPTRSM_C},       [SPTRSM_SYS_Lat] = {"L", SPTRSM_T},
    [SPTRSM_SYS_U] = {"U", SPTRSM_N},       [SPTRSM_SYS_Ut] = {"U", SPTRSM_C},       [SPTRSM_SYS_Uat] = {"U", SPTRSM_T},
    [SPTRSM_SYS_D] = {"D", SPTRSM_N},       [SPTRSM_SYS_LDLt] = {"LDU", SPTRSM_N},   [SPTRSM_SYS_LD] = {"LD", SPTRSM_N},
    [SPTRSM_SYS_DLt] = {"DU", SPTRSM_N},    [SPTRSM_SYS_P] = {"p", SPTRSM_N},        [SPTRSM_SYS_Pt] = {"P", SPTRSM_N},
    [SPTRSM_SYS_Pt_L] = {"pL", SPTRSM_N},   [SPTRSM_SYS_Lt_P] = {"pL", SPTRSM_C},    [SPTRSM_SYS_Lat_P] = {"pL", SPTRSM_T},
    [SPTRSM_SYS_U_Qt] = {"Uq", SPTRSM_N},   [SPTRSM_SYS_Q_Ut] = {"Uq", SPTRSM_C},    [SPTRSM_SYS_Q_Uat] = {"Uq", SPTRSM_T},
};

bool chain_has(sptrsm_system system, char factor) { return strchr(spellings[system].product, factor) != NULL; }

static chain_link of_triangle(const sptrsm_sparse *T) {
  return (chain_link){
      .kind = LINK_SPARSE, .format = T->format, .ptr = T->ptr, .idx = T->idx, .val = T->val, .unit = T->diag == SPTRSM_UNIT};
}

static chain_link of_matrix(const sptrsm_file_matrix *A) {
  return (chain_link){.kind = LINK_SPARSE,
                      .format = A->format,
                      .ptr = A->ptr,
                      .idx = A->idx,
                      .val = A->val,
                      .unit = A->diag == SPTRSM_UNIT,
                      .symmetry = A->symmetry};
}

/* U, or L mirrored. */
static chain_link of_upper(const sptrsm_factors *f) {
  if (f->u_kind == SPTRSM_U_GIVEN) return of_triangle(f->U);
  chain_link link = of_triangle(f->L);
  link.transposed = true;
  link.conjugated = f->u_kind == SPTRSM_U_IS_LH;
  return link;
}

/* GATHER: y[i] = x[map[i]], the link itself; SCATTER: y[map[i]] = x[i], its transpose. */
static chain_link of_permutation(const int32_t *map, bool gather) {
  return (chain_link){.kind = LINK_PERMUTE, .map = map, .transposed = !gather};
}

/* The inverse of a scaling that multiplies divides, and the other way round. */
static chain_link of_inverse_scale(const double *scale, sptrsm_scale_op op) {
  return (chain_link){.kind = LINK_SCALE, .scale = scale, .divide = op == SPTRSM_MULTIPLY};
}

/* False: the set has no such factor, which stands for the identity. */
static bool link_of(chain_link *out, const sptrsm_factors *f, char letter) {
  switch (letter) {
  case 'L': *out = of_triangle(f->L); return true;
  case 'U': *out = of_upper(f); return f->u_kind != SPTRSM_U_GIVEN || f->U != NULL;
  case 'D': *out = (chain_link){.kind = LINK_DIAGONAL, .d = f->D, .sub = f->D_sub, .hermitian = f->D_hermitian != 0}; return f->D != NULL;
  case 'P': *out = of_permutation(f->perm_row, f->row_convention == SPTRSM_GATHER); return f->perm_row != NULL;
  case 'p': *out = of_permutation(f->perm_row, f->row_convention != SPTRSM_GATHER); return f->perm_row != NULL;
  case 'q': *out = of_permutation(f->perm_col, f->col_convention == SPTRSM_SCATTER); return f->perm_col != NULL;
  case 'r': *out = of_inverse_scale(f->scale_row, f->row_op); return f->scale_row != NULL;
  case 'c': *out = of_inverse_scale(f->scale_col, f->col_op); return f->scale_col != NULL;
  }
  return false;
}

static void append(chain *c, chain_link link) { c->links[c->count++] = link; }

/* op of a product is the product of op of the links, in reverse order where op transposes. */
static void apply_op(chain *c, bool transpose, bool conjugate) {
  for (int i = 0; i < c->count; i++) {
    c->links[i].transposed ^= transpose;
    c->links[i].conjugated ^= conjugate;
  }
  for (int i = 0, j = c->count - 1; transpose && i < j; i++, j--) {
    chain_link swap = c->links[i];
    c->links[i] = c->links[j];
    c->links[j] = swap;
  }
}

void chain_build(chain *c, const sptrsm_file_factors *F, sptrsm_system system, sptrsm_op op) {
  const spelling *s = &spellings[system];
  bool whole = s->product[0] == 'r';
  *c = (chain){.dtype = F->L_tri.dtype, .n = F->L_tri.n};
  if (F->single) {
    append(c, of_triangle(&F->L_tri));
    c->name = "T";
  } else if (whole && F->A) {
    append(c, of_matrix(F->A));
    c->name = "A";
    c->is_original = true;
  } else {
    chain_link link;
    for (const char *letter = s->product; *letter; letter++)
      if (link_of(&link, &F->factors, *letter)) append(c, link);
    c->name = "the product of the factors";
  }
  c->is_triangle = c->count == 1 && c->links[0].kind == LINK_SPARSE && !c->is_original;
  apply_op(c, (s->op != SPTRSM_N) != (op != SPTRSM_N), (s->op == SPTRSM_C) != (op == SPTRSM_C));
}
