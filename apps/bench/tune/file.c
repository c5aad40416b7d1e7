/* file.c -- see file.h. */
#include "bench/tune/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"

int bench_tune_rewrite(const char *path, bench_tune_copy copy, const void *what) {
  char *part = NULL;
  if (asprintf(&part, "%s.part", path) < 0) return cli_no_memory("a file name");
  FILE *from = fopen(path, "r");
  const bool is_readable = from || errno == ENOENT; /* a table that exists, but can't be read, must not be replaced */
  FILE *to = is_readable ? fopen(part, "w") : NULL;
  if (to) copy(to, from, what);
  bool good = to && !ferror(to) && !(from && ferror(from));
  if (from) fclose(from);
  if (to && fclose(to) != 0) good = false;
  if (good && rename(part, path) != 0) good = false;
  if (!good) cli_error("%s: can't write: %s", path, strerror(errno));
  if (!good && to) (void)unlink(part);
  free(part);
  return good ? CLI_OK : CLI_IO;
}

void bench_tune_line(FILE *to, const char *line) {
  fputs(line, to);
  if (line[0] != '\0' && line[strlen(line) - 1] != '\n') fputc('\n', to);
}

bool bench_tune_names(const char *device) {
  const bool fits = device[strcspn(device, "\"\\\n")] == '\0';
  if (!fits) cli_error("device name %s can't stand in a table", device);
  return fits;
}
