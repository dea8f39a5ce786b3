/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A hostile guest at the ERNIC interface: base addresses in the device's own registers,
 * thousands of interrupt causes, and resets in the middle of a transfer. Each time the
 * device has to report the error where it can, write to no other place, and work
 * afterwards.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-card.h"

#define FATAL       PG332_STATQP_FATAL

static void function_reset(Card *c)
{
    qernic_flr(&c->q->dev);
}

/* Resets the card and sets up a queue pair that is connected to itself. */
static void renew(Card *c)
{
    function_reset(c);
    qpci_device_enable(&c->q->dev);
    card_open(c, c->q, PG332_V3_1, 1);
    card_put_qp(c, PG332_TIMEOUTCONF, 1 << 16 | 7 << 11 | 7 << 8 | 1);
    card_open_qp(c, 1, CARD_QPN);
}

/* Lets time pass for all requests in progress and all of their retries. */
static void pass(Card *c)
{
    qernic_pass(c->q->qts, 60, 10000);
}

/* Waits until the queue pair is fatal or, if not @fatal, has completed everything. */
static void ends(Card *c, bool fatal)
{
    if (fatal) {
        qernic_wait_while(c->q->qts, !(card_get_qp(c, PG332_STATQP) & FATAL));
    } else {
        card_wait(c, PG332_CQHEAD, c->posted);
        g_assert_cmphex(card_get_qp(c, PG332_STATQP) & FATAL, ==, 0);
    }
}

static void works(Card *c)
{
    renew(c);
    card_transfers(c, c);
}

/* The head of an attack, after which the device still works. */
#define ATTACK(name, fn)                                                        \
    static void fn(Card *c);                                                    \
    MACHINE_KINDS("/ernic-attack/" name, kinds_of_##fn, { "", "" },             \
                  { "-iothread", ",iothread=io0" }, { "-timing", ",timing=on" })\
    {                                                                           \
        Card card = { .q = qernic_device(",ernic-version=3.1,roce-udp=127.0.0.1:0%s", \
                                         more) };                               \
                                                                                \
        fn(&card);                                                              \
        works(&card);                                                           \
    }                                                                           \
    static void fn(Card *c)

/* Registers that take an address, and whether failed DMA ends the queue pair. */
static const struct {
    const char *name;
    ErnicRegScope scope;
    uint16_t low, high;
    bool fatal;
} aims[] = {
    { "SQBA", ERNIC_REG_QP, PG332_SQBA, PG332_SQBAMSB, true },
    { "RQBA", ERNIC_REG_QP, PG332_RQBA, PG332_RQBAMSB, true },
    { "CQBA", ERNIC_REG_QP, PG332_CQBA, PG332_CQBAMSB },
    { "CQDBADD", ERNIC_REG_QP, PG332_CQDBADD, PG332_CQDBADDMSB },
    { "RQWPTRDBADD", ERNIC_REG_QP, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB },
    { "BUFBASEADDR", ERNIC_REG_REGION, PG332_BUFBASEADDRLSB, PG332_BUFBASEADDRMSB, true },
    { "IPKTERRQBA", ERNIC_REG_GLOBAL, PG332_IPKTERRQBA, PG332_IPKTERRQBAMSB },
    { "ERRBUFBA", ERNIC_REG_GLOBAL, PG332_ERRBUFBA, PG332_ERRBUFBAMSB },
};

static void aim(Card *c, size_t i, uint64_t addr)
{
    uint32_t element = aims[i].scope == ERNIC_REG_QP ? CARD_QPN - 1 : 0;

    card_put_at(c, card_at(c, aims[i].scope, element, aims[i].low), addr);
    card_put_at(c, card_at(c, aims[i].scope, element, aims[i].high), addr >> 32);
}

/* Registers that DMA to the targets would change and the guest does not write. */
static void snapshot(Card *c, uint32_t words[64])
{
    static const uint16_t globals[] = {
        PG332_XRNICCONF, PG332_XRNICADCONF, PG332_MACXADDLSB, PG332_IPv4XADD,
        PG332_DATBUFSZ, PG332_INTEN, PG332_IPKTERRQSZ,
    };
    static const uint16_t slot[] = {
        PG332_QPCONF, PG332_QPADVCONF, PG332_RQBA, PG332_SQBA, PG332_QDEPTH,
        PG332_DESTQPCONF, PG332_IPDESADDR1, PG332_TIMEOUTCONF,
    };
    size_t i, n = 0;

    memset(words, 0, 64 * sizeof(*words));
    for (i = 0; i < ARRAY_SIZE(globals); i++) {
        words[n++] = card_get(c, globals[i]);
    }
    for (i = 0; i < ARRAY_SIZE(slot); i++) {
        words[n++] = card_get_qp(c, slot[i]);
    }
    words[n++] = qernic_reg(c->q, magic);
    words[n++] = qernic_reg(c->q, status);
}

ATTACK("self", test_self)
{
    uint32_t before[64], after[64];
    uint64_t target[3];
    uint8_t junk[CARD_LENGTH];

    memset(junk, 0, sizeof(junk));
    for (size_t i = 0; i < ARRAY_SIZE(aims); i++) {
        for (size_t t = 0; t < ARRAY_SIZE(target); t++) {
            renew(c);
            target[0] = c->bar.addr + PG332_V3_GLOBAL;
            target[1] = c->q->bar.addr;
            target[2] = c->bar.addr + PG332_V3_QP + PG332_SLOT;
            g_test_message("%s at target %zu", aims[i].name, t);
            qtest_memwrite(c->q->qts, c->mem, junk, sizeof(junk));
            aim(c, i, target[t]);
            snapshot(c, before);
            card_post(c, CARD_SEND, 0, 500, 0, 0);
            card_post(c, CARD_WRITE, 0, 4096, CARD_VA + 0x8000, CARD_KEY);
            ends(c, aims[i].fatal);
            if (!aims[i].fatal) {               /* cause an error that is reported */
                card_post(c, CARD_WRITE, 0, 64, CARD_VA, CARD_KEY + 1);
                ends(c, true);
            }
            snapshot(c, after);
            g_assert_cmpmem(before, sizeof(before), after, sizeof(after));
        }
    }
}

/* Starts the channel with the descriptor at @desc. */
static void listen_at(Card *c, uint64_t desc)
{
    card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RESET);
    card_put_side(c, PG332_SIDE_CURDESC, desc);
    card_put_side(c, PG332_SIDE_CURDESC_MSB, desc >> 32);
    card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RUN | 1 << 16);
    card_put_side(c, PG332_SIDE_TAILDESC, desc + 64);
    card_put_side(c, PG332_SIDE_TAILDESC_MSB, desc >> 32);
}

ATTACK("side", test_side)
{
    uint8_t desc[64] = { [PG332_DESC_CONTROL] = 8 };
    uint64_t ring;

    renew(c);
    /* The descriptor is in the registers of the channel. */
    listen_at(c, c->bar.addr + ernic_reg_window(c->version));
    card_post(c, CARD_WRITE_IMM, 0, 64, CARD_VA + 0x8000, CARD_KEY);
    ends(c, false);
    g_assert_cmphex(card_get_side(c, PG332_SIDE_DMASR) & PG332_DMASR_ERRORS, ==,
                    PG332_DMASR_SG_DECODE);
    /* The descriptor is in memory, its entry is the channel's run register. */
    ring = qernic_zeroed(c->q, 4096);
    stq_le_p(desc, ring);
    stq_le_p(desc + 8, c->bar.addr + ernic_reg_window(c->version) + PG332_SIDE_DMACR);
    qtest_memwrite(c->q->qts, ring, desc, sizeof(desc));
    listen_at(c, ring);
    card_post(c, CARD_WRITE_IMM, 0, 64, CARD_VA + 0x8000, CARD_KEY);
    ends(c, false);
    g_assert_cmphex(card_get_side(c, PG332_SIDE_DMASR) & PG332_DMASR_ERRORS, ==,
                    PG332_DMASR_DECODE);
    /* A ring of one descriptor that is its own successor. */
    stq_le_p(desc + 8, ring + 1024);
    qtest_memwrite(c->q->qts, ring, desc, sizeof(desc));
    listen_at(c, ring);
    card_put_side(c, PG332_SIDE_DMACR, PG332_DMACR_RUN | PG332_DMACR_CYCLIC | 1 << 16);
    while (c->posted < 40) {
        card_post(c, CARD_WRITE_IMM, 0, 64, CARD_VA + 0x8000, CARD_KEY);
    }
    ends(c, false);
    g_assert_cmphex(card_get_side(c, PG332_SIDE_DMASR) & PG332_DMASR_ERRORS, ==, 0);
}

/* MSI-X messages that ring doorbells, disable the interface, or clear and set causes. */
ATTACK("message", test_message)
{
    static const uint16_t global[] = {
        PG332_XRNICCONF, PG332_INTSTS, PG332_INTEN, PG332_XRNICADCONF,
    };
    uint32_t words[2][64], at;

    for (size_t i = 0; i <= ARRAY_SIZE(global); i++) {
        renew(c);
        qpci_msix_enable(&c->q->dev);
        at = i < ARRAY_SIZE(global) ? card_at(c, ERNIC_REG_GLOBAL, 0, global[i]) :
             card_at(c, ERNIC_REG_QP, CARD_QPN - 1, PG332_SQPI);
        qernic_aim(&c->q->dev, CARD_VECTOR, c->bar.addr + at, 0);
        snapshot(c, words[0]);
        card_post(c, CARD_WRITE, 0, 64, CARD_VA + 0x8000, CARD_KEY);
        card_done(c, CARD_WRITE);
        pass(c);
        g_assert_cmphex(card_get(c, PG332_INTSTS), ==, PG332_INT_COMPLETION);
        snapshot(c, words[1]);
        g_assert_cmpmem(words[0], sizeof(words[0]), words[1], sizeof(words[1]));
        qpci_msix_disable(&c->q->dev);
    }
}

/* Thousands of causes are set and cleared, with INTx and with MSI-X. */
ATTACK("storm", test_storm)
{
    uint64_t at;

    renew(c);
    card_post(c, CARD_WRITE, 0, 64, CARD_VA + 0x8000, CARD_KEY);
    card_done(c, CARD_WRITE);
    for (int i = 0; i < 2000; i++) {
        card_put(c, PG332_INTEN, i & 1 ? 0xff : 0);
        g_assert_cmpint(card_intx(c), ==, i & 1);
    }
    at = qernic_zeroed(c->q, 4096);
    qpci_msix_enable(&c->q->dev);
    qernic_aim(&c->q->dev, CARD_VECTOR, at, 0x1234);
    for (int i = 0; i < 2000; i++) {
        card_put(c, PG332_INTEN, i & 1 ? 0xff : 0);
        card_put(c, PG332_INTSTS, PG332_INT_RECEIVE);        /* interrupts again */
    }
    pass(c);
    g_assert_cmphex(qtest_readl(c->q->qts, at), ==, 0x1234);
    qpci_msix_disable(&c->q->dev);
}

static void no_master(Card *c)
{
    qernic_set_master(&c->q->dev, false);
}

static void no_interface(Card *c)
{
    card_put(c, PG332_XRNICCONF, 0);
}

static void no_qp(Card *c)
{
    card_put_qp(c, PG332_QPCONF, 0);
}

static void recover(Card *c)
{
    card_put_qp(c, PG332_QPCONF, CARD_QPCONF | PG332_QPCONF_RECOVERY);
}

static void verbs_reset(Card *c)
{
    qernic_set_reg(c->q, control, ERNIC_CONTROL_RESET);
}

static void power_off(Card *c)
{
    qernic_power(&c->q->dev, 3);
    pass(c);
    qernic_power(&c->q->dev, 0);
}

static void move_bar(Card *c)
{
    uint64_t own = c->bar.addr;

    qernic_place(&c->q->dev, &c->bar, ERNIC_BAR_PG332, c->mem);
    pass(c);
    qernic_place(&c->q->dev, &c->bar, ERNIC_BAR_PG332, own);
}

/* Resets the device at several moments of a transfer of 3 MiB. */
ATTACK("resets", test_resets)
{
    static void (*const stops[])(Card *c) = {
        function_reset, no_master, no_interface, no_qp, recover, verbs_reset, power_off,
        move_bar,
    };

    for (size_t i = 0; i < ARRAY_SIZE(stops) * 4; i++) {
        renew(c);
        for (int n = 0; n < 50; n++) {
            card_post(c, n & 1 ? CARD_READ : CARD_WRITE, 0, CARD_MEM / 2,
                      CARD_VA + CARD_MEM / 2, CARD_KEY);
        }
        qtest_clock_step(c->q->qts, 1 + i / ARRAY_SIZE(stops) * 3000);
        g_test_message("stop %zu", i);
        stops[i % ARRAY_SIZE(stops)](c);
        pass(c);
    }
}
