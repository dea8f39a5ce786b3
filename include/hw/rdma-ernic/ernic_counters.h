/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What the device counts, in lists: the answer to QUERY_STATS is 64 bits for each
 * row of the first, from ERNIC_STATS_DROPS on for each of the second, from
 * ERNIC_STATS_FAULTS on for each fault by its number; words between them are 0.
 * That to QUERY_TIMING has a record for each row of the two of the timing model.
 * Engine, monitor, kernel driver, traces and tests take order and names from here. A
 * new row of the first two comes at the end of its list: a driver may be older than
 * the device.
 */
#ifndef ERNIC_COUNTERS_H
#define ERNIC_COUNTERS_H

#include "ernic_abi.h"

/* Words of the answer to QUERY_STATS: where a list begins, and all of it. */
#define ERNIC_STATS_DROPS   64
#define ERNIC_STATS_FAULTS  128
#define ERNIC_STATS_WORDS   192

#define ERNIC_STATS_LIST(X)                                                 \
    X(tx_packets) X(tx_bytes) X(tx_trains) X(rx_packets) X(rx_bytes)        \
    X(rx_trains) ERNIC_QP_STATS_LIST(X)                                     \
    X(tx_cnps) X(rx_cnps) X(rx_ecn_marked) X(rate_cuts) X(window_cuts)      \
    X(loopback_drops) X(bad_doorbells) X(bad_commands) X(commands)          \
    X(completions) X(flushed) X(cq_overruns) X(events) X(interrupts)     \
    X(page_faults) X(tx_frames) X(rx_frames) X(tx_frame_bytes)            \
    X(rx_frame_bytes) X(tx_drops)

/* Those that are counted for queue pairs too: the answer to COUNTER_QUERY. */
#define ERNIC_QP_STATS_LIST(X)                                              \
    X(tx_messages) X(rx_messages) X(tx_acks) X(rx_acks)                     \
    X(tx_naks) X(rx_naks) X(tx_rnr_naks) X(rx_rnr_naks) X(rx_duplicates)    \
    X(rx_out_of_sequence) X(implied_naks) X(retransmits) X(ack_timeouts)

/* Why a received frame or packet was dropped without an answer; row 0 counts nothing. */
#define ERNIC_DROPS(X) X(NONE, "none") ERNIC_DROP_REASONS(X)
#define ERNIC_DROP_REASONS(X)                                                \
    /* frame: Ethernet, IP, UDP */                                           \
    X(NOT_ROCE,     "not_roce")       /* no UDP datagram to port 4791 */     \
    X(VLAN,         "vlan")           /* reserved VLAN id 0xfff */           \
    X(IP_HEADER,    "ip_header")      /* options, or bad checksum */         \
    X(FRAGMENT,     "fragment")       /* an IP fragment */                   \
    X(ADDRESS,      "address")        /* address not valid, or not the QP's */ \
    X(MAC,          "mac")            /* ERNIC face: MAC not its own or the QP's */ \
    /* packet: BTH to ICRC */                                                \
    X(TOO_SHORT,    "too_short")      /* ends inside a header */             \
    X(BAD_LENGTH,   "bad_length")     /* lengths that contradict */          \
    X(BAD_TVER,     "bad_tver")       /* transport header version */         \
    X(BAD_OPCODE,   "bad_opcode")     /* not defined for the transport */    \
    X(BAD_PAD,      "bad_pad")        /* more pad than payload */            \
    X(BAD_ICRC,     "bad_icrc")                                              \
    /* queue pair */                                                         \
    X(NO_QP,        "no_qp")          /* destination QP does not exist */    \
    X(QP_STATE,     "qp_state")       /* QP does not receive in its state */ \
    X(TRANSPORT,    "transport")      /* packet of another service */        \
    X(PKEY,         "pkey")                                                  \
    X(QKEY,         "qkey")                                                  \
    X(PSN,          "psn")            /* outside every window */             \
    X(SEQUENCE,     "sequence")       /* first, middle, last out of order */ \
    X(NO_RQE,       "no_rqe")         /* UC, UD: no receive WQE */           \
    X(MSG_LENGTH,   "msg_length")     /* longer than the buffer or MTU */    \
    X(REMOTE_ACCESS, "remote_access") /* UC: key, bounds or rights */        \
    X(FAULT,        "fault")          /* injected on purpose */              \
    /* any frame */                                                          \
    X(PORT_DOWN,    "port_down")      /* the port is down */                 \
    X(NO_RULE,      "no_rule")        /* of the device's own: rule is gone */ \
    X(SENDING,      "sending")        /* came out of the call that sends */

/* Stages of the timing model, in the order in which work passes them. */
#define ERNIC_TIMING_STAGES(X)                                               \
    X(MMIO,         "mmio")           /* a register is read: there, and back */ \
    X(COMMAND,      "command")        /* fetched, carried out, answered */   \
    X(DOORBELL,     "doorbell")       /* a store: on its way, decoded */     \
    X(ARBITER,      "arbiter")        /* which send queue is next */         \
    X(WQE,          "wqe")            /* a work request: fetched, checked */ \
    X(ACK,          "ack")            /* an answer without data is made up */ \
    X(TX_CONTEXT,   "tx-context")     /* queue pair context of what is sent */ \
    X(READ_RSP,     "read-response")  /* taking up the response to a READ */ \
    X(DMA_READ,     "dma-read")       /* payload out of memory */            \
    X(BUILD,        "build")          /* headers in front of payload */      \
    X(ICRC,         "icrc")           /* and behind; the way to the MAC */   \
    X(MAC,          "mac")            /* the wire, while a frame takes it */ \
    X(RECEIVE,      "receive")        /* parsing, ICRC, validation */        \
    X(RX_CONTEXT,   "rx-context")     /* queue pair context of what came */  \
    X(KEY,          "key")            /* a remote key: region and rights */  \
    X(DMA_WRITE,    "dma-write")      /* payload into memory */              \
    X(CQE,          "cqe")            /* a completion into its ring */       \
    X(INTERRUPT,    "interrupt")

/* What stands in line, or is under way at once. */
#define ERNIC_TIMING_QUEUES(X)                                               \
    X(DOORBELLS,    "doorbells in line")        /* stores on their way */    \
    X(TX,           "packets to leave")         /* built */                  \
    X(RX,           "packets to be served")     /* come */                   \
    X(CQES,         "completions to appear")                                 \
    X(FETCHES,      "fetches of work requests")                              \
    X(READS,        "reads of memory")          /* of payload */             \
    X(RESPONSES,    "responses to READs")                                    \
    X(WRITES,       "writes to memory")         /* without their credits */  \
    X(REQUESTS,     "requests under way")       /* of all queue pairs */     \
    X(RETRY,        "packets kept for a retry")

#define ERNIC_TIMING_ONE(symbol, name) + 1
#define ERNIC_TIMING_NUM_STAGES (0 ERNIC_TIMING_STAGES(ERNIC_TIMING_ONE))
#define ERNIC_TIMING_NUM_QUEUES (0 ERNIC_TIMING_QUEUES(ERNIC_TIMING_ONE))

/*
 * QUERY_TIMING: what the timing model has counted since since. All 0 without a
 * model. Times are in ps and wrap; of a stage busy + stalled + idle is the time
 * from since to now, or to where the work that it has been given ends.
 */
struct ernic_timing_stage {
    ernic_le64 items;
    ernic_le64 busy;
    ernic_le64 stalled;         /* held up by data that came late */
    ernic_le64 idle;
    ernic_le64 waited;          /* that things stood in front of it */
};
ERNIC_ABI_SIZE(struct ernic_timing_stage, 40);

struct ernic_timing_queue {
    ernic_le64 size;
    ernic_le64 count;           /* at present */
    ernic_le64 peak;
    ernic_le64 area;            /* time that all of them stood there */
};
ERNIC_ABI_SIZE(struct ernic_timing_queue, 32);

struct ernic_timing_info {
    ernic_le64 since;           /* ns */
    ernic_le64 now;             /* ns */
    ernic_le16 num_stages;
    ernic_le16 stage_size;      /* bytes of a record */
    ernic_le16 num_queues;
    ernic_le16 queue_size;
    struct ernic_timing_stage stage[ERNIC_TIMING_NUM_STAGES];
    struct ernic_timing_queue queue[ERNIC_TIMING_NUM_QUEUES];
};
ERNIC_ABI_SIZE(struct ernic_timing_info, 24 + 40 * ERNIC_TIMING_NUM_STAGES +
               32 * ERNIC_TIMING_NUM_QUEUES);

#endif /* ERNIC_COUNTERS_H */
