/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Segmentation of a large TCP or UDP packet.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/segmentation.h"

/* Fields of TCP. FIN and PSH are those of the last frame, CWR of the first (RFC 3168). */
#define TCP_SEQUENCE    4
#define TCP_FLAGS       13
enum { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

bool ernic_segmentation_init(ErnicSegmentation *s, const uint8_t *frame, uint32_t head,
                             uint32_t mss)
{
    uint32_t l4;

    *s = (ErnicSegmentation) { .head = head, .mss = mss };
    ernic_inet_parse(&s->inet, frame, head);
    l4 = ernic_inet_l4_len(&s->inet, frame, head);
    return mss && l4 && s->inet.l4 + l4 == head && !s->inet.fragment && s->inet.to;
}

void ernic_segmentation_adapt(const ErnicSegmentation *s, uint8_t *frame, uint32_t len,
                              uint32_t index, bool last)
{
    uint8_t *ip = frame + s->inet.l3, *l4 = frame + s->inet.l4;
    uint32_t total = s->head + len - s->inet.l3;
    ErnicInet inet = s->inet;

    g_assert(s->inet.l3 < s->inet.l4 && s->inet.l4 < s->head && len && len <= s->mss);
    if (inet.v6) {
        stw_be_p(ip + 4, total - ERNIC_IP6_LEN);
    } else {
        stw_be_p(ip + 2, total);
        stw_be_p(ip + 4, lduw_be_p(ip + 4) + index);
    }
    if (inet.proto == ERNIC_IPPROTO_UDP) {
        stw_be_p(l4 + 4, s->head + len - inet.l4);
    } else {
        stl_be_p(l4 + TCP_SEQUENCE, ldl_be_p(l4 + TCP_SEQUENCE) + index * s->mss);
        l4[TCP_FLAGS] &= ~((last ? 0 : TCP_FIN | TCP_PSH) | (index ? TCP_CWR : 0));
    }
    inet.end = s->head + len;
    inet.complete = true;
    ernic_inet_set_l3(&inet, frame);
    ernic_inet_set_l4(&inet, frame);
}
