/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A live section of the migration stream, in which page lists and spans of objects are
 * sent while the machine runs, and the holes that they leave in the state. A device with
 * few of both has neither, and its stream is as if this did not exist.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "migration/misc.h"
#include "migration/qemu-file-types.h"
#include "migration/register.h"
#include "compat/qemu.h"
#include "device/lock.h"
#include "device/memory.h"
#include "pci/precopy.h"
#include "hw/rdma-ernic/trace.h"

#define SECTION         "ernic-lists"
/* Lists and spans of fewer bytes stay in the state. */
#define MIN_BYTES       (1 * MiB)
/* Parts in one call: the bandwidth limit is looked at between calls. */
#define PARTS           8

/* ---- source ---------------------------------------------------------------------- */

/* Looks at all that may wait. The lock is held for a slice. */
static void look(ErnicPci *d)
{
    bool done;

    do {
        ernic_pci_lock(d);
        done = !ernic_pci_exists(d) || ernic_precopy_look(d->engine, &d->precopy.source);
        ernic_pci_unlock(d);
    } while (!done);
}

static void unregister(ErnicPci *d)
{
    unregister_savevm(NULL, d->precopy.section, d);
    g_clear_pointer(&d->precopy.section, g_free);
}

/* Nobody walks QEMU's list of sections any more. */
static void let_go(void *opaque)
{
    ErnicPci *d = opaque;

    unregister(d);
    ernic_pci_mem_close(d);
    object_unref(OBJECT(d));
}

static void save_cleanup(void *opaque)
{
    ErnicPci *d = opaque;

    ernic_pci_lock(d);
    ernic_precopy_end(d->engine, &d->precopy.source);
    ernic_pci_unlock(d);
    d->precopy.begun = d->precopy.active = false;
    if (d->precopy.kept) {
        d->precopy.kept = false;
        aio_bh_schedule_oneshot(qemu_get_aio_context(), let_go, d);
    }
}

/* Asked before a migration begins, and then before each call. */
static bool is_active(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicPciPrecopy *p = &d->precopy;
    bool begun;

    if (p->begun) {
        return p->active;
    }
    ernic_pci_lock(d);
    begun = ernic_precopy_begin(d->engine, &p->source);
    ernic_pci_unlock(d);
    if (begun) {
        look(d);
    }
    p->active = begun && p->source.left >= MIN_BYTES;
    if (!p->active) {
        save_cleanup(d);
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

/*
 * The lock is held for a slice, and not while a part, which is copied, is written.
 * Returns whether there was a part, or -ENOMEM.
 */
static int send_part(QEMUFile *f, ErnicPci *d)
{
    g_autoptr(GByteArray) bytes = ernic_precopy_part_new();
    ErnicPrecopyPart part = { };
    bool done;

    if (!bytes) {
        error_report("ernic: this host has no memory to send a page list");
        return -ENOMEM;
    }
    do {
        ernic_pci_lock(d);
        done = !ernic_pci_exists(d) ||
               ernic_precopy_next(d->engine, &d->precopy.source, &part, bytes);
        ernic_pci_unlock(d);
    } while (!done);
    if (part.count) {
        put_part(f, &part);
        qemu_put_buffer(f, bytes->data, bytes->len);
    }
    return part.count != 0;
}

static int save_live_iterate(QEMUFile *f, void *opaque)
{
    int more = true;

    for (int i = 0; more > 0 && i < PARTS; i++) {
        more = send_part(f, opaque);
    }
    if (more < 0) {
        return more;
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

uint64_t ernic_pci_precopy_left(void *opaque, bool exact)
{
    ErnicPci *d = opaque;
    uint64_t bytes;

    if (exact) {
        look(d);
    }
    ernic_pci_lock(d);
    bytes = ernic_pci_exists(d) ? d->precopy.source.left : 0;
    ernic_pci_unlock(d);
    return bytes;
}

ERNIC_SAVE_PENDING(ernic_pci_precopy_left)

/* @holes takes @bytes over. */
static void set_holes(ErnicPciHoles *holes, GByteArray *bytes)
{
    holes->num = bytes->len / sizeof(*holes->hole);
    holes->hole = (void *)g_byte_array_free(bytes, false);
}

bool ernic_pci_precopy_save(ErnicPci *d, GByteArray *bytes, uint64_t *skipped)
{
    ErnicPciPrecopy *p = &d->precopy;
    g_autoptr(GByteArray) spans = NULL, lists = NULL;

    ernic_pci_precopy_done(d);          /* with the holes of a state that was refused */
    if (!p->active) {
        ernic_save(d->engine, bytes);
        return true;
    }
    spans = ernic_precopy_holes_new(&p->source);
    lists = ernic_precopy_holes_new(&p->source);
    if (!spans || !lists) {
        return false;
    }
    ernic_precopy_save(d->engine, &p->source, bytes, spans, lists);
    set_holes(&p->spans, g_steal_pointer(&spans));
    set_holes(&p->lists, g_steal_pointer(&lists));
    trace_ernic_pci_precopy_save(ernic_pci_id(d), p->spans.num, p->lists.num,
                                 p->source.skipped);
    *skipped = p->source.skipped;
    return true;
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
            error_report("ernic: the incoming state has a part of a list that these"
                         " properties do not allow");
            return -EINVAL;
        }
        len = part.count * sizeof(uint64_t);
        if (qemu_get_buffer(f, to, len) != len) {
            error_report("ernic: a list of the incoming state is cut off");
            return -EINVAL;
        }
    }
}

static bool fill(ErnicPci *d, const ErnicPciHoles *holes)
{
    size_t len = d->state.len;
    uint8_t *whole;

    if (!holes->num) {
        return true;
    }
    whole = ernic_precopy_fill(&d->precopy.arrived, d->state.data, &len, holes->hole,
                               holes->num, d->state.most);
    if (!whole) {
        return false;
    }
    g_free(d->state.data);
    d->state.data = whole;
    d->state.len = len;
    return true;
}

bool ernic_pci_precopy_fill(ErnicPci *d)
{
    ErnicPciPrecopy *p = &d->precopy;
    bool ok = fill(d, &p->spans) && fill(d, &p->lists);

    ernic_precopied_clear(&p->arrived);
    return ok;
}

static int forget(ErnicPciHoles *holes)
{
    g_free(holes->hole);
    *holes = (ErnicPciHoles) { };
    return 0;
}

void ernic_pci_precopy_done(ErnicPci *d)
{
    forget(&d->precopy.spans);
    forget(&d->precopy.lists);
}

void ernic_pci_precopy_free(ErnicPci *d)
{
    ernic_pci_precopy_done(d);
    ernic_precopy_end(d->engine, &d->precopy.source);
}

/* ---- what QEMU calls ------------------------------------------------------------- */

/* QEMU asks at both ends. */
static bool num_ok(const ErnicPciPrecopy *p, const ErnicPciHoles *holes)
{
    return holes->num >= 0 &&
           holes->num <= (p->active ? p->source.lists : p->arrived.lists);
}

static const VMStateDescription hole_vmstate = ERNIC_VMSTATE(
    "ernic/list",
    VMSTATE_UINT64(at, ErnicPrecopyHole),
    VMSTATE_UINT32(number, ErnicPrecopyHole));

/* The holes of @member; a subsection may be repeated. */
#define HOLES_VMSTATE(member)                                                       \
    static bool has_##member(void *opaque)                                          \
    {                                                                               \
        return ((ErnicPci *)opaque)->precopy.member.num;                            \
    }                                                                               \
    static int member##_pre_load(void *opaque)                                      \
    {                                                                               \
        return forget(&((ErnicPci *)opaque)->precopy.member);                       \
    }                                                                               \
    static bool num_##member##_ok(void *opaque, int version)                        \
    {                                                                               \
        ErnicPciPrecopy *p = &((ErnicPci *)opaque)->precopy;                        \
                                                                                    \
        return num_ok(p, &p->member);                                               \
    }                                                                               \
    const VMStateDescription ernic_pci_##member##_vmstate = {                       \
        ERNIC_VMSTATE_V1("ernic/" #member),                                         \
        .needed = has_##member,                                                     \
        .pre_load = member##_pre_load,                                              \
        .fields = (const VMStateField[]) {                                          \
            VMSTATE_INT32(precopy.member.num, ErnicPci),                            \
            VMSTATE_VALIDATE("more holes than lists", num_##member##_ok),           \
            VMSTATE_STRUCT_VARRAY_ALLOC(precopy.member.hole, ErnicPci,              \
                                        precopy.member.num, 1, hole_vmstate,        \
                                        ErnicPrecopyHole),                          \
            VMSTATE_END_OF_LIST()                                                   \
        }                                                                           \
    }

HOLES_VMSTATE(lists);
HOLES_VMSTATE(spans);

const SaveVMHandlers ernic_pci_precopy_handlers = {
    .is_active = is_active,
    .save_setup = save_setup,
    .save_live_iterate = save_live_iterate,
    .ERNIC_SAVE_COMPLETE = save_complete,
    ERNIC_SAVE_PENDING_MEMBERS(ernic_pci_precopy_left),
    .save_cleanup = save_cleanup,
    .load_setup = load_setup,
    .load_state = load_state,
    .load_cleanup = load_cleanup,
};

void ernic_pci_precopy_open(ErnicPci *d)
{
    g_autofree char *path = vmstate_if_get_id(VMSTATE_IF(d));

    d->precopy.section = g_strdup_printf("%s/" SECTION, path);
    d->precopy.setup.notify = all_have_begun;
    precopy_add_notifier(&d->precopy.setup);
    register_savevm_live(d->precopy.section, VMSTATE_INSTANCE_ID_ANY, 1,
                         &ernic_pci_precopy_handlers, d);
}

/*
 * The guest may eject the device while the machine migrates. The thread of the migration
 * walks the list of sections without the BQL, and may just be in this one. It also counts
 * the pages of RAM that it has to send, and those of the device with them: it would wait
 * for ever for pages that no block has.
 */
void ernic_pci_precopy_close(ErnicPci *d)
{
    precopy_remove_notifier(&d->precopy.setup);
    ernic_precopied_clear(&d->precopy.arrived);
    if (d->precopy.begun) {
        d->precopy.kept = true;
        object_ref(OBJECT(d));
    } else {
        unregister(d);
    }
}
