/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The wire splits trains into packets, loses, duplicates, delays, corrupts and
 * marks them. The receiver gets trains again, as UDP_GRO would make them: runs
 * of packets of one flow and one size.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "sim.h"
#include "timing/timing.h"

/* Bytes that a link holds before it reports that it is busy. */
#define LINK_BACKLOG    (2 * ERNIC_FRAME_QUEUE_BYTES)
/* The link of the host of silent.c is slow, and pushes back early. */
#define SLOW_BACKLOG    (32 * 1024)
#define SLOW_MBPS       2000

uint64_t sim_wire_lifetime(const Sim *s)
{
    const SimFaults *f = &s->plan.faults;
    uint64_t queue = LINK_BACKLOG * 8000ull / f->mbps;

    return 2 * (f->latency + f->jitter + f->reorder_ns + f->rx_delay + queue +
                s->plan.socket_ns) + 50 * f->busy_ns + 2 * SIM_MS;
}

static bool is_slow(const SimHost *h)
{
    return h->id == h->sim->hosts;
}

static bool is_netdev(const SimHost *h)
{
    return h->sim->plan.netdev && !is_slow(h);
}

static uint64_t link_ns(const SimHost *h, uint64_t bytes)
{
    return bytes * 8000 / (is_slow(h) ? SLOW_MBPS : h->sim->plan.faults.mbps);
}

static SimHost *host_of_gid(Sim *s, const ErnicGid *gid)
{
    uint32_t i;

    for (i = 0; i < s->hosts + s->plan.silent; i++) {
        if (!memcmp(gid, &s->host[i].gid[0], sizeof(*gid)) ||
            !memcmp(gid, &s->host[i].gid[1], sizeof(*gid))) {
            return &s->host[i];
        }
    }
    return NULL;
}

static void damage(Sim *s, SimPacket *p)
{
    SimRng *r = &s->wire_rng;
    uint32_t flips = 1 + sim_below(r, 3), i;

    /* Two flips of one bit cancel out: flip bits of different bytes. */
    for (i = 0; i < flips; i++) {
        uint32_t at = sim_below(r, p->len / 4) * 4 + i;

        if (at < p->len) {
            p->data[at] ^= 1 << sim_below(r, 8);
        }
    }
}

static void lose(SimHost *to, const char *why, const SimPacket *p)
{
    to->lost_to++;
    to->sim->stats.dropped++;
    sim_log(to->sim, "wire: host %u: packet of %u bytes to QP %u PSN %u: %s",
            to->id, p->len, ldl_be_p(p->data + 4) & 0xffffff,
            ldl_be_p(p->data + 8) & 0xffffff, why);
}

/* Send one copy of a packet to @to. */
static void launch(SimHost *from, SimHost *to, const SimPacket *orig,
                   uint64_t departs)
{
    Sim *s = to->sim;
    SimFaults *f = &s->plan.faults;
    SimRng *r = &s->wire_rng;
    SimPacket *p = g_memdup2(orig, sizeof(*orig) + orig->len);
    uint64_t at = departs + f->latency + (f->jitter ? sim_range(r, 0, f->jitter)
                                                    : 0);

    if (sim_chance(r, f->mark) && (p->path.tclass & ERNIC_ECN_MASK)) {
        p->path.tclass |= ERNIC_ECN_CE;
    }
    if (sim_chance(r, f->corrupt)) {
        damage(s, p);
        to->lost_to++;
    } else if (sim_chance(r, f->truncate)) {
        p->len = 1 + sim_below(r, p->len - 1);
        to->lost_to++;
    }
    if (sim_chance(r, f->reorder)) {
        at += sim_range(r, 0, f->reorder_ns);
    } else {
        at = MAX(at, from->arrive_last[to->id]);
        from->arrive_last[to->id] = at;
    }
    sim_at(s, at, SIM_EV_ARRIVE, to, p, 0);
}

static void send_to(SimHost *from, SimHost *to, SimPacket *p, uint64_t departs)
{
    Sim *s = to->sim;
    SimFaults *f = &s->plan.faults;
    bool hole = s->sabotage == SIM_SAB_BLACKHOLE && to->id == 0 &&
                from->id != 0 && s->stats.packets > 200;

    if (!from->link_up || !to->link_up || sim_chance(&s->wire_rng, f->drop)) {
        lose(to, "lost", p);
        return;
    }
    /* A last or only packet: no later one reveals its loss. */
    if (p->data[0] == (ERNIC_BTH_UC | ERNIC_OP_SEND_ONLY_IMM) &&
        s->stats.packets > 50) {
        hole |= sim_sabotage(s, SIM_SAB_LOSE_UC);
    }
    if (hole) {
        s->sabotaged = true;
        return;
    }
    launch(from, to, p, departs);
    if (sim_chance(&s->wire_rng, f->duplicate)) {
        launch(from, to, p, departs);
    }
}

void sim_wire_send(SimHost *h, const ErnicPath *path, const uint8_t *data,
                   uint32_t len)
{
    Sim *s = h->sim;
    SimPacket *p = g_malloc(sizeof(*p) + len);
    SimHost *to;
    uint32_t i;

    p->path = *path;
    p->len = len;
    memcpy(p->data, data, len);
    s->stats.packets++;
    s->stats.bytes += len;
    sim_note(s, ldq_le_p(data + 4) ^ ((uint64_t)len << 48));
    sim_note(s, ldl_le_p(data + len - 4));
    sim_sabotage_packet(h, p);
    sim_pcap_packet(s, p);
    h->link_free = MAX(h->link_free, s->now) + link_ns(h, len + 66);
    if (is_slow(h)) {
        /* no peer: every packet of that host is lost */
    } else if (path->dgid.raw[0] == 0xff) {
        for (i = 0; i < s->hosts; i++) {
            if (i != h->id) {
                send_to(h, &s->host[i], p, h->link_free);
            }
        }
    } else {
        to = host_of_gid(s, &path->dgid);
        if (!to) {
            sim_fail(s, "seam", "host %u sends to an address that nobody has",
                     h->id);
        } else if (to == h) {
            sim_fail(s, "seam", "host %u sends to itself on the wire", h->id);
        } else {
            send_to(h, to, p, h->link_free);
        }
    }
    g_free(p);
}

static bool train_ok(SimHost *h, const ErnicTrain *t)
{
    uint32_t n;

    if (!t->len || !t->seg || t->len > ERNIC_TRAIN_BYTES) {
        return false;
    }
    n = DIV_ROUND_UP(t->len, t->seg);
    return n <= ERNIC_TRAIN_PACKETS && !t->ip &&
           t->len - (n - 1) * t->seg >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN &&
           host_of_gid(h->sim, &t->path.sgid) == h &&
           (t->path.dgid.raw[0] == 0xff ||
            ernic_gid_is_v4(&t->path.sgid) == ernic_gid_is_v4(&t->path.dgid));
}

/* ---- departure ----------------------------------------------------------- */

/* Record @t: it leaves after all trains that the link has taken before. */
static void keep(SimHost *h, const ErnicTrain *t)
{
    SimKept *kept = g_new(SimKept, 1);
    uint32_t bytes = t->len + DIV_ROUND_UP(t->len, t->seg) * 66;

    kept->serial = t->serial;
    kept->at = MAX(h->link_free, h->sim->now) + link_ns(h, bytes);
    g_queue_push_tail(&h->kept, kept);
    if (!h->leave_pending) {
        h->leave_pending = true;
        sim_at(h->sim, kept->at, SIM_EV_TX_LEFT, h, NULL, 0);
    }
}

static bool has_left(const SimHost *h, const SimKept *kept)
{
    return is_netdev(h) ? kept->frame <= h->frames.left : kept->at <= h->sim->now;
}

uint64_t sim_wire_gone(SimHost *h)
{
    SimKept *kept;

    while ((kept = g_queue_peek_head(&h->kept)) && has_left(h, kept)) {
        g_free(g_queue_pop_head(&h->kept));
    }
    /* A link that is down loses them. */
    return kept && h->link_up ? kept->serial - 1 : UINT64_MAX;
}

uint64_t sim_wire_departed(void *host)
{
    SimHost *h = host;

    if (sim_sabotage(h->sim, SIM_SAB_LEFT)) {
        return UINT64_MAX;
    }
    return is_netdev(h) ? sim_netdev_departed(h) : sim_wire_gone(h);
}

void sim_wire_left(SimHost *h)
{
    SimKept *kept;

    if (is_netdev(h)) {
        sim_netdev_left(h);
        return;
    }
    h->leave_pending = false;
    sim_wire_gone(h);
    ernic_run(h->e, h->sim->now);
    sim_checked(h);
    kept = g_queue_peek_head(&h->kept);
    if (kept && !h->leave_pending) {
        h->leave_pending = true;
        sim_at(h->sim, kept->at, SIM_EV_TX_LEFT, h, NULL, 0);
    }
}

void sim_wire_forget(SimHost *h)
{
    g_queue_clear_full(&h->kept, g_free);
    sim_netdev_purge(h);
}

bool sim_wire_tx(void *host, const ErnicTrain *t)
{
    SimHost *h = host;
    Sim *s = h->sim;
    SimFaults *f = &s->plan.faults;
    uint64_t backlog = h->link_free > s->now ? h->link_free - s->now : 0;
    uint32_t off;

    if (!train_ok(h, t)) {
        sim_fail(s, "seam", "host %u: malformed train: %u bytes by %u", h->id,
                 t->len, t->seg);
        return true;
    }
    if (h->tx_blocked) {
        sim_fail(s, "seam", "host %u: a train is offered to a link that said "
                 "it was busy", h->id);
        return false;
    }
    if (is_netdev(h)) {
        return sim_netdev_tx(h, t);
    }
    if (backlog > link_ns(h, is_slow(h) ? SLOW_BACKLOG : LINK_BACKLOG) ||
        sim_chance(&s->wire_rng, f->busy)) {
        h->tx_blocked = true;
        sim_at(s, MAX(s->now + 1 + f->busy_ns, h->link_free), SIM_EV_TX_READY,
               h, NULL, 0);
        return false;
    }
    sim_log(s, "host %u: train of %u bytes by %u, opcode 0x%02x QP %u PSN %u",
            h->id, t->len, t->seg, t->data[0], ldl_be_p(t->data + 4) & 0xffffff,
            ldl_be_p(t->data + 8) & 0xffffff);
    if (s->plan.keeps || is_slow(h)) {
        keep(h, t);
    }
    for (off = 0; off < t->len; off += t->seg) {
        sim_wire_send(h, &t->path, t->data + off, MIN(t->seg, t->len - off));
    }
    return true;
}

/* ---- arrival ------------------------------------------------------------- */

void sim_wire_arrive(SimHost *h, SimPacket *p)
{
    Sim *s = h->sim;

    if (!h->link_up || h->rx_bytes + p->len > s->plan.faults.rx_bytes) {
        lose(h, h->link_up ? "no room" : "link down", p);
        g_free(p);
        return;
    }
    h->rx_bytes += p->len;
    g_queue_push_tail(&h->rxq, p);
    if (!h->rx_pending) {
        h->rx_pending = true;
        sim_at(s, s->now + sim_range(&s->wire_rng, 0, s->plan.faults.rx_delay),
               SIM_EV_RX, h, NULL, 0);
    }
}

static bool same_flow(const ErnicPath *a, const ErnicPath *b)
{
    return !memcmp(&a->sgid, &b->sgid, sizeof(a->sgid)) &&
           !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) &&
           a->udp_sport == b->udp_sport && a->tclass == b->tclass &&
           a->flow_label == b->flow_label && a->hop_limit == b->hop_limit &&
           a->vlan == b->vlan;
}

/* Take the packets of one train off the queue; the data is allocated. */
static uint8_t *coalesce(SimHost *h, ErnicTrain *t)
{
    Sim *s = h->sim;
    SimPacket *p = g_queue_pop_head(&h->rxq);
    uint8_t *buf = g_malloc(p->len);
    uint32_t last = p->len, n = 1;

    memset(t, 0, sizeof(*t));
    t->path = p->path;
    t->len = t->seg = p->len;
    memcpy(buf, p->data, p->len);
    g_free(p);
    while (n < ERNIC_TRAIN_PACKETS && last == t->seg &&
           !sim_chance(&s->wire_rng, s->plan.faults.no_gro)) {
        p = g_queue_peek_head(&h->rxq);
        if (!p || p->len > t->seg || t->len + p->len > ERNIC_TRAIN_BYTES ||
            !same_flow(&p->path, &t->path)) {
            break;
        }
        g_queue_pop_head(&h->rxq);
        buf = g_realloc(buf, t->len + p->len);
        memcpy(buf + t->len, p->data, p->len);
        last = p->len;
        t->len += last;
        n++;
        g_free(p);
    }
    h->rx_bytes -= t->len;
    t->data = buf;
    return buf;
}

/* The timing model had no room for some packets: count them as lost. */
static void overflow(SimHost *h, uint64_t before)
{
    uint64_t lost = h->e->timing ? h->e->timing->rx_overflows - before : 0;

    if (lost) {
        h->lost_to += lost;
        h->sim->stats.dropped += lost;
    }
}

void sim_wire_rx(SimHost *h)
{
    Sim *s = h->sim;
    uint8_t ip[ERNIC_IP6_LEN + ERNIC_UDP_LEN];
    ErnicTrain t;
    uint64_t before;
    uint8_t *data;

    h->rx_pending = false;
    while (!g_queue_is_empty(&h->rxq) && !s->failed) {
        data = coalesce(h, &t);
        if (t.len == t.seg && (h->id & 1)) {
            ernic_net_emit_ip(&t.path, t.len, ip);
            t.ip = ip;
        }
        before = h->e->timing ? h->e->timing->rx_overflows : 0;
        ernic_rx(h->e, s->now, &t);
        overflow(h, before);
        sim_checked(h);
        g_free(data);
    }
}

/* Inject a packet that no engine has sent, to a queue pair that may exist. */
void sim_wire_stray(SimHost *h)
{
    Sim *s = h->sim;
    SimRng *r = &s->wire_rng;
    SimHost *from = &s->host[(h->id + 1) % s->hosts];
    uint32_t len = 16 + sim_below(r, 120) * 4, i, v6 = sim_below(r, 2);
    SimPacket *p;

    if (!h->link_up || !from->link_up) {
        return;
    }
    p = g_malloc0(sizeof(*p) + len);
    p->path.sgid = from->gid[v6];
    p->path.dgid = h->gid[v6];
    memcpy(p->path.smac, from->mac, 6);
    memcpy(p->path.dmac, h->mac, 6);
    p->path.vlan = ERNIC_NO_VLAN;
    p->path.udp_sport = 0xc000 | sim_below(r, 0x3fff);
    p->path.hop_limit = 64;
    p->len = len;
    for (i = 0; i < len; i++) {
        p->data[i] = sim_rng(r);
    }
    p->data[1] &= 0xf0;                         /* TVer 0 */
    stw_be_p(p->data + 2, 0xffff);
    /* A queue pair number that is never allocated, or an unknown opcode. */
    if (sim_percent(r, 50)) {
        stl_be_p(p->data + 4, 0x800000 | sim_below(r, 0x7fffff));
    } else {
        p->data[0] = 0xc0 | sim_below(r, 0x40);
        stl_be_p(p->data + 4, sim_below(r, 64));
    }
    i = ernic_icrc(&p->path, p->data, len - 4);
    stl_le_p(p->data + len - 4, i);
    sim_at(s, s->now, SIM_EV_ARRIVE, h, p, 0);
}

/* ---- pcap ---------------------------------------------------------------- */

void sim_pcap_open(Sim *s, const char *name)
{
    static const uint32_t head[] = { 0xa1b23c4d, 0x00040002, 0, 0, 65535, 1 };

    s->pcap = fopen(name, "wb");
    if (!s->pcap || fwrite(head, sizeof(head), 1, s->pcap) != 1) {
        g_printerr("%s: %s\n", name, g_strerror(errno));
        exit(2);
    }
}

void sim_pcap_packet(Sim *s, const SimPacket *p)
{
    uint8_t hdr[ERNIC_NET_HDR_MAX];
    uint32_t n, rec[4];

    if (!s->pcap) {
        return;
    }
    n = ernic_net_emit(&p->path, p->len, hdr);
    rec[0] = s->now / SIM_SEC;
    rec[1] = s->now % SIM_SEC;
    rec[2] = rec[3] = n + p->len;
    if (fwrite(rec, sizeof(rec), 1, s->pcap) != 1 ||
        fwrite(hdr, n, 1, s->pcap) != 1 ||
        fwrite(p->data, p->len, 1, s->pcap) != 1) {
        g_printerr("pcap: %s\n", g_strerror(errno));
        exit(2);
    }
}
