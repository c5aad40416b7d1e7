/* mpi.c -- the ranks of a run by MPI. Without a launcher (launcher.h), or with one rank, MPI is not even started.
 *
 * What all ranks only read lies once in the memory of each machine: in a file without a name (memfd), which the first rank of the machine
 * fills and the others open by its descriptor in /proc. So nothing of it is left when ranks are killed. Where that is not possible each
 * rank receives a copy.
 *
 * Waiting is done by polling with pauses, since MPI's own waits keep a processor busy that another rank of this machine may need. Claims
 * are a one-sided counter of rank 0. For claims of other ranks to go on, rank 0 may have to call MPI, which a thread of it does now and
 * then. All calls of threads are made under one lock, so MPI_THREAD_SERIALIZED is enough.
 */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "solve/ranks/launcher.h"
#include "solve/ranks/ranks.h"

enum { STOP, GO };                                                /* what rank 0 tells the others at the beginning */
enum { PANELS, FAILURES };                                        /* counters of rank 0 */
enum { PIECE = 1 << 28, PART = 1 << 23 };                         /* bytes of one broadcast; of one into a file */
static const long pause_most = 1000000, progress_pause = 1000000; /* nanoseconds */

static struct {
  bool on, begun; /* MPI is started; the ranks have begun to work */
  int count, own, local, local_count, machines;
  MPI_Comm machine, firsts; /* the ranks of this machine; the first ranks of all machines, for these */
  char name[64];            /* "sptrsm-solve: rank 3" */
  MPI_Win window;
  int64_t *counters; /* of rank 0 */
  pthread_mutex_t lock;
  pthread_t progress;
  atomic_bool stop_progress;
  bool has_progress;
} job = {.count = 1, .local_count = 1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t claimed; /* where MPI is not on */

/* ---- waiting ---- */

static void wait_for(MPI_Request *request) {
  struct timespec pause = {.tv_nsec = 1000};
  for (int done = 0; !done;) {
    pthread_mutex_lock(&job.lock);
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&job.lock);
    if (done) break;
    nanosleep(&pause, NULL);
    if (pause.tv_nsec < pause_most) pause.tv_nsec *= 2;
  }
}

static int told(int word) {
  MPI_Request request;
  MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait_for(&request);
  return word;
}

typedef struct { /* a file in memory: number of the process and descriptor, -1: there is none; device and inode */
  int64_t process, descriptor, device, inode;
} memory_file;

/* The first rank of this machine tells the others. */
static void tell_machine(memory_file *file) {
  MPI_Request request;
  MPI_Ibcast(file, 4, MPI_INT64_T, 0, job.machine, &request);
  wait_for(&request);
}

/* ---- begin ---- */

static void finalize(void) {
  job.on = false;
  MPI_Finalize();
}

/* The program calls exit somewhere: for --help, or because the command line is wrong. Rank 0 does that before the others begin. */
static void on_exit_of_program(int code, void *unused) {
  (void)unused;
  if (!job.on) return;
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  if (!job.begun && job.own == 0) told(STOP);
  finalize();
}

static void find_neighbours(void) {
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.own, MPI_INFO_NULL, &job.machine);
  MPI_Comm_rank(job.machine, &job.local);
  MPI_Comm_size(job.machine, &job.local_count);
  const int is_first = job.local == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : MPI_UNDEFINED, job.own, &job.firsts);
  MPI_Allreduce(&is_first, &job.machines, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void ranks_start(int *argc, char ***argv) {
  int level;
  if (launcher_ranks() <= 1) return;
  /* Ranks of one machine pass data through shared memory: with Open MPI 4 copies from process to process can take longer. */
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
  setenv("OMPI_MCA_osc", "^rdma", 0); /* with TCP between machines it made no window (4.1.4), and MPI ended the run */
#endif
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
  job.on = true;
  MPI_Comm_size(MPI_COMM_WORLD, &job.count);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.own);
  find_neighbours();
  if (on_exit(on_exit_of_program, NULL) != 0 || level < MPI_THREAD_SERIALIZED) {
    if (job.own == 0) fprintf(stderr, "sptrsm-solve: error: this MPI does not let threads call it (MPI_THREAD_SERIALIZED)\n");
    MPI_Abort(MPI_COMM_WORLD, CLI_USAGE);
  }
  if (job.own == 0 || told(GO) == GO) return;
  finalize();
  exit(0);
}

/* Rank 0 calls MPI now and then while it solves, so that claims of other ranks go on. */
static void *call_now_and_then(void *unused) {
  while (!job.stop_progress) {
    int flag;
    pthread_mutex_lock(&job.lock);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&job.lock);
    nanosleep(&(struct timespec){.tv_nsec = progress_pause}, NULL);
  }
  return unused;
}

static void make_counters(void) {
  MPI_Aint bytes = job.own == 0 ? 2 * (MPI_Aint)sizeof(int64_t) : 0;
  MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &job.counters, &job.window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, job.window);
  if (job.own == 0) job.counters[PANELS] = job.counters[FAILURES] = 0;
  MPI_Win_sync(job.window);
  MPI_Barrier(MPI_COMM_WORLD);
}

void ranks_begin(void) {
  if (!job.on) return;
  if (job.own == 0) told(GO);
  job.begun = true;
  make_counters();
  if (job.own == 0) job.has_progress = pthread_create(&job.progress, NULL, call_now_and_then, NULL) == 0;
  if (job.own == 0) return;
  snprintf(job.name, sizeof job.name, "sptrsm-solve: rank %d", job.own);
  cli_be_mute(job.name);
}

/* ---- end ---- */

static int64_t next_of(int counter) {
  const int64_t one = 1;
  int64_t number = 0;
  pthread_mutex_lock(&job.lock);
  MPI_Fetch_and_op(&one, &number, MPI_INT64_T, 0, counter, MPI_SUM, job.window);
  MPI_Win_flush(0, job.window);
  pthread_mutex_unlock(&job.lock);
  return number;
}

/* Where several ranks fail, one of them prints why. Rank 0 has printed its error already. The others wait 0.3 s, since rank 0 may fail,
 * too; then the first of them prints. Those that print nothing wait a second, so that the one that did ends the run, and that one waits
 * for MPICH, which would end the run without passing on what was just printed. */
static void fail(int code) {
  bool tells = true;
  if (job.own > 0) {
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    tells = next_of(FAILURES) == 0;
    if (tells) cli_tell_error();
  } else if (job.begun) (void)next_of(FAILURES);
  nanosleep(&(struct timespec){.tv_nsec = tells ? 100000000 : 900000000}, NULL);
  MPI_Abort(MPI_COMM_WORLD, code);
}

int ranks_end(int code, bool finished) {
  if (!job.on) return code;
  fflush(NULL);
  if (code != CLI_OK && !finished) fail(code);
  job.stop_progress = true;
  if (job.has_progress) pthread_join(job.progress, NULL);
  if (job.begun) {
    MPI_Win_unlock_all(job.window);
    MPI_Win_free(&job.window);
  } else if (job.own == 0) told(STOP);
  finalize();
  return code;
}

/* ---- who and where ---- */

int ranks_count(void) { return job.count; }
int ranks_own(void) { return job.own; }
int ranks_local(void) { return job.local; }
int ranks_local_count(void) { return job.local_count; }

/* The processors that each rank of this machine may use, and by how many ranks each of them is used, tell the share of this one. */
static int share_of_processors(const cpu_set_t *own) {
  static int sharers[CPU_SETSIZE];
  double share = 0;
  for (int c = 0; c < CPU_SETSIZE; c++) sharers[c] = CPU_ISSET(c, own) != 0;
  pthread_mutex_lock(&job.lock);
  MPI_Allreduce(MPI_IN_PLACE, sharers, CPU_SETSIZE, MPI_INT, MPI_SUM, job.machine);
  pthread_mutex_unlock(&job.lock);
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET(c, own)) share += 1.0 / sharers[c];
  return (int)(share + 0.001);
}

int ranks_threads(int library) {
  cpu_set_t own;
  if (!job.on || job.count == 1) return 0;
  if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
  int threads = share_of_processors(&own), quota = library / job.local_count;
  if (library < CPU_COUNT(&own) && quota < threads) threads = quota; /* the library knows of a quota, which all ranks share */
  return threads < 1 ? 1 : threads;
}

/* ---- together ---- */

void ranks_send(void *data, size_t bytes) {
  if (!job.on) return;
  told(GO); /* all are there; a large broadcast then needs no pauses */
  for (size_t at = 0; at < bytes; at += PIECE) {
    int count = (int)(bytes - at < PIECE ? bytes - at : PIECE);
    pthread_mutex_lock(&job.lock);
    MPI_Bcast((char *)data + at, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    pthread_mutex_unlock(&job.lock);
  }
}

static bool write_all(int fd, const char *data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(fd, data, bytes < PIECE ? bytes : PIECE);
    if (written <= 0) return false;
    data += written;
    bytes -= (size_t)written;
  }
  return true;
}

/* The file of this machine, by its first rank. Those of other machines receive the bytes in any case. False: it can't be made. */
static bool fill(int fd, const char *data, size_t bytes) {
  bool good = fd >= 0;
  if (job.own == 0 && good) good = write_all(fd, data, bytes);
  if (job.machines == 1) return good;
  char *part = malloc(PART);
  if (part == NULL) fail(cli_no_memory("the factors"));
  pthread_mutex_lock(&job.lock);
  for (size_t at = 0; at < bytes; at += PART) {
    const size_t count = bytes - at < PART ? bytes - at : PART;
    if (job.own == 0) memcpy(part, data + at, count);
    MPI_Bcast(part, (int)count, MPI_BYTE, 0, job.firsts);
    if (job.own > 0 && good) good = write_all(fd, part, count);
  }
  pthread_mutex_unlock(&job.lock);
  free(part);
  return good;
}

static bool identify(memory_file *file, int fd) {
  struct stat s;
  if (fstat(fd, &s) != 0) return false;
  file->device = (int64_t)s.st_dev, file->inode = (int64_t)s.st_ino;
  return true;
}

/* The file of the first rank of this machine; -1: it can't be had. Where ranks don't see each other's processes, as in containers, another
 * process may have its number. */
static int open_file_of(const memory_file *file) {
  char name[64];
  memory_file found = {0};
  snprintf(name, sizeof name, "/proc/%lld/fd/%lld", (long long)file->process, (long long)file->descriptor);
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || (identify(&found, fd) && found.device == file->device && found.inode == file->inode)) return fd;
  close(fd);
  return -1;
}

bool ranks_share(void **data, size_t bytes) {
  if (!job.on || job.machines == job.count) return false;
  memory_file file = {.process = getpid(), .descriptor = -1};
  void *memory = MAP_FAILED;
  const bool is_first = job.local == 0;
  int fd = is_first ? memfd_create("sptrsm factors", MFD_CLOEXEC) : -1;
  if (is_first && fill(fd, *data, bytes) && identify(&file, fd)) file.descriptor = fd;
  tell_machine(&file);
  if (!is_first && file.descriptor >= 0) fd = open_file_of(&file);
  if (job.own > 0 && file.descriptor >= 0 && fd >= 0) memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  const bool good = ranks_least(job.own == 0 ? file.descriptor >= 0 : memory != MAP_FAILED) > 0;
  if (fd >= 0) close(fd);
  if (memory != MAP_FAILED && !good) munmap(memory, bytes);
  if (good && job.own > 0) *data = memory;
  return good;
}

int64_t ranks_least(int64_t number) {
  MPI_Request request;
  int64_t least = number;
  if (!job.on) return number;
  MPI_Iallreduce(&number, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, &request);
  wait_for(&request);
  return least;
}

void ranks_wait(void) { (void)ranks_least(0); }

int64_t ranks_claim(void) { return job.on ? next_of(PANELS) : claimed++; }
