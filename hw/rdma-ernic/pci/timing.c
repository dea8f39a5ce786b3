/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The properties of the timing model: a built-in profile or one from a file, and
 * the file of the trace.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "engine/timing/profile.h"
#include "capture/timing_file.h"
#include "device/device.h"
#include "pci/timing.h"
#include "hw/rdma-ernic/trace.h"

/* Profiles for a device without and with PG332's registers. */
#define DEFAULT_PROFILE     "generic-100g"
#define DEFAULT_PG332       "ernic-200mhz-100g"
/* Longer files are refused. */
#define MAX_FILE            65536

static const char *find_profile(void *opaque, const char *name)
{
    const ErnicProfileText *p;

    for (p = ernic_profiles; p->name; p++) {
        if (strcmp(p->name, name) == 0) {
            return p->text;
        }
    }
    return NULL;
}

/* Returns the text, which the caller frees; NULL with *@errp set on failure. */
static char *read_profile(const char *path, Error **errp)
{
    g_autofree char *text = NULL;
    GError *err = NULL;
    gsize len;

    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        error_setg(errp, "timing-profile: \"%s\" is neither a profile nor a"
                   " file", path);
        return NULL;
    }
    if (!g_file_get_contents(path, &text, &len, &err)) {
        error_setg(errp, "timing-profile: %s", err->message);
        g_error_free(err);
        return NULL;
    }
    if (len > MAX_FILE || strlen(text) != len) {
        error_setg(errp, "timing-profile: %s is not a text of at most %u bytes",
                   path, MAX_FILE);
        return NULL;
    }
    return g_steal_pointer(&text);
}

static void warn(const char *what)
{
    warn_report("timing-trace: %s", what);
}

/* Opens one trace for each engine, all in the same file. */
static bool open_trace(ErnicPci *d, Error **errp)
{
    static const char *const suffixes[ARRAY_SIZE(d->trace)] = { "", " (PG332)" };
    const char *id = *ernic_pci_id(d) ? ernic_pci_id(d) : TYPE_ERNIC;
    g_autofree char *why = NULL;
    size_t i;

    for (i = 0; d->timing_trace && i < (d->pg332.version ? 2 : 1); i++) {
        g_autofree char *name = g_strconcat(id, suffixes[i], NULL);

        d->trace[i] = ernic_timing_file_open(d->timing_trace, name,
                                             d->timing_trace_limit, warn, &why);
        if (!d->trace[i]) {
            error_setg(errp, "timing-trace: %s", why);
            return false;
        }
    }
    if (d->trace[0]) {
        d->cfg.timing_trace = ernic_timing_file_trace(d->trace[0]);
    }
    d->pg332.timing_trace = d->trace[1] ? ernic_timing_file_trace(d->trace[1]) : NULL;
    return true;
}

void ernic_pci_timing_flush(ErnicPci *d)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(d->trace); i++) {
        if (d->trace[i]) {
            ernic_timing_file_flush(d->trace[i]);
        }
    }
}

static bool needs_timing(const ErnicPci *d, Error **errp)
{
    const char *name = d->timing_profile ? "timing-profile" :
                       d->timing_trace ? "timing-trace" : NULL;

    if (name) {
        error_setg(errp, "%s= needs timing=on", name);
    }
    return name;
}

bool ernic_pci_timing_open(ErnicPci *d, Error **errp)
{
    const char *name = d->timing_profile ?:
        d->pg332.profile ? DEFAULT_PG332 : DEFAULT_PROFILE;
    g_autofree char *file = NULL, *why = NULL;
    const char *text;
    ErnicProfile *p;

    if (!d->timing) {
        return !needs_timing(d, errp);
    }
    text = find_profile(NULL, name);
    if (!text) {
        text = file = read_profile(name, errp);
    }
    if (!text) {
        return false;
    }
    p = g_new0(ErnicProfile, 1);
    if (!ernic_profile_parse(p, name, text, find_profile, NULL, &why)) {
        error_setg(errp, "timing-profile: %s", why);
        g_free(p);
        return false;
    }
    if (d->net.wire && d->link == d->card) {
        p->wire_flight = 0;     /* the wire applies its own delay */
    }
    trace_ernic_pci_timing(ernic_pci_id(d), name, ernic_profile_hash(p));
    d->profile = p;
    d->cfg.timing = p;
    if (!open_trace(d, errp)) {
        ernic_pci_timing_close(d);
        return false;
    }
    return true;
}

void ernic_pci_timing_close(ErnicPci *d)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(d->trace); i++) {
        ernic_timing_file_close(d->trace[i]);
        d->trace[i] = NULL;
    }
    g_free(d->profile);
    d->profile = NULL;
    d->cfg.timing = NULL;
    d->cfg.timing_trace = NULL;
}
