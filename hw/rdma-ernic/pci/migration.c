/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Migrated state: the PCI function, the control page, and each engine as a buffer
 * in its own format (engine/state/state.c). The destination opens its own sockets;
 * packets in the source's sockets are lost, as on any network.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/bitops.h"
#include "qemu/main-loop.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "bars/pg332.h"
#include "bars/qdma/qdma.h"
#include "bars/shell.h"
#include "bars/user_logic.h"
#include "bars/verbs.h"
#include "bars/xib/xib.h"
#include "compat/qemu.h"
#include "device/interface.h"
#include "device/lock.h"
#include "device/pace.h"
#include "device/reset.h"
#include "net/ethernet.h"
#include "pci/migration.h"
#include "pci/precopy.h"
#include "hw/rdma-ernic/trace.h"

/* A state that ended early is too large. */
QEMU_BUILD_BUG_ON(ERNIC_SAVE_END < ERNIC_STREAM_BYTES_MAX);

/*
 * Returns -EFBIG if the state is too large, as that of millions of keys is, and -ENOMEM
 * if this host has no memory for it: the machine goes on.
 */
static int save_engine(ErnicPci *d, const Ernic *e, ErnicStreamBytes *state)
{
    uint64_t most = MIN(ernic_save_most(e), ERNIC_STREAM_BYTES_MAX), skipped = 0;
    GByteArray *bytes;
    bool saved;

    ernic_pci_enter(d);
    bytes = ernic_save_new(e);
    saved = bytes && (e != d->engine || ernic_pci_precopy_save(d, bytes, &skipped));
    if (saved && e != d->engine) {
        ernic_save(e, bytes);
    }
    ernic_pci_leave(d);
    if (!saved) {
        g_clear_pointer(&bytes, g_byte_array_unref);
        error_report("ernic: this host has no memory to save the state");
        return -ENOMEM;
    }
    /* The destination puts all of it together. */
    ernic_stream_bytes_limit(state, most - MIN(skipped, most));
    return ernic_stream_bytes_set(state, bytes) ? 0 : -EFBIG;
}

static void clear_state(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_stream_bytes_clear(&d->state);
    ernic_stream_bytes_clear(&d->pg332.state);
    ernic_pci_precopy_done(d);
}

ERNIC_POST_SAVE(clear_state)

static void clear_doorbells(void *opaque)
{
    ErnicPci *d = opaque;

    g_free(d->db_saved);
    d->db_saved = NULL;
    d->num_db_saved = 0;
}

ERNIC_POST_SAVE(clear_doorbells)

static void refuse(ErnicPci *d, uint64_t now)
{
    ernic_pci_pg332_reset(d, now);
    ernic_pci_reset(d, now);
}

void ernic_pci_forget_half(ErnicPci *d)
{
    if (d->loading) {
        d->loading = false;
        refuse(d, ernic_pci_enter(d));
        ernic_pci_leave(d);
    }
}

static int state_pre_save(void *opaque)
{
    ErnicPci *d = opaque;
    int ret;

    ernic_pci_forget_half(d);
    ret = save_engine(d, d->engine, &d->state);
    if (!ret && d->pg332.engine) {
        ret = save_engine(d, d->pg332.engine, &d->pg332.state);
    }
    if (ret) {
        clear_state(d);
        return ret;
    }
    trace_ernic_pci_save(ernic_pci_id(d), d->state.len);
    return 0;
}

/*
 * Restores the doorbells, oldest first. None waits for a command that software has not
 * posted.
 */
static bool load_doorbells(ErnicPci *d)
{
    uint32_t n = MIN(d->num_db_saved, ERNIC_DB_QUEUE);
    int32_t i;

    for (i = 0; i < d->num_db_saved; i++) {
        const ErnicDbEntry *db = &d->db_saved[i];

        if (!d->interface->doorbell_ok(d, db->uctx) ||
            d->verbs.cmd_pi - db->cmd_pi > INT32_MAX) {
            return false;
        }
        d->db[i / ERNIC_DB_QUEUE][i % ERNIC_DB_QUEUE] = *db;
    }
    d->db_fill = 1;
    d->db_pos = 0;
    d->db_len = n;
    d->db_count = d->num_db_saved - n;
    return true;
}

/* A hidden device has neither vectors nor registers of its own for these. */
static bool hidden_ok(const ErnicPci *d)
{
    return !ernic_pci_hidden(d) ||
           !(d->irq_pending || d->net.eth.ctrl || ernic_pci_verbs_enabled(d));
}

/*
 * The source is not trusted: all indices and the engines' states are checked. @why gets
 * the reason to refuse them.
 */
static bool load_all(ErnicPci *d, uint64_t now, GString *why)
{
    if (!d->interface->registers_ok(d) || !ernic_pci_eth_valid(d) || !hidden_ok(d)) {
        g_string_assign(why, "a register is out of range");
        return false;
    }
    if (d->irq_pending & ~MAKE_64BIT_MASK(0, d->cfg.num_vectors) ||
        (d->pg332.risen && !d->pg332.engine)) {
        g_string_assign(why, "an interrupt is out of range");
        return false;
    }
    if (!load_doorbells(d)) {
        g_string_assign(why, "a doorbell is out of range");
        return false;
    }
    if (!ernic_pci_precopy_fill(d)) {
        g_string_assign(why, "its lists do not fit");
        return false;
    }
    return ernic_load_why(d->engine, now, d->state.data, d->state.len, why) &&
           (!d->pg332.engine ||
            ernic_load_why(d->pg332.engine, now, d->pg332.state.data, d->pg332.state.len,
                           why));
}

static int state_post_load(void *opaque, int version)
{
    g_autoptr(GString) why = g_string_new(NULL);
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);
    bool ok = load_all(d, now, why);

    ernic_pci_user_logic_reset(d);
    trace_ernic_pci_load(ernic_pci_id(d), d->state.len, ok);
    clear_state(d);
    clear_doorbells(d);
    if (ok) {
        d->net.link_moved = true;       /* the destination's link may differ */
        qemu_bh_schedule(d->irq_bh);
    } else {
        refuse(d, now);
    }
    ernic_pci_leave(d);
    d->loading = false;
    if (!ok) {
        error_report("ernic: the incoming state is not valid for a device with"
                     " these properties: %s", g_strchomp(why->str));
        return -EINVAL;
    }
    return 0;
}

/*
 * A stream of another release: the engine's state describes itself. A field that is
 * added here goes into a subsection of its own, which is needed if it does not have
 * its value after reset, as the versions of nested structures are not in the stream.
 */
static const VMStateDescription verbs_vmstate = ERNIC_VMSTATE(
    "ernic/verbs",
    VMSTATE_UINT64(cmd_addr, ErnicVerbs),
    VMSTATE_UINT64(rsp_addr, ErnicVerbs),
    VMSTATE_UINT32(ring_shift, ErnicVerbs),
    VMSTATE_UINT32(cmd_pi, ErnicVerbs),
    VMSTATE_UINT32(cmd_ci, ErnicVerbs),
    VMSTATE_UINT32(error, ErnicVerbs),
    VMSTATE_BOOL(enabled, ErnicVerbs),
    VMSTATE_BOOL(fatal, ErnicVerbs));

static const VMStateDescription eth_vmstate = ERNIC_VMSTATE(
    "ernic/eth",
    VMSTATE_UINT32(ctrl, ErnicEth),
    VMSTATE_UINT32(mac_lo, ErnicEth),
    VMSTATE_UINT32(mac_hi, ErnicEth),
    VMSTATE_UINT64(mc_hash, ErnicEth),
    VMSTATE_UINT64(tx_addr, ErnicEth),
    VMSTATE_UINT64(rx_addr, ErnicEth),
    VMSTATE_UINT64(state_addr, ErnicEth),
    VMSTATE_UINT32(tx_shift, ErnicEth),
    VMSTATE_UINT32(rx_shift, ErnicEth),
    VMSTATE_UINT32(vector, ErnicEth),
    VMSTATE_UINT32(tx_pi, ErnicEth),
    VMSTATE_UINT32(tx_ci, ErnicEth),
    VMSTATE_UINT32(rx_pi, ErnicEth),
    VMSTATE_UINT32(rx_ci, ErnicEth),
    VMSTATE_UINT32(tx_arm, ErnicEth),
    VMSTATE_UINT32(rx_arm, ErnicEth),
    VMSTATE_BOOL(tx_armed, ErnicEth),
    VMSTATE_BOOL(rx_armed, ErnicEth),
    VMSTATE_UINT64(tx_packets, ErnicEth),
    VMSTATE_UINT64(tx_bytes, ErnicEth),
    VMSTATE_UINT64(tx_errors, ErnicEth),
    VMSTATE_UINT64(rx_packets, ErnicEth),
    VMSTATE_UINT64(rx_bytes, ErnicEth),
    VMSTATE_UINT64(rx_no_buffer, ErnicEth),
    VMSTATE_UINT64(rx_errors, ErnicEth));

static bool has_pg332(void *opaque, int version)
{
    ErnicPci *d = opaque;

    return d->pg332.engine;
}

static bool has_shell(void *opaque)
{
    return ernic_pci_shell_row(opaque)->qdma;
}

/* Card memory is not in here: it migrates like any RAM. */
static const VMStateDescription shell_vmstate = {
    ERNIC_VMSTATE_V1("ernic/shell"),
    .needed = has_shell,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_SUB_ARRAY(shell.regs, ErnicPci, 0, ERNIC_SHELL_WORDS_1),
        VMSTATE_END_OF_LIST()
    }
};

static bool has_words(void *opaque)
{
    ErnicPci *d = opaque;

    return !buffer_is_zero(&d->shell.regs[ERNIC_SHELL_WORDS_1],
                           4 * (ERNIC_SHELL_WORDS - ERNIC_SHELL_WORDS_1));
}

/* Words that older releases do not have. */
static const VMStateDescription shell_words_vmstate = {
    ERNIC_VMSTATE_V1("ernic/words"),
    .needed = has_words,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_SUB_ARRAY(shell.regs, ErnicPci, ERNIC_SHELL_WORDS_1,
                                 ERNIC_SHELL_WORDS - ERNIC_SHELL_WORDS_1),
        VMSTATE_END_OF_LIST()
    }
};

static bool has_links(void *opaque)
{
    return ernic_pci_shell_has_links(opaque);
}

static int links_pre_load(void *opaque)
{
    return has_links(opaque) ? 0 : -EINVAL;
}

static int links_post_load(void *opaque, int version)
{
    ErnicPci *d = opaque;

    return d->shell.links >> ERNIC_QDMA_PORTS || d->shell.links_up >> ERNIC_QDMA_PORTS ?
           -EINVAL : 0;
}

static const VMStateDescription links_vmstate = {
    ERNIC_VMSTATE_V1("ernic/links"),
    .needed = has_links,
    .pre_load = links_pre_load,
    .post_load = links_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(shell.links, ErnicPci),
        VMSTATE_UINT32(shell.links_up, ErnicPci),
        VMSTATE_END_OF_LIST()
    }
};

/* ---- doorbells that the device has not executed ------------------------------ */

static bool has_doorbells(void *opaque)
{
    ErnicPci *d = opaque;

    return d->db_pos != d->db_len || d->db_count;
}

static int doorbells_pre_load(void *opaque)
{
    clear_doorbells(opaque);            /* of a subsection that is repeated */
    return 0;
}

static int doorbells_pre_save(void *opaque)
{
    ErnicPci *d = opaque;
    uint32_t n;

    d->db_saved = g_try_new(ErnicDbEntry, 2 * ERNIC_DB_QUEUE);
    if (!d->db_saved) {
        error_report("ernic: this host has no memory to save the doorbells");
        return -ENOMEM;
    }
    ernic_pci_enter(d);
    n = d->db_len - d->db_pos;
    d->num_db_saved = n + d->db_count;
    memcpy(d->db_saved, &d->db[!d->db_fill][d->db_pos], n * sizeof(*d->db_saved));
    memcpy(d->db_saved + n, d->db[d->db_fill], d->db_count * sizeof(*d->db_saved));
    ernic_pci_leave(d);
    return 0;
}

static bool num_doorbells_ok(void *opaque, int version)
{
    ErnicPci *d = opaque;

    return d->num_db_saved >= 0 && d->num_db_saved <= 2 * ERNIC_DB_QUEUE;
}

static const VMStateDescription doorbell_vmstate = ERNIC_VMSTATE(
    "ernic/doorbell",
    VMSTATE_UINT32(uctx, ErnicDbEntry),
    VMSTATE_UINT32(cmd_pi, ErnicDbEntry),
    VMSTATE_UINT64(value, ErnicDbEntry));

static const VMStateDescription doorbells_vmstate = {
    ERNIC_VMSTATE_V1("ernic/doorbells"),
    .needed = has_doorbells,
    .pre_load = doorbells_pre_load,
    .pre_save = doorbells_pre_save,
    .post_save = clear_doorbells_post_save,
    .fields = (const VMStateField[]) {
        VMSTATE_INT32(num_db_saved, ErnicPci),
        VMSTATE_VALIDATE("too many doorbells", num_doorbells_ok),
        VMSTATE_STRUCT_VARRAY_ALLOC(db_saved, ErnicPci, num_db_saved, 1,
                                    doorbell_vmstate, ErnicDbEntry),
        VMSTATE_END_OF_LIST()
    }
};

/* ---- interrupts that a function in D3hot has not sent -------------------------- */

static bool has_irqs(void *opaque)
{
    ErnicPci *d = opaque;

    return qatomic_read(&d->irq_pending) || qatomic_read(&d->pg332.risen);
}

static const VMStateDescription irqs_vmstate = {
    ERNIC_VMSTATE_V1("ernic/irqs"),
    .needed = has_irqs,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(irq_pending, ErnicPci),
        VMSTATE_UINT32(pg332.risen, ErnicPci),
        VMSTATE_END_OF_LIST()
    }
};

/* ---- a large packet whose frames have left in part ------------------------------ */

static bool has_large(void *opaque)
{
    ErnicPci *d = opaque;

    return d->net.eth.tx_sent;
}

static const VMStateDescription large_vmstate = {
    ERNIC_VMSTATE_V1("ernic/large"),
    .needed = has_large,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(net.eth.tx_sent, ErnicPci),
        VMSTATE_END_OF_LIST()
    }
};

/* ---- features that software may use, and older releases lack --------------------- */

#define NEW_FEATURES    (ERNIC_FEATURE_DB_RECORD | ERNIC_FEATURE_ETH_LSO)

static uint32_t new_features(const ErnicPci *d)
{
    return d->interface->commands ? ernic_pci_verbs_features(d) & NEW_FEATURES : 0;
}

/* The Ethernet interface needs no ENABLE. */
static bool has_features(void *opaque)
{
    ErnicPci *d = opaque;

    return (ernic_pci_verbs_enabled(d) || d->net.eth.ctrl) && new_features(d);
}

static int features_pre_save(void *opaque)
{
    ErnicPci *d = opaque;

    d->verbs.saved_features = new_features(d);
    return 0;
}

static int features_post_load(void *opaque, int version)
{
    ErnicPci *d = opaque;

    if (d->verbs.saved_features & ~new_features(d)) {
        error_report("ernic: the incoming state has features that this device lacks:"
                     " 0x%x", d->verbs.saved_features & ~new_features(d));
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription features_vmstate = {
    ERNIC_VMSTATE_V1("ernic/features"),
    .needed = has_features,
    .pre_save = features_pre_save,
    .post_load = features_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(verbs.saved_features, ErnicPci),
        VMSTATE_END_OF_LIST()
    }
};

/*
 * A stream without the subsections, and one that fails early, have no doorbells and no
 * interrupts.
 */
static int state_pre_load(void *opaque)
{
    ErnicPci *d = opaque;

    d->loading = true;
    qatomic_set(&d->irq_pending, 0);
    qatomic_set(&d->pg332.risen, 0);
    d->shell.links = 0;
    d->net.eth.tx_sent = 0;
    ernic_qdma_reset(d);
    ernic_xib_reset(d);
    clear_doorbells(opaque);
    clear_state(opaque);
    ernic_stream_bytes_limit(&d->state, ernic_save_most(d->engine));
    if (d->pg332.engine) {
        ernic_stream_bytes_limit(&d->pg332.state, ernic_save_most(d->pg332.engine));
    }
    return 0;
}

const VMStateDescription ernic_pci_vmstate = {
    ERNIC_VMSTATE_V1("ernic"),
    .pre_save = state_pre_save,
    .post_save = clear_state_post_save,
    .pre_load = state_pre_load,
    .post_load = state_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, ErnicPci),
        VMSTATE_MSIX(parent_obj, ErnicPci),
        VMSTATE_STRUCT(verbs, ErnicPci, 1, verbs_vmstate, ErnicVerbs),
        VMSTATE_STRUCT(net.eth, ErnicPci, 1, eth_vmstate, ErnicEth),
        ERNIC_STREAM_BYTES(state, ErnicPci, NULL),
        ERNIC_STREAM_BYTES(pg332.state, ErnicPci, has_pg332),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &shell_vmstate,
        &shell_words_vmstate,
        &links_vmstate,
        &ernic_qdma_vmstate,
        &ernic_qdma_stream_vmstate,
        &ernic_qdma_second_vmstate,
        &ernic_qdma_rules_vmstate,
        &ernic_xib_vmstate,
        &ernic_pace_vmstate,
        &doorbells_vmstate,
        &irqs_vmstate,
        &features_vmstate,
        &large_vmstate,
        &ernic_pci_lists_vmstate,
        &ernic_pci_spans_vmstate,
        NULL
    }
};
