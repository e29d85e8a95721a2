/* Preloaded into the service by trials/environment/fault_injection.py: ENOSPC at random writes and a shifted clock.
 * A memory-mapped file holds the controls: failing writes per million, seconds of clock shift, failed writes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct faults { volatile int64_t failing_per_million; volatile int64_t clock_seconds; volatile int64_t failed; };
static struct faults none, *faults = &none;
static __thread uint64_t chance;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TRIALS_FAULTS");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0) return;
    void *seen = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (seen != MAP_FAILED) faults = seen;
}

/* Standard streams, sockets and pipes are exempt. */
static int full(int file) {
    struct stat what;
    if (!faults->failing_per_million || file <= 2) return 0;
    if (fstat(file, &what) || !S_ISREG(what.st_mode)) return 0;
    if (!chance) chance = (uintptr_t)&chance ^ (uint64_t)getpid() << 32 ^ (uint64_t)clock();
    chance ^= chance << 13; chance ^= chance >> 7; chance ^= chance << 17;
    if ((int64_t)(chance % 1000000) >= faults->failing_per_million) return 0;
    __sync_fetch_and_add(&faults->failed, 1);
    errno = ENOSPC;
    return 1;
}

#define REAL(name) ({ static __typeof__(&name) found; if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); found; })

ssize_t write(int file, const void *data, size_t size) { return full(file) ? -1 : REAL(write)(file, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t at) { return full(file) ? -1 : REAL(pwrite)(file, data, size, at); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) { return full(file) ? -1 : REAL(pwrite64)(file, data, size, at); }
ssize_t writev(int file, const struct iovec *data, int count) { return full(file) ? -1 : REAL(writev)(file, data, count); }
int ftruncate(int file, off_t size) { return full(file) ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return full(file) ? -1 : REAL(ftruncate64)(file, size); }
int fsync(int file) { return full(file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return full(file) ? -1 : REAL(fdatasync)(file); }
int posix_fallocate(int file, off_t at, off_t size) { return full(file) ? ENOSPC : REAL(posix_fallocate)(file, at, size); }

int clock_gettime(clockid_t which, struct timespec *now) {
    int failed = REAL(clock_gettime)(which, now);
    if (!failed && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec += faults->clock_seconds;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    int failed = REAL(gettimeofday)(now, zone);
    if (!failed) now->tv_sec += faults->clock_seconds;
    return failed;
}
time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}
