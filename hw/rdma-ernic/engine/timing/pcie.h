/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI Express link between a device and host memory: transfer times from speed,
 * lanes and maximum TLP size. With speed 0 there is no link: the memory is on the
 * board, and only the stages take time.
 */
#ifndef ERNIC_TIMING_PCIE_H
#define ERNIC_TIMING_PCIE_H

/*
 * Bytes of a TLP in addition to its payload, with 64-bit addresses and no ECRC: 2 for
 * framing, 6 for sequence number and LCRC, and the header (R. Neugebauer et al.,
 * "Understanding PCIe performance for end host networking", SIGCOMM 2018, 3).
 */
#define ERNIC_PCIE_WRITE        24
#define ERNIC_PCIE_COMPLETION   20
/* Bytes of a credit for posted data (PCI Express Base Specification, 2.6.1). */
#define ERNIC_PCIE_CREDIT       16

/* All members are uint64_t, because this is a part of ErnicProfile. */
typedef struct ErnicPcie {
    uint64_t speed;             /* MT/s of a lane; 0: no link */
    uint64_t lanes;
    uint64_t payload;           /* maximum TLP payload in bytes, each way */
    uint64_t completion;        /* ps from a read request to its first byte */
    uint64_t posted;            /* ps of latency of a posted write */
    uint64_t headers, data;     /* credits for posted TLPs: headers, 16 B units */
    uint64_t credit_return;     /* ps from a TLP to the return of its credits */
} ErnicPcie;

/* Whether @mtps MT/s is a modelled speed of PCI Express, 2.5 to 32 GT/s. */
bool ernic_pcie_speed_ok(uint64_t mtps);
/*
 * ps for which @bytes of payload, at most 64 KiB, keep the link busy; each TLP has
 * @overhead bytes in addition. Without a link it is 0.
 */
uint64_t ernic_pcie_work(const ErnicPcie *p, uint32_t bytes, uint32_t overhead);
/* The same plus the latency, for a read and for a write of @bytes. */
uint64_t ernic_pcie_read(const ErnicPcie *p, uint32_t bytes);
uint64_t ernic_pcie_write(const ErnicPcie *p, uint32_t bytes);
/* The number of posted TLPs that the credits allow at a time. */
uint64_t ernic_pcie_posted_tlps(const ErnicPcie *p);

#endif /* ERNIC_TIMING_PCIE_H */
