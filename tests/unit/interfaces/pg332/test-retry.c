/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The buffer from which PG332 repeats WRITEs: packets copied into it, repeated from it,
 * and too large for it.
 */
#include "qemu/osdep.h"
#include "pg332_card.h"
#include "trace-mark.h"

#define BUFFERS     48              /* as many as queue pairs 1 to 3 need */
#define MTU         4096

/* Card 0 retries; it has @num buffers of @bytes. */
static uint64_t open_buffers(uint32_t num, uint32_t bytes)
{
    Card *a = &cards[0];
    uint64_t base;

    setup(PG332_V3_1);
    base = fake_alloc(&a->env, BUFFERS * MTU, 4096);
    WRITES(a, REG_ADDR(DATBUFBA, base),
              REG(DATBUFSZ, bytes << 16 | num), SLOT(TIMEOUTCONF, 7 << 8 | 10));
    return base;
}

/* The copy of the packet with @psn of QPN. */
static void *copy_of(uint64_t base, uint32_t psn)
{
    return fake_ptr(&cards[0].env, base + ((QPN - 1) * 16 + psn % 16) * MTU, MTU);
}

/*
 * @len bytes are sent and lost; their memory changes; they are sent again. The first
 * @anew of them come from memory, the others have their old contents.
 */
static void lose_and_change(uint8_t opcode, uint32_t len, uint32_t anew)
{
    Card *a = &cards[0], *b = &cards[1];
    g_autofree uint8_t *want = g_malloc(len);
    uint8_t *got = opcode == SEND ? fake_ptr(&b->env, b->rq, len) : card_mem(b, 0);

    card_fill(a, 0, len, 1);
    memcpy(want, card_mem(a, 0), len);
    POST(a, opcode, len);
    fake_run(a->e);
    fake_lose_trains(&a->env);
    card_fill(a, 0, len, 77);
    memcpy(want, card_mem(a, 0), anew);
    fake_advance(a->e, 50000000);
    settle();
    check_done(a, a->posted);
    g_assert_cmpmem(got, len, want, len);
}

/*
 * Three packets, each in its buffer, around the wrap of PSNs; no other memory is written.
 */
TEST("/pg332-retry/copies", test_copies)
{
    uint64_t base = open_buffers(BUFFERS, MTU);
    Card *a = &cards[0];

    card_fill(a, 0, 0x3000, 9);
    memset(fake_ptr(&a->env, base, BUFFERS * MTU), 0xa5, BUFFERS * MTU);
    DO(a, WRITE, 0x2800);
    check_done(a, 1);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t len = i < 2 ? MTU : 0x800;

        g_assert_cmpmem(copy_of(base, PSN + i), len, card_mem(a, i * MTU), len);
    }
    IS(*((uint8_t *)copy_of(base, PSN + 2) + 0x800), 0xa5);
    IS(*(uint8_t *)copy_of(base, PSN + 3), 0xa5);
    DO(a, SEND, 64);
    IS(*(uint8_t *)copy_of(base, PSN + 3), 0xa5);
    teardown();
}

TEST("/pg332-retry/retry", test_retry)
{
    static const struct {
        uint8_t opcode;
        uint32_t len, num, bytes;       /* DATBUFSZ */
        uint32_t anew;                  /* bytes that are read again */
    } cases[] = {
        { WRITE, 64, BUFFERS, MTU, 0 },
        { WRITE, 0x2800, BUFFERS, MTU, 0 },
        { WRITE_IMM, 0x2800, BUFFERS, MTU, 0 },
        { SEND, 500, BUFFERS, MTU, 500 },
        { WRITE, 0x2800, 32, MTU, 0 },          /* those of QPN are the last */
        { WRITE, 0x2800, 31, MTU, 0x2800 },
        { WRITE, 0x2800, 0, MTU, 0x2800 },
        { WRITE, 0x2800, BUFFERS, 0, 0x2800 },
        { WRITE, 0x2800, BUFFERS, 2048, 0x2000 },
        { WRITE, 0xf000, BUFFERS, MTU, 0 },     /* 15 packets */
        { WRITE, 0x10000, BUFFERS, MTU, 0 },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t before = ernic_trace_count("ernic_pg332_retry");

        g_test_message("case %u", i);
        open_buffers(cases[i].num, cases[i].bytes);
        lose_and_change(cases[i].opcode, cases[i].len, cases[i].anew);
        IS(ernic_trace_count("ernic_pg332_retry") > before, cases[i].anew < cases[i].len);
        teardown();
    }
}

/* Sixteen are buffered: earlier ones are read from memory again. */
TEST("/pg332-retry/overtaken", test_overtaken)
{
    Card *a = &cards[0], *b = &cards[1];
    uint8_t *p;

    open_buffers(BUFFERS, MTU);
    card_fill(a, 0, MTU, 1);
    POST(a, WRITE, MTU);
    POST(a, WRITE, 0x10000);
    fake_run(a->e);
    fake_lose_trains(&a->env);
    card_fill(a, 0, MTU, 77);
    p = card_mem(a, 0);
    fake_advance(a->e, 50000000);
    fake_run(a->e);
    g_assert_cmpuint(fake_deliver(a->e, b->e), >, 0);
    /* The second WRITE writes its buffered copy of the old memory, last. */
    settle();
    check_done(a, 2);
    g_assert_cmpuint(*p, !=, *(uint8_t *)card_mem(b, 0));
    teardown();
}

/* A buffer without memory: traced, and repeated from the original memory. */
TEST("/pg332-retry/no-memory", test_no_memory)
{
    uint64_t before = ernic_trace_count("ernic_guest_pg332_dma");

    open_buffers(BUFFERS, MTU);
    put(&cards[0], PG332_DATBUFBAMSB, 0);
    lose_and_change(WRITE, 0x2800, 0x2800);
    IS(ernic_trace_count("ernic_guest_pg332_dma"), before + 3);
    teardown();
}

int main(int argc, char **argv)
{
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    return unit_run(argc, argv);
}
