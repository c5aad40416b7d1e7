/* picture.c -- the parts of a picture, and SVG; see picture.h. */
#include "info/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const unsigned char picture_palette[PICTURE_COLOURS][3] = {
    [PICTURE_PAPER] = {255, 255, 255}, [PICTURE_INK_1] = {174, 199, 232}, [PICTURE_INK_2] = {107, 152, 207},
    [PICTURE_INK_3] = {49, 104, 174},  [PICTURE_INK_4] = {8, 48, 107},    [PICTURE_LINE] = {190, 190, 190}};

/* ---- parts ---- */

/* Makes room for one more part of `bytes` bytes. */
static bool make_room(picture *p, void **parts, size_t *room, size_t count, size_t bytes) {
  if (count < *room) return true;
  const size_t more = *room > 0 ? 2 * *room : 256;
  void *larger = realloc(*parts, more * bytes);
  if (larger == NULL) {
    p->lacks_memory = true;
    return false;
  }
  *parts = larger;
  *room = more;
  return true;
}

void picture_add(picture *p, picture_area a) {
  void *parts = p->areas;
  if (make_room(p, &parts, &p->area_room, p->area_count, sizeof a)) {
    p->areas = parts;
    p->areas[p->area_count++] = a;
  }
}

void picture_write_words(picture *p, int x, int y, picture_anchor anchor, const char *format, ...) {
  picture_words w = {.x = x, .y = y, .anchor = anchor};
  va_list list;
  va_start(list, format);
  vsnprintf(w.text, sizeof w.text, format, list);
  va_end(list);
  void *parts = p->words;
  if (make_room(p, &parts, &p->words_room, p->words_count, sizeof w)) {
    p->words = parts;
    p->words[p->words_count++] = w;
  }
}

void picture_free(picture *p) {
  free(p->areas);
  free(p->words);
  *p = (picture){0};
}

picture_form picture_form_of(const char *path) {
  const char *end = strrchr(path, '.');
  if (end && strcmp(end, ".svg") == 0) return PICTURE_SVG;
  return end && strcmp(end, ".png") == 0 ? PICTURE_PNG : PICTURE_NONE;
}

/* ---- SVG ---- */

/* Text of XML. Control characters, which XML has not, become "?"; so do bytes above 127, since names of files need not be UTF-8. */
static void put_escaped(const char *text, FILE *f) {
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '&') fputs("&amp;", f);
    else if (c == '<') fputs("&lt;", f);
    else if (c == '>') fputs("&gt;", f);
    else fputc(c < ' ' || c > '~' ? '?' : c, f);
  }
}

/* Areas of one colour that follow each other are one path. */
static void put_areas(const picture *p, FILE *f) {
  for (size_t k = 0; k < p->area_count; k++) {
    const picture_area *a = &p->areas[k];
    const unsigned char *c = picture_palette[a->colour];
    if (k == 0 || a->colour != a[-1].colour) fprintf(f, "<path fill=\"#%02x%02x%02x\" d=\"", c[0], c[1], c[2]);
    fprintf(f, "M%d %dh%dv%dh%dz", a->x, a->y, a->width, a->height, -a->width);
    if (k + 1 == p->area_count || a[1].colour != a->colour) fputs("\"/>\n", f);
  }
}

void *picture_svg(size_t *size, const picture *p) {
  static const char *const anchors[] = {"start", "middle", "end"};
  char *text = NULL;
  FILE *f = p->lacks_memory ? NULL : open_memstream(&text, size);
  if (f == NULL) return NULL;
  fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">\n",
          p->width, p->height, p->width, p->height);
  fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", p->width, p->height);
  put_areas(p, f);
  fputs("<g font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n", f);
  for (size_t k = 0; k < p->words_count; k++) {
    const picture_words *w = &p->words[k];
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", w->x, w->y, anchors[w->anchor]);
    put_escaped(w->text, f);
    fputs("</text>\n", f);
  }
  fputs("</g>\n</svg>\n", f);
  const bool whole = !ferror(f);
  if (fclose(f) == 0 && whole) return text;
  free(text);
  return NULL;
}
