/* source.c -- the attribute that says how a file was made. */
#include <string.h>

#include "gen/gen.h"

void source_text(char out[160], const settings *s) {
  char sizes[64] = "";
  for (int i = 0; i < s->size_count; i++) snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), " %lld", (long long)s->sizes[i]);
  snprintf(out, 160, "sptrsm-gen %s%s, seed %llu", s->feti ? "feti" : s->spec.pattern.kind->name, sizes,
           (unsigned long long)s->spec.pattern.seed);
}
