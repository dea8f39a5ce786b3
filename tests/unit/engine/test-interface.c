/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of an interface is complete: every method of every interface is set, so
 * that the roles call without a look.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "test.h"

typedef void Method(void);

static const struct {
    const char *name;
    const ErnicInterfaceOps *interface;
} interfaces[] = {
    { "verbs", &ernic_interface_verbs },
    { "pg332", &ernic_interface_pg332 },
    { "mlx5", &ernic_interface_mlx5 },
};

/* A method is each pointer from the first one to the end of a table. */
#define FIRST_METHOD    offsetof(ErnicInterfaceOps, fetch)

static uint32_t missing(const void *table, size_t from, size_t size)
{
    uint32_t n = 0;
    Method *method;

    for (; from < size; from += sizeof(method)) {
        memcpy(&method, (const uint8_t *)table + from, sizeof(method));
        if (!method) {
            g_test_message("no method at offset %zu", from);
            n++;
        }
    }
    IS(from, size);
    return n;
}

TEST("/interface/complete", test_complete)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(interfaces); i++) {
        const ErnicInterfaceOps *interface = interfaces[i].interface;

        g_test_message("%s", interfaces[i].name);
        IS(missing(interface, FIRST_METHOD, sizeof(*interface)), 0);
        g_assert_nonnull(interface->keys);
        IS(missing(interface->keys, 0, sizeof(*interface->keys)), 0);
        g_assert_nonnull(interface->cqes);
        IS(missing(interface->cqes, 0, sizeof(*interface->cqes)), 0);
    }
}
