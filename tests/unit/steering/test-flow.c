/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules for frames: the fields of a key, every field of the table in value and mask,
 * the order of rules, and each reason to refuse a command.
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "steering/flow.h"
#include "steering/flow_key.h"
#include "test.h"

#define FRAME_MAX 128

/* Offsets of the fields in a frame; 0: absent. */
typedef struct Shape {
    const char *name;
    uint16_t layers;
    uint32_t len;
    uint8_t bytes[FRAME_MAX];
} Shape;

#define MACS 1, 2, 3, 4, 5, 6, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60
#define TAG 0x81, 0, 0xa1, 0x23
#define IP4(proto, flags) 8, 0, 0x45, 0x7c, 0, 60, 0, 0, flags, 0, 63, proto, \
    0, 0, 10, 1, 2, 3, 192, 168, 5, 6
#define IP6(proto) 0x86, 0xdd, 0x67, 0xca, 0xbc, 0xde, 0, 20, proto, 62, \
    0x20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, \
    0xfe, 0x80, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
#define PORTS 0x12, 0x34, 0xab, 0xcd

static const Shape shapes[] = {
    { "header", 0, 14, { MACS, 8, 6 } },
    { "tagged", ERNIC_LAYER_VLAN, 18, { MACS, TAG, 8, 6 } },
    { "udp4", ERNIC_LAYER_IPV4 | ERNIC_LAYER_UDP, 42, { MACS, IP4(17, 0x40), PORTS } },
    { "tcp4", ERNIC_LAYER_IPV4 | ERNIC_LAYER_TCP, 54, { MACS, IP4(6, 0x20), PORTS } },
    { "tagged udp4", ERNIC_LAYER_VLAN | ERNIC_LAYER_IPV4 | ERNIC_LAYER_UDP, 46,
      { MACS, TAG, IP4(17, 0), PORTS } },
    { "udp6", ERNIC_LAYER_IPV6 | ERNIC_LAYER_UDP, 62, { MACS, IP6(17), PORTS } },
    { "tcp6", ERNIC_LAYER_IPV6 | ERNIC_LAYER_TCP, 74, { MACS, IP6(6), PORTS } },
    { "icmp", ERNIC_LAYER_IPV4, 60, { MACS, IP4(1, 0), PORTS } },
    /* Here a header contradicts the one before it, or is truncated. */
    { "no version", 0, 42, { MACS, 8, 0, 0x55 } },
    { "short IPv4", 0, 33, { MACS, IP4(17, 0) } },
    { "long options", 0, 42, { MACS, 8, 0, 0x4f } },
    { "short options", 0, 42, { MACS, 8, 0, 0x44 } },
    { "short IPv6", 0, 53, { MACS, IP6(17) } },
    { "short UDP", ERNIC_LAYER_IPV4, 41, { MACS, IP4(17, 0), PORTS } },
    { "short TCP", ERNIC_LAYER_IPV6, 73, { MACS, IP6(6), PORTS } },
    { "fragment", ERNIC_LAYER_IPV4, 54, { MACS, IP4(6, 0x01), PORTS } },
    { "short tag", 0, 17, { MACS, TAG } },
};

TEST("/flow/layers", test_layers)
{
    struct ernic_flow_key key;

    for (uint32_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        g_test_message("%s", shapes[i].name);
        IS(ernic_flow_key(&key, shapes[i].bytes, shapes[i].len), shapes[i].layers);
        /* The key of a truncated frame has the fields of its complete layers. */
        for (uint32_t len = 0; len <= shapes[i].len; len++) {
            g_autofree uint8_t *copy = g_memdup2(shapes[i].bytes, MAX(len, 1));
            uint16_t layers = ernic_flow_key(&key, copy, len);

            OK(ernic_flow_check(layers, &key, &key));
        }
    }
}

TEST("/flow/key", test_key)
{
    static const struct ernic_flow_key udp4 = {
        .dmac = { 1, 2, 3, 4, 5, 6 }, .smac = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60 },
        .ethertype = { 8, 0 }, .vlan = { 0xa1, 0x23 }, .src_ip = { 10, 1, 2, 3 },
        .dst_ip = { 192, 168, 5, 6 }, .ip_proto = 17, .tclass = 0x7c, .hop_limit = 63,
        .src_port = { 0x12, 0x34 }, .dst_port = { 0xab, 0xcd },
    };
    static const struct ernic_flow_key tcp6 = {
        .dmac = { 1, 2, 3, 4, 5, 6 }, .smac = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60 },
        .ethertype = { 0x86, 0xdd },
        .src_ip = { 0x20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
        .dst_ip = { 0xfe, 0x80, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 },
        .flow_label = { 0, 0x0a, 0xbc, 0xde }, .ip_proto = 6, .tclass = 0x7c,
        .hop_limit = 62, .src_port = { 0x12, 0x34 }, .dst_port = { 0xab, 0xcd },
    };
    struct ernic_flow_key key;

    ernic_flow_key(&key, shapes[4].bytes, shapes[4].len);
    g_assert_cmpmem(&key, sizeof(key), &udp4, sizeof(udp4));
    ernic_flow_key(&key, shapes[6].bytes, shapes[6].len);
    g_assert_cmpmem(&key, sizeof(key), &tcp6, sizeof(tcp6));
    ernic_flow_key(&key, shapes[2].bytes, shapes[2].len);
    IS(key.ip_flags, 2);              /* DF */
    ernic_flow_key(&key, shapes[3].bytes, shapes[3].len);
    IS(key.ip_flags, 1);              /* MF */
}

/* Every byte of the key is in one field. */
TEST("/flow/fields", test_fields)
{
    uint8_t claimed[sizeof(struct ernic_flow_key)] = { };

    for (uint32_t i = 0; i < ernic_flow_num_fields; i++) {
        for (uint32_t k = 0; k < ernic_flow_fields[i].size; k++) {
            IS(claimed[ernic_flow_fields[i].offset + k]++, 0);
        }
    }
    for (uint32_t i = 0; i < sizeof(claimed); i++) {
        IS(claimed[i], 1);
    }
}

/* One bit of one field: a value equal to the frame's, then its inverse. */
static void check_field(const ErnicFlowField *f, const Shape *shape)
{
    ErnicFlow flow = { .layers = shape->layers };
    struct ernic_flow_key key;
    uint32_t at;

    ernic_flow_key(&key, shape->bytes, shape->len);
    for (uint32_t bit = 0; bit < f->size * 8u; bit++) {
        uint8_t *mask = (uint8_t *)&flow.mask, *value = (uint8_t *)&flow.value;

        memset(mask, 0, sizeof(flow.mask));
        memset(value, 0, sizeof(flow.value));
        at = f->offset + bit / 8;
        mask[at] = 1 << bit % 8;
        value[at] = ((uint8_t *)&key)[at] & mask[at];
        OK(ernic_flow_check(flow.layers, &flow.value, &flow.mask));
        g_assert_true(ernic_flow_match(&flow, &key, shape->layers));
        value[at] ^= mask[at];
        g_assert_false(ernic_flow_match(&flow, &key, shape->layers));
        /* A value bit outside the mask is refused. */
        value[at] = ~mask[at];
        IS(ernic_flow_check(flow.layers, &flow.value, &flow.mask), ERNIC_ERR_PARAM);
    }
}

/* Each field, in each shape of frame that has it, and refused in all others. */
TEST("/flow/walk", test_walk)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ernic_flow_num_fields; i++) {
        const ErnicFlowField *f = &ernic_flow_fields[i];

        for (uint32_t k = 0; k < ARRAY_SIZE(shapes); k++) {
            struct ernic_flow_key value = { }, mask = { };

            if (!f->layers || (f->layers & shapes[k].layers)) {
                check_field(f, &shapes[k]);
                n++;
                continue;
            }
            ((uint8_t *)&mask)[f->offset + f->size - 1] = 1;
            IS(ernic_flow_check(shapes[k].layers, &value, &mask), ERNIC_ERR_PARAM);
        }
    }
    g_assert_cmpuint(n, >, 100);
}

/* A rule that only asks for layers matches the frames that have them. */
TEST("/flow/layer-rules", test_layer_rules)
{
    static const struct {
        uint16_t layers;
        uint8_t status;
    } rows[] = {
        { 0, ERNIC_OK },
        { ERNIC_LAYER_VLAN, ERNIC_OK },
        { ERNIC_LAYER_IPV4, ERNIC_OK },
        { ERNIC_LAYER_IPV6 | ERNIC_LAYER_VLAN, ERNIC_OK },
        { ERNIC_LAYER_IPV4 | ERNIC_LAYER_TCP, ERNIC_OK },
        { ERNIC_LAYER_IPV6 | ERNIC_LAYER_UDP, ERNIC_OK },
        { ERNIC_LAYER_IPV4 | ERNIC_LAYER_IPV6, ERNIC_ERR_PARAM },
        { ERNIC_LAYER_IPV4 | ERNIC_LAYER_TCP | ERNIC_LAYER_UDP, ERNIC_ERR_PARAM },
        { ERNIC_LAYER_UDP, ERNIC_ERR_PARAM },
        { 0x20, ERNIC_ERR_RESERVED },
        { 0x8000, ERNIC_ERR_RESERVED },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ErnicFlow flow = { .layers = rows[i].layers };

        IS(ernic_flow_check(flow.layers, &flow.value, &flow.mask), rows[i].status);
        for (uint32_t k = 0; rows[i].status == ERNIC_OK && k < ARRAY_SIZE(shapes); k++) {
            struct ernic_flow_key key;
            uint16_t layers = ernic_flow_key(&key, shapes[k].bytes, shapes[k].len);

            IS(ernic_flow_match(&flow, &key, layers),
               (layers & flow.layers) == flow.layers);
        }
    }
}

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd, uctx;
    FakeCq cq;
    FakeQp raw[2], ud;
} Fixture;

static void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    f->uctx = fake_create_uctx(f->e);
    f->pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &f->cq, 64, FAKE_NONE);
    for (uint32_t i = 0; i < ARRAY_SIZE(f->raw); i++) {
        fake_create_qp(f->e, &f->raw[i], ERNIC_QPT_RAW, f->pd, f->cq.cqn,
                       f->cq.cqn, FAKE_NONE);
    }
    fake_create_qp(f->e, &f->ud, ERNIC_QPT_UD, f->pd, f->cq.cqn, f->cq.cqn, FAKE_NONE);
}

static uint8_t layer_rule(Fixture *f, uint32_t qpn, uint16_t priority, uint16_t layers,
                          uint32_t *handle)
{
    struct ernic_flow_rule r = {
        .qpn = cpu_to_le32(qpn), .priority = cpu_to_le16(priority),
        .layers = cpu_to_le16(layers),
    };

    return fake_create_flow(f->e, &r, handle);
}

static uint8_t rule(Fixture *f, uint32_t qpn, uint16_t priority, uint32_t *handle)
{
    return layer_rule(f, qpn, priority, 0, handle);
}

static uint32_t found(Fixture *f)
{
    return ernic_flow_find(f->e, shapes[2].bytes, shapes[2].len);
}

/* The lowest priority first, then the lowest handle; then the next. */
ENGINE_TEST("/flow/order", test_order)
{
    uint32_t a = f->raw[0].qpn, b = f->raw[1].qpn, h[4];

    OK(layer_rule(f, a, 0, ERNIC_LAYER_IPV6, &h[0]));
    IS(found(f), 0);
    OK(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, h[0]));
    OK(rule(f, a, 7, &h[0]));
    IS(found(f), a);
    OK(rule(f, b, 3, &h[1]));
    IS(found(f), b);
    OK(rule(f, a, 3, &h[2]));
    IS(found(f), b);
    OK(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, h[1]));
    IS(found(f), a);
    /* Its handle is free again, and the lowest. */
    OK(rule(f, b, 3, &h[3]));
    IS(h[3], h[1]);
    IS(found(f), b);
}

/* A destroyed queue pair's rules are removed with it. */
ENGINE_TEST("/flow/qp-goes", test_qp_goes)
{
    uint32_t a, b, c;

    OK(rule(f, f->raw[0].qpn, 0, &a));
    OK(rule(f, f->raw[1].qpn, 1, &b));
    OK(rule(f, f->raw[0].qpn, 2, &c));
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, f->raw[0].qpn));
    IS(f->e->num_flows, 1);
    IS(found(f), f->raw[1].qpn);
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, a), ERNIC_ERR_HANDLE);
    OK(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, b));
    IS(found(f), 0);
}

ENGINE_TEST("/flow/refused", test_refused)
{
    uint32_t h, own;

    OK(rule(f, f->raw[0].qpn, 0, &own));
    IS(rule(f, f->ud.qpn, 0, &h), ERNIC_ERR_PARAM);
    IS(layer_rule(f, f->raw[0].qpn, 0, ERNIC_LAYER_UDP, &h), ERNIC_ERR_PARAM);
    IS(rule(f, 0, 0, &h), ERNIC_ERR_HANDLE);
    IS(rule(f, 63, 0, &h), ERNIC_ERR_HANDLE);
    IS(rule(f, UINT32_MAX, 0, &h), ERNIC_ERR_HANDLE);
    /* Another context can use neither the queue pair nor the rule. */
    f->env.uctx = f->uctx;
    IS(rule(f, f->raw[0].qpn, 0, &h), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, own), ERNIC_ERR_HANDLE);
    f->env.uctx = 0;
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, 0), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, ERNIC_LIM_FLOW + 1), ERNIC_ERR_HANDLE);
    IS(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, UINT32_MAX), ERNIC_ERR_HANDLE);
    IS(f->e->num_flows, 1);
}

ENGINE_TEST("/flow/limit", test_limit)
{
    uint32_t h;

    for (uint32_t i = 0; i < ERNIC_LIM_FLOW; i++) {
        OK(rule(f, f->raw[0].qpn, 9, &h));
    }
    IS(rule(f, f->raw[0].qpn, 9, &h), ERNIC_ERR_NO_RESOURCE);
    OK(fake_destroy(f->e, ERNIC_CMD_FLOW_DESTROY, 100));
    OK(rule(f, f->raw[1].qpn, 0, &h));
    IS(h, 100);
    IS(found(f), f->raw[1].qpn);
}
