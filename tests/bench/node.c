/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of an engine in a process of its own: memory is an arena, the
 * clock is the host's, and the owner of the node polls it.
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <time.h>
#include "bench.h"

/* Steps between two looks at the sockets of the shared-memory link. */
#define SERVE_STEPS     256
/* Trains of one step, as many as the UDP link reads in one call. */
#define SHM_BATCH       16

uint64_t bench_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void bench_die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    printf("Bail out! ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    fflush(stdout);
    exit(1);
}

/* ---- environment of the engine ----------------------------------------------- */

static bool in_arena(const BenchNode *n, uint64_t addr, uint64_t len)
{
    return addr >= BENCH_BASE && addr - BENCH_BASE <= n->size &&
           len <= n->size - (addr - BENCH_BASE);
}

static bool env_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    BenchNode *n = env;

    if (!in_arena(n, addr, len)) {
        return false;
    }
    memcpy(buf, bench_mem(n, addr), len);
    return true;
}

static bool env_dma_write(void *env, uint64_t addr, const void *buf, uint64_t len)
{
    BenchNode *n = env;

    if (!in_arena(n, addr, len)) {
        return false;
    }
    memcpy(bench_mem(n, addr), buf, len);
    return true;
}

static bool env_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op,
                             uint64_t arg, uint64_t compare, uint64_t *old)
{
    BenchNode *n = env;
    uint64_t *word;

    if (!in_arena(n, addr, sizeof(*word))) {
        return false;
    }
    word = bench_mem(n, addr);
    *old = *word;
    if (op == ERNIC_ATOMIC_FETCH_ADD) {
        *word += arg;
    } else if (op == ERNIC_ATOMIC_WRITE || *word == compare) {
        *word = arg;
    }
    return true;
}

static bool env_tx(void *env, const ErnicTrain *train)
{
    BenchNode *n = env;

    n->busy = n->udp ? !ernic_udp_send(n->udp, 0, train)
                     : !ernic_shm_send(n->shm, train);
    return !n->busy;
}

/* No interrupts: the owner polls for everything. */
static void env_irq(void *env, uint16_t vector)
{
}

static void env_wake_at(void *env, uint64_t ns)
{
    BenchNode *n = env;

    n->wake = ns;
}

static const ErnicEnvOps env_ops = {
    .dma_read = env_dma_read,
    .dma_write = env_dma_write,
    .dma_atomic64 = env_dma_atomic64,
    .tx = env_tx,
    .irq = env_irq,
    .wake_at = env_wake_at,
};

/* ---- life -------------------------------------------------------------------- */

static void open_shm(BenchNode *n, const char *folder, bool icrc)
{
    char *port = g_strdup_printf("%s/%s", folder, icrc ? "icrc" : "plain");
    ErnicShmConfig cfg = { .folder = port, .icrc = icrc };
    char *err = NULL;

    n->shm = ernic_shm_new(&cfg, &err);
    if (!n->shm) {
        bench_die("%s", err);
    }
    g_free(port);
}

static void open_udp(BenchNode *n, const char *host)
{
    char *any = g_strdup_printf("%s:0", host);
    ErnicUdpConfig cfg = { .bind = any };
    char *err = NULL;

    n->udp = ernic_udp_new(&cfg, &err);
    if (!n->udp) {
        bench_die("%s", err);
    }
    g_free(any);
}

void bench_node_init(BenchNode *n, uint32_t num_qp, uint64_t mem_bytes,
                     BenchWhich which, const char *where)
{
    ErnicConfig cfg = {
        /* Number 0 is unused, 1 is the GSI. */
        .max_qp = num_qp + 2,
        .max_cq = 4, .max_srq = 2, .max_eq = 2, .max_mr = 4, .max_pd = 4,
        .max_uctx = 2, .num_vectors = 1, .mtu = 5, .link_speed = 100000,
        .no_icrc = which == BENCH_SHM,
        .clock = bench_now,
    };

    memset(n, 0, sizeof(*n));
    n->size = mem_bytes;
    n->mem = mmap(NULL, n->size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (n->mem == MAP_FAILED) {
        bench_die("no memory for a guest: %s", g_strerror(errno));
    }
    /* Huge pages, as for a virtual machine's memory; failure does no harm. */
    madvise(n->mem, n->size, MADV_HUGEPAGE);
    if (which == BENCH_SHM || which == BENCH_SHM_ICRC) {
        open_shm(n, where, which == BENCH_SHM_ICRC);
    } else {
        open_udp(n, where);
        cfg.udp_sport = ernic_udp_port(n->udp);
    }
    n->e = ernic_new(&cfg, &env_ops, n);
    ernic_set_link(n->e, bench_now(), true);
}

void bench_node_free(BenchNode *n)
{
    ernic_free(n->e);
    g_clear_pointer(&n->udp, ernic_udp_free);
    g_clear_pointer(&n->shm, ernic_shm_free);
    munmap(n->mem, n->size);
}

uint64_t bench_alloc(BenchNode *n, uint64_t bytes, uint64_t align)
{
    uint64_t at = ROUND_UP(n->used, align);

    if (bytes > n->size || at > n->size - bytes) {
        bench_die("a guest's memory is too small");
    }
    n->used = at + bytes;
    return BENCH_BASE + at;
}

void bench_node_meet(BenchNode *n)
{
    while (n->shm && !ernic_shm_stats(n->shm)->peers) {
        ernic_shm_serve(n->shm);
    }
}

static void receive_udp(BenchNode *n)
{
    const ErnicTrain *train;
    uint32_t i, got = ernic_udp_recv(n->udp, &train, NULL);

    for (i = 0; i < got; i++) {
        ernic_rx(n->e, n->now, &train[i]);
    }
}

/* Never sleeps. Its peer neither comes nor goes; only bells for room are to be read. */
static void receive_shm(BenchNode *n)
{
    ErnicTrain train;

    if (n->steps++ % SERVE_STEPS == 0) {
        ernic_shm_serve(n->shm);
    }
    for (uint32_t i = 0; i < SHM_BATCH && ernic_shm_recv(n->shm, &train); i++) {
        ernic_rx(n->e, n->now, &train);
    }
}

void bench_node_step(BenchNode *n)
{

    n->now = bench_now();
    if (n->busy) {
        n->busy = false;
        ernic_tx_ready(n->e, n->now);
    }
    if (n->wake <= n->now) {
        ernic_run(n->e, n->now);
    }
    if (n->udp) {
        receive_udp(n);
    } else {
        receive_shm(n);
    }
}
