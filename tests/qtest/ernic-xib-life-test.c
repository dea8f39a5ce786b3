/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The AXI DMA of the xib shell: frames in several descriptors, errors, resets, migration
 * and unplug while frames move, and a guest that writes anything.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-xib.h"

#define KINDS   { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" }
#define ONE     { "", "" }
/* Not memory, in a machine with less. */
#define NOWHERE 0x80000000000ull

static uint64_t rx_buffer(const Xib *x, uint32_t n)
{
    return x->buf[XIB_S2MM] + n % XIB_RX_RING * XIB_BUFFER;
}

/* Starts S2MM again with @num descriptors of @len bytes. */
static void short_buffers(Xib *x, uint32_t num, uint32_t len)
{
    xib_down(x);
    xib_up(x);
    xib_put_channel(x, XIB_S2MM, XIB_CR, xib_channel(x, XIB_S2MM, XIB_CR) &
                    ~PG332_DMACR_RUN);
    for (uint32_t i = 0; i < XIB_RX_RING; i++) {
        xib_set_desc(x, XIB_S2MM, i, rx_buffer(x, i), len);
    }
    xib_begin(x, XIB_S2MM, XIB_RX_CR);
    xib_give(x, num - 1);
}

static void check_pieces(Xib *x, uint32_t num, const uint8_t *frame, uint32_t len,
                         uint32_t size)
{
    uint8_t is[XIB_BUFFER];
    uint32_t n;

    for (uint32_t i = 0; i < num; i++) {
        n = MIN(size, len - i * size);
        qernic_wait_while(x->m->qts, !xib_status(x, XIB_S2MM, i));
        g_assert_cmphex(xib_status(x, XIB_S2MM, i), ==, PG332_DESC_COMPLETE | n |
                        (i ? 0 : XIB_SOF) | ((i + 1) * size >= len ? XIB_EOF : 0));
        qtest_bufread(x->m->qts, rx_buffer(x, i), is, n);
        qnet_same(is, n, frame + i * size, n);
    }
}

/* A frame in as many descriptors as it needs; it waits in the middle for more of them. */
WORLD_KINDS("/ernic-xib-life/pieces", test_pieces, Xib, x, xib_start, KINDS)
{
    uint8_t frame[QNET_FRAME];

    qnet_frame(frame, 9000, 1, 1);
    short_buffers(x, 90, 100);
    qernic_to_wire(x->fd, frame, 9000);
    check_pieces(x, 90, frame, 9000, 100);
    g_assert_cmphex(xib_channel(x, XIB_S2MM, XIB_SR) & 0x7fff, ==, 0x100a);
    short_buffers(x, 10, 512);
    qernic_to_wire(x->fd, frame, 9000);
    check_pieces(x, 10, frame, 9000, 512);
    g_assert_cmphex(xib_status(x, XIB_S2MM, 10), ==, 0);
    g_assert_cmphex(xib_channel(x, XIB_S2MM, XIB_SR) & 0x7fff, ==, 0xa);
    qernic_to_wire(x->fd, frame, 100);          /* there is no room for another one */
    qernic_wait_while(x->m->qts, !qernic_stat(x->q, "axi_dma.s2mm_dropped"));
    xib_give(x, 17);
    check_pieces(x, 18, frame, 9000, 512);
    qernic_wait_while(x->m->qts, qernic_stat(x->q, "axi_dma.s2mm_packets") != 2);
    qernic_to_wire(x->fd, frame, 100);          /* nor a descriptor */
    qernic_wait_while(x->m->qts, qernic_stat(x->q, "axi_dma.s2mm_dropped") != 2);
    xib_give(x, 18);
    qernic_to_wire(x->fd, frame, 100);
    qernic_wait_while(x->m->qts, !xib_status(x, XIB_S2MM, 18));
    g_assert_cmphex(xib_status(x, XIB_S2MM, 18), ==, XIB_DONE | 100);
    /* One that waits is lost when the channel stops. */
    xib_give(x, 19);
    qernic_to_wire(x->fd, frame, 1000);
    qernic_wait_while(x->m->qts, !xib_status(x, XIB_S2MM, 19));
    xib_put_channel(x, XIB_S2MM, XIB_CR, 0);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.s2mm_dropped"), ==, 3);
}

/*
 * A backend that has several frames at once: none is lost while there are descriptors,
 * also if each frame takes more than the channel fills when it arrives.
 */
WORLD_KINDS("/ernic-xib-life/burst", test_burst, Xib, x, xib_start,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" },
            { "-timing", ",timing=on" })
{
    const uint32_t frames = 5, each = 25;       /* descriptors of 60 bytes */
    uint8_t frame[1500], is[60];

    short_buffers(x, frames * each, 60);
    qernic_stop(x->m->qts);
    for (uint32_t i = 0; i < frames; i++) {
        qnet_frame(frame, sizeof(frame), i, 1);
        qernic_to_wire(x->fd, frame, sizeof(frame));
    }
    g_usleep(100000);                           /* the backend has them */
    qernic_cont(x->m->qts);
    qernic_wait_while(x->m->qts, qernic_stat(x->q, "axi_dma.s2mm_packets") +
                      qernic_stat(x->q, "axi_dma.s2mm_dropped") < frames);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.s2mm_dropped"), ==, 0);
    for (uint32_t i = 0; i < frames * each; i++) {
        qernic_wait_while(x->m->qts, !xib_status(x, XIB_S2MM, i));
        qnet_frame(frame, sizeof(frame), i / each, 1);
        qtest_bufread(x->m->qts, rx_buffer(x, i), is, sizeof(is));
        qnet_same(is, 60, frame + i % each * 60, 60);
    }
    /* A frame that waits at the network when software stops the channel follows. */
    qernic_stop(x->m->qts);
    qernic_to_wire(x->fd, frame, sizeof(frame));
    g_usleep(100000);
    xib_down(x);
    qernic_cont(x->m->qts);
    xib_up(x);
    xib_receive(x, 100, 1);
}

/* The end of a frame comes later than its beginning, or not at all. */
WORLD_KINDS("/ernic-xib-life/no-end", test_no_end, Xib, x, xib_start, KINDS)
{
    uint8_t frame[1000];

    qnet_frame(frame, 1000, 1, 1);
    xib_post(x, frame, 1000, 4);
    x->tx -= 2;
    xib_ring(x);
    qernic_wait_while(x->m->qts, !xib_status(x, XIB_MM2S, 1));
    x->tx += 2;
    xib_ring(x);
    qnet_arrives(x->fd, frame, 1000);
    xib_post(x, frame, 1000, 4);
    x->tx--;                                    /* without the last one */
    xib_transmit(x, frame, 1000, 2);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.mm2s_dropped"), ==, 1);
}

/* Halves of addresses, in any order; a tail of a halted channel starts nothing. */
WORLD_KINDS("/ernic-xib-life/halves", test_halves, Xib, x, xib_open, ONE)
{
    uint64_t desc = xib_desc(x, XIB_MM2S, 0);
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_post(x, frame, sizeof(frame), 1);
    xib_ring(x);
    xib_put_channel(x, XIB_MM2S, XIB_CUR, desc);
    xib_put_channel(x, XIB_MM2S, XIB_CUR + 4, desc >> 32);
    xib_put_channel(x, XIB_MM2S, XIB_CR, PG332_DMACR_RUN);
    qernic_pass(x->m->qts, 20, 1000);
    g_assert_cmphex(xib_status(x, XIB_MM2S, 0), ==, 0);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0x1000a);
    xib_put_channel(x, XIB_MM2S, XIB_CUR, 0x1240);      /* only while it is halted */
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_CUR), ==, (uint32_t)desc);
    xib_put_channel(x, XIB_MM2S, XIB_TAIL, desc | 0x3f);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_TAIL), ==, (uint32_t)desc);
    xib_put_channel(x, XIB_MM2S, XIB_TAIL + 4, desc >> 32);
    qnet_arrives(x->fd, frame, sizeof(frame));
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0x1100a);
}

/* ---- errors ------------------------------------------------------------------------ */

typedef struct Wrong {
    const char *what;
    uint32_t len;               /* of the buffer */
    bool buffer, desc, done;    /* which of them is wrong */
    uint32_t error, status;
} Wrong;

static void provoke(Xib *x, int ch, const Wrong *w)
{
    uint64_t buf = w->buffer ? NOWHERE : x->buf[ch];
    uint64_t at = w->desc ? NOWHERE : xib_desc(x, ch, 0);
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_set_desc(x, ch, 0, buf, w->len | XIB_SOF | XIB_EOF);
    if (w->done) {
        qtest_writel(x->m->qts, xib_desc(x, ch, 0) + PG332_DESC_STATUS, 1u << 31);
    }
    xib_put_channel(x, ch, XIB_CR, 0x17000);
    xib_put_address(x, ch, XIB_CUR, at);
    xib_put_channel(x, ch, XIB_CR, 0x17001);
    xib_put_address(x, ch, XIB_TAIL, at);
    if (ch == XIB_S2MM) {
        qernic_to_wire(x->fd, frame, sizeof(frame));
    }
}

/* Each error halts its channel, with an interrupt, until both are reset. */
WORLD_KINDS("/ernic-xib-life/errors", test_errors, Xib, x, xib_start, KINDS)
{
    static const Wrong rows[] = {
        { "length 0", .len = 0, .error = PG332_DMASR_INTERNAL, .status = 1 << 28 },
        { "buffer", .len = 100, .buffer = true, .error = PG332_DMASR_DECODE,
          .status = 1 << 30 },
        { "descriptor", .desc = true, .error = PG332_DMASR_SG_DECODE },
        { "complete", .len = 100, .done = true, .error = PG332_DMASR_SG_INTERNAL,
          .status = 1u << 31 },
    };
    uint32_t errors = 0;
    uint64_t at;

    for (int ch = 0; ch < 2; ch++) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            g_test_message("channel %d: %s", ch, rows[i].what);
            xib_down(x);
            xib_put(x, XIB_RX_CONF, 3);
            provoke(x, ch, &rows[i]);
            qernic_wait_while(x->m->qts, qernic_stat(x->q, "axi_dma.errors") == errors);
            errors++;
            g_assert_cmphex(xib_channel(x, ch, XIB_SR), ==, 0x14009 | rows[i].error);
            g_assert_cmphex(xib_channel(x, ch, XIB_CR), ==, 0x17002);
            g_assert_cmpint(xib_message(x), ==, ch);
            at = rows[i].desc ? NOWHERE : xib_desc(x, ch, 0);
            g_assert_cmphex(xib_channel(x, ch, XIB_CUR), ==, (uint32_t)at);
            g_assert_cmphex(xib_channel(x, ch, XIB_CUR + 4), ==, at >> 32);
            if (!rows[i].desc) {
                g_assert_cmphex(xib_status(x, ch, 0), ==, rows[i].status);
            }
            xib_put_channel(x, ch, XIB_SR, ~0);
            xib_put_channel(x, ch, XIB_CR, 0x17001);
            g_assert_cmphex(xib_channel(x, ch, XIB_SR), ==, 0x10009 | rows[i].error);
            /* The reset of the other one is that of both. */
            xib_put_channel(x, !ch, XIB_CR, PG332_DMACR_RESET);
            g_assert_cmphex(xib_channel(x, ch, XIB_SR), ==, 0x10009);
            g_assert_cmphex(xib_channel(x, ch, XIB_CUR), ==, 0);
        }
    }
    xib_up(x);
    xib_receive(x, 100, 1);
}

/* The chain leads to what is no memory: CURDESC is the descriptor of the error. */
WORLD_KINDS("/ernic-xib-life/next", test_next, Xib, x, xib_start, KINDS)
{
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    for (int ch = 0; ch < 2; ch++) {
        xib_down(x);
        xib_put(x, XIB_RX_CONF, 3);
        xib_set_desc(x, ch, 0, x->buf[ch], 64 | XIB_SOF);
        qtest_writeq(x->m->qts, xib_desc(x, ch, 0), NOWHERE);
        xib_put_address(x, ch, XIB_CUR, xib_desc(x, ch, 0));
        xib_put_channel(x, ch, XIB_CR, 0x17001);
        xib_put_address(x, ch, XIB_TAIL, NOWHERE);
        if (ch == XIB_S2MM) {
            qernic_to_wire(x->fd, frame, sizeof(frame));
        }
        qernic_wait_while(x->m->qts, !(xib_channel(x, ch, XIB_SR) & PG332_DMASR_HALTED));
        g_assert_cmphex(xib_channel(x, ch, XIB_SR), ==, 0x14009 | PG332_DMASR_SG_DECODE);
        g_assert_cmphex(xib_channel(x, ch, XIB_CUR), ==, (uint32_t)NOWHERE);
        g_assert_cmphex(xib_channel(x, ch, XIB_CUR + 4), ==, NOWHERE >> 32);
    }
}

/* Software that has not enabled bus mastering; the status word cannot be written. */
WORLD_KINDS("/ernic-xib-life/no-master", test_no_master, Xib, x, xib_start, ONE)
{
    uint8_t frame[100];

    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_post(x, frame, sizeof(frame), 1);
    qernic_set_master(&x->q->dev, false);
    xib_ring(x);
    qernic_wait_while(x->m->qts, !qernic_stat(x->q, "axi_dma.errors"));
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR) & 0xffff, ==, 0x4409);
    qernic_set_master(&x->q->dev, true);
    xib_up(x);
    xib_transmit(x, frame, sizeof(frame), 1);
}

/*
 * A cyclic chain that does not lead to the tail: the channel works without end, the
 * machine answers, other frames arrive, and software stops it.
 */
WORLD_KINDS("/ernic-xib-life/loop", test_loop, Xib, x, xib_start, KINDS)
{
    uint64_t desc = xib_desc(x, XIB_MM2S, 0);

    xib_set_desc(x, XIB_MM2S, 0, x->buf[XIB_MM2S], PG332_DESC_LENGTH);
    qtest_writeq(x->m->qts, desc, desc);
    xib_put_channel(x, XIB_MM2S, XIB_CR, 0x17011);
    xib_put_address(x, XIB_MM2S, XIB_TAIL, xib_desc(x, XIB_MM2S, 1));
    for (uint32_t i = 0; i < 50; i++) {
        xib_receive(x, 100, i);
    }
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR) & 0xf, ==, 8);
    xib_put_channel(x, XIB_MM2S, XIB_CR, 0);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR) & 0xf, ==, 9);
    g_assert_cmpuint(qernic_stat(x->q, "axi_dma.errors"), ==, 0);
    /* Without the cyclic bit the second round is an error. */
    xib_up(x);
    xib_set_desc(x, XIB_MM2S, 0, x->buf[XIB_MM2S], 64);
    qtest_writeq(x->m->qts, desc, desc);
    xib_put_address(x, XIB_MM2S, XIB_TAIL, xib_desc(x, XIB_MM2S, 1));
    qernic_wait_while(x->m->qts, !qernic_stat(x->q, "axi_dma.errors"));
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR) & 0xffff, ==, 0x4109);
}

/* A network that takes nothing: the channel waits, and all frames leave later. */
WORLD_KINDS("/ernic-xib-life/slow", test_slow, Xib, x, xib_start, KINDS)
{
    uint8_t frame[9000];
    uint32_t posted = 0;

    do {
        for (uint32_t i = 0; i < 10; i++) {
            qnet_frame(frame, sizeof(frame), posted++, 1);
            xib_post(x, frame, sizeof(frame), 5);
        }
        xib_ring(x);
        qernic_pass(x->m->qts, 20, 1000);
    } while (qernic_stat(x->q, "axi_dma.mm2s_packets") == posted && posted < 10000);
    g_assert_cmpuint(posted, <, 10000);
    for (uint32_t i = 0; i < posted; i++) {
        qnet_frame(frame, sizeof(frame), i, 1);
        qnet_arrives(x->fd, frame, sizeof(frame));
    }
    qernic_wait_while(x->m->qts, qernic_stat(x->q, "axi_dma.mm2s_packets") != posted);
}

/* ---- life -------------------------------------------------------------------------- */

/* A function level reset ends everything; the driver begins again. */
WORLD_KINDS("/ernic-xib-life/reset", test_reset, Xib, x, xib_start, KINDS)
{
    uint8_t frame[1000];

    for (uint32_t round = 0; round < 3; round++) {
        qnet_frame(frame, sizeof(frame), 1, 1);
        xib_transmit(x, frame, sizeof(frame), 2);
        xib_receive(x, 100, round);
        xib_post(x, frame, sizeof(frame), 4);
        x->tx--;                        /* a frame without an end */
        xib_ring(x);
        xib_put(x, XIB_RX_MTU, 0);
        qernic_flr(&x->q->dev);
        xib_map(x);
        g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_CR), ==, 0x10002);
        g_assert_cmphex(xib_channel(x, XIB_S2MM, XIB_SR), ==, 0x10009);
        g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_TAIL), ==, 0);
        g_assert_cmphex(xib_get(x, XIB_RX_MTU), ==, 9600 << 16 | 64);
        g_assert_cmpuint(qernic_stat(x->q, "axi_dma.mm2s_packets"), ==, 0);
        qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
        g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR), ==, 0x10009);
        xib_probe(x);
        xib_up(x);
    }
}

/* While the machine is stopped, and in D3hot, nothing moves. */
WORLD_KINDS("/ernic-xib-life/power", test_power, Xib, x, xib_start, KINDS)
{
    uint8_t frame[100], is[QNET_FRAME];

    qnet_frame(frame, sizeof(frame), 1, 1);
    qernic_stop(x->m->qts);
    xib_post(x, frame, sizeof(frame), 1);
    xib_ring(x);
    qernic_pass(x->m->qts, 20, 1000);
    g_assert_cmphex(xib_status(x, XIB_MM2S, 0), ==, 0);
    g_assert_cmpint(recv(x->fd, is, 1, MSG_DONTWAIT), ==, -1);
    qernic_power(&x->q->dev, 3);
    qernic_cont(x->m->qts);
    qernic_pass(x->m->qts, 20, 1000);
    g_assert_cmpint(recv(x->fd, is, 1, MSG_DONTWAIT), ==, -1);
    g_assert_cmphex(xib_status(x, XIB_MM2S, 0), ==, 0);
    qernic_power(&x->q->dev, 0);
    qnet_arrives(x->fd, frame, sizeof(frame));
    xib_receive(x, 100, 1);
}

static void migrate(Xib *x, const char *more)
{
    g_autofree char *args = NULL;

    qernic_stop(x->m->qts);
    args = xib_cable(x, more);
    qernic_migrate_as(x->q, args);
    qernic_cont(x->m->qts);
}

/*
 * A machine moves with a frame of each direction that has only begun, the delay of an
 * interrupt, and counters.
 */
MACHINE_KINDS("/ernic-xib-life/migrate", test_migrate, KINDS)
{
    uint8_t frame[QNET_FRAME];
    Xib x;

    xib_start(&x, more);
    short_buffers(&x, 10, 512);
    qnet_frame(frame, 9000, 1, 1);
    qernic_to_wire(x.fd, frame, 9000);
    check_pieces(&x, 10, frame, 9000, 512);
    xib_transmit(&x, frame, 1000, 1);           /* its delay runs */
    xib_post(&x, frame, 9000, 9);
    x.tx -= 2;
    xib_ring(&x);
    qernic_wait_while(x.m->qts, !xib_status(&x, XIB_MM2S, 7));
    xib_put(&x, XIB_MAC + 8, 0x1234);
    migrate(&x, more);
    g_assert_cmphex(xib_get(&x, XIB_MAC + 8), ==, 0x1234);
    x.tx += 2;
    xib_ring(&x);
    qnet_arrives(x.fd, frame, 9000);
    xib_give(&x, 17);
    check_pieces(&x, 18, frame, 9000, 512);
    g_assert_cmpint(xib_message(&x), ==, XIB_S2MM);
    qtest_clock_step(x.m->qts, 2 * XIB_DELAY_NS);
    g_assert_cmpint(xib_message(&x), ==, XIB_MM2S);
    xib_put(&x, XIB_TICK, 1);
    g_assert_cmpuint(xib_get(&x, XIB_MAC + 0x700), ==, 2);
    g_assert_cmpuint(qernic_stat(x.q, "axi_dma.errors"), ==, 0);
}

/* The delay of an interrupt ends on the way, while that of another one waits for D0. */
MACHINE_KINDS("/ernic-xib-life/migrate-late", test_late, KINDS)
{
    g_autofree char *args = NULL;
    uint8_t frame[100];
    Xib x;

    xib_start(&x, more);
    qnet_frame(frame, sizeof(frame), 1, 1);
    xib_put_channel(&x, XIB_S2MM, XIB_CR, 255u << 24 | 9 << 16 | 0x7001);
    xib_put_channel(&x, XIB_MM2S, XIB_CR, 4u << 24 | 9 << 16 | 0x7001);
    xib_receive(&x, 200, 1);
    xib_transmit(&x, frame, sizeof(frame), 1);
    qernic_power(&x.q->dev, 3);
    qtest_clock_step(x.m->qts, 4000);
    qernic_stop(x.m->qts);
    args = xib_cable(&x, more);
    qernic_quit(qernic_copy(x.q, args, 2 * XIB_DELAY_NS));
    qernic_cont(x.m->qts);
    g_assert_cmpint(xib_message(&x), ==, -1);
    qernic_power(&x.q->dev, 0);
    g_assert_cmpint(xib_message(&x), ==, XIB_S2MM);     /* the last one */
    for (int ch = 0; ch < 2; ch++) {
        g_assert_cmphex(xib_channel(&x, ch, XIB_SR) & PG332_DMA_DELAY_IRQ, !=, 0);
    }
}

/* So does a message that waits for its mask. */
WORLD_KINDS("/ernic-xib-life/migrate-pending", test_pending, Xib, x, xib_start, ONE)
{
    xib_mask(x, 3);
    xib_receive(x, 100, 1);
    g_assert_cmpint(xib_message(x), ==, -1);
    migrate(x, "");
    g_assert_cmphex(xib_pending(x), ==, 2);
    xib_mask(x, 0);
    g_assert_cmpint(xib_message(x), ==, XIB_S2MM);
}

WORLD_KINDS("/ernic-xib-life/unplug", test_unplug, Xib, x, xib_start, KINDS)
{
    uint8_t frame[1000];

    qnet_frame(frame, sizeof(frame), 1, 1);
    for (uint32_t i = 0; i < XIB_TX_RING - 1; i++) {
        xib_post(x, frame, sizeof(frame), 1);
        qernic_to_wire(x->fd, frame, sizeof(frame));
    }
    xib_ring(x);
    qtest_qmp_device_del_send(x->m->qts, "ernic0");
    qtest_system_reset_nowait(x->m->qts);
    qtest_qmp_eventwait(x->m->qts, "DEVICE_DELETED");
    g_assert_cmphex(qpci_config_readl(&x->q->dev, PCI_VENDOR_ID), ==, 0xffffffff);
    qtest_clock_step(x->m->qts, 2 * XIB_DELAY_NS);
    qtest_qmp_assert_success(x->m->qts, "{ 'execute': 'query-status' }");
}

/* Any value in registers and descriptors, in any order, with frames both ways. */
WORLD_KINDS("/ernic-xib-life/attack", test_attack, Xib, x, xib_start, KINDS)
{
    uint8_t frame[300];

    for (uint32_t i = 0; i < 4000; i++) {
        int ch = g_test_rand_int_range(0, 2);
        uint64_t desc = xib_desc(x, ch, g_test_rand_int_range(0, 8));

        if (i % 64 == 0) {
            xib_up(x);
        }
        qtest_writeq(x->m->qts, desc, i % 5 ? xib_desc(x, ch, i % 8) : g_test_rand_int());
        qtest_writel(x->m->qts, desc + PG332_DESC_CONTROL,
                     i % 3 ? g_test_rand_int() : 1 << g_test_rand_int_range(0, 28));
        qtest_writel(x->m->qts, desc + PG332_DESC_STATUS, i % 7 ? 0 : g_test_rand_int());
        if (i % 9 == 0) {
            qtest_writeq(x->m->qts, desc + 8, g_test_rand_int() * 0x10001ull);
        }
        xib_put_channel(x, ch, g_test_rand_int_range(0, 12) * 4,
                        g_test_rand_int() & (i % 16 ? ~PG332_DMACR_RESET : ~0u));
        xib_put_channel(x, ch, XIB_CR, g_test_rand_int() & ~PG332_DMACR_RESET);
        xib_put_address(x, ch, i % 3 ? XIB_TAIL : XIB_CUR, desc);
        xib_put(x, XIB_MAC + g_test_rand_int_range(0, 16) * 4, g_test_rand_int() | 3);
        qnet_frame(frame, sizeof(frame), i, 7);
        qernic_to_wire(x->fd, frame, sizeof(frame));
        while (recv(x->fd, frame, sizeof(frame), MSG_DONTWAIT) > 0) {
        }
        qtest_clock_step(x->m->qts, 1000);
    }
    qernic_flr(&x->q->dev);
    xib_map(x);
    xib_probe(x);
    xib_up(x);
    g_assert_cmphex(xib_channel(x, XIB_MM2S, XIB_SR) & 0xf, ==, 0xa);
}
