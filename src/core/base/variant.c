/* variant.c -- see variant.h. */
#include "core/base/variant.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some characters of the text. */
typedef struct {
  const char *at;
  size_t length;
} span;

static bool is(span s, const char *word) { return strlen(word) == s.length && memcmp(s.at, word, s.length) == 0; }

/* The names as "a, b, c", as far as they fit. */
static const char *list(char *out, size_t size, const void *names, int count, const char *(*name)(const void *, int)) {
  size_t used = 0;
  for (int i = 0; i < count && used < size; i++) used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name(names, i));
  return out;
}

static const char *key_at(const void *known, int i) { return ((const spti_setting *)known)[i].key; }
static const char *word_at(const void *words, int i) { return ((const char *const *)words)[i]; }

static sptrsm_status take_word(const char *method, const spti_setting *s, span value) {
  int count = 0;
  for (; s->words[count]; count++)
    if (is(value, s->words[count])) {
      *s->target = count;
      return SPTRSM_OK;
    }
  char known[160];
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %s=%.*s; known are %s", method, s->key, (int)value.length, value.at,
                   list(known, sizeof known, s->words, count, word_at));
}

static sptrsm_status take_number(const char *method, const spti_setting *s, span value) {
  char *end;
  errno = 0;
  long number = strtol(value.at, &end, 10);
  if (value.length == 0 || end != value.at + value.length)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %s=%.*s is not a number", method, s->key, (int)value.length, value.at);
  if (errno || number < s->least || number > s->most)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %s=%.*s is not in %d..%d", method, s->key, (int)value.length, value.at, s->least, s->most);
  *s->target = (int32_t)number;
  return SPTRSM_OK;
}

/* The setting that has the word among its values, or NULL. */
static const spti_setting *owner_of(span word, const spti_setting *known, int count) {
  for (int i = 0; i < count; i++)
    for (int w = 0; known[i].words && known[i].words[w]; w++)
      if (is(word, known[i].words[w])) return &known[i];
  return NULL;
}

static sptrsm_status refuse(const char *method, span word, const spti_setting *known, int count) {
  const spti_setting *owner = owner_of(word, known, count);
  const int length = (int)word.length;
  if (owner)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: \"%.*s\" has no key; write %s:%s=%.*s", method, length, word.at, method, owner->key, length,
                     word.at);
  char names[160];
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: expected key=value[,key=value...], not \"%.*s\"; known are %s", method, length, word.at,
                   list(names, sizeof names, known, count, key_at));
}

/* The first key=value; *text moves behind it and its comma. */
static sptrsm_status take(const char *method, const char **text, const spti_setting *known, int count) {
  const size_t length = strcspn(*text, ",");
  const span key = {*text, strcspn(*text, "=,")};
  if (key.length == length || key.length == 0) return refuse(method, (span){*text, length}, known, count);
  const span value = {*text + key.length + 1, length - key.length - 1};
  for (int i = 0; i < count; i++) {
    if (!is(key, known[i].key)) continue;
    *text += length + ((*text)[length] == ',');
    return known[i].words ? take_word(method, &known[i], value) : take_number(method, &known[i], value);
  }
  char names[160];
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown parameter \"%.*s\"; known are %s", method, (int)key.length, key.at,
                   list(names, sizeof names, known, count, key_at));
}

sptrsm_status spti_variant_parse(const char *method, const char *text, const spti_setting *known, int count) {
  while (*text) SPTI_TRY(take(method, &text, known, count));
  return SPTRSM_OK;
}
