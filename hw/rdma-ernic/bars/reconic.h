/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RecoNIC's shell around the ERNIC face, and the memory of the card.
 */
#ifndef ERNIC_PCI_FACES_RECONIC_SHELL_H
#define ERNIC_PCI_FACES_RECONIC_SHELL_H

typedef struct ErnicPci ErnicPci;
typedef struct ErnicQdma ErnicQdma;

/* Number of stored words in the table of reconic_shell.c. */
#define ERNIC_SHELL_WORDS   (8 * 6 + 4 * (1 + 128 + 10) + 2 * (1 + 1 + 11 + 2 + 1 + 1))

/* The card's memory and RecoNIC's shell; protected by the device's lock. */
typedef struct ErnicShell {
    char *name;                 /* properties */
    uint64_t card_size;         /* bytes; 0: the card has no memory */
    bool reconic;
    ErnicQdma *qdma;            /* owned; with shell=reconic; BQL */
    MemoryRegion card;
    uint32_t regs[ERNIC_SHELL_WORDS];
} ErnicShell;

/* Checks the properties; call it before ernic_pci_pg332_open(). */
bool ernic_pci_shell_open(ErnicPci *d, Error **errp);
/* Sets PCI identity and BARs for shell=reconic. */
void ernic_pci_shell_add_bars(ErnicPci *d);
/* Call it after ernic_pci_shell_open(), also if that failed. */
void ernic_pci_shell_close(ErnicPci *d);
/* Frees what is left after unplug. */
void ernic_pci_shell_free(ErnicPci *d);
/* Resets the shell's registers and the QDMA; inside enter and leave, with the BQL. */
void ernic_pci_shell_reset(ErnicPci *d);
/* Accesses card memory from offset @at on; false: beyond its end. */
bool ernic_pci_card_rw(ErnicPci *d, uint64_t at, void *buf, uint64_t len, bool write);
/*
 * Like ernic_pci_dma(), for DMA of the ERNIC face: accesses card memory or guest
 * memory; the latter, with shell=reconic, through the windows. Inside enter and leave.
 */
bool ernic_pci_shell_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                         bool write);

#endif /* ERNIC_PCI_FACES_RECONIC_SHELL_H */
