/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Entries of the command queue, and chains of mailboxes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/mlx5/command/entry.h"
#include "interfaces/mlx5/layout/access.h"

/* The only type of entry: a command to this function. */
#define TYPE_COMMAND 7

bool ernic_mlx5_entry_posted(const uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE])
{
    return GET(bytes, cmd_queue_entry.ownership);
}

uint8_t ernic_mlx5_xor(const uint8_t *bytes, size_t len)
{
    uint8_t sum = 0;

    while (len--) {
        sum ^= bytes[len];
    }
    return sum;
}

/* Whether bits are set outside the fields of an entry. */
static bool reserved_set(const uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE])
{
    const ErnicMlx5Layout *layout = &ernic_mlx5_cmd_queue_entry.self;
    uint8_t known[ERNIC_MLX5_ENTRY_SIZE] = { };
    uint32_t f, i;

    for (f = 0; f < layout->num_fields; f++) {
        for (i = 0; i < layout->fields[f].count; i++) {
            ernic_mlx5_put_at(known, &layout->fields[f], i, UINT64_MAX);
        }
    }
    for (i = 0; i < ERNIC_MLX5_ENTRY_SIZE; i++) {
        if (bytes[i] & ~known[i]) {
            return true;
        }
    }
    return false;
}

static uint64_t address(uint64_t high, uint64_t bits_31_9)
{
    return high << 32 | bits_31_9 << 9;
}

/* Whether the word that ends an address has bits below those of @bits_31_9. */
static bool misaligned(const uint8_t *bytes, const ErnicMlx5Field *bits_31_9)
{
    return ldl_be_p(bytes + bits_31_9->offset / 8) % ERNIC_MLX5_BOX_ALIGN;
}

/* Bytes of a message of @len that are in mailboxes. */
static uint32_t after_inline(uint32_t len)
{
    return len > ERNIC_MLX5_INLINE_SIZE ? len - ERNIC_MLX5_INLINE_SIZE : 0;
}

static bool length_valid(uint32_t len, uint64_t box)
{
    return len >= ERNIC_MLX5_MESSAGE_MIN && len <= ERNIC_MLX5_MESSAGE_MAX &&
           (!after_inline(len) || box);
}

ErnicMlx5Delivery ernic_mlx5_entry_decode(const uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE],
                                          ErnicMlx5Entry *entry)
{
    uint64_t in = address(GET(bytes, cmd_queue_entry.input_mailbox_pointer_63_32),
                          GET(bytes, cmd_queue_entry.input_mailbox_pointer_31_9));
    uint64_t out = address(GET(bytes, cmd_queue_entry.output_mailbox_pointer_63_32),
                           GET(bytes, cmd_queue_entry.output_mailbox_pointer_31_9));
    uint8_t token = GET(bytes, cmd_queue_entry.token);

    entry->in_len = GET(bytes, cmd_queue_entry.input_length);
    entry->out_len = GET(bytes, cmd_queue_entry.output_length);
    if (GET(bytes, cmd_queue_entry.type) != TYPE_COMMAND) {
        return ERNIC_MLX5_DELIVERY_DESCRIPTOR;
    }
    if (misaligned(bytes, &ernic_mlx5_cmd_queue_entry.input_mailbox_pointer_31_9)) {
        return ERNIC_MLX5_DELIVERY_IN_ALIGN;
    }
    if (misaligned(bytes, &ernic_mlx5_cmd_queue_entry.output_mailbox_pointer_31_9)) {
        return ERNIC_MLX5_DELIVERY_OUT_ALIGN;
    }
    if (reserved_set(bytes)) {
        return ERNIC_MLX5_DELIVERY_RESERVED;
    }
    if (!length_valid(entry->in_len, in)) {
        return ERNIC_MLX5_DELIVERY_IN_LENGTH;
    }
    if (!length_valid(entry->out_len, out)) {
        return ERNIC_MLX5_DELIVERY_OUT_LENGTH;
    }
    memcpy(entry->in,
           PART(bytes, cmd_queue_entry.command_input_inline_data),
           ERNIC_MLX5_INLINE_SIZE);
    entry->in_chain = (ErnicMlx5Chain) {
        .addr = in, .left = after_inline(entry->in_len), .token = token,
    };
    entry->out_chain = (ErnicMlx5Chain) {
        .addr = out, .left = after_inline(entry->out_len), .token = token, .out = true,
    };
    return ERNIC_MLX5_DELIVERY_OK;
}

ErnicMlx5Delivery ernic_mlx5_chain_step(ErnicMlx5Chain *chain,
                                        const uint8_t box[ERNIC_MLX5_BOX_SIZE],
                                        uint32_t *len)
{
    uint64_t next = GET(box, cmd_prot_block.next);

    if (GET(box, cmd_prot_block.token) != chain->token) {
        return ERNIC_MLX5_DELIVERY_TOKEN;
    }
    if (GET(box, cmd_prot_block.block_num) != chain->number) {
        return ERNIC_MLX5_DELIVERY_BOX_NUMBER;
    }
    *len = MIN(chain->left, ERNIC_MLX5_BOX_DATA);
    if (chain->left > *len) {
        if (!next) {
            return chain->out ? ERNIC_MLX5_DELIVERY_OUT_LENGTH :
                                ERNIC_MLX5_DELIVERY_IN_LENGTH;
        }
        if (next % ERNIC_MLX5_BOX_ALIGN) {
            return chain->out ? ERNIC_MLX5_DELIVERY_OUT_ALIGN :
                                ERNIC_MLX5_DELIVERY_IN_ALIGN;
        }
    }
    chain->left -= *len;
    chain->addr = next;
    chain->number++;
    return ERNIC_MLX5_DELIVERY_OK;
}

void ernic_mlx5_entry_complete(uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE],
                               const uint8_t out[ERNIC_MLX5_INLINE_SIZE],
                               ErnicMlx5Delivery status)
{
    memcpy(PART(bytes, cmd_queue_entry.command_output_inline_data),
           out, ERNIC_MLX5_INLINE_SIZE);
    ernic_mlx5_put(bytes, &ernic_mlx5_cmd_queue_entry.status, status);
    ernic_mlx5_put(bytes, &ernic_mlx5_cmd_queue_entry.ownership, 1);
    ernic_mlx5_put(bytes, &ernic_mlx5_cmd_queue_entry.signature, 0);
    ernic_mlx5_put(bytes, &ernic_mlx5_cmd_queue_entry.signature,
                   ernic_mlx5_xor(bytes, ERNIC_MLX5_ENTRY_SIZE) ^ 0xff);
    ernic_mlx5_put(bytes, &ernic_mlx5_cmd_queue_entry.ownership, 0);
}
