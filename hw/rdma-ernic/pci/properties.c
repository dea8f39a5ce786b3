/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The properties of the device: names, defaults, ranges. Links and interfaces add theirs
 * (device/link.c, device/interface.c).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/units.h"
#include "compat/qemu.h"
#include "device/device.h"
#include "device/polling.h"
#include "pci/properties.h"

static const Property properties[] = {
    DEFINE_NIC_PROPERTIES(ErnicPci, net.conf),
    DEFINE_PROP_UINT32("max-qp", ErnicPci, cfg.max_qp, 1024),
    DEFINE_PROP_UINT32("max-cq", ErnicPci, cfg.max_cq, 1024),
    DEFINE_PROP_UINT32("max-srq", ErnicPci, cfg.max_srq, 4096),
    DEFINE_PROP_UINT32("max-eq", ErnicPci, cfg.max_eq, 64),
    DEFINE_PROP_UINT32("max-mr", ErnicPci, cfg.max_mr, 65536),
    DEFINE_PROP_UINT32("max-pd", ErnicPci, cfg.max_pd, 1024),
    DEFINE_PROP_UINT32("max-uctx", ErnicPci, cfg.max_uctx,
                       ERNIC_PCI_MAX_UCTX),
    DEFINE_PROP_SIZE("max-memory", ErnicPci, cfg.max_memory, 0),
    DEFINE_PROP_UINT16("vectors", ErnicPci, cfg.num_vectors, ERNIC_DEFAULT_VECTORS),
    DEFINE_PROP_UINT32("roce-mtu", ErnicPci, mtu, 4096),
    DEFINE_PROP_SIZE("device-memory", ErnicPci, mem_size,
                     ERNIC_PCI_DEVICE_MEMORY),
    DEFINE_PROP_UINT32("link-speed", ErnicPci, cfg.link_speed, 100000),
    DEFINE_PROP_ON_OFF_AUTO("icrc", ErnicPci, icrc, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_ON_OFF_AUTO("adaptive-retransmission", ErnicPci, adaptive,
                            ON_OFF_AUTO_AUTO),
    DEFINE_PROP_UINT32("retry-time", ErnicPci, retry_time, 10000),
    DEFINE_PROP_UINT32("ernic-qps", ErnicPci, pg332.num_qp, 0),
    DEFINE_PROP_UINT32("ernic-reads", ErnicPci, pg332.reads, 0),
    DEFINE_PROP_CHR("user-logic", ErnicPci, pg332.user.chr),
    DEFINE_PROP_BOOL("timing", ErnicPci, timing, false),
    DEFINE_PROP_STRING("timing-profile", ErnicPci, timing_profile),
    DEFINE_PROP_STRING("timing-trace", ErnicPci, timing_trace),
    DEFINE_PROP_SIZE("timing-trace-limit", ErnicPci, timing_trace_limit,
                     256 * MiB),
    DEFINE_PROP_SIZE("card-memory", ErnicPci, shell.card_size, 0),
    DEFINE_PROP_LINK("port-of", ErnicPci, shell.port_of, TYPE_ERNIC, ErnicPci *),
    DEFINE_PROP_LINK("wire", ErnicPci, net.wire, TYPE_ERNIC_WIRE, ErnicWire *),
    DEFINE_PROP_UINT32("pci-vendor-id", ErnicPci, mlx5.vendor, 0),
    DEFINE_PROP_UINT32("pci-device-id", ErnicPci, mlx5.device, 0),
    DEFINE_PROP_ON_OFF_AUTO("engine-thread", ErnicPci, engine_thread,
                            ON_OFF_AUTO_AUTO),
    DEFINE_PROP_UINT32("engine-poll-us", ErnicPci, polling.max_us, 0),
    DEFINE_PROP_ON_OFF_AUTO("ioeventfd", ErnicPci, ioeventfd, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_LINK("iothread", ErnicPci, iothread, TYPE_IOTHREAD, IOThread *),
};

/* Least max-memory, bytes: enough for the queues of a driver. */
#define MEMORY_MIN          MiB

/* One row for each property that sets a number of the engine's configuration. */
static const struct {
    const char *name;
    size_t field;
    uint32_t min, max;
} limits[] = {
#define LIMIT(name, field, min, max) \
    { name, offsetof(ErnicConfig, field), min, max }
    /* Number 0 is never used; queue pairs 0 and 1 are special. */
    LIMIT("max-qp", max_qp, 3, ERNIC_LIM_QP),
    LIMIT("max-cq", max_cq, 2, ERNIC_LIM_CQ),
    LIMIT("max-srq", max_srq, 2, ERNIC_LIM_SRQ),
    LIMIT("max-eq", max_eq, 2, ERNIC_LIM_EQ),
    LIMIT("max-mr", max_mr, 2, ERNIC_LIM_MR),
    LIMIT("max-pd", max_pd, 2, ERNIC_LIM_PD),
    LIMIT("max-uctx", max_uctx, 2, ERNIC_LIM_UCTX),
    LIMIT("link-speed", link_speed, 1, ERNIC_MAX_LINK_SPEED),
#undef LIMIT
};

bool ernic_pci_check_properties(ErnicPci *d, Error **errp)
{
    uint32_t value;
    size_t i;

    for (i = 0; i < ARRAY_SIZE(limits); i++) {
        value = *(uint32_t *)((uint8_t *)&d->cfg + limits[i].field);
        if (value < limits[i].min || value > limits[i].max) {
            error_setg(errp, "%s is %u, not %u to %u", limits[i].name, value,
                       limits[i].min, limits[i].max);
            return false;
        }
    }
    if (d->cfg.num_vectors < 1 || d->cfg.num_vectors > ERNIC_MAX_VECTORS) {
        error_setg(errp, "vectors is %u, not 1 to %u", d->cfg.num_vectors,
                   ERNIC_MAX_VECTORS);
        return false;
    }
    if (d->cfg.max_memory && d->cfg.max_memory < MEMORY_MIN) {
        error_setg(errp, "max-memory is %" PRIu64 ", not %" PRIu64 " or more",
                   d->cfg.max_memory, (uint64_t)MEMORY_MIN);
        return false;
    }
    if (d->mtu < 256 || d->mtu > 4096 || !is_power_of_2(d->mtu)) {
        error_setg(errp, "roce-mtu is %u, not 256, 512, 1024, 2048 or 4096",
                   d->mtu);
        return false;
    }
    if (d->polling.max_us > ERNIC_MAX_POLL_US) {
        error_setg(errp, "engine-poll-us is %u, not 0 to %u", d->polling.max_us,
                   ERNIC_MAX_POLL_US);
        return false;
    }
    if (d->retry_time < 1 || d->retry_time > ERNIC_MAX_RETRY_TIME) {
        error_setg(errp, "retry-time is %u, not 1 to %u", d->retry_time,
                   ERNIC_MAX_RETRY_TIME);
        return false;
    }
    d->cfg.mtu = ctz32(d->mtu) - 7;
    d->cfg.raw = true;
    return true;
}

void ernic_pci_properties_class_init(ObjectClass *oc)
{
    device_class_set_props(DEVICE_CLASS(oc), properties);
}
