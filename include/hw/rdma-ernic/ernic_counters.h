/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What the device counts, in two lists: the answer to QUERY_STATS is 64 bits for
 * each row of the first, then of the second, then for each fault by its number.
 * Engine, monitor, kernel driver and tests take order and names from here.
 */
#ifndef ERNIC_COUNTERS_H
#define ERNIC_COUNTERS_H

#define ERNIC_STATS_LIST(X)                                                 \
    X(tx_packets) X(tx_bytes) X(tx_trains) X(rx_packets) X(rx_bytes)        \
    X(rx_trains) X(tx_messages) X(rx_messages) X(tx_acks) X(rx_acks)        \
    X(tx_naks) X(rx_naks) X(tx_rnr_naks) X(rx_rnr_naks) X(rx_duplicates)    \
    X(rx_out_of_sequence) X(implied_naks) X(retransmits) X(ack_timeouts)    \
    X(tx_cnps) X(rx_cnps) X(rx_ecn_marked) X(rate_cuts) X(window_cuts)      \
    X(loopback_drops) X(bad_doorbells) X(bad_commands) X(commands)          \
    X(completions) X(flushed) X(cq_overruns) X(events) X(interrupts)

/* Why a received frame or packet was dropped without an answer. */
#define ERNIC_DROPS(X)                                                       \
    X(NONE,         "none")           /* not dropped */                      \
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
    X(FAULT,        "fault")          /* injected on purpose */

#endif /* ERNIC_COUNTERS_H */
