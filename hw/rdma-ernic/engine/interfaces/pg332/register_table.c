/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers of PG332 as one table, and where each version has its blocks.
 * docs/ernic-interface.md names the choices made where the public sources say nothing.
 */
#include "qemu/osdep.h"
/* The qtests compile this file as well, without the folders of the engine. */
#include "hw/rdma-ernic/engine/interfaces/pg332/register_file.h"

/* Rows: @o and the others are named parts of an ErnicRegDef. */
#define REG(s, v, reg, ...) \
    { .name = #reg, .scope = ERNIC_REG_##s, .versions = ERNIC_REG_##v, \
      .offset = PG332_##reg, __VA_ARGS__ }
#define BANK(v, reg, end, ...) \
    { .name = #reg, .suffix = end, .scope = ERNIC_REG_GLOBAL, \
      .versions = ERNIC_REG_##v, .offset = PG332_##v##_##reg, \
      .count = PG332_##v##_BANKS, .w1c = 0xffffffff }

#define RO
#define RW(mask)        .write = (mask)
#define OVER(mask)      .over = (mask)
#define RESET(value)    .reset = (value)
#define ALL             0xffffffff

/* The value of both versions; its packing is not published. */
#define THRESHOLD 0x965a

const ErnicRegDef ernic_reg_defs[] = {
    REG(REGION, ANY, PDPDNUM, RW(0x00ffffff)),
    REG(REGION, ANY, VIRTADDRLSB, RW(ALL)),
    REG(REGION, ANY, VIRTADDRMSB, RW(ALL)),
    REG(REGION, ANY, BUFBASEADDRLSB, RW(ALL)),
    REG(REGION, ANY, BUFBASEADDRMSB, RW(ALL)),
    REG(REGION, ANY, BUFRKEY, RW(0x000000ff)),
    REG(REGION, ANY, WRRDBUFLEN, RW(ALL)),
    REG(REGION, ANY, ACCESSDESC, RW(0xffff000f)),

    REG(GLOBAL, V3, XRNICCONF, RW(0xffffff39)),
    REG(GLOBAL, V4, XRNICCONF, RW(0x00ffff39)),
    REG(GLOBAL, V3, XRNICADCONF, RW(0xff0f0005)),
    REG(GLOBAL, V4, XRNICADCONF, RW(0x7fff0005)),
    REG(GLOBAL, ANY, XRNIC_BUF_THRESHOLD_ROCE, RW(ALL), RESET(THRESHOLD)),
    REG(GLOBAL, ANY, XRNIC_PAUSE_CONF, RW(0x00003ff3), RESET(0x800)),
    REG(GLOBAL, ANY, MACXADDLSB, RW(ALL)),
    REG(GLOBAL, ANY, MACXADDMSB, RW(0x0000ffff)),
    REG(GLOBAL, ANY, XRNIC_BUF_THRESHOLD_NON_ROCE, RW(ALL), RESET(THRESHOLD)),
    REG(GLOBAL, V4_0, XRNIC_VERSION, RESET(0x00040000)),
    REG(GLOBAL, V4_2, XRNIC_VERSION, RESET(0x00040002)),
    REG(GLOBAL, ANY, IPv6XADD1, RW(ALL)),
    REG(GLOBAL, ANY, IPv6XADD2, RW(ALL)),
    REG(GLOBAL, ANY, IPv6XADD3, RW(ALL)),
    REG(GLOBAL, ANY, IPv6XADD4, RW(ALL)),
    REG(GLOBAL, V4, XRNIC_CONF_QP_EN, RW(PG332_QP_EN)),
    REG(GLOBAL, ANY, ERRBUFBA, RW(ALL)),
    REG(GLOBAL, ANY, ERRBUFBAMSB, RW(ALL)),
    REG(GLOBAL, ANY, ERRBUFSZ, RW(ALL)),
    REG(GLOBAL, ANY, ERRBUFWPTR, RO),
    REG(GLOBAL, ANY, IPv4XADD, RW(ALL)),
    REG(GLOBAL, ANY, OPKTERRQBA, RW(ALL)),
    REG(GLOBAL, ANY, OPKTERRQBAMSB, RW(ALL)),
    REG(GLOBAL, ANY, OUTERRSTSQSZ, RW(0x0000ffff)),
    REG(GLOBAL, ANY, OPTERRSTSQQPTRDB, RW(ALL)),
    REG(GLOBAL, ANY, IPKTERRQBA, RW(ALL)),
    REG(GLOBAL, ANY, IPKTERRQBAMSB, RW(ALL)),
    REG(GLOBAL, ANY, IPKTERRQSZ, RW(0x0000ffff)),
    REG(GLOBAL, ANY, IPKTERRQWPTR, RO),
    REG(GLOBAL, ANY, DATBUFBA, RW(ALL)),
    REG(GLOBAL, ANY, DATBUFBAMSB, RW(ALL)),
    REG(GLOBAL, ANY, DATBUFSZ, RW(ALL)),
    /* Software writes two layouts; ready is the hardware's. */
    REG(GLOBAL, ANY, CON_IO_CONF, RW(~PG332_CON_IO_READY),
        RESET(PG332_CON_IO_READY)),
    REG(GLOBAL, ANY, RESPERRPKTBA, RW(ALL)),
    REG(GLOBAL, ANY, RESPERRPKTBAMSB, RW(ALL)),
    REG(GLOBAL, ANY, RESPERRSZ, RW(ALL)),
    REG(GLOBAL, V3, RESPERRSZMSB, RW(ALL)),
    REG(GLOBAL, V4, RESPERRBUFWPTR, RW(0x0000ffff)),
    REG(GLOBAL, ANY, INSRRPKTCNT, RO),
    REG(GLOBAL, ANY, INAMPKTCNT, RO),
    REG(GLOBAL, ANY, OUTIOPKTCNT, RO),
    REG(GLOBAL, ANY, OUTAMPKTCNT, RO),
    REG(GLOBAL, ANY, LSTINPKT, RO),
    REG(GLOBAL, ANY, LSTOUTPKT, RO),
    REG(GLOBAL, ANY, ININVDUPCNT, RO),
    REG(GLOBAL, ANY, INNCKPKTSTS, RO),
    REG(GLOBAL, ANY, OUTRNRPKTSTS, RO),
    REG(GLOBAL, ANY, WQEPROCSTS, RO),
    REG(GLOBAL, ANY, QPMSTS, RESET(PG332_QPM_CACHE_EMPTY)),
    REG(GLOBAL, ANY, INALLDRPPKTCNT, RO),
    REG(GLOBAL, ANY, INNAKPKTCNT, RO),
    REG(GLOBAL, ANY, OUTNAKPKTCNT, RO),
    REG(GLOBAL, ANY, RESPHNDSTS, RESET(PG332_RESPHND_PTR_DONE)),
    REG(GLOBAL, ANY, RETRYCNTSTS, RO),
    REG(GLOBAL, ANY, INCNPPKTCNT, RO),
    REG(GLOBAL, ANY, OUTCNPPKTCNT, RO),
    REG(GLOBAL, ANY, OUTRDRSPPKTCNT, RO),
    REG(GLOBAL, ANY, INTEN, RW(PG332_INT_ALL)),
    REG(GLOBAL, ANY, INTSTS, .w1c = PG332_INT_ALL),
    BANK(V3, RQINTSTS, ""),
    BANK(V3, CQINTSTS, ""),
    BANK(V3, CNPSCHDSTS, "REG"),
    BANK(V4, RQINTSTS, ""),
    BANK(V4, CQINTSTS, ""),
    BANK(V4, CNPSCHDSTS, "REG"),

    REG(QP, ANY, QPCONF, RW(0xffff07fd)),
    REG(QP, ANY, QPADVCONF, RW(0xffffff3f)),
    REG(QP, ANY, RQBA, RW(0xffffff00)),
    REG(QP, ANY, SQBA, RW(0xffffffe0)),
    REG(QP, ANY, CQBA, RW(0xffffffe0)),
    REG(QP, ANY, RQWPTRDBADD, RW(ALL)),
    REG(QP, ANY, RQWPTRDBADDMSB, RW(ALL)),
    REG(QP, ANY, CQDBADD, RW(ALL)),
    REG(QP, ANY, CQDBADDMSB, RW(ALL)),
    REG(QP, ANY, CQHEAD, OVER(0x0000ffff)),
    REG(QP, ANY, RQCI, RW(0x0000ffff)),
    REG(QP, ANY, SQPI, RW(0x0000ffff)),
    REG(QP, ANY, QDEPTH, RW(ALL)),
    REG(QP, ANY, SQPSN, RW(0x00ffffff)),
    REG(QP, ANY, LSTRQREQ, RW(ALL)),
    REG(QP, ANY, DESTQPCONF, RW(0x00ffffff)),
    REG(QP, ANY, TIMEOUTCONF, RW(0x001f3f3f)),
    REG(QP, ANY, MACDESADDLSB, RW(ALL)),
    REG(QP, ANY, MACDESADDMSB, RW(0x0000ffff)),
    REG(QP, ANY, IPDESADDR1, RW(ALL)),
    REG(QP, ANY, IPDESADDR2, RW(ALL)),
    REG(QP, ANY, IPDESADDR3, RW(ALL)),
    REG(QP, ANY, IPDESADDR4, RW(ALL)),
    /* Headers of drivers have these, and do not use them; PG332 does not. */
    REG(QP, ANY, OUT_ERR_STAT_BA_LSB, RW(ALL)),
    REG(QP, ANY, OUT_ERR_STAT_BA_MSB, RW(ALL)),
    REG(QP, ANY, STATSSN, RO),
    REG(QP, ANY, STATMSN, OVER(0x00ffffff)),
    REG(QP, ANY, STATQP, RESET(PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY),
        RW(PG332_STATQP_SYNDROME | PG332_STATQP_RETRY | PG332_STATQP_RNR_RETRY)),
    REG(QP, ANY, STATCURSQPTR, OVER(0x0000ffff)),
    REG(QP, ANY, STATRESPSN, RO),
    REG(QP, ANY, STATRQBUFCA, OVER(0xffffff00)),
    REG(QP, ANY, STATWQE, RO),
    REG(QP, ANY, STATRQPIDB, OVER(0x0000ffff)),
    REG(QP, ANY, PD, RW(0x00ffffff)),
    REG(QP, ANY, RQBAMSB, RW(ALL)),
    REG(QP, ANY, SQBAMSB, RW(ALL)),
    REG(QP, ANY, CQBAMSB, RW(ALL)),
    REG(QP, ANY, STATRQBUFCAMSB, OVER(ALL)),
};
const uint32_t ernic_num_reg_defs = ARRAY_SIZE(ernic_reg_defs);

#define REGION_BYTES (PG332_ACCESSDESC + 4)
#define QP_BYTES     (PG332_STATRQBUFCAMSB + 4)

const ErnicRegBlockDef ernic_reg_blocks[PG332_VERSIONS][ERNIC_REG_SCOPES] = {
    [PG332_V3_1] = {
        { 0, REGION_BYTES, PG332_V3_REGIONS },
        { PG332_V3_GLOBAL, PG332_V3_CNPSCHDSTS + 4 * PG332_V3_BANKS, 1 },
        { PG332_V3_QP, QP_BYTES, PG332_V3_MAX_QP },
    },
    [PG332_V4_0] = {
        { 0, REGION_BYTES, PG332_V4_REGIONS },
        { PG332_V4_GLOBAL, PG332_V4_CNPSCHDSTS + 4 * PG332_V4_BANKS, 1 },
        { PG332_V4_0_QP, QP_BYTES, PG332_V4_MAX_QP },
    },
    [PG332_V4_2] = {
        { 0, REGION_BYTES, PG332_V4_REGIONS },
        { PG332_V4_GLOBAL, PG332_V4_CNPSCHDSTS + 4 * PG332_V4_BANKS, 1 },
        { PG332_V4_2_QP, QP_BYTES, PG332_V4_MAX_QP },
    },
};

uint32_t ernic_reg_window(unsigned version)
{
    return version == PG332_V3_1 ? PG332_V3_SIZE : PG332_V4_SIZE;
}

void ernic_reg_name(const ErnicRegDef *def, uint32_t k,
                    char name[ERNIC_REG_NAME_MAX])
{
    if (def->count) {
        snprintf(name, ERNIC_REG_NAME_MAX, "%s%u%s", def->name, k + 1,
                 def->suffix);
    } else {
        snprintf(name, ERNIC_REG_NAME_MAX, "%s", def->name);
    }
}
