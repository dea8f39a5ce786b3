/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send requests in the layout of the verbs interface (struct ernic_wqe).
 */
#ifndef ERNIC_INTERFACES_VERBS_WQE_DECODE_H
#define ERNIC_INTERFACES_VERBS_WQE_DECODE_H

#include "objects/wqe.h"

/*
 * Fetch the slot of counter @index and check it for a queue pair of @transport
 * (@gsi: QP1) and page @uctx (0: the kernel). @stride: bytes of a slot.
 *
 * Always fills in wr_id, index, flags and an opcode that exists. A request that must
 * not be executed has @wqe->fault set; with ERNIC_FAULT_SEND_FETCH only the index is
 * known, and the other fields are 0. The length limit of the transport is checked here
 * (IBTA 9.5: 2^31 bytes; UD: @mtu bytes, the path MTU). Requests that send no data
 * have length 0.
 */
void ernic_wqe_fetch(Ernic *e, const ErnicBuf *ring, uint32_t depth,
                     uint32_t stride, uint32_t index, ErnicTransport transport,
                     bool gsi, uint32_t uctx, uint32_t mtu, ErnicWqe *wqe);

#endif /* ERNIC_INTERFACES_VERBS_WQE_DECODE_H */
