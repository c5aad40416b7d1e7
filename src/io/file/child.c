/* child.c -- starts the child that calls HDF5 for a file, hands calls to it, and watches over it.
 *
 * A request and its answer are each one byte on a socket: the number of the call. The socket also tells at once when the child ends.
 * A child makes progress as long as jobs end or count. Without progress it may compute for `patience` seconds of its own CPU time, which
 * no other load of the machine shortens, and longer in proportion where chunks are large; or wait for six times as long, as for a disk.
 */
#include "io/file/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 10, WAITS = 6 };       /* seconds; times as long without computing */
enum { SLOWEST = 16 << 20, STEP = 100 }; /* bytes of a chunk per second; milliseconds between two looks at a busy child */

static const char advice[] = "the file is damaged; check it with h5ls or h5dump";

struct spti_io_child {
  pid_t id, owner; /* owner: the process that forked it; a fork of that one has no use of it */
  int process;     /* a descriptor of it, which never means another process, as a number does that is free again; -1: there is none */
  int socket;
  int pending; /* calls begun and not ended */
  double patience;
  spti_io_shared *shared;
  sptrsm_status dead;
  char epitaph[SPTI_IO_TEXT];
};

sptrsm_status spti_io_child_dead(const spti_io_file *f) {
  if (f->child == NULL) return SPTRSM_OK;
  if (f->child->owner != getpid())
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "%s: was opened before a fork, by the other process; open it again here", f->name);
  if (f->child->dead == SPTRSM_OK) return SPTRSM_OK;
  return sptrsm_error_set(f->child->dead, "%s", f->child->epitaph);
}

pid_t spti_io_child_id(const spti_io_file *f) { return f->child->id; }

/* ---- begin and end ---- */

static double read_patience(void) {
  const char *text = getenv("SPTRSM_READ_TIMEOUT");
  double value = text != NULL ? strtod(text, NULL) : 0;
  return value > 0 ? value : PATIENCE;
}

static sptrsm_status no_child(const spti_io_file *f) {
  return sptrsm_error_set(
      SPTRSM_ERR_IO, "%s: no room for the process that reads it: %s; raise the limit (ulimit -u, -n, -v), or set in_process in the options",
      f->name, strerror(errno));
}

/* Descriptors above those of stdin, stdout and stderr, which the child gives to /dev/null. */
static bool make_sockets(int sockets[2]) {
  int made[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made) != 0) return false;
  for (int k = 0; k < 2; k++) sockets[k] = fcntl(made[k], F_DUPFD_CLOEXEC, 3);
  int code = errno;
  for (int k = 0; k < 2; k++) close(made[k]);
  bool good = sockets[0] >= 0 && sockets[1] >= 0;
  for (int k = 0; k < 2 && !good; k++)
    if (sockets[k] >= 0) close(sockets[k]);
  errno = code;
  return good;
}

enum { BY_DESCRIPTOR = 3 }; /* P_PIDFD of waitid, which older C libraries do not name */

/* The number of a child is free again as soon as someone has taken its status, and this may be the program, where it waits for any child.
 * -1: Linux before 5.4. */
static int open_process(pid_t id) {
  int fd = -1;
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
  siginfo_t info;
  fd = (int)syscall(SYS_pidfd_open, id, 0);
  if (fd >= 0 && waitid((idtype_t)BY_DESCRIPTOR, (id_t)fd, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    close(fd);
    fd = -1;
  }
#else
  (void)id;
#endif
  return fd;
}

/* As waitid(): 0, or -1 where the status of the child was taken by others. */
static int wait_for(const spti_io_child *child, siginfo_t *info, int options) {
  *info = (siginfo_t){0};
  if (child->process >= 0) return waitid((idtype_t)BY_DESCRIPTOR, (id_t)child->process, info, options);
  return waitid(P_PID, (id_t)child->id, info, options);
}

static void end_by_force(const spti_io_child *child) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_send_signal)
  if (child->process >= 0) {
    syscall(SYS_pidfd_send_signal, child->process, SIGKILL, NULL, 0);
    return;
  }
#endif
  kill(child->id, SIGKILL);
}

/* No thread of this library is in HDF5 at the fork, where the child would find HDF5's own lock taken for ever, and no child of another
 * thread gets a copy of this child's end of the socket, which would hide that this child has ended. No signal handler of the program runs
 * in the child. HDF5 is not called here: where it has no memory for its own tables, it ends the process. False, with errno: there is no
 * child. */
static bool fork_quietly(spti_io_file *f, spti_io_child *child) {
  sigset_t all, old;
  int sockets[2];
  sigfillset(&all);
  spti_io_exclude_hdf5();
  bool good = make_sockets(sockets);
  int code = errno;
  if (good) {
    pthread_sigmask(SIG_SETMASK, &all, &old);
    child->id = fork();
    code = errno;
    if (child->id == 0) {
      close(sockets[0]);
      spti_io_serve(f, child->shared, sockets[1]);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(sockets[1]);
    good = child->id > 0;
    if (good) child->process = open_process(child->id);
    if (good) child->socket = sockets[0];
    else close(sockets[0]);
  }
  spti_io_include_hdf5();
  errno = code;
  return good;
}

sptrsm_status spti_io_child_start(spti_io_file *f) {
  spti_io_child *child;
  SPTI_IO_TRY(spti_io_allocate(&child, f->name, sizeof *child));
  *child = (spti_io_child){.patience = read_patience(), .owner = getpid()};
  child->shared = mmap(NULL, sizeof *child->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (child->shared != MAP_FAILED && fork_quietly(f, child)) {
    f->child = child;
    return SPTRSM_OK;
  }
  sptrsm_status status = no_child(f);
  if (child->shared != MAP_FAILED) munmap(child->shared, sizeof *child->shared);
  free(child);
  return status;
}

/* Waits until the child has ended. Returns the signal that ended it; 0: none, or the program has taken the status itself. */
static int reap(const spti_io_child *child) {
  siginfo_t info;
  while (wait_for(child, &info, WEXITED) != 0)
    if (errno != EINTR) return 0;
  return info.si_code == CLD_EXITED ? 0 : info.si_status;
}

/* shutdown, because a child that was forked later has a copy of this socket, so that closing it would not be seen. */
void spti_io_child_end(spti_io_file *f) {
  spti_io_child *child = f->child;
  if (child == NULL) return;
  if (child->dead == SPTRSM_OK && child->owner == getpid()) {
    if (child->pending > 0) end_by_force(child);
    shutdown(child->socket, SHUT_RDWR);
    reap(child);
  }
  close(child->socket);
  if (child->process >= 0) close(child->process);
  munmap(child->shared, sizeof *child->shared);
  free(child);
  f->child = NULL;
}

/* ---- a child that fails ---- */

typedef enum { ANSWERED, ENDED, LOOPS, WAITS_TOO_LONG } outcome;

static double cpu_seconds(const spti_io_child *child) {
  clockid_t clock;
  struct timespec t = {0};
  if (clock_getcpuclockid(child->id, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The socket does not tell of the end if a process that the program forked itself has a copy of the child's end. */
static bool has_ended(const spti_io_child *child) {
  siginfo_t info;
  return wait_for(child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child->id;
}

/* Whether it would compute if it were given a processor: "R" follows the name in parentheses. On a busy machine that is no waiting. */
static bool is_ready_to_run(const spti_io_child *child) {
  char path[32], text[128] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)child->id);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  const char *end = got > 0 ? strrchr(text, ')') : NULL;
  return end != NULL && strncmp(end, ") R", 3) == 0;
}

static double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for one answer, without progress `most` seconds. A look counts as one step of waiting at most, because the program may be stopped
 * meanwhile. */
static outcome await(const spti_io_child *child, double most) {
  struct pollfd p = {.fd = child->socket, .events = POLLIN};
  double begin = cpu_seconds(child), idle = 0;
  unsigned seen = child->shared->progress;
  for (;;) {
    unsigned char slot;
    double start = clock_seconds();
    int ready = poll(&p, 1, STEP);                                           /* a signal ends it early */
    if (ready == 0 && has_ended(child)) ready = poll(&p, 1, 0) > 0 ? 1 : -1; /* it may have answered just before */
    if (ready > 0) return recv(child->socket, &slot, 1, 0) == 1 ? ANSWERED : ENDED;
    if (ready < 0 && has_ended(child)) return ENDED;
    double now = cpu_seconds(child);
    double waited = clock_seconds() - start;
    if (!is_ready_to_run(child)) idle += waited < STEP / 1000.0 ? waited : STEP / 1000.0;
    if (child->shared->progress != seen) {
      seen = child->shared->progress;
      begin = now;
      idle = 0;
    }
    if (now - begin > most) return LOOPS;
    if (idle > WAITS * most) return WAITS_TOO_LONG;
  }
}

/* ended_by: as reap() gives it; most: the seconds that the child had. */
static sptrsm_status cause_of_death(outcome o, int ended_by, const spti_io_child *child, double most, const char *where) {
  int number = child->shared->crash;
  char by[80] = "";
  if (o == LOOPS)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: reading hangs inside HDF5, in %.3g s of computing without progress: %s", where, most,
                            advice);
  if (o == WAITS_TOO_LONG)
    return sptrsm_error_set(SPTRSM_ERR_IO,
                            "%s: reading has waited for %.3g s without progress: does the disk or a server not answer, or is another file "
                            "that it reads a pipe? SPTRSM_READ_TIMEOUT=SECONDS waits longer",
                            where, WAITS * most);
  if (child->shared->no_memory)
    return sptrsm_error_set(SPTRSM_ERR_MEMORY,
                            "%s: no memory to read it; use a machine with more memory, or h5ls if the file may be damaged", where);
  if (number != 0)
    return sptrsm_error_set(SPTRSM_ERR_IO, "%s: reading crashed inside HDF5 (signal %d, %s): %s", where, number, strsignal(number), advice);
  if (ended_by != 0) snprintf(by, sizeof by, " (signal %d)", ended_by);
  return sptrsm_error_set(SPTRSM_ERR_IO,
                          "%s: the process that read it was ended%s: by hand, at a limit of CPU time, or for lack of memory?", where, by);
}

static sptrsm_status give_up(spti_io_child *child, outcome o, double most, const char *where) {
  if (o != ENDED) end_by_force(child);
  child->dead = cause_of_death(o, reap(child), child, most, where);
  snprintf(child->epitaph, sizeof child->epitaph, "%s", sptrsm_last_error());
  return child->dead;
}

bool spti_io_child_idle(const spti_io_file *f) {
  const spti_io_child *child = f->child;
  return child != NULL && child->owner == getpid() && child->dead == SPTRSM_OK && child->pending == 0 && !has_ended(child);
}

/* ---- calls ---- */

static void set_text(spti_io_call *c, char to[SPTI_IO_TEXT], const char *text) {
  size_t length = text != NULL ? strlen(text) : 0;
  c->too_long = c->too_long || length >= SPTI_IO_TEXT;
  memcpy(to, text != NULL ? text : "", c->too_long ? 0 : length);
  to[c->too_long ? 0 : length] = '\0';
}

spti_io_call *spti_io_call_of(const spti_io_file *f, int slot) { return &f->child->shared->calls[slot]; }

const char *spti_io_call_window(const spti_io_file *f, int slot) { return f->child->shared->windows[slot]; }

sptrsm_status spti_io_call_refuse(const spti_io_file *f) {
  return sptrsm_error_set(SPTRSM_ERR_IO, "%s: the process that reads it gave an impossible answer: %s", f->name, advice);
}

static spti_io_call *new_call(const spti_io_file *f, int slot, const char *where, const char *name) {
  spti_io_call *c = spti_io_call_of(f, slot);
  c->too_long = false;
  c->bytes = c->used = 0;
  set_text(c, c->where, where);
  set_text(c, c->name, name);
  return c;
}

spti_io_call *spti_io_call_object(const spti_io_object *o, const char *name) {
  spti_io_call *c = new_call(o->file, 0, o->where, name);
  c->object = *o;
  return c;
}

spti_io_call *spti_io_call_dataset(const spti_io_dataset *d, int slot) {
  spti_io_call *c = new_call(d->file, slot, d->where, NULL);
  c->dataset = *d;
  return c;
}

sptrsm_status spti_io_call_begin(spti_io_call *c, spti_io_file *f) {
  spti_io_child *child = f->child;
  unsigned char slot = (unsigned char)(c - child->shared->calls);
  SPTI_IO_TRY(spti_io_child_dead(f));
  if (c->too_long) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "%s: a name in it is longer than %d bytes", f->name, SPTI_IO_TEXT - 1);
  if (send(child->socket, &slot, 1, MSG_NOSIGNAL) == 1) child->pending++;
  else if (!has_ended(child)) end_by_force(child); /* it waits for a job; that it is gone is noticed at the end of the call */
  return SPTRSM_OK;
}

sptrsm_status spti_io_call_end(spti_io_call *c, spti_io_file *f) {
  spti_io_child *child = f->child;
  SPTI_IO_TRY(spti_io_child_dead(f));
  double most = child->patience + (double)c->bytes / SLOWEST;
  outcome o = await(child, most);
  if (o != ANSWERED) return give_up(child, o, most, f->name);
  child->pending--;
  f->lookup_failed = f->lookup_failed || c->lookup_failed;
  f->met_external = c->met_external;
  if (c->lacked_memory) spti_io_note_lack();
  return c->status == SPTRSM_OK ? SPTRSM_OK : sptrsm_error_set(c->status, "%.*s", SPTI_IO_TEXT - 1, c->error);
}

sptrsm_status spti_io_call_run(spti_io_call *c, spti_io_file *f) {
  SPTI_IO_TRY(spti_io_call_begin(c, f));
  return spti_io_call_end(c, f);
}
