/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sequences of register accesses, in the order of RecoNIC's library: device,
 * protection domain, region, queue pair, requests, and down again. All is polled;
 * no interrupt is needed.
 */
#include <endian.h>
#include <err.h>
#include <string.h>
#include <time.h>
#include "ernic-user.h"

#define UDP_PORT    22222
#define RKEY        8               /* entry 0 of the table, key byte 8 */
#define SECONDS     20              /* until something has to happen */
#define FATAL_DEPTH 64              /* entries of 8 bytes that report fatal errors */

/* Offsets in the area of the queues. */
enum {
    SQ = 0x0, CQ = 0x2000, DOORBELLS = 0x3000, ERRORS = 0x4000,
    FATAL_ERRORS = 0x14000, RESPONSES = 0x24000, RETRY = 0x34000, RQ = 0x100000,
};

/* Where the blocks are, and the slot of queue pair 1, by version. */
static const struct {
    uint32_t global, qp;
} blocks[PG332_VERSIONS] = {
    [PG332_V3_1] = { PG332_V3_GLOBAL, PG332_V3_QP },
    [PG332_V4_0] = { 0x100000, PG332_V4_0_QP },
    [PG332_V4_2] = { 0x100000, PG332_V4_2_QP },
};

static void put_at(volatile uint8_t *base, uint32_t off, uint32_t value)
{
    __sync_synchronize();           /* memory first */
    *(volatile uint32_t *)(base + off) = value;
}

static uint32_t get_at(volatile uint8_t *base, uint32_t off)
{
    uint32_t value = *(volatile uint32_t *)(base + off);

    __sync_synchronize();           /* then memory */
    return value;
}

static void put(struct interface *f, uint32_t reg, uint32_t value)
{
    put_at(f->card->regs, blocks[f->card->version].global + reg, value);
}

static uint32_t qp_reg(const struct interface *f, uint32_t reg)
{
    return blocks[f->card->version].qp + (QPN - 1) * PG332_SLOT + reg;
}

static uint32_t get(struct interface *f, uint32_t reg)
{
    return get_at(f->card->regs, blocks[f->card->version].global + reg);
}

static void put_qp(struct interface *f, uint32_t reg, uint32_t value)
{
    put_at(f->card->regs, qp_reg(f, reg), value);
}

static uint32_t get_qp(struct interface *f, uint32_t reg)
{
    return get_at(f->card->regs, qp_reg(f, reg));
}

static void put_wide(struct interface *f, uint32_t low, uint32_t high, uint64_t value)
{
    put(f, low, value);
    put(f, high, value >> 32);
}

static void put_qp_wide(struct interface *f, uint32_t low, uint32_t high,
                        uint64_t value)
{
    put_qp(f, low, value);
    put_qp(f, high, value >> 32);
}

static uint32_t mac_low(const uint8_t *mac)
{
    return (uint32_t)mac[2] << 24 | mac[3] << 16 | mac[4] << 8 | mac[5];
}

static uint32_t mac_high(const uint8_t *mac)
{
    return mac[0] << 8 | mac[1];
}

/* ---- set-up -------------------------------------------------------------------- */

/* RecoNIC's shell: the first TiB of the guest's memory, as it is. */
static void open_windows(struct interface *f)
{
    uint32_t i, at;

    for (i = 0; i < 8; i++) {
        at = 0x14000 + 0x2420 + 0x20 * i;
        put_at(f->card->user, at, 0);
        put_at(f->card->user, at + 4, 0x20 * i);
        put_at(f->card->user, at + 8, 0);
        put_at(f->card->user, at + 12, 0);
        put_at(f->card->user, at + 16, 0xc2000000);
        put_at(f->card->user, at + 20, 0);
    }
}

static void open_device(struct interface *f)
{
    bool v3 = f->card->version == PG332_V3_1;
    uint64_t at = f->queues.bus;

    put_wide(f, PG332_DATBUFBA, PG332_DATBUFBAMSB, at + RETRY);
    put(f, PG332_DATBUFSZ, 0x10000040);
    put_wide(f, PG332_IPKTERRQBA, PG332_IPKTERRQBAMSB, at + FATAL_ERRORS);
    put(f, PG332_IPKTERRQSZ, FATAL_DEPTH);
    put_wide(f, PG332_ERRBUFBA, PG332_ERRBUFBAMSB, at + ERRORS);
    put(f, PG332_ERRBUFSZ, 0x01000100);
    put_wide(f, PG332_RESPERRPKTBA, PG332_RESPERRPKTBAMSB, at + RESPONSES);
    put(f, PG332_RESPERRSZ, 0x10000);
    if (v3) {
        put(f, PG332_RESPERRSZMSB, 0);
    }
    /* Of the others a driver has the vector. */
    put(f, PG332_INTEN, f->card->kind == CARD_RECONIC ? 0xff : 0);
    put(f, PG332_MACXADDLSB, mac_low(f->own.mac));
    put(f, PG332_MACXADDMSB, mac_high(f->own.mac));
    put(f, PG332_IPv4XADD, f->own.ip);
    put(f, PG332_XRNICCONF, v3 ? (uint32_t)UDP_PORT << 16 | 0x0821
                               : UDP_PORT << 8 | 0x21);
    put(f, PG332_XRNICADCONF, 0x000a0004);
    if (!v3) {
        put(f, PG332_XRNIC_CONF_QP_EN, 8);
    }
}

static void open_region(struct interface *f)
{
    volatile uint8_t *entry = f->card->regs;

    put_at(entry, PG332_PDPDNUM, 0);
    put_at(entry, PG332_VIRTADDRLSB, f->own.va);
    put_at(entry, PG332_VIRTADDRMSB, f->own.va >> 32);
    put_at(entry, PG332_BUFBASEADDRLSB, f->region.bus);
    put_at(entry, PG332_BUFBASEADDRMSB, f->region.bus >> 32);
    put_at(entry, PG332_BUFRKEY, RKEY);
    put_at(entry, PG332_WRRDBUFLEN, AREA);
    put_at(entry, PG332_ACCESSDESC, PG332_ACCESS_READ_WRITE);
}

void interface_open(struct interface *f)
{
    if (f->card->kind == CARD_RECONIC) {
        open_windows(f);
    }
    open_device(f);
    open_region(f);
    f->own.rkey = RKEY;
}

/* Leaves it disabled and empty, with pointers at 0, for the next program. */
static void clear_qp(struct interface *f)
{
    static const uint8_t zero[] = {
        PG332_RQWPTRDBADD, PG332_SQPI, PG332_CQHEAD, PG332_RQCI,
        PG332_STATRQPIDB, PG332_STATCURSQPTR, PG332_SQPSN, PG332_LSTRQREQ,
        PG332_STATMSN,
    };
    uint32_t conf = get_qp(f, PG332_QPCONF) & ~PG332_QPCONF_ENABLE, i;

    put(f, PG332_XRNICADCONF, 0x000a0005);
    put_qp(f, PG332_QPCONF, conf);
    for (i = 0; i < sizeof(zero); i++) {
        put_qp(f, zero[i], 0);
    }
    put_qp(f, PG332_QPCONF, conf | PG332_QPCONF_RECOVERY);
    put(f, PG332_XRNICADCONF, 0x000a0004);
}

static uint32_t mtu_code(uint32_t mtu)
{
    uint32_t code = 0;

    while (code < 4 && (256u << code) < mtu) {
        code++;
    }
    return code;
}

void interface_connect(struct interface *f)
{
    uint32_t mtu = f->own.mtu < f->peer.mtu ? f->own.mtu : f->peer.mtu;
    uint64_t at = f->queues.bus;

    clear_qp(f);                    /* of a program that did not come to its end */
    put_qp(f, PG332_IPDESADDR1, f->peer.ip);
    put_qp(f, PG332_MACDESADDLSB, mac_low(f->peer.mac));
    put_qp(f, PG332_MACDESADDMSB, mac_high(f->peer.mac));
    put_qp_wide(f, PG332_SQBA, PG332_SQBAMSB, at + SQ);
    put_qp_wide(f, PG332_CQBA, PG332_CQBAMSB, at + CQ);
    put_qp_wide(f, PG332_RQBA, PG332_RQBAMSB, at + RQ);
    put_qp_wide(f, PG332_CQDBADD, PG332_CQDBADDMSB, at + DOORBELLS);
    put_qp_wide(f, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, at + DOORBELLS + 4);
    put_qp(f, PG332_DESTQPCONF, f->peer.qpn);
    put_qp(f, PG332_QDEPTH, AREA / 2 / SLOT << 16 | DEPTH);
    /* Retries without end (XRNICADCONF[2]), after 67 ms; RNR after 10 us. */
    put_qp(f, PG332_TIMEOUTCONF, 1 << 16 | 7 << 11 | 7 << 8 | 14);
    put_qp(f, PG332_QPCONF, SLOT / 256 << PG332_QPCONF_RQ_BUF_SHIFT |
           mtu_code(mtu) << PG332_QPCONF_PMTU_SHIFT | PG332_QPCONF_CQE |
           PG332_QPCONF_NO_HS | PG332_QPCONF_CQ_INT | PG332_QPCONF_RQ_INT |
           PG332_QPCONF_ENABLE);
    put_qp(f, PG332_QPADVCONF, 0xffff4000);
    put_qp(f, PG332_PD, 0);
    put_qp(f, PG332_LSTRQREQ, 0x0a000000 | ((f->peer.psn - 1) & 0xffffff));
    put_qp(f, PG332_SQPSN, f->own.psn);
}

/* ---- requests -------------------------------------------------------------------- */

/* The value of an index register after @count requests. */
static uint32_t pointer(uint32_t count, uint32_t depth)
{
    return count ? (count - 1) % depth + 1 : 0;
}

/* Dies with the reason, as the registers show it. */
static void check_fatal(struct interface *f, time_t since)
{
    uint32_t status = get_qp(f, PG332_STATQP), last;
    const uint8_t *why;

    if (status & PG332_STATQP_FATAL) {
        last = (get(f, PG332_IPKTERRQWPTR) - 1) % FATAL_DEPTH;
        why = f->queues.at + FATAL_ERRORS + last * 8;
        errx(1, "the queue pair is in error: STATQP %08x, code %02x%02x", status,
             why[1], why[0]);
    }
    if (time(NULL) - since > SECONDS) {
        errx(1, "nothing happens: STATQP %08x, SQPI %u, CQHEAD %u", status,
             get_qp(f, PG332_SQPI), get_qp(f, PG332_CQHEAD));
    }
}

/* CQHEAD or STATRQPIDB: the register, or the word that the card keeps in memory. */
static uint32_t index_of(struct interface *f, uint32_t reg)
{
    uint32_t off = DOORBELLS + (reg == PG332_CQHEAD ? 0 : 4);

    return f->poll_memory ? get_at(f->queues.at, off) : get_qp(f, reg);
}

/* Until that index is @value, or (@other) is not. */
static void wait_for(struct interface *f, uint32_t reg, uint32_t value, bool other)
{
    uint32_t polls = 0, rarely = f->poll_memory ? 1 << 16 : 1 << 8;
    time_t since = time(NULL);

    while ((index_of(f, reg) == value) == other) {
        if (++polls % rarely == 0) {
            check_fatal(f, since);
        }
    }
}

void interface_request(struct interface *f, unsigned n, enum pg332_opcode opcode,
                  uint64_t local, uint32_t len, uint64_t remote)
{
    uint8_t wqe[64] = { [16] = opcode };
    uint16_t id = htole16(f->posted + n);
    uint64_t laddr = htole64(f->data.bus + local), raddr = htole64(remote);
    uint32_t length = htole32(len), key = htole32(f->peer.rkey);

    memcpy(wqe, &id, 2);
    memcpy(wqe + 4, &laddr, 8);
    memcpy(wqe + 12, &length, 4);
    memcpy(wqe + 20, &raddr, 8);
    memcpy(wqe + 28, &key, 4);
    memcpy(f->queues.at + SQ + (f->posted + n) % DEPTH * 64, wqe, sizeof(wqe));
}

void interface_run(struct interface *f, unsigned n)
{
    uint32_t id = (f->posted + n - 1) & 0xffff, cqe;

    f->posted += n;
    put_qp(f, PG332_SQPI, pointer(f->posted, DEPTH));
    wait_for(f, PG332_CQHEAD, pointer(f->posted, DEPTH), false);
    check_fatal(f, time(NULL));
    memcpy(&cqe, f->queues.at + CQ + (f->posted - 1) % DEPTH * 4, 4);
    if ((le32toh(cqe) & 0xff00ffff) != id) {
        errx(1, "completion entry %08x, not that of request %u", le32toh(cqe), id);
    }
}

const uint8_t *interface_receive(struct interface *f)
{
    uint32_t depth = AREA / 2 / SLOT;

    wait_for(f, PG332_STATRQPIDB, pointer(f->received, depth), true);
    return f->queues.at + RQ + f->received++ % depth * SLOT;
}

/*
 * All but the last one: a peer that fills the whole ring would move the index back to
 * its old value, and a full ring looks like an empty one.
 */
void interface_give_back(struct interface *f)
{
    if (f->received > 1) {
        put_qp(f, PG332_RQCI, pointer(f->received - 1, AREA / 2 / SLOT));
    }
}

void interface_close(struct interface *f)
{
    clear_qp(f);
    put(f, PG332_XRNICCONF, 0);
}
