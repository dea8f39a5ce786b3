/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A live section of the migration stream, in which page lists are sent while the machine
 * runs, and the holes that they leave in the state. A device with few and short lists
 * has neither, and its stream is as if this did not exist.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "migration/misc.h"
#include "migration/qemu-file-types.h"
#include "migration/register.h"
#include "compat/qemu.h"
#include "device/lock.h"
#include "pci/precopy.h"
#include "hw/rdma-ernic/trace.h"

#define SECTION         "ernic-lists"
/* Lists of fewer bytes stay in the state. */
#define MIN_BYTES       (1 * MiB)
/* Parts in one call: the bandwidth limit is looked at between calls. */
#define PARTS           8

/* ---- source ---------------------------------------------------------------------- */

/* Asked before a migration begins, and then before each call. */
static bool is_active(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicPciPrecopy *p = &d->precopy;

    if (!p->begun) {
        p->active = false;
        ernic_pci_lock(d);
        if (ernic_pci_exists(d)) {
            ernic_precopy_begin(d->engine, &p->source);
            p->active = p->source.left >= MIN_BYTES;
        }
        ernic_pci_unlock(d);
    }
    return p->active;
}

static int all_have_begun(NotifierWithReturn *n, void *data, Error **errp)
{
    ErnicPciPrecopy *p = container_of(n, ErnicPciPrecopy, setup);
    const PrecopyNotifyData *of = data;

    if (of->reason == PRECOPY_NOTIFY_SETUP) {
        p->begun = true;
    }
    return 0;
}

static void put_part(QEMUFile *f, const ErnicPrecopyPart *part)
{
    qemu_put_be32(f, part->number);
    qemu_put_be32(f, part->length);
    qemu_put_be32(f, part->count);
}

/* Nothing more in this section. */
static int put_end(QEMUFile *f)
{
    put_part(f, &(ErnicPrecopyPart) { });
    return 0;
}

static int save_setup(QEMUFile *f, void *opaque, Error **errp)
{
    return put_end(f);
}

/* The lock is held for a part, which is copied, and not while it is written. */
static bool send_part(QEMUFile *f, ErnicPci *d)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    ErnicPrecopyPart part = { };

    ernic_pci_lock(d);
    if (ernic_pci_exists(d)) {
        part = ernic_precopy_next(d->engine, &d->precopy.source, bytes);
    }
    ernic_pci_unlock(d);
    if (part.count) {
        put_part(f, &part);
        qemu_put_buffer(f, bytes->data, bytes->len);
    }
    return part.count;
}

static int save_live_iterate(QEMUFile *f, void *opaque)
{
    bool more = true;

    for (int i = 0; more && i < PARTS; i++) {
        more = send_part(f, opaque);
    }
    put_end(f);
    return !more;
}

/* A list that has not been sent yet is in the state. */
static int save_complete(QEMUFile *f, void *opaque)
{
    ErnicPci *d = opaque;

    trace_ernic_pci_precopy(ernic_pci_id(d), d->precopy.source.lists,
                            d->precopy.source.sent);
    return put_end(f);
}

static void pending_estimate(void *opaque, uint64_t *must_precopy, uint64_t *can_postcopy)
{
    ErnicPci *d = opaque;

    ernic_pci_lock(d);
    *must_precopy += d->precopy.source.left;
    ernic_pci_unlock(d);
}

static void pending_exact(void *opaque, uint64_t *must_precopy, uint64_t *can_postcopy)
{
    ErnicPci *d = opaque;

    ernic_pci_lock(d);
    if (ernic_pci_exists(d)) {
        ernic_precopy_look(d->engine, &d->precopy.source);
        *must_precopy += d->precopy.source.left;
    }
    ernic_pci_unlock(d);
}

static void save_cleanup(void *opaque)
{
    ErnicPci *d = opaque;

    d->precopy.begun = d->precopy.active = false;
}

void ernic_pci_precopy_save(ErnicPci *d, GByteArray *bytes)
{
    g_autoptr(GByteArray) holes = g_byte_array_new();
    ErnicPciPrecopy *p = &d->precopy;

    if (!p->active) {
        ernic_save(d->engine, bytes);
        return;
    }
    ernic_precopy_save(d->engine, &p->source, bytes, holes);
    p->num_holes = holes->len / sizeof(*p->hole);
    p->hole = (void *)g_byte_array_free(g_steal_pointer(&holes), false);
}

/* ---- destination ----------------------------------------------------------------- */

static int load_setup(QEMUFile *f, void *opaque, Error **errp)
{
    ErnicPci *d = opaque;

    ernic_precopied_clear(&d->precopy.arrived);
    return 0;
}

static int load_cleanup(void *opaque)
{
    return load_setup(NULL, opaque, NULL);
}

/* A stream that has ended reads as 0, which ends the section. */
static int load_state(QEMUFile *f, void *opaque, int version)
{
    ErnicPci *d = opaque;
    ErnicPrecopyPart part;
    size_t len;
    void *to;

    for (;;) {
        part.number = qemu_get_be32(f);
        part.length = qemu_get_be32(f);
        part.count = qemu_get_be32(f);
        if (!part.count) {
            return 0;
        }
        to = ernic_precopy_take(&d->precopy.arrived, &part, ernic_save_most(d->engine));
        if (!to) {
            error_report("ernic: the incoming state has a part of a page list that these"
                         " properties do not allow");
            return -EINVAL;
        }
        len = part.count * sizeof(uint64_t);
        if (qemu_get_buffer(f, to, len) != len) {
            error_report("ernic: a page list of the incoming state is cut off");
            return -EINVAL;
        }
    }
}

bool ernic_pci_precopy_fill(ErnicPci *d)
{
    ErnicPciPrecopy *p = &d->precopy;
    size_t len = d->state.len;
    uint8_t *whole;

    if (!p->num_holes) {
        return true;
    }
    whole = ernic_precopy_fill(&p->arrived, d->state.data, &len, p->hole, p->num_holes,
                               d->state.most);
    ernic_precopied_clear(&p->arrived);
    if (!whole) {
        return false;
    }
    g_free(d->state.data);
    d->state.data = whole;
    d->state.len = len;
    return true;
}

void ernic_pci_precopy_done(ErnicPci *d)
{
    g_free(d->precopy.hole);
    d->precopy.hole = NULL;
    d->precopy.num_holes = 0;
}

/* ---- what QEMU calls ------------------------------------------------------------- */

static bool has_holes(void *opaque)
{
    ErnicPci *d = opaque;

    return d->precopy.num_holes;
}

static int holes_pre_load(void *opaque)
{
    ernic_pci_precopy_done(opaque);             /* of a subsection that is repeated */
    return 0;
}

/* QEMU asks at both ends. */
static bool num_holes_ok(void *opaque, int version)
{
    ErnicPci *d = opaque;
    const ErnicPciPrecopy *p = &d->precopy;

    return p->num_holes >= 0 &&
           p->num_holes <= (p->active ? p->source.lists : p->arrived.lists);
}

static const VMStateDescription hole_vmstate = ERNIC_VMSTATE(
    "ernic/list",
    VMSTATE_UINT64(at, ErnicPrecopyHole),
    VMSTATE_UINT32(number, ErnicPrecopyHole));

const VMStateDescription ernic_pci_precopy_vmstate = {
    ERNIC_VMSTATE_V1("ernic/lists"),
    .needed = has_holes,
    .pre_load = holes_pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_INT32(precopy.num_holes, ErnicPci),
        VMSTATE_VALIDATE("more lists than have arrived", num_holes_ok),
        VMSTATE_STRUCT_VARRAY_ALLOC(precopy.hole, ErnicPci, precopy.num_holes, 1,
                                    hole_vmstate, ErnicPrecopyHole),
        VMSTATE_END_OF_LIST()
    }
};

const SaveVMHandlers ernic_pci_precopy_handlers = {
    .is_active = is_active,
    .save_setup = save_setup,
    .save_live_iterate = save_live_iterate,
    .ERNIC_SAVE_COMPLETE = save_complete,
    .state_pending_estimate = pending_estimate,
    .state_pending_exact = pending_exact,
    .save_cleanup = save_cleanup,
    .load_setup = load_setup,
    .load_state = load_state,
    .load_cleanup = load_cleanup,
};

void ernic_pci_precopy_open(ErnicPci *d)
{
    g_autofree char *path = vmstate_if_get_id(VMSTATE_IF(d));
    g_autofree char *name = g_strdup_printf("%s/" SECTION, path);

    d->precopy.setup.notify = all_have_begun;
    precopy_add_notifier(&d->precopy.setup);
    register_savevm_live(name, VMSTATE_INSTANCE_ID_ANY, 1, &ernic_pci_precopy_handlers,
                         d);
}

void ernic_pci_precopy_close(ErnicPci *d)
{
    unregister_savevm(VMSTATE_IF(d), SECTION, d);
    precopy_remove_notifier(&d->precopy.setup);
    ernic_precopied_clear(&d->precopy.arrived);
}
