/* serve.c -- the child that calls HDF5: it does jobs for its parent, within limits, and leaves no trace when it ends.
 *
 * After a fork it holds copies of all that the parent holds. So it ends by _exit, which runs no handler and writes no buffer of the
 * parent; it takes none of the parent's signal handlers; and it prints nothing. Files stay open, because HDF5 shares a file that the
 * program has opened itself.
 */
#include "io/file/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* reserves more addresses than any limit, and writes reports */
#else
enum { SANITIZED = 0 };
#endif

enum { IDLE = 1000 };      /* milliseconds between two looks whether the parent is there */
enum { ROOM = 256 << 20 }; /* bytes that HDF5 may take for metadata and buffers, beside chunks and their cache */

static spti_io_shared *shared; /* NULL outside of a child */
static pid_t parent;
static size_t limit; /* of address space; 0: none */

static _Noreturn void leave(void) {
#ifdef SPTRSM_COVERAGE
  void __gcov_dump(void);
  __gcov_dump();
#endif
  _exit(0);
}

/* ---- ends of the child ---- */

/* HDF5 crashes on damaged metadata, and after allocations that failed, of which errno tells. */
__attribute__((no_sanitize("address"))) static void on_crash(int signal_number) {
  if (errno == ENOMEM || spti_io_lacked_memory()) shared->no_memory = true;
  shared->crash = signal_number;
  _exit(1);
}

/* HDF5 1.10 calls exit(-1) itself where it has no memory for its own tables. */
static void on_exit_in_hdf5(void) {
  shared->no_memory = true;
  _exit(1);
}

/* Comes with each second of computing: a child in an endless loop would not see otherwise that its parent is gone. */
static void on_second(int signal_number) {
  (void)signal_number;
  if (getppid() != parent) _exit(1);
}

/* Ignores what a terminal or a user may send to all processes of a program: the parent decides whether it ends. */
static void take_signals(void) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS},
                   defaults[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
  static char stack[1 << 16]; /* endless recursion is one of the ways to crash */
  struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK}, second = {.sa_handler = on_second, .sa_flags = SA_RESTART};
  sigset_t none;
  for (int number = 1; number <= SIGRTMAX; number++) signal(number, SIG_IGN);
  for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) signal(defaults[i], SIG_DFL);
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) sigaction(crashes[i], &crash, NULL);
  sigaction(SIGPROF, &second, NULL);
  setitimer(ITIMER_PROF, &(struct itimerval){{1, 0}, {1, 0}}, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- limits ---- */

/* Bytes of address space in use; 0: unknown. */
static size_t address_space(void) {
  char text[64] = "";
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  return got > 0 ? strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static struct rlimit users = {RLIM_INFINITY, RLIM_INFINITY}; /* limits of address space before */

static void set_limit(void) {
  if (limit > 0) setrlimit(RLIMIT_AS, &(struct rlimit){limit < users.rlim_cur ? limit : users.rlim_cur, users.rlim_max});
}

static void limit_memory(const spti_io_file *f) {
  size_t used = address_space();
  if (used > 0 && getrlimit(RLIMIT_AS, &users) == 0 && !SANITIZED) limit = spti_io_add(used, ROOM + spti_io_cache_bytes(f));
  set_limit();
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* The largest amount counts, not the sum: chunks are read one at a time. */
void spti_io_child_may_take(size_t bytes) {
  static size_t largest;
  if (limit == 0 || bytes <= largest) return;
  limit = spti_io_add(limit - largest, bytes);
  largest = bytes;
  set_limit();
}

void spti_io_child_progress(void) {
  if (shared != NULL) shared->progress++;
}

/* ---- jobs ---- */

static void be_silent(void) {
  int fd = SANITIZED ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int k = 0; k < 3 && fd >= 0; k++) dup2(fd, k);
  if (fd > 2) close(fd);
}

/* HDF5 may go on without memory that it lacked, and fail for want of it in a later call. */
static void serve_call(int slot, spti_io_file *f) {
  static bool lacked_before;
  spti_io_call *c = &shared->calls[slot];
  spti_io_report none;
  c->window = shared->windows[slot];
  c->object.where = c->dataset.where = c->where;
  c->object.file = c->dataset.file = f;
  f->met_external = f->lookup_failed = false;
  if (!spti_io_take_report(&none)) spti_io_note_lack();
  c->status = c->job(c, f);
  lacked_before = lacked_before || errno == ENOMEM;
  c->lacked_memory = spti_io_lacked_memory() || (lacked_before && (c->status != SPTRSM_OK || f->lookup_failed));
  c->lookup_failed = f->lookup_failed;
  c->met_external = f->met_external;
  if (c->status != SPTRSM_OK) snprintf(c->error, sizeof c->error, "%s", sptrsm_last_error());
}

void spti_io_serve(spti_io_file *f, spti_io_shared *common, int socket) {
  unsigned char slot;
  shared = common;
  parent = getppid();
  f->child = NULL;
  take_signals();
  be_silent();
  limit_memory(f);
  H5dont_atexit(); /* refused if the program has called HDF5 before: then HDF5's handler comes last, otherwise it would come first */
  if (atexit(on_exit_in_hdf5) != 0) leave();
  for (;;) {
    int ready = poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, IDLE);
    if (ready <= 0 && getppid() != parent) leave(); /* children that were forked later have copies of the parent's end of the socket */
    if (ready <= 0) continue;
    ssize_t got = recv(socket, &slot, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1 || slot >= SPTI_IO_CALLS) leave();
    serve_call(slot, f);
    if (send(socket, &slot, 1, MSG_NOSIGNAL) != 1) leave();
  }
}
