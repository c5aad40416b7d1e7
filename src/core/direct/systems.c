/* systems.c -- the systems that CHOLMOD and UMFPACK define, as one table.
 *
 * A table row lists the operators of S^-1. Many systems are the transpose of another one; their table rows repeat its operators and
 * give the transposition in `op`:
 *   A = R^-1 P' L D U Q' C^-1   x = C Q U^-1 D^-1 L^-1 P R b        At = A^H, Aat = A^T
 *   P' L                        x = L^-1 P b                        Lt_P = L' P = (P' L)^H, Lat_P = (P' L)^T
 *   U Q'                        x = Q U^-1 b                        Q_Ut = Q U' = (U Q')^H, Q_Uat = (U Q')^T
 * A transposition reverses the product, transposes each operator and swaps the two edges (permutations and scalings). */
#include "core/direct/systems.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *name;
  spti_system_edge first;
  const char *factors; /* in the order in which they are applied */
  spti_system_edge last;
  sptrsm_op op;
} row;

#define NONE                                                                                                                               \
  { 0 }
#define PR                                                                                                                                 \
  { .side = SPTI_ROW_SIDE, .scaled = true }
#define P                                                                                                                                  \
  { .side = SPTI_ROW_SIDE }
#define CQ                                                                                                                                 \
  { .side = SPTI_COL_SIDE, .scaled = true }
#define Q                                                                                                                                  \
  { .side = SPTI_COL_SIDE }

static const row table[SPTRSM_SYS_COUNT] = {
    [SPTRSM_SYS_A] = {"A", PR, "LDU", CQ, SPTRSM_N},           [SPTRSM_SYS_At] = {"At", PR, "LDU", CQ, SPTRSM_C},
    [SPTRSM_SYS_Aat] = {"Aat", PR, "LDU", CQ, SPTRSM_T},       [SPTRSM_SYS_L] = {"L", NONE, "L", NONE, SPTRSM_N},
    [SPTRSM_SYS_Lt] = {"Lt", NONE, "L", NONE, SPTRSM_C},       [SPTRSM_SYS_Lat] = {"Lat", NONE, "L", NONE, SPTRSM_T},
    [SPTRSM_SYS_U] = {"U", NONE, "U", NONE, SPTRSM_N},         [SPTRSM_SYS_Ut] = {"Ut", NONE, "U", NONE, SPTRSM_C},
    [SPTRSM_SYS_Uat] = {"Uat", NONE, "U", NONE, SPTRSM_T},     [SPTRSM_SYS_D] = {"D", NONE, "D", NONE, SPTRSM_N},
    [SPTRSM_SYS_LDLt] = {"LDLt", NONE, "LDU", NONE, SPTRSM_N}, [SPTRSM_SYS_LD] = {"LD", NONE, "LD", NONE, SPTRSM_N},
    [SPTRSM_SYS_DLt] = {"DLt", NONE, "DU", NONE, SPTRSM_N},    [SPTRSM_SYS_P] = {"P", P, "", NONE, SPTRSM_N},
    [SPTRSM_SYS_Pt] = {"Pt", P, "", NONE, SPTRSM_T},           [SPTRSM_SYS_Pt_L] = {"Pt_L", P, "L", NONE, SPTRSM_N},
    [SPTRSM_SYS_Lt_P] = {"Lt_P", P, "L", NONE, SPTRSM_C},      [SPTRSM_SYS_Lat_P] = {"Lat_P", P, "L", NONE, SPTRSM_T},
    [SPTRSM_SYS_U_Qt] = {"U_Qt", NONE, "U", Q, SPTRSM_N},      [SPTRSM_SYS_Q_Ut] = {"Q_Ut", NONE, "U", Q, SPTRSM_C},
    [SPTRSM_SYS_Q_Uat] = {"Q_Uat", NONE, "U", Q, SPTRSM_T},
};

static spti_factor factor_of(char letter) { return letter == 'L' ? SPTI_L : letter == 'D' ? SPTI_D : SPTI_U; }

static spti_system_edge transposed(spti_system_edge edge) {
  edge.transpose = !edge.transpose;
  return edge;
}

spti_system_steps spti_system_solve_steps(sptrsm_system system, sptrsm_op on_top) {
  const row *r = &table[system];
  spti_op own = spti_op_from(r->op), top = spti_op_from(on_top);
  spti_op op = {.transpose = own.transpose != top.transpose, .conj = own.conj != top.conj};
  spti_system_steps steps = {.first = r->first, .last = r->last, .count = (int)strlen(r->factors)};
  for (int s = 0; s < steps.count; s++) {
    char letter = r->factors[op.transpose ? steps.count - 1 - s : s];
    steps.stages[s] = (spti_system_stage){.factor = factor_of(letter), .op = op};
  }
  if (op.transpose) {
    steps.first = transposed(r->last);
    steps.last = transposed(r->first);
  }
  return steps;
}

/* ---- names ---- */

const char *sptrsm_system_name(sptrsm_system system) { return (int)system >= 0 && system < SPTRSM_SYS_COUNT ? table[system].name : NULL; }

static const char *without_prefix(const char *name, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 ? name + length : name;
}

sptrsm_status sptrsm_system_from_name(sptrsm_system *out, const char *name) {
  if (!out || !name) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_system_from_name: out or name is NULL");
  const char *stem = without_prefix(name, "CHOLMOD_");
  if (stem == name) stem = without_prefix(name, "UMFPACK_");
  for (int s = 0; s < SPTRSM_SYS_COUNT; s++) {
    if (strcmp(stem, table[s].name) != 0) continue;
    *out = (sptrsm_system)s;
    return SPTRSM_OK;
  }
  char known[256] = "";
  for (int s = 0; s < SPTRSM_SYS_COUNT; s++) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", s ? ", " : "", table[s].name);
  }
  return spti_fail(SPTRSM_ERR_ARGUMENT, "unknown system \"%s\"; known: %s, each also with CHOLMOD_ or UMFPACK_ in front", name, known);
}
