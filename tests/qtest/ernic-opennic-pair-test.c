/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * OpenNIC's shell with two ERNICs: what they share with the function, and its links.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "ernic-opennic.h"

#define KINDS   { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" }

#define ERNICS  ",ernic-version=4.2"
#define HUB     " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"

/* Each of the two has the other one as its peer, by the cables of the ports. */
typedef struct Pair {
    Qdma x;
    Card c[2];
} Pair;

static void map_pair(Pair *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        p->c[i] = (Card) { .q = p->x.q, .version = PG332_V4_2, .bar = p->x.user,
                           .card = p->x.card };
        p->c[i].bar.addr += 0x800000 + i * 0x200000;
    }
}

static void connect_pair(Pair *p)
{
    for (uint32_t i = 0; i < 2; i++) {
        card_open_in(&p->c[i], 1 + i, card_addr(i * MiB), card_addr(i * MiB + 0x80000));
    }
    for (uint32_t i = 0; i < 2; i++) {
        card_open_qp(&p->c[i], 2 - i, CARD_QPN);
    }
}

static char *pair_options(const char *more)
{
    return g_strconcat(",shell=opennic,card-memory=2M,multifunction=on,vectors=32,"
                       "netdev=h0" ERNICS, more, ONIC_SECOND ",netdev=h1", more, HUB,
                       NULL);
}

static void open_pair(Pair *p, const char *more)
{
    g_autofree char *args = pair_options(more);

    qdma_open(&p->x, args);
    qdma_aim(&p->x, 32);
    map_pair(p);
    connect_pair(p);
}

static void transfers(Pair *p)
{
    card_transfers(&p->c[0], &p->c[1]);
    card_transfers(&p->c[1], &p->c[0]);
}

/* Both move data, by memory of the card, with a vector and a bit of the reset each. */
WORLD_KINDS("/ernic-opennic/pair", test_pair, Pair, p, open_pair, KINDS)
{
    uint16_t vendor;

    vendor = p->x.m->bus->config_readw(p->x.m->bus, QPCI_DEVFN(4, 1), PCI_VENDOR_ID);
    g_assert_cmphex(vendor, ==, 0xffff);
    g_assert_cmphex(qdma_get(&p->x, 0x104), ==, 1);
    for (uint32_t i = 0; i < 2; i++) {
        card_put(&p->c[!i], PG332_INTEN, 0);
        card_put(&p->c[i], PG332_INTSTS, ~0);
        qtest_memset(p->x.m->qts, p->x.messages, 0, 4096);
        card_put(&p->c[i], PG332_INTEN, PG332_INT_COMPLETION);
        transfers(p);
        for (uint32_t v = 0; v < 32; v++) {
            g_assert_cmpint(qdma_interrupted(&p->x, v), ==, v == 14 + 2 + i);
        }
    }
    qdma_put_user(&p->x, 0xc, 1 << 13);
    g_assert_cmphex(card_get(&p->c[1], PG332_IPv4XADD), ==, 0);
    g_assert_cmphex(card_get(&p->c[0], PG332_IPv4XADD), !=, 0);
    qdma_put_user(&p->x, 0xc, 3 << 12);
    g_assert_cmphex(qdma_user(&p->x, 0x10) & 3 << 12, ==, 3 << 12);
    g_assert_cmphex(card_get(&p->c[0], PG332_IPv4XADD), ==, 0);
    connect_pair(p);
    transfers(p);
    qdma_put_user(&p->x, 4, 1);
    g_assert_cmphex(card_get(&p->c[1], PG332_IPv4XADD), ==, 0);
}

/* Guest memory through the windows, which both use. */
WORLD_KINDS("/ernic-opennic/pair-windows", test_pair_windows, Pair, p, open_pair, KINDS)
{
    for (uint32_t i = 0; i < 8; i++) {
        qdma_put_user(&p->x, 0x16424 + i * 0x20, 0x20 * i);
        qdma_put_user(&p->x, 0x16430 + i * 0x20, 0xc2000000);
    }
    for (uint32_t i = 0; i < 2; i++) {
        card_clear_qp(&p->c[i]);
        card_open_in(&p->c[i], 1 + i, 0, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        card_open_qp(&p->c[i], 2 - i, CARD_QPN);
    }
    transfers(p);
}

WORLD_KINDS("/ernic-opennic/pair-migrate", test_pair_migrate, Pair, p, open_pair, KINDS)
{
    g_autofree char *args = pair_options("");

    transfers(p);
    qdma_migrate(&p->x, args);
    transfers(p);
}

/* A third ERNIC, in a function of its own, writes to memory of the guest by port 1. */
typedef struct Third {
    Pair p;
    Card c;
} Third;

static void open_third(Third *t, const char *more)
{
    g_autofree char *args = pair_options(more);
    g_autofree char *all = g_strconcat(args, " -netdev hubport,id=h2,hubid=0"
        " -device ernic,id=third,addr=05.0,netdev=h2" ERNICS, more, NULL);
    Qdma *x = &t->p.x;

    qdma_open(x, all);
    qdma_aim(x, 32);
    map_pair(&t->p);
    qdma_put_user(x, 0x16430, 0xc2000000);
    card_open(&t->c, qernic_at(x->m, "third", 5), PG332_V4_2, 3);
    card_open_in(&t->p.c[0], 1, card_addr(0), card_addr(0x80000));
    card_open_in(&t->p.c[1], 2, 0, 0);
    card_open_qp(&t->p.c[1], 3, CARD_QPN);
    card_open_qp(&t->c, 2, CARD_QPN);
    card_put_qp(&t->c, PG332_TIMEOUTCONF, 0x00103f0d);
    card_transfers(&t->c, &t->p.c[1]);
}

/* A WRITE of the third one does not arrive. */
static void write_nowhere(Third *t)
{
    card_fill(&t->c, t->c.mem, 4, 0x55);
    qtest_writel(t->c.q->qts, t->p.c[1].mem, 0x1234);
    card_post(&t->c, CARD_WRITE, 0, 4, CARD_VA, CARD_KEY);
    for (uint32_t i = 0; i < 20; i++) {
        qtest_clock_step(t->c.q->qts, 100000);
    }
    g_assert_cmphex(qtest_readl(t->c.q->qts, t->p.c[1].mem), ==, 0x1234);
    g_assert_cmpuint(card_get_qp(&t->c, PG332_CQHEAD), ==, t->c.posted - 1);
}

/* The ERNIC of port 1 has the power of the function that it is a part of. */
WORLD_KINDS("/ernic-opennic/pair-power", test_pair_power, Third, t, open_third, KINDS)
{
    qernic_power(&t->p.x.q->dev, 3);
    write_nowhere(t);
    qernic_power(&t->p.x.q->dev, 0);
    qernic_pass(t->c.q->qts, 40, 1000000);      /* the sender's timeout */
    card_done(&t->c, CARD_WRITE);
    card_equal(&t->c, t->c.mem, t->p.c[1].mem, 4);
    card_transfers(&t->c, &t->p.c[1]);
}

/* A reset of the function is one of both ERNICs. */
WORLD_KINDS("/ernic-opennic/pair-reset", test_pair_reset, Third, t, open_third, KINDS)
{
    Pair *p = &t->p;

    qdma_reset(&p->x, 2);
    map_pair(p);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_cmphex(card_get(&p->c[i], PG332_IPv4XADD), ==, 0);
    }
    write_nowhere(t);
    qdma_aim(&p->x, 32);
    map_pair(p);
    connect_pair(p);
    transfers(p);
}

/* The slot is ejected with requests on their way, whichever device is named. */
static void unplug(Pair *p, const char *id)
{
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t n = 0; n < 8; n++) {
            card_post(&p->c[i], CARD_WRITE, 0, CARD_LENGTH, CARD_VA + 0x10000, CARD_KEY);
        }
    }
    onic_unplug(&p->x, id);
}

WORLD_KINDS("/ernic-opennic/pair-unplug", test_pair_unplug, Pair, p, open_pair, KINDS)
{
    unplug(p, "ernic0");
}

WORLD_KINDS("/ernic-opennic/pair-unplug-second", test_pair_unplug_second, Pair, p,
            open_pair, KINDS)
{
    unplug(p, "ernic1");
}

/* For the guest there is no function 1. */
WORLD_KINDS("/ernic-opennic/pair-hidden", test_pair_hidden, Pair, p, open_pair,
            { "", "" })
{
    QPCIBus *bus = p->x.m->bus;

    for (uint32_t at = 0; at < 256; at += 4) {
        bus->config_writel(bus, QPCI_DEVFN(4, 1), at, 0xffffffff);
        g_assert_cmphex(bus->config_readl(bus, QPCI_DEVFN(4, 1), at), ==, 0xffffffff);
        g_assert_cmphex(bus->config_readb(bus, QPCI_DEVFN(4, 1), at), ==, 0xff);
    }
    transfers(p);
}

#define SMALL_PAIR  "-device ernic,id=ernic0,addr=04.0,shell=opennic,multifunction=on" \
                    ",vectors=6" ERNICS ONIC_SECOND ",vectors=64"

/* The state of a machine with these options. */
typedef struct Saved {
    const char *args;
    QErnicState s;
} Saved;

static bool loads(const Saved *s)
{
    return qernic_state_loads(&s->s, "%s", s->args);
}

/* The state of engine @n in a stream, which has its length in front. */
static gsize engine_at(const QErnicState *s, uint32_t n)
{
    static const char magic[] = "RNICiCsT";
    const char *at = s->bytes;

    for (uint32_t i = 0; i <= n; i++) {
        at = memmem(at + 1, s->bytes + s->len - at - 1, magic, strlen(magic));
        g_assert_nonnull(at);
    }
    return at - s->bytes;
}

/* The same with a subsection after engine @n. */
static bool loads_with(const Saved *s, uint32_t n, const char *section, gsize size)
{
    gsize at = engine_at(&s->s, n);
    g_autoptr(GByteArray) all = g_byte_array_new();

    at += ldl_be_p(s->s.bytes + at - 4);
    g_byte_array_append(all, (uint8_t *)s->s.bytes, at);
    g_byte_array_append(all, (const uint8_t *)section, size);
    g_byte_array_append(all, (uint8_t *)s->s.bytes + at, s->s.len - at);
    return loads(&(Saved) { s->args, { s->s.path, (char *)all->data, all->len,
                                       s->s.now } });
}

static void save(Saved *s, const char *args)
{
    QErnicMachine *m = qernic_machine("%s", args);

    s->args = args;
    qernic_state_save(m->qts, &s->s);
    qernic_machine_end(m);
    g_assert_true(loads(s));
}

/* The second device of a state has a vector of its own, or registers that it has not. */
MACHINE_TEST("/ernic-opennic/pair-state", test_pair_state)
{
    static const char irqs[] = "\5\12ernic/irqs\0\0\0\1\0\0\1\0\0\0\0\0\0\0\0";
    Saved s;
    gsize at;

    save(&s, SMALL_PAIR);
    g_assert_false(loads_with(&s, 3, irqs, sizeof(irqs)));
    at = engine_at(&s.s, 2) - 4 - 138;
    s.s.bytes[at - 2] = 1;              /* verbs: enabled */
    g_assert_false(loads(&s));
    s.s.bytes[at - 2] = 0;
    s.s.bytes[at + 3] = 4;              /* Ethernet: promiscuous */
    g_assert_false(loads(&s));
    s.s.bytes[at + 3] = 0;
    g_assert_true(loads(&s));
}

/* A section of ports that the device does not have, or of bits of other ports. */
MACHINE_TEST("/ernic-opennic/ports-state", test_ports_state)
{
    static const char links[] = "\5\13ernic/links\0\0\0\1\0\0\0\1\0\0\0";
    static const char more[] = "\5\13ernic/links\0\0\0\1\0\0\0\4\0\0\0";
    /* Turns, two directions of a MAC, and four counters of each; all 0. */
    static const char port[17 + 17 * 4 + 2 * 2 * 32 * 8 + 4 * 2 * 8] =
        "\5\13ernic/port1\0\0\0\1";
    static const char *const without[] = {
        "-device ernic,shell=reconic", "-device ernic,shell=opennic",
    };
    Saved s;

    for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
        save(&s, without[i]);
        g_assert_false(loads_with(&s, !i, links, sizeof(links)));
        g_assert_false(loads_with(&s, !i, port, sizeof(port)));
    }
    save(&s, SMALL_PAIR);
    g_assert_true(loads_with(&s, 1, links, sizeof(links)));
    g_assert_true(loads_with(&s, 1, port, sizeof(port)));
    g_assert_false(loads_with(&s, 1, more, sizeof(more)));
}

/* The queues of port 1 are 64 to 127; the table and the key are those of function 0. */
static void open_ports(OnicTwo *t, const char *more)
{
    g_autofree char *version = g_strconcat(ERNICS, more, NULL);
    g_autofree char *args = onic_cables(t->w, version);

    qdma_open(&t->w[0].x, args);
    qnet_setup(&t->w[0].x);
    qdma_write_context(&t->w[0].x, QDMA_FMAP, 0, (uint32_t[8]) { 0, 128 });
    qdma_put_user(&t->w[0].x, 0x1000, 128);
    qdma_put_user(&t->w[0].x, 0xc00c, 1);
    qdma_put_user(&t->w[0].x, 0xc014, 1);
    for (uint32_t i = 0; i < 128; i++) {
        qdma_put_user(&t->w[0].x, 0x1400 + i * 4, i % 4);
    }
}

WORLD_KINDS("/ernic-opennic/ports", test_ports, OnicTwo, t, open_ports,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    uint8_t frame[500], is[QNET_FRAME];
    QdmaStream s[2][4], *one;
    uint32_t seen[2] = { }, n, len;

    for (uint32_t i = 0; i < 8; i++) {
        qnet_stream(&t->w[0].x, &s[i / 4][i % 4], i / 4 * 64 + i % 4, QNET_EVERY, 0);
    }
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t port = i % 2;

        qnet_frame(frame, sizeof(frame), i, 3);
        one = &s[port][i / 2 % 4];
        qnet_post(one, frame, sizeof(frame));
        qnet_sent(one);
        qnet_same(is, qernic_from_wire(t->w[port].fd, is, sizeof(is)), frame,
                  sizeof(frame));
        qernic_to_wire(t->w[port].fd, frame, sizeof(frame));
        len = n = 0;
        while (!len) {
            n = (n + 1) % 4;
            one = &s[port][n];
            len = qnet_poll(one, is);
            qtest_clock_step(t->w[0].x.m->qts, 1000);
        }
        qnet_same(is, len, frame, sizeof(frame));
        qnet_refill(one);
        qnet_read(one, QNET_ARM);
        seen[port] |= 1 << n;
    }
    g_assert_cmpint(ctpop32(seen[0]), >, 2);
    g_assert_cmpint(ctpop32(seen[1]), >, 2);
    for (uint32_t i = 0; i < 2; i++) {
        qdma_put_user(&t->w[0].x, 0x82b0 + i * 0x4000, 1);
        g_assert_cmpuint(qdma_user(&t->w[0].x, 0x8500 + i * 0x4000), ==, 100);
        g_assert_cmpuint(qdma_user(&t->w[0].x, 0x8608 + i * 0x4000), ==, 100);
    }
    g_assert_cmpuint(qernic_stat(t->w[0].x.q, "qdma.errors"), ==, 0);
}

#define LINK_VECTOR ((ONIC_VECTORS - 4) / 2)

/* MSI-X off and on. */
static void msix_again(Qdma *x)
{
    qernic_msix_bits(&x->q->dev, PCI_MSIX_FLAGS_ENABLE, false);
    qernic_msix_bits(&x->q->dev, PCI_MSIX_FLAGS_ENABLE, true);
}

/* The interrupt of the links is a level, each edge of which is a message. */
WORLD_KINDS("/ernic-opennic/links-level", test_links_level, OnicTwo, t, open_ports,
            { "", "" })
{
    Onic *w = &t->w[0];

    qdma_aim(&w->x, ONIC_VECTORS);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);
    qernic_set_link(w->x.m->qts, "sock0", true);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);    /* it is as it was */
    qernic_set_link(w->x.m->qts, "sock0", false);
    g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
    qernic_set_link(w->x.m->qts, "sock1", false);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 3);
    g_assert_false(qdma_interrupted(&w->x, LINK_VECTOR));
    qdma_put_user(&w->x, 0x1c, 1);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 2);
    g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
    msix_again(&w->x);
    g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
    qdma_put_user(&w->x, 0x1c, 2);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);
    g_assert_false(qdma_interrupted(&w->x, LINK_VECTOR));
    msix_again(&w->x);
    g_assert_false(qdma_interrupted(&w->x, LINK_VECTOR));
}

/* A migration is no change, unless the destination's link differs. */
WORLD_KINDS("/ernic-opennic/links-migrate", test_links_migrate, OnicTwo, t, open_ports,
            { "", "" })
{
    Onic *w = &t->w[0];

    qdma_aim(&w->x, ONIC_VECTORS);
    for (uint32_t i = 0; i < 3; i++) {
        g_autofree char *args = onic_cables(t->w, ERNICS);

        if (i) {
            qernic_set_link(w->x.m->qts, i == 1 ? "sock0" : "sock1", false);
            qdma_put_user(&w->x, 0x1c, 2);
            g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
        }
        qdma_migrate(&w->x, args);
        g_assert_cmpint(qdma_interrupted(&w->x, LINK_VECTOR), ==, i == 2);
        g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, i);
        qdma_put_user(&w->x, 0x1c, i);
        g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);
    }
}

/* A changed link sets the bit of its port, and raises the vector of the user. */
WORLD_KINDS("/ernic-opennic/links", test_links, OnicTwo, t, open_ports, { "", "" })
{
    Onic *w = &t->w[0];

    qdma_aim(&w->x, ONIC_VECTORS);
    qdma_put_user(&w->x, 0x1c, ~0);
    qtest_memset(w->x.m->qts, w->x.messages, 0, 4096);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t port = i % 2;

        qernic_set_link(w->x.m->qts, port ? "sock1" : "sock0", i > 1);
        g_assert_cmphex(qdma_user(&w->x, 0x8204 + port * 0x4000), ==, i > 1 ? 3 : 0);
        g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 1 << port);
        g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
        qernic_set_link(w->x.m->qts, port ? "sock1" : "sock0", i < 2);
        qernic_set_link(w->x.m->qts, port ? "sock1" : "sock0", i > 1);
        g_assert_false(qdma_interrupted(&w->x, LINK_VECTOR));
        qdma_put_user(&w->x, 0x1c, ~(1u << port));
        g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 1 << port);
        g_assert_true(qdma_interrupted(&w->x, LINK_VECTOR));
        qdma_put_user(&w->x, 0x1c, 1 << port);
        g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);
    }
    qernic_set_link(w->x.m->qts, "sock1", false);
    qdma_put_user(&w->x, 4, 1);
    g_assert_cmphex(qdma_user(&w->x, 0x1c), ==, 0);
}
