/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Profiles out of a folder.
 */
#include "qemu/osdep.h"
#include "programs.h"

static const char *find(void *opaque, const char *name)
{
    char *path = g_strdup_printf("%s/%s.profile", (const char *)opaque, name);
    char *text = NULL;
    const char *kept;

    g_file_get_contents(path, &text, NULL, NULL);
    kept = g_intern_string(text);
    g_free(text);
    g_free(path);
    return kept;
}

void timing_profile(ErnicProfile *p, const char *dir, const char *name)
{
    const char *text = find((void *)dir, name);
    char *err = NULL;

    if (!text || !ernic_profile_parse(p, name, text, find, (void *)dir, &err)) {
        printf("Bail out! %s\n", text ? err : name);
        exit(1);
    }
}
