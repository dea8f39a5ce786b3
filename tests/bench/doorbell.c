/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cost of a doorbell if the device is another process: as a message of vfio-user on a
 * socket, as QEMU's client sends it, or as a store into a page that both processes map
 * and the device polls. The processes have a processor each, and are not interrupted if
 * they may have a real-time priority. Rounds take the ways in turn. Exit status 77:
 * there are no two processors.
 *
 * usage: ernic-doorbell [ROUNDS]
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS          40
#define MAX_ROUNDS      1000
#define DOORBELLS       500     /* of a way, in a round */
#define PAUSE_NS        20000   /* between doorbells: the device is idle again */
#define START_NS        3000000 /* longer than the device sleeps */
#define REST_US         50000   /* between rounds: for all else on this host */
#define LIMIT_SECONDS   120
#define SKIPPED         77      /* exit status, for meson */
#define MAX_RECORDS     1024
#define CACHE_LINE      64
/* Header of vfio-user: a command, and that it wants no reply. */
#define REGION_WRITE    10
#define NO_REPLY        (1 << 4)

typedef struct Way {
    const char *name;
    bool message;
    uint32_t flags;
    unsigned records;           /* that the device polls, of which one changes */
} Way;

static const Way ways[] = {
    { "message without reply", .message = true, .flags = NO_REPLY },
    { "message with reply", .message = true },
    { "store, 1 record polled", .records = 1 },
    { "store, 64 records polled", .records = 64 },
    { "store, 1024 records polled", .records = MAX_RECORDS },
};

/*
 * In ns, by kind: the time of the processor that rings, and the time until the device has
 * the value, for one doorbell while the device is idle (medians of a round); and the time
 * for each of many doorbells in a row.
 */
enum { RING, DELAY, STREAM, COSTS };

static const char *const cost_names[] = { "ring", "delay", "stream" };

typedef struct Message {
    uint16_t id, command;
    uint32_t size, flags, error;
    uint64_t offset;
    uint32_t region, count;
    uint64_t value;
} Message;

#define HEADER_BYTES    offsetof(Message, offset)
#define REPLY_BYTES     offsetof(Message, value)

typedef struct Record {
    uint64_t value;
} __attribute__((aligned(CACHE_LINE))) Record;

typedef struct Shared {
    Record records[MAX_RECORDS];
    Record way;                 /* that the device serves; ARRAY_SIZE(ways): none */
    uint64_t seen_ns;
    Record seen;                /* the last value, after seen_ns */
} Shared;

static Shared *shared;

static uint64_t load(Record *record)
{
    return __atomic_load_n(&record->value, __ATOMIC_ACQUIRE);
}

static void store(Record *record, uint64_t value)
{
    __atomic_store_n(&record->value, value, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void take(uint64_t value)
{
    shared->seen_ns = now_ns();
    store(&shared->seen, value);
}

/* As libvfio-user: a header, then the rest, until there is none. */
static void serve_messages(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    Message message;

    if (poll(&ready, 1, 1) <= 0) {
        return;
    }
    while (recv(fd, &message, HEADER_BYTES, MSG_DONTWAIT) == HEADER_BYTES) {
        if (recv(fd, &message.offset, sizeof(message) - HEADER_BYTES, MSG_WAITALL)
            != sizeof(message) - HEADER_BYTES) {
            fail("recv");
        }
        take(message.value);
        if (!(message.flags & NO_REPLY)
            && send(fd, &message, REPLY_BYTES, MSG_NOSIGNAL) != REPLY_BYTES) {
            fail("send");
        }
    }
}

/* Each record is compared with what it was, as an engine that polls queues does. */
static void serve_stores(unsigned count)
{
    static uint64_t last[MAX_RECORDS];

    for (unsigned i = 0; i < count; i++) {
        uint64_t value = load(&shared->records[i]);

        if (value != last[i]) {
            last[i] = value;
            take(value);
        }
    }
}

static void serve(int fd)
{
    for (;;) {
        uint64_t way = load(&shared->way);

        if (way == ARRAY_SIZE(ways)) {
            usleep(1000);
        } else if (ways[way].message) {
            serve_messages(fd);
        } else {
            serve_stores(ways[way].records);
        }
    }
}

static void ring(int fd, const Way *way, uint64_t value)
{
    Message message = {
        .id = value, .command = REGION_WRITE, .size = sizeof(message),
        .flags = way->flags, .count = sizeof(value), .value = value,
    };

    if (!way->message) {
        store(&shared->records[way->records - 1], value);
        return;
    }
    if (send(fd, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message)) {
        fail("send");
    }
    if (!(way->flags & NO_REPLY)
        && recv(fd, &message, REPLY_BYTES, MSG_WAITALL) != REPLY_BYTES) {
        fail("recv");
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

static void spin(uint64_t ns)
{
    uint64_t end = now_ns() + ns;

    while (now_ns() < end) {
    }
}

static void wait_seen(uint64_t value)
{
    while (load(&shared->seen) != value) {
    }
}

static void measure(int fd, unsigned n, double *costs[COSTS], unsigned round)
{
    static uint64_t value;
    double rings[DOORBELLS], delays[DOORBELLS];
    uint64_t start, end;

    store(&shared->way, n);
    spin(START_NS);
    for (unsigned i = 0; i < DOORBELLS; i++) {
        start = now_ns();
        ring(fd, &ways[n], ++value);
        end = now_ns();
        wait_seen(value);
        rings[i] = end - start;
        delays[i] = shared->seen_ns - start;
        spin(PAUSE_NS);
    }
    start = now_ns();
    for (unsigned i = 0; i < DOORBELLS; i++) {
        ring(fd, &ways[n], ++value);
    }
    wait_seen(value);
    costs[STREAM][round] = (double)(shared->seen_ns - start) / DOORBELLS;
    costs[RING][round] = median(rings, DOORBELLS);
    costs[DELAY][round] = median(delays, DOORBELLS);
    store(&shared->way, ARRAY_SIZE(ways));
}

/* The first two processors that may be used; whether there are two. */
static bool choose(int cpus[2])
{
    unsigned found = 0;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set)) {
        fail("sched_getaffinity");
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            cpus[found++] = cpu;
        }
    }
    return found == 2;
}

/* On that processor alone; whether nothing else interrupts it. */
static bool settle(int cpu)
{
    struct sched_param priority = { .sched_priority = 1 };
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set)) {
        fail("sched_setaffinity");
    }
    alarm(LIMIT_SECONDS);
    return !sched_setscheduler(0, SCHED_FIFO, &priority);
}

static void print(const char *name, double *values, unsigned count)
{
    double middle = median(values, count);

    printf("  %-8s %10.1f   (%.1f to %.1f)\n", name, middle, values[0],
           values[count - 1]);
}

static uint64_t clock_ns(void)
{
    uint64_t start = now_ns();

    for (unsigned i = 1; i < DOORBELLS; i++) {
        now_ns();
    }
    return (now_ns() - start) / DOORBELLS;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? MIN(atoi(argv[1]), MAX_ROUNDS) : ROUNDS;
    static double values[ARRAY_SIZE(ways)][COSTS][MAX_ROUNDS];
    const char *mode;
    int cpus[2], fds[2];

    if (!choose(cpus)) {
        puts("two processors are needed");
        return SKIPPED;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) {
        fail("socketpair");
    }
    store(&shared->way, ARRAY_SIZE(ways));
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        settle(cpus[1]);
        serve(fds[1]);
    }
    mode = settle(cpus[0]) ? "real-time priority" : "other load interrupts";
    printf("medians of %u rounds (least to greatest), ns; %s; a look at the clock: %"
           PRIu64 "\n", rounds, mode, clock_ns());
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned n = 0; n < ARRAY_SIZE(ways); n++) {
            double *costs[] = { values[n][RING], values[n][DELAY], values[n][STREAM] };

            measure(fds[0], n, costs, round);
            usleep(REST_US);
        }
    }
    for (unsigned n = 0; n < ARRAY_SIZE(ways); n++) {
        printf("%s\n", ways[n].name);
        for (unsigned cost = 0; cost < COSTS; cost++) {
            print(cost_names[cost], values[n][cost], rounds);
        }
    }
    return 0;
}
