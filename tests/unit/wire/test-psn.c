/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sequence arithmetic at the edges: the wrap, and half the circle.
 */
#include "qemu/osdep.h"
#include "test.h"
#include "wire/psn.h"

#define TOP     0xffffffu
#define HALF    0x800000u

static const uint32_t edges[] = {
    0, 1, 2, HALF - 2, HALF - 1, HALF, HALF + 1, TOP - 1, TOP,
};

TEST("/psn/add", test_add)
{
    IS(ernic_psn_add(0, 1), 1);
    IS(ernic_psn_add(TOP, 1), 0);
    IS(ernic_psn_add(0, -1), TOP);
    IS(ernic_psn_add(5, -7), TOP - 1);
    IS(ernic_psn_add(TOP, 0x7fffff), HALF - 2);
    for (uint32_t i = 0; i < G_N_ELEMENTS(edges); i++) {
        IS(ernic_psn_next(edges[i]), ernic_psn_add(edges[i], 1));
        for (uint32_t j = 0; j < G_N_ELEMENTS(edges); j++) {
            uint32_t sum = ernic_psn_add(edges[i], edges[j]);

            g_assert_cmphex(sum, <=, TOP);
            IS(ernic_psn_add(sum, -(int32_t)edges[j]), edges[i]);
        }
    }
}

TEST("/psn/diff", test_diff)
{
    IS(ernic_psn_diff(1, 0), 1);
    IS(ernic_psn_diff(0, 1), -1);
    IS(ernic_psn_diff(0, TOP), 1);
    IS(ernic_psn_diff(TOP, 0), -1);
    IS(ernic_psn_diff(HALF - 1, 0), HALF - 1);
    IS(ernic_psn_diff(HALF, 0), -(int32_t)HALF);
    IS(ernic_psn_diff(HALF + 1, 0), -(int32_t)HALF + 1);
    for (uint32_t i = 0; i < G_N_ELEMENTS(edges); i++) {
        for (uint32_t j = 0; j < G_N_ELEMENTS(edges); j++) {
            int32_t d = ernic_psn_diff(edges[i], edges[j]);
            int32_t back = ernic_psn_diff(edges[j], edges[i]);

            IS(ernic_psn_add(edges[j], d), edges[i]);
            if (d == -(int32_t)HALF) {
                IS(back, d);
            } else {
                IS(back, -d);
            }
        }
    }
}

TEST("/psn/distance", test_distance)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(edges); i++) {
        uint32_t first = edges[i];
        uint32_t last = ernic_psn_add(first, 3);

        IS(ernic_psn_distance(first, first), 0);
        IS(ernic_psn_distance(first, last), 3);
        IS(ernic_psn_distance(last, first), TOP - 2);
    }
}
