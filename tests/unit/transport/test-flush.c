/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * FLUSH (IBTA vol. 1, annex A19): data of earlier WRITEs reaches the requested level.
 * It carries no data; its response, credit and retry are those of a READ of 0 bytes.
 */
#include "qemu/osdep.h"
#include "answer_fixture.h"

#define GLOBAL ERNIC_FETH_GLOBAL
#define PERSISTENT ERNIC_FETH_PERSISTENT
#define WHOLE (ERNIC_FETH_MR << ERNIC_FETH_LEVEL_SHIFT)

#define SENT_FLUSH(d, PSN, FETH, LEN)                                       \
    SENT(d, FLUSH, .psn = (PSN), .feth = (FETH), .va = DLG_RADDR,           \
         .rkey = DLG_RKEY, .dma_len = (LEN), .ackreq = true)

#define PEER_FLUSH_OF(d, PSN, KEY, FETH, VA, LEN)                           \
    PEER(d, FLUSH, .psn = (PSN), .feth = (FETH), .rkey = (KEY),             \
         .va = (VA), .dma_len = (LEN), .ackreq = true)
#define PEER_FLUSH(d, PSN) \
    PEER_FLUSH_OF(d, PSN, (d)->key, GLOBAL, (d)->mem + DLG_SINK, 64)

static void post_flush(Dialog *d, uint8_t type, uint8_t level, uint32_t len)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_FLUSH, ERNIC_WR_SIGNALED);

    wqe.flush.type = type;
    wqe.flush.level = level;
    wqe.flush.length = cpu_to_le32(len);
    dlg_post_wqe(d, &wqe, 0, 0);
}

/* A length beyond all path MTUs is one packet, and one PSN. */
DIALOG_TEST("/flush/request", ERNIC_QPT_RC, test_request)
{
    static const struct {
        uint8_t type, level;
        uint32_t len, feth;
    } rows[] = {
        { ERNIC_FLUSH_GLOBAL, ERNIC_FLUSH_RANGE, 0, 0x1 },
        { ERNIC_FLUSH_GLOBAL, ERNIC_FLUSH_RANGE, 1u << 31, 0x1 },
        { ERNIC_FLUSH_GLOBAL, ERNIC_FLUSH_MR, 0xffffffff, 0x11 },
        { ERNIC_FLUSH_PERSISTENT, ERNIC_FLUSH_RANGE, 12345, 0x2 },
        { ERNIC_FLUSH_GLOBAL | ERNIC_FLUSH_PERSISTENT, ERNIC_FLUSH_MR, 7, 0x13 },
    };
    struct ernic_cqe cqe;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        post_flush(d, rows[i].type, rows[i].level, rows[i].len);
        SENT_FLUSH(d, SQ + i, rows[i].feth, rows[i].len);
        dlg_no_wc(d);
        PEER_DONE(d, SQ + i, i + 1);
        cqe = SEND_WC(d, i, SUCCESS);
        IS(cqe.opcode, ERNIC_WC_FLUSH);
        IS(cqe.byte_len, 0);
    }
}

/* An ACK of the WRITE before it does not complete it; its response was lost. */
DIALOG_TEST("/flush/behind-write", ERNIC_QPT_RC, test_behind_write)
{
    dlg_post(d, ERNIC_WR_WRITE, 0, 16);
    post_flush(d, ERNIC_FLUSH_GLOBAL, ERNIC_FLUSH_RANGE, 16);
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_sent_message(d, ERNIC_WR_WRITE, 0, SQ, 0, 16);
    SENT_FLUSH(d, SQ + 1, GLOBAL, 16);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ + 2, 0, 16);
    PEER_ACK(d, SQ + 2, 3);
    SEND_WC(d, 0, SUCCESS);
    dlg_no_wc(d);
    SENT_FLUSH(d, SQ + 1, GLOBAL, 16);
    dlg_sent_message(d, ERNIC_WR_SEND, 0, SQ + 2, 0, 16);
    PEER_DONE(d, SQ + 1, 2);
    ACKED(d, SQ + 2, 1, 3);
}

/* The flush right is sufficient; a region may have no other. */
DIALOG_TEST("/flush/right", ERNIC_QPT_RC, test_right)
{
    uint64_t wrote;
    uint32_t key;

    key = fake_reg_mr(d->e, d->pd, d->mem + 4096, 8192, ERNIC_ACCESS_FLUSH_GLOBAL);
    wrote = d->env.writes;
    PEER_FLUSH_OF(d, RQ, key, GLOBAL, d->mem + 4096, 8192);
    PEER_FLUSH_OF(d, RQ + 1, key, GLOBAL, d->mem + 12288, 0);
    /* The whole region, whatever address and length. Reserved bits are ignored. */
    PEER_FLUSH_OF(d, RQ + 2, key, GLOBAL | WHOLE, UINT64_MAX, UINT32_MAX);
    PEER_FLUSH_OF(d, RQ + 3, key, GLOBAL | WHOLE | 0xffffffc0, 0, 0);
    SENT_DONE(d, RQ, 1);
    SENT_DONE(d, RQ + 1, 2);
    SENT_DONE(d, RQ + 2, 3);
    SENT_DONE(d, RQ + 3, 4);
    QUIET(d);
    IS(d->env.writes, wrote);
    STATE_IS(d, RTS);
}

/* A duplicate is answered again, if every field matches. */
DIALOG_TEST("/flush/duplicate", ERNIC_QPT_RC, test_duplicate)
{
    uint64_t va = d->mem + DLG_SINK;

    PEER_FLUSH(d, RQ);
    SENT_DONE(d, RQ, 1);
    PEER_FLUSH(d, RQ + 1);
    SENT_DONE(d, RQ + 1, 2);
    PEER_FLUSH(d, RQ);
    SENT_DONE(d, RQ, 1);
    PEER_FLUSH_OF(d, RQ, d->key ^ 1, GLOBAL, va, 64);
    PEER_FLUSH_OF(d, RQ, d->key, GLOBAL, va + 1, 64);
    PEER_FLUSH_OF(d, RQ, d->key, GLOBAL, va, 63);
    PEER_FLUSH_OF(d, RQ, d->key, GLOBAL | WHOLE, va, 64);
    PEER(d, READ_REQUEST, .psn = RQ, .va = va, .rkey = d->key);
    PEER(d, FETCH_ADD, .psn = RQ, .va = va, .rkey = d->key,
         .swap_add = (uint64_t)GLOBAL << 32 | 64);
    QUIET(d);
    STATE_IS(d, RTS);
}

/* A peer with more outstanding requests than resources: each is answered. */
DIALOG_TEST_BY("/flush/duplicate-gone", open_keeping(d, 3), test_duplicate_gone)
{
    uint64_t word = d->mem + DLG_SINK;

    for (uint32_t i = 0; i < 6; i++) {
        PEER_FLUSH(d, RQ + i);
        SENT_DONE(d, RQ + i, i + 1);
    }
    PEER_FLUSH(d, RQ + 1);
    SENT_DONE(d, RQ + 1, 6);
    /* In order, whatever resource holds them; the last one finds none free. */
    d->hold = true;
    for (uint32_t i = 0; i < 4; i++) {
        PEER_FLUSH(d, RQ + i);
    }
    d->hold = false;
    PEER_FLUSH(d, RQ + 5);
    for (uint32_t i = 0; i < 3; i++) {
        SENT_DONE(d, RQ + i, 6);
    }
    QUIET(d);
    PEER_FLUSH(d, RQ + 3);
    SENT_DONE(d, RQ + 3, 6);
    PEER_FLUSH_OF(d, RQ + 4, d->key ^ 1, GLOBAL, word, 64);
    PEER_FLUSH_OF(d, RQ + 4, d->key, GLOBAL | 4, word, 64);
    QUIET(d);
    STATE_IS(d, RTS);
    /* A FLUSH never evicts the saved result of an atomic. */
    for (uint32_t i = 0; i < 3; i++) {
        PEER(d, FETCH_ADD, .psn = RQ + 6 + i, .va = word, .rkey = d->key, .swap_add = 1);
        SENT_ATOMIC(d, RQ + 6 + i, 7 + i, i);
    }
    PEER_FLUSH(d, RQ + 5);
    QUIET(d);
    PEER(d, FETCH_ADD, .psn = RQ + 6, .va = word, .rkey = d->key, .swap_add = 1);
    SENT_ATOMIC(d, RQ + 6, 7, 0);
}

typedef struct Wrong {
    const char *name;
    uint32_t feth, len;
    uint32_t access;            /* of the key, which opens 4096 bytes */
    uint32_t qp_access;
    uint8_t nak, event;
} Wrong;

#define ALL (ERNIC_ACCESS_FLAGS & ~ERNIC_ACCESS_ZERO_BASED)

static const Wrong wrongs[] = {
    { "no-type", 0, 64, ALL, ERNIC_ACCESS_QP, INV_REQ },
    { "reserved-type", GLOBAL | 4, 64, ALL, ERNIC_ACCESS_QP, INV_REQ },
    { "reserved-level", GLOBAL | 0x20, 64, ALL, ERNIC_ACCESS_QP, INV_REQ },
    { "long", GLOBAL, 0x80000001, ALL, ERNIC_ACCESS_QP, INV_REQ },
    { "not-enabled", GLOBAL, 64, ALL,
      ERNIC_ACCESS_QP & ~ERNIC_ACCESS_FLUSH_GLOBAL, INV_REQ },
    { "persistent-not-enabled", PERSISTENT, 64, ALL,
      ERNIC_ACCESS_QP & ~ERNIC_ACCESS_FLUSH_PERSISTENT, INV_REQ },
    { "key", GLOBAL, 64, ALL & ~ERNIC_ACCESS_FLUSH_GLOBAL, ERNIC_ACCESS_QP, REM_ACC },
    { "key-of-region", GLOBAL | WHOLE, 0, ALL & ~ERNIC_ACCESS_FLUSH_GLOBAL,
      ERNIC_ACCESS_QP, REM_ACC },
    { "key-of-nothing", GLOBAL, 0, ALL & ~ERNIC_ACCESS_FLUSH_GLOBAL,
      ERNIC_ACCESS_QP, REM_ACC },
    { "persistent", PERSISTENT, 64, ALL, ERNIC_ACCESS_QP, REM_ACC },
    { "both", GLOBAL | PERSISTENT, 64, ALL, ERNIC_ACCESS_QP, REM_ACC },
    { "range", GLOBAL, 4097, ALL, ERNIC_ACCESS_QP, REM_ACC },
};

DIALOG_ROW_TEST("/flush/wrong", wrongs, w, open_allowing(d, w->qp_access), test_wrong)
{
    uint32_t key = fake_reg_mr(d->e, d->pd, d->mem + DLG_SINK, 4096, w->access);

    PEER_FLUSH_OF(d, RQ, key, w->feth, d->mem + DLG_SINK, w->len);
    dlg_ends(d, w->nak, RQ, 0, w->event);
}

/* An invalid key, and that of a window, which cannot have the right. */
TEST("/flush/window", test_window)
{
    EACH_DIALOG(d, invalid, 0, 2, dlg_open(d, ERNIC_QPT_RC)) {
        uint32_t key;
        struct ernic_wqe wqe = dlg_bind_mw(d, &key);

        dlg_post_wqe(d, &wqe, 0, 0);
        SEND_WC(d, 0, SUCCESS);
        PEER_FLUSH_OF(d, RQ, key ^ invalid << 16, GLOBAL | WHOLE, d->mem, 0);
        dlg_ends(d, ERNIC_NAK_REM_ACC, RQ, 0, ERNIC_EV_QP_ACCESS_ERR);
    }
}

/* A peer that does not count it against its READ limit has to repeat it. */
TEST("/flush/no-room", test_no_room)
{
    WITH_DIALOG(d, open_keeping(d, 1)) {
        d->hold = true;
        PEER_FLUSH(d, RQ);
        PEER_FLUSH(d, RQ + 1);
        d->hold = false;
        SENT_DONE(d, RQ, 1);
        SENT_NAK(d, ERNIC_AETH_RNR_NAK | 12, RQ + 1, 1);
        PEER_FLUSH(d, RQ + 1);
        SENT_DONE(d, RQ + 1, 2);
        STATE_IS(d, RTS);
    }
    WITH_DIALOG(d, open_keeping(d, 0)) {
        PEER_FLUSH(d, RQ);
        dlg_ends(d, ERNIC_NAK_INV_REQ, RQ, 0, ERNIC_EV_QP_REQ_ERR);
    }
}
