/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The network as a device without a bus: properties, ports, timer, captures,
 * counters and saved state.
 *
 * A frame that the cable does not accept waits at its port, and the device
 * counts as busy. A frame that the device does not accept waits at the port
 * too. No frame waits in the queues of QEMU, which no state saves.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qobject/qdict.h"
#include "qobject/qnum.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "migration/vmstate.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "capture/dump.h"
#include "compat/qemu.h"
#include "fabric/archive.h"
#include "fabric/stream_bytes.h"
#include "fabric/switch.h"
#include "fabric/wire_device.h"
#include "hw/rdma-ernic/trace.h"

typedef struct ErnicWirePort {
    NetClientState nc;
    ErnicWire *wire;
    uint32_t number;
    char *device;
    ErnicWireReady *ready;
    void *opaque;
    ErnicCarriedList out;       /* frames that the cable has not accepted yet */
    ErnicCarriedList in;        /* frames that the device has not accepted yet */
} ErnicWirePort;

struct ErnicWire {
    DeviceState parent_obj;

    /* Properties. */
    ErnicSwitchConfig cfg;
    char *rate, *flight, *latency, *reorder_max;
    char *pmax, *loss, *reorder;
    char *dump;
    uint64_t dump_limit;        /* bytes */

    ErnicSwitch *net;
    QEMUTimer timer;
    QEMUBH *bh;                 /* continues the work of the timer */
    QEMUBH *reap;               /* frees frames */
    VMChangeStateEntry *vm_state;
    bool missed;                /* work for wire_run() when the machine starts */
    ErnicWirePort *port[ERNIC_SWITCH_PORTS];
    ErnicDump capture;

    ErnicStreamBytes state;     /* while it migrates */
};

static const char *wire_id(const ErnicWire *w)
{
    return w->parent_obj.id ?: "";
}

static uint64_t wire_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static uint64_t host_clock(void)
{
    return get_clock();
}

static void update_timer(ErnicWire *w)
{
    uint64_t next = ernic_switch_next(w->net);

    if (ernic_carried_waits(ernic_switch_store(w->net))) {
        qemu_bh_schedule(w->reap);
    }

    if (next > INT64_MAX) {
        timer_del(&w->timer);
    } else {
        timer_mod_ns(&w->timer, next);
    }
}

/* ---- the capture ----------------------------------------------------------- */

static void dump_frame(ErnicWire *w, uint32_t port, bool sent, uint64_t at,
                       const uint8_t *frame, uint32_t len)
{
    trace_ernic_wire_frame(wire_id(w), port, sent, at, len);
    ernic_dump_frame(&w->capture, port, sent, at, frame, len);
}

static bool dump_open(ErnicWire *w, Error **errp)
{
    g_autofree char *owner = g_strdup_printf("ernic-wire %s", wire_id(w));

    return ernic_dump_open(&w->capture, owner, w->dump, w->dump_limit, w->cfg.ports,
                           errp);
}

/* ---- frames ---------------------------------------------------------------- */

static void free_frame(ErnicWirePort *p, ErnicCarried *f)
{
    ernic_carried_free(ernic_switch_store(p->wire->net), f);
}

/* Frames that wait are freed later. */
static void drop_frames(ErnicWirePort *p, ErnicCarriedList *l)
{
    ernic_carried_drop(ernic_switch_store(p->wire->net), l);
}

/* Keep a copy of a frame; it is lost if there is no memory. */
static void keep_frame(ErnicWirePort *p, ErnicCarriedList *l, const uint8_t *frame,
                       uint32_t len)
{
    ErnicCarried *f = ernic_carried_new(ernic_switch_store(p->wire->net), frame, len,
                                        p->number);

    if (f) {
        ernic_carried_append(l, f);
    }
}

/* Free frames, whatever the machine does, since it does not see that. */
static void wire_reap(void *opaque)
{
    ErnicWire *w = opaque;

    if (!ernic_switch_reap(w->net)) {
        trace_ernic_wire_reap(wire_id(w));
        qemu_bh_schedule(w->reap);
    }
}

/* Hand frames to the NIC as long as it accepts them. */
static void hand_over(ErnicWirePort *p)
{
    ErnicCarried *f;

    while (p->in.head && qemu_can_send_packet(&p->nc)) {
        f = ernic_carried_take(&p->in);
        qemu_send_packet(&p->nc, f->data, f->len);
        free_frame(p, f);
    }
}

void ernic_wire_resume(NetClientState *nc)
{
    ErnicWirePort *p = DO_UPCAST(ErnicWirePort, nc, nc);

    hand_over(p);
    if (!p->in.head) {
        ernic_switch_resume(p->wire->net, p->number, wire_now());
        update_timer(p->wire);
    }
}

/* Hand over the frames that a device did not accept, and does not ask for. */
static void resume_all(ErnicWire *w)
{
    uint32_t i;

    w->missed = false;
    for (i = 0; i < w->cfg.ports; i++) {
        if (w->port[i]) {
            ernic_wire_resume(&w->port[i]->nc);
        }
    }
}

/*
 * The rest of the work, after QEMU has run other work. A timer that is due would run
 * again at once. Under -icount it has to, because frames must arrive at their time.
 */
static void run_on(ErnicWire *w)
{
    trace_ernic_wire_slice(wire_id(w));
    if (icount_enabled()) {
        update_timer(w);
    } else {
        qemu_bh_schedule(w->bh);
    }
}

/*
 * The machine counts as stopped before its processors and clocks stop. Then its devices
 * accept no frames any more, but the timer may still run.
 */
static void wire_run(void *opaque)
{
    ErnicWire *w = opaque;
    bool done;

    if (!runstate_is_running()) {
        trace_ernic_wire_not_running(wire_id(w));
        w->missed = true;
        return;
    }
    if (w->missed) {
        resume_all(w);
    }
    done = ernic_switch_run(w->net, wire_now());
    ernic_dump_flush(&w->capture);
    if (done) {
        update_timer(w);
    } else {
        run_on(w);
    }
}

/*
 * The current time is the time at which the work was due. With -icount, a later time
 * would move QEMU's clock, as no processor runs yet.
 */
static void wire_vm_state_changed(void *opaque, bool running, RunState state)
{
    ErnicWire *w = opaque;

    if (running && w->missed) {
        timer_mod_ns(&w->timer, wire_now());
    }
}

static bool wire_deliver(void *opaque, uint32_t port, uint64_t at,
                         const uint8_t *frame, uint32_t len)
{
    ErnicWire *w = opaque;
    ErnicWirePort *p = w->port[port];

    if (!p) {
        return true;            /* an interrupt has ejected the device: it is lost */
    }
    dump_frame(w, port, false, at, frame, len);
    keep_frame(p, &p->in, frame, len);
    hand_over(p);
    return !p->in.head;
}

static void wire_sent(void *opaque, uint32_t port, uint64_t at,
                      const uint8_t *frame, uint32_t len)
{
    dump_frame(opaque, port, true, at, frame, len);
}

static void wire_ready(void *opaque, uint32_t port)
{
    ErnicWire *w = opaque;
    ErnicWirePort *p = w->port[port];
    ErnicCarried *f;

    while (p->out.head &&
           ernic_switch_send(w->net, port, wire_now(), p->out.head->data,
                             p->out.head->len)) {
        f = ernic_carried_take(&p->out);
        free_frame(p, f);
    }
    if (!p->out.head) {
        p->ready(p->opaque);
    }
}

static const ErnicSwitchOps wire_ops = {
    .deliver = wire_deliver,
    .sent = wire_sent,
    .ready = wire_ready,
};

/* A frame from the NIC. */
static ssize_t port_receive_iov(NetClientState *nc, const struct iovec *iov,
                                int num)
{
    ErnicWirePort *p = DO_UPCAST(ErnicWirePort, nc, nc);
    /* One byte more shows the switch that the frame is too long. */
    uint8_t buf[ERNIC_SWITCH_FRAME_MAX + 1];
    size_t len = iov_to_buf(iov, num, 0, buf, sizeof(buf));
    bool is_frame = len >= ERNIC_SWITCH_FRAME_MIN &&
                    len <= ERNIC_SWITCH_FRAME_MAX;

    if ((is_frame && p->out.head) ||
        !ernic_switch_send(p->wire->net, p->number, wire_now(), buf, len)) {
        keep_frame(p, &p->out, buf, len);
    }
    update_timer(p->wire);
    return iov_size(iov, num);
}

bool ernic_wire_waits(NetClientState *nc)
{
    return DO_UPCAST(ErnicWirePort, nc, nc)->out.head;
}

void ernic_wire_purge(NetClientState *nc)
{
    ErnicWirePort *p = DO_UPCAST(ErnicWirePort, nc, nc);

    drop_frames(p, &p->out);
    update_timer(p->wire);
}

static ssize_t port_receive(NetClientState *nc, const uint8_t *buf, size_t len)
{
    struct iovec iov = { (void *)buf, len };

    return port_receive_iov(nc, &iov, 1);
}

/* ---- ports ----------------------------------------------------------------- */

static NetClientInfo port_info = {
    .type = NET_CLIENT_DRIVER_NONE,
    .size = sizeof(ErnicWirePort),
    .receive = port_receive,
    .receive_iov = port_receive_iov,
};

static uint32_t free_port(const ErnicWire *w)
{
    uint32_t i;

    for (i = 0; i < w->cfg.ports && w->port[i]; i++) {
    }
    return i;
}

bool ernic_wire_has_room(const ErnicWire *w, Error **errp)
{
    if (!w->net) {
        error_setg(errp, "wire=%s is not realized", wire_id(w));
        return false;
    }
    if (free_port(w) == w->cfg.ports) {
        error_setg(errp, "wire=%s has %u ports, and all are in use",
                   wire_id(w), w->cfg.ports);
        return false;
    }
    return true;
}

NetClientState *ernic_wire_plug(ErnicWire *w, const char *name, bool paced,
                                ErnicWireReady *ready, void *opaque)
{
    uint32_t number = free_port(w);
    g_autofree char *id = g_strdup_printf("%s.%u", wire_id(w), number);
    NetClientState *nc = qemu_new_net_client(&port_info, NULL, TYPE_ERNIC_WIRE,
                                             id);
    ErnicWirePort *p = DO_UPCAST(ErnicWirePort, nc, nc);

    trace_ernic_wire_plug(wire_id(w), number, name, paced);
    p->wire = w;
    p->number = number;
    p->device = g_strdup(name);
    p->ready = ready;
    p->opaque = opaque;
    w->port[number] = p;
    ernic_switch_plug(w->net, number, paced);
    return nc;
}

void ernic_wire_unplug(ErnicWire *w, NetClientState *nc)
{
    ErnicWirePort *p = DO_UPCAST(ErnicWirePort, nc, nc);

    trace_ernic_wire_unplug(wire_id(w), p->number);
    ernic_switch_unplug(w->net, p->number, wire_now());
    w->port[p->number] = NULL;
    drop_frames(p, &p->out);
    drop_frames(p, &p->in);
    g_free(p->device);
    qemu_del_net_client(nc);
    update_timer(w);
}

/* ---- counters -------------------------------------------------------------- */

static QDict *new_port(ErnicWire *w, uint32_t port)
{
    QDict *to = qdict_new();
    ErnicSwitchStats st;

    ernic_switch_stats(w->net, port, wire_now(), &st);
    qdict_put_str(to, "device", w->port[port] ? w->port[port]->device : "");
#define X(counter) qdict_put(to, #counter, qnum_from_uint(st.counter));
    ERNIC_SWITCH_STATS_LIST(X)
#undef X
    return to;
}

static void get_statistics(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    g_autoptr(QDict) all = qdict_new();
    ErnicWire *w = ERNIC_WIRE(obj);
    uint32_t i;

    for (i = 0; w->net && i < w->cfg.ports; i++) {
        g_autofree char *port = g_strdup_printf("port%u", i);

        qdict_put(all, port, new_port(w, i));
    }
    visit_type_any(v, name, &(QObject *) { QOBJECT(all) }, errp);
}

/* ---- properties ------------------------------------------------------------ */

static bool parse_rate(const char *name, const char *text, void *to)
{
    /*
     * A number with a decimal suffix (factor 1000); an integral number of bits.
     */
    return qemu_strtosz_metric(text, NULL, to) == 0;
}

static bool parse_time(const char *name, const char *text, void *to)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {
        { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
        { "s", 1000000000 },
    };
    const char *end;
    uint64_t n;
    size_t i;

    if (!g_ascii_isdigit(text[0]) || qemu_strtou64(text, &end, 10, &n) != 0) {
        return false;
    }
    for (i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].unit) == 0 && n <= UINT64_MAX / units[i].ns) {
            *(uint64_t *)to = n * units[i].ns;
            return true;
        }
    }
    return false;
}

static bool parse_probability(const char *name, const char *text, void *to)
{
    double p;

    if (qemu_strtod_finite(text, NULL, &p) != 0 || !(p >= 0 && p <= 1)) {
        return false;
    }
    *(uint32_t *)to = p * ERNIC_SWITCH_ALWAYS + 0.5;
    return true;
}

/* Text properties, their parsers, and the fields that they set. */
static const struct {
    const char *name, *form;
    bool (*parse)(const char *name, const char *text, void *to);
    size_t text, to;
} texts[] = {
#define TEXT(name, field, parse, form) \
    { name, form, parse, offsetof(ErnicWire, field), \
      offsetof(ErnicWire, cfg.field) }
#define TIME "a time, as 500ns or 2us"
#define PROBABILITY "a probability, 0 to 1"
    TEXT("rate", rate, parse_rate, "bits per second, as 100G"),
    TEXT("flight", flight, parse_time, TIME),
    TEXT("latency", latency, parse_time, TIME),
    TEXT("reorder-max", reorder_max, parse_time, TIME),
    TEXT("pmax", pmax, parse_probability, PROBABILITY),
    TEXT("loss", loss, parse_probability, PROBABILITY),
    TEXT("reorder", reorder, parse_probability, PROBABILITY),
#undef PROBABILITY
#undef TIME
#undef TEXT
};

static bool read_properties(ErnicWire *w, Error **errp)
{
    const char *wrong, *text;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(texts); i++) {
        text = *(char **)((uint8_t *)w + texts[i].text);
        if (text && !texts[i].parse(texts[i].name, text,
                                    (uint8_t *)w + texts[i].to)) {
            error_setg(errp, "%s is \"%s\", not %s", texts[i].name, text,
                       texts[i].form);
            return false;
        }
    }
    wrong = ernic_switch_wrong(&w->cfg);
    if (wrong) {
        error_setg(errp, "%s", wrong);
    }
    return !wrong;
}

/* ---- life ------------------------------------------------------------------ */

static void wire_realize(DeviceState *dev, Error **errp)
{
    ErnicWire *w = ERNIC_WIRE(dev);

    if (!dev->id) {
        error_setg(errp, "ernic-wire needs an id=, for wire= to name it");
        return;
    }
    if (!read_properties(w, errp) || !dump_open(w, errp)) {
        return;
    }
    w->cfg.clock = icount_enabled() ? NULL : host_clock;
    w->net = ernic_switch_new(&w->cfg, &wire_ops, w);
    timer_init_ns(&w->timer, QEMU_CLOCK_VIRTUAL, wire_run, w);
    w->bh = qemu_bh_new(wire_run, w);
    w->reap = qemu_bh_new(wire_reap, w);
    w->vm_state = qemu_add_vm_change_state_handler(wire_vm_state_changed, w);
    qemu_register_resettable(OBJECT(dev));
    trace_ernic_wire_realize(wire_id(w), w->cfg.ports, w->cfg.rate,
                             w->cfg.flight);
}

static void drop_waiting(ErnicWire *w)
{
    uint32_t i;

    for (i = 0; i < w->cfg.ports; i++) {
        if (w->port[i]) {
            drop_frames(w->port[i], &w->port[i]->out);
            drop_frames(w->port[i], &w->port[i]->in);
        }
    }
}

/* Devices hold references, so the last of them is gone. */
static void wire_unrealize(DeviceState *dev)
{
    ErnicWire *w = ERNIC_WIRE(dev);

    qemu_unregister_resettable(OBJECT(dev));
    qemu_del_vm_change_state_handler(w->vm_state);
    timer_del(&w->timer);
    qemu_bh_delete(w->bh);
    qemu_bh_delete(w->reap);
    ernic_switch_free(w->net);
    w->net = NULL;
    ernic_stream_bytes_clear(&w->state);
    ernic_dump_close(&w->capture);
}

static void wire_reset_hold(Object *obj, ResetType type)
{
    ErnicWire *w = ERNIC_WIRE(obj);

    trace_ernic_wire_reset(wire_id(w));
    drop_waiting(w);
    ernic_switch_reset(w->net);
    update_timer(w);
}

/* ---- saved state ----------------------------------------------------------- */

static bool wire_walk(ErnicWire *w, ErnicArchive *walk)
{
    uint32_t i;

    ernic_switch_walk(w->net, walk);
    for (i = 0; i < w->cfg.ports && !walk->bad; i++) {
        ErnicWirePort *p = w->port[i];

        if (p) {
            ErnicArchiveSection section = ernic_archive_begin(walk);

            ernic_archive_list(walk, &p->out, w->cfg.ports, ERNIC_SWITCH_FRAME_MIN,
                               ERNIC_SWITCH_FRAME_MAX, false);
            ernic_archive_list(walk, &p->in, w->cfg.ports, ERNIC_SWITCH_FRAME_MIN,
                               ERNIC_SWITCH_FRAME_MAX, false);
            ernic_archive_end(walk, &section);
            /* Nothing else calls for frames that the cable has not accepted. */
            walk->bad = walk->bad || (!walk->out && p->out.head &&
                                      !ernic_switch_refused(w->net, i));
        }
    }
    return !walk->bad;
}

static void save_walk(void *opaque, ErnicArchive *walk)
{
    wire_walk(opaque, walk);
}

static int wire_pre_save(void *opaque)
{
    ErnicWire *w = opaque;
    GByteArray *bytes = ernic_archive_save(save_walk, w, wire_now());

    if (!bytes) {
        error_report("ernic-wire %s: this host has no memory to save the state",
                     wire_id(w));
        return -ENOMEM;
    }
    ernic_stream_bytes_limit(&w->state, ernic_switch_save_most(&w->cfg));
    if (!ernic_stream_bytes_set(&w->state, bytes)) {
        return -EFBIG;
    }
    trace_ernic_wire_save(wire_id(w), w->state.len);
    return 0;
}

static void clear_state(void *opaque)
{
    ErnicWire *w = opaque;

    ernic_stream_bytes_clear(&w->state);
}

ERNIC_POST_SAVE(clear_state)

static int wire_pre_load(void *opaque)
{
    ErnicWire *w = opaque;

    ernic_stream_bytes_clear(&w->state);        /* of a stream that ended early */
    ernic_stream_bytes_limit(&w->state, ernic_switch_save_most(&w->cfg));
    return 0;
}

static int wire_post_load(void *opaque, int version)
{
    ErnicWire *w = opaque;
    ErnicArchive walk = {
        .in = w->state.data, .left = w->state.len, .now = wire_now(),
    };
    bool ok;

    w->missed = true;           /* the devices do not know which frames wait for them */
    drop_waiting(w);
    ok = wire_walk(w, &walk) && walk.left == 0;
    trace_ernic_wire_load(wire_id(w), w->state.len, ok);
    clear_state(w);
    if (!ok) {
        drop_waiting(w);
        ernic_switch_reset(w->net);
        error_report("ernic-wire %s: the state that arrived is not a valid one of"
                     " a wire with these properties and devices", wire_id(w));
    }
    update_timer(w);
    return ok ? 0 : -EINVAL;
}

/* The sections in state (archive.h) let older states load; this changes with them. */
static const VMStateDescription wire_vmstate = {
    .name = "ernic-wire",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = wire_pre_save,
    .pre_load = wire_pre_load,
    .post_save = clear_state_post_save,
    .post_load = wire_post_load,
    .fields = (const VMStateField[]) {
        ERNIC_STREAM_BYTES(state, ErnicWire, NULL),
        VMSTATE_END_OF_LIST()
    }
};

static const Property wire_properties[] = {
    DEFINE_PROP_UINT32("ports", ErnicWire, cfg.ports, 2),
    DEFINE_PROP_STRING("rate", ErnicWire, rate),
    DEFINE_PROP_STRING("flight", ErnicWire, flight),
    DEFINE_PROP_STRING("latency", ErnicWire, latency),
    DEFINE_PROP_SIZE("queue", ErnicWire, cfg.queue, 1 << 20),
    DEFINE_PROP_SIZE("kmin", ErnicWire, cfg.kmin, 0),
    DEFINE_PROP_SIZE("kmax", ErnicWire, cfg.kmax, 0),
    DEFINE_PROP_STRING("pmax", ErnicWire, pmax),
    DEFINE_PROP_SIZE("xoff", ErnicWire, cfg.xoff, 0),
    DEFINE_PROP_SIZE("xon", ErnicWire, cfg.xon, 0),
    DEFINE_PROP_STRING("loss", ErnicWire, loss),
    DEFINE_PROP_STRING("reorder", ErnicWire, reorder),
    DEFINE_PROP_STRING("reorder-max", ErnicWire, reorder_max),
    DEFINE_PROP_UINT64("seed", ErnicWire, cfg.seed, 0),
    DEFINE_PROP_STRING("dump", ErnicWire, dump),
    DEFINE_PROP_SIZE("dump-limit", ErnicWire, dump_limit, GiB),
};

static void wire_instance_init(Object *obj)
{
    ErnicWire *w = ERNIC_WIRE(obj);

    w->cfg.rate = 100000000000;
    w->cfg.flight = 15;         /* 3 m, as in the profiles */
}

static void wire_class_init(ObjectClass *oc, ErnicClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);

    dc->realize = wire_realize;
    dc->unrealize = wire_unrealize;
    dc->vmsd = &wire_vmstate;
    dc->desc = "In-process wire or switch between ernic devices";
    dc->hotpluggable = false;
    dc->user_creatable = true;
    rc->phases.hold = wire_reset_hold;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, wire_properties);
    object_class_property_add(oc, "statistics", "ErnicWireStatistics",
                              get_statistics, NULL, NULL, NULL);
    object_class_property_set_description(oc, "statistics",
        "The counters of every port");
}

static const TypeInfo wire_types[] = {
    {
        .name = TYPE_ERNIC_WIRE,
        .parent = TYPE_DEVICE,
        .instance_size = sizeof(ErnicWire),
        .instance_init = wire_instance_init,
        .class_init = wire_class_init,
    },
};

DEFINE_TYPES(wire_types)
