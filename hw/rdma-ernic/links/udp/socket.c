/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One UDP socket as a link. A train is one datagram for the kernel, which
 * splits it (UDP_SEGMENT) as late as possible and merges it (UDP_GRO) as early
 * as possible. Between two sockets of one host it is never split.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include "links/udp/socket.h"

/* Linux has these, but not the headers of every C library. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT     103
#endif
#ifndef UDP_GRO
#define UDP_GRO         104
#endif

#define IP4_OFS         12      /* of the IPv4 address in an IPv4-mapped one */
#define MAX_BATCH       64u
#define MAX_SEGMENTS    64u     /* the lowest limit of any kernel */
#define MAX_DATAGRAM    65487u  /* 65535 less IPv6 and UDP headers */
#define DEFAULT_BATCH   16u
#define DEFAULT_BUF     65536u
#define DEFAULT_SOCKET  (4u * 1024 * 1024)
#define HOP_LIMIT       64      /* the default of Linux; it is not received */
/* Packet info, traffic class, segment size and overflow count. */
#define CONTROL_BYTES                                                       \
    (CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) + \
     CMSG_SPACE(sizeof(uint32_t)))

typedef union SockAddr {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} SockAddr;

/* The buffers for one received datagram. */
typedef struct Slot {
    struct iovec iov;
    SockAddr from;
    char control[CONTROL_BYTES] QEMU_ALIGNED(sizeof(size_t));
    /*
     * The addresses of sender and receiver; the first of each is in the path of
     * the train.
     */
    ErnicGid sgid[ERNIC_PEERS_ALIASES], dgid[ERNIC_PEERS_ALIASES];
} Slot;

struct ErnicUdp {
    int fd;
    bool is_v6;
    bool wildcard;              /* bound to all addresses of the host */
    bool offload;
    ErnicEndpoint own;          /* as bound */
    ErnicGid own_gid[ERNIC_PEERS_ALIASES];        /* the RDMA address that it
                                                   stands for; not with
                                                   wildcard */
    uint32_t own_gids;
    ErnicPeers *map;
    ErnicUdpStats stats;

    /* The train that the socket cut short, per engine; serial 0: none. */
    struct {
        uint64_t serial;
        uint32_t sent;          /* bytes of it that have left */
    } cut[ERNIC_UDP_OWNERS];

    uint32_t batch, buf_bytes;
    uint32_t want, used;        /* slots of the next call and of the last */
    uint32_t kernel_drops;      /* as last reported; wraps */
    uint8_t *mem;
    Slot *slot;
    struct mmsghdr *msg;
    ErnicTrain *train;
};

static const char *const drop_names[ERNIC_UDP_DROP_COUNT] = {
#define ERNIC_UDP_DROP_NAME(sym, name) [ERNIC_UDP_DROP_##sym] = name,
    ERNIC_UDP_DROPS(ERNIC_UDP_DROP_NAME)
#undef ERNIC_UDP_DROP_NAME
};

const char *ernic_udp_drop_name(uint32_t reason)
{
    return reason < ERNIC_UDP_DROP_COUNT ? drop_names[reason] : "invalid";
}

int ernic_udp_fd(const ErnicUdp *udp)
{
    return udp->fd;
}

uint16_t ernic_udp_port(const ErnicUdp *udp)
{
    return udp->own.port;
}

bool ernic_udp_has_offload(const ErnicUdp *udp)
{
    return udp->offload;
}

const ErnicUdpStats *ernic_udp_stats(const ErnicUdp *udp)
{
    return &udp->stats;
}

static uint32_t packets_of(uint32_t len, uint32_t seg)
{
    return seg ? DIV_ROUND_UP(len, seg) : 1;
}

/* ---- addresses ----------------------------------------------------------- */

static socklen_t to_sockaddr(const ErnicEndpoint *ep, SockAddr *sa)
{
    memset(sa, 0, sizeof(*sa));
    if (ernic_gid_is_v4(&ep->addr)) {
        sa->v4.sin_family = AF_INET;
        sa->v4.sin_port = htons(ep->port);
        memcpy(&sa->v4.sin_addr, ep->addr.raw + IP4_OFS, 4);
        return sizeof(sa->v4);
    }
    sa->v6.sin6_family = AF_INET6;
    sa->v6.sin6_port = htons(ep->port);
    memcpy(&sa->v6.sin6_addr, ep->addr.raw, 16);
    return sizeof(sa->v6);
}

static void gid_of_ip4(ErnicGid *gid, const struct in_addr *addr)
{
    memset(gid->raw, 0, IP4_OFS - 2);
    memset(gid->raw + IP4_OFS - 2, 0xff, 2);
    memcpy(gid->raw + IP4_OFS, addr, 4);
}

static void from_sockaddr(const SockAddr *sa, ErnicEndpoint *ep)
{
    if (sa->sa.sa_family == AF_INET) {
        gid_of_ip4(&ep->addr, &sa->v4.sin_addr);
        ep->port = ntohs(sa->v4.sin_port);
    } else {
        memcpy(ep->addr.raw, &sa->v6.sin6_addr, 16);
        ep->port = ntohs(sa->v6.sin6_port);
    }
}

/* The RDMA address of the socket's own endpoint if that is @host. */
static uint32_t own_gids(const ErnicUdp *udp, const ErnicGid *host, ErnicGid *gid)
{
    ErnicEndpoint ep = { .addr = *host, .port = udp->own.port };
    uint32_t n = ernic_peers_to_guest(udp->map, &ep, gid);

    if (!n) {
        gid[n++] = *host;
    }
    return n;
}

/*
 * A peer with the same RDMA and host address may be a native RoCEv2 NIC, whose
 * ICRC covers the IPv4 identification. Segmentation increments it in each
 * packet, except on loopback, where no header is looked at.
 */
static bool may_be_native(const ErnicPeer *peer)
{
    return ernic_gid_is_v4(&peer->host) && peer->host.raw[IP4_OFS] != 127 &&
           memcmp(&peer->guest, &peer->host, sizeof(peer->guest)) == 0;
}

bool ernic_udp_add_peer(ErnicUdp *udp, const char *text, char **err)
{
    ErnicPeer peer;

    if (!ernic_peer_parse(text, &peer, err)) {
        return false;
    }
    if (ernic_gid_is_v4(&peer.host) == udp->is_v6) {
        if (err) {
            *err = g_strdup_printf("'%s': the socket is bound to IPv%d", text,
                                   udp->is_v6 ? 6 : 4);
        }
        return false;
    }
    peer.single = may_be_native(&peer);
    if (!ernic_peers_add(udp->map, &peer, err)) {
        return false;
    }
    udp->own_gids = own_gids(udp, &udp->own.addr, udp->own_gid);
    return true;
}

bool ernic_udp_remove_peer(ErnicUdp *udp, const char *guest, char **err)
{
    if (!ernic_peers_remove(udp->map, guest, err)) {
        return false;
    }
    udp->own_gids = own_gids(udp, &udp->own.addr, udp->own_gid);
    return true;
}

/* ---- the socket ---------------------------------------------------------- */

static bool set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/*
 * If the forced size is refused, the socket gets the limit of ordinary users.
 */
static void set_buffer(int fd, int force, int name, uint32_t bytes)
{
    if (!set_int(fd, SOL_SOCKET, force, bytes)) {
        set_int(fd, SOL_SOCKET, name, bytes);
    }
}

/* Set the options that affect the contents of packets; false with errno set. */
static bool set_options(ErnicUdp *udp)
{
    int fd = udp->fd;

    set_int(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    if (udp->is_v6) {
        return set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
               set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
                       IPV6_PMTUDISC_DO) &&
               set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
               set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, udp->wildcard);
    }
    /* Sets DF, and so identification 0; the ICRC covers both. */
    return set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) &&
           set_int(fd, IPPROTO_IP, IP_RECVTOS, 1) &&
           set_int(fd, IPPROTO_IP, IP_PKTINFO, udp->wildcard);
}

static bool open_socket(ErnicUdp *udp, const ErnicUdpConfig *cfg)
{
    uint32_t bytes = cfg->socket_bytes ? cfg->socket_bytes : DEFAULT_SOCKET;
    SockAddr sa;
    socklen_t len = to_sockaddr(&udp->own, &sa);

    udp->fd = socket(sa.sa.sa_family,
                     SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (udp->fd < 0 || !set_options(udp)) {
        return false;
    }
    set_buffer(udp->fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
    set_buffer(udp->fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
    /* Without UDP_GRO the kernel splits on arrival: correct, but slower. */
    udp->offload = !cfg->no_offload &&
                   set_int(udp->fd, IPPROTO_UDP, UDP_SEGMENT, 0);
    if (udp->offload) {
        set_int(udp->fd, IPPROTO_UDP, UDP_GRO, 1);
    }
    if (bind(udp->fd, &sa.sa, len) < 0 ||
        getsockname(udp->fd, &sa.sa, &len) < 0) {
        return false;
    }
    from_sockaddr(&sa, &udp->own);
    return true;
}

static void alloc_ring(ErnicUdp *udp)
{
    uint32_t i;

    udp->mem = g_malloc((size_t)udp->batch * udp->buf_bytes);
    udp->slot = g_new0(Slot, udp->batch);
    udp->msg = g_new0(struct mmsghdr, udp->batch);
    udp->train = g_new0(ErnicTrain, udp->batch);
    for (i = 0; i < udp->batch; i++) {
        Slot *slot = &udp->slot[i];
        struct msghdr *hdr = &udp->msg[i].msg_hdr;

        slot->iov.iov_base = udp->mem + (size_t)i * udp->buf_bytes;
        slot->iov.iov_len = udp->buf_bytes;
        hdr->msg_iov = &slot->iov;
        hdr->msg_iovlen = 1;
        hdr->msg_name = &slot->from;
        hdr->msg_control = slot->control;
    }
    udp->want = 1;
    udp->used = udp->batch;
}

/* "127.0.0.1:4791" or "[::1]:4791". */
static char *endpoint_text(const ErnicEndpoint *ep)
{
    char addr[INET6_ADDRSTRLEN];

    return g_strdup_printf(ernic_gid_is_v4(&ep->addr) ? "%s:%u" : "[%s]:%u",
                           ernic_udp_addr_text(&ep->addr, addr), ep->port);
}

ErnicUdp *ernic_udp_new(const ErnicUdpConfig *cfg, char **err)
{
    static const ErnicGid any4 = { .raw = { [10] = 0xff, [11] = 0xff } };
    static const ErnicGid any6;
    ErnicEndpoint own;
    ErnicUdp *udp;

    if (!ernic_endpoint_parse(cfg->bind, &own, err)) {
        return NULL;
    }
    udp = g_new0(ErnicUdp, 1);
    udp->own = own;
    udp->is_v6 = !ernic_gid_is_v4(&own.addr);
    udp->wildcard = memcmp(&own.addr, udp->is_v6 ? &any6 : &any4,
                           sizeof(own.addr)) == 0;
    udp->batch = cfg->batch ? MIN(cfg->batch, MAX_BATCH) : DEFAULT_BATCH;
    udp->buf_bytes = cfg->buf_bytes ? MIN(cfg->buf_bytes, DEFAULT_BUF)
                                    : DEFAULT_BUF;
    udp->map = ernic_peers_new();
    alloc_ring(udp);
    if (!open_socket(udp, cfg)) {
        if (err) {
            const char *why = g_strerror(errno);
            g_autofree char *place = endpoint_text(&udp->own);

            *err = g_strdup_printf("UDP socket on %s: %s", place, why);
        }
        ernic_udp_free(udp);
        return NULL;
    }
    udp->own_gids = own_gids(udp, &udp->own.addr, udp->own_gid);
    return udp;
}

void ernic_udp_free(ErnicUdp *udp)
{
    if (!udp) {
        return;
    }
    if (udp->fd >= 0) {
        close(udp->fd);
    }
    ernic_peers_free(udp->map);
    g_free(udp->train);
    g_free(udp->msg);
    g_free(udp->slot);
    g_free(udp->mem);
    g_free(udp);
}

/* ---- sending ------------------------------------------------------------- */

/* Append one control message; @hdr's control buffer is big enough. */
static void put_control(struct msghdr *hdr, int level, int type,
                        const void *data, size_t len)
{
    struct cmsghdr *cmsg =
        (struct cmsghdr *)((char *)hdr->msg_control + hdr->msg_controllen);

    cmsg->cmsg_level = level;
    cmsg->cmsg_type = type;
    cmsg->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(cmsg), data, len);
    hdr->msg_controllen += CMSG_SPACE(len);
}

/* With a wildcard socket the kernel would choose the source address. */
static void put_source(struct msghdr *hdr, bool is_v6, const ErnicGid *host)
{
    struct in6_pktinfo info6 = { 0 };
    struct in_pktinfo info4 = { 0 };

    if (is_v6) {
        memcpy(&info6.ipi6_addr, host->raw, 16);
        put_control(hdr, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
    } else {
        memcpy(&info4.ipi_spec_dst, host->raw + IP4_OFS, 4);
        put_control(hdr, IPPROTO_IP, IP_PKTINFO, &info4, sizeof(info4));
    }
}

/*
 * Prepare address and control data of all datagrams of @train; false: unknown
 * peer.
 */
static bool prepare_to(ErnicUdp *udp, const ErnicTrain *train,
                       const ErnicEndpoint *dst, Slot *slot, struct msghdr *hdr)
{
    int tclass = train->path.tclass;
    ErnicEndpoint src;

    hdr->msg_name = &slot->from;
    hdr->msg_namelen = to_sockaddr(dst, &slot->from);
    hdr->msg_iov = &slot->iov;
    hdr->msg_iovlen = 1;
    hdr->msg_control = slot->control;
    if (tclass) {
        put_control(hdr, udp->is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                    udp->is_v6 ? IPV6_TCLASS : IP_TOS, &tclass, sizeof(tclass));
    }
    if (udp->wildcard) {
        if (!ernic_peers_to_host(udp->map, &train->path.sgid, &src)) {
            return false;
        }
        put_source(hdr, udp->is_v6, &src.addr);
    }
    return true;
}

/* The same for the peer that @train names; false: there is no such peer. */
static bool prepare(ErnicUdp *udp, const ErnicTrain *train, Slot *slot,
                    struct msghdr *hdr, ErnicPeer **peer)
{
    ErnicEndpoint dst;

    *peer = ernic_peers_to_host(udp->map, &train->path.dgid, &dst);
    return *peer && prepare_to(udp, train, &dst, slot, hdr);
}

/*
 * Send one datagram, which the kernel splits if it is longer than @seg. Returns
 * 0 or errno.
 */
static int send_chunk(const ErnicUdp *udp, const struct msghdr *common,
                      const uint8_t *data, uint32_t len, uint32_t seg)
{
    struct msghdr hdr = *common;
    uint16_t gso = seg;

    hdr.msg_iov->iov_base = (void *)data;
    hdr.msg_iov->iov_len = len;
    if (len > seg) {
        put_control(&hdr, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof(gso));
    }
    if (hdr.msg_controllen == 0) {
        hdr.msg_control = NULL;
    }
    return sendmsg(udp->fd, &hdr, 0) < 0 ? errno : 0;
}

static void count_sent(ErnicUdp *udp, uint32_t len, uint32_t seg)
{
    udp->stats.tx_packets += packets_of(len, seg);
    udp->stats.tx_bytes += len;
}

static void drop_rest(ErnicUdp *udp, const ErnicTrain *train, uint32_t off,
                      ErnicUdpDrop reason)
{
    udp->stats.drop[reason] += packets_of(train->len - off, train->seg);
}

/* ---- groups -------------------------------------------------------------- */

/* A train to a multicast group, and what has become of its copies. */
typedef struct Copies {
    ErnicUdp *udp;
    const ErnicTrain *train;
    ErnicEndpoint own;          /* endpoint of the sender */
    uint32_t sent;              /* copies */
    bool busy;                  /* the socket took no more */
} Copies;

static bool is_own(const Copies *c, const ErnicPeer *peer)
{
    return peer->port == c->own.port &&
           memcmp(&peer->host, &c->own.addr, sizeof(peer->host)) == 0;
}

/*
 * One copy, packet by packet. A native RoCEv2 peer expects the group's own address in
 * the IP header, and gets none. A full socket loses the copies that are left, if there
 * is no way back to the first: a datagram may be lost, and none must come twice.
 */
static void send_copy(ErnicPeer *peer, void *opaque)
{
    Copies *c = opaque;
    ErnicUdp *udp = c->udp;
    ErnicEndpoint dst = { .addr = peer->host, .port = peer->port };
    uint32_t seg = MIN(c->train->seg, MAX_DATAGRAM), off, n;
    struct msghdr hdr = { 0 };
    ErnicUdpDrop why;
    Slot slot;
    int err;

    if (c->busy || is_own(c, peer) || may_be_native(peer)) {
        return;
    }
    if (!prepare_to(udp, c->train, &dst, &slot, &hdr)) {
        drop_rest(udp, c->train, 0, ERNIC_UDP_DROP_UNKNOWN_DEST);
        return;
    }
    for (off = 0; off < c->train->len; off += n) {
        n = MIN(seg, c->train->len - off);
        err = send_chunk(udp, &hdr, c->train->data + off, n, seg);
        if (err == EAGAIN && !c->sent && !off) {
            c->busy = true;
            return;
        }
        if (err) {
            why = err == EAGAIN ? ERNIC_UDP_DROP_COPY :
                  err == EMSGSIZE ? ERNIC_UDP_DROP_TOO_BIG :
                                    ERNIC_UDP_DROP_SEND_ERROR;
            drop_rest(udp, c->train, off, why);
            break;
        }
        count_sent(udp, n, seg);
    }
    c->sent++;
}

/*
 * The host knows nothing of the guests' groups: each peer gets a copy, and takes it if
 * it has members (rx_path.c). False: the socket takes nothing; offer the train again.
 */
static bool send_copies(ErnicUdp *udp, const ErnicTrain *train)
{
    Copies copies = { .udp = udp, .train = train };

    if (!ernic_peers_to_host(udp->map, &train->path.sgid, &copies.own)) {
        copies.own = udp->own;
    }
    ernic_peers_each_endpoint(udp->map, send_copy, &copies);
    if (copies.busy) {
        udp->stats.tx_busy++;
        return false;
    }
    udp->stats.tx_trains++;
    return true;
}

bool ernic_udp_send(ErnicUdp *udp, uint32_t owner, const ErnicTrain *train)
{
    uint32_t seg = MIN(train->seg, MAX_DATAGRAM);
    uint32_t burst = seg * MIN(MAX_SEGMENTS, MAX_DATAGRAM / seg);
    uint32_t off = 0, n;
    struct msghdr hdr = { 0 };
    ErnicPeer *peer;
    bool single;
    Slot slot;
    int err;

    g_assert(owner < ARRAY_SIZE(udp->cut) && train->len);
    if (ernic_gid_is_mcast(&train->path.dgid)) {
        return send_copies(udp, train);
    }
    if (udp->cut[owner].serial && udp->cut[owner].serial == train->serial) {
        off = udp->cut[owner].sent;
    }
    udp->cut[owner].serial = 0;
    if (!prepare(udp, train, &slot, &hdr, &peer)) {
        drop_rest(udp, train, off, ERNIC_UDP_DROP_UNKNOWN_DEST);
        return true;
    }
    single = !udp->offload || peer->single;
    for (; off < train->len; off += n) {
        n = single ? seg : burst;
        n = MIN(n, train->len - off);
        err = send_chunk(udp, &hdr, train->data + off, n, seg);
        if (!err) {
            count_sent(udp, n, seg);
            peer->single |= single && udp->offload;
        } else if ((err == EIO || err == EINVAL) && n > seg) {
            single = true;      /* the network device on this path cannot segment */
            n = 0;
        } else if (err == EAGAIN) {
            udp->cut[owner].serial = train->serial;
            udp->cut[owner].sent = off;
            udp->stats.tx_busy++;
            return false;
        } else {
            drop_rest(udp, train, off, err == EMSGSIZE
                                           ? ERNIC_UDP_DROP_TOO_BIG
                                           : ERNIC_UDP_DROP_SEND_ERROR);
            return true;
        }
    }
    udp->stats.tx_trains++;
    return true;
}

void ernic_udp_forget(ErnicUdp *udp, uint32_t owner)
{
    udp->cut[owner].serial = 0;
}

/* ---- receiving ----------------------------------------------------------- */

/* The contents of the control messages of a datagram. */
typedef struct Meta {
    uint32_t seg;               /* 0: one packet */
    uint8_t tclass;
    bool has_dst;
    ErnicGid dst;
} Meta;

static int control_int(const struct cmsghdr *cmsg)
{
    int value = 0;

    memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
    return value;
}

/* The kernel reports the total since the socket was opened, modulo 2^32. */
static void count_overflow(ErnicUdp *udp, uint32_t total)
{
    udp->stats.drop[ERNIC_UDP_DROP_KERNEL] += total - udp->kernel_drops;
    udp->kernel_drops = total;
}

static void read_control(ErnicUdp *udp, struct msghdr *hdr, Meta *meta)
{
    struct in6_pktinfo info6;
    struct in_pktinfo info4;
    struct cmsghdr *cmsg;

    memset(meta, 0, sizeof(*meta));
    for (cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
        int level = cmsg->cmsg_level, type = cmsg->cmsg_type;

        if (level == IPPROTO_UDP && type == UDP_GRO) {
            meta->seg = control_int(cmsg);
        } else if (level == IPPROTO_IP && type == IP_TOS) {
            meta->tclass = *(uint8_t *)CMSG_DATA(cmsg);
        } else if (level == IPPROTO_IPV6 && type == IPV6_TCLASS) {
            meta->tclass = control_int(cmsg);
        } else if (level == SOL_SOCKET && type == SO_RXQ_OVFL) {
            count_overflow(udp, control_int(cmsg));
        } else if (level == IPPROTO_IP && type == IP_PKTINFO) {
            memcpy(&info4, CMSG_DATA(cmsg), sizeof(info4));
            gid_of_ip4(&meta->dst, &info4.ipi_addr);
            meta->has_dst = true;
        } else if (level == IPPROTO_IPV6 && type == IPV6_PKTINFO) {
            memcpy(&info6, CMSG_DATA(cmsg), sizeof(info6));
            memcpy(meta->dst.raw, &info6.ipi6_addr, 16);
            meta->has_dst = true;
        }
    }
}

/* Convert one received datagram into a train; false: dropped and counted. */
static bool to_train(ErnicUdp *udp, uint32_t i, ErnicTrain *train)
{
    struct msghdr *hdr = &udp->msg[i].msg_hdr;
    uint32_t len = udp->msg[i].msg_len;
    ErnicUdpDrop reason = ERNIC_UDP_DROP_COUNT;
    ErnicEndpoint from;
    uint32_t packets, sgids, dgids;
    Slot *slot = &udp->slot[i];
    const ErnicGid *dgid;
    Meta meta;

    read_control(udp, hdr, &meta);
    packets = MAX(packets_of(len, meta.seg), 1u);
    from_sockaddr(&slot->from, &from);
    sgids = ernic_peers_to_guest(udp->map, &from, slot->sgid);
    if (hdr->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        reason = ERNIC_UDP_DROP_TRUNCATED;
    } else if (len == 0) {
        reason = ERNIC_UDP_DROP_EMPTY;
    } else if (!sgids) {
        reason = ERNIC_UDP_DROP_UNKNOWN_SOURCE;
    }
    if (reason != ERNIC_UDP_DROP_COUNT) {
        udp->stats.drop[reason] += packets;
        return false;
    }
    dgid = meta.has_dst ? slot->dgid : udp->own_gid;
    dgids = meta.has_dst ? own_gids(udp, &meta.dst, slot->dgid) : udp->own_gids;
    train->path.sgid = slot->sgid[0];
    train->path.dgid = dgid[0];
    train->alt_sgid = slot->sgid + 1;
    train->num_alt_sgid = sgids - 1;
    train->alt_dgid = dgid + 1;
    train->num_alt_dgid = dgids - 1;
    train->path.vlan = ERNIC_NO_VLAN;
    train->path.udp_sport = from.port;
    train->path.tclass = meta.tclass;
    train->path.hop_limit = HOP_LIMIT;
    train->data = slot->iov.iov_base;
    train->len = len;
    train->seg = meta.seg ? meta.seg : len;
    udp->stats.rx_trains++;
    udp->stats.rx_packets += packets;
    udp->stats.rx_bytes += len;
    return true;
}

uint32_t ernic_udp_recv(ErnicUdp *udp, const ErnicTrain **trains, bool *more)
{
    uint32_t i, n = 0;
    bool full;
    int got;

    /* The kernel has overwritten the lengths of the slots that it used. */
    for (i = 0; i < udp->used; i++) {
        udp->msg[i].msg_hdr.msg_namelen = sizeof(SockAddr);
        udp->msg[i].msg_hdr.msg_controllen = CONTROL_BYTES;
    }
    got = recvmmsg(udp->fd, udp->msg, udp->want, MSG_DONTWAIT, NULL);
    udp->used = MAX(got, 0);
    full = udp->used == udp->want;
    /*
     * Ask for as many as came last time: looking for one more in vain costs
     * time, and a small batch is processed while it is in the cache.
     */
    udp->want = full ? MIN(2 * udp->want, udp->batch) : MAX(udp->used, 1u);
    for (i = 0; i < udp->used; i++) {
        n += to_train(udp, i, &udp->train[n]);
    }
    *trains = udp->train;
    if (more) {
        *more = full;
    }
    return n;
}
