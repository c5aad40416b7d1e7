/* info.h -- sptrsm-info: what is known about one file (facts.c), and how it is shown (report.c, pictures.c). */
#ifndef APPS_INFO_INFO_H
#define APPS_INFO_INFO_H

#include <sptrsm_inspect.h>

#include "common/batch.h"
#include "info/plot.h"

enum { PANEL_COLUMNS = 64 }; /* right-hand sides of the panel whose memory is shown */

enum { SINGULAR_NAMED = 10 }; /* the most singular items of a batch that are listed */

/* Pictures that are asked for. */
typedef struct {
  bool spy, levels;
  const char *spy_file, *levels_file; /* NULL: in the terminal, or, with json, in the report */
  bool json;
} plot_request;

typedef struct {
  const char *name; /* "L" and "U" of a factor set; "T": a single triangle */
  const sptrsm_file_matrix *M;
  sptrsm_sparse T;
  sptrsm_level_stats levels;
  char stencil[16]; /* the stencil that the pattern shows, or "" */
  int64_t grid[3];
  plot_levels level_rows;  /* empty unless levels are to be drawn */
  sptrsm_tile_stats tiles; /* size is 0 unless --tiles is given */
} triangle_facts;

typedef struct {
  const char *where; /* FILE or FILE:/path, as given */
  bool lists;        /* nothing but the listing */
  bool wants_tiles;
  const plot_request *plots;
  sptrsm_file_listing listing;
  sptrsm_file_factors *factors; /* a factor set or a single triangle, or NULL */
  sptrsm_file_matrix *general;  /* the only matrix of the file or path, if it is no triangle, or NULL */
  sptrsm_file_reader *reader;   /* a dense block, alone in the file or named by its path, or NULL */
  sptrsm_file_batch *batch;     /* the file holds a batch, or NULL */
  sptrsm_batch_facts batch_facts;
  int64_t batch_entries;            /* of the triangles of all sets; of a uniform batch: of its pattern */
  int64_t singular[SINGULAR_NAMED]; /* the first items with a bad diagonal, and their rows */
  int32_t singular_rows[SINGULAR_NAMED];
  int64_t odd, odd_item;            /* items that are not singular, but have a value that is NaN or infinite; the first of them */
  char odd_value[BATCH_VALUE_TEXT]; /* which value that is */
  triangle_facts triangles[2];
  int triangle_count;
  int code;         /* exit code of this file */
  char error[1024]; /* why the code is not 0, or why a matrix is no triangle; else "" */
} file_facts;

/* ---- facts.c ---- */

/* Fills the facts of f->where. A file without matrices is no error: right-hand sides and solutions are files too. */
void facts_load(file_facts *f, sptrsm_context *, const sptrsm_io_options *);
void facts_free(file_facts *);
double triangle_bytes(const sptrsm_sparse *); /* of the arrays ptr, idx and val */
double panel_bytes(const sptrsm_sparse *);    /* of a block of PANEL_COLUMNS right-hand sides */

/* ---- batch.c: the same of a batch ---- */

sptrsm_status batch_facts_load(file_facts *f, sptrsm_context *, const sptrsm_io_options *);
void batch_facts_text(const file_facts *);
json_t *batch_facts_json(const file_facts *);           /* null where the file holds no batch */
bool batch_hides(const file_facts *, const char *path); /* whether an object is a part of an item, of which there may be thousands */

/* ---- report.c: for people, and as JSON ---- */

int facts_text(const file_facts *); /* exit code */
json_t *facts_json(const file_facts *);
void methods_text(void);
json_t *methods_json(void);

/* ---- pictures.c ---- */

/* Refuses pictures that this build or a call can't make; before any work. Exits with CLI_USAGE, or returns an exit code. */
int pictures_check(const plot_request *, bool force, char **files, int count);
int pictures_write(const file_facts *); /* as files; returns an exit code */

#endif
