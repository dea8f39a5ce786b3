/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A hash of the headers, whose low bits index a table of receive work queues. A frame
 * without any of the hashed fields has the hash 0.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "objects/qp.h"
#include "steering/flow_key.h"
#include "steering/rss.h"
#include "trace.h"

/* Two addresses of IPv6 and two ports. */
#define INPUT_MAX (2 * 16 + 2 * 2)
QEMU_BUILD_BUG_ON(INPUT_MAX + 4 > ERNIC_RSS_KEY);

/* ---- the hash -------------------------------------------------------------- */

uint32_t ernic_toeplitz(const uint8_t key[ERNIC_RSS_KEY], const uint8_t *data,
                        uint32_t len)
{
    uint32_t window = ldl_be_p(key), hash = 0, i;
    int bit;

    g_assert(len <= ERNIC_RSS_KEY - 4);
    for (i = 0; i < len; i++) {
        for (bit = 7; bit >= 0; bit--) {
            hash ^= data[i] >> bit & 1 ? window : 0;
            window = window << 1 | (key[i + 4] >> bit & 1);
        }
    }
    return hash;
}

/*
 * Parts of the key that go into the hash, if they are requested and the frame has them.
 */
static const struct {
    uint32_t field;             /* ERNIC_HASH_* */
    uint16_t layers;            /* all of these */
    uint8_t offset, size;       /* in struct ernic_flow_key */
} inputs[] = {
#define AT(f) offsetof(struct ernic_flow_key, f)
    { ERNIC_HASH_SRC_IPV4, ERNIC_LAYER_IPV4, AT(src_ip), 4 },
    { ERNIC_HASH_DST_IPV4, ERNIC_LAYER_IPV4, AT(dst_ip), 4 },
    { ERNIC_HASH_SRC_IPV6, ERNIC_LAYER_IPV6, AT(src_ip), 16 },
    { ERNIC_HASH_DST_IPV6, ERNIC_LAYER_IPV6, AT(dst_ip), 16 },
    { ERNIC_HASH_SRC_TCP, ERNIC_LAYER_TCP, AT(src_port), 2 },
    { ERNIC_HASH_SRC_UDP, ERNIC_LAYER_UDP, AT(src_port), 2 },
    { ERNIC_HASH_DST_TCP, ERNIC_LAYER_TCP, AT(dst_port), 2 },
    { ERNIC_HASH_DST_UDP, ERNIC_LAYER_UDP, AT(dst_port), 2 },
#undef AT
};

uint32_t ernic_rss_pick(const ErnicRss *rss, const uint8_t *frame,
                        uint32_t len)
{
    uint8_t input[INPUT_MAX];
    struct ernic_flow_key key;
    uint16_t layers = ernic_flow_key(&key, frame, len);
    uint32_t n = 0, i;

    for (i = 0; i < G_N_ELEMENTS(inputs); i++) {
        if ((rss->fields & inputs[i].field) && (layers & inputs[i].layers)) {
            memcpy(input + n, (uint8_t *)&key + inputs[i].offset,
                   inputs[i].size);
            n += inputs[i].size;
        }
    }
    return rss->wq[ernic_toeplitz(rss->key, input, n) &
                   ((1u << rss->shift) - 1)];
}

/* ---- commands -------------------------------------------------------------- */

static uint8_t check_rss(Ernic *e, uint32_t uctx, const struct ernic_rss *init)
{
    uint32_t fields = le32_to_cpu(init->fields), i;

    if (!e->cfg.raw || !fields || (fields & ~ERNIC_HASH_FIELDS) ||
        init->shift > ERNIC_RSS_SHIFT_MAX) {
        return ERNIC_ERR_PARAM;
    }
    if (init->reserved[0] || init->reserved[1] || init->reserved[2]) {
        return ERNIC_ERR_RESERVED;
    }
    for (i = 0; i < ERNIC_RSS_TABLE_MAX; i++) {
        uint32_t wqn = le32_to_cpu(init->wq[i]);
        const ErnicQp *wq = ernic_qp_get(e, uctx, wqn);

        if (i >= 1u << init->shift) {
            if (wqn) {
                return ERNIC_ERR_RESERVED;
            }
        } else if (!wq || wq->type != ERNIC_QPT_RWQ) {
            return ERNIC_ERR_HANDLE;
        }
    }
    return ERNIC_OK;
}

uint8_t ernic_rss_create(Ernic *e, uint32_t uctx, const struct ernic_rss *init,
                         uint32_t *number)
{
    uint8_t status = check_rss(e, uctx, init);
    ErnicRss *rss;
    uint32_t n, i;

    if (status) {
        return status;
    }
    for (n = 1; n <= ERNIC_LIM_RSS && e->rss[n].used; n++) {
        continue;
    }
    if (n > ERNIC_LIM_RSS) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    rss = &e->rss[n];
    rss->used = true;
    rss->uctx = uctx;
    rss->shift = init->shift;
    rss->fields = le32_to_cpu(init->fields);
    memcpy(rss->key, init->key, sizeof(rss->key));
    for (i = 0; i < ERNIC_RSS_TABLE_MAX; i++) {
        rss->wq[i] = le32_to_cpu(init->wq[i]);
    }
    *number = ERNIC_RSS_QPN + n;
    trace_ernic_rss_create(*number, rss->fields, 1u << rss->shift);
    return ERNIC_OK;
}

const ErnicRss *ernic_rss_get(const Ernic *e, uint32_t uctx, uint32_t number)
{
    const ErnicRss *rss;

    if (number <= ERNIC_RSS_QPN || number > ERNIC_RSS_QPN + ERNIC_LIM_RSS) {
        return NULL;
    }
    rss = ernic_rss_at(e, number);
    return rss->used && rss->uctx == uctx ? rss : NULL;
}

uint8_t ernic_rss_destroy(Ernic *e, uint32_t uctx, uint32_t number)
{
    if (!ernic_rss_get(e, uctx, number)) {
        return ERNIC_ERR_HANDLE;
    }
    memset(&e->rss[number - ERNIC_RSS_QPN], 0, sizeof(*e->rss));
    trace_ernic_rss_destroy(number);
    return ERNIC_OK;
}

bool ernic_rss_uses(Ernic *e, uint32_t qpn)
{
    ernic_charge_objects(e, ERNIC_LIM_RSS);
    for (uint32_t n = 1; n <= ERNIC_LIM_RSS; n++) {
        const ErnicRss *rss = &e->rss[n];
        const uint32_t entries = rss->used ? 1u << rss->shift : 0;

        ernic_charge_walk(e, entries);
        for (uint32_t i = 0; i < entries; i++) {
            if (rss->wq[i] == qpn) {
                return true;
            }
        }
    }
    return false;
}
