/* info.h -- sptrsm-info: what is known of one file, shared by main.c and report.c. */
#ifndef APPS_INFO_INFO_H
#define APPS_INFO_INFO_H

#include "common/cli.h"

enum { PANEL_COLUMNS = 64 }; /* the panel whose memory is shown */

typedef struct {
  const char *name; /* "L", "U", or "/path" of a matrix on its own */
  const sptrsm_file_matrix *M;
  sptrsm_sparse T;
  sptrsm_level_stats levels;
  char stencil[16]; /* that the pattern shows, or "" */
  int64_t grid[3];
  sptrsm_tile_stats tiles; /* size 0 unless asked for */
} triangle_facts;

typedef struct {
  const char *where; /* as given */
  bool wants_tiles;
  sptrsm_file_listing listing;
  sptrsm_file_factors *factors; /* a factor set or a single triangle, or NULL */
  sptrsm_file_matrix *general;  /* a matrix named by its path that is no triangle, or NULL */
  sptrsm_file_reader *reader;   /* of a dense block alone or named by its path, or NULL */
  triangle_facts triangles[2];
  int triangle_count;
  int code;         /* exit code of this file */
  char error[1024]; /* why it is not 0, or why a matrix is no triangle; "" */
} file_facts;

void facts_text(const file_facts *);
json_t *facts_json(const file_facts *);
void methods_text(void);
json_t *methods_json(void);

#endif
