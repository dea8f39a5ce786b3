/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Receive side scaling: the hash against the vectors that its inventor published, the
 * hashed fields of each frame, and the distribution to receive work queues.
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "steering/rss.h"
#include "test.h"

/* "RSS hash verification suite": key, and hashes of addresses and with ports. */
static const uint8_t key[ERNIC_RSS_KEY] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d,
    0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
    0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b,
    0xbe, 0xac, 0x01, 0xfa,
};

typedef struct Vector {
    uint32_t len;               /* of an address */
    uint8_t src[16], dst[16];
    uint16_t sport, dport;
    uint32_t ip, tcp;
} Vector;

static const Vector vectors[] = {
    { 4, { 66, 9, 149, 187 }, { 161, 142, 100, 80 }, 2794, 1766, 0x323e8fc2, 0x51ccc178 },
    { 4, { 199, 92, 111, 2 }, { 65, 69, 140, 83 }, 14230, 4739, 0xd718262a, 0xc626b0ea },
    { 4, { 24, 19, 198, 95 }, { 12, 22, 207, 184 }, 12898, 38024, 0xd2d0a5de,
      0x5c2b394a },
    { 4, { 38, 27, 205, 30 }, { 209, 142, 163, 6 }, 48228, 2217, 0x82989176, 0xafc7327f },
    { 4, { 153, 39, 163, 191 }, { 202, 188, 127, 2 }, 44251, 1303, 0x5d1809c5,
      0x10e828a2 },
    { 16, { 0x3f, 0xfe, 0x25, 1, 2, 0, 0x1f, 0xff, [15] = 7 },
      { 0x3f, 0xfe, 0x25, 1, 2, 0, 0, 3, [15] = 1 }, 2794, 1766, 0x2cc18cd5, 0x40207d3d },
    { 16, { 0x3f, 0xfe, 5, 1, 0, 8, 0, 0, 2, 0x60, 0x97, 0xff, 0xfe, 0x40, 0xef, 0xab },
      { 0xff, 2, [15] = 1 }, 14230, 4739, 0x0f0c461c, 0xdde51bbf },
    { 16, { 0x3f, 0xfe, 0x19, 0, 0x45, 0x45, 0, 3, 2, 0, 0xf8, 0xff, 0xfe,
            0x21, 0x67, 0xcf },
      { 0xfe, 0x80, [8] = 2, 0, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf }, 44251,
      38024, 0x4b61e985, 0x02d1feef },
};

TEST("/rss/toeplitz", test_toeplitz)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(vectors); i++) {
        const Vector *v = &vectors[i];
        uint8_t data[36];

        memcpy(data, v->src, v->len);
        memcpy(data + v->len, v->dst, v->len);
        stw_be_p(data + 2 * v->len, v->sport);
        stw_be_p(data + 2 * v->len + 2, v->dport);
        IS(ernic_toeplitz(key, data, 2 * v->len), v->ip);
        IS(ernic_toeplitz(key, data, 2 * v->len + 4), v->tcp);
    }
    IS(ernic_toeplitz(key, NULL, 0), 0);
}

#define FRAME 128

/* A frame of @proto with the vector's addresses; returns its length. */
static uint32_t make_frame(const Vector *v, uint8_t proto, uint8_t *frame)
{
    uint8_t *l4;

    memset(frame, 0, FRAME);
    frame[0] = 2;
    if (v->len == 4) {
        stw_be_p(frame + 12, 0x800);
        frame[14] = 0x45;
        frame[23] = proto;
        memcpy(frame + 26, v->src, 4);
        memcpy(frame + 30, v->dst, 4);
        l4 = frame + 34;
    } else {
        stw_be_p(frame + 12, 0x86dd);
        frame[14] = 0x60;
        frame[20] = proto;
        memcpy(frame + 22, v->src, 16);
        memcpy(frame + 38, v->dst, 16);
        l4 = frame + 54;
    }
    stw_be_p(l4, v->sport);
    stw_be_p(l4 + 2, v->dport);
    return FRAME;
}

#define IP4 (ERNIC_HASH_SRC_IPV4 | ERNIC_HASH_DST_IPV4)
#define IP6 (ERNIC_HASH_SRC_IPV6 | ERNIC_HASH_DST_IPV6)
#define TCP (ERNIC_HASH_SRC_TCP | ERNIC_HASH_DST_TCP)
#define UDP (ERNIC_HASH_SRC_UDP | ERNIC_HASH_DST_UDP)

/* All frames are spread by the requested and the available fields. */
TEST("/rss/pick", test_pick)
{
    static const struct {
        uint8_t proto;
        uint32_t fields;
        bool ip4, ip6, ports;   /* the fields that count */
    } rows[] = {
        { 6, IP4 | IP6 | TCP | UDP, true, true, true },
        { 17, IP4 | IP6 | TCP | UDP, true, true, true },
        { 1, IP4 | IP6 | TCP | UDP, true, true, false },
        { 6, IP4 | IP6 | UDP, true, true, false },
        { 17, IP4 | IP6 | TCP, true, true, false },
        { 6, IP4 | IP6, true, true, false },
        { 6, IP4, true, false, false },
        { 6, IP6, false, true, false },
    };
    ErnicRss rss = { .shift = ERNIC_RSS_SHIFT_MAX };
    uint8_t frame[FRAME];
    uint32_t len, hash;

    memcpy(rss.key, key, sizeof(key));
    for (uint32_t i = 0; i < ERNIC_RSS_TABLE_MAX; i++) {
        rss.wq[i] = 1000 + i;
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        rss.fields = rows[i].fields;
        for (uint32_t k = 0; k < ARRAY_SIZE(vectors); k++) {
            const Vector *v = &vectors[k];

            len = make_frame(v, rows[i].proto, frame);
            hash = !(v->len == 4 ? rows[i].ip4 : rows[i].ip6) ? 0 :
                   rows[i].ports ? v->tcp : v->ip;
            IS(ernic_rss_pick(&rss, frame, len), 1000 + (hash & 127));
        }
    }
}

/* Each field alone: with it the hash depends on that part of the frame only. */
TEST("/rss/fields", test_fields)
{
    static const struct {
        uint32_t field;
        uint8_t vector, proto, at, size;
    } rows[] = {
        { ERNIC_HASH_SRC_IPV4, 0, 17, 26, 4 },
        { ERNIC_HASH_DST_IPV4, 0, 17, 30, 4 },
        { ERNIC_HASH_SRC_IPV6, 5, 17, 22, 16 },
        { ERNIC_HASH_DST_IPV6, 5, 17, 38, 16 },
        { ERNIC_HASH_SRC_TCP, 0, 6, 34, 2 },
        { ERNIC_HASH_DST_TCP, 0, 6, 36, 2 },
        { ERNIC_HASH_SRC_UDP, 0, 17, 34, 2 },
        { ERNIC_HASH_DST_UDP, 5, 17, 56, 2 },
    };
    uint8_t frame[FRAME];
    uint32_t seen = 0;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ErnicRss rss = { .fields = rows[i].field, .shift = ERNIC_RSS_SHIFT_MAX };
        uint32_t len = make_frame(&vectors[rows[i].vector], rows[i].proto, frame);

        memcpy(rss.key, key, sizeof(key));
        for (uint32_t k = 0; k < ERNIC_RSS_TABLE_MAX; k++) {
            rss.wq[k] = k;
        }
        IS(ernic_rss_pick(&rss, frame, len),
           ernic_toeplitz(key, frame + rows[i].at, rows[i].size) & 127);
        seen |= rows[i].field;
    }
    IS(seen, ERNIC_HASH_FIELDS);
}

#define WQS 3
#define LEN FRAME

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, uctx, key;
    uint64_t buf;
    FakeCq cq[WQS];
    FakeQp wq[WQS], raw;
    struct ernic_rss rss;       /* valid, over all of them in turn */
} Fixture;

static void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    f->uctx = fake_create_uctx(f->e);
    f->pd = fake_create_pd(f->e);
    f->buf = fake_alloc(&f->env, 65536, 4096);
    f->key = fake_reg_mr(f->e, f->pd, f->buf, 65536, ERNIC_ACCESS_LOCAL_WRITE);
    f->rss = (struct ernic_rss) { .fields = cpu_to_le32(IP4 | TCP), .shift = 3 };
    memcpy(f->rss.key, key, sizeof(key));
    for (uint32_t i = 0; i < WQS; i++) {
        fake_create_cq(f->e, &f->cq[i], 64, FAKE_NONE);
        fake_create_qp(f->e, &f->wq[i], ERNIC_QPT_RWQ, f->pd, 0, f->cq[i].cqn, FAKE_NONE);
    }
    for (uint32_t i = 0; i < 8; i++) {
        f->rss.wq[i] = cpu_to_le32(f->wq[i % WQS].qpn);
    }
    fake_create_qp(f->e, &f->raw, ERNIC_QPT_RAW, f->pd, f->cq[0].cqn,
                   f->cq[0].cqn, FAKE_NONE);
}

static uint32_t rule_for(Fixture *f, uint32_t number)
{
    struct ernic_flow_rule rule = { .qpn = cpu_to_le32(number) };
    uint32_t handle;

    OK(fake_create_flow(f->e, &rule, &handle));
    return handle;
}

/* Each frame is in the queue that its hash selects, and only there. */
ENGINE_TEST("/rss/receive", test_receive)
{
    uint32_t number, len, to;
    uint8_t frame[FRAME];
    struct ernic_cqe cqe;

    OK(fake_create_rss(f->e, &f->rss, &number));
    IS(number, ERNIC_RSS_QPN + 1);
    rule_for(f, number);
    for (uint32_t i = 0; i < WQS; i++) {
        struct ernic_qp_attr attr;

        fake_qp_attr(&attr, 0, 0);
        fake_qp_to(f->e, &f->wq[i], ERNIC_QPS_RTR, &attr);
        for (uint32_t k = 0; k < 8; k++) {
            fake_recv(f->e, &f->wq[i], f->buf + i * LEN, LEN, f->key);
        }
    }
    for (uint32_t i = 0; i < 5; i++) {
        len = make_frame(&vectors[i], 6, frame);
        to = (vectors[i].tcp & 7) % WQS;
        g_assert_true(ernic_wants_frame(f->e, frame, len));
        ernic_rx_raw(f->e, f->env.now, frame, len);
        for (uint32_t k = 0; k < WQS; k++) {
            IS(fake_poll_cq(f->e, &f->cq[k], &cqe), k == to);
            if (k == to) {
                IS(cqe.qpn, f->wq[k].qpn);
                IS(cqe.byte_len, len);
                IS(cqe.status, ERNIC_WC_SUCCESS);
                g_assert_cmpmem(fake_ptr(&f->env, f->buf + k * LEN, len), len,
                                frame, len);
            }
        }
    }
    /* A queue outside RTR drops its frames; the others continue. */
    to = (vectors[0].tcp & 7) % WQS;
    OK(fake_modify_qp(f->e, f->wq[to].qpn, ERNIC_QPA_STATE, ERNIC_QPS_ERR, NULL));
    fake_run(f->e);
    while (fake_poll_cq(f->e, &f->cq[to], &cqe)) {
        IS(cqe.status, ERNIC_WC_WR_FLUSH_ERR);
    }
    len = make_frame(&vectors[0], 6, frame);
    ernic_rx_raw(f->e, f->env.now, frame, len);
    IS(f->e->stats.drop[ERNIC_DROP_QP_STATE], 1);
}

/* A queue in a table cannot be destroyed; rules are destroyed with their RSS. */
ENGINE_TEST("/rss/life", test_life)
{
    uint32_t number, other, rule, wq = f->wq[1].qpn;

    OK(fake_create_rss(f->e, &f->rss, &number));
    OK(fake_create_rss(f->e, &f->rss, &other));
    g_assert_cmpuint(other, !=, number);
    rule = rule_for(f, number);
    IS(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, wq), ERNIC_ERR_BUSY);
    OK(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, number));
    IS(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, number), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, rule), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, wq), ERNIC_ERR_BUSY);
    OK(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, other));
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, wq));
}

/* The search of all tables before a refusal is charged, 32 entries a unit. */
ENGINE_TEST("/rss/charged", test_charged)
{
    const uint32_t entries = ERNIC_LIM_RSS << ERNIC_RSS_SHIFT_MAX;
    uint32_t number;
    uint64_t before;

    f->rss.shift = ERNIC_RSS_SHIFT_MAX;
    for (uint32_t n = 0; n < ERNIC_LIM_RSS; n++) {
        for (uint32_t i = 0; i < ERNIC_RSS_TABLE_MAX; i++) {
            bool last = n + 1 == ERNIC_LIM_RSS;

            f->rss.wq[i] = cpu_to_le32(f->wq[last].qpn);
        }
        OK(fake_create_rss(f->e, &f->rss, &number));
    }
    before = f->e->work.done;
    IS(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, f->wq[1].qpn), ERNIC_ERR_BUSY);
    g_assert_cmpuint(f->e->work.done - before, >, entries / 32);
}

#define F(field, v) offsetof(struct ernic_rss, field), \
                    sizeof_field(struct ernic_rss, field), v

static const struct {
    uint32_t offset, size, value;
    uint8_t status;
} refusals[] = {
    { F(fields, 0), ERNIC_ERR_PARAM },
    { F(fields, 0x100), ERNIC_ERR_PARAM },
    { F(shift, 8), ERNIC_ERR_PARAM },
    { F(reserved[0], 1), ERNIC_ERR_RESERVED },
    { F(reserved[2], 1), ERNIC_ERR_RESERVED },
    { F(wq[0], 0), ERNIC_ERR_HANDLE },
    { F(wq[7], 60), ERNIC_ERR_HANDLE },
    { F(wq[7], UINT32_MAX), ERNIC_ERR_HANDLE },
    { F(wq[8], 2), ERNIC_ERR_RESERVED },
    { F(wq[127], 2), ERNIC_ERR_RESERVED },
    { F(shift, 4), ERNIC_ERR_HANDLE },
    { F(shift, 2), ERNIC_ERR_RESERVED },
};

ENGINE_TEST("/rss/refused", test_refused)
{
    uint32_t le, number;
    struct ernic_rss rss;

    for (uint32_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        rss = f->rss;
        le = cpu_to_le32(refusals[i].value);
        memcpy((uint8_t *)&rss + refusals[i].offset, &le, refusals[i].size);
        g_test_message("row %u", i);
        IS(fake_create_rss(f->e, &rss, &number), refusals[i].status);
    }
    /* Only queue pairs of the matching type and of this context. */
    rss = f->rss;
    rss.wq[5] = cpu_to_le32(f->raw.qpn);
    IS(fake_create_rss(f->e, &rss, &number), ERNIC_ERR_HANDLE);
    f->env.uctx = f->uctx;
    IS(fake_create_rss(f->e, &f->rss, &number), ERNIC_ERR_HANDLE);
    f->env.uctx = 0;
    for (uint32_t i = 0; i < ERNIC_LIM_RSS; i++) {
        OK(fake_create_rss(f->e, &f->rss, &number));
    }
    IS(fake_create_rss(f->e, &f->rss, &number), ERNIC_ERR_NO_RESOURCE);
    f->env.uctx = f->uctx;
    IS(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, ERNIC_RSS_QPN + 1), ERNIC_ERR_HANDLE);
    f->env.uctx = 0;
    IS(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, ERNIC_RSS_QPN), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, ERNIC_RSS_QPN + ERNIC_LIM_RSS + 1),
       ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_RSS_DESTROY, 2), ERNIC_ERR_HANDLE);
}
