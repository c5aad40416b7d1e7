/* fail_once.c -- a library to preload that makes one chosen call of the process fail, or raises a signal before the call.
 *
 *   FAIL_CALL   write (also pwrite, ftruncate, fallocate), fsync (also fdatasync), rename (also link), open (for writing), open_read (for
 *               reading), read (also pread), send, close, thread (pthread_create), fork, malloc
 *               (also calloc, realloc, posix_memalign, strdup, vasprintf, asprintf and fopen, which allocate)
 *   FAIL_ERRNO  ENOSPC, EIO (default) -- for malloc always ENOMEM, for thread EAGAIN; SIGINT, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS or SIGFPE:
 *               the signal is raised, then the call is made; SIGABRT: abort() instead of the call
 *   FAIL_IN     where calls are counted and the signal is raised: program (default), the process that began to count; reader, its children
 *   FAIL_BY     whose allocations fail: program (default), ours (also those of this project's libraries and of Jansson), hdf5
 *   FAIL_AT     k: the count begins with main, as fail_once_arm(k) there would do
 *   FAIL_HIT    a file that is created when a call fails
 * The count begins when the program calls fail_once_arm(k): the k-th call after that fails, once. With fail_once_arm(-k) the k-th and
 * all later calls fail (a disk that stays full). fail_once_hit() says whether a call failed. A program finds both functions by dlsym;
 * without the preload they are absent. FAIL_ONCE_UNTIL_EXIT: the count ends with main or exit(), so that gcov can write its own files.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, WRITE, SYNC, RENAME, OPEN, OPEN_READ, READ, SEND, CLOSE, THREAD, FORK, ALLOCATE, CALLS, SIGNALS = 8 };

static volatile long remaining; /* 0: not armed */
static volatile int hit, stays, chosen, code;
static volatile int signal_number; /* 0: the call fails */
static pid_t armed;                /* the process that began to count */
static int in_children;            /* whether the signal comes to its children, not to itself */

/* ---- who calls ---- */

enum { PROGRAM = 1, OURS = 2, HDF5 = 4 };

typedef struct {
  uintptr_t begin, end; /* code and data of an object in memory */
  int kinds;
} object;

static object objects[16]; /* the objects of a kind */
static int object_count;

static int kinds_of(const char *path, int first) {
  static const char *const ours[] = {"libsptrsm", "libjansson"};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (first) return PROGRAM | OURS;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (strncmp(name, ours[i], strlen(ours[i])) == 0) return OURS;
  return strncmp(name, "libhdf5", 7) == 0 ? HDF5 : 0;
}

/* The first object that the loader lists is the program. */
static int add_object(struct dl_phdr_info *info, size_t bytes, void *data) {
  int *seen = data, kinds = kinds_of(info->dlpi_name, (*seen)++ == 0);
  object o = {.begin = UINTPTR_MAX, .kinds = kinds};
  (void)bytes;
  for (int k = 0; k < info->dlpi_phnum; k++) {
    if (info->dlpi_phdr[k].p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr, end = begin + info->dlpi_phdr[k].p_memsz;
    if (begin < o.begin) o.begin = begin;
    if (end > o.end) o.end = end;
  }
  if (kinds != 0 && object_count < (int)(sizeof objects / sizeof *objects)) objects[object_count++] = o;
  return 0;
}

static int kinds_at(const void *address) {
  for (int i = 0; i < object_count; i++)
    if ((uintptr_t)address - objects[i].begin < objects[i].end - objects[i].begin) return objects[i].kinds;
  return 0;
}

static int callers; /* the kinds whose allocations fail */

#define CALLED_BY_CHOSEN (remaining != 0 && (kinds_at(__builtin_return_address(0)) & callers) != 0)

/* ---- which call fails ---- */

int fail_once_hit(void);
void fail_once_arm(long k);

int fail_once_hit(void) { return hit; }

static int find(const char *text, const char *const names[], int count) {
  for (int i = 0; text != NULL && i < count; i++)
    if (strcmp(text, names[i]) == 0) return i;
  return 0;
}

void fail_once_arm(long k) {
  static const char *const calls[CALLS] = {"",     "write", "fsync", "rename", "open", "open_read",
                                           "read", "send",  "close", "thread", "fork", "malloc"};
  static const char *const kinds[] = {"program", "ours", "hdf5"}, *const processes[] = {"program", "reader"};
  static const char *const names[SIGNALS] = {"", "SIGINT", "SIGKILL", "SIGSTOP", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE"};
  static const int signals[SIGNALS] = {0, SIGINT, SIGKILL, SIGSTOP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
  const char *error = getenv("FAIL_ERRNO");
  int seen = 0;
  object_count = 0;
  dl_iterate_phdr(add_object, &seen);
  chosen = find(getenv("FAIL_CALL"), calls, CALLS);
  callers = 1 << find(getenv("FAIL_BY"), kinds, 3);
  code = chosen == ALLOCATE ? ENOMEM : chosen == THREAD ? EAGAIN : error != NULL && strcmp(error, "ENOSPC") == 0 ? ENOSPC : EIO;
  signal_number = signals[find(error, names, SIGNALS)];
  armed = getpid();
  in_children = find(getenv("FAIL_IN"), processes, 2);
  hit = 0;
  stays = k < 0;
  remaining = k < 0 ? -k : k;
}

static void leave_mark(void) {
  const char *path = getenv("FAIL_HIT");
  long fd = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);
  if (fd >= 0) syscall(SYS_close, fd);
}

/* Several threads may call at once. */
static int fails(int call) {
  if (call != chosen || (signal_number != 0 && (getpid() != armed) != in_children)) return 0;
  long before = __atomic_load_n(&remaining, __ATOMIC_RELAXED);
  do {
    if (before == 0) return 0;
  } while (!__atomic_compare_exchange_n(&remaining, &before, before == 1 && stays ? 1 : before - 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (before > 1) return 0;
  hit = 1;
  leave_mark();
  if (signal_number == SIGABRT) abort();
  else if (signal_number != 0) raise(signal_number);
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

ssize_t send(int fd, const void *data, size_t bytes, int flags) {
  typedef ssize_t (*send_type)(int, const void *, size_t, int);
  CALL(send_type, send);
  return fails(SEND) ? -1 : function(fd, data, bytes, flags);
}

static mode_t creation_mode(int flags, va_list arguments) { return flags & O_CREAT ? va_arg(arguments, mode_t) : 0; }

static int open_fails(int flags) { return fails(flags & (O_WRONLY | O_RDWR) ? OPEN : OPEN_READ); }

int open(const char *path, int flags, ...) {
  typedef int (*open_type)(const char *, int, ...);
  CALL(open_type, open);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = creation_mode(flags, arguments);
  va_end(arguments);
  return open_fails(flags) ? -1 : function(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  typedef int (*open64_type)(const char *, int, ...);
  CALL(open64_type, open64);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = creation_mode(flags, arguments);
  va_end(arguments);
  return open_fails(flags) ? -1 : function(path, flags, mode);
}

ssize_t read(int fd, void *data, size_t bytes) {
  typedef ssize_t (*read_type)(int, void *, size_t);
  CALL(read_type, read);
  return fails(READ) ? -1 : function(fd, data, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at) {
  typedef ssize_t (*pread_type)(int, void *, size_t, off_t);
  CALL(pread_type, pread);
  return fails(READ) ? -1 : function(fd, data, bytes, at);
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t at) {
  typedef ssize_t (*pread64_type)(int, void *, size_t, off64_t);
  CALL(pread64_type, pread64);
  return fails(READ) ? -1 : function(fd, data, bytes, at);
}

/* The descriptor is closed all the same, as Linux does. */
int close(int fd) {
  typedef int (*close_type)(int);
  CALL(close_type, close);
  int result = function(fd);
  return fails(CLOSE) ? -1 : result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  typedef int (*create_type)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  CALL(create_type, pthread_create);
  return kinds_at(__builtin_return_address(0)) != 0 && fails(THREAD) ? EAGAIN : function(thread, attributes, start, argument);
}

pid_t fork(void) {
  typedef pid_t (*fork_type)(void);
  CALL(fork_type, fork);
  return fails(FORK) ? -1 : function();
}

/* ---- from the begin of main ---- */

typedef int (*main_type)(int, char **, char **);
static main_type program_main;

#ifdef FAIL_ONCE_UNTIL_EXIT
_Noreturn void exit(int status) {
  typedef _Noreturn void (*exit_type)(int);
  CALL(exit_type, exit);
  remaining = 0;
  function(status);
}
#endif

static int armed_main(int argc, char **argv, char **environment) {
  fail_once_arm(atol(getenv("FAIL_AT")));
  int status = program_main(argc, argv, environment);
#ifdef FAIL_ONCE_UNTIL_EXIT
  remaining = 0;
#endif
  return status;
}

int __libc_start_main(main_type, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

int __libc_start_main(main_type main_, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack) {
  typedef int (*start_type)(main_type, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  CALL(start_type, __libc_start_main);
  program_main = main_;
  return function(getenv("FAIL_AT") != NULL ? armed_main : main_, argc, argv, init, fini, rtld_fini, stack);
}

#ifndef FAIL_ONCE_WITHOUT_MALLOC
/* ---- allocations, by glibc's own entry points: dlsym may allocate, so malloc can't be looked up by it ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) { return CALLED_BY_CHOSEN && fails(ALLOCATE) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t bytes) { return CALLED_BY_CHOSEN && fails(ALLOCATE) ? NULL : __libc_calloc(count, bytes); }

void *realloc(void *old, size_t bytes) { return CALLED_BY_CHOSEN && fails(ALLOCATE) ? NULL : __libc_realloc(old, bytes); }

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (CALLED_BY_CHOSEN && fails(ALLOCATE)) return ENOMEM;
  *out = __libc_memalign(alignment, bytes);
  return *out == NULL ? ENOMEM : 0;
}

/* Functions of the C library that allocate: it is their caller that counts. */
char *strdup(const char *text) {
  char *copy = CALLED_BY_CHOSEN && fails(ALLOCATE) ? NULL : __libc_malloc(strlen(text) + 1);
  return copy == NULL ? NULL : strcpy(copy, text);
}

FILE *fopen(const char *path, const char *mode) {
  typedef FILE *(*fopen_type)(const char *, const char *);
  CALL(fopen_type, fopen);
  return CALLED_BY_CHOSEN && fails(ALLOCATE) ? NULL : function(path, mode);
}

int vasprintf(char **out, const char *format, va_list values) {
  typedef int (*vasprintf_type)(char **, const char *, va_list);
  CALL(vasprintf_type, vasprintf);
  return CALLED_BY_CHOSEN && fails(ALLOCATE) ? -1 : function(out, format, values);
}

int asprintf(char **out, const char *format, ...) {
  typedef int (*vasprintf_type)(char **, const char *, va_list);
  CALL(vasprintf_type, vasprintf);
  if (CALLED_BY_CHOSEN && fails(ALLOCATE)) return -1;
  va_list values;
  va_start(values, format);
  int length = function(out, format, values);
  va_end(values);
  return length;
}
#endif
