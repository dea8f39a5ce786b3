/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet ports. The shell chooses the queue of a frame by a hash and the table of
 * the function; the MAC and the adapter count frames. They count those of streams alone:
 * RoCEv2 packets do not come here.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "bars/qdma/port.h"
#include "net/eth.h"
#include "net/transmit.h"
#include "hw/rdma-ernic/trace.h"

/* Queues of a function: the first, their number. */
#define QUEUES_FIRST(v) extract32(v, 16, 16)
#define QUEUES_NUM(v)   extract32(v, 0, 16)
#define TABLE_QUEUE(v)  extract32(v, 0, 16)
#define TABLE_SIZE      128
/* OpenNIC with an ERNIC: the queues of a port begin at a multiple of this. */
#define PORT_QUEUES     64
/* The QDMA takes 11 bits of the sum. */
#define FRAME_QUEUE(v)  extract32(v, 0, 11)
#define ENABLE          BIT(0)
#define LOOP            BIT(0)

/* ---- the queue of a frame -------------------------------------------------------- */

/* The fields of a frame that its hash has. */
typedef struct Tuple {
    uint8_t vlan;               /* four bits */
    uint8_t proto;
    uint32_t from, to;          /* IPv4 */
    uint16_t ports[2];
} Tuple;

/*
 * As the hardware reads them: bits 11:8 of the VLAN ID; the four bytes after the header
 * of any IPv4 packet as ports; fields in the order of the wire, the first byte lowest.
 */
static Tuple tuple_of(const uint8_t *frame, uint32_t len)
{
    Tuple t = { };
    uint32_t at = ETH_HLEN, header;

    if (len >= at + 4 && lduw_be_p(frame + at - 2) == ETH_P_VLAN) {
        t.vlan = frame[at] & 0xf;
        at += 4;
    }
    if (len < at + 20 || lduw_be_p(frame + at - 2) != ETH_P_IP) {
        return t;
    }
    t.proto = frame[at + 9];
    t.from = ldl_le_p(frame + at + 12);
    t.to = ldl_le_p(frame + at + 16);
    header = (frame[at] & 0xf) * 4;
    if (header >= 20 && len >= at + header + 4) {
        t.ports[0] = lduw_le_p(frame + at + header);
        t.ports[1] = lduw_le_p(frame + at + header + 2);
    }
    return t;
}

/* The 32 bits of the key that begin at @bit; bit 0 is the lowest of the first word. */
static uint32_t key_at(const uint32_t *key, uint32_t bit)
{
    uint64_t two = key[bit / 32] | (uint64_t)key[bit / 32 + 1] << 32;

    return two >> bit % 32;
}

static uint32_t add(const uint32_t *key, uint32_t value, uint32_t bits, uint32_t *at)
{
    uint32_t hash = 0, i;

    for (i = 0; i < bits; i++) {
        hash ^= value >> i & 1 ? key_at(key, *at + i) : 0;
    }
    *at += bits;
    return hash;
}

/* Toeplitz, with the bits of key and fields counted from the lowest one. */
static uint32_t hash_of(const uint32_t *key, const Tuple *t)
{
    uint32_t at = 0, hash = add(key, t->vlan, 4, &at);

    hash ^= add(key, t->proto, 8, &at);
    hash ^= add(key, t->from, 32, &at);
    hash ^= add(key, t->to, 32, &at);
    hash ^= add(key, t->ports[0], 16, &at);
    return hash ^ add(key, t->ports[1], 16, &at);
}

bool qdma_port_divided(const ErnicPci *d)
{
    return d->shell.kind == ERNIC_SHELL_OPENNIC && d->pg332.version;
}

/* The function of @port, whose words of the shell the port uses. */
static uint32_t function_of(const ErnicPci *d, uint32_t port)
{
    return qdma_port_divided(d) ? 0 : port;
}

ErnicPci *qdma_port_device(ErnicPci *d, uint32_t port)
{
    return port ? d->shell.second : d;
}

uint32_t qdma_port_of(const ErnicPci *d, const QdmaRing *r)
{
    return qdma_port_divided(d) ? r->number >= PORT_QUEUES :
           d->shell.second && qdma_ring_function(r) == 1;
}

/* OpenNIC's own driver calls each port 0. */
bool qdma_port_is(const ErnicPci *d, uint32_t port, uint32_t id)
{
    return !id || (qdma_port_divided(d) && id == port);
}

uint32_t qdma_port_queue(const ErnicPci *d, uint32_t port, const uint8_t *frame,
                         uint32_t len)
{
    uint32_t f = function_of(d, port), hash, queue;
    const uint32_t *regs = d->shell.regs;
    Tuple t = tuple_of(frame, len);

    hash = hash_of(regs + ERNIC_SHELL_HASH_KEY + f * ERNIC_SHELL_KEY_WORDS, &t);
    queue = TABLE_QUEUE(regs[ERNIC_SHELL_TABLE + f * TABLE_SIZE + hash % TABLE_SIZE]);
    if (qdma_port_divided(d)) {
        return port * PORT_QUEUES + queue % PORT_QUEUES;
    }
    return FRAME_QUEUE(QUEUES_FIRST(regs[ERNIC_SHELL_QUEUES + f]) + queue);
}

bool qdma_port_sends(const ErnicPci *d, uint32_t port, uint32_t number)
{
    uint32_t queues = d->shell.regs[ERNIC_SHELL_QUEUES + function_of(d, port)];

    return number >= QUEUES_FIRST(queues) &&
           number - QUEUES_FIRST(queues) < QUEUES_NUM(queues);
}

bool qdma_port_enabled(const ErnicPci *d, uint32_t port, uint8_t dir)
{
    return d->shell.regs[(dir == ERNIC_QDMA_H2C ? ERNIC_SHELL_MAC_TX :
                                                  ERNIC_SHELL_MAC_RX) + port] & ENABLE;
}

bool qdma_port_loops(const ErnicPci *d, uint32_t port)
{
    return d->shell.regs[ERNIC_SHELL_MAC_LOOP + port] & LOOP;
}

bool qdma_port_waits(ErnicPci *d, uint32_t port)
{
    ErnicPci *device = qdma_port_device(d, port);

    return device && ernic_pci_eth_waits(device) && !qdma_port_loops(d, port);
}

/* ---- counters ---------------------------------------------------------------------- */

void qdma_port_lost(ErnicPci *d, uint32_t port, uint8_t dir, uint32_t number,
                    uint32_t len, const char *why)
{
    ErnicQdmaPortStats *s = &d->shell.qdma->port[port].stats;

    s->dropped[dir]++;
    s->dropped_bytes[dir] += len;
    trace_ernic_qdma_lost(ernic_pci_id(d), number, dir, len, why);
}

/* Sent, lost, received, lost: frames and bytes; erroneous ones do not exist. */
uint32_t qdma_port_adapter(const ErnicQdmaPort *p, uint32_t word)
{
    const ErnicQdmaPortStats *s = &p->stats;
    const uint64_t counters[] = {
        s->packets[ERNIC_QDMA_H2C], s->packet_bytes[ERNIC_QDMA_H2C],
        s->dropped[ERNIC_QDMA_H2C], s->dropped_bytes[ERNIC_QDMA_H2C],
        s->packets[ERNIC_QDMA_C2H], s->packet_bytes[ERNIC_QDMA_C2H],
        s->dropped[ERNIC_QDMA_C2H], s->dropped_bytes[ERNIC_QDMA_C2H],
    };

    return word / 2 < ARRAY_SIZE(counters) ? counters[word / 2] >> word % 2 * 32 : 0;
}
