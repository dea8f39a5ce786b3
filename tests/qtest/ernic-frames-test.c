/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames that arrive: the choice of the interface that receives them, and the work that
 * each may cause. The machines are of their own, because libqos's graph is full.
 */
#include "qemu/osdep.h"
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_net.h"
#include "ernic-card.h"
#include "ernic-eth.h"

/* Frames that the interfaces have received: Ethernet, PG332, verbs. */
typedef struct Taken {
    uint64_t num[3];
} Taken;

static const char interfaces[] = "EPV";

static Taken taken(Eth *e)
{
    g_autoptr(QDict) all = qernic_stats(e->q);

    return (Taken) { {
        qernic_stat_of(all, "eth.rx_packets"), qernic_stat_of(all, "pg332.rx_packets"),
        qernic_stat_of(all, "rx_packets") + qernic_stat_of(all, "drops.bad_length") +
        qernic_stat_of(all, "drops.too_short"),
    } };
}

/* A frame of each kind arrives; only its interface in @whose receives and counts it. */
static void arrive(Eth *e, const char whose[5])
{
    uint8_t frame[ETH_ROCE];
    Taken was, is;

    for (int kind = ETH_GOOD; kind <= ETH_OTHER_PORT; kind++) {
        g_test_message("kind %d: %c", kind, whose[kind]);
        was = taken(e);
        qeth_roce(frame, kind);
        qeth_post_rx(e, BUFFER);
        qernic_to_wire(e->fd, frame, sizeof(frame));
        qernic_wait_while(e->q->qts, (is = taken(e), memcmp(&is, &was, sizeof(is)) == 0));
        for (int i = 0; i < 3; i++) {
            g_assert_cmpuint(is.num[i] - was.num[i], ==, interfaces[i] == whose[kind]);
        }
    }
}

static void registers_say(Eth *e, bool enable)
{
    QPCIBar bar = qpci_iomap(&e->q->dev, ERNIC_BAR_PG332, NULL);

    qpci_io_writel(&e->q->dev, bar, PG332_V3_GLOBAL + PG332_IPv4XADD, 0x0a000001);
    qpci_io_writel(&e->q->dev, bar, PG332_V3_GLOBAL + PG332_XRNICCONF,
                   22222u << 16 | 0x0820 | enable);
}

/*
 * A frame that no engine is enabled for goes to the Ethernet interface, malformed or
 * not.
 */
MACHINE_TEST("/ernic-frames/whose", test_whose)
{
    Eth e;

    qeth_open(&e, ",ernic-version=3.1", ERNIC_ETH_RX);
    arrive(&e, "EEEEE");
    registers_say(&e, false);                   /* an address, but not enabled */
    arrive(&e, "EEEEE");
    registers_say(&e, true);
    arrive(&e, "PPPEE");
    qernic_enable(e.q);                         /* the verbs interface has no address */
    arrive(&e, "PPPEE");
    registers_say(&e, false);
    arrive(&e, "EVVEE");
}

#define LONG_SHIFT  9
#define LONG        (1u << LONG_SHIFT)

/* Longer rings than the other tests have, in buffers of their own. */
static void start_long(Eth *e, uint32_t ctrl)
{
    qeth_set(e, OFF(ctrl), 0);
    e->tx = guest_alloc(&e->m->alloc, LONG * 16);
    e->rx = guest_alloc(&e->m->alloc, LONG * 16);
    qernic_write64(e->q, OFF(tx_addr), e->tx);
    qernic_write64(e->q, OFF(rx_addr), e->rx);
    qeth_set(e, OFF(tx_shift), LONG_SHIFT);
    qeth_set(e, OFF(rx_shift), LONG_SHIFT);
    qeth_set(e, OFF(ctrl), ctrl);
    g_assert_cmphex(qeth_get(e, OFF(ctrl)), ==, ctrl);
    e->tx_pi = e->rx_pi = e->rx_ci = 0;
}

/* @n descriptors with a byte each: one frame. */
static void send_bytes(Eth *e, const uint8_t *frame, uint32_t n)
{
    qtest_memwrite(e->q->qts, e->buf, frame, n);
    for (uint32_t i = 0; i < n; i++) {
        struct ernic_eth_txd desc = {
            .addr = cpu_to_le64(e->buf + i), .len = cpu_to_le16(1),
            .flags = i + 1 == n ? ERNIC_ETH_EOP : 0,
        };

        qtest_memwrite(e->q->qts, e->tx + (e->tx_pi++ % LONG) * sizeof(desc), &desc,
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

        qtest_memwrite(e->q->qts, e->rx + (e->rx_pi++ % LONG) * sizeof(desc), &desc,
                       sizeof(desc));
    }
    qeth_set(e, OFF(rx_pi), e->rx_pi);
}

/* A frame has at most ERNIC_ETH_FRAME_DESC descriptors, also if they have no bytes. */
ETH_TEST("/ernic-frames/pieces", test_pieces, ERNIC_ETH_TX)
{
    uint8_t frame[FRAME], got[BUFFER];

    start_long(e, ERNIC_ETH_TX | ERNIC_ETH_RX);
    qeth_fill(frame, FRAME, own_mac);
    send_bytes(e, frame, ERNIC_ETH_FRAME_DESC);
    g_assert_cmpuint(qernic_from_wire(e->fd, got, sizeof(got)), ==, ERNIC_ETH_FRAME_DESC);
    g_assert_cmpmem(got, ERNIC_ETH_FRAME_DESC, frame, ERNIC_ETH_FRAME_DESC);
    send_bytes(e, frame, ERNIC_ETH_FRAME_DESC + 1);
    qeth_is(e, OFF(tx_errors), 1);
    qeth_is(e, OFF(tx_packets), 1);

    post_small(e, ERNIC_ETH_FRAME_DESC, 1);
    qernic_to_wire(e->fd, frame, ERNIC_ETH_FRAME_DESC);
    qernic_wait_while(e->q->qts,
                      qtest_readl(e->q->qts, e->state + 4) != ERNIC_ETH_FRAME_DESC);
    post_small(e, LONG, 0);
    qernic_to_wire(e->fd, frame, FRAME);
    qernic_wait_while(e->q->qts, qeth_get(e, OFF(rx_errors)) +
                      qeth_get(e, OFF(rx_no_buffer)) == 0);
    qeth_is(e, OFF(rx_errors), 1);
    qeth_is(e, OFF(rx_packets), 1);
}

#define FRAMES  900

/* FRAMES frames of @kind; the backend at the other end of @fd reads them in one piece. */
static void send_burst(int fd, int kind)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    uint32_t len = cpu_to_be32(ETH_ROCE), i;
    uint8_t frame[ETH_ROCE];

    qeth_roce(frame, kind);
    for (i = 0; i < FRAMES; i++) {
        g_byte_array_append(all, (const uint8_t *)&len, sizeof(len));
        g_byte_array_append(all, frame, sizeof(frame));
    }
    g_assert_cmpint(send(fd, all->data, all->len, 0), ==, all->len);
}

/* Frames that the backend delivers in one call are cut into slices, whatever they are. */
static void burst(const char *more, int kind, const char *counter)
{
    const char *path;
    Eth e;

    qeth_open(&e, more, ERNIC_ETH_RX);
    path = qernic_log(e.q->qts, "ernic_pci_frames_wait");
    if (kind != ETH_GOOD) {
        qernic_enable(e.q);                     /* the verbs interface takes it */
    }
    send_burst(e.fd, kind);
    qernic_wait_while(e.q->qts, qernic_stat(e.q, counter) < FRAMES);
    g_assert_cmpuint(qernic_logged(e.m, path, "ernic_pci_frames_wait"), >=, 1);
}

MACHINE_KINDS("/ernic-frames/burst/ethernet", test_burst,
              { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    burst(more, ETH_GOOD, "eth.rx_no_buffer");
}

MACHINE_TEST("/ernic-frames/burst/malformed", test_malformed)
{
    burst(",engine-thread=off", ETH_SHORT_UDP, "drops.bad_length");
}

/* A frame without a byte is lost like any other: QEMU takes its length for "not now". */
ETH_TEST("/ernic-frames/empty", test_empty, ERNIC_ETH_RX)
{
    uint8_t frame[FRAME], got[BUFFER], flags;

    qeth_fill(frame, FRAME, own_mac);
    qeth_post_rx(e, BUFFER);
    qernic_to_wire(e->fd, frame, 0);
    qernic_to_wire(e->fd, frame, FRAME);
    g_assert_cmpuint(qeth_receive(e, got, &flags), ==, FRAME);
    g_assert_cmpmem(got, FRAME, frame, FRAME);
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
MACHINE_TEST("/ernic-frames/bus-reset", test_bus_reset)
{
    const char *path;
    QErnicMachine *m;
    int fd;

    m = qernic_machine("-M q35 -netdev socket,fd=%d,id=n0"
                       " -device pcie-root-port,id=port0,addr=03.0,chassis=1"
                       VERBS_NIC ",id=ernic0,bus=port0,netdev=n0", qernic_cable(&fd));
    path = qernic_log(m->qts, "ernic_pci_frames_wait");
    reset_in_d3hot(m->bus);
    send_burst(fd, ETH_GOOD);
    send_burst(fd, ETH_GOOD);
    qernic_wait_while(m->qts, unread_bytes(fd));
    /* QEMU asks once for each frame that it queues. */
    g_assert_cmpuint(qernic_logged(m, path, "ernic_pci_frames_wait"), <=, 2 * FRAMES);
}

#define PERIOD      67108864            /* ns: the timeout of the queue pairs is 14 */
#define PACKETS     64                  /* of the bulk transfer */
#define MTU         1024

/* A device with queue pairs to a peer that reads nothing before drain(). */
typedef struct Slow {
    QErnic *q;
    QErnicQp bulk, small, datagram;
    int fd;
} Slow;

static void connect_slow(Slow *s)
{
    qernic_setup(s->q, 1);
    qernic_qp_create(s->q, &s->bulk, ERNIC_QPT_RC);
    qernic_qp_create(s->q, &s->small, ERNIC_QPT_RC);
    qernic_qp_create(s->q, &s->datagram, ERNIC_QPT_UD);
    qernic_qp_connect(&s->bulk, &qernic_nobody);
    qernic_qp_connect(&s->small, &qernic_nobody);
    qernic_qp_connect(&s->datagram, &qernic_nobody);
}

static void begin_slow(Slow *s, const char *more)
{
    QErnicMachine *m;
    int fd = qernic_cable(&s->fd), few = 1;     /* bytes: the least that Linux permits */

    g_assert_cmpint(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), ==, 0);
    m = qernic_machine("-netdev socket,fd=%d,id=n0"
                       VERBS_NIC ",id=ernic0,addr=04.0,netdev=n0%s", fd, more);
    s->q = qernic_at(m, "ernic0", 4);
    connect_slow(s);
}

static bool drain(Slow *s)
{
    char buf[BUFFER];

    while (recv(s->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0) {
    }
    return true;
}

/* Trains of all queue pairs; the device has built them on return. */
static void send_all(Slow *s)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_SEND,
        .ud = { .qkey = cpu_to_le32(QERNIC_QKEY), .dest_qpn = cpu_to_le32(5),
                .av = { .hop_limit = 64, .dmac = { 0x52, 0x54 } } },
    };
    uint64_t sent = qernic_stat(s->q, "tx_packets");

    qernic_send(&s->bulk, 0, PACKETS * MTU);
    qernic_send(&s->small, 0, 8);
    memcpy(wqe.ud.av.dgid, qernic_nobody.q->gid, 16);
    qernic_post_send(&s->datagram, &wqe, 0, 8);
    qernic_wait_while(s->q->qts, qernic_stat(s->q, "tx_packets") < sent + PACKETS + 2);
}

/* Time passes, and the engine knows it. */
static void pass(Slow *s, int64_t ns)
{
    for (int i = 0; i < 10; i++) {
        qtest_clock_step(s->q->qts, ns / 10);
        qernic_nop(s->q);
    }
}

/*
 * Nobody can answer frames that wait for their backend: no timer of a queue pair runs
 * before its own packet has left, and no datagram completes. A reset begins anew.
 */
WORLD_KINDS("/ernic-frames/departure", test_departure, Slow, s, begin_slow,
            { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" })
{
    send_all(s);
    pass(s, PERIOD + PERIOD / 2);
    g_assert_cmpuint(qernic_stat(s->q, "ack_timeouts"), ==, 0);
    g_assert_false(qernic_has_cqe(&s->datagram));
    qernic_wait_while(s->q->qts, drain(s) && !qernic_has_cqe(&s->datagram));
    qernic_done(&s->datagram);
    pass(s, PERIOD - PERIOD / 10);
    g_assert_cmpuint(qernic_stat(s->q, "ack_timeouts"), ==, 0);
    pass(s, PERIOD / 5);
    g_assert_cmpuint(qernic_stat(s->q, "ack_timeouts"), ==, 2);
    /* The frames of the retries wait. */
    qernic_set_reg(s->q, control, ERNIC_CONTROL_RESET);
    connect_slow(s);
    send_all(s);
    pass(s, PERIOD / 2);
    g_assert_false(qernic_has_cqe(&s->datagram));
    qernic_wait_while(s->q->qts, drain(s) && !qernic_has_cqe(&s->datagram));
    qernic_done(&s->datagram);
}

#define HALF        64
#define VIRTIO_HEAD sizeof(struct virtio_net_hdr_mrg_rxbuf)

/* virtio-net sends @len bytes at @addr: its header and a frame, in one descriptor. */
static void virtio_send(QErnicMachine *m, uint64_t addr, uint32_t len)
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
MACHINE_TEST("/ernic-frames/copied", test_copied)
{
    static const uint8_t head[VIRTIO_HEAD];
    uint8_t frame[2 * HALF], got[HALF];
    QErnicMachine *m = qernic_machine(
        "-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
        " -device virtio-net-pci,addr=05.0,netdev=h0"
        VERBS_NIC ",id=eth0,addr=06.0,netdev=h1,mac=52:54:00:00:00:42");
    uint64_t at;
    Eth e;

    qeth_start(&e, m, ERNIC_ETH_RX);
    qeth_fill(frame, sizeof(frame), own_mac);
    at = guest_alloc(&m->alloc, VIRTIO_HEAD + sizeof(frame));
    qtest_memwrite(m->qts, at, head, VIRTIO_HEAD);
    qtest_memwrite(m->qts, at + VIRTIO_HEAD, frame, sizeof(frame));
    qeth_post_rx_at(&e, at + VIRTIO_HEAD + HALF, HALF);
    qeth_post_rx_at(&e, e.buf, HALF);
    virtio_send(m, at, VIRTIO_HEAD + sizeof(frame));
    qernic_wait_while(e.q->qts, qtest_readl(m->qts, e.state + 4) != 2);
    qtest_memread(m->qts, at + VIRTIO_HEAD + HALF, got, HALF);
    g_assert_cmpmem(got, HALF, frame, HALF);
    qtest_memread(m->qts, e.buf, got, HALF);
    g_assert_cmpmem(got, HALF, frame + HALF, HALF);
}
