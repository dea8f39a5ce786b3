/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Arithmetic of PCI Express. It ignores DLLPs: acknowledgements and credit updates
 * take a few per cent of a link, depending on the implementation of the link partner.
 */
#include "qemu/osdep.h"
#include "timing/pcie.h"
#include "timing/stage.h"

/* Speeds and line codes: @bits data bits in @of bits on a lane (4.2.1, 4.2.2). */
static const struct {
    uint32_t mtps, bits, of;
} lanes[] = {
    { 2500, 8, 10 }, { 5000, 8, 10 },
    { 8000, 128, 130 }, { 16000, 128, 130 }, { 32000, 128, 130 },
};

bool ernic_pcie_speed_ok(uint64_t mtps)
{
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(lanes); i++) {
        if (lanes[i].mtps == mtps) {
            return true;
        }
    }
    return false;
}

uint64_t ernic_pcie_work(const ErnicPcie *p, uint32_t bytes, uint32_t overhead)
{
    uint64_t bits;
    uint32_t i;

    if (!p->speed) {
        return 0;
    }
    for (i = 0; lanes[i].mtps != p->speed; i++) {
        g_assert(i + 1 < ARRAY_SIZE(lanes));
    }
    bits = (bytes + (uint64_t)overhead * DIV_ROUND_UP(bytes, p->payload)) * 8;
    /* MT/s are bits per us. */
    return DIV_ROUND_UP(bits * lanes[i].of * 1000000,
                        p->speed * p->lanes * lanes[i].bits);
}

uint64_t ernic_pcie_read(const ErnicPcie *p, uint32_t bytes)
{
    return p->speed ? p->completion +
                      ernic_pcie_work(p, bytes, ERNIC_PCIE_COMPLETION) : 0;
}

uint64_t ernic_pcie_write(const ErnicPcie *p, uint32_t bytes)
{
    return p->speed ? p->posted +
                      ernic_pcie_work(p, bytes, ERNIC_PCIE_WRITE) : 0;
}

uint64_t ernic_pcie_posted_tlps(const ErnicPcie *p)
{
    uint64_t tlp = p->speed ? DIV_ROUND_UP(p->payload, ERNIC_PCIE_CREDIT) : 1;

    return MIN(MAX(MIN(p->headers, p->data / tlp), 1), ERNIC_LIM_UNDER_WAY);
}
