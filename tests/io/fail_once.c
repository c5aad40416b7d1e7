/* fail_once.c -- a library to preload that makes one chosen call of the process fail, or raises a signal before the call.
 *
 *   FAIL_CALL   write (also pwrite, ftruncate, fallocate), fsync (also fdatasync), rename (also link), open (for writing), malloc (also
 *               calloc and realloc), if called by the program itself: HDF5 does not survive failed allocations of its own
 *   FAIL_ERRNO  ENOSPC, EIO (default) -- for malloc always ENOMEM; SIGINT or SIGKILL: the signal is raised, then the call is made
 * The count begins when the program calls fail_once_arm(k): the k-th call after that fails, once. With fail_once_arm(-k) the k-th and
 * all later calls fail (a disk that stays full). fail_once_hit() says whether a call failed. A program finds both functions by dlsym;
 * without the preload they are absent.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, WRITE, SYNC, RENAME, OPEN, ALLOCATE };

static volatile long remaining; /* 0: not armed */
static volatile int hit, stays, chosen, code;
static volatile int signal_number; /* 0: the call fails */

static uintptr_t program_begin, program_end; /* its code and data in memory */

int fail_once_hit(void);
void fail_once_arm(long k);

int fail_once_hit(void) { return hit; }

/* The first object that the loader lists is the program. */
static int find_program(struct dl_phdr_info *info, size_t bytes, void *data) {
  (void)bytes, (void)data;
  program_begin = UINTPTR_MAX;
  program_end = 0;
  for (int k = 0; k < info->dlpi_phnum; k++) {
    if (info->dlpi_phdr[k].p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr, end = begin + info->dlpi_phdr[k].p_memsz;
    if (begin < program_begin) program_begin = begin;
    if (end > program_end) program_end = end;
  }
  return 1;
}

void fail_once_arm(long k) {
  dl_iterate_phdr(find_program, NULL);
  const char *name = getenv("FAIL_CALL"), *error = getenv("FAIL_ERRNO");
  static const char *const names[] = {"", "write", "fsync", "rename", "open", "malloc"};
  chosen = NOTHING;
  for (int c = WRITE; name != NULL && c <= ALLOCATE; c++)
    if (strcmp(name, names[c]) == 0) chosen = c;
  code = chosen == ALLOCATE ? ENOMEM : error != NULL && strcmp(error, "ENOSPC") == 0 ? ENOSPC : EIO;
  signal_number = error == NULL ? 0 : strcmp(error, "SIGINT") == 0 ? SIGINT : strcmp(error, "SIGKILL") == 0 ? SIGKILL : 0;
  hit = 0;
  stays = k < 0;
  remaining = k < 0 ? -k : k;
}

static int fails(int call) {
  if (remaining == 0 || call != chosen) return 0;
  if (remaining > 1) {
    remaining--;
    return 0;
  }
  if (!stays) remaining = 0;
  hit = 1;
  if (signal_number != 0) raise(signal_number);
  else errno = code;
  return signal_number == 0;
}

/* The real function behind one of ours; looked up once. */
static void *real(void **cache, const char *name) {
  if (*cache == NULL) *cache = dlsym(RTLD_NEXT, name);
  return *cache;
}

#define CALL(type, name)                                                                                                                   \
  static void *cache_##name;                                                                                                               \
  type function;                                                                                                                           \
  *(void **)&function = real(&cache_##name, #name)

ssize_t write(int fd, const void *data, size_t bytes) {
  typedef ssize_t (*write_type)(int, const void *, size_t);
  CALL(write_type, write);
  return fd > 2 && fails(WRITE) ? -1 : function(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
  typedef ssize_t (*pwrite_type)(int, const void *, size_t, off_t);
  CALL(pwrite_type, pwrite);
  return fails(WRITE) ? -1 : function(fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
  typedef ssize_t (*pwrite64_type)(int, const void *, size_t, off64_t);
  CALL(pwrite64_type, pwrite64);
  return fails(WRITE) ? -1 : function(fd, data, bytes, at);
}

int ftruncate(int fd, off_t length) {
  typedef int (*ftruncate_type)(int, off_t);
  CALL(ftruncate_type, ftruncate);
  return fails(WRITE) ? -1 : function(fd, length);
}

int ftruncate64(int fd, off64_t length) {
  typedef int (*ftruncate64_type)(int, off64_t);
  CALL(ftruncate64_type, ftruncate64);
  return fails(WRITE) ? -1 : function(fd, length);
}

int fsync(int fd) {
  typedef int (*fsync_type)(int);
  CALL(fsync_type, fsync);
  return fails(SYNC) ? -1 : function(fd);
}

int fdatasync(int fd) {
  typedef int (*fdatasync_type)(int);
  CALL(fdatasync_type, fdatasync);
  return fails(SYNC) ? -1 : function(fd);
}

int fallocate(int fd, int mode, off_t at, off_t length) {
  typedef int (*fallocate_type)(int, int, off_t, off_t);
  CALL(fallocate_type, fallocate);
  return fails(WRITE) ? -1 : function(fd, mode, at, length);
}

int link(const char *from, const char *to) {
  typedef int (*link_type)(const char *, const char *);
  CALL(link_type, link);
  return fails(RENAME) ? -1 : function(from, to);
}

int rename(const char *from, const char *to) {
  typedef int (*rename_type)(const char *, const char *);
  CALL(rename_type, rename);
  return fails(RENAME) ? -1 : function(from, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
  typedef int (*renameat2_type)(int, const char *, int, const char *, unsigned);
  CALL(renameat2_type, renameat2);
  return fails(RENAME) ? -1 : function(from_fd, from, to_fd, to, flags);
}

static mode_t creation_mode(int flags, va_list arguments) { return flags & O_CREAT ? va_arg(arguments, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  typedef int (*open_type)(const char *, int, ...);
  CALL(open_type, open);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = creation_mode(flags, arguments);
  va_end(arguments);
  return flags & (O_WRONLY | O_RDWR) && fails(OPEN) ? -1 : function(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  typedef int (*open64_type)(const char *, int, ...);
  CALL(open64_type, open64);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = creation_mode(flags, arguments);
  va_end(arguments);
  return flags & (O_WRONLY | O_RDWR) && fails(OPEN) ? -1 : function(path, flags, mode);
}

#ifndef FAIL_ONCE_WITHOUT_MALLOC
/* glibc's own entry points: dlsym may allocate, so malloc can't be looked up by it. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

#define CALLED_BY_PROGRAM ((uintptr_t)__builtin_return_address(0) - program_begin < program_end - program_begin)

void *malloc(size_t bytes) { return CALLED_BY_PROGRAM && fails(ALLOCATE) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) { return CALLED_BY_PROGRAM && fails(ALLOCATE) ? NULL : __libc_calloc(count, bytes); }

void *realloc(void *old, size_t bytes) { return CALLED_BY_PROGRAM && fails(ALLOCATE) ? NULL : __libc_realloc(old, bytes); }
#endif
