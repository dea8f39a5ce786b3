/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A work completion as a value: the roles fill it in, and an interface writes it.
 */
#ifndef ERNIC_BASE_WC_H
#define ERNIC_BASE_WC_H

/* One completion, in host byte order; the interface writes it in its format. */
typedef struct ErnicWc {
    uint64_t wr_id;
    uint32_t qpn;
    uint32_t byte_len;
    uint8_t imm[4];             /* as struct ernic_cqe */
    uint32_t src_qp;
    uint32_t index;
    uint32_t fault;             /* ErnicFault */
    uint8_t smac[6];
    uint16_t vlan;
    uint16_t pkey_index;
    uint8_t opcode;
    uint8_t status;
    uint8_t flags;              /* ERNIC_CQE_* but the phase */
    bool ipv4;                  /* UD: the packet had an IPv4 header */
} ErnicWc;

#endif /* ERNIC_BASE_WC_H */
