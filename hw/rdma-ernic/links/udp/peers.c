/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The peer map: two hash tables of the same entries, one by RDMA address and
 * one by host endpoint. A look-up tries each prefix length that is in use, the
 * longest first, so its cost does not depend on the number of peers.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "links/udp/peers.h"

#define GID_BITS    128
#define IP4_OFS     12          /* of the IPv4 address in an IPv4-mapped one */
#define IP4_PLEN    96

typedef struct Key {
    ErnicGid addr;
    uint16_t port;              /* 0 in the table of RDMA addresses */
    uint8_t plen;
} Key;

typedef struct Entry {
    ErnicPeer peer;
    Key by_guest, by_host;
    struct Entry *alias;        /* the next line of the same endpoint; or NULL */
} Entry;

struct ErnicPeers {
    GHashTable *by_guest, *by_host;     /* Key -> Entry, owned by by_guest; the
                                           first line of an endpoint */
    uint32_t users[GID_BITS + 1];       /* entries of each prefix length */
    uint8_t plens[GID_BITS + 1];        /* the lengths in use, longest first */
    uint32_t num_plens;
};

/* One side of a line GUEST=HOST. */
typedef struct Part {
    ErnicGid addr;
    bool is_v4;
    int plen, port;             /* -1: not given; plen of 128 bits */
} Part;

static bool G_GNUC_PRINTF(2, 3) fail(char **err, const char *fmt, ...)
{
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        *err = g_strdup_vprintf(fmt, ap);
        va_end(ap);
    }
    return false;
}

/* ---- text to values ------------------------------------------------------ */

static bool parse_address(const char *text, size_t len, Part *part)
{
    char buf[INET6_ADDRSTRLEN];

    if (len >= sizeof(buf)) {
        return false;
    }
    memcpy(buf, text, len);
    buf[len] = '\0';
    memset(&part->addr, 0, sizeof(part->addr));
    part->is_v4 = inet_pton(AF_INET, buf, part->addr.raw + IP4_OFS) == 1;
    if (part->is_v4) {
        memset(part->addr.raw + IP4_OFS - 2, 0xff, 2);
        return true;
    }
    /*
     * An IPv4-mapped address is written as IPv4: each address has one spelling.
     */
    return inet_pton(AF_INET6, buf, part->addr.raw) == 1 &&
           !ernic_gid_is_v4(&part->addr);
}

/* Parse decimal digits with a value up to @max; moves *@text past them. */
static bool parse_number(const char **text, int max, int *value)
{
    const char *p = *text;

    *value = 0;
    while (g_ascii_isdigit(*p) && *value <= max) {
        *value = *value * 10 + (*p++ - '0');
    }
    if (p == *text || *value > max) {
        return false;
    }
    *text = p;
    return true;
}

/* The end of the address at the start of @text, without its brackets. */
static const char *address_end(const char *text)
{
    const char *colon = strchr(text, ':');
    bool is_v6 = colon && strchr(colon + 1, ':');

    return text + strcspn(text, is_v6 ? "/" : "/:");
}

static bool parse_part(const char *text, Part *part, char **err)
{
    bool bracket = text[0] == '[';
    const char *start = text + bracket;
    const char *end = bracket ? strchr(start, ']') : address_end(start);
    const char *rest;
    int max;

    part->plen = part->port = -1;
    if (!end) {
        return fail(err, "'%s': ']' is missing", text);
    }
    if (!parse_address(start, end - start, part)) {
        return fail(err, "'%.*s' is not an IP address", (int)(end - start),
                    start);
    }
    rest = end + bracket;
    if (*rest == '/') {
        max = part->is_v4 ? GID_BITS - IP4_PLEN : GID_BITS;
        rest++;
        if (!parse_number(&rest, max, &part->plen)) {
            return fail(err, "'%s': the prefix length is not 0 to %d", text,
                        max);
        }
        part->plen += GID_BITS - max;
    }
    if (*rest == ':') {
        rest++;
        if (!parse_number(&rest, UINT16_MAX, &part->port)) {
            return fail(err, "'%s': the port is not 0 to 65535", text);
        }
    }
    if (*rest) {
        return fail(err, "'%s': '%s' makes no sense here", text, rest);
    }
    return true;
}

const char *ernic_udp_addr_text(const ErnicGid *addr, char *buf)
{
    bool v4 = ernic_gid_is_v4(addr);

    return inet_ntop(v4 ? AF_INET : AF_INET6, addr->raw + (v4 ? IP4_OFS : 0), buf,
                     INET6_ADDRSTRLEN);
}

bool ernic_endpoint_parse(const char *text, ErnicEndpoint *ep, char **err)
{
    Part part;

    if (!parse_part(text, &part, err)) {
        return false;
    }
    if (part.plen >= 0) {
        return fail(err, "'%s': one address is wanted, not a prefix", text);
    }
    ep->addr = part.addr;
    ep->port = part.port < 0 ? ERNIC_ENDPOINT_PORT : part.port;
    return true;
}

/* @addr with all bits after the first @plen cleared. */
static ErnicGid masked(const ErnicGid *addr, uint32_t plen)
{
    ErnicGid gid = *addr;
    uint32_t i;

    for (i = plen / 8; i < sizeof(gid.raw); i++) {
        gid.raw[i] &= i == plen / 8 ? 0xff00 >> (plen % 8) : 0;
    }
    return gid;
}

static bool prefix_ok(const char *text, const Part *part, char **err)
{
    ErnicGid gid = masked(&part->addr, part->plen < 0 ? GID_BITS : part->plen);

    if (memcmp(&gid, &part->addr, sizeof(gid)) != 0) {
        return fail(err, "'%s' has bits set behind the prefix", text);
    }
    return true;
}

static bool parse_sides(const char *guest, const char *host, ErnicPeer *peer,
                        char **err)
{
    Part g, h;

    if (!parse_part(guest, &g, err) || !parse_part(host, &h, err) ||
        !prefix_ok(guest, &g, err) || !prefix_ok(host, &h, err)) {
        return false;
    }
    if (g.port >= 0) {
        return fail(err, "'%s': an RDMA address has no port", guest);
    }
    if (g.plen != h.plen) {
        return fail(err, "'%s' and '%s' do not hold equally many addresses",
                    guest, host);
    }
    if (g.plen >= 0 && h.port >= 0) {
        return fail(err, "'%s': a prefix takes no port, it is always %d", host,
                    ERNIC_ENDPOINT_PORT);
    }
    if (h.port == 0) {
        return fail(err, "'%s': nothing can be sent to port 0", host);
    }
    peer->guest = g.addr;
    peer->host = h.addr;
    peer->plen = g.plen < 0 ? GID_BITS : g.plen;
    peer->port = h.port < 0 ? ERNIC_ENDPOINT_PORT : h.port;
    peer->single = false;
    return true;
}

bool ernic_peer_parse(const char *text, ErnicPeer *peer, char **err)
{
    char **sides = g_strsplit(text, "=", 0);
    bool ok;

    if (g_strv_length(sides) == 2) {
        ok = parse_sides(sides[0], sides[1], peer, err);
    } else {
        ok = fail(err, "'%s' is not ADDRESS=ENDPOINT", text);
    }
    g_strfreev(sides);
    return ok;
}

/* ---- the map ------------------------------------------------------------- */

static Key key_of(const ErnicGid *addr, uint32_t plen, uint16_t port)
{
    Key key = { .addr = masked(addr, plen), .port = port, .plen = plen };

    return key;
}

static guint key_hash(gconstpointer data)
{
    const Key *key = data;
    uint64_t w[2];

    memcpy(w, key->addr.raw, sizeof(w));
    w[0] = (w[0] ^ key->plen) * 0x9e3779b97f4a7c15ull;
    w[1] = (w[1] ^ key->port ^ w[0] >> 32) * 0x9e3779b97f4a7c15ull;
    return w[1] >> 32;
}

static gboolean key_equal(gconstpointer one, gconstpointer two)
{
    const Key *a = one, *b = two;

    return a->plen == b->plen && a->port == b->port &&
           memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

ErnicPeers *ernic_peers_new(void)
{
    ErnicPeers *map = g_new0(ErnicPeers, 1);

    map->by_guest = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
    map->by_host = g_hash_table_new(key_hash, key_equal);
    return map;
}

void ernic_peers_free(ErnicPeers *map)
{
    if (map) {
        g_hash_table_destroy(map->by_host);
        g_hash_table_destroy(map->by_guest);
        g_free(map);
    }
}

uint32_t ernic_peers_size(const ErnicPeers *map)
{
    return g_hash_table_size(map->by_guest);
}

/* Count one entry of prefix length @plen more or less. */
static void count_plen(ErnicPeers *map, uint32_t plen, int change)
{
    int i;

    map->users[plen] += change;
    map->num_plens = 0;
    for (i = GID_BITS; i >= 0; i--) {
        if (map->users[i]) {
            map->plens[map->num_plens++] = i;
        }
    }
}

/* The line goes to the end of those of its endpoint. False: these are too many. */
static bool add_alias(ErnicPeers *map, Entry *entry)
{
    Entry *first = g_hash_table_lookup(map->by_host, &entry->by_host);
    uint32_t n = 1;

    if (!first) {
        g_hash_table_insert(map->by_host, &entry->by_host, entry);
        return true;
    }
    for (; first->alias; first = first->alias) {
        n++;
    }
    if (n == ERNIC_PEERS_ALIASES) {
        return false;
    }
    first->alias = entry;
    return true;
}

static void remove_alias(ErnicPeers *map, Entry *entry)
{
    Entry *first = g_hash_table_lookup(map->by_host, &entry->by_host);

    if (first == entry) {
        g_hash_table_remove(map->by_host, &entry->by_host);
        if (entry->alias) {
            g_hash_table_insert(map->by_host, &entry->alias->by_host, entry->alias);
        }
        return;
    }
    while (first->alias != entry) {
        first = first->alias;
    }
    first->alias = entry->alias;
}

bool ernic_peers_add(ErnicPeers *map, const ErnicPeer *peer, char **err)
{
    Entry *entry = g_new0(Entry, 1);

    entry->peer = *peer;
    entry->by_guest = key_of(&peer->guest, peer->plen, 0);
    entry->by_host = key_of(&peer->host, peer->plen, peer->port);
    if (g_hash_table_contains(map->by_guest, &entry->by_guest)) {
        g_free(entry);
        return fail(err, "the address is in the map already");
    }
    if (!add_alias(map, entry)) {
        g_free(entry);
        return fail(err, "the endpoint stands for %d addresses already",
                    ERNIC_PEERS_ALIASES);
    }
    g_hash_table_insert(map->by_guest, &entry->by_guest, entry);
    count_plen(map, peer->plen, 1);
    return true;
}

bool ernic_peers_remove(ErnicPeers *map, const char *guest, char **err)
{
    uint32_t plen;
    Entry *entry;
    Part part;
    Key key;

    if (!parse_part(guest, &part, err)) {
        return false;
    }
    plen = part.plen < 0 ? GID_BITS : part.plen;
    key = key_of(&part.addr, plen, 0);
    entry = g_hash_table_lookup(map->by_guest, &key);
    if (!entry || part.port >= 0 || !prefix_ok(guest, &part, NULL)) {
        return fail(err, "'%s' is not in the map", guest);
    }
    remove_alias(map, entry);
    g_hash_table_remove(map->by_guest, &key);       /* frees entry */
    count_plen(map, plen, -1);
    return true;
}

/* The prefix @to, followed by the host bits of @from. */
static ErnicGid translate(const ErnicGid *from, const ErnicGid *to,
                          uint32_t plen)
{
    ErnicGid prefix = masked(from, plen);
    ErnicGid gid;
    uint32_t i;

    for (i = 0; i < sizeof(gid.raw); i++) {
        gid.raw[i] = to->raw[i] | (from->raw[i] ^ prefix.raw[i]);
    }
    return gid;
}

ErnicPeer *ernic_peers_to_host(const ErnicPeers *map, const ErnicGid *guest,
                             ErnicEndpoint *ep)
{
    Entry *entry = NULL;
    uint32_t i;
    Key key;

    for (i = 0; i < map->num_plens && !entry; i++) {
        key = key_of(guest, map->plens[i], 0);
        entry = g_hash_table_lookup(map->by_guest, &key);
    }
    if (!entry) {
        return NULL;
    }
    ep->addr = translate(guest, &entry->peer.host, entry->peer.plen);
    ep->port = entry->peer.port;
    return &entry->peer;
}

uint32_t ernic_peers_to_guest(const ErnicPeers *map, const ErnicEndpoint *ep,
                            ErnicGid guest[ERNIC_PEERS_ALIASES])
{
    Key key = key_of(&ep->addr, GID_BITS, ep->port);
    Entry *entry = g_hash_table_lookup(map->by_host, &key);
    uint32_t i, n;

    for (i = 0; i < map->num_plens && !entry; i++) {
        key = key_of(&ep->addr, map->plens[i], ERNIC_ENDPOINT_PORT);
        entry = g_hash_table_lookup(map->by_host, &key);
    }
    for (n = 0; entry; entry = entry->alias) {
        guest[n++] = translate(&ep->addr, &entry->peer.guest, entry->peer.plen);
    }
    return n;
}

void ernic_peers_each_endpoint(const ErnicPeers *map,
                             void (*fn)(ErnicPeer *peer, void *opaque), void *opaque)
{
    GHashTableIter iter;
    gpointer entry;

    g_hash_table_iter_init(&iter, map->by_host);
    while (g_hash_table_iter_next(&iter, NULL, &entry)) {
        if (((Entry *)entry)->peer.plen == GID_BITS) {
            fn(&((Entry *)entry)->peer, opaque);
        }
    }
}
