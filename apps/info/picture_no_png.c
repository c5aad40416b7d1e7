/* picture_no_png.c -- takes the place of picture_png.c in a build without libpng; main.c refuses the files that would be asked for. */
#include "info/picture.h"

const bool picture_has_png = false;

void *picture_png(size_t *size, const picture *p) {
  (void)p;
  *size = 0;
  return NULL;
}
