/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The side stream of PG332: immediate data and keys in memory, by descriptors as AMD's
 * driver provides them; interrupts, errors, and lack of room.
 */
#include "qemu/osdep.h"
#include "pg332_card.h"
#include "interfaces/pg332/side_stream.h"

#define RING    8
#define DESC    64
#define IRQS    PG332_DMA_IRQS

static uint64_t ring, bufs;

static uint32_t at(const Card *c, uint32_t reg)
{
    return ernic_reg_window(c->version) + reg;
}

static void put_side(Card *c, uint32_t reg, uint32_t value)
{
    ernic_reg_write(c->e, c->env.now, at(c, reg), value);
    fake_check(c->e);
}

static uint32_t get_side(Card *c, uint32_t reg)
{
    return ernic_reg_read(c->e, c->env.now, at(c, reg));
}

static uint8_t *desc(Card *c, uint32_t n)
{
    return fake_ptr(&c->env, ring + n % RING * DESC, DESC);
}

/* Return descriptor @n to the channel. */
static void clean(Card *c, uint32_t n)
{
    memset(desc(c, n), 0, DESC);
    stq_le_p(desc(c, n), ring + (n + 1) % RING * DESC);
    stq_le_p(desc(c, n) + 8, bufs + n % RING * 8);
    stl_le_p(desc(c, n) + PG332_DESC_CONTROL, 8);
}

static void give(Card *c, uint32_t last)
{
    WRITES(c, SIDE(TAILDESC, ring + last % RING * DESC), SIDE(TAILDESC_MSB, ring >> 32));
}

/* Listen as AMD's driver does, with threshold 1 and all interrupts. */
static void listen(Card *c)
{
    ring = fake_alloc(&c->env, RING * DESC, DESC);
    bufs = fake_alloc(&c->env, RING * 8, 8);
    for (uint32_t n = 0; n < RING; n++) {
        clean(c, n);
    }
    WRITES(c, SIDE(DMACR, get_side(c, PG332_SIDE_DMACR) | IRQS), SIDE(CURDESC, ring),
              SIDE(CURDESC_MSB, ring >> 32));
    put_side(c, PG332_SIDE_DMACR, get_side(c, PG332_SIDE_DMACR) | PG332_DMACR_RUN);
    IS(get_side(c, PG332_SIDE_DMASR), 0x0001000a);
}

static void write_imm(Card *c, uint32_t imm)
{
    DO(c, WRITE_IMM, 64, .imm = imm);
}

/* Entry @n is there, of @type with @value and index @pi. */
static void check_entry(Card *c, uint32_t n, uint32_t type, uint32_t value, uint32_t pi)
{
    IS(ldl_le_p(desc(c, n) + PG332_DESC_STATUS), (int32_t)0x8c000008);
    IS(fake_get64(&c->env, bufs + n % RING * 8), value | (uint64_t)(type | QPN << 8 |
                                                                    pi << 16) << 32);
}

VERSIONS_TEST("/pg332-side/entries", test_entries)
{
    static const uint16_t vector = 1;

    listen(b);
    give(b, RING - 1);
    IS(get_side(b, PG332_SIDE_DMASR), 0x00010008);
    DO(a, SEND_IMM, 64, .imm = 0x11223344);
    check_received(b, 1);
    check_entry(b, 0, PG332_SIDE_SEND_IMM, 0x11223344, 1);
    READS(b, SIDE(DMASR, 0x00011008), SIDE(CURDESC, (uint32_t)ring),
             SIDE(CURDESC_MSB, ring >> 32));
    /* Its interrupt precedes the queue pair's, and has a line of its own. */
    g_assert(ernic_irq_level(b->e));
    IS(b->env.irqs->len, 2);
    IS(g_array_index(b->env.irqs, uint16_t, 0), vector);
    put(b, PG332_INTSTS, PG332_INT_ALL);
    g_assert(ernic_irq_level(b->e));
    put_side(b, PG332_SIDE_DMASR, IRQS);
    g_assert(!ernic_irq_level(b->e));

    POST(a, SEND, 64);
    DO(a, SEND_INV, 64);
    check_received(b, 3);
    check_entry(b, 1, PG332_SIDE_SEND_INV, KEY, 3);
    write_imm(a, 0xfedcba98);
    check_received(b, 3);
    check_entry(b, 2, PG332_SIDE_WRITE_IMM, 0xfedcba98, 3);
    IS(ldl_le_p(desc(b, 3) + PG332_DESC_STATUS), 0);
    READS(b, SIDE(WAITING, 0), SIDE(LOST, 0));
    check_done(a, 4);
}

/* Software that has not started the channel sees no effect. */
CARDS_TEST("/pg332-side/halted", PG332_V3_1, test_halted)
{
    READS(b, SIDE(DMACR, 0x00010002), SIDE(DMASR, 0x00010009));
    for (uint32_t i = 0; i < 2 * ERNIC_SIDE_FIFO; i++) {
        write_imm(a, i);
        check_done(a, i + 1);
    }
    READS(b, SIDE(LOST, 2 * ERNIC_SIDE_FIFO), SIDE(WAITING, 0));
    IS(b->env.irqs->len, 0);
    /* Pending entries are lost as well when software stops the channel. */
    listen(b);
    write_imm(a, 1);
    IS(get_side(b, PG332_SIDE_WAITING), 1);
    put_side(b, PG332_SIDE_DMACR, 0);
    READS(b, SIDE(WAITING, 0), SIDE(LOST, 2 * ERNIC_SIDE_FIFO + 1));
    put_side(b, PG332_SIDE_DMACR, PG332_DMACR_RESET);
    READS(b, SIDE(DMACR, 0x00010002), SIDE(LOST, 0), SIDE(CURDESC, 0));
}

/* More entries than can wait: the peer gets an RNR NAK, and none is lost. */
CARDS_TEST("/pg332-side/full", PG332_V3_1, test_full)
{
    uint32_t i;

    put_qp(a, PG332_TIMEOUTCONF, 7 << 11);          /* RNR: for ever */
    listen(b);
    for (i = 0; i < ERNIC_SIDE_FIFO; i++) {
        write_imm(a, i);
        check_done(a, i + 1);
    }
    IS(get(b, PG332_INTSTS), 0);
    /* Three packets, of which the last has the immediate data. */
    card_fill(a, 0, 0x2100, 8);
    DO(a, WRITE_IMM, 0x2100, .raddr = VA + 0x4000, .imm = i);
    check_done(a, ERNIC_SIDE_FIFO);
    g_assert_cmphex(get(b, PG332_INTSTS) & PG332_INT_RNR, !=, 0);
    DO(a, SEND, 64);
    check_received(b, 0);
    give(b, RING - 1);
    for (i = 0; i < RING; i++) {
        check_entry(b, i, PG332_SIDE_WRITE_IMM, i, 0);
    }
    fake_advance(a->e, 2000000000);
    settle();
    check_done(a, ERNIC_SIDE_FIFO + 2);
    check_received(b, 1);
    g_assert_cmpmem(card_mem(b, 0x4000), 0x2100, card_mem(a, 0), 0x2100);
    READS(b, SIDE(WAITING, ERNIC_SIDE_FIFO + 1 - RING), SIDE(LOST, 0));
}

static void set_coalescing(Card *c, uint32_t entries, uint32_t delay)
{
    put_side(c, PG332_SIDE_DMACR, (get_side(c, PG332_SIDE_DMACR) & 0xffff) |
             entries << PG332_DMACR_THRESHOLD_SHIFT | delay << 24);
}

CARDS_TEST("/pg332-side/coalescing", PG332_V3_1, test_coalescing)
{
    listen(b);
    give(b, RING - 1);
    set_coalescing(b, 3, 0);
    IS(get_side(b, PG332_SIDE_DMASR), 0x00030008);
    write_imm(a, 1);
    write_imm(a, 2);
    IS(get_side(b, PG332_SIDE_DMASR), 0x00010008);
    IS(b->env.irqs->len, 0);
    write_imm(a, 3);
    IS(get_side(b, PG332_SIDE_DMASR), 0x00031008);
    IS(b->env.irqs->len, 1);
    put_side(b, PG332_SIDE_DMASR, PG332_DMA_ERROR_IRQ);
    IS(b->env.irqs->len, 2);      /* it is still there */
    put_side(b, PG332_SIDE_DMASR, IRQS);
    /* A threshold of 0 means none; with a delay the timer expires at once. */
    set_coalescing(b, 0, 0x20);
    IS(get_side(b, PG332_SIDE_DMACR), 0x20037003);
    write_imm(a, 4);
    IS(get_side(b, PG332_SIDE_DMASR), 0x20032008);
    IS(b->env.irqs->len, 3);
    /* While not enabled it latches, and is raised when enabled. */
    WRITES(b, SIDE(DMASR, IRQS), SIDE(DMACR, 0x20030001));
    write_imm(a, 5);
    IS(get_side(b, PG332_SIDE_DMASR), 0x20032008);
    IS(b->env.irqs->len, 3);
    put_side(b, PG332_SIDE_DMACR, 0x20032001);
    IS(b->env.irqs->len, 4);
}

TEST("/pg332-side/errors", test_errors)
{
    static const struct {
        uint32_t at;                    /* of the descriptor; value there */
        uint64_t value;
        uint32_t cur;                   /* instead of the ring's; 0: not */
        uint32_t error;
    } cases[] = {
        { PG332_DESC_CONTROL, 0, 0, PG332_DMASR_INTERNAL },
        { PG332_DESC_CONTROL, 7, 0, PG332_DMASR_INTERNAL },
        { 8, 0x40, 0, PG332_DMASR_DECODE },
        { PG332_DESC_STATUS, PG332_DESC_COMPLETE, 0, PG332_DMASR_SG_INTERNAL },
        { 0, 0, 0x1000, PG332_DMASR_SG_DECODE },
    };
    Card *a = &cards[0], *b = &cards[1];

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_test_message("case %u", i);
        setup(PG332_V4_0);
        listen(b);
        if (cases[i].cur) {
            WRITES(b, SIDE(DMACR, IRQS), SIDE(CURDESC, cases[i].cur),
                      SIDE(CURDESC_MSB, 0), SIDE(DMACR, IRQS | PG332_DMACR_RUN));
        } else {
            stq_le_p(desc(b, 0) + cases[i].at, cases[i].value);
        }
        give(b, RING - 1);
        write_imm(a, 1);
        check_done(a, 1);
        READS(b, SIDE(DMASR, 0x00014009 | cases[i].error), SIDE_BITS(DMACR, 1, 0),
                 SIDE(LOST, 1));
        IS(b->env.irqs->len, 1);
        /* Only a reset helps. */
        WRITES(b, SIDE(DMASR, IRQS), SIDE(DMACR, PG332_DMACR_RUN));
        IS(get_side(b, PG332_SIDE_DMASR), 0x00010009 | cases[i].error);
        put_side(b, PG332_SIDE_DMACR, PG332_DMACR_RESET);
        listen(b);
        give(b, RING - 1);
        write_imm(a, 2);
        check_entry(b, 0, PG332_SIDE_WRITE_IMM, 2, 0);
        teardown();
    }
    /* The chain leads to what is no memory: that is the current descriptor. */
    setup(PG332_V4_0);
    listen(b);
    stq_le_p(desc(b, 0), 0x1000);
    give(b, RING - 1);
    write_imm(a, 1);
    write_imm(a, 2);
    check_entry(b, 0, PG332_SIDE_WRITE_IMM, 1, 0);
    READS(b, SIDE(DMASR, 0x00015009 | PG332_DMASR_SG_DECODE), SIDE(CURDESC, 0x1000),
             SIDE(CURDESC_MSB, 0));
    teardown();
    /* A ring that is never cleaned, for software that wants that. */
    setup(PG332_V4_0);
    listen(b);
    put_side(b, PG332_SIDE_DMACR, IRQS | PG332_DMACR_RUN | PG332_DMACR_CYCLIC);
    stl_le_p(desc(b, 0) + PG332_DESC_STATUS, PG332_DESC_COMPLETE);
    give(b, RING - 1);
    write_imm(a, 3);
    check_entry(b, 0, PG332_SIDE_WRITE_IMM, 3, 0);
    teardown();
}

/* Each access to memory fails in turn. */
TEST("/pg332-side/no-memory", test_no_memory)
{
    Card *a = &cards[0], *b = &cards[1];

    for (uint32_t nth = 1; nth < 8; nth++) {
        setup(PG332_V3_1);
        listen(b);
        give(b, RING - 1);
        fake_fail_dma(&b->env, nth, false);
        write_imm(a, 1);
        check_done(a, 1);
        if (nth <= 4) {
            IS(b->env.refused, 1);
        }
        fake_fail_dma(&b->env, 0, false);
        teardown();
    }
}

CARDS_TEST("/pg332-side/registers", PG332_V3_1, test_registers)
{
    for (uint32_t off = 0; off < 0x1000; off += 4) {
        uint32_t want = off == PG332_SIDE_DMACR ? 0xffff7013 :
                        off == PG332_SIDE_CURDESC ||
                        off == PG332_SIDE_TAILDESC ? 0xffffffc0 :
                        off == PG332_SIDE_CURDESC_MSB ||
                        off == PG332_SIDE_TAILDESC_MSB ? 0xffffffff : 0;

        put_side(b, off, 0xffffffff & ~PG332_DMACR_RESET);
        if (off == PG332_SIDE_DMASR) {
            continue;
        }
        if (off == PG332_SIDE_DMACR) {
            put_side(b, off, get_side(b, off) & ~PG332_DMACR_RUN);
            want &= ~PG332_DMACR_RUN;
        } else if (want) {
            put_side(b, off, 0xffffffff);
        }
        IS(get_side(b, off), want);
    }
    IS(get_side(b, PG332_SIDE_DMASR), 0xffff0009);
}

/* A state that no channel has is refused. */
CARD_TEST("/pg332-side/wild", PG332_V4_2, test_wild)
{
    static const struct {
        uint32_t head, count;
    } rows[] = { { ERNIC_SIDE_FIFO, 1 }, { UINT32_MAX, 0 }, { 0, ERNIC_SIDE_FIFO + 1 } };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(GByteArray) state = g_byte_array_new();

        c->e->side->head = rows[i].head;
        c->e->side->count = rows[i].count;
        ernic_save(c->e, state);
        g_assert_false(ernic_load(c->e, 0, state->data, state->len));
        fake_check(c->e);
    }
}

/* Entries wait; another engine continues where this one stopped. */
CARDS_TEST("/pg332-side/save", PG332_V3_1, test_save)
{
    listen(b);
    give(b, 1);
    for (uint32_t i = 0; i < 5; i++) {
        write_imm(a, 0x50 + i);
    }
    IS(get_side(b, PG332_SIDE_WAITING), 3);
    card_move(b);
    IS(get_side(b, PG332_SIDE_DMASR), 0x0001100a);
    give(b, RING - 1);
    for (uint32_t i = 0; i < 5; i++) {
        check_entry(b, i, PG332_SIDE_WRITE_IMM, 0x50 + i, 0);
    }
    /* A reset of the card resets the channel. */
    ernic_reset(b->e);
    IS(get_side(b, PG332_SIDE_DMASR), 0x00010009);
}
