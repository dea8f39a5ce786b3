/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * GIDs as text, for the tests of the UDP link.
 */
#ifndef GID_TEXT_H
#define GID_TEXT_H

#include "links/udp/peers.h"

static inline ErnicGid gid_of(const char *text)
{
    ErnicEndpoint ep;

    g_assert_true(ernic_endpoint_parse(text, &ep, NULL));
    return ep.addr;
}

static inline void assert_gid(const ErnicGid *gid, const char *text)
{
    ErnicGid want = gid_of(text);

    g_assert_cmpmem(gid, sizeof(*gid), &want, sizeof(want));
}

#endif /* GID_TEXT_H */
