/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * States of the ERNIC interface that no card saves, and that a card would not survive.
 */
#include "qemu/osdep.h"
#include "hand_profile.h"
#include "pg332_card.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "transport/tx.h"

/* The card is refused because of invariant @why. */
static void refused(Card *c, const char *why)
{
    g_autoptr(GByteArray) state = fake_saved(c->e);
    g_autoptr(GString) found = g_string_new(NULL);
    Ernic *e = ernic_new(&c->e->cfg, c->e->ops, c->e->env);

    g_assert_false(ernic_load_why(e, c->env.now, state->data, state->len, found));
    g_assert_cmpstr(found->str, ==, why);
    ernic_free(e);
}

/* READs of a peer have the places that the card has, and no others. */
CARD_TEST("/pg332-state/reads", PG332_V4_2, test_reads)
{
    uint8_t *size = &c->e->qp[QPN].attr.max_dest_rd_atomic;

    IS(*size, ERNIC_MAX_RD_ATOMIC);
    *size = ERNIC_MAX_RD_ATOMIC - 1;
    refused(c, "qp 2: qp-attributes\n");
    *size = ERNIC_MAX_RD_ATOMIC;
    card_move(c);
}

/* A queue pair that a register stops has written its completions. */
TEST("/pg332-state/stopping", test_stopping)
{
    Card *c = &cards[0];

    card_timing = &hand;
    setup(PG332_V4_2);
    POST(c, 0x3f, 64);                  /* no such opcode: it fails at once */
    while (!c->e->timing->cqes.count) {
        c->env.now = MAX(c->env.wake, c->env.now);
        fake_run(c->e);
    }
    c->e->unsettled = QPN;
    c->e->qp[QPN].stopping = true;
    refused(c, "timing 0: completions\n");
    c->e->qp[QPN].stopping = false;
    card_move(c);
    teardown();
    card_timing = NULL;
}

/* A card has two interrupts, however many vectors the function has. */
TEST("/pg332-state/interrupts", test_interrupts)
{
    Card *c = &cards[0], more = { };
    ErnicConfig cfg;

    card_timing = &hand;
    setup(PG332_V4_2);
    cfg = c->e->cfg;
    cfg.num_vectors = 8;
    more.e = ernic_new(&cfg, c->e->ops, c->e->env);
    more.env.now = c->env.now;
    for (uint32_t id = 1; id <= cfg.num_vectors; id++) {
        ernic_timer_set(more.e->timing->irqs, id, c->env.now + 1);
        if (id <= ERNIC_PG332_IRQS) {
            fake_check(more.e);
        } else {
            refused(&more, "timing 0: interrupts\n");
        }
        ernic_timer_set(more.e->timing->irqs, id, ERNIC_NEVER);
    }
    ernic_free(more.e);
    teardown();
    card_timing = NULL;
}

/* Software could not clear the other bits, which would keep the interrupt up. */
CARD_TEST("/pg332-state/causes", PG332_V4_2, test_causes)
{
    uint32_t *causes = ernic_regfile_at(c->e->regs, ERNIC_REG_GLOBAL, 0, PG332_INTSTS);

    for (uint32_t bit = 0; bit < 32; bit++) {
        *causes = 1u << bit;
        if (!(*causes & PG332_INT_ALL)) {
            refused(c, "a cause of interrupts does not exist");
        }
        *causes = 0;
    }
    card_move(c);
}

/* A packet of loopback is not longer than one that is sent. */
CARD_TEST("/pg332-state/loopback", PG332_V4_2, test_loopback)
{
    g_autofree uint8_t *data = g_malloc0(UINT16_MAX + 1);
    ErnicTrain train = { .data = data, .len = ERNIC_TRAIN_BYTES };

    train.seg = train.len;
    g_assert_true(ernic_tx_loop_add(c->e, &train));
    fake_run(c->e);
    IS(c->e->tx->loop_len, 0);
    train.len = train.seg = UINT16_MAX + 1;
    g_assert_true(ernic_tx_loop_add(c->e, &train));
    refused(c, "device 0: loopback\n");
    c->e->tx->loop_len = 0;
}
