/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shell of a card around the ERNIC interface, and the memory of the card.
 */
#ifndef ERNIC_BARS_SHELL_H
#define ERNIC_BARS_SHELL_H

#include "device/device.h"

/* A shell: its identity, BARs and vectors. */
typedef struct ErnicShellRow {
    const char *name;
    uint16_t device, class;
    bool qdma;                  /* it has two BARs, a QDMA, MSI-X, maybe memory */
    bool ernic;                 /* without ernic-version, it has an ERNIC nevertheless, */
    uint8_t version;            /* of this enum pg332_version */
    const char *versions;       /* those of its ERNIC */
    uint32_t size;              /* of BAR 2 without an ERNIC; 0: it always has one */
    struct {
        uint32_t at, size;      /* the ERNIC's offset in the BAR, and size of that */
    } map[PG332_VERSIONS];      /* size 0: the shell does not exist with that version */
    uint32_t ready;             /* the status of resets, which are done at once */
    /* Bits of the shell's reset for the ERNIC, and for that of the second port. */
    uint32_t reset, reset_second;
    uint32_t second_at;         /* the latter's offset in BAR 2; 0: no such port */
    uint16_t vectors;           /* the fewest; with an ERNIC, as many as */
    uint16_t ernic_vectors;     /* this */
    uint16_t messages;          /* MSI: there are these vectors, and no others */
    /* The vector of the ERNIC of a port, of @num; NULL: the last one. */
    uint16_t (*vector)(uint16_t num, uint32_t port);
} ErnicShellRow;

/* The row of the device's shell, if it has one. */
const ErnicShellRow *ernic_pci_shell_row(const ErnicPci *d);
/* Sets properties that were not given. */
void ernic_pci_shell_complete(ErnicPci *d);
bool ernic_pci_shell_check(const ErnicPci *d, Error **errp);
/* Makes the memory of the card, and the QDMA; before ernic_pci_pg332_open(). */
bool ernic_pci_shell_open(ErnicPci *d, Error **errp);
/* Connects a second port; nothing can fail any more. */
void ernic_pci_shell_start(ErnicPci *d);
/* The MSI-X vector of the ERNIC. */
uint16_t ernic_pci_shell_vector(const ErnicPci *d);
/* The vector of its user interrupt; -1: the shell never raises it. */
int ernic_pci_shell_user_vector(const ErnicPci *d);
/*
 * The register of links, of a first port: whether the shell has it. The link of the port
 * of @d may have changed.
 */
bool ernic_pci_shell_has_links(const ErnicPci *d);
void ernic_pci_shell_link(ErnicPci *d);
/* All links are as they are now. */
void ernic_pci_shell_reset_links(ErnicPci *d);
/* Messages have been enabled: interrupts that are levels send theirs. */
void ernic_pci_shell_raise(ErnicPci *d);
void ernic_pci_shell_raise_links(ErnicPci *d);
/* A frame that is not for an engine; false: there is no shell. */
bool ernic_pci_shell_frame(ErnicPci *d, const uint8_t *frame, uint32_t len);
/* Sets PCI identity and BARs of a shell. */
void ernic_pci_shell_add_bars(ErnicPci *d);
/* Call it after ernic_pci_shell_open(), also if that failed. */
void ernic_pci_shell_close(ErnicPci *d);
/* Frees what is left after unplug. */
void ernic_pci_shell_free(ErnicPci *d);

/*
 * Resets the shell's registers and the QDMA, or what a second port has of them; inside
 * enter and leave, with the BQL.
 */
void ernic_pci_shell_reset_function(ErnicPci *d);
/* The first of these, for the shell's own reset. */
void ernic_pci_shell_reset(ErnicPci *d);
extern const MemoryRegionOps ernic_pci_shell_ops;       /* of BAR 2 */
/* Others find some words of the table without it: aborts if they are elsewhere. */
void ernic_pci_shell_check_places(const ErnicPci *d);

#endif /* ERNIC_BARS_SHELL_H */
