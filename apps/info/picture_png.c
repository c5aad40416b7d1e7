/* picture_png.c -- a picture as PNG, by libpng; words are left out. */
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "info/picture.h"

const bool picture_has_png = true;

/* The picture point by point, as numbers of colours. */
static unsigned char *points_of(const picture *p) {
  unsigned char *points = calloc((size_t)p->width * (size_t)p->height + 1, 1);
  if (points == NULL) return NULL;
  for (size_t k = 0; k < p->area_count; k++) {
    const picture_area *a = &p->areas[k];
    for (int y = a->y; y < a->y + a->height; y++) memset(points + (size_t)y * (size_t)p->width + a->x, (int)a->colour, (size_t)a->width);
  }
  return points;
}

void *picture_png(size_t *size, const picture *p) {
  unsigned char *points = p->lacks_memory ? NULL : points_of(p);
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)p->width,
                     .height = (png_uint_32)p->height,
                     .format = PNG_FORMAT_RGB_COLORMAP,
                     .colormap_entries = PICTURE_COLOURS};
  if (points == NULL) return NULL;
  *size = PNG_IMAGE_PNG_SIZE_MAX(image);
  void *bytes = malloc(*size);
  if (bytes && !png_image_write_to_memory(&image, bytes, size, 0, points, 0, picture_palette)) {
    free(bytes);
    bytes = NULL;
  }
  free(points);
  return bytes;
}
