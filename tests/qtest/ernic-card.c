/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A driver for the ERNIC interface that works in the order of RecoNIC's library.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "ernic-card.h"

uint32_t card_at(const Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg)
{
    return ernic_reg_blocks[c->version][scope].base + element * PG332_SLOT + reg;
}

void card_put_at(Card *c, uint32_t off, uint32_t value)
{
    qpci_io_writel(&c->q->dev, c->bar, off, value);
}

uint32_t card_get_at(Card *c, uint32_t off)
{
    return qpci_io_readl(&c->q->dev, c->bar, off);
}

void card_put(Card *c, uint32_t reg, uint32_t value)
{
    card_put_at(c, card_at(c, ERNIC_REG_GLOBAL, 0, reg), value);
}

uint32_t card_get(Card *c, uint32_t reg)
{
    return card_get_at(c, card_at(c, ERNIC_REG_GLOBAL, 0, reg));
}

void card_put_qp(Card *c, uint32_t reg, uint32_t value)
{
    card_put_at(c, card_at(c, ERNIC_REG_QP, CARD_QPN - 1, reg), value);
}

uint32_t card_get_qp(Card *c, uint32_t reg)
{
    return card_get_at(c, card_at(c, ERNIC_REG_QP, CARD_QPN - 1, reg));
}

static void put_region(Card *c, uint32_t reg, uint32_t value)
{
    card_put_at(c, card_at(c, ERNIC_REG_REGION, CARD_REGION, reg), value);
}

void card_put_side(Card *c, uint32_t reg, uint32_t value)
{
    card_put_at(c, ernic_reg_window(c->version) + reg, value);
}

uint32_t card_get_side(Card *c, uint32_t reg)
{
    return card_get_at(c, ernic_reg_window(c->version) + reg);
}

static void open_card(Card *c)
{
    bool v3 = c->version == PG332_V3_1;

    c->errq = qernic_zeroed(c->q, 4096);
    card_put(c, PG332_DATBUFSZ, 0x10001000);
    card_put(c, PG332_IPKTERRQBA, c->errq);
    card_put(c, PG332_IPKTERRQBAMSB, c->errq >> 32);
    card_put(c, PG332_IPKTERRQSZ, 64);
    card_put(c, PG332_ERRBUFSZ, 0x01000100);
    card_put(c, PG332_RESPERRSZ, 0x10000);
    card_put(c, PG332_INTEN, 0xff);
    card_put(c, PG332_MACXADDLSB, 0x35010200 + c->host);
    card_put(c, PG332_MACXADDMSB, 0x000a);
    card_put(c, PG332_IPv4XADD, 0x0a000000 + c->host);
    card_put(c, PG332_XRNICCONF, v3 ? 22222u << 16 | 0x0821 : 22222u << 8 | 0x21);
    card_put(c, PG332_XRNICADCONF, 0x000a0004);
    if (!v3) {
        card_put(c, PG332_XRNIC_CONF_QP_EN, 8);
    }
}

static void open_region(Card *c)
{
    put_region(c, PG332_PDPDNUM, 0);
    put_region(c, PG332_VIRTADDRLSB, (uint32_t)CARD_VA);
    put_region(c, PG332_VIRTADDRMSB, CARD_VA >> 32);
    put_region(c, PG332_BUFBASEADDRLSB, c->mem);
    put_region(c, PG332_BUFBASEADDRMSB, c->mem >> 32);
    put_region(c, PG332_BUFRKEY, CARD_KEY);
    put_region(c, PG332_WRRDBUFLEN, CARD_MEM);
    put_region(c, PG332_ACCESSDESC, PG332_ACCESS_READ_WRITE);
}

static void put_pair(Card *c, uint32_t low, uint32_t high, uint64_t addr)
{
    card_put_qp(c, low, addr);
    card_put_qp(c, high, addr >> 32);
}

void card_open_qp(Card *c, uint8_t peer, uint32_t peer_qpn)
{
    card_put_qp(c, PG332_IPDESADDR1, 0x0a000000 + peer);
    card_put_qp(c, PG332_MACDESADDLSB, 0x35010200 + peer);
    card_put_qp(c, PG332_MACDESADDMSB, 0x000a);
    put_pair(c, PG332_SQBA, PG332_SQBAMSB, c->sq);
    put_pair(c, PG332_CQBA, PG332_CQBAMSB, c->cq);
    put_pair(c, PG332_RQBA, PG332_RQBAMSB, c->rq);
    put_pair(c, PG332_CQDBADD, PG332_CQDBADDMSB, c->db);
    put_pair(c, PG332_RQWPTRDBADD, PG332_RQWPTRDBADDMSB, c->db + 4);
    card_put_qp(c, PG332_DESTQPCONF, peer_qpn);
    card_put_qp(c, PG332_QDEPTH, CARD_DEPTH << 16 | CARD_DEPTH);
    card_put_qp(c, PG332_QPCONF, (CARD_QPCONF & 0xffff) | (CARD_SLOT / 256) << 16);
    card_put_qp(c, PG332_QPADVCONF, 0xffff4000);
    card_put_qp(c, PG332_PD, 0);
    card_put_qp(c, PG332_LSTRQREQ, 0x0a000abc);
    card_put_qp(c, PG332_SQPSN, 0xabd);
}

uint64_t card_addr(uint64_t off)
{
    return (uint64_t)ERNIC_CARD_TAG << ERNIC_CARD_TAG_SHIFT | off;
}

static bool on_card(uint64_t addr)
{
    return addr >> ERNIC_CARD_TAG_SHIFT == ERNIC_CARD_TAG;
}

void card_write(Card *c, uint64_t addr, const void *buf, size_t len)
{
    if (on_card(addr)) {
        qpci_memwrite(&c->q->dev, c->card, c->card_at + (uint32_t)addr, buf, len);
    } else {
        qtest_memwrite(c->q->qts, addr, buf, len);
    }
}

static void read_bytes(Card *c, uint64_t addr, void *buf, size_t len)
{
    if (on_card(addr)) {
        qpci_memread(&c->q->dev, c->card, c->card_at + (uint32_t)addr, buf, len);
    } else {
        qtest_memread(c->q->qts, addr, buf, len);
    }
}

uint32_t card_word(Card *c, uint64_t addr)
{
    uint32_t word;

    read_bytes(c, addr, &word, 4);
    return le32_to_cpu(word);
}

static uint64_t place(Card *c, uint64_t base, uint32_t off, size_t len)
{
    g_autofree uint8_t *zero = g_malloc0(len);

    if (!base) {
        return qernic_zeroed(c->q, len);
    }
    card_write(c, base + off, zero, len);
    return base + off;
}

void card_open(Card *c, QErnic *q, unsigned version, uint8_t host)
{
    *c = (Card) { .q = q, .version = version };
    c->bar = qpci_iomap(&q->dev, ERNIC_BAR_PG332, NULL);
    card_open_in(c, host, 0, 0);
}

void card_open_in(Card *c, uint8_t host, uint64_t queues, uint64_t data)
{
    c->host = host;
    c->posted = c->received = 0;
    c->sq = place(c, queues, 0, CARD_DEPTH * 64);
    c->cq = place(c, queues, 0x1000, 4096);
    c->db = place(c, queues, 0x2000, 4096);
    c->rq = place(c, queues, 0x10000, CARD_DEPTH * CARD_SLOT);
    c->mem = place(c, data, 0, CARD_MEM);
    open_card(c);
    open_region(c);
}

bool card_intx(const Card *c)
{
    return qpci_config_readw(&c->q->dev, PCI_STATUS) & PCI_STATUS_INTERRUPT;
}

void card_request(Card *c, uint8_t opcode, uint64_t at, uint32_t len, uint64_t raddr,
                  uint32_t rkey, uint32_t imm)
{
    uint8_t wqe[64] = { [16] = opcode };

    stw_le_p(wqe, c->posted);
    stq_le_p(wqe + 4, c->mem + at);
    stl_le_p(wqe + 12, len);
    stq_le_p(wqe + 20, raddr);
    stl_le_p(wqe + 28, rkey);
    stl_le_p(wqe + 48, imm);
    card_write(c, c->sq + c->posted++ % CARD_DEPTH * 64, wqe, 64);
}

void card_post(Card *c, uint8_t opcode, uint64_t at, uint32_t len,
               uint64_t raddr, uint32_t rkey)
{
    card_request(c, opcode, at, len, raddr, rkey, 0);
    card_put_qp(c, PG332_SQPI, c->posted);
}

void card_wait(Card *c, uint32_t reg, uint32_t value)
{
    qernic_wait_while(c->q->qts, card_get_qp(c, reg) != value);
}

void card_done(Card *c, uint8_t opcode)
{
    card_wait(c, PG332_CQHEAD, c->posted);
    g_assert_cmpuint(card_word(c, c->db), ==, c->posted);
    g_assert_cmphex(card_word(c, c->cq + (c->posted - 1) * 4), ==,
                    opcode << 16 | (c->posted - 1));
}

void card_fill(Card *c, uint64_t addr, size_t len, uint8_t seed)
{
    g_autofree uint8_t *bytes = g_malloc(len);

    for (size_t i = 0; i < len; i++) {
        bytes[i] = seed + i * 7 + (i >> 8);
    }
    card_write(c, addr, bytes, len);
}

void card_equal(Card *c, uint64_t a, uint64_t b, size_t len)
{
    g_autofree uint8_t *x = g_malloc(len), *y = g_malloc(len);

    read_bytes(c, a, x, len);
    read_bytes(c, b, y, len);
    g_assert_cmpmem(x, len, y, len);
}

void card_pattern(QTestState *qts, uint64_t addr, uint32_t len, uint8_t seed)
{
    card_fill(&(Card) { .q = &(QErnic) { .qts = qts } }, addr, len, seed);
}

void card_same(QTestState *qts, uint64_t a, uint64_t b, uint32_t len)
{
    card_equal(&(Card) { .q = &(QErnic) { .qts = qts } }, a, b, len);
}

/* @a executes CARD_SEND, CARD_WRITE and CARD_READ; software of @b stays passive. */
void card_transfers(Card *a, Card *b)
{
    card_fill(a, a->mem, CARD_LENGTH, a->host + a->posted);
    card_post(a, CARD_SEND, 0, 500, 0, 0);
    card_done(a, CARD_SEND);
    card_wait(b, PG332_STATRQPIDB, ++b->received);
    g_assert_cmpuint(card_word(b, b->db + 4), ==, b->received);
    card_equal(a, a->mem, b->rq + (b->received - 1) * CARD_SLOT, 500);
    card_put_qp(b, PG332_RQCI, b->received);

    card_post(a, CARD_WRITE, 0, CARD_LENGTH, CARD_VA + 0x10000, CARD_KEY);
    card_done(a, CARD_WRITE);
    card_equal(a, a->mem, b->mem + 0x10000, CARD_LENGTH);
    card_post(a, CARD_READ, 0x8000, CARD_LENGTH, CARD_VA + 0x10000, CARD_KEY);
    card_done(a, CARD_READ);
    card_equal(a, a->mem, a->mem + 0x8000, CARD_LENGTH);
}

void card_clear_qp(Card *c)
{
    static const uint8_t zero[] = {
        PG332_RQWPTRDBADD, PG332_SQPI, PG332_CQHEAD, PG332_RQCI, PG332_STATRQPIDB,
        PG332_STATCURSQPTR, PG332_SQPSN, PG332_LSTRQREQ, PG332_STATMSN,
    };
    uint32_t conf = card_get_qp(c, PG332_QPCONF), i;

    card_put(c, PG332_XRNICADCONF,
             card_get(c, PG332_XRNICADCONF) | PG332_ADCONF_OVERRIDE);
    card_put_qp(c, PG332_QPCONF, conf & ~PG332_QPCONF_ENABLE);
    for (i = 0; i < ARRAY_SIZE(zero); i++) {
        card_put_qp(c, zero[i], 0);
        g_assert_cmphex(card_get_qp(c, zero[i]), ==, 0);
    }
    card_put_qp(c, PG332_QPCONF, (conf & ~PG332_QPCONF_ENABLE) | PG332_QPCONF_RECOVERY);
    card_put(c, PG332_XRNICADCONF,
             card_get(c, PG332_XRNICADCONF) & ~PG332_ADCONF_OVERRIDE);
    c->posted = c->received = 0;
}

void card_close_qp(Card *c)
{
    g_assert_cmphex(card_get_qp(c, PG332_STATQP) & 0x6ff, ==, 0x600);
    g_assert_cmpuint(card_get_qp(c, PG332_CQHEAD), ==, card_get_qp(c, PG332_SQPI));
    card_clear_qp(c);
}

void card_locate(QErnic *q, uint8_t host, unsigned device)
{
    static const char *const ids[] = { "ernic0", "ernic1" };
    QDict *rsp = qernic_get(q->qts, ids[device], "roce-port");
    g_autofree char *text = g_strdup_printf("10.0.0.%u=127.0.0.1:%s", host,
                                            qdict_get_str(rsp, "return"));

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        qernic_set(q->qts, ids[i], "add-peer", text);
    }
    qobject_unref(rsp);
}

void card_introduce(QErnic *q)
{
    card_locate(q, 1, 0);
    card_locate(q, 2, 1);
}

unsigned card_version(const char *name)
{
    return g_str_has_prefix(name, "3.1") ? PG332_V3_1 :
           g_str_has_prefix(name, "4.0") ? PG332_V4_0 : PG332_V4_2;
}
