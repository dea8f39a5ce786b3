/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace backend of the tests, on events that it knows by number only: which
 * ones the engine has does not matter here.
 */
#include "qemu/osdep.h"
#include "trace.h"

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    return g_test_run();
}
