/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A port of the shared-memory link: its peers, and the trains to and from them. Its
 * epoll descriptor stands for the folder's socket, the sockets of the peers and a timer,
 * which has one alarm for everything that has to be done later.
 */
#include "qemu/osdep.h"
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "links/shm/close.h"
#include "links/shm/folder.h"
#include "links/shm/owners.h"
#include "links/shm/pair.h"
#include "links/shm/port.h"
#include "links/shm/stations.h"

#define EVENTS          16
/* The time for a newcomer to say hello, which it does before it is accepted. */
#define HELLO_NS        1000000000ull
/* Call again: ports without room for connections; a peer that could not be woken. */
#define CALL_NS         10000000ull
#define WAKE_NS         1000000ull
/* Report a folder that could not be entered for so long. */
#define ENTER_NS        1000000000ull
/* Accept no connection meanwhile, after that was not possible. */
#define ACCEPT_PAUSE_NS 100000000ull
/* Accept none either while so many descriptors wait to be closed. */
#define CLOSING         64
/* epoll_event.data says which descriptor it is: a peer's number, or one of these. */
#define IS_FOLDER       ERNIC_SHM_PEERS
#define IS_TIMER        (ERNIC_SHM_PEERS + 1)

struct ErnicShm {
    ErnicShmConfig cfg;
    ErnicShmFolder folder;
    ErnicShmCloser *closer;
    int epoll, timer;
    ErnicShmPair *peer[ERNIC_SHM_PEERS];        /* NULL: free */
    ErnicShmOwners owners;      /* their addresses */
    ErnicShmStations stations;  /* and the stations that they lead to */
    uint64_t alarm;             /* ns: when the timer expires; 0: it does not */
    bool accept_paused;         /* the folder's socket is not watched */
    uint64_t locked_out;        /* ns: since when it tries to enter the folder; or 0 */
    uint32_t next;              /* the peer to read first */
    uint32_t awake;             /* bit of each peer whose ring asks for no message */
    uint64_t work;
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t num_gids;
    bool wants_frames;
    ErnicShmStats stats;
    uint8_t buf[ERNIC_SHM_TRAIN_BYTES];
};

static const char *const drop_names[ERNIC_SHM_DROP_COUNT] = {
#define ERNIC_SHM_DROP_NAME(sym, name) [ERNIC_SHM_DROP_##sym] = name,
    ERNIC_SHM_DROPS(ERNIC_SHM_DROP_NAME)
#undef ERNIC_SHM_DROP_NAME
};

static const char *const event_names[ERNIC_SHM_EVENTS] = {
    [ERNIC_SHM_PEER_UP] = "up",
    [ERNIC_SHM_PEER_GONE] = "gone",
    [ERNIC_SHM_PEER_REFUSED] = "refused",
    [ERNIC_SHM_PEER_BROKEN] = "broken",
    [ERNIC_SHM_PEER_DUPLICATE] = "duplicate",
};

const char *ernic_shm_drop_name(uint32_t reason)
{
    return reason < ERNIC_SHM_DROP_COUNT ? drop_names[reason] : "invalid";
}

const char *ernic_shm_event_name(ErnicShmEvent event)
{
    return (unsigned)event < ERNIC_SHM_EVENTS ? event_names[event] : "invalid";
}

const ErnicShmStats *ernic_shm_stats(const ErnicShm *shm)
{
    return &shm->stats;
}

int ernic_shm_fd(const ErnicShm *shm)
{
    return shm->epoll;
}

static uint64_t host_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t ernic_shm_work(const ErnicShm *shm)
{
    return shm->work;
}

/* Have serve_timer() called at @when, or earlier. */
static void set_alarm(ErnicShm *shm, uint64_t when)
{
    struct itimerspec at = {
        .it_value = { .tv_sec = when / 1000000000, .tv_nsec = when % 1000000000 },
    };

    if (!shm->alarm || when < shm->alarm) {
        shm->alarm = when;
        timerfd_settime(shm->timer, TFD_TIMER_ABSTIME, &at, NULL);
    }
}

static bool watch(ErnicShm *shm, int fd, uint32_t what)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u32 = what };

    return epoll_ctl(shm->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

/* ---- peers ----------------------------------------------------------------- */

static void report(ErnicShm *shm, uint32_t i, ErnicShmEvent event)
{
    shm->stats.refused += event == ERNIC_SHM_PEER_REFUSED;
    shm->stats.broken += event == ERNIC_SHM_PEER_BROKEN;
    if (shm->cfg.event) {
        shm->cfg.event(shm->cfg.opaque, i, event);
    }
}

/* End the connection; the peer sees the end of the socket. */
static void disconnect(ErnicShm *shm, uint32_t i, ErnicShmEvent why)
{
    shm->stats.peers -= shm->peer[i]->up;
    ernic_shm_owners_set(&shm->owners, i, NULL, 0);
    ernic_shm_stations_forget(&shm->stations, i);
    epoll_ctl(shm->epoll, EPOLL_CTL_DEL, shm->peer[i]->fd, NULL);
    g_clear_pointer(&shm->peer[i], ernic_shm_pair_free);
    shm->awake &= ~(1u << i);
    report(shm, i, why);
}

/*
 * A free place, or that of the peer that has been connected for longest without a word;
 * ERNIC_SHM_PEERS: there is none.
 */
static uint32_t make_place(ErnicShm *shm)
{
    uint32_t i, silent = ERNIC_SHM_PEERS;

    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (!shm->peer[i]) {
            return i;
        }
        if (!shm->peer[i]->up && (silent == ERNIC_SHM_PEERS ||
                                  shm->peer[i]->since < shm->peer[silent]->since)) {
            silent = i;
        }
    }
    if (silent < ERNIC_SHM_PEERS) {
        disconnect(shm, silent, ERNIC_SHM_PEER_GONE);
    }
    return silent;
}

static void announce_to(ErnicShm *shm, uint32_t i)
{
    ernic_shm_pair_announce(shm->peer[i], shm->gid, shm->num_gids, shm->wants_frames);
}

/* From now on. */
static void look_at(ErnicShm *shm, uint32_t i)
{
    QEMU_BUILD_BUG_ON(ERNIC_SHM_PEERS > 32);
    shm->awake |= 1u << i;
    shm->peer[i]->heard = shm->stats.rx_trains;
}

static void handshake(ErnicShm *shm, uint32_t i)
{
    switch (ernic_shm_pair_handshake(shm->peer[i])) {
    case ERNIC_SHM_WAIT:
        break;
    case ERNIC_SHM_UP:
        shm->stats.peers++;
        look_at(shm, i);
        announce_to(shm, i);
        report(shm, i, ERNIC_SHM_PEER_UP);
        break;
    case ERNIC_SHM_REFUSED:
        disconnect(shm, i, ERNIC_SHM_PEER_REFUSED);
        break;
    case ERNIC_SHM_GONE:
        disconnect(shm, i, ERNIC_SHM_PEER_GONE);
        break;
    }
}

/* Takes over @fd. */
static void add_peer(ErnicShm *shm, int fd, bool caller)
{
    uint32_t i = make_place(shm);

    if (i == ERNIC_SHM_PEERS) {
        ernic_shm_close(shm->closer, fd);
        report(shm, i, ERNIC_SHM_PEER_REFUSED);
        return;
    }
    shm->peer[i] = caller ? ernic_shm_pair_call(fd, shm->closer, &shm->cfg)
                          : ernic_shm_pair_accept(fd, shm->closer, &shm->cfg);
    if (!shm->peer[i]) {
        report(shm, i, ERNIC_SHM_PEER_GONE);
        return;
    }
    shm->peer[i]->since = host_ns();
    if (!watch(shm, fd, i)) {
        disconnect(shm, i, ERNIC_SHM_PEER_GONE);
    } else if (!caller) {
        set_alarm(shm, shm->peer[i]->since + HELLO_NS);
        handshake(shm, i);
    }
}

static void call_peer(void *opaque, int fd)
{
    add_peer(opaque, fd, true);
}

static void warn(ErnicShm *shm, const char *text)
{
    if (shm->cfg.warn) {
        shm->cfg.warn(shm->cfg.opaque, text);
    }
}

/* The name is another user's. */
static void call_failed(void *opaque, const char *name, int err)
{
    ErnicShm *shm = opaque;
    g_autofree char *safe = g_strescape(name, NULL);
    g_autofree char *text = g_strdup_printf("%s/%s: %s", shm->folder.path, safe,
                                            g_strerror(err));

    shm->stats.unreachable++;
    warn(shm, text);
}

static void call_others(ErnicShm *shm)
{
    ernic_shm_folder_call(&shm->folder, call_peer, call_failed, shm);
    if (shm->folder.others->len) {
        set_alarm(shm, host_ns() + CALL_NS);
    }
}

/* The folder has been entered. False: its socket cannot be watched. */
static bool join(ErnicShm *shm)
{
    g_autofree char *text = NULL;

    if (!watch(shm, shm->folder.fd, IS_FOLDER)) {
        return false;
    }
    if (shm->folder.crowded) {
        text = g_strdup_printf("%s: only %u of its entries were looked at",
                               shm->folder.path, ERNIC_SHM_ENTRIES);
        warn(shm, text);
    }
    call_others(shm);
    return true;
}

/* A process that may read the folder can hold its lock; the caller must not wait. */
static void try_to_join(ErnicShm *shm, uint64_t now)
{
    g_autofree char *text = NULL;

    if (ernic_shm_folder_enter(&shm->folder) && join(shm)) {
        return;
    }
    if (shm->folder.fd >= 0 ||
        (shm->locked_out && now - shm->locked_out >= ENTER_NS)) {
        shm->locked_out = 0;
        text = g_strdup_printf("%s: not entered yet: %s", shm->folder.path,
                               g_strerror(errno));
        warn(shm, text);
    }
    set_alarm(shm, now + CALL_NS);
}

static void set_accepting(ErnicShm *shm, bool accept)
{
    struct epoll_event ev = { .events = accept ? EPOLLIN : 0, .data.u32 = IS_FOLDER };

    if (shm->accept_paused == accept) {
        shm->accept_paused = !accept;
        epoll_ctl(shm->epoll, EPOLL_CTL_MOD, shm->folder.fd, &ev);
    }
}

/* Without a descriptor for it, the connection would keep the socket readable. */
static void serve_folder(ErnicShm *shm)
{
    bool full = ernic_shm_closing(shm->closer) > CLOSING;
    int fd = full ? -1 : ernic_shm_folder_accept(&shm->folder);

    if (fd >= 0) {
        add_peer(shm, fd, false);
    } else if (full || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)) {
        set_accepting(shm, false);
        set_alarm(shm, host_ns() + ACCEPT_PAUSE_NS);
    }
}

/*
 * The rings of peers that send nothing go on asking for a message, and are not looked at,
 * so that one of many peers costs what one of few does.
 */
static bool fall_asleep(ErnicShm *shm, uint32_t i)
{
    if (!ernic_shm_ring_sleep(&shm->peer[i]->rx)) {
        return false;
    }
    shm->awake &= ~(1u << i);
    return true;
}

static void wake(ErnicShm *shm, uint32_t i)
{
    if (!(shm->awake & (1u << i))) {
        look_at(shm, i);
        ernic_shm_ring_awake(&shm->peer[i]->rx);
    }
}

static void serve_peer(ErnicShm *shm, uint32_t i)
{
    ErnicShmPair *p = shm->peer[i];

    if (!p->up) {
        handshake(shm, i);
        return;
    }
    wake(shm, i);
    switch (ernic_shm_pair_receive(p)) {
    case ERNIC_SHM_REFUSED:
        disconnect(shm, i, ERNIC_SHM_PEER_BROKEN);
        break;
    case ERNIC_SHM_GONE:
        disconnect(shm, i, ERNIC_SHM_PEER_GONE);
        break;
    default:
        break;
    }
}

static void wake_peer(ErnicShm *shm, ErnicShmPair *p)
{
    if (!ernic_shm_pair_wake(p)) {
        set_alarm(shm, host_ns() + WAKE_NS);
    }
}

/* A caller of a machine that is paused waits without a limit. */
static void serve_late(ErnicShm *shm, uint32_t i, uint64_t now)
{
    ErnicShmPair *p = shm->peer[i];

    if (p->owed) {
        wake_peer(shm, p);
    } else if (!p->up && !p->caller) {
        if (now - p->since >= HELLO_NS) {
            disconnect(shm, i, ERNIC_SHM_PEER_GONE);
        } else {
            set_alarm(shm, p->since + HELLO_NS);
        }
    }
}

/* Trains that wait for room set the alarm again when they are offered again. */
static void serve_timer(ErnicShm *shm)
{
    uint64_t count, now = host_ns();
    ssize_t n = read(shm->timer, &count, sizeof(count));
    uint32_t i;

    (void)n;
    shm->alarm = 0;
    if (shm->folder.fd < 0) {
        try_to_join(shm, now);
        return;                 /* without a peer */
    }
    set_accepting(shm, true);
    call_others(shm);
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i]) {
            serve_late(shm, i, now);
        }
    }
}

void ernic_shm_serve(ErnicShm *shm)
{
    struct epoll_event ev[EVENTS];
    int n = epoll_wait(shm->epoll, ev, EVENTS, 0), i;

    for (i = 0; i < n; i++) {
        uint32_t what = ev[i].data.u32;

        if (what == IS_FOLDER) {
            serve_folder(shm);
        } else if (what == IS_TIMER) {
            serve_timer(shm);
        } else if (shm->peer[what]) {
            serve_peer(shm, what);
        }
    }
}

void ernic_shm_announce(ErnicShm *shm, const ErnicGid *gid, uint32_t num, bool frames)
{
    uint32_t i;

    num = MIN(num, ERNIC_SHM_ADDRESSES);
    if (frames == shm->wants_frames && num == shm->num_gids &&
        (!num || !memcmp(shm->gid, gid, num * sizeof(*gid)))) {
        return;
    }
    shm->wants_frames = frames;
    shm->num_gids = num;
    if (num) {
        memcpy(shm->gid, gid, num * sizeof(*gid));
    }
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up) {
            announce_to(shm, i);
        }
    }
}

/* ---- out ------------------------------------------------------------------- */

static void drop(ErnicShm *shm, const ErnicTrain *train, ErnicShmDrop why)
{
    shm->stats.drop[why] += ernic_train_packets(train);
}

/* Whether the peer has taken half of its ring since that was full. */
static bool took_half(const ErnicShmPair *p)
{
    return p->tx.taken - p->full_at >= ERNIC_SHM_RING_BYTES / 2;
}

/* NOT_NOW: the peer has no room. BROKEN: it no longer exists. */
static ErnicShmResult put(ErnicShm *shm, uint32_t i, const ErnicTrain *train)
{
    ErnicShmPair *p = shm->peer[i];
    ErnicShmResult result = ernic_shm_ring_put(&p->tx, train);

    if (result == ERNIC_SHM_BROKEN) {
        disconnect(shm, i, ERNIC_SHM_PEER_BROKEN);
    } else if (result == ERNIC_SHM_DONE) {
        if (p->full_since && took_half(p)) {
            p->full_since = 0;  /* now, as positions wrap */
        }
        shm->stats.tx_trains++;
        shm->stats.tx_packets += ernic_train_packets(train);
        shm->stats.tx_bytes += train->len;
        if (ernic_shm_ring_wakes_reader(&p->tx)) {
            shm->stats.bells++;
            wake_peer(shm, p);
        }
    }
    return result;
}

/* The list of peer @i has been read, and is another one. */
static void take_addresses(ErnicShm *shm, uint32_t i)
{
    ErnicShmPair *p = shm->peer[i];
    uint32_t taken;

    shm->work += sizeof(shm->owners.claim[0]) * shm->owners.num;
    taken = ernic_shm_owners_set(&shm->owners, i, p->gid, p->num_gids);
    if (taken) {
        shm->stats.duplicates += taken;
        report(shm, i, ERNIC_SHM_PEER_DUPLICATE);
    }
}

/*
 * Peers that have withdrawn addresses come first: in a migration, the destination has
 * those of the source.
 */
static bool read_all_addresses(ErnicShm *shm)
{
    uint32_t fewer = 0, others = 0, i;

    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        ErnicShmPair *p = shm->peer[i];
        uint32_t before = p ? p->num_gids : 0;

        if (p && p->up && ernic_shm_pair_read_addresses(p, &shm->work)) {
            *(p->num_gids < before ? &fewer : &others) |= 1u << i;
        }
    }
    for (i = 0; i < 2 * ERNIC_SHM_PEERS; i++) {
        uint32_t peer = i % ERNIC_SHM_PEERS;

        if ((i < ERNIC_SHM_PEERS ? fewer : others) >> peer & 1) {
            take_addresses(shm, peer);
        }
    }
    return fewer | others;
}

/* Look at the addresses of peer @i; true: they have changed. */
static bool read_addresses(ErnicShm *shm, uint32_t i)
{
    return ernic_shm_pair_has_news(shm->peer[i]) && read_all_addresses(shm);
}

/* Every port gets a copy that has an address, or wants frames. */
static void send_copies(ErnicShm *shm, const ErnicTrain *train)
{
    uint32_t i;

    read_all_addresses(shm);
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        ErnicShmPair *p = shm->peer[i];

        if (p && p->up && (train->frame ? p->wants_frames : p->num_gids)) {
            shm->work += train->len;
            if (put(shm, i, train) == ERNIC_SHM_NOT_NOW) {
                drop(shm, train, ERNIC_SHM_DROP_COPY);
            }
        }
    }
}

/*
 * The peer with the address @gid, or ERNIC_SHM_PEERS. It may have withdrawn the address;
 * another one that announces it meanwhile would not be the first.
 */
static uint32_t owner_of(ErnicShm *shm, const ErnicGid *gid)
{
    uint32_t i = ernic_shm_owners_find(&shm->owners, gid);

    if (i < ERNIC_SHM_PEERS && read_addresses(shm, i)) {
        i = ernic_shm_owners_find(&shm->owners, gid);
    }
    if (i == ERNIC_SHM_PEERS && read_all_addresses(shm)) {
        i = ernic_shm_owners_find(&shm->owners, gid);
    }
    return i;
}

/*
 * Whether to wait for a peer without room. Trains to the others wait as well. So a peer
 * has a time for each half of its ring, and no more if it reads a little again and
 * again.
 */
static bool wait_for(ErnicShm *shm, ErnicShmPair *p)
{
    uint64_t now = host_ns();

    if (!p->full_since || took_half(p)) {
        p->full_since = now;
        p->full_at = p->tx.taken;
    }
    if (now - p->full_since >= ERNIC_SHM_STALL_NS) {
        return false;
    }
    set_alarm(shm, p->full_since + ERNIC_SHM_STALL_NS);
    return true;
}

/* False: offer it again. */
static bool send_to(ErnicShm *shm, uint32_t i, const ErnicTrain *train)
{
    ErnicShmResult result =
        i == ERNIC_SHM_PEERS ? ERNIC_SHM_BROKEN : put(shm, i, train);

    if (result == ERNIC_SHM_BROKEN) {
        drop(shm, train, ERNIC_SHM_DROP_UNKNOWN_DEST);
    } else if (result == ERNIC_SHM_NOT_NOW) {
        if (wait_for(shm, shm->peer[i])) {
            shm->stats.tx_busy++;
            return false;
        }
        drop(shm, train, ERNIC_SHM_DROP_STALLED);
    }
    return true;
}

/*
 * The frames of a train have one destination. A station whose port wants no frames has
 * perhaps moved: after a migration, the source is still there.
 */
static bool send_frames(ErnicShm *shm, const ErnicTrain *train)
{
    uint32_t i = ernic_shm_stations_find(&shm->stations, train->data);

    if (i < ERNIC_SHM_PEERS) {
        read_addresses(shm, i);
        if (shm->peer[i]->wants_frames) {
            return send_to(shm, i, train);
        }
    }
    shm->stats.tx_flooded += ernic_train_packets(train);
    send_copies(shm, train);
    return true;
}

bool ernic_shm_send(ErnicShm *shm, const ErnicTrain *train)
{
    if (train->frame) {
        return send_frames(shm, train);
    }
    if (ernic_gid_is_mcast(&train->path.dgid)) {
        send_copies(shm, train);
        return true;
    }
    return send_to(shm, owner_of(shm, &train->path.dgid), train);
}

/* ---- in -------------------------------------------------------------------- */

static bool is_silent(const ErnicShm *shm, const ErnicShmPair *p)
{
    return shm->stats.rx_trains - p->heard >= ERNIC_SHM_SILENT;
}

static bool recv_from(ErnicShm *shm, uint32_t i, ErnicTrain *train)
{
    ErnicShmPair *p = shm->peer[i];
    ErnicShmResult result = ernic_shm_ring_take(&p->rx, shm->buf, train);

    if (result == ERNIC_SHM_NOT_NOW && is_silent(shm, p) && !fall_asleep(shm, i)) {
        result = ernic_shm_ring_take(&p->rx, shm->buf, train);
    }
    if (result == ERNIC_SHM_BROKEN) {
        disconnect(shm, i, ERNIC_SHM_PEER_BROKEN);
    } else if (result == ERNIC_SHM_DONE) {
        p->heard = ++shm->stats.rx_trains;
        shm->stats.rx_packets += ernic_train_packets(train);
        shm->stats.rx_bytes += train->len;
        if (train->frame) {
            ernic_shm_stations_learn(&shm->stations, train->data + 6, i);
        }
        if (ernic_shm_ring_wakes_writer(&p->rx)) {
            shm->stats.bells++;
            wake_peer(shm, p);
        }
    }
    return result == ERNIC_SHM_DONE;
}

/* The peers take turns. A message announces the trains in rings that ask for one. */
bool ernic_shm_recv(ErnicShm *shm, ErnicTrain *train)
{
    uint32_t left, later, i;

    for (left = shm->awake; left; left &= ~(1u << i)) {
        later = left & ~0u << shm->next;
        i = __builtin_ctz(later ?: left);
        if (recv_from(shm, i, train)) {
            shm->next = (i + 1) % ERNIC_SHM_PEERS;
            return true;
        }
    }
    return false;
}

bool ernic_shm_sleep(ErnicShm *shm)
{
    while (shm->awake) {
        if (!fall_asleep(shm, __builtin_ctz(shm->awake))) {
            return false;
        }
    }
    return true;
}

bool ernic_shm_is_asleep(const ErnicShm *shm)
{
    return !shm->awake;
}

bool ernic_shm_ready(const ErnicShm *shm)
{
    uint32_t left;

    for (left = shm->awake; left; left &= left - 1) {
        if (ernic_shm_ring_ready(&shm->peer[__builtin_ctz(left)]->rx)) {
            return true;
        }
    }
    return false;
}

/* ---- life ------------------------------------------------------------------ */

ErnicShm *ernic_shm_new(const ErnicShmConfig *cfg, char **err)
{
    ErnicShm *shm = g_new0(ErnicShm, 1);

    shm->cfg = *cfg;
    shm->cfg.folder = NULL;
    shm->closer = ernic_shm_closer_new();
    shm->epoll = epoll_create1(EPOLL_CLOEXEC);
    shm->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (shm->epoll < 0 || shm->timer < 0 || !watch(shm, shm->timer, IS_TIMER)) {
        *err = g_strdup_printf("epoll and timer: %s", g_strerror(errno));
    } else if (ernic_shm_folder_join(&shm->folder, cfg->folder, shm->closer, err)) {
        if (shm->folder.fd < 0) {
            shm->locked_out = host_ns();
            set_alarm(shm, shm->locked_out + CALL_NS);
            return shm;
        }
        if (join(shm)) {
            return shm;
        }
        *err = g_strdup_printf("epoll: %s", g_strerror(errno));
        ernic_shm_folder_leave(&shm->folder);
    }
    if (shm->epoll >= 0) {
        close(shm->epoll);
    }
    if (shm->timer >= 0) {
        close(shm->timer);
    }
    ernic_shm_closer_free(shm->closer);
    g_free(shm);
    return NULL;
}

uint32_t ernic_shm_number(const ErnicShm *shm)
{
    return shm->folder.number;
}

void ernic_shm_hide(const ErnicShm *shm)
{
    ernic_shm_folder_hide(&shm->folder);
}

void ernic_shm_free(ErnicShm *shm)
{
    uint32_t i;

    ernic_shm_folder_leave(&shm->folder);
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        g_clear_pointer(&shm->peer[i], ernic_shm_pair_free);
    }
    ernic_shm_closer_free(shm->closer);
    close(shm->timer);
    close(shm->epoll);
    g_free(shm);
}
