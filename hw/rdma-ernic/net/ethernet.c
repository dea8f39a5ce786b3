/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet interface: registers, the receive ring and filter.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "net/checksum.h"
#include "net/eth.h"
#include "engine/wire/inet.h"
#include "device/dma.h"
#include "device/interface.h"
#include "device/link.h"
#include "device/registers.h"
#include "device/traffic.h"
#include "net/eth_rings.h"
#include "net/ethernet.h"
#include "net/transmit.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "hw/rdma-ernic/trace.h"

/* Read a descriptor, write a buffer and the descriptor. */
#define RX_DESC_ACCESSES    3

static ErnicEth *eth_of(ErnicPci *d)
{
    return &d->net.eth;
}

void ernic_pci_eth_link_changed(ErnicPci *d)
{
    if (eth_of(d)->ctrl & ERNIC_ETH_RX) {
        ernic_pci_eth_raise(d);
    }
}

/* ---- receive -------------------------------------------------------------- */

static bool wanted(const ErnicEth *eth, const uint8_t *frame)
{
    uint8_t mac[6];

    if (eth->ctrl & ERNIC_ETH_PROMISC) {
        return true;
    }
    if (is_broadcast_ether_addr(frame)) {
        return true;
    }
    if (is_multicast_ether_addr(frame)) {
        return (eth->ctrl & ERNIC_ETH_ALLMULTI) ||
               (eth->mc_hash >> (net_crc32_le(frame, 6) & 63) & 1);
    }
    stl_le_p(mac, eth->mac_lo);
    stw_le_p(mac + 4, eth->mac_hi);
    return memcmp(mac, frame, 6) == 0;
}

/* True for TCP or UDP over IPv4 or IPv6 if all checksums are right. */
static bool checksum_right(const uint8_t *frame, uint32_t len)
{
    ErnicInet inet;

    ernic_inet_parse(&inet, frame, len);
    return ernic_inet_l3_ok(&inet, frame) && ernic_inet_l4_ok(&inet, frame);
}

/*
 * Writes the frame to as many buffers as it needs. rx_ci moves only when the whole
 * frame is in memory; false: the frame is lost and its buffers stay available.
 */
static bool scatter(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    ErnicEth *eth = eth_of(d);
    uint8_t flags = checksum_right(frame, len) ? ERNIC_ETH_CSUM_OK : 0;
    uint32_t ci = eth->rx_ci, pos = 0, n;
    struct ernic_eth_rxd desc;
    uint64_t at;

    while (pos < len) {
        at = ernic_pci_eth_slot(eth->rx_addr, ci, eth->rx_shift);
        ernic_pci_rx_work(d, RX_DESC_ACCESSES, 0);
        if (ci - eth->rx_ci == ERNIC_ETH_FRAME_DESC) {
            eth->rx_errors++;
            return false;
        }
        if (ci == eth->rx_pi) {
            eth->rx_no_buffer++;
            return false;
        }
        if (!ernic_pci_dma(d, at, &desc, sizeof(desc), false)) {
            eth->rx_errors++;
            return false;
        }
        n = MIN(len - pos, le16_to_cpu(desc.size));
        desc.len = cpu_to_le16(n);
        desc.flags = flags | (pos + n == len ? ERNIC_ETH_EOP : 0);
        if (!ernic_pci_dma(d, le64_to_cpu(desc.addr), (void *)(frame + pos), n,
                           true) ||
            !ernic_pci_dma(d, at, &desc, sizeof(desc), true)) {
            eth->rx_errors++;
            return false;
        }
        pos += n;
        ci++;
    }
    eth->rx_ci = ci;
    return true;
}

bool ernic_pci_eth_receives(const ErnicPci *d)
{
    return d->shell.kind || (qatomic_read(&d->net.eth.ctrl) & ERNIC_ETH_RX);
}

void ernic_pci_eth_receive(ErnicPci *d, const uint8_t *frame, size_t len)
{
    ErnicEth *eth = eth_of(d);
    uint8_t padded[ETH_ZLEN] = { };

    assert(bql_locked());
    if (len < ETH_HLEN) {
        return;
    }
    if (len < ETH_ZLEN) {
        memcpy(padded, frame, len);
        frame = padded;
        len = ETH_ZLEN;
    }
    if ((d->interface->frame && d->interface->frame(d, frame, len)) ||
        !(eth->ctrl & ERNIC_ETH_RX) || !wanted(eth, frame)) {
        return;
    }
    if (len > ERNIC_ETH_FRAME_MAX) {
        eth->rx_errors++;
        return;
    }
    if (scatter(d, frame, len)) {
        eth->rx_packets++;
        eth->rx_bytes += len;
        ernic_pci_eth_report(d);
    }
}

/* ---- registers ------------------------------------------------------------ */

static bool ring_ok(uint64_t addr, uint32_t shift)
{
    return shift <= ERNIC_ETH_SHIFT_MAX && addr && addr % 64 == 0 &&
           addr <= UINT64_MAX - ((uint64_t)ERNIC_ETH_DESC << shift);
}

/* Enabling a direction empties its ring. */
static void write_ctrl(ErnicPci *d, uint64_t value)
{
    ErnicEth *eth = eth_of(d);
    uint32_t on = value & ~eth->ctrl & (ERNIC_ETH_TX | ERNIC_ETH_RX);

    if (((on & ERNIC_ETH_TX) && !ring_ok(eth->tx_addr, eth->tx_shift)) ||
        ((on & ERNIC_ETH_RX) && !ring_ok(eth->rx_addr, eth->rx_shift)) ||
        (on && (!eth->state_addr || eth->state_addr % 64)) ||
        (value & ~ERNIC_ETH_CTRL)) {
        trace_ernic_guest_bad_eth(ernic_pci_id(d), value, eth->tx_addr,
                                  eth->rx_addr);
        ernic_pci_guest_error(d, "ctrl 0x%x is refused", (uint32_t)value);
        return;
    }
    if (on & ERNIC_ETH_TX) {
        eth->tx_pi = eth->tx_ci = eth->tx_sent = 0;
        eth->tx_armed = false;
    }
    if (on & ERNIC_ETH_RX) {
        eth->rx_pi = eth->rx_ci = 0;
        eth->rx_armed = false;
    }
    eth->ctrl = value;
}

static void write_index(ErnicPci *d, const char *name, uint32_t bit,
                        uint32_t *pi, uint32_t ci, uint32_t shift,
                        uint32_t value)
{
    if (!(eth_of(d)->ctrl & bit) || value - ci > 1u << shift) {
        ernic_guest_not_enabled(d, name, value);
        return;
    }
    *pi = value;
}

static void write_tx_pi(ErnicPci *d, uint64_t value)
{
    ErnicEth *eth = eth_of(d);

    write_index(d, "tx_pi", ERNIC_ETH_TX, &eth->tx_pi, eth->tx_ci,
                eth->tx_shift, value);
    if (eth->tx_pi == eth->tx_ci) {
        eth->tx_sent = 0;       /* the rest of a large packet is taken back */
    }
    ernic_pci_eth_kick(d);
}

static void write_rx_pi(ErnicPci *d, uint64_t value)
{
    ErnicEth *eth = eth_of(d);

    write_index(d, "rx_pi", ERNIC_ETH_RX, &eth->rx_pi, eth->rx_ci,
                eth->rx_shift, value);
}

static void write_tx_arm(ErnicPci *d, uint64_t value)
{
    eth_of(d)->tx_arm = value;
    eth_of(d)->tx_armed = true;
    ernic_pci_eth_interrupt(d);
}

static void write_rx_arm(ErnicPci *d, uint64_t value)
{
    eth_of(d)->rx_arm = value;
    eth_of(d)->rx_armed = true;
    ernic_pci_eth_interrupt(d);
}

static void write_mac_lo(ErnicPci *d, uint64_t value)
{
    eth_of(d)->mac_lo = value;
    ernic_pci_eth_show_mac(d);
}

static void write_mac_hi(ErnicPci *d, uint64_t value)
{
    eth_of(d)->mac_hi = (uint16_t)value;
    ernic_pci_eth_show_mac(d);
}

static uint64_t read_link(ErnicPci *d)
{
    return d->net.nic && d->card->is_up(d);
}

#define REG(name, ...) \
    [offsetof(struct ernic_eth_regs, name) / 4] = \
    { #name, sizeof_field(struct ernic_eth_regs, name), __VA_ARGS__ }
#define RO(name) REG(name, ERNIC_REG_FIELD(ErnicEth, name))
#define SETUP(name) REG(name, ERNIC_REG_FIELD(ErnicEth, name), .setup = true)
#define DOES(name) \
    REG(name, ERNIC_REG_FIELD(ErnicEth, name), .write = write_##name)

static const ErnicReg regs[sizeof(struct ernic_eth_regs) / 4] = {
    DOES(ctrl),
    REG(link, .read = read_link),
    REG(mtu, .constant = ERNIC_ETH_MTU),
    DOES(mac_lo), DOES(mac_hi),
    REG(mc_hash, ERNIC_REG_FIELD(ErnicEth, mc_hash), .any_time = true),
    SETUP(tx_addr), SETUP(rx_addr), SETUP(state_addr),
    SETUP(tx_shift), SETUP(rx_shift), SETUP(vector),
    DOES(tx_pi), DOES(rx_pi), DOES(tx_arm), DOES(rx_arm),
    RO(tx_ci), RO(rx_ci),
    RO(tx_packets), RO(tx_bytes), RO(tx_errors),
    RO(rx_packets), RO(rx_bytes), RO(rx_no_buffer), RO(rx_errors),
};

ErnicRegBlock ernic_pci_eth_block(ErnicPci *d)
{
    return (ErnicRegBlock) {
        .reg = regs, .num = ARRAY_SIZE(regs), .fields = eth_of(d),
        .locked = eth_of(d)->ctrl & (ERNIC_ETH_TX | ERNIC_ETH_RX),
    };
}

/* ---- life ----------------------------------------------------------------- */

/* Updates the address in the monitor's "info network". */
void ernic_pci_eth_show_mac(ErnicPci *d)
{
    uint8_t mac[6];

    stl_le_p(mac, eth_of(d)->mac_lo);
    stw_le_p(mac + 4, eth_of(d)->mac_hi);
    if (d->net.nic) {
        qemu_format_nic_info_str(qemu_get_queue(d->net.nic), mac);
    }
}

void ernic_pci_eth_reset(ErnicPci *d)
{
    const uint8_t *mac = d->net.conf.macaddr.a;

    *eth_of(d) = (ErnicEth) {
        .mac_lo = ldl_le_p(mac), .mac_hi = lduw_le_p(mac + 4),
    };
    ernic_pci_eth_show_mac(d);
}

void ernic_pci_eth_init(ErnicPci *d)
{
    ernic_pci_eth_tx_init(d);
    ernic_pci_eth_reset(d);
}

/* Checks migrated state. Nothing is pending in the destination's backend. */
bool ernic_pci_eth_valid(ErnicPci *d)
{
    ErnicEth *eth = eth_of(d);
    bool tx = eth->ctrl & ERNIC_ETH_TX, rx = eth->ctrl & ERNIC_ETH_RX;

    ernic_pci_eth_show_mac(d);
    eth->tx_wait = false;
    return !(eth->ctrl & ~ERNIC_ETH_CTRL) &&
           (!tx || (ring_ok(eth->tx_addr, eth->tx_shift) &&
                    eth->tx_pi - eth->tx_ci <= 1u << eth->tx_shift)) &&
           eth->tx_sent < ERNIC_ETH_LSO_MAX &&
           (!rx || (ring_ok(eth->rx_addr, eth->rx_shift) &&
                    eth->rx_pi - eth->rx_ci <= 1u << eth->rx_shift));
}
