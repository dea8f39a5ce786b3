/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The encodings of time and size, tested by the laws that the tables follow: a typing
 * error breaks a law.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "wire/ib_tables.h"

#define MS  1000000u

TEST("/ib-tables/rnr-timer", test_rnr_timer)
{
    IS(ernic_rnr_timer_ns(0), 655360000);
    IS(ernic_rnr_timer_ns(1), MS / 100);
    IS(ernic_rnr_timer_ns(2), 2 * MS / 100);
    IS(ernic_rnr_timer_ns(3), 3 * MS / 100);
    IS(ernic_rnr_timer_ns(31), 491520000);
    for (uint32_t i = 4; i < 32; i++) {
        IS(ernic_rnr_timer_ns(i), 2 * ernic_rnr_timer_ns(i - 2));
    }
    IS(ernic_rnr_timer_ns(0), 2 * ernic_rnr_timer_ns(30));
    for (uint32_t i = 32; i < 256; i++) {
        IS(ernic_rnr_timer_ns(i), ernic_rnr_timer_ns(i % 32));
    }
}

TEST("/ib-tables/ack-timeout", test_ack_timeout)
{
    IS(ernic_ack_timeout_ns(0), 0);
    IS(ernic_ack_timeout_ns(1), 8192);
    IS(ernic_ack_timeout_ns(14), 67108864);
    for (uint32_t i = 2; i < 32; i++) {
        IS(ernic_ack_timeout_ns(i), 2 * ernic_ack_timeout_ns(i - 1));
    }
    for (uint32_t i = 32; i < 256; i++) {
        IS(ernic_ack_timeout_ns(i), ernic_ack_timeout_ns(i % 32));
    }
}

TEST("/ib-tables/mtu", test_mtu)
{
    static const uint32_t bytes[] = { 0, 256, 512, 1024, 2048, 4096 };

    for (uint32_t i = 0; i < 256; i++) {
        IS(ernic_mtu_bytes(i), i < G_N_ELEMENTS(bytes) ? bytes[i] : 0);
    }
}
