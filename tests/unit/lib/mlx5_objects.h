/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of the mlx5 interface as text, to a function that runs on an engine and has
 * one object of each kind.
 */
#ifndef TESTS_UNIT_MLX5_OBJECTS_H
#define TESTS_UNIT_MLX5_OBJECTS_H

#include "fake_verbs.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/init_segment.h"
#include "test.h"

typedef struct Mlx5Answer {
    ErnicMlx5Refusal refusal;
    uint8_t out[ERNIC_MLX5_MESSAGE_ROOM];
} Mlx5Answer;

/* Execute a message of @len bytes, in as many slices of work as it takes. */
void mlx5_send_bytes(Ernic *e, const uint8_t *in, uint32_t len, Mlx5Answer *a);
/* A command, with room for a list after its message. */
void mlx5_ask(Ernic *e, uint16_t opcode, const char *text, Mlx5Answer *a);
/* A command that succeeds; returns the number in its answer, if it has one. */
uint32_t mlx5_accept(Ernic *e, uint16_t opcode, const char *text);
/* Called before each of these commands; NULL: nothing is. */
extern void (*mlx5_before)(const Ernic *e, uint16_t opcode, const char *text);
void mlx5_refuse(Ernic *e, uint16_t opcode, const char *text, ErnicMlx5Refusal why);
/* The answer has @lines, each "path=value". */
void mlx5_expect(Ernic *e, uint16_t opcode, const char *text, const char *lines);

/* Texts of commands, which more lines can change. */
#define PAGE        "0x123400010000"
#define RECORD      "0x123400002000"
#define MTT \
    "memory_key_mkey_entry.access_mode_1_0=1\nmemory_key_mkey_entry.qpn=0xffffff\n" \
    "memory_key_mkey_entry.pd=1\nmemory_key_mkey_entry.umr_en=1\n" \
    "memory_key_mkey_entry.lw=1\nmemory_key_mkey_entry.lr=1\n" \
    "memory_key_mkey_entry.rr=1\nmemory_key_mkey_entry.mkey_7_0=0x5a\n" \
    "memory_key_mkey_entry.start_addr=0x7f0010\nmemory_key_mkey_entry.len=8000\n" \
    "memory_key_mkey_entry.translations_octword_size=1\n" \
    "memory_key_mkey_entry.log_page_size=12\n" \
    "klm_pas_mtt[0]=0x1234\nklm_pas_mtt[1]=0x10003\n" \
    "klm_pas_mtt[2]=0x1234\nklm_pas_mtt[3]=0x14000\n"
#define PA \
    "memory_key_mkey_entry.length64=1\nmemory_key_mkey_entry.qpn=0xffffff\n" \
    "memory_key_mkey_entry.pd=1\nmemory_key_mkey_entry.lw=1\n" \
    "memory_key_mkey_entry.lr=1\nmemory_key_mkey_entry.mkey_7_0=0x11\n"
#define FREE \
    "memory_key_mkey_entry.free=1\nmemory_key_mkey_entry.umr_en=1\n" \
    "memory_key_mkey_entry.access_mode_1_0=1\nmemory_key_mkey_entry.qpn=0xffffff\n" \
    "memory_key_mkey_entry.pd=1\nmemory_key_mkey_entry.log_page_size=12\n" \
    "memory_key_mkey_entry.translations_octword_size=8\n"
#define KLM \
    "memory_key_mkey_entry.free=1\nmemory_key_mkey_entry.umr_en=1\n" \
    "memory_key_mkey_entry.access_mode_1_0=2\nmemory_key_mkey_entry.qpn=0xffffff\n" \
    "memory_key_mkey_entry.pd=1\nmemory_key_mkey_entry.translations_octword_size=4\n"
#define CQ \
    "cq_context.log_cq_size=4\ncq_context.uar_page=16\n" \
    "cq_context.c_eqn_or_apu_element=1\ncq_context.dbr_addr=" RECORD "\n" \
    "cq_context.cq_period=3\ncq_context.cq_max_count=2\npas[0]=" PAGE "\n"
#define RMP \
    "ctx.state=1\nctx.wq.pd=1\nctx.wq.log_wq_stride=6\nctx.wq.log_wq_sz=4\n" \
    "ctx.wq.dbr_addr=" RECORD "\nctx.wq.pas[0].pa_h=0x1234\nctx.wq.pas[0].pa_l=0x10\n"
#define XRC_SRQ \
    "xrc_srq_context_entry.pd=1\nxrc_srq_context_entry.xrcd=2\n" \
    "xrc_srq_context_entry.cqn=1\nxrc_srq_context_entry.log_xrc_srq_size=4\n" \
    "xrc_srq_context_entry.log_rq_stride=2\nxrc_srq_context_entry.user_index=0x9\n" \
    "xrc_srq_context_entry.db_record_addr_h=0x1234\n" \
    "xrc_srq_context_entry.db_record_addr_l=0x800\npas[0]=" PAGE "\n"
#define QP \
    "qpc.pd=1\nqpc.log_rq_size=3\nqpc.log_rq_stride=2\nqpc.log_sq_size=5\n" \
    "qpc.uar_page=16\nqpc.user_index=0x702\nqpc.cqn_snd=1\nqpc.cqn_rcv=1\n" \
    "qpc.dbr_addr=" RECORD "\nqpc.pm_state=3\npas[0]=" PAGE "\n"
#define PATH "qpc.primary_address_path."
#define INIT "qpn=2\n" PATH "vhca_port_num=1\nqpc.rwe=1\nqpc.rre=1\n"
#define RTR \
    "qpn=2\nqpc.mtu=3\nqpc.remote_qpn=0x77\nqpc.next_rcv_psn=0x123\n" \
    "qpc.log_rra_max=2\nqpc.min_rnr_nak=12\n" PATH "hop_limit=64\n" \
    PATH "tclass=8\n" PATH "rgid_rip[10]=255\n" PATH "rgid_rip[11]=255\n" \
    PATH "rgid_rip[12]=10\n" PATH "rgid_rip[15]=2\n" PATH "rmac_31_0=5\n"
#define RTS \
    "qpn=2\nqpc.next_send_psn=0x321\nqpc.log_sra_max=3\nqpc.retry_count=6\n" \
    "qpc.rnr_retry=5\n" PATH "ack_timeout=14\n"
#define GID \
    "roce_address.source_l3_address[10]=255\n" \
    "roce_address.source_l3_address[11]=255\n" \
    "roce_address.source_l3_address[12]=10\nroce_address.source_l3_address[15]=1\n" \
    "roce_address.source_mac_31_0=1\nroce_address.roce_version=2\n"
#define GROUP "multicast_gid[0]=255\nmulticast_gid[1]=14\nmulticast_gid[15]=9\n"
#define M "memory_key_mkey_entry."

/* Numbers of the objects that mlx5_start() makes. */
enum { MKEY_MTT = 2, MKEY_PA, MKEY_FREE };
enum { QP_RC = 2, QP_UD };

typedef struct Mlx5Fixture {
    FakeEnv env;
    Ernic *e;
    FakeEq eq;
} Mlx5Fixture;

extern const ErnicMlx5Config mlx5_config;

/* A function that runs, with an event queue and doorbell page 16. */
void mlx5_boot(Mlx5Fixture *f);
/* The same, with so many keys; 0: as fake_config() has. */
void mlx5_boot_keys(Mlx5Fixture *f, uint32_t max_mr);
/* Create the objects named above, of a function that runs. */
void mlx5_objects(Mlx5Fixture *f);
/* mlx5_boot() and mlx5_objects(). */
void mlx5_start(Mlx5Fixture *f);
/* From Reset to RTS, as a connection to @dest of 10.0.0.@host. */
void mlx5_connect_qp(Ernic *e, uint32_t qpn, uint32_t dest, uint8_t host);
/*
 * Ethernet objects besides those of mlx5_start(): SQ 1; RQ 1, ready, and 2; an RQT of
 * both; TIR 1 of RQ 1 and 2 of the RQT. Flow table 1, the root, has groups 1 and 2 with
 * entries 1 and 2, and 3; entry 1, with counter 1, leads to table 2. The frame with the
 * address 52:54:00:ab:00:00 goes to both TIRs.
 */
void mlx5_ethernet(Mlx5Fixture *f);

/* BAR 0: where the bits of posted commands are stored. */
#define MLX5_DOORBELL   0x18
/* Give the device a page for the command queue; returns its address. */
uint64_t mlx5_open_queue(Ernic *e, FakeEnv *env);

/* An engine of the same configuration and environment. */
Ernic *mlx5_another(const Ernic *e);

/* Ends it; all invariants hold. */
void mlx5_finish(Mlx5Fixture *f);

/* The head of a test of a Mlx5Fixture *f by @open: mlx5_boot or mlx5_start. */
#define MLX5_TEST(path, open, fn) \
    WORLD_TEST(path, fn, Mlx5Fixture, f, open(f), mlx5_finish(f))

#endif /* TESTS_UNIT_MLX5_OBJECTS_H */
