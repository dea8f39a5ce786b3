/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two devices of one kind; each row changes the parameter that it names, and
 * keeps the changes of the rows before it that it says it does.
 */
#include "qemu/osdep.h"
#include "measure.h"
#include "what_if.h"

#define LEN     (1u << 20)
#define MTU     4096
/* Ethernet, IPv4, UDP, BTH and ICRC of a packet. */
#define HEADERS 58

typedef struct Change {
    const char *key;
    uint32_t at;
    uint64_t value;
    bool more;                  /* on top of the row before */
} Change;

#define AT(member) offsetof(ErnicProfile, member)

static const Change changes[TIMING_WHAT_IFS] = {
    { "as it is", AT(pcie.lanes), 16 },
    { "pcie.lanes = 4", AT(pcie.lanes), 4 },
    { "and pcie.payload = 128 B", AT(pcie.payload), 128, true },
    { "pcie.speed = 8 GT/s", AT(pcie.speed), 8000 },
    { "dma-read.outstanding = 8", AT(dma_requests), 8 },
    { "and dma-read.request = 1 KiB", AT(dma_request), 1024, true },
    { "and pcie.completion = 250 ns", AT(pcie.completion), 250000, true },
    { "pcie.data = 128", AT(pcie.data), 128 },
    { "and pcie.credit-return = 600 ns", AT(pcie.credit_return), 600000, true },
    { "pcie.headers = 4", AT(pcie.headers), 4 },
    { "and pcie.payload = 512 B", AT(pcie.payload), 512, true },
};

/* Gb/s: @bytes take @ps. */
static double gbps(double bytes, double ps)
{
    return bytes * 8000 / ps;
}

/* Payload by TLPs of @overhead bytes more, as fast as the lanes go. */
static double link_rate(const ErnicPcie *p, uint32_t overhead)
{
    double encoding = p->speed < 8000 ? 8 / 10.0 : 128 / 130.0;

    return p->speed / 1000.0 * p->lanes * encoding * p->payload /
           (p->payload + overhead);
}

static void bound(TimingWhatIf *w, const char *limit, double rate)
{
    if (rate < w->formula) {
        w->formula = rate;
        w->limit = limit;
    }
}

/* docs/timing.md has these formulas. */
static void formula(const ErnicProfile *p, TimingWhatIf *w)
{
    double read = link_rate(&p->pcie, ERNIC_PCIE_COMPLETION);
    double write = link_rate(&p->pcie, ERNIC_PCIE_WRITE);
    double latency = p->stage[ERNIC_STAGE_DMA_READ].latency +
                     p->pcie.completion + p->dma_request * 8000 / read;
    uint64_t tlps = MIN(p->pcie.headers,
                        p->pcie.data * ERNIC_PCIE_CREDIT / p->pcie.payload);

    w->limit = "wire";
    w->formula = p->wire_mbps / 1000.0 * MTU / (MTU + HEADERS + p->wire_extra);
    bound(w, "link, completions", read);
    bound(w, "link, writes", write);
    bound(w, "reads under way", gbps(p->dma_requests * p->dma_request, latency));
    bound(w, "credits", gbps(tlps * p->pcie.payload, p->pcie.credit_return +
                             p->pcie.payload * 8000 / write));
}

void timing_what_if(const ErnicProfile *fast, TimingWhatIf w[TIMING_WHAT_IFS])
{
    ErnicProfile p;

    for (uint32_t i = 0; i < TIMING_WHAT_IFS; i++) {
        const Change *c = &changes[i];

        p = c->more ? p : *fast;
        *(uint64_t *)((char *)&p + c->at) = c->value;
        w[i].change = c->key;
        formula(&p, &w[i]);
        /* WRITE is the first. */
        w[i].model = timing_throughput(&timing_ops[0], TIMING_CARD, &p, &p, LEN);
    }
}
