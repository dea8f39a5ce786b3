/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RecoNIC's shell around the ERNIC face, and the memory of the card.
 */
#ifndef ERNIC_PCI_SHELL_H
#define ERNIC_PCI_SHELL_H

typedef struct ErnicPci ErnicPci;

/* Words of the shell that are stored: those of the table in reconic_shell.c. */
#define ERNIC_SHELL_WORDS   (8 * 6 + 4 * (1 + 128 + 10) + 2 * (1 + 1 + 11 + 2 + 1 + 1))

/* What is around the ERNIC face; under lock. */
typedef struct ErnicShell {
    char *name;                 /* properties */
    uint64_t card_size;         /* bytes; 0: the card has no memory */
    bool reconic;
    MemoryRegion card;
    uint32_t regs[ERNIC_SHELL_WORDS];
} ErnicShell;

/* The properties, before those of the ERNIC face. */
bool ernic_pci_shell_open(ErnicPci *d, Error **errp);
/* Identity and BARs of shell=reconic. */
void ernic_pci_shell_add_bars(ErnicPci *d);
/* After ernic_pci_shell_open(), whatever came of it. */
void ernic_pci_shell_close(ErnicPci *d);
/* Its registers; inside enter and leave. */
void ernic_pci_shell_reset(ErnicPci *d);
/*
 * As ernic_pci_dma(), for the masters of the ERNIC face: memory of the card, or
 * the guest's, with shell=reconic through the windows. Inside enter and leave.
 */
bool ernic_pci_shell_dma(ErnicPci *d, uint64_t addr, void *buf, uint64_t len,
                         bool write);

#endif /* ERNIC_PCI_SHELL_H */
