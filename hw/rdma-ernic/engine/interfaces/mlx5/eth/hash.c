/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Selection of the receive queue of a frame by a TIR: the hash of its headers, whose
 * low bits index a table of receive queues.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/eth/objects.h"

/* Two addresses of IPv6, and two ports or a security parameter index. */
#define INPUT_MAX   36

/*
 * rss_hash_type: from the least significant bits on, what the addresses of source and
 * destination are, and the ports of source and destination.
 */
enum { TYPE_IPV4 = 1, TYPE_IPV6 = 2, TYPE_TCP = 1, TYPE_UDP = 2, TYPE_SPI = 3 << 2 };
#define TYPE_BITS   2
#define TYPE_PORTS  4

/* A pair of fields in a frame, and the bits that select them. */
typedef struct Pair {
    const uint8_t *src, *dst;
    uint32_t len;               /* of each */
    uint32_t src_bit, dst_bit;
} Pair;

/* Append the fields of @p that @tir selects; the smaller first in a symmetric hash. */
static uint32_t put_pair(const ErnicMlx5Tir *tir, Pair p, uint8_t *to)
{
    bool src = tir->selected & p.src_bit, dst = tir->selected & p.dst_bit;
    uint32_t n = 0;

    if (tir->symmetric && src && dst && memcmp(p.src, p.dst, p.len) > 0) {
        const uint8_t *swap = p.src;

        p.src = p.dst;
        p.dst = swap;
    }
    if (src) {
        memcpy(to, p.src, p.len);
        n = p.len;
    }
    if (dst) {
        memcpy(to + n, p.dst, p.len);
        n += p.len;
    }
    return n;
}

static uint8_t pair_type(const ErnicMlx5Tir *tir, const Pair *p, uint8_t kind)
{
    return (tir->selected & p->src_bit ? kind : 0) |
           (tir->selected & p->dst_bit ? kind << TYPE_BITS : 0);
}

uint32_t ernic_mlx5_hash(const ErnicMlx5Tir *tir, const ErnicMlx5Headers *h,
                         uint8_t *type)
{
    const Pair addresses = {
        h->key.src_ip, h->key.dst_ip, tir->ipv6 ? 16 : 4,
        ERNIC_MLX5_SELECT_SRC_IP, ERNIC_MLX5_SELECT_DST_IP,
    };
    const Pair ports = {
        h->key.src_port, h->key.dst_port, 2,
        ERNIC_MLX5_SELECT_SPORT, ERNIC_MLX5_SELECT_DPORT,
    };
    uint8_t input[INPUT_MAX], xor = 0;
    uint32_t n, i;

    *type = 0;
    if (tir->hash == ERNIC_MLX5_HASH_NONE || !tir->selected ||
        !(h->layers & (tir->ipv6 ? ERNIC_LAYER_IPV6 : ERNIC_LAYER_IPV4))) {
        return 0;
    }
    n = put_pair(tir, addresses, input);
    *type = pair_type(tir, &addresses, tir->ipv6 ? TYPE_IPV6 : TYPE_IPV4);
    if (h->layers & (tir->udp ? ERNIC_LAYER_UDP : ERNIC_LAYER_TCP)) {
        n += put_pair(tir, ports, input + n);
        *type |= pair_type(tir, &ports, tir->udp ? TYPE_UDP : TYPE_TCP) << TYPE_PORTS;
    } else if (h->ipsec && tir->selected & ERNIC_MLX5_SELECT_SPI) {
        memcpy(input + n, h->spi, sizeof(h->spi));
        n += sizeof(h->spi);
        *type |= TYPE_SPI << TYPE_PORTS;
    }
    if (tir->hash == ERNIC_MLX5_HASH_TOEPLITZ) {
        return ernic_toeplitz(tir->key, input, n);
    }
    for (i = 0; i < n; i++) {
        xor ^= input[i];
    }
    return (uint8_t)~xor;
}

uint32_t ernic_mlx5_receive_queue(const Ernic *e, const ErnicMlx5Tir *tir, uint32_t hash)
{
    const ErnicMlx5Rqt *rqt;

    if (!tir->indirect) {
        return tir->queue;
    }
    rqt = &e->mlx5_eth->rqt[tir->queue];
    return rqt->rq[hash % rqt->num];
}
