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
static const ErnicStateField path_fields[] = {
    BYTES(sgid), BYTES(dgid), BYTES(smac), BYTES(dmac), U(vlan), U(udp_sport),
    UMAX(flow_label, 0xfffff), U(tclass), U(hop_limit),
};
#undef S
const ErnicStateStruct ernic_state_path = DESCRIBE(path_fields, ErnicPath, PATH);

#define S ErnicTrain
static const ErnicStateField train_fields[] = {
    STRUCT(path, ernic_state_path), U(len), U(seg), BOOL(frame),
    DERIVED(ip),                /* seen on arrival only */
    DERIVED(alt_sgid), DERIVED(alt_dgid),       /* resolved before a train is kept */
    DERIVED(num_alt_sgid), DERIVED(num_alt_dgid), DERIVED(path_final),
    DERIVED(data),              /* stored after the structure */
    DERIVED(serial),            /* that of a train of loopback is not looked at */
    U(domain),
};
#undef S
const ErnicStateStruct ernic_state_train = DESCRIBE(train_fields, ErnicTrain, TRAIN);

#define S ErnicSge
static const ErnicStateField sge_fields[] = { U(addr), U(len), U(lkey) };
#undef S
const ErnicStateStruct ernic_state_sge = DESCRIBE(sge_fields, ErnicSge, SGE);

#define S struct ernic_av
static const ErnicStateField abi_av_fields[] = {
    BYTES(dgid), BYTES(dmac), U(sgid_index), U(hop_limit), U(flow_label),
    U(tclass), BYTES(reserved),
};
#undef S
const ErnicStateStruct ernic_state_abi_av =
    DESCRIBE(abi_av_fields, struct ernic_av, ABI_AV);

#define S struct ernic_wqe_reg_mr
static const ErnicStateField reg_mr_fields[] = {
    U(key), U(access), U(iova), U(length), U(list_addr), U(npages),
    U(page_shift), BYTES(reserved),
};
#undef S
const ErnicStateStruct ernic_state_reg_mr =
    DESCRIBE(reg_mr_fields, struct ernic_wqe_reg_mr, REG_MR);

#define S struct ernic_wqe_bind_mw
static const ErnicStateField bind_mw_fields[] = {
    U(rkey), U(new_rkey), U(lkey), U(access), U(addr), U(length),
    BYTES(reserved),
};
#undef S
const ErnicStateStruct ernic_state_bind_mw =
    DESCRIBE(bind_mw_fields, struct ernic_wqe_bind_mw, BIND_MW);

#define S ErnicMrUpdate
static const ErnicStateField mr_update_fields[] = {
    U(key), UBITS(set, ERNIC_UPDATE_BITS), UMAX(want, ERNIC_MR_WANTS - 1), BOOL(any_pd),
    BOOL(valid), BOOL(remote_inv), U(variant), U(page_shift), U(pd), U(access), U(iova),
    U(length), U(first), U(num), STRUCT(list, ernic_state_sge),
    ARRAY(page, UINT64_MAX), BOOL(begun),
};
#undef S
const ErnicStateStruct ernic_state_mr_update =
    DESCRIBE(mr_update_fields, ErnicMrUpdate, MR_UPDATE);

#define S ErnicWc
static const ErnicStateField wc_fields[] = {
    U(wr_id), U(qpn), U(byte_len), BYTES(imm), U(src_qp), U(index), U(fault),
    BYTES(smac), U(vlan), U(pkey_index), U(opcode), U(status), U(flags),
    BOOL(ipv4),
};
#undef S
const ErnicStateStruct ernic_state_wc = DESCRIBE(wc_fields, ErnicWc, WC);
