/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The main program of every unit test.
 */
#include "qemu/osdep.h"
#include "test.h"

#define MOST    128

int main(int argc, char **argv) __attribute__((weak));

static struct {
    const char *path;
    void (*fn)(void);
} added[MOST];
static uint32_t count;

void unit_add(const char *path, void (*fn)(void))
{
    g_assert_cmpuint(count, <, MOST);
    added[count].path = path;
    added[count++].fn = fn;
}

void unit_add_row(const char *path, const char *name, const void *data,
                  void (*fn)(gconstpointer data))
{
    g_autofree char *full = g_strdup_printf("%s/%s", path, name);

    g_test_add_data_func(full, data, fn);
}

int unit_run(int argc, char **argv)
{
    char *slow[] = { argv[0], (char *)"-m=slow", NULL };

    g_assert_cmpuint(count, >, 0);
    /* The long form has the long tests too; meson adds no arguments. */
    if (argc == 1 && g_getenv("ERNIC_LONG")) {
        argc = 2;
        argv = slow;
    }
    g_test_init(&argc, &argv, NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (added[i].path) {
            g_test_add_func(added[i].path, added[i].fn);
        } else {
            added[i].fn();
        }
    }
    return g_test_run();
}

int main(int argc, char **argv)
{
    return unit_run(argc, argv);
}
