/* move.tmpl.h -- how host.c moves columns between the real types FROM and TO; MOVE(x) is the name x with a suffix for the pair. */

static inline void MOVE(element)(const spti_move_columns_args *a, int parts, int32_t i, int32_t c) {
  int64_t in = a->from_columns ? a->from_columns[c] : c, out = a->to_columns ? a->to_columns[c] : c;
  const FROM *from = (const FROM *)a->from.data + parts * (i * a->from.row_stride + in * a->from.col_stride);
  TO *to = (TO *)a->to.data + parts * (i * a->to.row_stride + out * a->to.col_stride);
  for (int part = 0; part < parts; part++) {
    TO moved = (TO)(a->scale[c] * (double)from[part]);
    to[part] = a->add ? to[part] + moved : moved;
  }
}

/* Rows [i0, i1), in the order in which `to` lies in memory. */
static void MOVE(move)(const spti_move_columns_args *a, int32_t i0, int32_t i1) {
  int parts = a->to_dtype == SPTRSM_C64 || a->to_dtype == SPTRSM_C128 ? 2 : 1;
  if (a->to.col_stride == 1)
    for (int32_t i = i0; i < i1; i++)
      for (int32_t c = 0; c < a->width; c++) MOVE(element)(a, parts, i, c);
  else
    for (int32_t c = 0; c < a->width; c++)
      for (int32_t i = i0; i < i1; i++) MOVE(element)(a, parts, i, c);
}

#undef FROM
#undef TO
#undef MOVE
