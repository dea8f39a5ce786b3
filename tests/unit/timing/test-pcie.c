/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Durations of transfers over PCI Express, compared with figures calculated by hand.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "timing/pcie.h"
#include "timing/stage.h"

TEST("/pcie/work", test_work)
{
    static const struct {
        uint64_t speed, lanes, payload;
        uint32_t bytes, overhead;
        uint64_t ps;
    } rows[] = {
        /* A byte of a lane takes 4 ns, 2 ns, 1015.625 ps, and half of it. */
        { 2500, 1, 128, 4, 24, 28 * 4000 },
        { 5000, 1, 128, 4, 24, 28 * 2000 },
        { 8000, 1, 128, 40, 24, 65000 },
        { 16000, 1, 128, 40, 24, 32500 },
        { 32000, 1, 128, 40, 24, 16250 },
        { 8000, 8, 256, 4096, 24, 4480 * 1015625ull / 8000 },
        { 8000, 8, 256, 4097, 24, 571924 },         /* one TLP more: 4505 B */
        { 8000, 8, 128, 4096, 24, 4864 * 1015625ull / 8000 },
        { 16000, 16, 512, 512, 20, 16885 },         /* 16884.77, up */
        { 16000, 16, 512, 0, 24, 0 },
        { 2500, 1, 128, 65536, 24, (65536 + 512 * 24) * 4000ull },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ErnicPcie p = { .speed = rows[i].speed, .lanes = rows[i].lanes,
                        .payload = rows[i].payload };

        g_test_message("row %u", i);
        g_assert_true(ernic_pcie_speed_ok(p.speed));
        IS(ernic_pcie_work(&p, rows[i].bytes, rows[i].overhead), rows[i].ps);
    }
    g_assert_false(ernic_pcie_speed_ok(0));
    g_assert_false(ernic_pcie_speed_ok(64000));
}

TEST("/pcie/latency", test_latency)
{
    ErnicPcie p = { .speed = 8000, .lanes = 8, .payload = 256,
                    .completion = 500000, .posted = 200000 };

    /* 84 bytes of completion; 88 of a write. */
    IS(ernic_pcie_read(&p, 64), 500000 + 10665);
    IS(ernic_pcie_write(&p, 64), 200000 + 11172);
    p.speed = 0;
    IS(ernic_pcie_read(&p, 64), 0);
    IS(ernic_pcie_write(&p, 64), 0);
    IS(ernic_pcie_work(&p, 64, 24), 0);
}

TEST("/pcie/credits", test_credits)
{
    static const struct {
        uint64_t payload, headers, data, tlps;
    } rows[] = {
        { 256, 64, 1024, 64 }, { 256, 64, 512, 32 }, { 256, 8, 1024, 8 },
        { 128, 64, 15, 1 }, { 512, 64, 1000, 31 },
        { 128, 4096, 65536, ERNIC_LIM_UNDER_WAY },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ErnicPcie p = { .speed = 8000, .lanes = 1, .payload = rows[i].payload,
                        .headers = rows[i].headers, .data = rows[i].data };

        IS(ernic_pcie_posted_tlps(&p), rows[i].tlps);
    }
    IS(ernic_pcie_posted_tlps(&(ErnicPcie) { }), 1);
}
