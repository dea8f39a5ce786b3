/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register accesses of RecoNIC's kernel driver in their order, from its probe to a
 * network interface with 64 queues and memory queues beside them, and back. The answers
 * that the driver requires are checked, and every wait of it is a loop here.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "ernic-qdma-net.h"

#define QUEUES      64          /* streams; queues 64 to 67 are memory-mapped */
#define ALL_QUEUES  68
#define RING        1024        /* descriptors and the status, of the table */
#define CMPT        1536
#define BUFFER      1024
#define VECTORS     17

/* Its tables, and the indices that it looks for in what it reads back. */
static const uint16_t rings[16] = {
    2049, 65, 129, 193, 257, 385, 513, 769, 1025, 1537, 3073, 4097, 6145, 8193, 12289,
    16385
};
static const uint16_t sizes[16] = {
    4096, 256, 512, 1024, 2048, 3968, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 8192,
    9018, 16384
};
static const uint16_t timers[16] = {
    1, 2, 4, 5, 8, 10, 15, 20, 25, 30, 50, 75, 100, 125, 150, 200
};
static const uint16_t counts[16] = {
    2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192
};

typedef struct Driver {
    QdmaNet n;
    uint32_t ring, cmpt, buffer, timer, count;      /* indices */
    uint64_t tx[QUEUES], rx[QUEUES], entries[QUEUES], data;
    uint32_t tx_pi[QUEUES];
} Driver;

static uint32_t vector_of(uint32_t queue)
{
    return queue % (VECTORS - 2);
}

/* ---- probe ------------------------------------------------------------------------ */

static void identify(Qdma *x)
{
    g_assert_cmphex(qdma_get(x, 0) >> 16, ==, 0x1fd3);
    g_assert_cmphex(qdma_get(x, 0x134), ==, 0x01100000);
    g_assert_cmphex(qdma_get(x, 0x104) & 0x3f, ==, 1 << 0);
    g_assert_cmphex(qdma_get(x, 0x10c) & 0x3f, ==, 1 << 2);
    g_assert_cmpuint(qdma_get(x, 0x120) & 0xfff, >=, ALL_QUEUES);
    g_assert_cmphex(qdma_get(x, 0x118), ==, 0x30101);
    g_assert_cmphex(qdma_get(x, 0x12c) & 0xff, ==, 0);
}

static void clear_contexts(Qdma *x)
{
    for (uint32_t q = 0; q < QDMA_QUEUES; q++) {
        for (uint32_t selector = 0; selector <= QDMA_PREFETCH; selector++) {
            qdma_put(x, 0x844, q << 7 | selector << 1);
        }
    }
    qdma_command(x, QDMA_FMAP, 0, QDMA_CLEAR);
}

/* Where @value is in a table that was read back. */
static uint32_t find(Qdma *x, uint32_t at, uint32_t value)
{
    for (uint32_t i = 0; i < 16; i++) {
        if (qdma_get(x, at + i * 4) == value) {
            return i;
        }
    }
    g_assert_not_reached();
}

static void set_tables(Driver *w)
{
    static const uint32_t more[][2] = {
        { 0x250, 0x35 }, { 0xb08, 0x100 }, { 0xa84, 8 }, { 0xb0c, 25 },
        { 0xb50, 0x80064014 }, { 0xe24, 0x06045000 }, { 0x1004, 1 }, { 0x1204, 1 },
    };
    Qdma *x = &w->n.x;

    for (uint32_t i = 0; i < 16; i++) {
        qdma_put(x, 0x204 + i * 4, rings[i]);
        qdma_put(x, 0xab0 + i * 4, sizes[i]);
        qdma_put(x, 0xa00 + i * 4, timers[i]);
        qdma_put(x, 0xa40 + i * 4, counts[i]);
    }
    g_assert_cmpuint(qdma_get(x, 0xbe0) / 2, >, 2);
    g_assert_cmpuint(qdma_get(x, 0xbe4), <, 1 << 6);
    for (uint32_t i = 0; i < ARRAY_SIZE(more); i++) {
        qdma_put(x, more[i][0], more[i][1]);
        g_assert_cmphex(qdma_get(x, more[i][0]), ==, more[i][1]);
    }
    w->ring = find(x, 0x204, RING + 1);
    w->cmpt = find(x, 0x204, CMPT + 1);
    w->buffer = find(x, 0xab0, BUFFER);
    w->timer = find(x, 0xa00, 5);
    w->count = find(x, 0xa40, 64);
}

/* The last vector, masks one bit at a time, then armed. */
static void enable_errors(Qdma *x)
{
    static const uint32_t masks[][2] = {
        { 0x258, 0x1f9037e }, { 0x268, 0xb3 }, { 0xaf4, 0x3f6df }, { 0xafc, 0x1fdf1b },
        { 0xe04, 0x3f }, { 0xe0, ~0 }, { 0xf0, ~0 }, { 0xe8, ~0 }, { 0xf8, ~0 },
    };

    qdma_put(x, 0xb04, (VECTORS - 1) << 12);
    for (uint32_t i = 0; i < ARRAY_SIZE(masks); i++) {
        qdma_put(x, masks[i][0], masks[i][1]);
        qdma_put(x, 0x24c, qdma_get(x, 0x24c) | 1 << i | 1 << 16 | 1 << 8);
    }
    qdma_put(x, 0xb04, qdma_get(x, 0xb04) | 1 << 24);
}

static void probe(Driver *w)
{
    Qdma *x = &w->n.x;

    identify(x);
    clear_contexts(x);
    set_tables(w);
    enable_errors(x);
    qdma_start_mac(x, 0x8000, 1 << 4);
    qdma_put_user(&w->n.x, 0x1000, QUEUES);
    for (uint32_t i = 0; i < 128; i++) {
        qdma_put_user(&w->n.x, 0x1400 + i * 4, i % QUEUES);
    }
    qdma_write_context(x, QDMA_FMAP, 0, (uint32_t[8]) { 0, ALL_QUEUES });
}

/* ---- the interface ----------------------------------------------------------------- */

static void open_rx(Driver *w, uint32_t q)
{
    Qdma *x = &w->n.x;
    uint64_t addr[RING];

    for (uint32_t i = 0; i < RING; i++) {
        addr[i] = cpu_to_le64(w->data + i % 4 * BUFFER);
    }
    addr[0] = cpu_to_le64(w->data + (4 + q) * BUFFER);
    qtest_bufwrite(x->m->qts, w->rx[q], addr, sizeof(addr));
    for (uint32_t selector = QDMA_SW; selector <= QDMA_PREFETCH; selector++) {
        if (selector >= QDMA_CMPT || selector % 2 == QDMA_C2H) {
            qdma_command(x, selector, q, QDMA_CLEAR);
        }
    }
    qdma_write_context(x, QDMA_SW, q, (uint32_t[8]) {
        0, 3 | w->ring << 12, w->rx[q], w->rx[q] >> 32 });
    qdma_write_context(x, QDMA_PREFETCH, q, (uint32_t[8]) {
        w->buffer << 1 | 1 << 27, 1 << 13 });
    qdma_write_context(x, QDMA_CMPT, q, (uint32_t[8]) {
        3 | QNET_BOTH << 2 | w->count << 17 | w->timer << 21 | 1 << 27 | w->cmpt << 28,
        w->entries[q] >> 6, w->entries[q] >> 38, 1 << 28, vector_of(q) << 4 });
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 12, 0x1d370000);
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 8, RING - 1);
}

static void open_tx(Driver *w, uint32_t q)
{
    Qdma *x = &w->n.x;

    for (uint32_t selector = QDMA_SW; selector < QDMA_CMPT; selector += 2) {
        qdma_command(x, selector + QDMA_H2C, q, QDMA_CLEAR);
    }
    qdma_write_context(x, QDMA_SW + QDMA_H2C, q, (uint32_t[8]) {
        1 << 16, 1 | 3 << 2 | w->ring << 12 | 1 << 16 | 3 << 20 | 1 << 30, w->tx[q],
        w->tx[q] >> 32, vector_of(q) });
}

/* Memory-mapped queues have no status bits in C2H, and no doorbell yet. */
static void open_mm(Driver *w, uint32_t q)
{
    for (uint32_t dir = 0; dir < 2; dir++) {
        qdma_write_context(&w->n.x, QDMA_SW + dir, q, (uint32_t[8]) {
            1 << 16, 1 | (dir ? 3 : 0) << 2 | w->ring << 12 | 2 << 16 | 3 << 20 |
            1 << 30 | 1u << 31, w->data, w->data >> 32, vector_of(q) });
    }
}

static void up(Driver *w)
{
    for (uint32_t q = 0; q < QUEUES; q++) {
        qtest_memset(w->n.x.m->qts, w->entries[q], 0, (CMPT + 1) * 8);
        qtest_memset(w->n.x.m->qts, w->tx[q], 0, (RING + 1) * 16);
        w->tx_pi[q] = 0;
        open_rx(w, q);
        open_tx(w, q);
    }
    for (uint32_t q = QUEUES; q < ALL_QUEUES; q++) {
        open_mm(w, q);
    }
}

static void down(Driver *w)
{
    for (uint32_t q = 0; q < ALL_QUEUES; q++) {
        for (uint32_t selector = QDMA_SW; selector <= QDMA_PREFETCH; selector++) {
            qdma_command(&w->n.x, selector, q, QDMA_INVALIDATE);
        }
    }
}

/* Sends a frame in queue @q: one descriptor, and the doorbell with the arm bit. */
static void transmit(Driver *w, uint32_t q, const uint8_t *frame, uint32_t len)
{
    Qdma *x = &w->n.x;
    uint8_t desc[16] = { }, is[QNET_FRAME];
    uint64_t at = w->data + 70 * BUFFER;

    qtest_bufwrite(x->m->qts, at, frame, len);
    stl_le_p(desc, len << 16 | 1 << 13);
    stw_le_p(desc + 4, len);
    stq_le_p(desc + 8, at);
    qtest_memwrite(x->m->qts, w->tx[q] + w->tx_pi[q] * 16, desc, 16);
    w->tx_pi[q]++;
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 4, w->tx_pi[q] | 1 << 16);
    qnet_same(is, qernic_from_wire(w->n.fd, is, sizeof(is)), frame, len);
    g_assert_true(qdma_interrupted(x, vector_of(q)));
    g_assert_cmpuint(qtest_readw(x->m->qts, w->tx[q] + RING * 16 + 2), ==, w->tx_pi[q]);
    /* It frees the packet, and arms with the same index. */
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 4, w->tx_pi[q] | 1 << 16);
    g_assert_false(qdma_interrupted(x, vector_of(q)));
}

/* A queue whose status shows an entry, or QUEUES. */
static uint32_t pending(Driver *w)
{
    uint32_t q = 0;

    while (q < QUEUES && !qtest_readw(w->n.x.m->qts, w->entries[q] + CMPT * 8)) {
        q++;
    }
    return q;
}

/* Takes the frame that has come to some queue by interrupt; returns which. */
static uint32_t receive(Driver *w, const uint8_t *frame, uint32_t len)
{
    Qdma *x = &w->n.x;
    uint8_t is[BUFFER];
    uint64_t entry;
    uint32_t q;

    qernic_wait_while(x->m->qts, (q = pending(w)) == QUEUES);
    g_assert_true(qdma_interrupted(x, vector_of(q)));
    entry = qtest_readq(x->m->qts, w->entries[q]);
    g_assert_cmphex(entry & 0xfffff, ==, len << 4 | 8 | 2);     /* colour, used */
    qtest_bufread(x->m->qts, w->data + (4 + q) * BUFFER, is, len);
    qnet_same(is, len, frame, len);
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 12, 0x1d370000 | 1);
    qdma_put(x, QDMA_DOORBELLS + q * 16 + 8, 0);
    g_assert_false(qdma_interrupted(x, vector_of(q)));
    return q;
}

static void alloc(Driver *w)
{
    QGuestAllocator *alloc = &w->n.x.m->alloc;

    w->data = guest_alloc(alloc, 80 * BUFFER);
    for (uint32_t q = 0; q < QUEUES; q++) {
        w->tx[q] = guest_alloc(alloc, (RING + 1) * 16);
        w->rx[q] = guest_alloc(alloc, (RING + 1) * 8);
        w->entries[q] = guest_alloc(alloc, (CMPT + 1) * 8);
    }
}

/* The driver breaks no rule of the QDMA, whose registers are all that it uses here. */
static void breaks_no_rule(Qdma *x)
{
    QDict *rsp = qernic_get(x->m->qts, x->q->id, "ernic-violations"), *rule;
    QDict *all = qdict_get_qdict(rsp, "return");
    const QDictEntry *entry;
    uint32_t seen = 0;

    for (entry = qdict_first(all); entry; entry = qdict_next(all, entry)) {
        rule = qobject_to(QDict, qdict_entry_value(entry));
        g_test_message("%s", qdict_entry_key(entry));
        g_assert_cmpint(qdict_get_int(rule, "count"), ==, 0);
        seen += g_str_has_prefix(qdict_entry_key(entry), "qdma-");
    }
    g_assert_cmpuint(seen, >, 0);
    qobject_unref(rsp);
}

MACHINE_TEST("/ernic-qdma-driver/reconic", test_reconic)
{
    uint8_t frame[1000];
    uint32_t q, seen = 0;
    Driver w = { };

    qnet_open(&w.n, ",ernic-strict=report");    /* as an earlier driver left it */
    alloc(&w);
    qdma_reset(&w.n.x, 1);
    for (uint32_t round = 0; round < 2; round++) {
        qdma_start(&w.n.x);
        probe(&w);
        for (uint32_t i = 0; i < 6; i++) {
            up(&w);
            for (q = 0; q < QUEUES; q += 21) {
                qnet_frame(frame, 60 + q + i, q, i);
                transmit(&w, q, frame, 60 + q + i);
            }
            qnet_frame(frame, 900, round, i);
            qernic_to_wire(w.n.fd, frame, 900);
            q = receive(&w, frame, 900);
            seen |= 1u << q % 32;
            down(&w);
        }
        qdma_put_user(&w.n.x, 0x800c, 0);
        qdma_put_user(&w.n.x, 0x8014, 0);
    }
    g_assert_cmpint(ctpop32(seen), >, 1);
    g_assert_cmphex(qdma_get(&w.n.x, 0x248), ==, 0);
    g_assert_cmpuint(qernic_stat(w.n.x.q, "qdma.errors"), ==, 0);
    breaks_no_rule(&w.n.x);
}
