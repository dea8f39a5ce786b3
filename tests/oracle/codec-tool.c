/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wire codec as a filter, so that a script can hold it against others.
 *
 *   emit FIELD=VALUE ... [payload=HEX]   answers   ok FRAME
 *   parse FRAME                          answers   ok FIELD=VALUE ...
 *                                        or        drop REASON
 *   opcodes                              answers   ok OPCODE ...
 *
 * Frames and addresses are hexadecimal digits, other values C numbers.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/frame.h"
#include "wire/headers.h"

#define FRAME_MAX   (ERNIC_NET_HDR_MAX + ERNIC_PKT_HDR_MAX + 8192)

typedef struct Fields {
    ErnicPath path;
    ErnicPkt pkt;
    uint8_t opcode;             /* the whole BTH OpCode */
} Fields;

typedef struct Field {
    const char *name;
    uint16_t ofs, size;
    bool is_bytes;
} Field;

#define NUMBER(name, member) \
    { name, offsetof(Fields, member), sizeof_field(Fields, member), false }
#define BYTES(name, member) \
    { name, offsetof(Fields, member), sizeof_field(Fields, member), true }

static const Field fields[] = {
    BYTES("sgid", path.sgid), BYTES("dgid", path.dgid),
    BYTES("smac", path.smac), BYTES("dmac", path.dmac),
    NUMBER("vlan", path.vlan), NUMBER("sport", path.udp_sport),
    NUMBER("flow", path.flow_label), NUMBER("tclass", path.tclass),
    NUMBER("hops", path.hop_limit),
    NUMBER("opcode", opcode), NUMBER("se", pkt.se),
    NUMBER("migreq", pkt.migreq), NUMBER("pad", pkt.pad),
    NUMBER("pkey", pkt.pkey), NUMBER("fecn", pkt.fecn),
    NUMBER("becn", pkt.becn), NUMBER("dqp", pkt.dest_qp),
    NUMBER("ackreq", pkt.ackreq), NUMBER("psn", pkt.psn),
    NUMBER("xrcsrq", pkt.xrcsrq), NUMBER("qkey", pkt.qkey),
    NUMBER("sqp", pkt.src_qp), NUMBER("feth", pkt.feth),
    NUMBER("va", pkt.va), NUMBER("rkey", pkt.rkey),
    NUMBER("dmalen", pkt.dma_len), NUMBER("swap", pkt.swap_add),
    NUMBER("compare", pkt.compare), NUMBER("orig", pkt.atomic_orig),
    NUMBER("syndrome", pkt.syndrome), NUMBER("msn", pkt.msn),
    NUMBER("imm", pkt.imm), NUMBER("inv", pkt.inv_rkey),
};

static bool from_hex(const char *hex, uint8_t *buf, uint32_t size, uint32_t *len)
{
    uint32_t n = 0;

    for (; g_ascii_isxdigit(hex[0]) && g_ascii_isxdigit(hex[1]); hex += 2) {
        if (n == size) {
            return false;
        }
        buf[n++] = g_ascii_xdigit_value(hex[0]) << 4 |
                   g_ascii_xdigit_value(hex[1]);
    }
    *len = n;
    return *hex == '\0';
}

static void put_hex(const uint8_t *buf, uint32_t len)
{
    while (len--) {
        printf("%02x", *buf++);
    }
}

static bool set_field(Fields *f, const char *name, const char *value)
{
    uint32_t len;

    for (uint32_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint8_t *at = (uint8_t *)f + fields[i].ofs;
        uint64_t v;

        if (strcmp(name, fields[i].name)) {
            continue;
        }
        if (fields[i].is_bytes) {
            return from_hex(value, at, fields[i].size, &len) &&
                   len == fields[i].size;
        }
        v = g_ascii_strtoull(value, NULL, 0);
        switch (fields[i].size) {
        case 1:
            *at = v;
            return true;
        case 2:
            *(uint16_t *)at = v;
            return true;
        case 4:
            *(uint32_t *)at = v;
            return true;
        default:
            *(uint64_t *)at = v;
            return true;
        }
    }
    return false;
}

static void print_field(const Fields *f, const Field *field)
{
    const uint8_t *at = (const uint8_t *)f + field->ofs;

    printf(" %s=", field->name);
    if (field->is_bytes) {
        put_hex(at, field->size);
    } else {
        printf("%" PRIu64, field->size ==
               1 ? *at : field->size == 2 ? *(const uint16_t *)at : field->size ==
               4 ? *(const uint32_t *)at : *(const uint64_t *)at);
    }
}

static void do_emit(char **words)
{
    Fields f = { .path.vlan = ERNIC_NO_VLAN };
    uint8_t payload[4096], frame[FRAME_MAX];
    uint32_t payload_len = 0, n, len;
    ErnicIcrcCtx ctx;

    for (; *words; words++) {
        char *eq = strchr(*words, '=');
        bool ok = eq;

        if (ok) {
            *eq = '\0';
            ok = !strcmp(*words, "payload")
                ? from_hex(eq + 1, payload, sizeof(payload), &payload_len)
                : set_field(&f, *words, eq + 1);
        }
        if (!ok) {
            printf("error %s\n", *words);
            return;
        }
    }
    f.pkt.op = ernic_opcode(f.opcode);
    if (!f.pkt.op || (payload_len && !(f.pkt.op->hdrs & ERNIC_HDR_DATA))) {
        printf("error opcode\n");
        return;
    }
    f.pkt.transport = ernic_opcode_transport(f.opcode);
    f.pkt.payload_len = payload_len;

    len = ernic_pkt_len(ernic_opcode_hdr_len(f.pkt.op, f.pkt.transport), payload_len);
    n = ernic_net_emit(&f.path, len, frame);
    len = ernic_pkt_emit_hdr(&f.pkt, frame + n);
    memcpy(frame + n + len, payload, payload_len);
    ernic_icrc_init(&ctx, &f.path);
    len = ernic_pkt_finish(&ctx, frame + n, len + payload_len);
    printf("ok ");
    put_hex(frame, n + len);
    printf("\n");
}

static void do_parse(const char *hex)
{
    uint8_t frame[FRAME_MAX];
    ErnicIcrcCtx ctx;
    ErnicDrop drop;
    ErnicFrame net;
    uint32_t len;
    Fields f;

    if (!hex || !from_hex(hex, frame, sizeof(frame), &len)) {
        printf("error frame\n");
        return;
    }
    drop = ernic_net_parse(&net, frame, len);
    if (drop == ERNIC_DROP_NONE) {
        drop = ernic_pkt_parse(&f.pkt, net.ib, net.ib_len);
    }
    if (drop == ERNIC_DROP_NONE) {
        ernic_icrc_init_ip(&ctx, net.ip, net.is_v6);
        if (!ernic_icrc_ok(&ctx, net.ib, net.ib_len)) {
            drop = ERNIC_DROP_BAD_ICRC;
        }
    }
    if (drop != ERNIC_DROP_NONE) {
        printf("drop %s\n", ernic_drop_name(drop));
        return;
    }
    f.path = net.path;
    f.opcode = ernic_opcode_bth(f.pkt.op, f.pkt.transport);
    printf("ok");
    for (uint32_t i = 0; i < ARRAY_SIZE(fields); i++) {
        print_field(&f, &fields[i]);
    }
    printf(" payload=");
    put_hex(f.pkt.payload, f.pkt.payload_len);
    printf("\n");
}

static void do_opcodes(void)
{
    printf("ok");
    for (uint32_t i = 0; i < 256; i++) {
        if (ernic_opcode(i)) {
            printf(" %u", i);
        }
    }
    printf("\n");
}

int main(void)
{
    static char line[64 * 1024];

    while (fgets(line, sizeof(line), stdin)) {
        g_auto(GStrv) words = g_strsplit(g_strstrip(line), " ", 0);

        if (!g_strcmp0(words[0], "emit")) {
            do_emit(words + 1);
        } else if (!g_strcmp0(words[0], "parse")) {
            do_parse(words[1]);
        } else if (!g_strcmp0(words[0], "opcodes")) {
            do_opcodes();
        } else {
            printf("error command\n");
        }
        fflush(stdout);
    }
    return 0;
}
