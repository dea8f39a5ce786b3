/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow tables of the mlx5 interface: the tables that Linux makes, frames that they
 * match, each refusal, and hostile tables.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/match.h"
#include "mlx5_eth_fixture.h"

#define OUTER(field)    "match_criteria.outer_headers." field "\n"
#define VALUE(field)    "flow_context.match_value.outer_headers." field "\n"

enum { TCP4, TCP6, UDP4, UDP6, IPV4, IPV6, ANY, KINDS };

/* Tables VLAN -> L2 -> TTC, and a TIR for each kind of frames. */
typedef struct Linux {
    Eth eth;
    uint32_t vlan, l2, ttc, anchor;
    uint32_t vlan_group[5], l2_group[3], ttc_group[3];
    uint32_t tir[KINDS];
} Linux;

static const struct {
    const char *text;           /* of the entry */
    uint32_t group, index;
} kinds[KINDS] = {
    [TCP4] = { VALUE("ip_protocol=6") VALUE("ethertype=0x800"), 0, 0 },
    [TCP6] = { VALUE("ip_protocol=6") VALUE("ethertype=0x86dd"), 0, 1 },
    [UDP4] = { VALUE("ip_protocol=17") VALUE("ethertype=0x800"), 0, 2 },
    [UDP6] = { VALUE("ip_protocol=17") VALUE("ethertype=0x86dd"), 0, 3 },
    [IPV4] = { VALUE("ethertype=0x800"), 1, 8 },
    [IPV6] = { VALUE("ethertype=0x86dd"), 1, 9 },
    [ANY] = { "", 2, 12 },
};

static void make_ttc(Linux *l)
{
    Eth *eth = &l->eth;

    l->ttc = eth_table(eth, 53, 7, l->anchor);
    l->ttc_group[0] = eth_group(eth, l->ttc, 0, 7,
                                OUTER("ip_protocol=0xff") OUTER("ethertype=0xffff"));
    l->ttc_group[1] = eth_group(eth, l->ttc, 8, 11, OUTER("ethertype=0xffff"));
    l->ttc_group[2] = eth_group(eth, l->ttc, 12, 12, "");
    for (uint32_t k = 0; k < KINDS; k++) {
        l->tir[k] = eth_tir(eth, eth_queue(eth, true, 3));
        eth_entry(eth, l->ttc, l->ttc_group[kinds[k].group], kinds[k].index,
                  kinds[k].text, false, l->tir[k]);
    }
}

static void make_l2(Linux *l)
{
    Eth *eth = &l->eth;

    l->l2 = eth_table(eth, 52, 16, l->anchor);
    l->l2_group[0] = eth_group(eth, l->l2, 0, 0x7fff, OUTER("dmac_47_16=0xffffffff")
                               OUTER("dmac_15_0=0xffff"));
    l->l2_group[1] = eth_group(eth, l->l2, 0x8000, 0x8000,
                               OUTER("dmac_47_16=0x01000000"));
    l->l2_group[2] = eth_group(eth, l->l2, 0x8001, 0x8001, "");
    eth_entry(eth, l->l2, l->l2_group[0], 0,
              VALUE("dmac_47_16=0x52540012") VALUE("dmac_15_0=0x3456"), true, l->ttc);
    eth_entry(eth, l->l2, l->l2_group[0], 1,
              VALUE("dmac_47_16=0xffffffff") VALUE("dmac_15_0=0xffff"), true, l->ttc);
}

static void make_vlan(Linux *l)
{
    static const char *const masks[] = {
        OUTER("cvlan_tag=1") OUTER("first_vid=0xfff"),
        OUTER("svlan_tag=1") OUTER("first_vid=0xfff"),
        OUTER("cvlan_tag=1"), OUTER("svlan_tag=1"), "",
    };
    static const uint32_t sizes[] = { 4096, 4096, 2, 1, 1 };
    Eth *eth = &l->eth;
    uint32_t first = 0;

    l->vlan = eth_table(eth, 51, 16, l->anchor);
    for (uint32_t i = 0; i < ARRAY_SIZE(masks); first += sizes[i++]) {
        l->vlan_group[i] = eth_group(eth, l->vlan, first, first + sizes[i] - 1, masks[i]);
    }
    /* Frames without a tag, and VLAN 0. */
    eth_entry(eth, l->vlan, l->vlan_group[2], 8192, "", true, l->l2);
    eth_entry(eth, l->vlan, l->vlan_group[0], 0, VALUE("cvlan_tag=1"), true, l->l2);
}

static void linux_setup(Linux *l)
{
    memset(l, 0, sizeof(*l));
    eth_setup(&l->eth);
    l->anchor = eth_table(&l->eth, 54, 0, 0);
    make_ttc(l);
    make_l2(l);
    make_vlan(l);
    ETH_OK(&l->eth, 0x92f, "table_id=%u", l->vlan);
}

#define LINUX_TEST(path, fn) \
    WORLD_TEST(path, fn, Linux, l, linux_setup(l), eth_done(&l->eth))

/* The headers of a frame; all others are 0. */
typedef struct Frame {
    uint8_t dmac[6];            /* all 0: that of the function */
    uint16_t tpid, tci;         /* 0: no tag */
    uint16_t ethertype;
    uint8_t proto;
} Frame;

static uint32_t make_frame(const Frame *f, uint8_t *out)
{
    static const uint8_t none[6];
    uint32_t at = 12;

    memset(out, 0, 128);
    memcpy(out, memcmp(f->dmac, none, 6) ? f->dmac : eth_config.mac, 6);
    if (f->tpid) {
        stw_be_p(out + at, f->tpid);
        stw_be_p(out + at + 2, f->tci);
        at += 4;
    }
    stw_be_p(out + at, f->ethertype);
    at += 2;
    if (f->ethertype == 0x800) {
        out[at] = 0x45;
        out[at + 9] = f->proto;
    } else if (f->ethertype == 0x86dd) {
        out[at] = 0x60;
        out[at + 6] = f->proto;
    }
    return 128;
}

static ErnicFlowResult find(Eth *eth, const Frame *f)
{
    uint8_t frame[128], key[ERNIC_FLOW_KEY_BYTES];
    ErnicMlx5Headers headers;
    ErnicFlowResult result;

    ernic_mlx5_match_key(frame, make_frame(f, frame), key, &headers);
    ernic_flow_tables_find(eth->e, key, sizeof(frame), &result);
    g_assert_false(result.cut);
    return result;
}

static void goes_to(Linux *l, const Frame *f, uint32_t kind)
{
    ErnicFlowResult result = find(&l->eth, f);

    IS(result.num, kind < KINDS);
    if (kind < KINDS) {
        IS(result.dest[0].id, l->tir[kind]);
        IS(result.dest[0].tag, kinds[kind].index);
    }
}

#define NOWHERE KINDS

LINUX_TEST("/mlx5/flow/linux", test_linux)
{
    static const struct {
        Frame frame;
        uint32_t kind;
    } cases[] = {
        { { .ethertype = 0x800, .proto = 6 }, TCP4 },
        { { .ethertype = 0x86dd, .proto = 6 }, TCP6 },
        { { .ethertype = 0x800, .proto = 17 }, UDP4 },
        { { .ethertype = 0x86dd, .proto = 17 }, UDP6 },
        { { .ethertype = 0x800, .proto = 1 }, IPV4 },
        { { .ethertype = 0x86dd, .proto = 58 }, IPV6 },
        { { .ethertype = 0x806 }, ANY },
        { { .tpid = 0x8100, .ethertype = 0x800, .proto = 6 }, TCP4 },
        { { .tpid = 0x8100, .tci = 7, .ethertype = 0x800, .proto = 6 }, NOWHERE },
        { { .tpid = 0x88a8, .ethertype = 0x800, .proto = 6 }, NOWHERE },
        { { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, .ethertype = 0x806 }, ANY },
        { { { 0x01, 0x00, 0x5e, 1, 2, 3 }, .ethertype = 0x800 }, NOWHERE },
        { { { 0x52, 0x54, 0, 0x12, 0x34, 0x57 }, .ethertype = 0x800 }, NOWHERE },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_test_message("frame %u", i);
        goes_to(l, &cases[i].frame, cases[i].kind);
    }
}

/* VLANs that the driver adds and removes, of both kinds of tags; then all of them. */
LINUX_TEST("/mlx5/flow/vlans", test_vlans)
{
    const Frame c = { .tpid = 0x8100, .tci = 0x6007, .ethertype = 0x800, .proto = 6 };
    const Frame s = { .tpid = 0x88a8, .tci = 7, .ethertype = 0x800, .proto = 6 };

    eth_entry(&l->eth, l->vlan, l->vlan_group[0], 5,
              VALUE("cvlan_tag=1") VALUE("first_vid=7"), true, l->l2);
    goes_to(l, &c, TCP4);
    goes_to(l, &s, NOWHERE);
    ETH_OK(&l->eth, 0x938, "table_id=%u\nflow_index=5", l->vlan);
    goes_to(l, &c, NOWHERE);
    eth_entry(&l->eth, l->vlan, l->vlan_group[1], 4097,
              VALUE("svlan_tag=1") VALUE("first_vid=7"), true, l->l2);
    goes_to(l, &s, TCP4);
    eth_entry(&l->eth, l->vlan, l->vlan_group[2], 8193, VALUE("cvlan_tag=1"), true,
              l->l2);
    goes_to(l, &c, TCP4);
}

/* Multicast by an entry with a mask of one bit; all frames by a table before. */
LINUX_TEST("/mlx5/flow/promiscuous", test_promiscuous)
{
    const Frame group = { { 0x01, 0, 0x5e, 1, 2, 3 }, .ethertype = 0x800 };
    const Frame other = { { 2, 2, 2, 2, 2, 2 }, .tpid = 0x8100, .tci = 99,
                          .ethertype = 0x806 };
    uint32_t promisc, any;

    eth_entry(&l->eth, l->l2, l->l2_group[1], 0x8000, VALUE("dmac_47_16=0x01000000"),
              true, l->ttc);
    goes_to(l, &group, IPV4);
    promisc = eth_table(&l->eth, 50, 0, l->vlan);
    any = eth_group(&l->eth, promisc, 0, 0, "");
    goes_to(l, &other, NOWHERE);
    ETH_OK(&l->eth, 0x92f, "table_id=%u", promisc);
    goes_to(l, &other, NOWHERE);
    eth_entry(&l->eth, promisc, any, 0, "", true, l->ttc);
    goes_to(l, &other, ANY);
    ETH_OK(&l->eth, 0x92f, "table_id=%u", l->vlan);
    ETH_OK(&l->eth, 0x938, "table_id=%u\nflow_index=0", promisc);
    ETH_OK(&l->eth, 0x934, "table_id=%u\ngroup_id=%u", promisc, any);
    ETH_OK(&l->eth, 0x931, "table_id=%u", promisc);
    goes_to(l, &other, NOWHERE);
}

#define KEY(key, field) ernic_mlx5_get(key, &ernic_mlx5_fte_match_set_lyr_2_4.field)

/* Every field of the key, in one frame. */
TEST("/mlx5/flow/key", test_key)
{
    static const uint8_t frame[] = {
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
        0x81, 0x00, 0xb1, 0x23, 0x08, 0x00,
        0x45, 0xb9, 0, 40, 0, 0, 0, 0, 0x3f, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0x51, 0x12, 0, 0, 0, 0, 0, 0,
    };
    uint8_t key[ERNIC_FLOW_KEY_BYTES], known[ERNIC_FLOW_KEY_BYTES] = { };
    g_autoptr(GString) text = g_string_new(NULL);
    ErnicMlx5Headers headers;

    ernic_mlx5_match_key(frame, sizeof(frame), key, &headers);
    mlx5_decode(&ernic_mlx5_fte_match_set_lyr_2_4.self, key, sizeof(key), NULL, text,
                known);
    g_assert_cmpstr(text->str, ==, "smac_47_16=0x11121314\nsmac_15_0=0x1516\n"
                    "ethertype=0x800\ndmac_47_16=0x1020304\ndmac_15_0=0x506\n"
                    "first_prio=0x5\nfirst_cfi=0x1\nfirst_vid=0x123\nip_protocol=0x6\n"
                    "ip_dscp=0x2e\nip_ecn=0x1\ncvlan_tag=0x1\nip_version=0x4\n"
                    "tcp_flags=0x112\ntcp_sport=0x1234\ntcp_dport=0x5678\n"
                    "ttl_hoplimit=0x3f\nsrc_ipv4_src_ipv6[3]=0xa000001\n"
                    "dst_ipv4_dst_ipv6[3]=0xa000002\n");
}

/* The field `frag` is that of each fragment; only the first one has TCP's flags. */
TEST("/mlx5/flow/fragments", test_fragments)
{
    static const struct {
        uint16_t word;          /* flags and offset of IPv4 */
        uint32_t frag, flags;
    } rows[] = { { 0, 0, 2 }, { 0x4000, 0, 2 }, { 0x2000, 1, 2 }, { 0x2001, 1, 0 },
                 { 1, 1, 0 } };
    const Frame f = { .ethertype = 0x800, .proto = 6 };
    uint8_t frame[128], key[ERNIC_FLOW_KEY_BYTES];
    ErnicMlx5Headers headers;

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        make_frame(&f, frame);
        stw_be_p(frame + 20, rows[i].word);
        frame[47] = 2;
        ernic_mlx5_match_key(frame, 54, key, &headers);
        IS(KEY(key, frag), rows[i].frag);
        IS(KEY(key, tcp_flags), rows[i].flags);
        /* Without the whole header of TCP there are no flags. */
        ernic_mlx5_match_key(frame, 53, key, &headers);
        IS(KEY(key, frag), rows[i].frag);
        IS(KEY(key, tcp_flags), 0);
    }
}

/* Of the entries that match, in groups of any order, the lowest index counts. */
ETH_TEST("/mlx5/flow/order", test_order)
{
    const Frame f = { .ethertype = 0x800, .proto = 6 };
    uint32_t table = eth_table(eth, 1, 4, 0), any, tcp, tir;

    any = eth_group(eth, table, 8, 15, "");
    tcp = eth_group(eth, table, 0, 7, OUTER("ip_protocol=0xff"));
    tir = eth_tir(eth, eth_queue(eth, true, 3));
    ETH_OK(eth, 0x92f, "table_id=%u", table);
    eth_entry(eth, table, any, 9, "", false, tir);
    IS(find(eth, &f).dest[0].tag, 9);
    eth_entry(eth, table, any, 8, "", false, tir);
    IS(find(eth, &f).dest[0].tag, 8);
    eth_entry(eth, table, tcp, 7, VALUE("ip_protocol=6"), false, tir);
    IS(find(eth, &f).dest[0].tag, 7);
    eth_entry(eth, table, tcp, 1, VALUE("ip_protocol=7"), false, tir);
    IS(find(eth, &f).dest[0].tag, 7);
}

/* Copies for two receivers, a counter, a change to drop, and back. */
ETH_TEST("/mlx5/flow/actions", test_actions)
{
    const Frame f = { .ethertype = 0x806 };
    uint32_t table = eth_table(eth, 1, 0, 0), any, tir[2], counter;
    ErnicFlowResult result;
    g_autofree char *entry = NULL;

    any = eth_group(eth, table, 0, 0, "");
    tir[0] = eth_tir(eth, eth_queue(eth, true, 3));
    tir[1] = eth_tir(eth, eth_queue(eth, true, 3));
    ETH_OK(eth, 0x92f, "table_id=%u", table);
    ETH_OK(eth, 0x939, "%s", "");
    counter = ernic_mlx5_get(eth->out,
                             &ernic_mlx5_alloc_flow_counter_out.flow_counter_id);
    entry = g_strdup_printf("table_id=%u\nflow_context.group_id=%u\n"
        "flow_context.destination_list_size=2\nflow_context.flow_counter_list_size=1\n"
        "flow_context.destination[0].destination_type=2\n"
        "flow_context.destination[0].destination_id=%u\n"
        "flow_context.destination[1].destination_type=2\n"
        "flow_context.destination[1].destination_id=%u\n"
        "flow_context.destination[2].destination_type=0\n"
        "flow_context.destination[2].destination_id=0\n", table, any, tir[0], tir[1]);
    /* The counter has the place of a third destination; its number is 1. */
    IS(counter, 1);
    ETH_OK(eth, 0x936, "%sflow_context.destination[2].destination_id=1\n"
           "flow_context.action=12", entry);
    result = find(eth, &f);
    IS(result.num, 2);
    IS(result.dest[0].id, tir[0]);
    IS(result.dest[1].id, tir[1]);
    IS(eth_call(eth, 0x93a, "flow_counter_id=1"), ERNIC_MLX5_BUSY);
    /* Several from 0 on: the second one is it. Several that pass the last one. */
    IS(eth_call_sized(eth, 0x93b, "flow_counter_id=0\nnum_of_counters=4", 0, 16 + 4 * 16),
       ERNIC_MLX5_ACCEPTED);
    IS(ldq_be_p(eth->out + 16), 0);
    IS(ldq_be_p(eth->out + 32), 1);
    IS(ldq_be_p(eth->out + 40), 128);
    IS(eth_call_sized(eth, 0x93b, "flow_counter_id=256\nnum_of_counters=4", 0,
                      16 + 4 * 16), ERNIC_MLX5_ACCEPTED);
    IS(eth_call_sized(eth, 0x93b, "flow_counter_id=1\nclear=1", 0, 32),
       ERNIC_MLX5_ACCEPTED);
    IS(ldq_be_p(eth->out + 16), 1);
    IS(ldq_be_p(eth->out + 24), 128);
    IS(eth_call_sized(eth, 0x93b, "flow_counter_id=1", 0, 32), ERNIC_MLX5_ACCEPTED);
    IS(ldq_be_p(eth->out + 16), 0);
    /* Drop. */
    ETH_OK(eth, 0x936, "op_mod=1\nmodify_enable_mask=13\ntable_id=%u\n"
           "flow_context.group_id=%u\nflow_context.action=2", table, any);
    IS(find(eth, &f).num, 0);
    ETH_OK(eth, 0x93a, "flow_counter_id=1");
}

#define ENTRY "table_id=1\nflow_index=1\nflow_context.group_id=1\n" \
    "flow_context.action=4\nflow_context.destination_list_size=1\n" \
    "flow_context.destination[0].destination_type=2\n" \
    "flow_context.destination[0].destination_id=1\n"

/* Table 1 has group 1 for entries 0 to 7 with entry 0, and level 5; table 2 level 4. */
static const Mlx5Refused refusals[] = {
    R(0x930, OTHER_FUNCTION, "", "other_vport=1 vport_number=1"),
    R(0x930, BAD_VALUE, "", "table_type=1 .level=129 .log_size=17 .decap_en=1 "
      ".reformat_en=1 .sw_owner=1 .termination_table=1 .table_miss_action=2 "
      ".table_miss_action=1,.level=5,.table_miss_id=1", "flow_table_context"),
    R(0x930, BAD_MODIFIER, "", "op_mod=1"),
    R(0x930, NO_OBJECT, "", ".table_miss_action=1 "
      ".table_miss_action=1,.table_miss_id=3", "flow_table_context"),
    R(0x931, NO_OBJECT, "", "table_id=0 table_id=0xffffff"),
    R(0x931, BUSY, "", "table_id=1"), R(0x931, BAD_VALUE, "", "table_id=2,table_type=4"),
    R(0x93c, BAD_SELECT, "", "table_id=1"),
    R(0x93c, NO_OBJECT, "", "table_id=9,modify_field_select=1"),
    R(0x93c, BAD_VALUE, "",
      "table_id=1,modify_field_select=1,.table_miss_action=1,.table_miss_id=1 "
      "table_id=1,modify_field_select=1,.table_miss_action=1,.table_miss_id=2",
      "flow_table_context"),
    R(0x92f, NO_OBJECT, "", "table_id=0 table_id=3"),
    R(0x92f, BAD_MODIFIER, "", "table_id=1,op_mod=2"),
    R(0x92f, BAD_VALUE, "", "table_id=1,underlay_qpn=2"),
    R(0x92f, OTHER_FUNCTION, "", "table_id=1,table_of_other_vport=1"),
    R(0x933, NO_OBJECT, "", "table_id=3"),
    R(0x933, BAD_VALUE, "", "table_id=1,start_flow_index=9,end_flow_index=8 "
      "table_id=1,start_flow_index=8,end_flow_index=16 "
      "table_id=1,end_flow_index=0xffffffff "
      "table_id=1,start_flow_index=7,end_flow_index=8"),
    R(0x933, BAD_VALUE, "table_id=1\nstart_flow_index=8\nend_flow_index=8\n",
      "group_type=1 match_criteria_enable=2 match_criteria_enable=1,.l4_type=1 "
      "match_criteria_enable=1,.ipv4_ihl=1", "match_criteria.outer_headers"),
    R(0x934, BUSY, "", "table_id=1,group_id=1"),
    R(0x934, NO_OBJECT, "", "table_id=2,group_id=1 table_id=1,group_id=0xffffffff"),
    R(0x938, BAD_STATE, "", "table_id=1,flow_index=1"),
    R(0x938, NO_OBJECT, "", "table_id=3,flow_index=1"),
    R(0x939, BAD_VALUE, "", "flow_counter_bulk=1"),
    R(0x93a, NO_OBJECT, "", "flow_counter_id=1"),
    R(0x93b, NO_OBJECT, "", "flow_counter_id=1 "
      "flow_counter_id=0xffffffff,num_of_counters=1 flow_counter_id=0"),
    R(0x93b, BAD_VALUE, "", "flow_counter_id=256,num_of_counters=5"),
    R(0x93b, SHORT_MESSAGE, "", "flow_counter_id=1,num_of_counters=1"),
    R(0x93b, BAD_MODIFIER, "", "flow_counter_id=1,op_mod=1"),
    /* Entries at index 1 of table 1. */
    R(0x936, OTHER_FUNCTION, ENTRY, "other_vport=1"),
    R(0x936, BAD_MODIFIER, ENTRY, "op_mod=2"),
    R(0x936, BAD_STATE, ENTRY, "op_mod=1 flow_index=0"),
    R(0x936, BAD_VALUE, ENTRY, "ignore_flow_level=1 flow_index=8 "
      "flow_index=0,op_mod=1,modify_enable_mask=16 .action=0 .action=1 .action=6 "
      ".action=0x44 .action=12 .flow_counter_list_size=1 .destination_list_size=0 "
      ".destination_list_size=5 .destination_list_size=0xffffff .extended_destination=1 "
      ".destination[0].destination_type=0 .destination[0].packet_reformat=1 "
      ".destination[0].destination_type=1 "
      ".destination[0].destination_type=1,.destination[0].destination_id=2",
      "flow_context"),
    R(0x936, NO_OBJECT, ENTRY, "table_id=2 .group_id=2 "
      ".action=12,.flow_counter_list_size=1 .destination[0].destination_id=2 "
      ".destination[0].destination_type=1,.destination[0].destination_id=3",
      "flow_context"),
};

static void small_setup(Eth *eth)
{
    eth_setup(eth);
    IS(eth_table(eth, 5, 4, 0), 1);
    IS(eth_table(eth, 4, 4, 0), 2);
    IS(eth_group(eth, 1, 0, 7, OUTER("ip_protocol=0xff")), 1);
    IS(eth_tir(eth, eth_queue(eth, true, 3)), 1);
    eth_entry(eth, 1, 1, 0, VALUE("ip_protocol=17"), false, 1);
}

/* A refused command changes nothing. */
static void refused(void *opaque, uint16_t opcode, const char *text, ErnicMlx5Refusal why)
{
    Eth *eth = opaque;
    g_autofree ErnicFlowTables *before = g_memdup2(eth->e->flow_tables, sizeof(*before));

    IS(eth_call(eth, opcode, "%s", text), why);
    g_assert_cmpmem(eth->e->flow_tables, sizeof(*before), before, sizeof(*before));
}

WORLD_TEST("/mlx5/flow/refusals", test_refusals, Eth, eth, small_setup(eth),
           eth_done(eth))
{
    mlx5_each_refused(refusals, ARRAY_SIZE(refusals), refused, eth);
    /* A list that is longer than the message. */
    IS(eth_call_sized(eth, 0x936, "table_id=1\nflow_index=1\nflow_context.group_id=1\n"
                      "flow_context.action=4\nflow_context.destination_list_size=1", 0,
                      0), ERNIC_MLX5_SHORT_MESSAGE);
    ETH_OK(eth, 0x936, "%s", ENTRY);
    IS(eth_call(eth, 0x902, "tirn=1"), ERNIC_MLX5_BUSY);
}

ETH_TEST("/mlx5/flow/limits", test_limits)
{
    uint32_t table;

    for (uint32_t i = 1; i <= ERNIC_LIM_FLOW_TABLE; i++) {
        IS(eth_table(eth, i, 16, 0), i);
    }
    IS(eth_call(eth, 0x930, "%s", ""), ERNIC_MLX5_NO_RESOURCE);
    for (uint32_t i = 0; i < ERNIC_LIM_FLOW_GROUP; i++) {
        table = 1 + i / ERNIC_FLOW_TABLE_GROUPS;
        eth_group(eth, table, i, i, "");
        if (i % ERNIC_FLOW_TABLE_GROUPS == ERNIC_FLOW_TABLE_GROUPS - 1) {
            g_assert_cmpint(eth_call(eth, 0x933, "table_id=%u\nstart_flow_index=999\n"
                                     "end_flow_index=999", table), ==,
                            ERNIC_MLX5_NO_RESOURCE);
        }
    }
    IS(eth_call(eth, 0x933, "table_id=60"), ERNIC_MLX5_NO_RESOURCE);
    for (uint32_t i = 1; i <= ERNIC_LIM_FLOW_COUNTER; i++) {
        ETH_OK(eth, 0x939, "%s", "");
    }
    IS(eth_call(eth, 0x939, "%s", ""), ERNIC_MLX5_NO_RESOURCE);
}

/* As many entries as there can be: each is found, and the next one is refused. */
ETH_TEST("/mlx5/flow/entries", test_entries)
{
    uint32_t table = eth_table(eth, 1, 16, 0), group, tir;
    uint8_t key[ERNIC_FLOW_KEY_BYTES] = { };
    ErnicFlowResult result;

    group = eth_group(eth, table, 0, 65535, OUTER("dmac_15_0=0xffff"));
    tir = eth_tir(eth, eth_queue(eth, true, 3));
    ETH_OK(eth, 0x92f, "table_id=%u", table);
    for (uint32_t i = 0; i < ERNIC_LIM_FLOW_ENTRY; i++) {
        /* The order does not matter. */
        uint16_t value = i * 40503;
        ErnicFlowEntry entry = { .table = table, .group = group, .index = i, .tag = i,
                                 .num_dest = 1, .dest = { { false, tir } } };

        ernic_mlx5_put(entry.value, &ernic_mlx5_fte_match_set_lyr_2_4.dmac_15_0, value);
        OK(ernic_flow_entry_create(eth->e, &entry));
    }
    IS(eth_call(eth, 0x936, "table_id=%u\nflow_index=65535\nflow_context.group_id=%u\n"
                "flow_context.action=2", table, group), ERNIC_MLX5_NO_RESOURCE);
    for (uint32_t i = 0; i < ERNIC_LIM_FLOW_ENTRY; i++) {
        ernic_mlx5_put(key, &ernic_mlx5_fte_match_set_lyr_2_4.dmac_15_0,
                       (uint16_t)(i * 40503));
        ernic_flow_tables_find(eth->e, key, 60, &result);
        IS(result.num, 1);
        IS(result.dest[0].tag, i);
    }
}

/*
 * Tables that send each frame twice to the next level: a frame visits a bounded number
 * of them, and the work is charged.
 */
ETH_TEST("/mlx5/flow/fan-out", test_fan_out)
{
    uint32_t table[20];
    uint8_t key[ERNIC_FLOW_KEY_BYTES] = { };
    ErnicFlowResult result;
    uint64_t done;

    table[0] = eth_table(eth, 20, 0, 0);
    for (uint32_t i = 1; i < ARRAY_SIZE(table); i++) {
        ErnicFlowDest dest = { true, table[i - 1] };
        ErnicFlowEntry entry = { .num_dest = 2, .dest = { dest, dest } };

        table[i] = entry.table = eth_table(eth, 20 - i, 0, 0);
        entry.group = eth_group(eth, table[i], 0, 0, "");
        OK(ernic_flow_entry_create(eth->e, &entry));
    }
    ETH_OK(eth, 0x92f, "table_id=%u", table[ARRAY_SIZE(table) - 1]);
    done = eth->e->work.done;
    ernic_flow_tables_find(eth->e, key, 60, &result);
    g_assert_true(result.cut);
    IS(result.num, 0);
    g_assert_cmpuint(eth->e->work.done - done, >=, ERNIC_FLOW_STEPS);
    g_assert_cmpuint(eth->e->work.done - done, <, ERNIC_WORK_SLICE);
}

/* The driver is gone without destroying anything. */
LINUX_TEST("/mlx5/flow/teardown", test_teardown)
{
    const Frame f = { .ethertype = 0x806 };

    ETH_OK(&l->eth, 0x103, "%s", "");
    ernic_run(l->eth.e, l->eth.env.now);
    ETH_OK(&l->eth, 0x102, "%s", "");
    IS(find(&l->eth, &f).num, 0);
    IS(eth_call(&l->eth, 0x931, "table_id=%u", l->vlan), ERNIC_MLX5_NO_OBJECT);
    IS(l->eth.e->cq[ETH_CQ].refs, 0);
}
