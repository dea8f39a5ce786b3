/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The link between a device and the memory of its host: what a transfer takes,
 * from speed, lanes and the greatest TLP. A link of speed 0 is not there:
 * memory is on the board, and costs what the stages cost.
 */
#ifndef ERNIC_PCIE_H
#define ERNIC_PCIE_H

/*
 * Bytes of a TLP beside its payload, with 64-bit addresses and no ECRC: 2 of
 * framing, 6 of sequence number and LCRC, and the header (R. Neugebauer et al.,
 * "Understanding PCIe performance for end host networking", SIGCOMM 2018, 3).
 */
#define ERNIC_PCIE_WRITE        24
#define ERNIC_PCIE_COMPLETION   20
/* A credit for posted data (PCI Express Base Specification, 2.6.1). */
#define ERNIC_PCIE_CREDIT       16

/* All members are uint64_t, as those of the profile that it is part of. */
typedef struct ErnicPcie {
    uint64_t speed;             /* MT/s of a lane; 0: no link */
    uint64_t lanes;
    uint64_t payload;           /* bytes of the greatest TLP, each way */
    uint64_t completion;        /* ps from a read request to its first byte */
    uint64_t posted;            /* ps that a write is on its way */
    uint64_t headers, data;     /* credits for posted TLPs, and for 16 B each */
    uint64_t credit_return;     /* ps from a TLP to the return of its credits */
} ErnicPcie;

/* Whether PCI Express has a speed of @mtps MT/s that is modelled: 2.5 to 32. */
bool ernic_pcie_speed_ok(uint64_t mtps);
/*
 * ps for which @bytes of payload keep the link busy, in TLPs of @overhead bytes
 * more. At most 64 KiB. Without a link: 0.
 */
uint64_t ernic_pcie_work(const ErnicPcie *p, uint32_t bytes, uint32_t overhead);
/* The same with its latency: a read, a write of @bytes. */
uint64_t ernic_pcie_read(const ErnicPcie *p, uint32_t bytes);
uint64_t ernic_pcie_write(const ErnicPcie *p, uint32_t bytes);
/* Posted TLPs that may be under way with the credits that there are. */
uint64_t ernic_pcie_posted_tlps(const ErnicPcie *p);

#endif /* ERNIC_PCIE_H */
