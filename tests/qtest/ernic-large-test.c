/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Large packets of the Ethernet interface (LSO): the device divides them into frames.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-eth.h"

#define HEAD_MAX    94
#define MSS         1000
#define BOTH        (ERNIC_ETH_TX | ERNIC_ETH_RX)
#define ALL         (64 * 1024 + 256)   /* bytes of the greatest packet */
#define ABSENT      (1ull << 40)        /* no memory of the guest */
#define MANY        65000

/* Headers of a large packet, without lengths and checksums. */
typedef struct Kind {
    const char *name;
    uint8_t tag;                /* bytes of a VLAN tag */
    bool v6, udp;
} Kind;

static const Kind kinds[] = {
    { "TCP" }, { "tagged TCP", 4 }, { "TCP over IPv6", 0, true },
    { "tagged TCP over IPv6", 4, true }, { "UDP", 0, false, true },
    { "UDP over IPv6", 0, true, true },
};

/* Where the headers of a kind begin, and where they end. */
static uint32_t l3_of(const Kind *k)
{
    return 14 + k->tag;
}

static uint32_t l4_of(const Kind *k)
{
    return l3_of(k) + (k->v6 ? 40 : 20);
}

static uint32_t head_of(const Kind *k)
{
    return l4_of(k) + (k->udp ? 8 : 20);
}

/* The flags of TCP are CWR, ACK, PSH and FIN. */
static void headers(const Kind *k, uint8_t *head)
{
    static const uint8_t ip4[20] = { 0x45, 0, 0, 0, 0x12, 0xff, 0x40, 0, 64, 6, 0, 0,
                                     10, 0, 0, 1, 10, 0, 0, 9 };
    static const uint8_t tcp[20] = { 0x10, 0, 0x20, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0,
                                     0x50, 0x99, 1, 0, 0, 0, 0, 0 };
    uint8_t *l3 = head + l3_of(k), *l4 = head + l4_of(k);

    memset(head, 0, HEAD_MAX);
    memcpy(head, own_mac, 6);
    memcpy(head + 6, "\x52\x54\x00\x99\x99\x99", 6);
    if (k->tag) {
        stl_be_p(head + 12, 0x81000005);
    }
    stw_be_p(l3 - 2, k->v6 ? 0x86dd : 0x0800);
    if (k->v6) {
        stl_be_p(l3, 0x60000000);
        l3[6] = k->udp ? 17 : 6;
        l3[7] = 64;
        l3[23] = 1;
        l3[39] = 9;
    } else {
        memcpy(l3, ip4, sizeof(ip4));
        l3[9] = k->udp ? 17 : 6;
    }
    memcpy(l4, tcp, k->udp ? 4 : sizeof(tcp));
}

/* A machine whose function has room for a large packet at @buf. */
typedef struct Large {
    Eth e;
    uint64_t buf;
    uint8_t bytes[ALL];         /* the packet at buf */
} Large;

static void fill(Large *l, const Kind *k)
{
    headers(k, l->bytes);
    for (uint32_t i = head_of(k); i < ALL; i++) {
        l->bytes[i] = i * 7 + (i >> 8);
    }
    qtest_memwrite(l->e.q->qts, l->buf, l->bytes, ALL);
}

/* A cable with little room, so that frames soon wait for their reader. */
static void large_open(Large *l, const char *more)
{
    int own, fd = qernic_cable(&own), few = 1;  /* bytes: the least that Linux permits */

    g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), ==, 0);
    *l = (Large) { };
    qeth_start(&l->e, qernic_machine("-netdev socket,fd=%d,id=n0"
                                     VERBS_NIC ",id=eth0,addr=06.0,netdev=n0"
                                     ",mac=52:54:00:00:00:42%s", fd, more), BOTH);
    l->e.fd = own;
    l->buf = guest_alloc(&l->e.m->alloc, ALL);
    g_assert_cmphex(qernic_read(l->e.q, offsetof(struct ernic_regs, features)) &
                    ERNIC_FEATURE_ETH_LSO, !=, 0);
}

/*
 * Post @len bytes from @addr on, in descriptors of at most @piece bytes. @last: the last
 * one, which ends the packet; NULL: more follow.
 */
static void post(Large *l, uint64_t addr, uint32_t len, uint32_t piece,
                 const struct ernic_eth_txd *last)
{
    for (uint32_t at = 0, n; at < len; at += n) {
        struct ernic_eth_txd desc = { };

        n = MIN(piece, len - at);
        if (last && at + n == len) {
            desc = *last;
            desc.flags |= ERNIC_ETH_EOP;
        }
        desc.addr = cpu_to_le64(addr + at);
        desc.len = cpu_to_le16(n);
        qeth_post(&l->e, &desc);
    }
}

static struct ernic_eth_txd large(uint32_t head, uint32_t mss)
{
    return (struct ernic_eth_txd) {
        .flags = ERNIC_ETH_LSO, .head_len = cpu_to_le16(head), .mss = cpu_to_le16(mss),
    };
}

/* Post a packet of @k with @data bytes of data, and ring. */
static void send_large(Large *l, const Kind *k, uint32_t data, uint32_t piece)
{
    struct ernic_eth_txd last = large(head_of(k), MSS);

    fill(l, k);
    post(l, l->buf, head_of(k) + data, piece, &last);
    qeth_set(&l->e, OFF(tx_pi), l->e.tx_pi);
}

/* The device says whether the checksums of a frame that it receives are right. */
static void check_sums(Large *l, const uint8_t *frame, uint32_t len)
{
    uint8_t back[BUFFER], flags;

    qeth_post_rx(&l->e, BUFFER);
    qernic_to_wire(l->e.fd, frame, len);
    g_assert_cmpuint(qeth_receive(&l->e, back, &flags), ==, MAX(len, 60));
    g_assert_cmphex(flags, ==, ERNIC_ETH_EOP | ERNIC_ETH_CSUM_OK);
}

/* The next frame that is no announcement (RARP) of a machine that has migrated. */
static uint32_t next_frame(Large *l, uint8_t *frame)
{
    uint32_t len;

    do {
        len = qernic_from_wire(l->e.fd, frame, BUFFER);
    } while (lduw_be_p(frame + 12) == 0x8035);
    return len;
}

/* Read frame @i of a packet of @k with @data bytes, and hold its fields against it. */
static uint32_t check_frame(Large *l, const Kind *k, uint32_t i, uint32_t data,
                            uint8_t *frame)
{
    uint32_t len = next_frame(l, frame), at = i * MSS;
    uint32_t n = MIN(MSS, data - at), head = head_of(k);
    const uint8_t *l3 = frame + l3_of(k), *l4 = frame + l4_of(k);
    bool last = at + n == data;

    g_assert_cmpuint(len, ==, head + n);
    g_assert_cmpmem(frame, l3_of(k), l->bytes, l3_of(k));
    g_assert_cmpmem(frame + head, n, l->bytes + head + at, n);
    if (k->v6) {
        g_assert_cmpuint(lduw_be_p(l3 + 4), ==, len - l3_of(k) - 40);
    } else {
        g_assert_cmpuint(lduw_be_p(l3 + 2), ==, len - l3_of(k));
        g_assert_cmphex(lduw_be_p(l3 + 4), ==, 0x12ff + i);
    }
    if (k->udp) {
        g_assert_cmpuint(lduw_be_p(l4 + 4), ==, 8 + n);
    } else {
        g_assert_cmphex((uint32_t)ldl_be_p(l4 + 4), ==, 0xffffff00 + at);
        g_assert_cmphex(l4[13], ==, 0x10 | (i ? 0 : 0x80) | (last ? 0x09 : 0));
    }
    return len;
}

/* Each kind, with descriptors that end anywhere and a last frame of any size. */
WORLD_KINDS("/ernic-large/frames", test_frames, Large, l, large_open,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    static const uint32_t sizes[] = { 1, MSS, MSS + 1, 2 * MSS }, pieces[] = { 550, 999 };
    uint32_t frames = 0;
    uint8_t frame[BUFFER];

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(sizes) * ARRAY_SIZE(pieces); j++) {
            uint32_t data = sizes[j / 2], len;

            g_test_message("%s, %u bytes", kinds[i].name, data);
            send_large(l, &kinds[i], data, pieces[j % 2]);
            for (uint32_t n = 0; n < DIV_ROUND_UP(data, MSS); n++, frames++) {
                len = check_frame(l, &kinds[i], n, data, frame);
                check_sums(l, frame, len);
            }
            qeth_wait_tx(&l->e);
        }
    }
    qeth_is(&l->e, OFF(tx_packets), frames);
    qeth_is(&l->e, OFF(tx_errors), 0);
}

#define HEAD        54                  /* of TCP */

/* Packets of TCP that are refused, each for one reason. */
static const struct {
    const char *name;
    uint16_t head, mss;
    uint32_t len;               /* of the packet */
    uint8_t flags;
    bool absent;                /* the data are not in memory */
    uint8_t protocol;           /* of IPv4, in place of TCP */
} refused[] = {
    { "no headers", 0, MSS, 2000 },
    { "less than the headers", HEAD - 1, MSS, 2000 },
    { "more than the headers", HEAD + 1, MSS, 2000 },
    { "headers longer than the limit", ERNIC_ETH_LSO_HEAD_MAX + 1, MSS, 2000 },
    { "headers alone", HEAD, MSS, HEAD },
    { "headers longer than the packet", HEAD, MSS, 40 },
    { "no size of frames", HEAD, 0, 2000 },
    { "frames that are too long", HEAD, ERNIC_ETH_FRAME_MAX - HEAD + 1, 20000 },
    { "too many bytes", HEAD, MSS, HEAD + ERNIC_ETH_LSO_MAX + 1 },
    { "with CSUM", HEAD, MSS, 2000, ERNIC_ETH_CSUM },
    { "not in memory", HEAD, MSS, 2000, 0, true },
    { "of another protocol", HEAD, MSS, 2000, 0, false, 1 },
};

/* A refused packet counts once and changes nothing: the next one is sent. */
WORLD_KINDS("/ernic-large/refused", test_refused, Large, l, large_open, { "", "" })
{
    uint8_t frame[BUFFER];

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct ernic_eth_txd last = large(refused[i].head, refused[i].mss);

        g_test_message("%s", refused[i].name);
        last.flags |= refused[i].flags;
        fill(l, &kinds[0]);
        if (refused[i].protocol) {
            qtest_writeb(l->e.q->qts, l->buf + 23, refused[i].protocol);
        }
        if (refused[i].absent) {
            post(l, l->buf, HEAD, HEAD, NULL);
            post(l, ABSENT, refused[i].len - HEAD, 16384, &last);
        } else {
            post(l, l->buf, refused[i].len, 16384, &last);
        }
        qeth_wait_tx(&l->e);
        qeth_is(&l->e, OFF(tx_errors), i + 1);
        send_large(l, &kinds[0], MSS, 16384);
        check_frame(l, &kinds[0], 0, MSS, frame);
        qeth_wait_tx(&l->e);
        qeth_is(&l->e, OFF(tx_packets), i + 1);
    }
}

/* The greatest packet has frames of the greatest size. */
WORLD_KINDS("/ernic-large/greatest", test_greatest, Large, l, large_open, { "", "" })
{
    struct ernic_eth_txd last = large(HEAD, ERNIC_ETH_FRAME_MAX - HEAD);
    g_autofree uint8_t *frame = g_malloc(ERNIC_ETH_FRAME_MAX);
    uint32_t data = 0;

    fill(l, &kinds[0]);
    post(l, l->buf, HEAD + ERNIC_ETH_LSO_MAX, 65535, &last);
    qeth_set(&l->e, OFF(tx_pi), l->e.tx_pi);
    while (data < ERNIC_ETH_LSO_MAX) {
        uint32_t n = qernic_from_wire(l->e.fd, frame, ERNIC_ETH_FRAME_MAX) - HEAD;

        g_assert_cmpmem(frame + HEAD, n, l->bytes + HEAD + data, n);
        data += n;
    }
    qeth_wait_tx(&l->e);
    qeth_is(&l->e, OFF(tx_packets),
            DIV_ROUND_UP(ERNIC_ETH_LSO_MAX, ERNIC_ETH_FRAME_MAX - HEAD));
}

/* ---- a packet whose frames have left in part --------------------------------------- */

/* The link takes some frames only; returns their number. */
static uint32_t wait_in_part(Large *l)
{
    uint32_t frames;

    send_large(l, &kinds[0], MANY, 16384);
    qernic_wait_while(l->e.q->qts, qeth_get(&l->e, OFF(tx_packets)) == 0);
    do {
        frames = qeth_get(&l->e, OFF(tx_packets));
        qtest_clock_step(l->e.q->qts, 1000000);
    } while (qeth_get(&l->e, OFF(tx_packets)) != frames);
    g_assert_cmpuint(frames, <, MANY / MSS);
    qeth_is(&l->e, OFF(tx_ci), 0);
    return frames;
}

static void check_rest(Large *l, uint32_t frames)
{
    uint8_t frame[BUFFER];

    for (; frames < MANY / MSS; frames++) {
        check_frame(l, &kinds[0], frames, MANY, frame);
    }
    qeth_wait_tx(&l->e);
    qeth_is(&l->e, OFF(tx_packets), MANY / MSS);
    qeth_is(&l->e, OFF(tx_errors), 0);
}

WORLD_KINDS("/ernic-large/waits", test_waits, Large, l, large_open, { "", "" })
{
    wait_in_part(l);
    check_rest(l, 0);
}

/* The destination sends the frames that have not left. */
WORLD_KINDS("/ernic-large/migrates", test_migrates, Large, l, large_open, { "", "" })
{
    uint32_t frames = wait_in_part(l);
    g_autofree char *args = g_strdup_printf(
        "-netdev socket,fd=%d,id=n0" VERBS_NIC ",id=eth0,addr=06.0,netdev=n0"
        ",mac=52:54:00:00:00:42", qernic_cable(&l->e.fd));

    qernic_migrate_as(l->e.q, args);
    check_rest(l, frames);
}

/* A saved state that says more than a packet has is refused. */
WORLD_KINDS("/ernic-large/saved", test_saved, Large, l, large_open, { "", "" })
{
    static const char section[] = "ernic/large";
    const uint32_t sent[] = { ERNIC_ETH_LSO_MAX - 1, ERNIC_ETH_LSO_MAX, UINT32_MAX };
    QErnicState s;

    wait_in_part(l);
    qernic_state_save(l->e.q->qts, &s);
    for (size_t i = 0; i < ARRAY_SIZE(sent); i++) {
        char *at = qernic_state_find(&s, section, strlen(section)) + strlen(section) + 4;

        g_assert_cmpuint((uint32_t)ldl_be_p(at) % MSS, ==, 0);
        stl_be_p(at, sent[i]);
        g_assert_cmpint(qernic_state_loads(&s, VERBS_NIC ",id=eth0,addr=06.0"), ==,
                        sent[i] < ERNIC_ETH_LSO_MAX);
        stl_be_p(at, MSS);
    }
}

/* Software takes the packet back; the next one begins with its first byte. */
WORLD_KINDS("/ernic-large/taken-back", test_taken_back, Large, l, large_open, { "", "" })
{
    uint32_t frames = wait_in_part(l);
    uint8_t frame[BUFFER];

    qeth_set(&l->e, OFF(tx_pi), 0);
    for (uint32_t n = 0; n < frames; n++) {
        check_frame(l, &kinds[0], n, MANY, frame);
    }
    l->e.tx_pi = 0;
    send_large(l, &kinds[0], MSS, 16384);
    check_frame(l, &kinds[0], 0, MSS, frame);
    qeth_wait_tx(&l->e);
    qeth_is(&l->e, OFF(tx_errors), 0);
}

/* Software makes the packet shorter than what has left, or begins with an empty ring. */
WORLD_KINDS("/ernic-large/changed", test_changed, Large, l, large_open, { "", "" })
{
    struct ernic_eth_txd last = large(HEAD, MSS);
    uint32_t frames = wait_in_part(l), n;
    uint8_t frame[BUFFER];

    last.flags |= ERNIC_ETH_EOP;
    last.addr = cpu_to_le64(l->buf);
    last.len = cpu_to_le16(HEAD + MSS);
    qtest_memwrite(l->e.q->qts, l->e.tx, &last, sizeof(last));
    for (n = 0; n < frames; n++) {
        check_frame(l, &kinds[0], n, MANY, frame);
    }
    qernic_wait_while(l->e.q->qts, qeth_get(&l->e, OFF(tx_errors)) == 0);
    qeth_is(&l->e, OFF(tx_packets), frames);

    qeth_set(&l->e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_set(&l->e, OFF(ctrl), BOTH);
    l->e.tx_pi = 0;
    frames = wait_in_part(l) - frames;
    qeth_set(&l->e, OFF(ctrl), ERNIC_ETH_RX);
    qeth_set(&l->e, OFF(ctrl), BOTH);
    l->e.tx_pi = 0;
    for (n = 0; n < frames; n++) {
        check_frame(l, &kinds[0], n, MANY, frame);
    }
    send_large(l, &kinds[0], MSS, 16384);
    check_frame(l, &kinds[0], 0, MSS, frame);
    qeth_wait_tx(&l->e);
}
