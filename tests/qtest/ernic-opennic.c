/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register accesses of OpenNIC's kernel driver. Every wait of it is a loop here.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "ernic-opennic.h"

#define TX_RING     4095        /* descriptors before the status; the places: */
#define RX_RING     1023
#define PLACES      (TX_RING + 1)
#define BUFFER      4096        /* bytes */
#define BUFFERS     256         /* posted at once */

/* The driver's tables; it uses index 0 (send), 8 (the others). */
static const uint16_t rings[16] = {
    4096, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 3072, 4096, 6144, 8192, 12288,
    16384
};
static const uint16_t sizes[16] = {
    4096, 256, 512, 1024, 2048, 3968, 4096, 4096, 4096, 4096, 4096, 4096, 4096, 8192,
    9018, 16384
};
static const uint16_t timers[16] = {
    10, 2, 4, 5, 8, 10, 15, 20, 25, 30, 50, 75, 100, 125, 150, 200
};
static const uint16_t counts[16] = {
    64, 2, 4, 8, 16, 24, 32, 48, 80, 96, 112, 128, 144, 160, 176, 192
};

/* Offset @at of the MAC of the function. */
uint32_t onic_mac(const Onic *w, uint32_t at)
{
    return 0x8000 + w->function * 0x4000 + at;
}

/* ---- probe ------------------------------------------------------------------------ */

static void set_queues(Onic *w)
{
    uint32_t first = w->function * ONIC_PER_PF;

    qdma_command(&w->x, QDMA_FMAP, w->function, QDMA_CLEAR);
    qdma_write_context(&w->x, QDMA_FMAP, w->function,
                       (uint32_t[8]) { first, ONIC_QUEUES });
    qdma_put_user(&w->x, 0x1000 + w->function * 0x1000, first << 16 | ONIC_QUEUES);
    for (uint32_t i = 0; i < 128; i++) {
        qdma_put_user(&w->x, 0x1400 + w->function * 0x1000 + i * 4, i % ONIC_QUEUES);
    }
}

static void set_tables(Qdma *x)
{
    for (uint32_t i = 0; i < 16; i++) {
        qdma_put(x, 0x204 + i * 4, rings[i]);
        qdma_put(x, 0xab0 + i * 4, sizes[i]);
        qdma_put(x, 0xa00 + i * 4, timers[i]);
        qdma_put(x, 0xa40 + i * 4, counts[i]);
    }
    qdma_put(x, 0xb0c, 25);
    qdma_put(x, 0x250, 0x30);
    qdma_put(x, 0xb08, qdma_get(x, 0xbe0) / 2 << 16 | 8 << 8);
    qdma_put(x, 0xb50, qdma_get(x, 0xbe4) << 26 | 25 << 14 | 5 << 2);
    qdma_put(x, 0xe24, 0x00c14000);
}

/* Masks one bit at a time, then armed. */
static void enable_errors(Qdma *x)
{
    static const uint32_t masks[][3] = {
        { 0x258, 0x1f9023f, 2 }, { 0x268, 0xf, 3 }, { 0xaf4, 0xfedb, 8 },
        { 0xafc, 0x7df1b, 8 }, { 0xe04, 0x1f, 11 }, { 0xf0, 0xffffff11, 0 },
        { 0xf8, 0xffffff11, 1 },
    };

    qdma_put(x, 0xb04, ONIC_ERROR << 12);
    for (uint32_t i = 0; i < ARRAY_SIZE(masks); i++) {
        qdma_put(x, masks[i][0], masks[i][1]);
        qdma_put(x, 0x24c, qdma_get(x, 0x24c) | 1 << masks[i][2]);
    }
    qdma_put(x, 0xb04, ONIC_ERROR << 12 | 1 << 24);
}

/* @macs: the number of MACs that the driver has to find. */
void onic_probe(Onic *w, uint32_t macs)
{
    uint32_t i;

    g_assert_cmphex(qpci_msix_table_size(&w->x.q->dev), ==, ONIC_VECTORS);
    qdma_aim(&w->x, ONIC_VECTORS);
    set_queues(w);
    if (!w->function) {
        set_tables(&w->x);
    }
    for (i = 0; i < 2 && qdma_user(&w->x, 0x8024 + i * 0x4000) == 0x301; i++) {
        if (!w->function) {
            qdma_start_mac(&w->x, 0x8000 + i * 0x4000, i ? 0x100 : 0x10);
        }
    }
    g_assert_cmpuint(i, ==, macs);
    if (!w->function) {
        enable_errors(&w->x);
    }
}

void onic_alloc(Onic *w)
{
    QGuestAllocator *a = &w->x.m->alloc;

    w->out = guest_alloc(a, QNET_FRAME);
    for (uint32_t i = 0; i < ONIC_QUEUES; i++) {
        w->queue[i] = (OnicQueue) {
            .tx = guest_alloc(a, PLACES * 16), .rx = guest_alloc(a, (RX_RING + 1) * 8),
            .entries = guest_alloc(a, (RX_RING + 1) * 8),
            .buffers = guest_alloc(a, BUFFERS * BUFFER),
        };
    }
}

/* ---- the interface ----------------------------------------------------------------- */

uint32_t onic_number(const Onic *w, uint32_t i)
{
    return w->function * ONIC_PER_PF + i;
}

/* Doorbells count from the first queue of the function. */
void onic_ring(Onic *w, uint32_t i, uint32_t at, uint32_t value)
{
    qdma_put(&w->x, QDMA_DOORBELLS + i * 16 + at, value);
}

void onic_open_tx(Onic *w, uint32_t i)
{
    OnicQueue *q = &w->queue[i];

    qtest_memset(w->x.m->qts, q->tx, 0, PLACES * 16);
    q->tx_pi = 0;
    qdma_command(&w->x, QDMA_SW + QDMA_H2C, onic_number(w, i), QDMA_CLEAR);
    qdma_write_context(&w->x, QDMA_SW + QDMA_H2C, onic_number(w, i), (uint32_t[8]) {
        w->function << 17, 1 | 3 << 2 | 1 << 16 | 1 << 20, q->tx, q->tx >> 32, i });
    qdma_command(&w->x, QDMA_HW + QDMA_H2C, onic_number(w, i), QDMA_CLEAR);
    qdma_command(&w->x, QDMA_CREDIT + QDMA_H2C, onic_number(w, i), QDMA_CLEAR);
}

/* The software context comes before the others, enabled. */
void onic_open_rx(Onic *w, uint32_t i)
{
    OnicQueue *q = &w->queue[i];
    uint64_t addr[BUFFERS];

    for (uint32_t n = 0; n < BUFFERS; n++) {
        addr[n] = cpu_to_le64(q->buffers + n * BUFFER);
    }
    qtest_bufwrite(w->x.m->qts, q->rx, addr, sizeof(addr));
    qtest_memset(w->x.m->qts, q->entries, 0, (RX_RING + 1) * 8);
    q->rx_ci = q->ci = 0;
    qdma_command(&w->x, QDMA_SW, onic_number(w, i), QDMA_CLEAR);
    qdma_write_context(&w->x, QDMA_SW, onic_number(w, i), (uint32_t[8]) {
        w->function << 17, 1 | 1 << 1 | 8 << 12 | 1 << 20, q->rx, q->rx >> 32 });
    qdma_command(&w->x, QDMA_HW, onic_number(w, i), QDMA_CLEAR);
    qdma_command(&w->x, QDMA_CREDIT, onic_number(w, i), QDMA_CLEAR);
    qdma_command(&w->x, QDMA_PREFETCH, onic_number(w, i), QDMA_CLEAR);
    qdma_write_context(&w->x, QDMA_PREFETCH, onic_number(w, i), (uint32_t[8]) {
        8 << 1 | 1 << 27, 1 << 13 });
    qdma_command(&w->x, QDMA_CMPT, onic_number(w, i), QDMA_CLEAR);
    qdma_write_context(&w->x, QDMA_CMPT, onic_number(w, i), (uint32_t[8]) {
        3 | QNET_BOTH << 2 | w->function << 5 | 1 << 27 | 8u << 28, q->entries >> 6,
        q->entries >> 38, 1 << 28, i << 4 });
    onic_ring(w, i, 8, BUFFERS);
    onic_ring(w, i, 12, QNET_BOTH << 24 | 1 << 27 | 1 << 28);
}

void onic_up(Onic *w)
{
    for (uint32_t i = 0; i < ONIC_QUEUES; i++) {
        onic_open_tx(w, i);
        onic_open_rx(w, i);
    }
}

void onic_down(Onic *w)
{
    for (uint32_t i = 0; i < ONIC_QUEUES; i++) {
        for (uint32_t selector = QDMA_SW; selector <= QDMA_PREFETCH; selector++) {
            qdma_command(&w->x, selector, onic_number(w, i), QDMA_INVALIDATE);
        }
    }
}

/* The shell takes the length of a frame from the metadata, which have it too. */
void onic_transmit(Onic *w, uint32_t i, const uint8_t *frame, uint32_t len)
{
    OnicQueue *q = &w->queue[i];
    uint8_t desc[16] = { };

    qtest_bufwrite(w->x.m->qts, w->out, frame, len);
    stl_le_p(desc, len);
    stw_le_p(desc + 4, len);
    stq_le_p(desc + 8, w->out);
    qtest_memwrite(w->x.m->qts, q->tx + q->tx_pi * 16, desc, 16);
    q->tx_pi++;
    onic_ring(w, i, 4, q->tx_pi);
    qnet_arrives(w->fd, frame, len);
    /* It polls the status: there is no interrupt. */
    qernic_wait_while(w->x.m->qts,
                      qtest_readw(w->x.m->qts, q->tx + TX_RING * 16 + 2) != q->tx_pi);
}

/* A queue whose status shows an entry, or ONIC_QUEUES. */
uint32_t onic_pending(Onic *w)
{
    uint32_t i = 0;

    while (i < ONIC_QUEUES && w->queue[i].ci ==
           qtest_readw(w->x.m->qts, w->queue[i].entries + RX_RING * 8)) {
        i++;
    }
    return i;
}

/* Takes the frame that has come to some queue by interrupt; returns which. */
static uint32_t take(Onic *w, const uint8_t *frame, uint32_t len)
{
    uint8_t is[QNET_FRAME];
    uint64_t entry;
    uint32_t i;
    OnicQueue *q;

    qernic_wait_while(w->x.m->qts, (i = onic_pending(w)) == ONIC_QUEUES);
    q = &w->queue[i];
    g_assert_true(qdma_interrupted(&w->x, i));
    entry = qtest_readq(w->x.m->qts, q->entries + q->ci * 8);
    g_assert_cmphex(entry & 0xffffffffffff, ==,
                    (uint64_t)len << 32 | onic_number(w, i) << 16 | 1 << 1);
    qtest_bufread(w->x.m->qts, q->buffers + q->rx_ci * BUFFER, is, len);
    qnet_same(is, len, frame, len);
    q->rx_ci++;
    q->ci++;
    onic_ring(w, i, 8, BUFFERS + q->rx_ci);
    onic_ring(w, i, 12, q->ci | QNET_BOTH << 24 | 1 << 27 | 1 << 28);
    g_assert_false(qdma_interrupted(&w->x, i));
    return i;
}

/* Sends a frame of flow @flow from the other end; returns the queue that has it. */
uint32_t onic_receive(Onic *w, uint32_t flow, uint32_t len)
{
    uint8_t frame[QNET_FRAME];

    qnet_frame(frame, len, flow, 9);
    qernic_to_wire(w->fd, frame, len);
    return take(w, frame, len);
}

uint32_t onic_counter(Onic *w, uint32_t at)
{
    return qdma_user(&w->x, onic_mac(w, at));
}

/* ---- two ports -------------------------------------------------------------------- */

char *onic_cables(Onic w[2], const char *more)
{
    return g_strdup_printf(",shell=opennic,multifunction=on,vectors=10,netdev=sock0%s"
                           ONIC_SECOND ",vectors=10,netdev=sock1%s"
                           " -netdev socket,fd=%d,id=sock0 -netdev socket,fd=%d,id=sock1",
                           more, more, qernic_cable(&w[0].fd), qernic_cable(&w[1].fd));
}

void onic_unplug(Qdma *x, const char *id)
{
    QTestState *qts = x->m->qts;

    qtest_qmp_device_del_send(qts, id);
    qtest_system_reset_nowait(qts);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    for (uint32_t n = 0; n < 50; n++) {
        qtest_clock_step(qts, 100000);
    }
}
