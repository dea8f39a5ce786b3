/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The counters of the device, as lists from which engine, monitor, kernel driver, traces
 * and tests take order and names.
 *
 * The answer to QUERY_STATS is an array of 64-bit words: ERNIC_STATS_LIST from word 0
 * on, ERNIC_DROPS from word ERNIC_STATS_DROPS on, and faults by number from word
 * ERNIC_STATS_FAULTS on; unused words are 0. A new row of the first two goes to the end
 * of its list, because a driver may be older than the device. The answer to
 * QUERY_TIMING has one record for each row of ERNIC_TIMING_STAGES and of
 * ERNIC_TIMING_QUEUES.
 */
#ifndef ERNIC_COUNTERS_H
#define ERNIC_COUNTERS_H

#include "ernic_abi.h"

/* Words of the answer to QUERY_STATS: where the lists begin, and all words. */
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

/* Counters that queue pairs have too: the answer to COUNTER_QUERY. */
#define ERNIC_QP_STATS_LIST(X)                                              \
    X(tx_messages) X(rx_messages) X(tx_acks) X(rx_acks)                     \
    X(tx_naks) X(rx_naks) X(tx_rnr_naks) X(rx_rnr_naks) X(rx_duplicates)    \
    X(rx_out_of_sequence) X(implied_naks) X(retransmits) X(ack_timeouts)

/* Reasons to drop a received frame or packet without an answer; row 0 is unused. */
#define ERNIC_DROPS(X) X(NONE, "none") ERNIC_DROP_REASONS(X)
#define ERNIC_DROP_REASONS(X)                                                \
    /* frame: Ethernet, IP, UDP */                                           \
    X(NOT_ROCE,     "not_roce")       /* no UDP datagram to port 4791 */     \
    X(VLAN,         "vlan")           /* reserved VLAN id 0xfff */           \
    X(IP_HEADER,    "ip_header")      /* options, or bad checksum */         \
    X(FRAGMENT,     "fragment")       /* an IP fragment */                   \
    X(ADDRESS,      "address")        /* invalid, or not that of the QP */ \
    X(MAC,          "mac")            /* PG332: MAC of neither card nor peer */ \
    /* packet: BTH to ICRC */                                                \
    X(TOO_SHORT,    "too_short")      /* ends inside a header */             \
    X(BAD_LENGTH,   "bad_length")     /* lengths that contradict each other */ \
    X(BAD_TVER,     "bad_tver")       /* transport header version */         \
    X(BAD_OPCODE,   "bad_opcode")     /* not defined for the transport */    \
    X(BAD_PAD,      "bad_pad")        /* more pad than payload */            \
    X(BAD_ICRC,     "bad_icrc")                                              \
    /* queue pair */                                                         \
    X(NO_QP,        "no_qp")          /* destination QP does not exist */    \
    X(QP_STATE,     "qp_state")       /* the QP's state does not receive */ \
    X(TRANSPORT,    "transport")      /* packet of another service */        \
    X(PKEY,         "pkey")                                                  \
    X(QKEY,         "qkey")                                                  \
    X(PSN,          "psn")            /* outside all windows */             \
    X(SEQUENCE,     "sequence")       /* first, middle, last out of order */ \
    X(NO_RQE,       "no_rqe")         /* UC, UD: no receive WQE */           \
    X(MSG_LENGTH,   "msg_length")     /* longer than the buffer or MTU */    \
    X(REMOTE_ACCESS, "remote_access") /* UC: key, bounds or rights */        \
    X(FAULT,        "fault")          /* injected by a test */              \
    /* any frame */                                                          \
    X(PORT_DOWN,    "port_down")      /* the port is down */                 \
    X(NO_RULE,      "no_rule")        /* looped back, and its rule is gone */ \
    X(SENDING,      "sending")        /* not used: such frames wait */            \
    X(COPIES,       "copies")         /* multicast: too many wait for their members */

/* Stages of the timing model, in the order in which work passes through them. */
#define ERNIC_TIMING_STAGES(X)                                               \
    X(MMIO,         "mmio")           /* a register read, both ways */ \
    X(COMMAND,      "command")        /* fetch, execute, respond */          \
    X(DOORBELL,     "doorbell")       /* a store: transfer and decoding */   \
    X(ARBITER,      "arbiter")        /* selection of the next send queue */ \
    X(WQE,          "wqe")            /* fetch and check of a work request */ \
    X(ACK,          "ack")            /* building an answer without data */  \
    X(TX_CONTEXT,   "tx-context")     /* queue pair context, sending */      \
    X(READ_RSP,     "read-response")  /* start of the response to a READ */  \
    X(DMA_READ,     "dma-read")       /* payload from memory */              \
    X(BUILD,        "build")          /* headers in front of payload */      \
    X(ICRC,         "icrc")           /* ICRC, and the way to the MAC */     \
    X(MAC,          "mac")            /* the wire, for the time of a frame */ \
    X(RECEIVE,      "receive")        /* parsing, ICRC, validation */        \
    X(RX_CONTEXT,   "rx-context")     /* queue pair context, receiving */    \
    X(KEY,          "key")            /* a remote key: region and rights */  \
    X(DMA_WRITE,    "dma-write")      /* payload into memory */              \
    X(CQE,          "cqe")            /* completion entry to its ring */     \
    X(INTERRUPT,    "interrupt")

/* Queues of the timing model, and limits of concurrent work. */
#define ERNIC_TIMING_QUEUES(X)                                               \
    X(DOORBELLS,    "doorbells to arrive")      /* stores in transfer */     \
    X(TX,           "packets to leave")         /* built */                  \
    X(RX,           "packets to be served")     /* received */               \
    X(CQES,         "completions to appear")                                 \
    X(FETCHES,      "fetches of work requests")                              \
    X(READS,        "reads of memory")          /* of payload */             \
    X(RESPONSES,    "responses to READs")                                    \
    X(WRITES,       "writes to memory")         /* credits not returned */   \
    X(REQUESTS,     "outstanding requests")     /* of all queue pairs */     \
    X(RETRY,        "packets kept for a retry")

#define ERNIC_TIMING_ONE(symbol, name) + 1
#define ERNIC_TIMING_NUM_STAGES (0 ERNIC_TIMING_STAGES(ERNIC_TIMING_ONE))
#define ERNIC_TIMING_NUM_QUEUES (0 ERNIC_TIMING_QUEUES(ERNIC_TIMING_ONE))

/*
 * Answer to QUERY_TIMING: the counters of the timing model since the time in since; all
 * 0 without a model. Times are in ps and wrap. For a stage busy + stalled + idle is the
 * time from since to now, or to the end of its assigned work if that is later.
 */
struct ernic_timing_stage {
    ernic_le64 items;           /* that have passed */
    ernic_le64 busy;            /* ps at work */
    ernic_le64 stalled;         /* ps of waiting for the last byte of an item */
    ernic_le64 idle;            /* ps without an item */
    ernic_le64 waited;          /* ps that all items together waited for it */
};
ERNIC_ABI_SIZE(struct ernic_timing_stage, 40);

struct ernic_timing_queue {
    ernic_le64 size;            /* greatest number of items */
    ernic_le64 count;           /* present number */
    ernic_le64 peak;            /* greatest number so far */
    ernic_le64 area;            /* ps that all items together spent in it */
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
