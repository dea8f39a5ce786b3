/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest software over a fake environment: objects by commands, requests
 * written into rings, doorbells, entries read back. Every call asserts success
 * unless it returns a status. All are made in context env->uctx at env->now.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include "engine.h"
#include "fake_env.h"

#define FAKE_NONE 0xffffffffu   /* no EQ, no SRQ */

static inline FakeEnv *fake_env_of(Ernic *e)
{
    return e->env;
}

/* All invariants of the engine hold. */
void fake_check(const Ernic *e);
/* The saved state of @e, which is no longer than it says. */
GByteArray *fake_saved(const Ernic *e);
/* The state of @e is @want. */
void fake_state_is(const Ernic *e, const GByteArray *want);
/*
 * A new engine loads the state of *@e and takes its place. Another one refuses the state
 * without its last byte.
 */
void fake_take_over(Ernic **e);
/* Ends an engine, whose invariants must hold, and its environment. */
void fake_ernic_done(FakeEnv *env, Ernic *e);
/* Engine with fake_config() changed so, in a new environment @to; the link is down. */
#define FAKE_ERNIC(to, ...)                                                 \
    ({ ErnicConfig cfg; fake_env_init(to); fake_config(&cfg); __VA_ARGS__;  \
       ernic_new(&cfg, &fake_env_ops, to); })
/* Engine with fake_config() in a new environment; GID 0 is 10.0.0.1, the link is up. */
Ernic *fake_ernic_new(FakeEnv *env);
/* The same with a timing model, which must outlive the engine; NULL: without. */
Ernic *fake_ernic_timed(FakeEnv *env, const ErnicProfile *timing);
/* The same with an observer of what the model does; NULL: none. */
Ernic *fake_ernic_traced(FakeEnv *env, const ErnicProfile *timing,
                         const ErnicTimingTrace *trace);

/* Sends @cmd; @rsp may be NULL. Returns the status. */
uint8_t fake_cmd(Ernic *e, struct ernic_cmd *cmd, struct ernic_rsp *rsp);
/* Sends @cmd, which succeeds; returns the handle in its answer. */
uint32_t fake_make(Ernic *e, struct ernic_cmd *cmd);
/* A command with @len bytes of @data in memory, like QP_CREATE; *@made: its handle. */
uint8_t fake_pass(Ernic *e, uint8_t opcode, uint32_t handle, const void *data,
                  uint32_t len, uint32_t *made);
/* The answer to a query, which the next one overwrites. */
const void *fake_query(Ernic *e, uint8_t opcode, uint32_t handle, uint32_t len);
/* MCAST_ATTACH or MCAST_DETACH. Returns the status. */
uint8_t fake_mcast(Ernic *e, uint8_t opcode, const uint8_t gid[16], uint32_t qpn);
/* *_FREE and *_DESTROY by handle. */
uint8_t fake_destroy(Ernic *e, uint8_t opcode, uint32_t handle);

/* Entry @index becomes ::ffff:10.0.0.@host with MAC 02:00:00:00:00:@host. */
void fake_set_gid(Ernic *e, uint8_t index, uint8_t host);
void fake_gid(uint8_t gid[16], uint8_t host);

/* The link is no longer busy. */
void fake_tx_ready(Ernic *e);
/* Time: run until the engine asks for nothing before env->now. */
void fake_run(Ernic *e);
/* Let @ns pass, stopping at every wake-up on the way. */
void fake_advance(Ernic *e, uint64_t ns);
/*
 * Trains captured at @a arrive at @b, with one fake_run() of @b after each; returns how
 * many. For a connection call it in both directions in turn.
 */
uint32_t fake_deliver(Ernic *a, Ernic *b);

uint32_t fake_create_uctx(Ernic *e);
uint32_t fake_create_pd(Ernic *e);

typedef struct FakeEq {
    uint32_t eqn, depth, ci;
    uint64_t buf;
} FakeEq;

void fake_create_eq(Ernic *e, FakeEq *eq, uint32_t depth, uint16_t vector, bool async);
/* The next event in host order; false: none. Does not ring the doorbell. */
bool fake_poll_eq(Ernic *e, FakeEq *eq, struct ernic_eqe *eqe);
void fake_ring_eq(Ernic *e, const FakeEq *eq);

typedef struct FakeCq {
    uint32_t cqn, depth, ci;
    uint64_t buf;
} FakeCq;

/* @eqn: FAKE_NONE for none. */
void fake_create_cq(Ernic *e, FakeCq *cq, uint32_t depth, uint32_t eqn);
/* The next completion in host order; false: none. No doorbell. */
bool fake_poll_cq(Ernic *e, FakeCq *cq, struct ernic_cqe *cqe);
void fake_ring_cq(Ernic *e, const FakeCq *cq);
void fake_arm_cq(Ernic *e, const FakeCq *cq, bool solicited);

typedef struct FakeSrq {
    uint32_t srqn, depth, stride, pi;
    uint64_t buf;
    uint64_t record;            /* struct ernic_record; 0: none */
} FakeSrq;

void fake_create_srq(Ernic *e, FakeSrq *srq, uint32_t pd, uint32_t depth, uint32_t limit);

/* In XRC domain @xrcd, a PD of context 0; its requests complete in @cqn. */
void fake_create_xrc_srq(Ernic *e, FakeSrq *srq, uint32_t pd, uint32_t depth,
                         uint32_t xrcd, uint32_t cqn);

/*
 * A region over [@addr, @addr + @len), one extent, iova = @addr. Returns the
 * key, which is lkey and rkey.
 */
uint32_t fake_reg_mr(Ernic *e, uint32_t pd, uint64_t addr, uint64_t len, uint32_t access);
/* The command for a region of @npages pages of 4096 bytes, whose list is at @list. */
struct ernic_cmd fake_reg_list(uint32_t pd, uint64_t list, uint32_t npages,
                               uint8_t levels);
/* A region on demand with pages of 4096 bytes, all of them absent. */
uint32_t fake_reg_demand(Ernic *e, uint32_t pd, uint64_t iova, uint64_t len,
                         uint32_t access);
/*
 * Its pages [@first, @first + @n), at most 512, are those at @addr, with
 * @flags (ERNIC_PAGE_*); 0: absent. Returns the status.
 */
uint8_t fake_set_pages(Ernic *e, uint32_t key, uint64_t first, uint32_t n,
                       uint64_t addr, uint32_t flags);
/* Software's answer to the page fault that @eqe reports. */
void fake_page_resume(Ernic *e, const struct ernic_eqe *eqe, bool failed);
/* A region for REG_MR, and windows of type 1 and 2. Return the key. */
uint32_t fake_alloc_mr(Ernic *e, uint32_t pd, uint32_t max_pages);
uint32_t fake_alloc_mw(Ernic *e, uint32_t pd, uint8_t type);

typedef struct FakeQp {
    uint32_t qpn, pd;
    uint8_t type;               /* enum ernic_qp_type */
    uint32_t sq_depth, rq_depth;
    uint32_t sq_stride, rq_stride;      /* bytes */
    uint64_t sq_buf, rq_buf;
    uint64_t sq_record, rq_record;      /* struct ernic_record; 0: none */
    uint32_t sq_pi, rq_pi;      /* posted, whether or not rung */
} FakeQp;

/*
 * Whether queues that are created from now on have records: from the start if the
 * environment has ERNIC_FAKE_RECORDS. Never with a timing model.
 */
void fake_use_records(Ernic *e, bool on);

/*
 * sq_depth 64, rq_depth 64 (0 with an SRQ), widest strides. XRC initiators: without
 * @recv_cqn (0) and SRQ; RWQs without a send queue, and @send_cqn goes unused.
 */
void fake_create_qp(Ernic *e, FakeQp *qp, uint8_t type, uint32_t pd,
                    uint32_t send_cqn, uint32_t recv_cqn, uint32_t srqn);
/* The same, without SRQ, with room for @sq_depth send requests. */
void fake_create_deep_qp(Ernic *e, FakeQp *qp, uint8_t type, uint32_t pd,
                         uint32_t send_cqn, uint32_t recv_cqn, uint32_t sq_depth);
/* An XRC target; env->uctx is 0. */
void fake_create_xrc_tgt(Ernic *e, FakeQp *qp, uint32_t xrcd);

/* The masks that take a queue pair of @type into @state from the one before. */
uint32_t fake_qp_mask(uint8_t type, uint8_t state);
/*
 * Attributes that make a connection to @dest_qpn at host @host (fake_gid()):
 * MTU 1024, PSNs 0, timeout 14, retries 7, 16 reads, all remote rights,
 * Q_Key 0x11111111. Tests change what they need (fields are little-endian).
 */
void fake_qp_attr(struct ernic_qp_attr *attr, uint32_t dest_qpn, uint8_t host);
/* One QP_MODIFY with exactly this mask and state. Returns the status. */
uint8_t fake_modify_qp(Ernic *e, uint32_t qpn, uint32_t mask, uint8_t state,
                       const struct ernic_qp_attr *attr);
/* Move from RESET to INIT, RTR and RTS, as far as @state. */
void fake_qp_to(Ernic *e, const FakeQp *qp, uint8_t state,
                const struct ernic_qp_attr *attr);
/* Move from RESET to RTS, connected to @dest_qpn at @host with fake_qp_attr(). */
void fake_connect(Ernic *e, const FakeQp *qp, uint32_t dest_qpn, uint8_t host);
/* The same with an MTU of 128 << @mtu bytes; 0: that of fake_qp_attr(). */
void fake_connect_mtu(Ernic *e, const FakeQp *qp, uint32_t dest_qpn, uint8_t host,
                      uint8_t mtu);

/* A rule for frames; fields are little-endian. Returns the status. */
uint8_t fake_create_flow(Ernic *e, const struct ernic_flow_rule *rule, uint32_t *handle);

/* RSS, likewise. */
uint8_t fake_create_rss(Ernic *e, const struct ernic_rss *rss, uint32_t *number);

/* Guest address of the slot of counter @index. */
uint64_t fake_sq_slot(const FakeQp *qp, uint32_t index);
uint64_t fake_rq_slot(const FakeQp *qp, uint32_t index);

/*
 * Write one request into the ring, without doorbell: @wqe is little-endian, @seg the
 * wqe->count SGEs or inline bytes that follow it.
 */
void fake_post_send(Ernic *e, FakeQp *qp, const struct ernic_wqe *wqe, const void *seg);
void fake_post_recv(Ernic *e, FakeQp *qp, uint64_t wr_id,
                    const struct ernic_sge *sge, uint16_t num_sge);
void fake_post_srq(Ernic *e, FakeSrq *srq, uint64_t wr_id,
                   const struct ernic_sge *sge, uint16_t num_sge);
/*
 * Doorbells with the counters as posted; they return the status. With a record, they
 * write it, and ring as docs/verbs-interface.md says: receive queues never.
 */
uint8_t fake_ring_sq(Ernic *e, const FakeQp *qp);
uint8_t fake_ring_rq(Ernic *e, const FakeQp *qp);
uint8_t fake_ring_srq(Ernic *e, const FakeSrq *srq);

static inline struct ernic_sge fake_sge(uint64_t addr, uint32_t len, uint32_t lkey)
{
    struct ernic_sge sge = { GUINT64_TO_LE(addr), GUINT32_TO_LE(len),
                             GUINT32_TO_LE(lkey) };

    return sge;
}

/* Post a request with one SGE, and ring. wr_id is the request's counter. */
void fake_send(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
               uint64_t addr, uint32_t len, uint32_t lkey);
void fake_rdma(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
               uint64_t addr, uint32_t len, uint32_t lkey, uint64_t raddr, uint32_t rkey);
void fake_atomic(Ernic *e, FakeQp *qp, uint8_t opcode, uint8_t flags,
                 uint64_t addr, uint32_t lkey, uint64_t raddr, uint32_t rkey,
                 uint64_t compare_add, uint64_t swap);
void fake_send_ud(Ernic *e, FakeQp *qp, uint8_t flags, uint64_t addr, uint32_t len,
                  uint32_t lkey, uint32_t dest_qpn, uint32_t qkey, uint8_t host);
void fake_recv(Ernic *e, FakeQp *qp, uint64_t addr, uint32_t len, uint32_t lkey);

#endif /* FAKE_VERBS_H */
