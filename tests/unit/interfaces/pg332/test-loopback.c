/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two queue pairs of PG332 on one card, connected to each other, one of them the last
 * of the card; and the bits of queue pairs in the banks.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "pg332_card.h"

#define NUM_QP  32              /* of card_config() */
#define OWN_IP  0x0a000001
#define OWN_MAC 0x35010200

/* One end, with queues of its own. */
typedef struct End {
    Card *c;
    uint32_t qpn, other, psn, other_psn, posted;
    uint64_t sq, cq, rq, db;            /* db: CQ, then RQ */
} End;

static uint32_t end_get(const End *n, uint32_t reg)
{
    return ernic_reg_read(n->c->e, n->c->env.now,
                          card_at(n->c, ERNIC_REG_QP, n->qpn - 1, reg));
}

static void end_open(End *n)
{
    Card *c = n->c;
    uint32_t qpn = n->qpn;

    n->sq = fake_alloc(&c->env, DEPTH * 64, 256);
    n->cq = fake_alloc(&c->env, DEPTH * 4, 256);
    n->rq = fake_alloc(&c->env, DEPTH * SLOT_BYTES, 256);
    n->db = fake_alloc(&c->env, 8, 8);
    WRITES(c, W_Q(qpn, QPCONF, 0), W_Q_ADDR(qpn, SQBA, n->sq), W_Q_ADDR(qpn, CQBA, n->cq),
              W_Q_ADDR(qpn, RQBA, n->rq), W_Q_ADDR(qpn, CQDBADD, n->db),
              W_Q_ADDR(qpn, RQWPTRDBADD, n->db + 4),
              W_Q(qpn, QDEPTH, DEPTH << 16 | DEPTH), W_Q(qpn, IPDESADDR1, OWN_IP),
              W_Q(qpn, MACDESADDLSB, OWN_MAC), W_Q(qpn, MACDESADDMSB, 0x000a),
              W_Q(qpn, DESTQPCONF, n->other), W_Q(qpn, PD, PD), W_Q(qpn, SQPSN, n->psn),
              W_Q(qpn, LSTRQREQ, 0x0a000000 | (n->other_psn - 1)),
              W_Q(qpn, QPCONF, QPCONF));
}

static void end_post(End *n, Wqe w)
{
    card_wqe_at(n->c, n->sq + n->posted % DEPTH * 64, n->posted, w);
    n->posted++;
    WRITES(n->c, W_Q(n->qpn, SQPI, card_index(n->posted)));
}

/* Banks that begin at @v3 or @v4: the bit of this end, and no other. */
static void end_bit(const End *n, uint32_t v3, uint32_t v4, uint32_t bit)
{
    uint32_t bank = n->c->version == PG332_V3_1 ? v3 : v4;

    IS(get(n->c, bank + bit / 32 * 4), 1u << bit % 32);
    put(n->c, bank + bit / 32 * 4, 1u << bit % 32);
    IS(get(n->c, bank + bit / 32 * 4), 0);
}

/* All four operations from @from to @to, of one packet and of several. */
static void transfer(End *from, End *to)
{
    Card *c = from->c;
    uint32_t before = end_get(to, PG332_STATRQPIDB);

    card_fill(c, 0, 0x3000, from->qpn);
    end_post(from, (Wqe) { .opcode = SEND, .laddr = c->mem, .len = 300 });
    end_post(from, (Wqe) { .opcode = WRITE, .laddr = c->mem, .len = 0x3000,
                           .rkey = KEY, .raddr = VA + 0x4000 });
    end_post(from, (Wqe) { .opcode = READ, .laddr = c->mem + 0x8000,
                           .len = 0x3000, .rkey = KEY, .raddr = VA + 0x4000 });
    end_post(from, (Wqe) { .opcode = SEND_IMM, .laddr = c->mem, .len = 64 });
    fake_run(c->e);
    IS(end_get(from, PG332_CQHEAD), card_index(from->posted));
    IS(card_word(c, from->db), card_index(from->posted));
    IS(end_get(to, PG332_STATRQPIDB), before + 2);
    IS(card_word(c, to->db + 4), before + 2);
    g_assert_cmpmem(card_mem(c, 0x8000), 0x3000, card_mem(c, 0), 0x3000);
    g_assert_cmpmem(fake_ptr(&c->env, to->rq + before * SLOT_BYTES, 300), 300,
                    card_mem(c, 0), 300);
}

/* Both ends are on @c; @two is its last queue pair. */
static void ends_open(Card *c, End *one, End *two)
{
    *one = (End) { c, QPN, NUM_QP, 0x111, 0x222 };
    *two = (End) { c, NUM_QP, QPN, 0x222, 0x111 };
    if (c->version == PG332_V3_1) {
        put(c, PG332_XRNICCONF, 0x12b70021 | NUM_QP << 8);
    } else {
        WRITES(c, REG(XRNICCONF, 0x0012b721), REG(XRNIC_CONF_QP_EN, NUM_QP));
    }
    end_open(one);
    end_open(two);
}

/* No packet appears on the link. */
VERSIONS_TEST("/pg332-loopback/transfer", test_loopback)
{
    uint32_t last = a->version == PG332_V3_1 ? NUM_QP : 0;
    End one, two;

    ends_open(a, &one, &two);
    transfer(&one, &two);
    end_bit(&one, PG332_V3_CQINTSTS, PG332_V4_CQINTSTS, QPN);
    end_bit(&two, PG332_V3_RQINTSTS, PG332_V4_RQINTSTS, last);
    transfer(&two, &one);
    end_bit(&two, PG332_V3_CQINTSTS, PG332_V4_CQINTSTS, last);
    end_bit(&one, PG332_V3_RQINTSTS, PG332_V4_RQINTSTS, QPN);
    g_assert_null(fake_take_train(&a->env));
    IS(get(a, PG332_INTSTS), PG332_INT_COMPLETION | PG332_INT_RECEIVE);
    IS(end_get(&one, PG332_STATQP) & PG332_STATQP_FATAL, 0);
    IS(end_get(&two, PG332_STATQP) & PG332_STATQP_FATAL, 0);
}

/*
 * Bit b of bank k is queue pair 32 k + b; in 4.x only as far as the numbers have bits,
 * so that queue pair C_NUM_QP, a power of two, is bit 0 of bank 0.
 */
TEST("/pg332-loopback/banks", test_banks)
{
    static const struct {
        uint8_t version;
        uint16_t num, qpn, bit;
    } cases[] = {
        { PG332_V3_1, 8, 1, 1 }, { PG332_V3_1, 8, 8, 8 },
        { PG332_V3_1, 32, 31, 31 }, { PG332_V3_1, 32, 32, 32 },
        { PG332_V3_1, 255, 255, 255 },
        { PG332_V4_0, 8, 7, 7 }, { PG332_V4_0, 8, 8, 0 },
        { PG332_V4_0, 32, 31, 31 }, { PG332_V4_0, 32, 32, 0 },
        { PG332_V4_2, 32, 32, 0 }, { PG332_V4_2, 33, 32, 32 },
        { PG332_V4_2, 33, 33, 33 }, { PG332_V4_2, 64, 63, 63 },
        { PG332_V4_2, 64, 64, 0 }, { PG332_V4_2, 2047, 1024, 1024 },
        { PG332_V4_2, 2047, 2047, 2047 },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint32_t bank = cases[i].version == PG332_V3_1 ? PG332_V3_CQINTSTS :
                                                         PG332_V4_CQINTSTS;
        Card *c = &cards[0];
        ErnicConfig cfg;

        card_config(&cfg, cases[i].version);
        cfg.max_qp = cases[i].num + 1;
        fake_env_init(&c->env);
        c->version = cases[i].version;
        c->e = ernic_new(&cfg, &fake_env_ops, &c->env);
        ernic_pg332_bank(c->e, bank, cases[i].qpn);
        IS(get(c, bank + cases[i].bit / 32 * 4), 1u << cases[i].bit % 32);
        card_close(c);
    }
}
