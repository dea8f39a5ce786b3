/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every reason for which a received frame or packet is dropped without an
 * answer, in one list: the enum, the names and the counters come from it.
 */
#ifndef ERNIC_DROP_H
#define ERNIC_DROP_H

#define ERNIC_DROPS(X)                                                       \
    X(NONE,         "none")           /* not dropped */                      \
    /* frame: Ethernet, IP, UDP */                                           \
    X(NOT_ROCE,     "not-roce")       /* no UDP datagram to port 4791 */     \
    X(VLAN,         "vlan")           /* reserved VLAN id 0xfff */           \
    X(IP_HEADER,    "ip-header")      /* options, or bad checksum */         \
    X(FRAGMENT,     "fragment")       /* an IP fragment */                   \
    X(ADDRESS,      "address")        /* address not valid, or not the QP's */ \
    /* packet: BTH to ICRC */                                                \
    X(TOO_SHORT,    "too-short")      /* ends inside a header */             \
    X(BAD_LENGTH,   "bad-length")     /* lengths that contradict */          \
    X(BAD_TVER,     "bad-tver")       /* transport header version */         \
    X(BAD_OPCODE,   "bad-opcode")     /* not defined for the transport */    \
    X(BAD_PAD,      "bad-pad")        /* more pad than payload */            \
    X(BAD_ICRC,     "bad-icrc")                                              \
    /* queue pair */                                                         \
    X(NO_QP,        "no-qp")          /* destination QP does not exist */    \
    X(QP_STATE,     "qp-state")       /* QP does not receive in its state */ \
    X(TRANSPORT,    "transport")      /* packet of another service */        \
    X(PKEY,         "pkey")                                                  \
    X(QKEY,         "qkey")                                                  \
    X(PSN,          "psn")            /* outside every window */             \
    X(SEQUENCE,     "sequence")       /* first, middle, last out of order */ \
    X(NO_RQE,       "no-rqe")         /* UC, UD: no receive WQE */           \
    X(MSG_LENGTH,   "msg-length")     /* longer than the buffer or MTU */    \
    X(REMOTE_ACCESS, "remote-access") /* UC: key, bounds or rights */        \
    X(FAULT,        "fault")          /* injected on purpose */

typedef enum ErnicDrop {
#define ERNIC_DROP_ENUM(sym, name) ERNIC_DROP_##sym,
    ERNIC_DROPS(ERNIC_DROP_ENUM)
#undef ERNIC_DROP_ENUM
    ERNIC_DROP_COUNT
} ErnicDrop;

/* The name of @reason for traces and counters; never NULL. */
static inline const char *ernic_drop_name(ErnicDrop reason)
{
    static const char *const names[ERNIC_DROP_COUNT] = {
#define ERNIC_DROP_NAME(sym, name) [ERNIC_DROP_##sym] = name,
        ERNIC_DROPS(ERNIC_DROP_NAME)
#undef ERNIC_DROP_NAME
    };

    return (unsigned)reason < ERNIC_DROP_COUNT ? names[reason] : "invalid";
}

#endif /* ERNIC_DROP_H */
