/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ATOMIC WRITE (IBTA vol. 1, annex A19) writes 8 bytes to memory at once. It is posted
 * like a WRITE; its response, credit and retry are those of a READ of 0 bytes.
 */
#include "qemu/osdep.h"
#include "answer_fixture.h"

#define WORD 8

#define SENT_WORD(d, PSN, BYTES)                                            \
    SENT(d, ATOMIC_WRITE, .psn = (PSN), .va = DLG_RADDR, .rkey = DLG_RKEY,  \
         .dma_len = WORD, .payload_len = WORD, .payload = (BYTES),          \
         .ackreq = true)

/* The peer writes the word at @off with the bytes at d->peer + @from. */
#define PEER_WORD_OF(d, PSN, KEY, OFF, FROM)                                \
    PEER(d, ATOMIC_WRITE, .psn = (PSN), .va = (d)->mem + (OFF),             \
         .rkey = (KEY), .dma_len = WORD, .payload = (d)->peer + (FROM),     \
         .payload_len = WORD, .ackreq = true)
#define PEER_WORD(d, PSN, FROM) \
    PEER_WORD_OF(d, PSN, (d)->key, DLG_SINK, FROM)

/* The data is inside the work request, as verbs programs post it. */
DIALOG_TEST("/atomic-write/inline", ERNIC_QPT_RC, test_inline)
{
    static const uint8_t bytes[WORD] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct ernic_wqe wqe;

    wqe = dlg_wqe(d, ERNIC_WR_ATOMIC_WRITE, ERNIC_WR_SIGNALED | ERNIC_WR_INLINE);
    wqe.count = cpu_to_le16(WORD);
    fake_post_send(d->e, &d->qp, &wqe, bytes);
    OK(fake_ring_sq(d->e, &d->qp));
    SENT_WORD(d, SQ, bytes);
    PEER_DONE(d, SQ, 1);
    SEND_WC(d, 0, SUCCESS);
}

/* It uses one of the credits that limit outstanding READs. */
TEST("/atomic-write/credit", test_credit)
{
    WITH_DIALOG(d, open_asking(d, 1)) {
        dlg_post(d, ERNIC_WR_ATOMIC_WRITE, 0, WORD);
        dlg_post(d, ERNIC_WR_ATOMIC_WRITE, 8, WORD);
        SENT_WORD(d, SQ, d->at);
        QUIET(d);
        PEER_DONE(d, SQ, 1);
        SENT_WORD(d, SQ + 1, d->at + 8);
        PEER_DONE(d, SQ + 1, 2);
        SEND_WCS(d, 0, 1, SUCCESS);
    }
    WITH_DIALOG(d, open_asking(d, 0)) {
        dlg_post(d, ERNIC_WR_ATOMIC_WRITE, 0, WORD);
        SEND_WC(d, 0, LOC_QP_OP_ERR);
    }
}

DIALOG_TEST("/atomic-write/lkey", ERNIC_QPT_RC, test_lkey)
{
    uint32_t key = d->key;

    d->key ^= 0x41;
    dlg_post(d, ERNIC_WR_ATOMIC_WRITE, 0, WORD);
    d->key = key;
    SEND_WC(d, 0, LOC_PROT_ERR);
}

/* A duplicate is answered again but not executed again, if every field matches. */
DIALOG_TEST("/atomic-write/duplicate", ERNIC_QPT_RC, test_duplicate)
{
    PEER_WORD(d, RQ, 0);
    SENT_DONE(d, RQ, 1);
    PEER_WORD(d, RQ + 1, 8);
    SENT_DONE(d, RQ + 1, 2);
    PEER_WORD(d, RQ, 0);
    SENT_DONE(d, RQ, 1);
    dlg_mem_is(d, DLG_SINK, d->peer + 8, WORD);
    IS(d->env.atomics, 2);
    PEER_WORD(d, RQ, 16);
    PEER_WORD_OF(d, RQ, d->key, DLG_SINK + 8, 0);
    PEER_WORD_OF(d, RQ, d->key ^ 1, DLG_SINK, 0);
    PEER_DATA(d, ATOMIC_WRITE, RQ, 0, 4, .va = d->mem + DLG_SINK, .rkey = d->key,
              .dma_len = WORD);
    PEER_ADD(d, RQ, DLG_SINK, ldq_le_p(d->peer));
    PEER(d, READ_REQUEST, .psn = RQ, .va = d->mem + DLG_SINK, .rkey = d->key);
    QUIET(d);
    STATE_IS(d, RTS);
}

typedef struct Wrong {
    const char *name;
    uint32_t dma_len, len, off;
    uint32_t access;            /* of the key */
    uint32_t qp_access;
    uint8_t nak, event;
} Wrong;

#define ALL (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE | \
             ERNIC_ACCESS_REMOTE_READ | ERNIC_ACCESS_REMOTE_ATOMIC)

static const Wrong wrongs[] = {
    { "aligned", WORD, WORD, 4, ALL, ALL, INV_REQ },
    { "short", WORD, 4, 0, ALL, ALL, INV_REQ },
    { "empty", 0, 0, 0, ALL, ALL, INV_REQ },
    { "long", 16, 16, 0, ALL, ALL, INV_REQ },
    { "says-less", 4, WORD, 0, ALL, ALL, INV_REQ },
    { "says-more", 16, WORD, 0, ALL, ALL, INV_REQ },
    { "not-enabled", WORD, WORD, 0, ALL, ALL & ~ERNIC_ACCESS_REMOTE_WRITE, INV_REQ },
    { "key", WORD, WORD, 0, ALL & ~ERNIC_ACCESS_REMOTE_WRITE, ALL, REM_ACC },
    { "range", WORD, WORD, DLG_SINK, ALL, ALL, REM_ACC },
};

DIALOG_ROW_TEST("/atomic-write/wrong", wrongs, w,
                open_allowing(d, w->qp_access & ~ERNIC_ACCESS_LOCAL_WRITE), test_wrong)
{
    uint32_t key = fake_reg_mr(d->e, d->pd, d->mem + DLG_SINK, 4096, w->access);

    PEER_DATA(d, ATOMIC_WRITE, RQ, 0, w->len, .va = d->mem + DLG_SINK + w->off,
              .rkey = key, .dma_len = w->dma_len, .ackreq = true);
    dlg_ends(d, w->nak, RQ, 0, w->event);
    dlg_mem_is(d, DLG_SINK, NULL, 64);
}

/* More requests than rd_atomic resources, as with READs. */
DIALOG_TEST_BY("/atomic-write/overflow", open_keeping(d, 1), test_overflow)
{
    d->hold = true;
    PEER_WORD(d, RQ, 0);
    PEER_WORD(d, RQ + 1, 8);
    SENT_DONE(d, RQ, 1);
    dlg_ends(d, ERNIC_NAK_INV_REQ, RQ + 1, 1, ERNIC_EV_QP_REQ_ERR);
    dlg_mem_is(d, DLG_SINK, d->peer, WORD);
}
