/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The path of packets that arrive without their IP header. The link knows the two host
 * endpoints, and an endpoint may have several addresses. A datagram to the multicast
 * queue pair is for one of the groups that have members here. The ICRC covers the
 * addresses, so it identifies them.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "base/work.h"
#include "objects/mcast.h"
#include "trace.h"
#include "transport/rx.h"
#include "wire/headers.h"
#include "wire/icrc.h"

static bool to_multicast(const uint8_t *buf, uint32_t len)
{
    return len >= ERNIC_BTH_LEN &&
           ernic_bth_dest_qp(buf) == ERNIC_QPN_MULTICAST;
}

bool ernic_rx_may_be_to_group(const ErnicTrain *train)
{
    uint32_t pos;

    if (ernic_gid_is_mcast(&train->path.dgid)) {
        return false;
    }
    /* The host may have merged packets to a group with others of the same sender. */
    for (pos = 0; pos < train->len; pos += train->seg) {
        if (to_multicast(train->data + pos, train->len - pos)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether the ICRC of the packet at @buf covers @path. Also false if @budget is used up.
 */
static bool path_fits(Ernic *e, const ErnicPath *path, const uint8_t *buf, uint32_t len,
                      uint32_t *budget)
{
    ErnicIcrcCtx icrc;

    if (!*budget || ernic_gid_is_v4(&path->sgid) != ernic_gid_is_v4(&path->dgid)) {
        return false;
    }
    (*budget)--;
    ernic_charge_copy(e, len);          /* all of it is read */
    ernic_icrc_init(&icrc, path);
    return ernic_icrc_ok(&icrc, buf, len);
}

/* Try the destinations of @train with the source of @path. */
static bool find_dgid(Ernic *e, const ErnicTrain *train, ErnicPath *path,
                      const uint8_t *buf, uint32_t len, uint32_t *budget)
{
    const ErnicGid *group;
    uint32_t i, pos = 0;

    path->dgid = train->path.dgid;
    if (path_fits(e, path, buf, len, budget)) {
        return true;
    }
    for (i = 0; i < train->num_alt_dgid; i++) {
        path->dgid = train->alt_dgid[i];
        if (path_fits(e, path, buf, len, budget)) {
            return true;
        }
    }
    while (*budget && to_multicast(buf, len) &&
           (group = ernic_mcast_next_group(e, &pos))) {
        path->dgid = *group;
        if (path_fits(e, path, buf, len, budget)) {
            return true;
        }
    }
    return false;
}

void ernic_rx_path(Ernic *e, const ErnicTrain *train, uint32_t pos,
                   ErnicTrain *packet)
{
    uint32_t budget = ERNIC_RX_CANDIDATES, i;

    *packet = *train;
    packet->data += pos;
    packet->len = packet->seg = MIN(train->seg, train->len - pos);
    packet->num_alt_sgid = packet->num_alt_dgid = 0;
    packet->path_final = true;
    if (packet->len < ERNIC_BTH_LEN + ERNIC_ICRC_LEN ||
        find_dgid(e, train, &packet->path, packet->data, packet->len,
                      &budget)) {
        return;
    }
    for (i = 0; i < train->num_alt_sgid; i++) {
        packet->path.sgid = train->alt_sgid[i];
        if (find_dgid(e, train, &packet->path, packet->data, packet->len,
                      &budget)) {
            return;
        }
    }
    trace_ernic_rx_no_path(train->num_alt_sgid, train->num_alt_dgid, packet->len);
    packet->path = train->path;
}
