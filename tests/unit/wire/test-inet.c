/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Checksums of packets with routing headers of IPv6: the pseudo header has the last
 * destination while segments are left.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "test.h"
#include "wire/segmentation.h"

#define IP      14
#define EXT     (IP + 40)       /* the first extension header */
#define DATA    33

/* Byte @i of address @n. */
static uint8_t address_byte(uint32_t n, uint32_t i)
{
    return n * 41 + i * 3 + 1;
}

static void put_address(uint8_t *to, uint32_t n)
{
    for (uint32_t i = 0; i < 16; i++) {
        to[i] = address_byte(n, i);
    }
}

/* Address 0 is the source, 1 in the IP header; the list has the others, in its order. */
static const struct {
    const char *name;
    uint8_t type, left, addresses;
    uint8_t words;              /* of 8 bytes, after the list */
    uint8_t last;               /* the address in the pseudo header; 0: not known */
} routes[] = {
    { "source route", 0, 1, 2, 0, 3 },
    { "at its end", 0, 0, 2, 0, 1 },
    { "mobile", 2, 1, 1, 0, 2 },
    { "segments", 4, 2, 3, 0, 2 },
    { "segments and more", 4, 1, 2, 3, 2 },
    { "segments at their end", 4, 0, 2, 0, 1 },
    { "compressed", 3, 1, 2, 0, 0 },
    { "compressed at its end", 3, 0, 2, 0, 1 },
    { "no address", 0, 1, 0, 1, 0 },
    { "no segment", 4, 1, 0, 0, 0 },
};

/* The headers of a datagram with route @i, without lengths; returns their bytes. */
static uint32_t make(uint32_t i, uint8_t *to)
{
    uint32_t n = routes[i].addresses, at = EXT;

    memset(to, 0, 256);
    stw_be_p(to + 12, 0x86dd);
    to[IP] = 0x60;
    to[IP + 6] = 43;
    put_address(to + IP + 8, 0);
    put_address(to + IP + 24, 1);
    to[at] = 17;
    to[at + 1] = n * 2 + routes[i].words;
    to[at + 2] = routes[i].type;
    to[at + 3] = routes[i].left;
    for (uint32_t k = 0; k < n; k++) {
        put_address(to + at + 8 + 16 * k, k + 2);
    }
    at += 8 + 8 * to[at + 1];
    stl_be_p(to + at, 0x12345678);
    return at + 8;
}

/* The sum of a datagram of @len bytes from address 0 to address @last, RFC 1071. */
static uint16_t datagram_sum(const uint8_t *udp, uint32_t len, uint32_t last)
{
    uint8_t bytes[256] = { };
    uint32_t sum = 0;

    put_address(bytes, 0);
    put_address(bytes + 16, last);
    stl_be_p(bytes + 32, len);
    bytes[39] = 17;
    memcpy(bytes + 40, udp, len);
    for (uint32_t i = 0; i < 40 + len; i += 2) {
        sum += lduw_be_p(bytes + i);
    }
    return (sum & 0xffff) + (sum >> 16);
}

/* Complete a packet with DATA bytes after its headers, as its software does. */
static uint32_t complete(uint8_t *frame, uint32_t head)
{
    memset(frame + head, 0x5a, DATA);
    stw_be_p(frame + IP + 4, head + DATA - EXT);
    stw_be_p(frame + head - 4, 8 + DATA);
    return head + DATA;
}

TEST("/inet/route-sum", test_route_sum)
{
    uint8_t frame[512];
    ErnicInet inet;

    for (uint32_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        uint32_t head = make(i, frame), len = complete(frame, head);

        g_test_message("%s", routes[i].name);
        ernic_inet_parse(&inet, frame, len);
        IS(inet.l4, head - 8);
        stw_be_p(frame + head - 2, 0xbad0);
        ernic_inet_set_l4(&inet, frame);
        if (!routes[i].last) {
            IS(lduw_be_p(frame + head - 2), 0xbad0);
            g_assert_false(ernic_inet_l4_ok(&inet, frame));
            continue;
        }
        IS(datagram_sum(frame + head - 8, 8 + DATA, routes[i].last), 0xffff);
        g_assert_true(ernic_inet_l4_ok(&inet, frame));
        frame[head] ^= 1;
        g_assert_false(ernic_inet_l4_ok(&inet, frame));
    }
}

/* Frames of a large packet have this sum, too; a route that is not known refuses it. */
TEST("/inet/route-large", test_route_large)
{
    uint8_t frame[512];
    ErnicSegmentation s;

    for (uint32_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        uint32_t head = make(i, frame);

        g_test_message("%s", routes[i].name);
        IS(ernic_segmentation_init(&s, frame, head, DATA), routes[i].last != 0);
        if (routes[i].last) {
            memset(frame + head, 0xa5, DATA);
            ernic_segmentation_adapt(&s, frame, DATA, 0, true);
            IS(datagram_sum(frame + head - 8, 8 + DATA, routes[i].last), 0xffff);
        }
    }
}

/* A list that ends outside the frame. */
TEST("/inet/route-cut", test_route_cut)
{
    ErnicInet inet;

    for (uint32_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        uint8_t whole[512];
        uint32_t len = complete(whole, make(i, whole));

        for (uint32_t cut = 0; cut < len; cut++) {
            g_autofree uint8_t *frame = g_memdup2(whole, cut);

            ernic_inet_parse(&inet, frame, cut);
            g_assert_false(ernic_inet_l4_ok(&inet, frame));
            ernic_inet_set_l4(&inet, frame);
            g_assert_true(!cut || !memcmp(frame, whole, cut));
        }
    }
}
