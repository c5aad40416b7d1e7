/* picture.h -- a picture of rectangles and words, written as SVG or, without the words, as PNG. */
#ifndef APPS_INFO_PICTURE_H
#define APPS_INFO_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum { PICTURE_PAPER, PICTURE_INK_1, PICTURE_INK_2, PICTURE_INK_3, PICTURE_INK_4, PICTURE_LINE, PICTURE_COLOURS } picture_colour;
typedef enum { PICTURE_LEFT, PICTURE_MIDDLE, PICTURE_RIGHT } picture_anchor;

typedef struct {
  int x, y, width, height;
  picture_colour colour;
} picture_area;

typedef struct {
  int x, y; /* of the anchor, on the line on which the letters stand */
  picture_anchor anchor;
  char text[120];
} picture_words;

/* Lengths are in pixels from the left and from above; areas that come later cover earlier ones. */
typedef struct {
  int width, height;
  picture_area *areas;
  picture_words *words;
  size_t area_count, area_room, words_count, words_room;
  bool lacks_memory; /* something is left out */
} picture;

void picture_free(picture *);
void picture_add(picture *, picture_area);
void picture_write_words(picture *, int x, int y, picture_anchor, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What the end of a file name asks for. */
typedef enum { PICTURE_SVG, PICTURE_PNG, PICTURE_NONE } picture_form;
picture_form picture_form_of(const char *path);
extern const bool picture_has_png; /* whether this build writes PNG */

/* The bytes of a file; the caller frees. Text of SVG is escaped. NULL without memory. */
void *picture_svg(size_t *size, const picture *);
void *picture_png(size_t *size, const picture *); /* picture_png.c, or picture_no_png.c */

/* Red, green and blue of a colour. */
extern const unsigned char picture_palette[PICTURE_COLOURS][3];

#endif
