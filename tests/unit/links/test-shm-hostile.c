/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link with a peer that does not keep to the rules: what it writes into
 * the memory, what memory it offers, what it says. It is disconnected, and the others do
 * not notice.
 */
#include "qemu/osdep.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "shm_stranger.h"

#define RANDOM_ROUNDS   4000

#define UNKNOWN ERNIC_SHM_DROP_UNKNOWN_DEST

/* The record as the ring has it. */
typedef struct Record {
    uint32_t len, seg;
    ErnicPath path;
} Record;

#define FRAME   0x80000000u     /* in @seg */

/* ---- a peer by hand ------------------------------------------------------------ */

/* A peer that has said hello as it should, and then does what the test wants. */
static ErnicShmPair *intrude(Lab *l)
{
    ErnicShmPair *p = ernic_shm_pair_call(dial(l), test_closer(), &plain);

    g_assert_nonnull(p);
    lab_serve(l);
    IS(ernic_shm_pair_handshake(p), ERNIC_SHM_UP);
    return p;
}

/* The same, with the address of port 1. @t becomes a train of @len bytes to it. */
static ErnicShmPair *intrude_as(Lab *l, ErnicTrain *t, uint32_t len)
{
    ErnicShmPair *p = intrude(l);

    l->gid[1] = gid_of("10.0.0.2");
    ernic_shm_pair_announce(p, &l->gid[1], 1, false);
    *t = lab_train(l, 0, 1, data, len, len);
    return p;
}

static void assert_broken(Lab *l, uint64_t times)
{
    IS(stats(l, 0)->broken, times);
    IS(l->events[0][ERNIC_SHM_PEER_BROKEN], times);
}

/* A port accepts only trains that an engine may read, whatever a peer wrote. */
static void assert_is_train(const ErnicTrain *t)
{
    g_assert_cmpuint(t->len, >, 0);
    g_assert_cmpuint(t->len, <=, ERNIC_SHM_TRAIN_BYTES);
    g_assert_cmpuint(t->seg, >, 0);
    g_assert_cmpuint(t->seg, <=, t->len);
    g_assert_cmpuint(ernic_train_packets(t), <=, ERNIC_SHM_TRAIN_PACKETS);
    IS(ernic_gid_is_v4(&t->path.sgid), ernic_gid_is_v4(&t->path.dgid));
    g_assert_cmphex(t->path.flow_label, <=, 0xfffff);
    g_assert_true(t->path_final);
    g_assert_false(t->frame);   /* the port carries none */
}

/* ---- records -------------------------------------------------------------------- */

#define V4 { .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 } }
#define V6 { .raw = { 0xfd } }
#define SAME { .sgid = V4, .dgid = V4 }

static const struct {
    Record rec;
    uint32_t head;              /* bytes that it claims to have written */
} records[] = {
    { { 100, 100, SAME }, 64 },                         /* less than the record */
    { { 100, 100, SAME }, 128 },                        /* less than its data */
    { { 100, 100, SAME }, 1 },
    { { 100, 100, SAME }, 191 },
    { { 100, 100, SAME }, ERNIC_SHM_RING_BYTES + 64 },
    { { 100, 100, SAME }, UINT32_MAX },
    { { 100, 100, SAME }, 0x80000000 },
    { { 0, 0, SAME }, 192 },
    { { 0, 100, SAME }, 192 },
    { { 100, 0, SAME }, 192 },
    { { 100, 101, SAME }, 192 },
    { { 100, UINT32_MAX, SAME }, 192 },
    { { UINT32_MAX, 100, SAME }, 192 },
    { { UINT32_MAX - 62, UINT32_MAX - 62, SAME }, 192 },        /* rounds up to 0 */
    { { ERNIC_SHM_TRAIN_BYTES + 1, 60000, SAME }, ERNIC_SHM_RING_BYTES },
    { { ERNIC_SHM_PACKET_BYTES + 1, ERNIC_SHM_PACKET_BYTES + 1, SAME }, 65152 },
    { { 65, 1, SAME }, 192 },                           /* too many packets */
    { { 100, 100, { .sgid = V4, .dgid = V6 } }, 192 },
    { { 100, 100, { .sgid = V6, .dgid = V4 } }, 192 },
    { { 100, 100, { .sgid = V6, .dgid = V6, .flow_label = 0x100000 } }, 192 },
    { { 100, FRAME | 100, SAME }, 192 },                /* to a port without frames */
};

LAB_TEST("/shm-hostile/records", 1, test_records)
{
    ErnicTrain got;

    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        ErnicShmPair *p = intrude(l);

        memcpy(p->tx.data, &records[i].rec, sizeof(records[i].rec));
        p->tx.words->head = records[i].head;
        g_assert_false(ernic_shm_recv(l->port[0], &got));
        assert_broken(l, i + 1);
        IS(ernic_shm_pair_receive(p), ERNIC_SHM_GONE);
        ernic_shm_pair_free(p);
    }
    assert_works(l);
}

/* The largest lies about room: the port writes only into the ring. */
LAB_TEST("/shm-hostile/tail", 1, test_tail)
{
    static const uint32_t tails[] = { 1 + 192, 4096, ERNIC_SHM_RING_BYTES, UINT32_MAX / 2,
                                      UINT32_MAX - ERNIC_SHM_RING_BYTES };
    ErnicTrain t;

    for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
        ErnicShmPair *p = intrude_as(l, &t, 100);

        send_train(l, 0, &t);
        p->rx.words->tail = tails[i];
        send_train(l, 0, &t);
        assert_broken(l, i + 1);
        ernic_shm_pair_free(p);
    }
    IS(drops(l, 0, UNKNOWN), ARRAY_SIZE(tails));
    assert_works(l);
}

/* A reader that takes back what it has read would have its time again and again. */
LAB_TEST("/shm-hostile/tail-back", 1, test_tail_back)
{
    ErnicTrain t;
    ErnicShmPair *p = intrude_as(l, &t, 100);

    send_train(l, 0, &t);
    send_train(l, 0, &t);
    p->rx.words->tail = 2 * 192;
    send_train(l, 0, &t);
    assert_broken(l, 0);
    p->rx.words->tail = 192;
    send_train(l, 0, &t);
    assert_broken(l, 1);
    ernic_shm_pair_free(p);
    assert_works(l);
}

/* Records and words at random: whatever is accepted is a train. */
LAB_TEST("/shm-hostile/random", 1, test_random)
{
    uint32_t *words, accepted = 0;
    g_autoptr(GRand) rand = g_rand_new_with_seed(4711);
    ErnicGid gid[200] = { 0 };
    ErnicShmPair *p;
    ErnicTrain t;

    l->gid[1] = gid[0] = gid_of("10.0.0.2");
    p = intrude(l);
    for (uint32_t i = 0; i < RANDOM_ROUNDS; i++) {
        Record rec = {
            g_rand_int_range(rand, 0, 700), g_rand_int_range(rand, 0, 700),
            { .sgid = V4, .dgid = V4 }
        };

        /* Mostly where the port reads next. */
        words = (uint32_t *)p->tx.words;
        memcpy(p->tx.data + p->tx.words->tail % ERNIC_SHM_RING_BYTES, &rec, sizeof(rec));
        p->tx.words->head = p->tx.words->tail + g_rand_int_range(rand, 1, 20) * 64;
        for (uint32_t n = g_rand_int_range(rand, 0, 8) / 7; n; n--) {
            words[g_rand_int_range(rand, 0, sizeof(ErnicShmWords) / 4)] =
                g_rand_int_range(rand, 0, 40) * 64;
        }
        ernic_shm_pair_announce(p, gid, g_rand_int_range(rand, 0, ARRAY_SIZE(gid)),
                                g_rand_boolean(rand));
        ernic_shm_pair_wake(p);
        ernic_shm_serve(l->port[0]);
        if (ernic_shm_recv(l->port[0], &t)) {
            assert_is_train(&t);
            accepted++;
        }
        t = lab_train(l, 0, 1, data, 1000, 100);
        ernic_shm_send(l->port[0], &t);
        ernic_shm_sleep(l->port[0]);
        if (!stats(l, 0)->peers) {
            ernic_shm_pair_free(p);
            p = intrude(l);
        }
    }
    g_assert_cmpuint(accepted, >, RANDOM_ROUNDS / 100);
    g_assert_cmpuint(stats(l, 0)->broken, >, RANDOM_ROUNDS / 100);
    ernic_shm_pair_free(p);
    lab_serve(l);
    assert_works(l);
}

/* The number of addresses is one of the peer's words as well. */
LAB_TEST("/shm-hostile/many-addresses", 1, test_many_addresses)
{
    ErnicTrain t;
    ErnicShmPair *p = intrude_as(l, &t, 100);
    uint32_t *num;

    /* Pages: words, then the addresses of the port that has connected. */
    num = (uint32_t *)((uint8_t *)p->tx.words + 4096) + 1;
    IS(*num, 1);
    *num = UINT32_MAX;
    send_train(l, 0, &t);
    IS(stats(l, 0)->tx_trains, 1);
    /* Its next version has as many as there may be, and no more are read. */
    (*num)--;
    num[-1] += 2;
    send_train(l, 0, &t);
    IS(stats(l, 0)->tx_trains, 2);
    t.path.dgid = gid_of("10.0.0.3");
    send_train(l, 0, &t);
    IS(drops(l, 0, UNKNOWN), 1);
    IS(stats(l, 0)->peers, 1);
    ernic_shm_pair_free(p);
    lab_serve(l);
    assert_works(l);
}

/* ---- hello ---------------------------------------------------------------------- */

LAB_TEST("/shm-hostile/memory", 1, test_memory)
{
    uint8_t hello[HELLO_BYTES];
    uint32_t bytes = overhear(hello), before, i;
    int bad[] = {
        memory(bytes, F_SEAL_GROW), memory(bytes, F_SEAL_SHRINK),
        memory(bytes, GOOD | F_SEAL_WRITE), memory(bytes - 1, GOOD),
        memory(bytes + 4096, GOOD), memory(0, GOOD), memory_with(bytes, GOOD, true),
        memory(bytes, GOOD | F_SEAL_SEAL), open("/dev/zero", O_RDWR),
        open("/proc/self/exe", O_RDONLY), epoll_create(1),
    };

    before = open_fds();
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        int fd = dial(l);

        g_assert_cmpint(bad[i], >=, 0);
        say(fd, hello, sizeof(hello), &bad[i], 1);
        lab_serve(l);
        IS(l->events[0][ERNIC_SHM_PEER_REFUSED], i + 1);
        close(fd);
        close(bad[i]);
        IS(open_fds(), before - i - 1);
    }
    IS(stats(l, 0)->refused, i);
    assert_works(l);
}

TEST("/shm-hostile/hello", test_hello)
{
    static const struct {
        uint32_t len, change, fds;
    } bad[] = {
        { HELLO_BYTES, 0, 1 }, { HELLO_BYTES, 4, 1 }, { HELLO_BYTES, 8, 1 },
        { HELLO_BYTES, 12, 1 },         /* each of its fields */
        { HELLO_BYTES - 1, HELLO_BYTES, 1 }, { 1, HELLO_BYTES, 1 },
        { HELLO_BYTES, HELLO_BYTES, 0 }, { HELLO_BYTES, HELLO_BYTES, 4 },
    };
    uint8_t hello[HELLO_BYTES + 1];
    uint32_t bytes = overhear(hello), before, i;
    int fds[4];
    Lab l;

    for (i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = memory(bytes, GOOD);
    }
    lab_open(&l, 1);
    before = open_fds();
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        int fd = dial(&l);

        hello[bad[i].change]++;
        say(fd, hello, bad[i].len, fds, bad[i].fds);
        hello[bad[i].change]--;
        lab_serve(&l);
        IS(stats(&l, 0)->refused, i + 1);
        close(fd);
        lab_serve(&l);
        IS(open_fds(), before);
    }
    for (i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    assert_works(&l);
    lab_close(&l);
}

/* A peer that does not wait for the answer. */
LAB_TEST("/shm-hostile/hasty", 1, test_hasty)
{
    uint8_t hello[HELLO_BYTES];
    int memory_fd = memory(overhear(hello), GOOD), fd;

    fd = dial(l);
    say(fd, hello, sizeof(hello), &memory_fd, 1);
    close(fd);
    lab_serve(l);
    IS(l->events[0][ERNIC_SHM_PEER_GONE], 1);
    IS(stats(l, 0)->peers, 0);
    close(memory_fd);
    assert_works(l);
}

/* Those that say nothing give up their place to others, and after some time anyway. */
LAB_TEST("/shm-hostile/silent", 1, test_silent)
{
    int fd[ERNIC_SHM_PEERS + 1];
    gint64 end;

    for (int i = 0; i <= ERNIC_SHM_PEERS; i++) {
        fd[i] = dial(l);
        lab_serve(l);
    }
    IS(l->events[0][ERNIC_SHM_PEER_GONE], 1);
    assert_works(l);
    end = g_get_monotonic_time() + 5 * G_USEC_PER_SEC;
    while (l->events[0][ERNIC_SHM_PEER_GONE] < ERNIC_SHM_PEERS + 2) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(10000);
        ernic_shm_serve(l->port[0]);
    }
    IS(stats(l, 0)->refused, 0);
    for (int i = 0; i <= ERNIC_SHM_PEERS; i++) {
        close(fd[i]);
    }
    assert_works(l);
}

/* Nobody takes away a page of memory that both have accepted. */
LAB_TEST("/shm-hostile/holes", 1, test_holes)
{
    uint8_t hello[HELLO_BYTES];
    uint32_t bytes = overhear(hello);
    int fd = memory(bytes, GOOD), s;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    g_assert_true(map != MAP_FAILED);
    s = dial(l);
    say(s, hello, sizeof(hello), &fd, 1);
    lab_serve(l);
    IS(stats(l, 0)->peers, 1);
    IS(fallocate(fd, PUNCH, 0, 4096), -1);
    IS(madvise(map, bytes, MADV_REMOVE), -1);
    IS(ftruncate(fd, 0), -1);
    munmap(map, bytes);
    close(fd);
    close(s);
    lab_serve(l);
    assert_works(l);
}

/* The same for the memory that a port offers, before it is up. */
TEST("/shm-hostile/own-holes", test_own_holes)
{
    uint8_t hello[HELLO_BYTES];
    ErnicShmPair *p;
    int fds[2];

    overhear(hello);
    for (int i = 0; i < 2; i++) {
        IS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
        p = ernic_shm_pair_call(fds[0], test_closer(), &plain);
        if (i) {
            IS(fallocate(p->memory, PUNCH, 8192, 4096), 0);
        }
        say(fds[1], hello, sizeof(hello), NULL, 0);
        IS(ernic_shm_pair_handshake(p), i ? ERNIC_SHM_REFUSED : ERNIC_SHM_UP);
        ernic_shm_pair_free(p);
        close(fds[1]);
    }
}

/*
 * Memory without pages, and as many pages beyond its end, which count as its own: the
 * port makes those that it needs.
 */
LAB_TEST("/shm-hostile/beyond", 1, test_beyond)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), s = dial(l);
    uint8_t hello[HELLO_BYTES];
    uint32_t bytes = overhear(hello);
    struct stat st;

    IS(ftruncate(fd, bytes), 0);
    IS(fallocate(fd, FALLOC_FL_KEEP_SIZE, bytes, bytes), 0);
    IS(fcntl(fd, F_ADD_SEALS, GOOD), 0);
    say(s, hello, sizeof(hello), &fd, 1);
    lab_serve(l);
    IS(fstat(fd, &st), 0);
    IS(stats(l, 0)->refused, st.st_blocks * 512 < 2 * bytes);
    close(fd);
    close(s);
    lab_serve(l);
    assert_works(l);
}

/* Any number of messages, and nobody who reads ours. */
LAB_TEST("/shm-hostile/bells", 1, test_bells)
{
    uint8_t noise[100] = { 0 };
    ErnicTrain t;
    ErnicShmPair *p = intrude_as(l, &t, 10);

    for (int i = 0; i < 2000; i++) {
        say(p->fd, noise, 1 + i % sizeof(noise), NULL, 0);
        lab_serve(l);
    }
    for (int i = 0; i < 3000; i++) {
        p->rx.words->asleep = 1;
        p->rx.words->tail = p->rx.words->head;
        send_train(l, 0, &t);
    }
    IS(stats(l, 0)->bells, 3000);
    IS(stats(l, 0)->peers, 1);
    ernic_shm_pair_free(p);
    lab_serve(l);
    assert_works(l);
}

/* ---- at the same time ------------------------------------------------------------- */

typedef struct Scribbler {
    ErnicShmPair *p;
    gint stop;
} Scribbler;

/* Two lists that have one address in common, at the other end. */
static gpointer announce(gpointer opaque)
{
    ErnicGid gid[2][ERNIC_SHM_ADDRESSES];
    uint32_t n = 0;
    Scribbler *s = opaque;

    for (uint32_t i = 0; i < ERNIC_SHM_ADDRESSES; i++) {
        gid[0][i] = gid_of("10.1.0.0");
        gid[1][i] = gid_of("10.2.0.0");
        gid[0][i].raw[15] = gid[1][i].raw[15] = i;
    }
    gid[0][0] = gid[1][ERNIC_SHM_ADDRESSES - 1] = gid_of("10.0.0.2");
    while (!g_atomic_int_get(&s->stop)) {
        ernic_shm_pair_announce(s->p, gid[n++ % 2], ERNIC_SHM_ADDRESSES, false);
    }
    return NULL;
}

/* A list that changes while it is read is never seen as a mixture. */
LAB_TEST("/shm-hostile/mixture", 1, test_mixture)
{
    gint64 end = g_get_monotonic_time() + G_USEC_PER_SEC / 2;
    GThread *thread;
    uint64_t sent = 0;
    ErnicTrain t;
    Scribbler s = (Scribbler) { .p = intrude_as(l, &t, 10) };

    send_train(l, 0, &t);
    thread = g_thread_new("announce", announce, &s);
    while (g_get_monotonic_time() < end) {
        s.p->rx.words->tail = s.p->rx.words->head;
        send_train(l, 0, &t);
        sent++;
    }
    g_atomic_int_set(&s.stop, 1);
    g_thread_join(thread);
    IS(drops(l, 0, UNKNOWN), 0);
    IS(stats(l, 0)->tx_trains, sent + 1);
    ernic_shm_pair_free(s.p);
}

/* Changes what the port is reading. */
static gpointer scribble(gpointer opaque)
{
    Scribbler *s = opaque;
    uint32_t n = 1;

    while (!g_atomic_int_get(&s->stop)) {
        ErnicShmWords *w = s->p->tx.words;
        uint32_t tail = __atomic_load_n(&w->tail, __ATOMIC_RELAXED);
        uint32_t at = (tail + n % 4 * 192) % ERNIC_SHM_RING_BYTES;
        volatile Record *rec = (volatile Record *)(s->p->tx.data + at);

        n = n * 1664525 + 1013904223;
        rec->len = n % 50 ? 100 : n;
        rec->seg = n % 70 ? 100 : n >> 8;
        if (w->head - tail < ERNIC_SHM_RING_BYTES / 2) {
            __atomic_fetch_add(&w->head, 192, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

LAB_TEST("/shm-hostile/scribbler", 1, test_scribbler)
{
    static uint8_t seen[ERNIC_SHM_TRAIN_BYTES];
    gint64 now = g_get_monotonic_time(), end = now + G_USEC_PER_SEC / 5;
    uint32_t accepted = 0;
    ErnicTrain t;
    Scribbler s;

    /* A busy host may let the scribbler run late: both have to be seen, within 20 s. */
    for (; now < end || ((!accepted || !stats(l, 0)->broken) &&
                         now < end + 20 * G_USEC_PER_SEC); now = g_get_monotonic_time()) {
        GThread *thread;

        s = (Scribbler) { .p = intrude(l) };
        for (int i = 0; i < ERNIC_SHM_RING_BYTES / 192; i++) {
            Record rec = { 100, 100, SAME };

            memcpy(s.p->tx.data + i * 192, &rec, sizeof(rec));
        }
        thread = g_thread_new("scribble", scribble, &s);
        for (int i = 0; i < 10000 && stats(l, 0)->peers; i++) {
            if (ernic_shm_recv(l->port[0], &t)) {
                memcpy(seen, t.data, t.len);
                assert_is_train(&t);
                /* The copy is ours: nobody changes it. */
                g_thread_yield();
                g_assert_cmpmem(t.data, t.len, seen, t.len);
                accepted++;
            }
        }
        g_atomic_int_set(&s.stop, 1);
        g_thread_join(thread);
        ernic_shm_pair_free(s.p);
        lab_serve(l);
    }
    g_assert_cmpuint(stats(l, 0)->broken, >, 0);
    g_assert_cmpuint(accepted, >, 0);
    IS(stats(l, 0)->rx_trains, accepted);
    assert_works(l);
}
