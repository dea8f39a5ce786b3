/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The blocks of a capture file, in little-endian byte order. Errors are those
 * of the stream: the caller asks ferror().
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "capture/pcapng.h"

#define SECTION         0x0a0d0d0a
#define INTERFACE       1
#define PACKET          6
#define BYTE_ORDER_MAGIC 0x1a2b3c4d
#define LINK_ETHERNET   1
#define OPT_END         0
#define OPT_IF_NAME     2
#define OPT_IF_TSRESOL  9
#define OPT_EPB_FLAGS   2
#define INBOUND         1
#define OUTBOUND        2

/* A block that is being built. Type and length are filled in last. */
typedef struct Block {
    uint8_t data[96];
    uint32_t len;
} Block;

static void put32(Block *b, uint32_t value)
{
    stl_le_p(b->data + b->len, value);
    b->len += 4;
}

static void put_option(Block *b, uint16_t code, const void *value,
                       uint16_t len)
{
    put32(b, (uint32_t)len << 16 | code);
    memset(b->data + b->len, 0, ROUND_UP(len, 4));
    if (len) {
        memcpy(b->data + b->len, value, len);
    }
    b->len += ROUND_UP(len, 4);
}

static void write32(FILE *out, uint32_t value)
{
    uint8_t bytes[4];

    stl_le_p(bytes, value);
    fwrite(bytes, sizeof(bytes), 1, out);
}

/*
 * Write @b, @frame with its padding, and @tail; @frame and @tail may be NULL. Returns
 * the bytes.
 */
static uint32_t write_block(FILE *out, uint32_t type, const Block *b,
                            const uint8_t *frame, uint32_t frame_len,
                            const Block *tail)
{
    static const uint8_t zero[4];
    uint32_t pad = ROUND_UP(frame_len, 4) - frame_len;
    uint32_t len = 12 + b->len + frame_len + pad + (tail ? tail->len : 0);

    write32(out, type);
    write32(out, len);
    fwrite(b->data, b->len, 1, out);
    if (tail) {
        fwrite(frame, frame_len, 1, out);
        fwrite(zero, pad, 1, out);
        fwrite(tail->data, tail->len, 1, out);
    }
    write32(out, len);
    return len;
}

uint32_t ernic_pcapng_begin(FILE *out, uint32_t num)
{
    static const uint8_t nanoseconds = 9;
    Block head = { };
    uint32_t i, bytes;

    put32(&head, BYTE_ORDER_MAGIC);
    put32(&head, 1);                    /* version 1.0 */
    put32(&head, UINT32_MAX);           /* of unknown length */
    put32(&head, UINT32_MAX);
    bytes = write_block(out, SECTION, &head, NULL, 0, NULL);
    for (i = 0; i < num; i++) {
        Block b = { };
        char name[16];

        snprintf(name, sizeof(name), "port%u", i);
        put32(&b, LINK_ETHERNET);
        put32(&b, 0);                   /* frames are never cut */
        put_option(&b, OPT_IF_NAME, name, strlen(name));
        put_option(&b, OPT_IF_TSRESOL, &nanoseconds, 1);
        put_option(&b, OPT_END, NULL, 0);
        bytes += write_block(out, INTERFACE, &b, NULL, 0, NULL);
    }
    return bytes;
}

uint32_t ernic_pcapng_frame(FILE *out, uint32_t interface, bool sent, uint64_t ns,
                            const uint8_t *frame, uint32_t len)
{
    uint8_t flags[4] = { sent ? OUTBOUND : INBOUND };
    Block b = { }, tail = { };

    put32(&b, interface);
    put32(&b, ns >> 32);
    put32(&b, ns);
    put32(&b, len);
    put32(&b, len);
    put_option(&tail, OPT_EPB_FLAGS, flags, sizeof(flags));
    put_option(&tail, OPT_END, NULL, 0);
    return write_block(out, PACKET, &b, frame, len, &tail);
}
