/* conformance_subjects.c -- all methods of the registry, and variants listed here. */
#include "support/conformance_subjects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBJECTS_MAX = 64 };

/* Variants of GPU methods; NULL ends the list. */
static const char *const forms[] = {
    "syncfree-csc:ready=1,split=1,segment=1,gather=1,share=1",
    "syncfree-csc:two=0",
    "levelset:narrow=3,segment=32,dense=0",
    "levelset:block=100000",
    "syncfree-csc:two=1",
    "syncfree-csc:two=2,singly=32",
    "recblock:depth=3,short=2,long=3,chunk=2",
    "recblock:depth=2,levels=0,thin=0",
    "syncfree-csr:preset=thread",
    "syncfree-csr:preset=warp",
    "syncfree-csr:preset=yy",
    "syncfree-csr:order=level,lanes=4",
    "syncfree-csr:order=block",
    "syncfree-csr:order=block,lanes=4",
    "syncfree-csr:order=packed,entries=1,split=7,gate=2,warps=3",
    "gather:form=lanes,split=4,segment=3",
    "gather:form=slots,split=6,segment=4",
    "gather:form=pairs,split=5,segment=2,sort=3",
    "structgrid:layout=csr",
    "structgrid:tasks=pencils",
    "structgrid-lines:map=row,state=row",
    "block:bound=0",
    "block:bound=0,refine=0",
    "block:rows=16,least=3,window=64",
    "block:rows=48,tile=8",
    "block:products=32",
    "block-streamed:pieces=5,rows=16,least=3",
    "block-streamed:pieces=5,products=32",
    NULL,
};

/* On the host scripts/nightly.sh cases runs all systems (CONFORMANCE_ALL).
 * Shares are no multiples of 2 or 3, since otherwise, by the numbering of systems, a method would run some types with one operation only.
 * The emulator of tests/simt runs far fewer systems. */
#if defined(SPTI_SIMT)
enum { GPU_SHARE = 101, FORM_SHARE = 401 };
#else
enum { GPU_SHARE = 5, FORM_SHARE = 23 };
#endif
enum { HOST_SHARE = 5 };

static void add(subject *list, size_t *count, const char *name, sptrsm_place place, int share) {
  size_t length = strcspn(name, ":");
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place != place || strlen(info.name) != length || memcmp(info.name, name, length) != 0) continue;
    cr_assert_lt(*count, SUBJECTS_MAX);
    subject s = {.number = (int)*count, .share = share, .deterministic = info.deterministic};
    snprintf(s.name, sizeof s.name, "%s", name);
    list[(*count)++] = s;
  }
}

struct criterion_test_params conformance_subjects(sptrsm_place place, bool deterministic_only) {
  subject *list = cr_calloc(SUBJECTS_MAX, sizeof *list);
  size_t count = 0, kept = 0;
  const int host_share = getenv("CONFORMANCE_ALL") ? 1 : HOST_SHARE;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place == place) add(list, &count, info.name, place, place == SPTRSM_CUDA ? GPU_SHARE : host_share);
  }
  for (int f = 0; place == SPTRSM_CUDA && forms[f]; f++) add(list, &count, forms[f], place, FORM_SHARE);
  cr_assert_gt(count, 0, "no method works here");
  const char *only = getenv("SPTRSM_CONFORMANCE_METHOD");
  for (size_t i = 0; i < count; i++) {
    const bool wanted = !only || strncmp(list[i].name, only, strlen(only)) == 0;
    if (wanted && (!deterministic_only || list[i].deterministic)) list[kept++] = list[i];
  }
  cr_assert(kept > 0 || !only, "SPTRSM_CONFORMANCE_METHOD: no method's name begins with \"%s\"", only);
  return cr_make_param_array(subject, list, kept);
}
