/*
 * A disk that takes its time, for LD_PRELOAD: every fsync and fdatasync is counted and delayed, then done.
 *
 * SLOW_DISK_MILLISECONDS  how long each of them waits before it is done
 * SLOW_DISK_COUNTER       a file that grows by one byte for each of them, once it is done
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_a_while(void)
{
    const char *text = getenv("SLOW_DISK_MILLISECONDS");
    long milliseconds = text ? atol(text) : 0;
    struct timespec rest = { milliseconds / 1000, (milliseconds % 1000) * 1000000 };
    /* A signal must not make the disk faster. */
    while (nanosleep(&rest, &rest) == -1 && errno == EINTR) {
    }
}

static void count(void)
{
    const char *path = getenv("SLOW_DISK_COUNTER");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file != -1) {
        ssize_t written = write(file, ".", 1);
        (void)written;
        close(file);
    }
}

static int slowly(long number, int file)
{
    wait_a_while();
    /* By number, since the functions of these names are our own. */
    int outcome = (int)syscall(number, file);
    int error = errno;
    count();
    errno = error;
    return outcome;
}

int fsync(int file)
{
    return slowly(SYS_fsync, file);
}

int fdatasync(int file)
{
    return slowly(SYS_fdatasync, file);
}
