/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model as properties: which profile, out of the binary or out of a
 * file.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "core/profile.h"
#include "ernic_pci.h"
#include "trace.h"

/* What a device with and without PG332's registers is like. */
#define DEFAULT_PROFILE     "generic-100g"
#define DEFAULT_PG332       "ernic-200mhz-100g"
/* A file that is longer is none of ours. */
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

/* The caller frees it; NULL: *errp says why. */
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

bool ernic_pci_timing_open(ErnicPci *d, Error **errp)
{
    const char *name = d->timing_profile ?:
        d->pg332.version ? DEFAULT_PG332 : DEFAULT_PROFILE;
    g_autofree char *file = NULL, *why = NULL;
    const char *text;
    ErnicProfile *p;

    if (!d->timing) {
        if (d->timing_profile) {
            error_setg(errp, "timing-profile= needs timing=on");
        }
        return !d->timing_profile;
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
    trace_ernic_pci_timing(ernic_pci_id(d), name, ernic_profile_hash(p));
    d->profile = p;
    d->cfg.timing = p;
    return true;
}

void ernic_pci_timing_close(ErnicPci *d)
{
    g_free(d->profile);
    d->profile = NULL;
    d->cfg.timing = NULL;
}
