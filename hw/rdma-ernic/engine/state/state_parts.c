/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of structures that other structures and owned rows contain, and that own
 * nothing themselves.
 */
#include "qemu/osdep.h"
#include "base/wc.h"
#include "state/state.h"
#include "objects/wqe.h"

#define S ErnicPath
DESCRIBE(path,
    BYTES(sgid), BYTES(dgid), BYTES(smac), BYTES(dmac), U(vlan), U(udp_sport),
    UMAX(flow_label, 0xfffff), U(tclass), U(hop_limit),
);
#undef S

#define S ErnicTrain
DESCRIBE(train,
    STRUCT(path, path), U(len), U(seg), BOOL(frame),
    DERIVED(ip),                /* seen on arrival only */
    DERIVED(alt_sgid), DERIVED(alt_dgid),       /* resolved before a train is kept */
    DERIVED(num_alt_sgid), DERIVED(num_alt_dgid), DERIVED(path_final),
    DERIVED(data),              /* stored after the structure */
    DERIVED(serial),            /* that of a train of loopback is not looked at */
    U(domain),
);
#undef S

#define S ErnicSge
DESCRIBE(sge, U(addr), U(len), U(lkey));
#undef S

#define S struct ernic_av
DESCRIBE(abi_av,
    BYTES(dgid), BYTES(dmac), U(sgid_index), U(hop_limit), U(flow_label),
    U(tclass), BYTES(reserved),
);
#undef S

#define S struct ernic_wqe_reg_mr
DESCRIBE(reg_mr,
    U(key), U(access), U(iova), U(length), U(list_addr), U(npages),
    U(page_shift), BYTES(reserved),
);
#undef S

#define S struct ernic_wqe_bind_mw
DESCRIBE(bind_mw,
    U(rkey), U(new_rkey), U(lkey), U(access), U(addr), U(length),
    BYTES(reserved),
);
#undef S

#define S ErnicMrUpdate
DESCRIBE(mr_update,
    U(key), UBITS(set, ERNIC_UPDATE_BITS), UMAX(want, ERNIC_MR_WANTS - 1), BOOL(any_pd),
    BOOL(valid), BOOL(remote_inv), U(variant), U(page_shift), U(pd), U(access), U(iova),
    U(length), U(first), U(num), STRUCT(list, sge),
    ARRAY(page, UINT64_MAX), BOOL(begun),
);
#undef S

#define S ErnicWc
DESCRIBE(wc,
    U(wr_id), U(qpn), U(byte_len), BYTES(imm), U(src_qp), U(index), U(fault),
    BYTES(smac), U(vlan), U(pkey_index), U(opcode), U(status), U(flags),
    BOOL(ipv4),
);
#undef S
