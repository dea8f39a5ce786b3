/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the stream queues of RecoNIC's QDMA.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "ernic-qdma-net.h"

#define RING_SIZES  0x204
#define TIMERS      0xa00
#define COUNTS      0xa40
#define BUFFERS     0xab0
#define TICK        0xb0c
#define TICK_CLOCKS 25              /* of 4 ns */
#define DOORBELL(s, at) (QDMA_DOORBELLS + (s)->number * 16 + (at))

char *qnet_cable(QdmaNet *n, const char *more)
{
    return g_strdup_printf(",netdev=sock0%s -netdev socket,fd=%d,id=sock0", more,
                           qernic_cable(&n->fd));
}

void qnet_setup(Qdma *x)
{
    qdma_start(x);
    qdma_put(x, RING_SIZES + 4 * QNET_TX_RING, QNET_ENTRIES + 1);
    qdma_put(x, RING_SIZES + 4 * QNET_RX_RING, QNET_ENTRIES + 1);
    qdma_put(x, RING_SIZES + 4 * QNET_CMPT_RING, QNET_CMPT + 1);
    qdma_put(x, TICK, TICK_CLOCKS);
    qdma_put(x, TIMERS, QNET_TIMER_NS / (TICK_CLOCKS * 4));
    qdma_put(x, COUNTS, QNET_CNT_TH);
    qdma_put(x, BUFFERS, QNET_BUFFER);
    qdma_put_user(x, 0x1000, 64);
    qdma_put_user(x, 0x800c, 1);
    qdma_put_user(x, 0x8014, 1);
}

void qnet_open(QdmaNet *n, const char *more)
{
    g_autofree char *args = qnet_cable(n, more);

    qdma_open(&n->x, args);
    qnet_setup(&n->x);
}

/* ---- contexts ------------------------------------------------------------------- */

void qnet_cmpt_context(QdmaStream *s, uint32_t words[8])
{
    const uint32_t all[8] = {
        1 | 1 << 1 | s->mode << 2 | 1 << 27 | QNET_CMPT_RING << 28,
        s->cmpt >> 6, s->cmpt >> 38 | s->size << 26, 1 << 28,
        s->number % 16 << 4 | 1 << 1, extract64(s->cmpt, 2, 4) << 14,
    };

    memcpy(words, all, sizeof(all));
}

void qnet_contexts(QdmaStream *s)
{
    Qdma *x = s->x;
    uint32_t h2c[8] = {
        1 << 16, 1 | 3 << 2 | QNET_TX_RING << 12 | 1 << 16 | 3 << 20 | 1 << 30,
        s->tx, s->tx >> 32, s->number % 16,
    };
    uint32_t c2h[8] = { 0, 3 | QNET_RX_RING << 12, s->rx, s->rx >> 32 };
    uint32_t prefetch[8] = { 1 << 27, 1 << 13 }, cmpt[8];

    qnet_cmpt_context(s, cmpt);
    for (uint32_t i = QDMA_SW; i <= QDMA_PREFETCH; i++) {
        qdma_command(x, i, s->number, QDMA_CLEAR);
    }
    qtest_memset(x->m->qts, s->tx, 0, (QNET_ENTRIES + 1) * 16);
    qtest_memset(x->m->qts, s->cmpt, 0, (QNET_CMPT + 1) * (8 << s->size));
    s->tx_pi = s->rx_pi = s->rx_ci = s->cmpt_ci = 0;
    s->color = true;
    qdma_write_context(x, QDMA_SW + QDMA_H2C, s->number, h2c);
    qdma_write_context(x, QDMA_SW + QDMA_C2H, s->number, c2h);
    qdma_write_context(x, QDMA_PREFETCH, s->number, prefetch);
    qdma_write_context(x, QDMA_CMPT, s->number, cmpt);
}

void qnet_refill(QdmaStream *s)
{
    s->rx_pi = (s->rx_ci + QNET_ENTRIES - 1) % QNET_ENTRIES;
    qdma_put(s->x, DOORBELL(s, 8), s->rx_pi);
}

void qnet_read(QdmaStream *s, uint32_t arm)
{
    qdma_put(s->x, DOORBELL(s, 12), s->cmpt_ci | s->mode << 24 | 1 << 27 | arm);
}

void qnet_again(QdmaStream *s)
{
    qnet_refill(s);
    qnet_read(s, QNET_ARM);
}

void qnet_stream(Qdma *x, QdmaStream *s, uint32_t number, uint32_t mode, uint32_t size)
{
    uint64_t addr;

    *s = (QdmaStream) { .x = x, .number = number, .mode = mode, .size = size };
    s->tx = guest_alloc(&x->m->alloc, (QNET_ENTRIES + 1) * 16);
    s->rx = guest_alloc(&x->m->alloc, (QNET_ENTRIES + 1) * 8);
    s->cmpt = guest_alloc(&x->m->alloc, (QNET_CMPT + 1) * 64);
    s->out = guest_alloc(&x->m->alloc, QNET_ENTRIES * (QNET_FRAME + 4));
    s->in = guest_alloc(&x->m->alloc, QNET_ENTRIES * QNET_BUFFER);
    for (uint32_t i = 0; i < QNET_ENTRIES; i++) {
        addr = cpu_to_le64(s->in + i * QNET_BUFFER);
        qtest_memwrite(x->m->qts, s->rx + i * 8, &addr, 8);
    }
    qnet_contexts(s);
    qnet_again(s);
}

/* ---- frames ----------------------------------------------------------------------- */

void qnet_frame(uint8_t *frame, uint32_t len, uint16_t from, uint16_t to)
{
    for (uint32_t i = 42; i < len; i++) {
        frame[i] = i * 7 + from * 13 + to * 3 + (i >> 8);
    }
    memcpy(frame, "\x52\x54\0\0\0\x42\x52\x54\0\x99\x99\x99\x08\0\x45\0", 16);
    stw_be_p(frame + 16, len - 14);
    memcpy(frame + 18, "\0\0\0\0\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2", 16);
    stw_be_p(frame + 34, from);
    stw_be_p(frame + 36, to);
    stw_be_p(frame + 38, len - 34);
    stw_be_p(frame + 40, 0);
}

void qnet_same(const uint8_t *is, uint32_t is_len, const uint8_t *want, uint32_t len)
{
    g_assert_cmpuint(is_len, ==, len);
    g_assert_cmpint(memcmp(is, want, len), ==, 0);
}

void qnet_arrives(int fd, const uint8_t *frame, uint32_t len)
{
    uint8_t is[QNET_FRAME];
    uint32_t n;

    do {
        n = qernic_from_wire(fd, is, sizeof(is));
    } while (n == 60 && len != 60);     /* QEMU announces the address after a migration */
    qnet_same(is, n, frame, len);
}

void qnet_post(QdmaStream *s, const uint8_t *frame, uint32_t len)
{
    uint64_t at = s->out + s->tx_pi * (QNET_FRAME + 4);
    uint8_t desc[16] = { };

    if (len) {
        qtest_bufwrite(s->x->m->qts, at, frame, len);
    }
    stl_le_p(desc, len << 16 | 1 << 13);            /* metadata, of other shells */
    stw_le_p(desc + 4, len);
    stq_le_p(desc + 8, at);
    qtest_memwrite(s->x->m->qts, s->tx + s->tx_pi * 16, desc, sizeof(desc));
    s->tx_pi = (s->tx_pi + 1) % QNET_ENTRIES;
}

void qnet_ring(QdmaStream *s)
{
    qdma_put(s->x, DOORBELL(s, 4), s->tx_pi | 1 << 16);
}

uint64_t qnet_tx_status(QdmaStream *s)
{
    return qtest_readq(s->x->m->qts, s->tx + QNET_ENTRIES * 16);
}

void qnet_sent(QdmaStream *s)
{
    qnet_ring(s);
    qernic_wait_while(s->x->q->qts, extract64(qnet_tx_status(s), 16, 16) != s->tx_pi);
    g_assert_cmphex(extract64(qnet_tx_status(s), 0, 2), ==, 0);
}

uint64_t qnet_status(QdmaStream *s)
{
    return qtest_readq(s->x->m->qts, s->cmpt + QNET_CMPT * (8 << s->size));
}

/* The parts of an entry beside the length at bit 32, which both shells have. */
static void check_entry(QdmaStream *s, uint64_t entry, uint32_t len)
{
    uint64_t rest = s->x->opennic ? s->number << 16 : len << 4 | 1 << 3;

    g_assert_cmphex(extract64(entry, 0, 32), ==, rest | s->color << 1);
}

uint32_t qnet_poll(QdmaStream *s, uint8_t *frame)
{
    QTestState *qts = s->x->m->qts;
    uint64_t entry;
    uint32_t len, n;

    if (extract64(qnet_status(s), 0, 16) == s->cmpt_ci) {
        return 0;
    }
    entry = qtest_readq(qts, s->cmpt + s->cmpt_ci * (8 << s->size));
    len = extract64(entry, 32, 16);
    check_entry(s, entry, len);
    g_assert_cmpuint(len, <=, QNET_FRAME);
    for (uint32_t pos = 0; pos < len; pos += n) {
        n = MIN(len - pos, QNET_BUFFER);
        qtest_bufread(qts, s->in + s->rx_ci * QNET_BUFFER, frame + pos, n);
        s->rx_ci = (s->rx_ci + 1) % QNET_ENTRIES;
    }
    s->cmpt_ci = (s->cmpt_ci + 1) % QNET_CMPT;
    s->color ^= !s->cmpt_ci;
    return len;
}

uint32_t qnet_receive(QdmaStream *s, uint8_t *frame)
{
    uint32_t len;

    qernic_wait_while(s->x->q->qts, !(len = qnet_poll(s, frame)));
    return len;
}
