/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames that arrive: the choice of the face that receives them, and the work that each
 * may cause. The machines are of their own, because libqos's graph is full.
 */
#include "qemu/osdep.h"
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_net.h"
#include "ernic-card.h"
#include "ernic-eth.h"

#define ROCE_LEN    (14 + 20 + 8 + 12 + 4)

/* Frames to 10.0.0.1: RoCEv2 or other, well-formed or malformed. */
enum { GOOD, SHORT_UDP, EMPTY_UDP, OTHER_ADDRESS, OTHER_PORT };

static void roce_frame(uint8_t frame[ROCE_LEN], int kind)
{
    static const uint8_t ip[20] = {
        0x45, 0, 0, ROCE_LEN - 14, 0, 0, 0x40, 0, 64, 17, 0x26, 0xbf,
        10, 0, 0, 2, 10, 0, 0, 1,
    };
    uint8_t *udp = frame + 34;

    memset(frame, 0, ROCE_LEN);
    memcpy(frame, own_mac, 6);
    memcpy(frame + 6, "\x52\x54\x00\x99\x99\x99\x08\x00", 8);
    memcpy(frame + 14, ip, sizeof(ip));
    if (kind == OTHER_ADDRESS) {
        frame[33]++;
        frame[25]--;                            /* correct the header's checksum */
    } else if (kind == EMPTY_UDP) {
        frame[17] = 20 + 8;
        frame[25] += 12 + 4;
    }
    stw_be_p(udp, 22222);
    stw_be_p(udp + 2, kind == OTHER_PORT ? 4790 : 4791);
    stw_be_p(udp + 4, kind == EMPTY_UDP ? 8 : 8 + 12 + 4 - (kind == SHORT_UDP));
    udp[8] = 4;                                 /* SEND Only, to queue pair 2 */
    udp[15] = 2;
}

typedef struct Taken {
    uint64_t eth, pg332, verbs;
} Taken;

static Taken taken(Eth *e)
{
    return (Taken) {
        .eth = qernic_stat(&e->q, "eth.rx_packets"),
        .pg332 = qernic_stat(&e->q, "pg332.rx_packets"),
        .verbs = qernic_stat(&e->q, "rx_packets") +
                 qernic_stat(&e->q, "drops.bad_length") +
                 qernic_stat(&e->q, "drops.too_short"),
    };
}

/* A frame of @kind arrives; only the face in @whose receives and counts it. */
static void comes(Eth *e, int kind, Taken whose)
{
    Taken was = taken(e), is = was;
    uint8_t frame[ROCE_LEN];
    uint64_t deadline = 0;

    roce_frame(frame, kind);
    qeth_post_rx(e, BUFFER);
    qeth_to_wire(e, frame, sizeof(frame));
    while (memcmp(&is, &was, sizeof(is)) == 0) {
        qernic_wait(&e->q, &deadline);
        is = taken(e);
    }
    g_test_message("kind %d: Ethernet %" PRIu64 ", ERNIC %" PRIu64 ", verbs %"
                   PRIu64, kind, is.eth, is.pg332, is.verbs);
    g_assert_cmpuint(is.eth - was.eth, ==, whose.eth);
    g_assert_cmpuint(is.pg332 - was.pg332, ==, whose.pg332);
    g_assert_cmpuint(is.verbs - was.verbs, ==, whose.verbs);
}

#define TO_ETH      ((Taken) { .eth = 1 })
#define TO_PG332    ((Taken) { .pg332 = 1 })
#define TO_VERBS    ((Taken) { .verbs = 1 })

static void registers_say(Eth *e, bool enable)
{
    QPCIBar bar = qpci_iomap(&e->q.dev, ERNIC_BAR_PG332, NULL);

    qpci_io_writel(&e->q.dev, bar, PG332_V3_GLOBAL + PG332_IPv4XADD, 0x0a000001);
    qpci_io_writel(&e->q.dev, bar, PG332_V3_GLOBAL + PG332_XRNICCONF,
                   22222u << 16 | 0x0820 | enable);
}

/* A machine of its own, because libqos's graph is full. */
typedef struct Own {
    CardMachine m;
    int fds[2];
} Own;

static void own_open(Own *own, Eth *e, const char *more, uint32_t ctrl)
{
    g_autofree char *args = NULL;
    QErnic any = { };

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, own->fds), ==, 0);
    args = g_strdup_printf("-netdev socket,fd=%d,id=sock0"
                           " -device ernic,id=eth0,addr=06.0,netdev=sock0,"
                           "mac=52:54:00:00:00:42%s", own->fds[1], more);
    card_machine_open(&own->m, args);
    any.dev.bus = own->m.bus;
    qeth_start(e, &any, own->fds, &own->m.alloc, ctrl);
}

static void own_close(Own *own, Eth *e)
{
    qernic_fini(&e->q);
    card_machine_close(&own->m);
    close(own->fds[0]);
    close(own->fds[1]);
}

/* A frame that no engine is enabled for goes to the Ethernet face, malformed or not. */
static void test_whose(void)
{
    Own own;
    Eth e;

    own_open(&own, &e, ",ernic-version=3.1", ERNIC_ETH_RX);
    for (int i = GOOD; i <= OTHER_PORT; i++) {
        comes(&e, i, TO_ETH);
    }
    registers_say(&e, false);                   /* an address, but not enabled */
    for (int i = GOOD; i <= OTHER_PORT; i++) {
        comes(&e, i, TO_ETH);
    }
    registers_say(&e, true);
    comes(&e, GOOD, TO_PG332);
    comes(&e, SHORT_UDP, TO_PG332);
    comes(&e, EMPTY_UDP, TO_PG332);
    comes(&e, OTHER_ADDRESS, TO_ETH);
    comes(&e, OTHER_PORT, TO_ETH);
    qernic_enable(&e.q);                        /* the verbs face has no address */
    comes(&e, GOOD, TO_PG332);
    comes(&e, SHORT_UDP, TO_PG332);
    comes(&e, EMPTY_UDP, TO_PG332);
    comes(&e, OTHER_ADDRESS, TO_ETH);
    registers_say(&e, false);
    comes(&e, GOOD, TO_ETH);
    comes(&e, SHORT_UDP, TO_VERBS);
    comes(&e, EMPTY_UDP, TO_VERBS);
    comes(&e, OTHER_PORT, TO_ETH);
    own_close(&own, &e);
}

#define LONG_SHIFT  9
#define LONG        (1u << LONG_SHIFT)

/* Longer rings than the other tests have, in buffers of their own. */
static void start_long(Eth *e, QGuestAllocator *alloc, uint32_t ctrl)
{
    qeth_set(e, OFF(ctrl), 0);
    e->tx = guest_alloc(alloc, LONG * 16);
    e->rx = guest_alloc(alloc, LONG * 16);
    qernic_write64(&e->q, OFF(tx_addr), e->tx);
    qernic_write64(&e->q, OFF(rx_addr), e->rx);
    qeth_set(e, OFF(tx_shift), LONG_SHIFT);
    qeth_set(e, OFF(rx_shift), LONG_SHIFT);
    qeth_set(e, OFF(ctrl), ctrl);
    g_assert_cmphex(qeth_get(e, OFF(ctrl)), ==, ctrl);
    e->tx_pi = e->rx_pi = e->rx_ci = 0;
}

/* @n descriptors with a byte each: one frame. */
static void send_bytes(Eth *e, const uint8_t *frame, uint32_t n)
{
    qtest_memwrite(e->q.qts, e->buf, frame, n);
    for (uint32_t i = 0; i < n; i++) {
        struct ernic_eth_txd desc = {
            .addr = cpu_to_le64(e->buf + i), .len = cpu_to_le16(1),
            .flags = i + 1 == n ? ERNIC_ETH_EOP : 0,
        };

        qtest_memwrite(e->q.qts, e->tx + (e->tx_pi++ % LONG) * sizeof(desc), &desc,
                       sizeof(desc));
    }
    qeth_wait_tx(e);
}

/* @n buffers of @size bytes. */
static void post_small(Eth *e, uint32_t n, uint16_t size)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ernic_eth_rxd desc = {
            .addr = cpu_to_le64(e->buf), .size = cpu_to_le16(size),
        };

        qtest_memwrite(e->q.qts, e->rx + (e->rx_pi++ % LONG) * sizeof(desc), &desc,
                       sizeof(desc));
    }
    qeth_set(e, OFF(rx_pi), e->rx_pi);
}

/* A frame has at most ERNIC_ETH_FRAME_DESC descriptors, also if they have no bytes. */
static void test_pieces(void)
{
    uint8_t frame[FRAME], got[BUFFER];
    uint64_t deadline = 0;
    Own own;
    Eth e;

    own_open(&own, &e, "", ERNIC_ETH_TX);
    start_long(&e, &own.m.alloc, ERNIC_ETH_TX | ERNIC_ETH_RX);
    qeth_fill(frame, FRAME, own_mac);
    send_bytes(&e, frame, ERNIC_ETH_FRAME_DESC);
    g_assert_cmpuint(qeth_from_wire(&e, got, sizeof(got)), ==, ERNIC_ETH_FRAME_DESC);
    g_assert_cmpmem(got, ERNIC_ETH_FRAME_DESC, frame, ERNIC_ETH_FRAME_DESC);
    send_bytes(&e, frame, ERNIC_ETH_FRAME_DESC + 1);
    g_assert_cmpuint(qeth_get(&e, OFF(tx_errors)), ==, 1);
    g_assert_cmpuint(qeth_get(&e, OFF(tx_packets)), ==, 1);

    post_small(&e, ERNIC_ETH_FRAME_DESC, 1);
    qeth_to_wire(&e, frame, ERNIC_ETH_FRAME_DESC);
    while (qtest_readl(e.q.qts, e.state + 4) != ERNIC_ETH_FRAME_DESC) {
        qernic_wait(&e.q, &deadline);
    }
    post_small(&e, LONG, 0);
    qeth_to_wire(&e, frame, FRAME);
    while (qeth_get(&e, OFF(rx_errors)) + qeth_get(&e, OFF(rx_no_buffer)) == 0) {
        qernic_wait(&e.q, &deadline);
    }
    g_assert_cmpuint(qeth_get(&e, OFF(rx_errors)), ==, 1);
    g_assert_cmpuint(qeth_get(&e, OFF(rx_packets)), ==, 1);
    own_close(&own, &e);
}

#define FRAMES  900

typedef struct Burst {
    const char *counter;
    int kind;
    bool verbs;                 /* they are enabled */
    const char *more;           /* properties of the device */
} Burst;

/* FRAMES frames of @kind; the backend at the other end of @fd reads them in one piece. */
static void send_burst(int fd, int kind)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    uint32_t len = cpu_to_be32(ROCE_LEN), i;
    uint8_t frame[ROCE_LEN];

    roce_frame(frame, kind);
    for (i = 0; i < FRAMES; i++) {
        g_byte_array_append(all, (const uint8_t *)&len, sizeof(len));
        g_byte_array_append(all, frame, sizeof(frame));
    }
    g_assert_cmpint(send(fd, all->data, all->len, 0), ==, all->len);
}

/*
 * Frames that the backend reads in one piece and delivers in one call are cut into
 * slices, whatever becomes of them.
 */
static void test_burst(const void *data)
{
    g_autofree char *path = NULL;
    const Burst *b = data;
    uint64_t deadline = 0;
    Own own;
    Eth e;

    own_open(&own, &e, b->more, ERNIC_ETH_RX);
    path = qernic_log(e.q.qts, "ernic_pci_frames_wait");
    if (b->verbs) {
        qernic_enable(&e.q);
    }
    send_burst(e.fd, b->kind);
    while (qernic_stat(&e.q, b->counter) < FRAMES) {
        qernic_wait(&e.q, &deadline);
    }
    own_close(&own, &e);
    g_assert_cmpuint(qernic_logged(path, "ernic_pci_frames_wait"), >=, 1);
}

#define PORT        QPCI_DEVFN(3, 0)
#define FUNCTION    (1 << 8)            /* device 0 of the bus behind the port */

/* The reset returns the function to D0, without a write to its configuration space. */
static void reset_in_d3hot(QPCIBus *bus)
{
    QPCIDevice *port = qpci_device_find(bus, PORT), *dev;
    uint8_t pm;

    qpci_config_writel(port, PCI_PRIMARY_BUS, 0x00010100);
    dev = qpci_device_find(bus, FUNCTION);
    g_assert_nonnull(dev);
    pm = qpci_find_capability(dev, PCI_CAP_ID_PM, 0) + PCI_PM_CTRL;
    qpci_config_writew(dev, pm, 3);
    g_assert_cmphex(qpci_config_readw(dev, pm) & 3, ==, 3);
    qpci_config_writew(port, PCI_BRIDGE_CONTROL, PCI_BRIDGE_CTL_BUS_RESET);
    qpci_config_writew(port, PCI_BRIDGE_CONTROL, 0);
    g_assert_cmphex(qpci_config_readw(dev, pm) & 3, ==, 0);
    g_free(dev);
    g_free(port);
}

static int unread_bytes(int fd)
{
    int bytes;

    g_assert_cmpint(ioctl(fd, SIOCOUTQ, &bytes), ==, 0);
    return bytes;
}

/*
 * The device learns that it is in D0 at the next write to its configuration space, and
 * works only then. Until then, frames neither hold up their backend nor does the main
 * loop deliver them again and again. The backend reads the second burst after it has
 * delivered the first one.
 */
static void test_bus_reset(void)
{
    g_autofree char *path = NULL;
    uint64_t deadline = 0;
    QGuestAllocator alloc;
    QErnic q = { };
    QPCIBus *bus;
    int fds[2];

    g_assert_cmpint(socketpair(PF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    q.qts = qtest_initf("-M q35 -nodefaults -netdev socket,fd=%d,id=n0"
                        " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
                        " -device ernic,id=ernic0,bus=port0,netdev=n0", fds[1]);
    pc_alloc_init(&alloc, q.qts, 0);
    bus = qpci_new_pc(q.qts, &alloc);
    path = qernic_log(q.qts, "ernic_pci_frames_wait");
    reset_in_d3hot(bus);
    send_burst(fds[0], GOOD);
    send_burst(fds[0], GOOD);
    while (unread_bytes(fds[0])) {
        qernic_wait(&q, &deadline);
    }
    qpci_free_pc(bus);
    alloc_destroy(&alloc);
    qtest_quit(q.qts);
    close(fds[0]);
    close(fds[1]);
    /* QEMU asks once for each frame that it queues. */
    g_assert_cmpuint(qernic_logged(path, "ernic_pci_frames_wait"), <=, 2 * FRAMES);
}

#define HALF        64
#define VIRTIO_HEAD sizeof(struct virtio_net_hdr_mrg_rxbuf)

/* virtio-net sends @len bytes at @addr: its header and a frame, in one descriptor. */
static void virtio_send(CardMachine *m, uint64_t addr, uint32_t len)
{
    QPCIAddress at = { .devfn = QPCI_DEVFN(5, 0) };
    QVirtioPCIDevice *dev = virtio_pci_new(m->bus, &at);
    QVirtQueue *tx;
    uint32_t head;

    g_assert_nonnull(dev);
    qvirtio_pci_device_enable(dev);
    qvirtio_start_device(&dev->vdev);
    qvirtio_set_features(&dev->vdev, 1ull << VIRTIO_F_VERSION_1);
    tx = qvirtqueue_setup(&dev->vdev, &m->alloc, 1);
    qvirtio_set_driver_ok(&dev->vdev);
    head = qvirtqueue_add(m->qts, tx, addr, len, false, false);
    qvirtqueue_kick(m->qts, &dev->vdev, tx, head);
    qvirtio_wait_used_elem(m->qts, &dev->vdev, tx, head, NULL, 10 * G_TIME_SPAN_SECOND);
    qvirtqueue_cleanup(dev->vdev.bus, tx, &m->alloc);
    qvirtio_pci_device_disable(dev);
    g_free(dev->pdev);
    g_free(dev);
}

/*
 * A hub hands over the memory of the guest that sends, which can change while the device
 * receives. Here the device changes it itself: its first buffer is the second half of the
 * frame. It delivers the second half as it was when the frame came.
 */
static void test_copied(void)
{
    static const uint8_t head[VIRTIO_HEAD];
    uint8_t frame[2 * HALF], got[HALF];
    int fds[2] = { -1, -1 };
    uint64_t deadline = 0, at;
    QErnic any = { };
    CardMachine m;
    Eth e;

    card_machine_open(&m, "-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
                      " -device virtio-net-pci,addr=05.0,netdev=h0"
                      " -device ernic,id=eth0,addr=06.0,netdev=h1,"
                      "mac=52:54:00:00:00:42");
    any.dev.bus = m.bus;
    qeth_start(&e, &any, fds, &m.alloc, ERNIC_ETH_RX);
    qeth_fill(frame, sizeof(frame), own_mac);
    at = guest_alloc(&m.alloc, VIRTIO_HEAD + sizeof(frame));
    qtest_memwrite(m.qts, at, head, VIRTIO_HEAD);
    qtest_memwrite(m.qts, at + VIRTIO_HEAD, frame, sizeof(frame));
    qeth_post_rx_at(&e, at + VIRTIO_HEAD + HALF, HALF);
    qeth_post_rx_at(&e, e.buf, HALF);
    virtio_send(&m, at, VIRTIO_HEAD + sizeof(frame));
    while (qtest_readl(m.qts, e.state + 4) != 2) {
        qernic_wait(&e.q, &deadline);
    }
    qtest_memread(m.qts, at + VIRTIO_HEAD + HALF, got, HALF);
    g_assert_cmpmem(got, HALF, frame, HALF);
    qtest_memread(m.qts, e.buf, got, HALF);
    g_assert_cmpmem(got, HALF, frame + HALF, HALF);
    qernic_fini(&e.q);
    card_machine_close(&m);
}

static void register_tests(void)
{
    static const Burst ethernet = {
        "eth.rx_no_buffer", GOOD, .more = ",engine-thread=off",
    };
    static const Burst thread = { "eth.rx_no_buffer", GOOD, .more = ",engine-thread=on" };
    static const Burst malformed = {
        "drops.bad_length", SHORT_UDP, .verbs = true, .more = ",engine-thread=off",
    };

    qtest_add_func("/ernic-frames/whose", test_whose);
    qtest_add_func("/ernic-frames/pieces", test_pieces);
    qtest_add_data_func("/ernic-frames/burst/ethernet", &ethernet, test_burst);
    qtest_add_data_func("/ernic-frames/burst/ethernet-thread", &thread, test_burst);
    qtest_add_data_func("/ernic-frames/burst/malformed", &malformed, test_burst);
    qtest_add_func("/ernic-frames/bus-reset", test_bus_reset);
    qtest_add_func("/ernic-frames/copied", test_copied);
}

libqos_init(register_tests);
