/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A port of the shared-memory link: its peers, and the trains to and from them. Its
 * epoll descriptor stands for the folder's socket, the sockets of the peers and a timer.
 */
#include "qemu/osdep.h"
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "links/shm_folder.h"
#include "links/shm_pair.h"
#include "links/shm_port.h"

#define EVENTS          16
/* epoll_event.data says which descriptor it is: a peer's number, or one of these. */
#define IS_FOLDER       ERNIC_SHM_PEERS
#define IS_TIMER        (ERNIC_SHM_PEERS + 1)

struct ErnicShm {
    ErnicShmConfig cfg;
    ErnicShmFolder folder;
    int epoll, timer;
    ErnicShmPair *peer[ERNIC_SHM_PEERS];        /* NULL: free */
    uint32_t next;              /* the peer to read first */
    bool asleep;
    ErnicGid gid[ERNIC_SHM_ADDRESSES];
    uint32_t num_gids;
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
};

const char *ernic_shm_drop_name(ErnicShmDrop reason)
{
    return (unsigned)reason < ERNIC_SHM_DROP_COUNT ? drop_names[reason] : "invalid";
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
static void lose(ErnicShm *shm, uint32_t i, ErnicShmEvent why)
{
    shm->stats.peers -= shm->peer[i]->up;
    g_clear_pointer(&shm->peer[i], ernic_shm_pair_free);
    report(shm, i, why);
}

static uint32_t free_slot(const ErnicShm *shm)
{
    uint32_t i = 0;

    while (i < ERNIC_SHM_PEERS && shm->peer[i]) {
        i++;
    }
    return i;
}

/* Takes over @fd. */
static void add_peer(ErnicShm *shm, int fd, bool caller)
{
    uint32_t i = free_slot(shm);

    if (i == ERNIC_SHM_PEERS) {
        close(fd);
        report(shm, i, ERNIC_SHM_PEER_REFUSED);
        return;
    }
    shm->peer[i] = caller ? ernic_shm_pair_call(fd, shm->cfg.icrc)
                          : ernic_shm_pair_accept(fd, shm->cfg.icrc);
    if (!shm->peer[i]) {
        report(shm, i, ERNIC_SHM_PEER_GONE);
    } else if (!watch(shm, fd, i)) {
        lose(shm, i, ERNIC_SHM_PEER_GONE);
    }
}

static void call_peer(void *opaque, int fd)
{
    add_peer(opaque, fd, true);
}

static void serve_folder(ErnicShm *shm)
{
    int fd = ernic_shm_folder_accept(&shm->folder);

    if (fd >= 0) {
        add_peer(shm, fd, false);
    }
}

static void serve_peer(ErnicShm *shm, uint32_t i)
{
    ErnicShmPair *p = shm->peer[i];

    if (p->up) {
        if (!ernic_shm_pair_hear(p)) {
            lose(shm, i, ERNIC_SHM_PEER_GONE);
        }
        return;
    }
    switch (ernic_shm_pair_greet(p)) {
    case ERNIC_SHM_WAIT:
        break;
    case ERNIC_SHM_UP:
        shm->stats.peers++;
        shm->asleep = false;    /* its ring has not been looked at */
        ernic_shm_pair_announce(p, shm->gid, shm->num_gids);
        report(shm, i, ERNIC_SHM_PEER_UP);
        break;
    case ERNIC_SHM_REFUSED:
        lose(shm, i, ERNIC_SHM_PEER_REFUSED);
        break;
    case ERNIC_SHM_GONE:
        lose(shm, i, ERNIC_SHM_PEER_GONE);
        break;
    }
}

static void serve_timer(ErnicShm *shm)
{
    uint64_t count;
    ssize_t n = read(shm->timer, &count, sizeof(count));

    (void)n;
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

void ernic_shm_announce(ErnicShm *shm, const ErnicGid *gid, uint32_t num)
{
    uint32_t i;

    num = MIN(num, ERNIC_SHM_ADDRESSES);
    if (num == shm->num_gids && memcmp(shm->gid, gid, num * sizeof(*gid)) == 0) {
        return;
    }
    shm->num_gids = num;
    memcpy(shm->gid, gid, num * sizeof(*gid));
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up) {
            ernic_shm_pair_announce(shm->peer[i], shm->gid, shm->num_gids);
        }
    }
}

/* ---- out ------------------------------------------------------------------- */

static void drop(ErnicShm *shm, const ErnicTrain *train, ErnicShmDrop why)
{
    shm->stats.drop[why] += ernic_train_packets(train);
}

/* NOT_NOW: the peer has no room. BROKEN: it no longer exists. */
static ErnicShmResult put(ErnicShm *shm, uint32_t i, const ErnicTrain *train)
{
    ErnicShmPair *p = shm->peer[i];
    ErnicShmResult result = ernic_shm_ring_put(&p->tx, train);

    if (result == ERNIC_SHM_BROKEN) {
        lose(shm, i, ERNIC_SHM_PEER_BROKEN);
    } else if (result == ERNIC_SHM_DONE) {
        p->full_since = 0;
        shm->stats.tx_trains++;
        shm->stats.tx_packets += ernic_train_packets(train);
        shm->stats.tx_bytes += train->len;
        if (ernic_shm_ring_wakes_reader(&p->tx)) {
            shm->stats.bells++;
            ernic_shm_pair_ring(p);
        }
    }
    return result;
}

/* The members of a group are not known here: every port gets a copy. */
static void send_copies(ErnicShm *shm, const ErnicTrain *train)
{
    uint32_t i;

    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up &&
            put(shm, i, train) == ERNIC_SHM_NOT_NOW) {
            drop(shm, train, ERNIC_SHM_DROP_COPY);
        }
    }
}

/* The peer with the address @gid, or ERNIC_SHM_PEERS. */
static uint32_t owner_of(ErnicShm *shm, const ErnicGid *gid)
{
    uint32_t i;

    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up && ernic_shm_pair_has(shm->peer[i], gid)) {
            break;
        }
    }
    return i;
}

/*
 * Wait for a peer without room? A peer that takes nothing must not hold up the trains to
 * others for ever: the timer ends the wait.
 */
static bool wait_for(ErnicShm *shm, ErnicShmPair *p)
{
    struct itimerspec when = { .it_value.tv_nsec = ERNIC_SHM_STALL_NS };
    uint64_t now = host_ns();

    if (!p->full_since) {
        p->full_since = now;
        timerfd_settime(shm->timer, 0, &when, NULL);
    }
    return now - p->full_since < ERNIC_SHM_STALL_NS;
}

bool ernic_shm_send(ErnicShm *shm, const ErnicTrain *train)
{
    ErnicShmResult result;
    uint32_t i;

    if (ernic_gid_is_mcast(&train->path.dgid)) {
        send_copies(shm, train);
        return true;
    }
    i = owner_of(shm, &train->path.dgid);
    result = i == ERNIC_SHM_PEERS ? ERNIC_SHM_BROKEN : put(shm, i, train);
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

/* ---- in -------------------------------------------------------------------- */

static void wake(ErnicShm *shm)
{
    uint32_t i;

    for (i = 0; shm->asleep && i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up) {
            ernic_shm_ring_awake(&shm->peer[i]->rx);
        }
    }
    shm->asleep = false;
}

static bool recv_from(ErnicShm *shm, uint32_t i, ErnicTrain *train)
{
    ErnicShmPair *p = shm->peer[i];
    ErnicShmResult result = ernic_shm_ring_take(&p->rx, shm->buf, train);

    if (result == ERNIC_SHM_BROKEN) {
        lose(shm, i, ERNIC_SHM_PEER_BROKEN);
    } else if (result == ERNIC_SHM_DONE) {
        shm->stats.rx_trains++;
        shm->stats.rx_packets += ernic_train_packets(train);
        shm->stats.rx_bytes += train->len;
        if (ernic_shm_ring_wakes_writer(&p->rx)) {
            shm->stats.bells++;
            ernic_shm_pair_ring(p);
        }
    }
    return result == ERNIC_SHM_DONE;
}

/* The peers take turns. */
bool ernic_shm_recv(ErnicShm *shm, ErnicTrain *train)
{
    uint32_t n, i = shm->next;

    wake(shm);
    for (n = 0; n < ERNIC_SHM_PEERS; n++, i = (i + 1) % ERNIC_SHM_PEERS) {
        if (shm->peer[i] && shm->peer[i]->up && recv_from(shm, i, train)) {
            shm->next = (i + 1) % ERNIC_SHM_PEERS;
            return true;
        }
    }
    return false;
}

bool ernic_shm_sleep(ErnicShm *shm)
{
    uint32_t i;

    shm->asleep = true;
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        if (shm->peer[i] && shm->peer[i]->up &&
            !ernic_shm_ring_sleep(&shm->peer[i]->rx)) {
            return false;
        }
    }
    return true;
}

/* ---- life ------------------------------------------------------------------ */

ErnicShm *ernic_shm_new(const ErnicShmConfig *cfg, char **err)
{
    ErnicShm *shm = g_new0(ErnicShm, 1);

    shm->cfg = *cfg;
    shm->cfg.folder = NULL;
    shm->epoll = epoll_create1(EPOLL_CLOEXEC);
    shm->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (shm->epoll < 0 || shm->timer < 0 || !watch(shm, shm->timer, IS_TIMER)) {
        *err = g_strdup_printf("epoll and timer: %s", g_strerror(errno));
    } else if (ernic_shm_folder_join(&shm->folder, cfg->folder, call_peer, shm, err)) {
        watch(shm, shm->folder.fd, IS_FOLDER);
        return shm;
    }
    if (shm->epoll >= 0) {
        close(shm->epoll);
    }
    if (shm->timer >= 0) {
        close(shm->timer);
    }
    g_free(shm);
    return NULL;
}

void ernic_shm_hide(const ErnicShm *shm)
{
    unlink(shm->folder.socket);
}

void ernic_shm_free(ErnicShm *shm)
{
    uint32_t i;

    ernic_shm_folder_leave(&shm->folder);
    for (i = 0; i < ERNIC_SHM_PEERS; i++) {
        g_clear_pointer(&shm->peer[i], ernic_shm_pair_free);
    }
    close(shm->timer);
    close(shm->epoll);
    g_free(shm);
}
