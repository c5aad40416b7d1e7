/* source.c -- how all files are saved, and the attribute that says how one was made. */
#include <string.h>

#include "gen/gen.h"

static void source_text(char out[160], const settings *s) {
  char sizes[64] = "";
  for (int i = 0; i < s->size_count; i++) snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), " %lld", (long long)s->sizes[i]);
  snprintf(out, 160, "sptrsm-gen %s%s, seed %llu", s->feti ? "feti" : s->spec.pattern.kind->name, sizes,
           (unsigned long long)s->spec.pattern.seed);
}

void save_options(sptrsm_save_options *save, char source[160], const settings *s) {
  source_text(source, s);
  sptrsm_save_options_init(save);
  save->force = s->force;
  save->compress = s->compress;
  save->source = source;
}
