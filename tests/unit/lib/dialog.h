/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Dialogues: one engine with one queue pair, and the test as its peer. A test
 * reads like a sequence diagram: what software posts, what the peer says, what
 * has to be sent, completed and raised, each in order and nothing besides.
 * Nothing is looked at but what crosses the seam; the engine's own check of its
 * invariants is asked after every step.
 */
#ifndef DIALOG_H
#define DIALOG_H

#include "fake_verbs.h"
#include "test.h"
#include "wire/headers.h"

#define DLG_PEER_QPN    0x775533u
#define DLG_HOST        1           /* 10.0.0.1, and the peer's: 10.0.0.2 */
#define DLG_PEER        2
#define DLG_SQ_PSN      0x500u      /* of our requests */
#define DLG_RQ_PSN      0x100u      /* of the peer's */
#define DLG_QKEY        0x11111111u
#define DLG_RADDR       0xabcd00000000ull   /* what our RDMA requests name */
#define DLG_RKEY        0x5a5a5a01u
#define DLG_IMM         0x8badf00du
#define DLG_INV_RKEY    0xcafed00du
#define DLG_XRC_SRQ     0x5a1u      /* what our XRC requests name */
#define DLG_COMPARE     0x1111222233334444ull   /* and the summand */
#define DLG_SWAP        0x9999aaaabbbbccccull
/* Our region: bytes at random in front of DLG_SINK, 0 from there on. */
#define DLG_MEM         (2u << 20)
#define DLG_SINK        (1u << 20)
#define DLG_ACK         (ERNIC_AETH_ACK | ERNIC_AETH_CREDIT_NONE)

typedef struct Dialog {
    FakeEnv env;
    Ernic *e;
    FakeEq eq;                  /* asynchronous events and completions */
    FakeCq scq, rcq;
    FakeSrq srq;                /* used if srqn is not 0 */
    FakeQp qp;
    uint32_t pd;
    uint32_t xrcd;              /* XRC target: its domain, in which srq is */
    ErnicTransport transport;
    struct ernic_qp_attr attr;  /* what dlg_to() sets */
    ErnicPath path;             /* on which the peer sends */
    uint64_t mem;               /* DLG_MEM bytes that key opens for all */
    uint8_t *at;                /* the same to the test */
    uint32_t key;
    uint8_t *peer;              /* DLG_SINK bytes at random: the peer's data */
    bool hold;                  /* PEER() does not let the engine run */
    const ErnicTrain *blind;    /* what a link without IP headers takes the path for,
                                   and its alternatives; NULL: it knows */
    ErnicPath sent_path;        /* of the last packet taken by SENT() */
    GQueue sent;
} Dialog;

/*
 * The queue pair is in RESET; @srq: its receive requests are shared. An XRC target
 * always has d->srq, in its domain; the peer names it by default.
 */
void dlg_init(Dialog *d, uint8_t type, bool srq);
/* On to @state with d->attr. */
void dlg_to(Dialog *d, uint8_t state);
/* Both, up to RTS. */
void dlg_open(Dialog *d, uint8_t type);
/* The same; in between the statement @SET changes attributes. */
#define DLG_OPEN(d, TYPE, SET)                                              \
    do {                                                                    \
        dlg_init(d, TYPE, false);                                           \
        SET;                                                                \
        dlg_to(d, ERNIC_QPS_RTS);                                           \
    } while (0)
/* The same with this path MTU, and the PSN at which either end begins. */
void dlg_open_mtu(Dialog *d, uint8_t type, uint8_t mtu, uint32_t psn);
/* Up to any @state that exists for @type. */
void dlg_open_in(Dialog *d, uint8_t type, uint8_t state);
/* The test took all packets, completions and events. */
void dlg_close(Dialog *d);

/* The head of a test of a Dialog *d, which @open makes and dlg_close() ends. */
#define DIALOG_TEST_BY(path, open, fn) \
    WORLD_TEST(path, fn, Dialog, d, open, dlg_close(d))
/* The same by dlg_open(). */
#define DIALOG_TEST(path, type, fn) DIALOG_TEST_BY(path, dlg_open(d, type), fn)
/* The same for each element *@row of the array @rows. */
#define DIALOG_ROW_TEST(path, rows, row, open, fn) \
    WORLD_ROW_TEST(path, rows, row, fn, Dialog, d, open, dlg_close(d))
/* A block with a dialogue of its own. */
#define WITH_DIALOG(d, open)                                                \
    for (Dialog dialog, *d = &dialog, *left = ({ open; d; }); left;         \
         dlg_close(d), left = NULL)
/* The same for each @i from @first on, below @end. */
#define COUNT_UP(i, first, end) for (uint32_t i = (first); i < (end); i++)
#define EACH_DIALOG(d, i, first, end, open) \
    COUNT_UP(i, first, end) WITH_DIALOG(d, open)

/* ---- the peer -------------------------------------------------------- */

/*
 * The peer sends @op with the fields of @pkt. Its op, transport and migreq are
 * filled in, dest_qp and pkey if 0.
 */
void dlg_peer(Dialog *d, ErnicOp op, const ErnicPkt *pkt);
#define PEER(d, OP, ...) \
    dlg_peer(d, ERNIC_OP_##OP, &(ErnicPkt) { __VA_ARGS__ })
#define PEER_ACK(d, PSN, MSN) \
    PEER(d, ACK, .psn = (PSN), .msn = (MSN), .syndrome = DLG_ACK)
#define PEER_NAK(d, SYNDROME, PSN, MSN) \
    PEER(d, ACK, .psn = (PSN), .msn = (MSN), .syndrome = (SYNDROME))
/* The same with the LEN bytes at d->peer + OFF. */
#define PEER_DATA(d, OP, PSN, OFF, LEN, ...)                                \
    PEER(d, OP, .psn = (PSN), .payload = (d)->peer + (OFF),                 \
         .payload_len = (LEN), ##__VA_ARGS__)
/* The peer sends LEN bytes of its data, or wants d->mem + OFF read, written, added to. */
#define PEER_SEND(d, PSN, LEN)                                              \
    PEER(d, SEND_ONLY, .psn = (PSN), .payload = (d)->peer,                  \
         .payload_len = (LEN), .ackreq = dlg_acks(d),                       \
         .qkey = (d)->transport == ERNIC_UD ? DLG_QKEY : 0)
#define PEER_READ(d, PSN, OFF, LEN)                                         \
    PEER(d, READ_REQUEST, .psn = (PSN), .va = (d)->mem + (OFF),             \
         .rkey = (d)->key, .dma_len = (LEN), .ackreq = true)
#define PEER_WRITE(d, PSN, OFF, LEN)                                        \
    PEER(d, WRITE_ONLY, .psn = (PSN), .va = (d)->mem + (OFF),               \
         .rkey = (d)->key, .dma_len = (LEN), .payload = (d)->peer,          \
         .payload_len = (LEN), .ackreq = true)
#define PEER_ADD(d, PSN, OFF, SUMMAND)                                      \
    PEER(d, FETCH_ADD, .psn = (PSN), .va = (d)->mem + (OFF),                \
         .rkey = (d)->key, .swap_add = (SUMMAND))
#define PEER_SWAP(d, PSN, OFF, KEY, COMPARE, SWAP)                          \
    PEER(d, COMPARE_SWAP, .psn = (PSN), .va = (d)->mem + (OFF),             \
         .rkey = (KEY), .compare = (COMPARE), .swap_add = (SWAP))
/* It answers an atomic. */
#define PEER_ATOMIC(d, PSN, MSN, ORIG)                                      \
    PEER(d, ATOMIC_ACK, .psn = (PSN), .syndrome = DLG_ACK, .msn = (MSN),    \
         .atomic_orig = (ORIG))
/* @pkt as it is, but for the ICRC, on @path. */
void dlg_inject(Dialog *d, const ErnicPkt *pkt, const ErnicPath *path);
/* @len bytes from BTH on as they are, or with a fresh ICRC appended. */
void dlg_inject_raw(Dialog *d, const uint8_t *bytes, uint32_t len, bool icrc);
/* The first 12 bytes of a packet for the queue pair. */
void dlg_bth(const Dialog *d, uint8_t bytes[12], uint8_t opcode, uint32_t psn);
/* A congestion notification packet. */
void dlg_cnp(Dialog *d);

/*
 * The next packet that the engine sends is @op and has the fields of @want; unnamed
 * ones are 0, and dest_qp and pkey have defaults. Its payload is @want->payload, unless
 * that is NULL.
 */
void dlg_sent(Dialog *d, ErnicOp op, const ErnicPkt *want, const char *where);
#define DLG_STR(x) #x
#define DLG_WHERE(line) __FILE__ ":" DLG_STR(line)
#define SENT_AT(d, OP, LINE, ...) \
    dlg_sent(d, ERNIC_OP_##OP, &(ErnicPkt) { __VA_ARGS__ }, DLG_WHERE(LINE))
#define SENT(d, OP, ...) SENT_AT(d, OP, __LINE__, __VA_ARGS__)
/* The same with the LEN bytes at d->at + OFF. */
#define SENT_DATA(d, OP, PSN, OFF, LEN, ...)                                \
    SENT(d, OP, .psn = (PSN), .payload = (d)->at + (OFF),                   \
         .payload_len = (LEN), ##__VA_ARGS__)
#define SENT_ACK(d, PSN, MSN) \
    SENT(d, ACK, .psn = (PSN), .msn = (MSN), .syndrome = DLG_ACK)
#define SENT_NAK(d, SYNDROME, PSN, MSN) \
    SENT(d, ACK, .psn = (PSN), .msn = (MSN), .syndrome = (SYNDROME))
/* Our READ of LEN bytes from DLG_RADDR + OFF, our FETCH_ADD, our answer to an atomic. */
#define SENT_READ(d, PSN, OFF, LEN)                                         \
    SENT(d, READ_REQUEST, .psn = (PSN), .va = DLG_RADDR + (OFF),            \
         .rkey = DLG_RKEY, .dma_len = (LEN), .ackreq = true)
#define SENT_ADD(d, PSN)                                                    \
    SENT(d, FETCH_ADD, .psn = (PSN), .va = DLG_RADDR, .rkey = DLG_RKEY,     \
         .swap_add = DLG_COMPARE, .ackreq = true)
#define SENT_ATOMIC(d, PSN, MSN, ORIG)                                      \
    SENT(d, ATOMIC_ACK, .psn = (PSN), .syndrome = DLG_ACK, .msn = (MSN),    \
         .atomic_orig = (ORIG))
/* A NAK and @event end the queue pair. */
void dlg_ends(Dialog *d, uint8_t syndrome, uint32_t psn, uint32_t msn, uint8_t event);
/* A congestion notification packet. */
void dlg_sent_cnp(Dialog *d);
/* Number of packets that were sent and not taken. */
uint32_t dlg_pending(Dialog *d);
/* Take one unchecked; returns a copy, whose payload must not be used. */
ErnicPkt dlg_take(Dialog *d);
/* All of them; returns how many. */
uint32_t dlg_drain(Dialog *d);
#define QUIET(d) g_assert_cmpuint(dlg_pending(d), ==, 0)

/* ---- software -------------------------------------------------------- */

/* Another queue pair of @type with the same domain and completion queues, in RESET. */
void dlg_create_qp(Dialog *d, FakeQp *qp, uint8_t type);
/* A request of this opcode, RDMA to DLG_RADDR with DLG_RKEY; wr_id: sq_pi. */
struct ernic_wqe dlg_wqe(const Dialog *d, uint8_t opcode, uint8_t flags);
/* A request that binds window @key, then @new_key, to @len bytes at d->mem + @off. */
struct ernic_wqe dlg_bind(Dialog *d, uint32_t key, uint32_t new_key, uint64_t off,
                          uint64_t len, uint32_t access);
/* A request that binds a new window of type 2 to 64 bytes at DLG_SINK, key *@rkey. */
struct ernic_wqe dlg_bind_mw(Dialog *d, uint32_t *rkey);
/*
 * Post it with wr_id sq_pi and, unless @len is 0, one SGE of d->mem; ring.
 */
void dlg_post_wqe(Dialog *d, const struct ernic_wqe *wqe, uint64_t off,
                  uint32_t len);
/* Both; signalled. */
void dlg_post(Dialog *d, uint8_t opcode, uint64_t off, uint32_t len);
void dlg_post_flags(Dialog *d, uint8_t opcode, uint8_t flags, uint64_t off,
                    uint32_t len);
/* Both; then its message is sent from @psn on. Returns its packets. */
uint32_t dlg_send(Dialog *d, uint8_t opcode, uint32_t psn, uint64_t off, uint32_t len);
/* Post a receive request for d->mem + @off; wr_id: rq_pi or srq.pi. */
void dlg_recv(Dialog *d, uint64_t off, uint32_t len);
/* @n of them. */
void dlg_recv_many(Dialog *d, uint32_t n, uint64_t off, uint32_t len);
/* The next completion; returns it. */
struct ernic_cqe dlg_send_wc(Dialog *d, uint64_t wr_id, uint8_t status);
struct ernic_cqe dlg_recv_wc(Dialog *d, uint64_t wr_id, uint8_t status);
#define SEND_WC(d, ID, STATUS) dlg_send_wc(d, ID, ERNIC_WC_##STATUS)
#define RECV_WC(d, ID, STATUS) dlg_recv_wc(d, ID, ERNIC_WC_##STATUS)
/* The next completions, of the requests FIRST to LAST. */
#define SEND_WCS(d, FIRST, LAST, STATUS) \
    dlg_wcs(d, dlg_send_wc, FIRST, LAST, ERNIC_WC_##STATUS)
#define RECV_WCS(d, FIRST, LAST, STATUS) \
    dlg_wcs(d, dlg_recv_wc, FIRST, LAST, ERNIC_WC_##STATUS)
typedef struct ernic_cqe DlgWc(Dialog *d, uint64_t wr_id, uint8_t status);
void dlg_wcs(Dialog *d, DlgWc *wc, uint64_t first, uint64_t last, uint8_t status);
void dlg_no_wc(Dialog *d);
/* Neither a packet nor a completion. */
void dlg_nothing(Dialog *d);
/* The peer acknowledges @MSN messages; requests from @FIRST on complete. */
#define ACKED(d, PSN, FIRST, MSN)                                           \
    do {                                                                    \
        PEER_ACK(d, PSN, MSN);                                              \
        SEND_WCS(d, FIRST, (MSN) - 1, SUCCESS);                             \
    } while (0)
/* The next event is @type of our queue pair, or of @element. */
void dlg_event(Dialog *d, uint8_t type);
struct ernic_eqe dlg_event_of(Dialog *d, uint8_t type, uint32_t element);
void dlg_no_event(Dialog *d);

/* QP_MODIFY with d->attr; returns the status. */
uint8_t dlg_modify(Dialog *d, uint32_t mask, uint8_t state);
/* QP_MODIFY to @state without attributes, which succeeds. */
void dlg_state(Dialog *d, uint8_t state);
void dlg_query(Dialog *d, struct ernic_qp_attr *attr);
#define STATE_IS(d, STATE) dlg_state_is(d, ERNIC_QPS_##STATE)
void dlg_state_is(Dialog *d, uint8_t state);
/* Let @ns pass. */
void dlg_wait(Dialog *d, uint64_t ns);

/* d->mem + @off holds the @len bytes at @bytes; NULL: only 0. */
void dlg_mem_is(Dialog *d, uint64_t off, const uint8_t *bytes, uint32_t len);

/* Whether requests are acknowledged. */
bool dlg_acks(const Dialog *d);
/* Path MTU in bytes of d->attr. */
uint32_t dlg_mtu(const Dialog *d);

/* ---- whole messages -------------------------------------------------- */

/*
 * The next packets are the message of a SEND or WRITE request @opcode with the
 * @len bytes at d->at + @off, RDMA to DLG_RADDR; the last one asks for an ACK
 * (RC) and is solicited if @flags say so. Returns how many there were.
 */
uint32_t dlg_sent_message(Dialog *d, uint8_t opcode, uint8_t flags,
                          uint32_t psn, uint64_t off, uint32_t len);
/*
 * The peer sends such a message of the @len bytes at d->peer, RDMA to d->mem +
 * @to with d->key; the last packet asks for an ACK. Returns its packets.
 */
uint32_t dlg_peer_message(Dialog *d, uint8_t opcode, uint32_t psn,
                          uint64_t to, uint32_t len);
/*
 * The peer answers a READ with the @len bytes at d->peer + @off from @psn on.
 * Returns how many packets.
 */
uint32_t dlg_peer_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off,
                       uint32_t len);
/* The peer wants such a READ, and gets it. */
uint32_t dlg_serve_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off,
                        uint32_t len);
/* The peer's SEND of 16 bytes is acknowledged and completes receive request @id. */
void dlg_serve_send(Dialog *d, uint32_t psn, uint32_t msn, uint64_t id);
/* The answer to the peer's READ of @len bytes at d->at + @off. */
uint32_t dlg_sent_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off,
                       uint32_t len);

#endif /* DIALOG_H */
