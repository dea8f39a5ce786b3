/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The sequences of PG332 itself, of RecoNIC's library (and its port to 4.0), and of
 * AMD's xib driver: registers, values and order, as facts. Addresses are placeholders
 * for those that the software allocated.
 */
#include "qemu/osdep.h"
#include "strict_card.h"

/* An address of a queue or buffer, in two registers. */
#define G_ADDR(low, high, v)    W_G(low, v), W_G(high, 0x12)
#define Q_ADDR(n, low, high, v) W_Q(n, low, v), W_Q(n, high, 0x12)

/* ---- PG332: recovery of a queue pair that is set up ---------------------------- */

#define DOC_CONF 0x0002043d

#define DOC_BUFFERS \
    G_ADDR(ERRBUFBA, ERRBUFBAMSB, 0x10000), W_G(ERRBUFSZ, 0x01000040), \
    G_ADDR(IPKTERRQBA, IPKTERRQBAMSB, 0x20000), W_G(IPKTERRQSZ, 64), \
    G_ADDR(RESPERRPKTBA, RESPERRPKTBAMSB, 0x30000), W_G(RESPERRSZ, 0x01000040), \
    G_ADDR(DATBUFBA, DATBUFBAMSB, 0x40000), W_G(DATBUFSZ, 0x10000400), \
    W_G(INTEN, 0xfb), W_G(MACXADDLSB, 0x35010203), W_G(MACXADDMSB, 0x000a), \
    W_G(IPv4XADD, 0x0a000001), W_G(XRNICADCONF, 0x000a0000)

#define DOC_QUEUES(n) \
    Q_ADDR(n, RQBA, RQBAMSB, 0x100000), Q_ADDR(n, SQBA, SQBAMSB, 0x200000), \
    W_Q(n, QDEPTH, 0x00400040), Q_ADDR(n, CQBA, CQBAMSB, 0x300000), \
    Q_ADDR(n, CQDBADD, CQDBADDMSB, 0x400000), \
    Q_ADDR(n, RQWPTRDBADD, RQWPTRDBADDMSB, 0x500000)

#define DOC_PEER(n) \
    W_Q(n, MACDESADDLSB, 0x35010204), W_Q(n, MACDESADDMSB, 0x000a), \
    W_Q(n, DESTQPCONF, 2), W_Q(n, IPDESADDR1, 0x0a000002), \
    W_Q(n, SQPSN, 0x100), W_Q(n, LSTRQREQ, 0x020000ff), \
    W_Q(n, TIMEOUTCONF, 0x00103f0d), W_Q(n, PD, 1), \
    W_Q(n, QPADVCONF, 0xffff4000), W_Q(n, STATQP, 0x77000600)

#define DOC_SET_UP \
    W_R(PDPDNUM, 1), W_R(VIRTADDRLSB, 0), W_R(VIRTADDRMSB, 0x7f00), \
    W_R(BUFBASEADDRLSB, 0x600000), W_R(BUFBASEADDRMSB, 0x12), \
    W_R(BUFRKEY, 0x5c), W_R(WRRDBUFLEN, 0x10000), W_R(ACCESSDESC, 2), \
    DOC_QUEUES(1), W_Q(1, QPCONF, DOC_CONF), \
    DOC_QUEUES(2), DOC_PEER(2), W_Q(2, QPCONF, DOC_CONF)

#define DOC_RECOVERY \
    W_Q(2, QPCONF, DOC_CONF | 0x40), W_Q(2, QPCONF, (DOC_CONF | 0x40) & ~1), \
    W_G(XRNICADCONF, 0x000a0001), W_Q(2, STATRQPIDB, 0), W_Q(2, STATRQBUFCA, 0), \
    W_Q(2, STATRQBUFCAMSB, 0), W_Q(2, RQCI, 0), W_Q(2, STATCURSQPTR, 0), \
    W_Q(2, SQPI, 0), W_Q(2, SQPSN, 0), W_Q(2, LSTRQREQ, 0), W_Q(2, STATMSN, 0), \
    W_Q(2, CQHEAD, 0), DOC_PEER(2), W_Q(2, QPCONF, DOC_CONF), \
    W_G(XRNICADCONF, 0x000a0000)

static const Pg332Write document_3_1[] = {
    DOC_BUFFERS, W_G(XRNICCONF, 0x12b70821), DOC_SET_UP, DOC_RECOVERY,
    W_Q(2, SQPI, 1),
};

static const Pg332Write document_4_2[] = {
    DOC_BUFFERS, W_G(XRNIC_CONF_QP_EN, 8), W_G(XRNICCONF, 0x0012b721),
    DOC_SET_UP, DOC_RECOVERY, W_Q(2, SQPI, 1),
};

/* ---- RecoNIC: one client, from open to destroy ----------------------------------- */

#define RN_BUFFERS \
    G_ADDR(DATBUFBA, DATBUFBAMSB, 0x40000), W_G(DATBUFSZ, 0x10001000), \
    G_ADDR(IPKTERRQBA, IPKTERRQBAMSB, 0x20000), W_G(IPKTERRQSZ, 8192), \
    G_ADDR(ERRBUFBA, ERRBUFBAMSB, 0x10000), W_G(ERRBUFSZ, 0x01000100), \
    G_ADDR(RESPERRPKTBA, RESPERRPKTBAMSB, 0x30000), W_G(RESPERRSZ, 0x10000)

#define RN_ADDRESSES \
    W_G(INTEN, 0xff), W_G(MACXADDLSB, 0x35010203), W_G(MACXADDMSB, 0x000a), \
    W_G(IPv4XADD, 0x0a000001)

#define RN_QP \
    W_R(PDPDNUM, 0), W_Q(2, IPDESADDR1, 0x0a000002), \
    W_Q(2, MACDESADDLSB, 0x35010204), W_Q(2, MACDESADDMSB, 0x000a), \
    Q_ADDR(2, SQBA, SQBAMSB, 0x200000), Q_ADDR(2, CQBA, CQBAMSB, 0x300000), \
    Q_ADDR(2, RQBA, RQBAMSB, 0x100000), Q_ADDR(2, CQDBADD, CQDBADDMSB, 0x400000), \
    Q_ADDR(2, RQWPTRDBADD, RQWPTRDBADDMSB, 0x300080), W_Q(2, DESTQPCONF, 2), \
    W_Q(2, QDEPTH, 0x00400040), W_Q(2, QPCONF, 0x0200043d), \
    W_Q(2, QPADVCONF, 0x12344000), W_Q(2, PD, 0), W_Q(2, LSTRQREQ, 0x0a000abc), \
    W_Q(2, SQPSN, 0xabd), W_R(VIRTADDRLSB, 0), W_R(VIRTADDRMSB, 0x7f00), \
    W_R(BUFBASEADDRLSB, 0x600000), W_R(BUFBASEADDRMSB, 0x12), W_R(BUFRKEY, 8), \
    W_R(WRRDBUFLEN, 0x10000), W_R(ACCESSDESC, 2)

#define RN_DESTROY(adconf) \
    W_G(XRNICADCONF, (adconf) | 1), W_Q(2, QPCONF, 0x0200043c), \
    W_Q(2, RQWPTRDBADD, 0), W_Q(2, SQPI, 0), W_Q(2, CQHEAD, 0), W_Q(2, RQCI, 0), \
    W_Q(2, STATRQPIDB, 0), W_Q(2, STATCURSQPTR, 0), W_Q(2, SQPSN, 0), \
    W_Q(2, LSTRQREQ, 0), W_Q(2, STATMSN, 0), W_Q(2, QPCONF, 0x0200047c), \
    W_G(XRNICADCONF, adconf), W_G(XRNICCONF, 0)

static const Pg332Write reconic[] = {
    RN_BUFFERS, W_G(RESPERRSZMSB, 0), RN_ADDRESSES,
    W_G(XRNICCONF, 22222u << 16 | 0x0821), W_G(XRNICADCONF, 0x000a0004),
    RN_QP, RN_DESTROY(0x000a0004),
};

static const Pg332Write oceania[] = {
    RN_BUFFERS, RN_ADDRESSES, W_G(XRNICCONF, 22222u << 8 | 0x21),
    W_G(XRNICADCONF, 0x000a0004), W_G(XRNIC_CONF_QP_EN, 8),
    RN_QP, RN_DESTROY(0x000a0004),
};

/* Posts of a single request keep counting, past the depth. */
static const Pg332Write reconic_65[] = {
    RN_BUFFERS, W_G(RESPERRSZMSB, 0), RN_ADDRESSES,
    W_G(XRNICCONF, 22222u << 16 | 0x0821), W_G(XRNICADCONF, 0x000a0004),
    RN_QP, W_Q(2, SQPI, 64), W_Q(2, SQPI, 65),
};

/* ---- xib: probe, a queue pair to RTS and back, a region taken back ---------------- */

#define XIB_PROBE \
    G_ADDR(ERRBUFBA, ERRBUFBAMSB, 0x10000), W_G(ERRBUFSZ, 0x01000040), \
    G_ADDR(IPKTERRQBA, IPKTERRQBAMSB, 0x20000), W_G(IPKTERRQSZ, 64), \
    G_ADDR(RESPERRPKTBA, RESPERRPKTBAMSB, 0x30000), W_G(RESPERRSZ, 0x01000040), \
    W_G(INTEN, 0xff), G_ADDR(DATBUFBA, DATBUFBAMSB, 0x40000), \
    W_G(DATBUFSZ, 0x10000400), G_ADDR(IPKTERRQBA, IPKTERRQBAMSB, 0x20000), \
    W_G(IPKTERRQSZ, 64), XIB_CREATE(1), W_Q(1, QPCONF, 0x0002043d), \
    W_G(MACXADDLSB, 0x35010203), W_G(MACXADDMSB, 0x000a), \
    W_G(IPv4XADD, 0x0a000001)

#define XIB_CREATE(n) \
    Q_ADDR(n, RQBA, RQBAMSB, 0x100000), Q_ADDR(n, SQBA, SQBAMSB, 0x200000), \
    W_Q(n, QDEPTH, 0x00400040), Q_ADDR(n, CQDBADD, CQDBADDMSB, 0x400000), \
    Q_ADDR(n, RQWPTRDBADD, RQWPTRDBADDMSB, 0x500000), W_Q(n, PD, 1), \
    Q_ADDR(n, CQBA, CQBAMSB, 0x300000)

#define XIB_REGION \
    W_R(PDPDNUM, 1), W_R(VIRTADDRLSB, 0), W_R(VIRTADDRMSB, 0x7f00), \
    W_R(BUFBASEADDRLSB, 0x600000), W_R(BUFBASEADDRMSB, 0x12), \
    W_R(BUFRKEY, 0x5c), W_R(WRRDBUFLEN, 0x10000), W_R(ACCESSDESC, 2)

#define XIB_CONNECT \
    W_Q(2, STATQP, 0x77000600), W_Q(2, QPCONF, 0x00020431), \
    W_Q(2, DESTQPCONF, 2), W_Q(2, MACDESADDLSB, 0x35010204), \
    W_Q(2, MACDESADDMSB, 0x000a), W_Q(2, IPDESADDR1, 0x0a000002), \
    W_Q(2, QPCONF, 0x00020431), W_Q(2, QPADVCONF, 0xffff4000), \
    W_Q(2, TIMEOUTCONF, 0x00103f0d), W_Q(2, SQPSN, 0x100), \
    W_Q(2, LSTRQREQ, 0x020000ff)

#define XIB_DESTROY \
    W_Q(2, QPCONF, 0x00020431), W_Q(2, CQDBADD, 0x400000), \
    W_Q(2, RQWPTRDBADD, 0x500000), W_Q(2, QPCONF, 0x00020430), \
    W_G(XRNICADCONF, 1), W_Q(2, STATRQPIDB, 0), W_Q(2, RQCI, 0), \
    W_Q(2, STATCURSQPTR, 0), W_Q(2, SQPI, 0), W_Q(2, CQHEAD, 0), \
    W_Q(2, SQPSN, 0), W_Q(2, LSTRQREQ, 0), W_Q(2, STATMSN, 0), \
    W_Q(2, QPCONF, 0x00020431), W_Q(2, QPCONF, 0x00020431), \
    W_G(XRNICADCONF, 0), W_Q(2, QPCONF, 0)

static const Pg332Write xib_3[] = {
    XIB_PROBE, W_G(XRNICCONF, 0x21 | 7 << 8 | 0x8cd1u << 16), XIB_CREATE(2),
    XIB_REGION, XIB_CONNECT, XIB_DESTROY,
};

static const Pg332Write xib_4[] = {
    XIB_PROBE, W_G(XRNICCONF, 0x21 | 0x8cd1 << 8), W_G(XRNIC_CONF_QP_EN, 7),
    XIB_CREATE(2), XIB_REGION, XIB_CONNECT, XIB_DESTROY,
    W_R(BUFRKEY, 0), W_R(ACCESSDESC, 0xf),
};

/* After a fatal error: clear enable first, then allow time to drain. */
static const Pg332Write xib_fatal[] = {
    XIB_PROBE, W_G(XRNICCONF, 0x21 | 7 << 8 | 0x8cd1u << 16), XIB_CREATE(2),
    XIB_CONNECT, W_Q(2, SQPI, 2), W_Q(2, QPCONF, 0x00020470),
};

#define SOFTWARE(name_, version_, writes, ...) \
    { name_, PG332_##version_, writes, ARRAY_SIZE(writes), { __VA_ARGS__ } }

const Pg332Software pg332_software[] = {
    SOFTWARE("PG332's set-up and recovery", V3_1, document_3_1),
    SOFTWARE("PG332's set-up and recovery", V4_2, document_4_2),
    SOFTWARE("RecoNIC, a client from open to close", V3_1, reconic,
             "reserved-bits", "qp1-first", "retry-counts"),
    SOFTWARE("RecoNIC's port to 4.0, the same", V4_0, oceania,
             "reserved-bits", "qp1-first", "retry-counts"),
    SOFTWARE("RecoNIC, the 65th single request of a process", V3_1, reconic_65,
             "reserved-bits", "sqpi-range", "qp1-first", "retry-counts"),
    SOFTWARE("xib, a queue pair from probe to destroy", V3_1, xib_3,
             "reserved-bits", "card-first"),
    SOFTWARE("xib, the same, and a region taken back", V4_2, xib_4,
             "reserved-bits", "access-value", "card-first"),
    SOFTWARE("xib, its handler of fatal errors", V3_1, xib_fatal,
             "reserved-bits", "card-first", "not-drained"),
};
const uint32_t pg332_num_software = ARRAY_SIZE(pg332_software);
