/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Multicast groups: addresses, membership, limits, and each reason to refuse a command.
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "objects/mcast.h"
#include "test.h"

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
    FakeCq cq;
    FakeQp ud[3], rc, gsi;
} Fixture;

static void setup(Fixture *f)
{
    f->e = fake_ernic_new(&f->env);
    f->pd = fake_create_pd(f->e);
    fake_create_cq(f->e, &f->cq, 64, FAKE_NONE);
    for (int i = 0; i < ARRAY_SIZE(f->ud); i++) {
        fake_create_qp(f->e, &f->ud[i], ERNIC_QPT_UD, f->pd, f->cq.cqn,
                       f->cq.cqn, FAKE_NONE);
    }
    fake_create_qp(f->e, &f->rc, ERNIC_QPT_RC, f->pd, f->cq.cqn, f->cq.cqn, FAKE_NONE);
    fake_create_qp(f->e, &f->gsi, ERNIC_QPT_GSI, f->pd, f->cq.cqn, f->cq.cqn, FAKE_NONE);
}

static ErnicGid group(uint16_t n)
{
    ErnicGid gid = { { 0xff, 0x0e, [14] = n >> 8, [15] = n } };

    return gid;
}

static uint8_t attach(Fixture *f, ErnicGid gid, uint32_t qpn)
{
    return fake_mcast(f->e, ERNIC_CMD_MCAST_ATTACH, gid.raw, qpn);
}

static uint8_t detach(Fixture *f, ErnicGid gid, uint32_t qpn)
{
    return fake_mcast(f->e, ERNIC_CMD_MCAST_DETACH, gid.raw, qpn);
}

/* The members of a group, in the order in which they receive packets. */
static void assert_members(Fixture *f, ErnicGid gid, uint32_t n, ...)
{
    uint32_t pos = 0;
    va_list ap;

    va_start(ap, n);
    for (uint32_t i = 0; i < n; i++) {
        IS(ernic_mcast_next(f->e, &gid, &pos), va_arg(ap, uint32_t));
    }
    va_end(ap);
    IS(ernic_mcast_next(f->e, &gid, &pos), 0);
    IS(ernic_mcast_next(f->e, &gid, &pos), 0);
}

TEST("/mcast/addresses", test_addresses)
{
    static const struct {
        ErnicGid gid;
        bool mcast;
    } rows[] = {
        { { { 0xff, 0x02, [15] = 1 } }, true },
        { { { 0xff, 0xff, 0xff } }, true },
        { { { 0xfe, 0x80, [15] = 1 } }, false },
        { { { 0 } }, false },
        { { { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 } }, true },
        { { { [10] = 0xff, [11] = 0xff, 239, 255, 255, 255 } }, true },
        { { { [10] = 0xff, [11] = 0xff, 223, 255, 255, 255 } }, false },
        { { { [10] = 0xff, [11] = 0xff, 240, 0, 0, 1 } }, false },
        { { { [10] = 0xff, [11] = 0xff, 255, 255, 255, 255 } }, false },
        /* 224.0.0.1 in the last bytes of an address that is not IPv4-mapped. */
        { { { 0x20, [12] = 224, [15] = 1 } }, false },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        IS(ernic_gid_is_mcast(&rows[i].gid), rows[i].mcast);
    }
}

ENGINE_TEST("/mcast/refused", test_refused)
{
    ErnicGid unicast = { { 0xfe, 0x80 } };
    uint32_t uctx;

    IS(attach(f, unicast, f->ud[0].qpn), ERNIC_ERR_PARAM);
    IS(attach(f, group(1), f->rc.qpn), ERNIC_ERR_PARAM);
    IS(attach(f, group(1), f->gsi.qpn), ERNIC_ERR_PARAM);
    IS(attach(f, group(1), 0), ERNIC_ERR_HANDLE);
    IS(attach(f, group(1), 63), ERNIC_ERR_HANDLE);
    IS(attach(f, group(1), 64), ERNIC_ERR_HANDLE);
    IS(attach(f, group(1), UINT32_MAX), ERNIC_ERR_HANDLE);
    IS(detach(f, group(1), f->ud[0].qpn), ERNIC_ERR_HANDLE);
    IS(f->e->num_groups, 0);
    g_assert_true(ernic_mcast_groups_ok(f->e));
    /* Another context's queue pair. */
    OK(attach(f, group(1), f->ud[0].qpn));
    uctx = fake_create_uctx(f->e);
    f->env.uctx = uctx;
    IS(attach(f, group(2), f->ud[0].qpn), ERNIC_ERR_HANDLE);
    IS(detach(f, group(1), f->ud[0].qpn), ERNIC_ERR_HANDLE);
    f->env.uctx = 0;
    assert_members(f, group(1), 1, f->ud[0].qpn);
}

ENGINE_TEST("/mcast/limits", test_limits)
{
    uint32_t i, n = ERNIC_LIM_MCAST_GROUP;

    for (i = 0; i < n; i++) {
        OK(attach(f, group(i), f->ud[0].qpn));
    }
    IS(attach(f, group(i), f->ud[0].qpn), ERNIC_ERR_NO_RESOURCE);
    /* A group that exists takes more members. */
    OK(attach(f, group(0), f->ud[1].qpn));
    OK(attach(f, group(n - 1), f->ud[2].qpn));
    IS(f->e->num_groups, n);
    g_assert_true(ernic_mcast_groups_ok(f->e));
    /* Removing the last member removes the group. */
    OK(detach(f, group(7), f->ud[0].qpn));
    OK(attach(f, group(n), f->ud[0].qpn));
    IS(attach(f, group(7), f->ud[0].qpn), ERNIC_ERR_NO_RESOURCE);
}

/* The number of members of the group, which come by ascending entry. */
static uint32_t members(Fixture *f, ErnicGid gid)
{
    uint32_t pos = 0, last = 0, n = 0, qpn;

    for (; (qpn = ernic_mcast_next(f->e, &gid, &pos)); n++, last = pos) {
        g_assert_cmpuint(pos, >, last);
        IS(f->e->mcast[pos - 1].qpn, qpn);
    }
    return n;
}

/* Random attachments, against a table of which queue pair is in which group. */
ENGINE_TEST("/mcast/random", test_random)
{
    enum { GROUPS = 200, STEPS = 20000, QPS = ARRAY_SIZE(f->ud) };
    bool in[GROUPS][QPS] = { };

    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t g = g_test_rand_int_range(0, GROUPS), q = g_test_rand_int_range(0, QPS);

        if (g_test_rand_int_range(0, 2)) {
            OK(attach(f, group(g), f->ud[q].qpn));
            in[g][q] = true;
        } else {
            IS(detach(f, group(g), f->ud[q].qpn), in[g][q] ? ERNIC_OK : ERNIC_ERR_HANDLE);
            in[g][q] = false;
        }
        IS(members(f, group(g)), in[g][0] + in[g][1] + in[g][2]);
        if (step % 100 == 0) {
            g_assert_true(ernic_mcast_groups_ok(f->e));
        }
    }
    OK(fake_destroy(f->e, ERNIC_CMD_QP_DESTROY, f->ud[0].qpn));
    for (int derived = 0; derived < 2; derived++) {
        g_assert_true(ernic_mcast_groups_ok(f->e));
        for (uint32_t g = 0; g < GROUPS; g++) {
            IS(members(f, group(g)), in[g][1] + in[g][2]);
        }
        ernic_mcast_derive(f->e);
    }
}

/* Make as many attachments as Linux reports: 48 queue pairs in each group. */
ENGINE_TEST("/mcast/full", test_full)
{
    uint32_t each = 48, i, k;
    FakeQp qp[49];

    for (k = 0; k < each + 1; k++) {
        fake_create_qp(f->e, &qp[k], ERNIC_QPT_UD, f->pd, f->cq.cqn,
                       f->cq.cqn, FAKE_NONE);
    }
    for (i = 0; i < ERNIC_LIM_MCAST_GROUP; i++) {
        for (k = 0; k < each; k++) {
            OK(attach(f, group(i), qp[k].qpn));
        }
    }
    IS(attach(f, group(0), qp[each].qpn), ERNIC_ERR_NO_RESOURCE);
    OK(attach(f, group(0), qp[0].qpn));
}
