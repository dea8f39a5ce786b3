/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Entries of the mlx5 command queue and chains of mailboxes, valid and hostile.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/mlx5/command/entry.h"
#include "interfaces/mlx5/layout/fields.h"
#include "test.h"

#define TOKEN   0x5a
#define STATUS(name) ERNIC_MLX5_DELIVERY_##name
#define LINK    &ernic_mlx5_cmd_prot_block.next
#define NUMBER  &ernic_mlx5_cmd_prot_block.block_num
#define IN_BOX  0x123456000ull
#define OUT_BOX 0x765432200ull

static void put(uint8_t *bytes, const ErnicMlx5Field *field, uint64_t value)
{
    ernic_mlx5_put(bytes, field, value);
}

/* An entry as software posts it. */
static void make_entry(uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE], uint32_t in_len,
                       uint32_t out_len)
{
    memset(bytes, 0, ERNIC_MLX5_ENTRY_SIZE);
    bytes[0] = 7;
    stl_be_p(bytes + 4, in_len);
    stq_be_p(bytes + 8, IN_BOX);
    memset(bytes + 16, 0xc1, 16);
    stq_be_p(bytes + 48, OUT_BOX);
    stl_be_p(bytes + 56, out_len);
    bytes[60] = TOKEN;
    bytes[63] = 1;
}

/* One change of a valid entry each: the big-endian word at @offset becomes @value. */
static const struct {
    const char *name;
    uint32_t offset, value;
    ErnicMlx5Delivery status;
} entries[] = {
    { "type 0", 0, 0, ERNIC_MLX5_DELIVERY_DESCRIPTOR },
    { "type 6", 0, 0x06000000, ERNIC_MLX5_DELIVERY_DESCRIPTOR },
    { "reserved after type", 0, 0x07000001, ERNIC_MLX5_DELIVERY_RESERVED },
    { "reserved before status", 60, 0x5a000101, ERNIC_MLX5_DELIVERY_RESERVED },
    { "old status", 60, 0x5a0000ff, STATUS(OK) },
    { "no input", 4, 0, ERNIC_MLX5_DELIVERY_IN_LENGTH },
    { "short input", 4, 7, ERNIC_MLX5_DELIVERY_IN_LENGTH },
    { "shortest input", 4, 8, STATUS(OK) },
    { "longest input", 4, ERNIC_MLX5_MESSAGE_MAX, STATUS(OK) },
    { "long input", 4, ERNIC_MLX5_MESSAGE_MAX + 1, ERNIC_MLX5_DELIVERY_IN_LENGTH },
    { "all of the length", 4, 0xffffffff, ERNIC_MLX5_DELIVERY_IN_LENGTH },
    { "no answer", 56, 0, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
    { "short answer", 56, 7, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
    { "an answer of 12 bytes", 56, 12, STATUS(OK) },
    { "long answer", 56, 0x80000000, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
    { "input at 1", 12, 0x23456001, ERNIC_MLX5_DELIVERY_IN_ALIGN },
    { "input at 100", 12, 0x23456100, ERNIC_MLX5_DELIVERY_IN_ALIGN },
    { "answer at 1", 52, 0x65432001, ERNIC_MLX5_DELIVERY_OUT_ALIGN },
    { "answer at 100", 52, 0x65432100, ERNIC_MLX5_DELIVERY_OUT_ALIGN },
};

TEST("/mlx5/entry/hostile", test_hostile_entries)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(entries); i++) {
        uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE];
        ErnicMlx5Entry entry;

        g_test_message("%s", entries[i].name);
        make_entry(bytes, 1000, 1000);
        stl_be_p(bytes + entries[i].offset, entries[i].value);
        IS(ernic_mlx5_entry_decode(bytes, &entry), entries[i].status);
    }
}

/* A message with mailboxes needs the address of one; others do not. */
TEST("/mlx5/entry/no-address", test_no_address)
{
    static const struct {
        uint32_t in_len, out_len;
        ErnicMlx5Delivery status;
    } cases[] = {
        { 16, 16, STATUS(OK) },
        { 17, 16, ERNIC_MLX5_DELIVERY_IN_LENGTH },
        { 16, 17, ERNIC_MLX5_DELIVERY_OUT_LENGTH },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE];
        ErnicMlx5Entry entry;

        make_entry(bytes, cases[i].in_len, cases[i].out_len);
        stq_be_p(bytes + 8, 0);
        stq_be_p(bytes + 48, 0);
        IS(ernic_mlx5_entry_decode(bytes, &entry), cases[i].status);
    }
}

TEST("/mlx5/entry/complete", test_complete)
{
    uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE], before[ERNIC_MLX5_ENTRY_SIZE];
    uint8_t out[ERNIC_MLX5_INLINE_SIZE];

    make_entry(bytes, 16, 16);
    memcpy(before, bytes, sizeof(before));
    memset(out, 0x77, sizeof(out));
    ernic_mlx5_entry_complete(bytes, out, ERNIC_MLX5_DELIVERY_TOKEN);
    g_assert_false(ernic_mlx5_entry_posted(bytes));
    g_assert_cmpmem(bytes + 32, 16, out, 16);
    IS(bytes[63], ERNIC_MLX5_DELIVERY_TOKEN << 1);
    g_assert_cmpmem(bytes, 32, before, 32);
    g_assert_cmpmem(bytes + 48, 13, before + 48, 13);
    bytes[63] |= 1;
    IS(ernic_mlx5_xor(bytes, sizeof(bytes)), 0xff);
}

#define BOX(n) (0x10000ull + (n) * 1024)
#define MAX_BOXES 4

static void make_box(uint8_t box[ERNIC_MLX5_BOX_SIZE], uint32_t number, uint64_t next)
{
    memset(box, 0, ERNIC_MLX5_BOX_SIZE);
    put(box, &ernic_mlx5_cmd_prot_block.next, next);
    put(box, &ernic_mlx5_cmd_prot_block.block_num, number);
    put(box, &ernic_mlx5_cmd_prot_block.token, TOKEN);
}

/* A chain of all. */
static void make_boxes(uint8_t boxes[MAX_BOXES][ERNIC_MLX5_BOX_SIZE])
{
    for (uint32_t k = 0; k < MAX_BOXES; k++) {
        make_box(boxes[k], k, k + 1 < MAX_BOXES ? BOX(k + 1) : 0);
    }
}

/*
 * Walk a message of @len bytes in mailboxes through @boxes, as a device does. @steps:
 * mailboxes that were read.
 */
static ErnicMlx5Delivery walk(uint8_t boxes[MAX_BOXES][ERNIC_MLX5_BOX_SIZE],
                              uint32_t len, bool out, uint32_t *steps, uint32_t *sum)
{
    ErnicMlx5Chain chain = {
        .addr = BOX(0), .left = len, .token = TOKEN, .out = out,
    };
    ErnicMlx5Delivery status = STATUS(OK);
    uint32_t n;

    *steps = *sum = 0;
    while (chain.left && status == STATUS(OK)) {
        uint32_t i = (chain.addr - BOX(0)) / 1024;

        g_assert_cmpuint(i, <, MAX_BOXES);
        ++*steps;
        g_assert_cmpuint(*steps, <=, MAX_BOXES + 1);
        status = ernic_mlx5_chain_step(&chain, boxes[i], &n);
        *sum += status == STATUS(OK) ? n : 0;
    }
    return status;
}

/* One change of a chain of four mailboxes, for a message that needs all of them. */
static const struct {
    const char *name;
    uint32_t box;
    const ErnicMlx5Field *field;
    uint64_t value;
    ErnicMlx5Delivery in, out;
    uint32_t steps;
} chains[] = {
    { "token of the first", 0, &ernic_mlx5_cmd_prot_block.token, 0,
      STATUS(TOKEN), STATUS(TOKEN), 1 },
    { "token of the last", 3, &ernic_mlx5_cmd_prot_block.token, TOKEN + 1,
      STATUS(TOKEN), STATUS(TOKEN), 4 },
    { "number of the first", 0, NUMBER, 1, STATUS(BOX_NUMBER), STATUS(BOX_NUMBER), 1 },
    { "number of the second", 1, NUMBER, 0xffffffff,
      STATUS(BOX_NUMBER), STATUS(BOX_NUMBER), 2 },
    { "a link to itself", 0, LINK, BOX(0), STATUS(BOX_NUMBER), STATUS(BOX_NUMBER), 2 },
    { "a circle of three", 2, LINK, BOX(0), STATUS(BOX_NUMBER), STATUS(BOX_NUMBER), 4 },
    { "a link that skips one", 0, LINK, BOX(2),
      STATUS(BOX_NUMBER), STATUS(BOX_NUMBER), 2 },
    { "too short", 2, LINK, 0, STATUS(IN_LENGTH), STATUS(OUT_LENGTH), 3 },
    { "a link at 8", 0, LINK, BOX(1) + 8, STATUS(IN_ALIGN), STATUS(OUT_ALIGN), 1 },
    { "a link at 256", 1, LINK, BOX(1) + 256, STATUS(IN_ALIGN), STATUS(OUT_ALIGN), 2 },
};

TEST("/mlx5/chain/hostile", test_hostile_chains)
{
    uint8_t boxes[MAX_BOXES][ERNIC_MLX5_BOX_SIZE];
    uint32_t steps, sum, len = MAX_BOXES * ERNIC_MLX5_BOX_DATA;

    for (uint32_t i = 0; i < ARRAY_SIZE(chains); i++) {
        g_test_message("%s", chains[i].name);
        make_boxes(boxes);
        put(boxes[chains[i].box], chains[i].field, chains[i].value);
        IS(walk(boxes, len, false, &steps, &sum), chains[i].in);
        IS(steps, chains[i].steps);
        IS(sum, (steps - 1) * ERNIC_MLX5_BOX_DATA);
        IS(walk(boxes, len, true, &steps, &sum), chains[i].out);
    }
}

/* Memory that changes under the walk: it ends after the mailboxes of the message. */
TEST("/mlx5/chain/changing-memory", test_changing_memory)
{
    ErnicMlx5Chain chain = {
        .addr = BOX(0), .token = TOKEN,
        .left = ERNIC_MLX5_MESSAGE_MAX - ERNIC_MLX5_INLINE_SIZE,
    };
    uint32_t need = DIV_ROUND_UP(chain.left, ERNIC_MLX5_BOX_DATA), steps = 0, n;
    uint8_t box[ERNIC_MLX5_BOX_SIZE];

    while (chain.left) {
        make_box(box, steps, BOX(0));
        IS(ernic_mlx5_chain_step(&chain, box, &n), STATUS(OK));
        steps++;
    }
    IS(steps, need);
}
