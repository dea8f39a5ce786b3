/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PCI capabilities of the function, and the BAR of MSI-X.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie_aer.h"
#include "compat/qemu.h"
#include "device/capabilities.h"

#define MSIX_BAR_SIZE       0x1000
/* Messages of MSI, a power of two. */
#define MSI_MESSAGES        4
QEMU_BUILD_BUG_ON(ERNIC_XIB_VECTORS > MSI_MESSAGES);
QEMU_BUILD_BUG_ON(ERNIC_MAX_VECTORS * PCI_MSIX_ENTRY_SIZE > 0x800);

/* BAR and offsets of the MSI-X table and pending bits: without a shell, with one. */
static const struct {
    uint8_t bar;
    uint32_t table, pba;
} msix_at[] = {
    { ERNIC_BAR_MSIX, 0, 0x800 },
    { ERNIC_RECONIC_BAR_QDMA, ERNIC_RECONIC_MSIX, ERNIC_RECONIC_PBA },
};

static bool add_pm(PCIDevice *pci, Error **errp)
{
    int pos = pci_pm_init(pci, 0, errp);

    if (pos < 0) {
        return false;
    }
    pci_set_word(pci->config + pos + PCI_PM_PMC, 3);    /* PM 1.2 */
    pci_set_word(pci->config + pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(pci->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
    return true;
}

/*
 * The fields of a link's rate. Older states show 2.5 GT/s and one lane, and load. QEMU
 * loads any link status.
 */
static const struct {
    uint8_t off;
    uint32_t mask;
} link_rate[] = {
    { PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW },
    { PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS },
    { PCI_EXP_LNKCAP2, ~0u },
};

/*
 * PCI Express, 7.5.3. Software takes the rate of the link for a bound of the port's:
 * 252 Gbit/s leave the port its 100.
 */
static bool add_pcie(PCIDevice *pci, Error **errp)
{
    int ret = pcie_endpoint_cap_init(pci, 0);
    uint8_t *cmask;

    if (ret < 0) {
        error_setg_errno(errp, -ret, "no PCIe capability");
        return false;
    }
    pcie_cap_flr_init(pci);
    ernic_pcie_set_link(pci, QEMU_PCI_EXP_LNK_X16, QEMU_PCI_EXP_LNK_16GT);
    for (size_t i = 0; i < ARRAY_SIZE(link_rate); i++) {
        cmask = pci->cmask + pci->exp.exp_cap + link_rate[i].off;
        pci_long_test_and_clear_mask(cmask, link_rate[i].mask);
    }
    return true;
}

static bool add_msix(ErnicPci *d, Error **errp)
{
    const typeof(msix_at[0]) *at = &msix_at[d->shell.kind != ERNIC_SHELL_NONE];
    PCIDevice *pci = PCI_DEVICE(d);
    int ret, i;

    ret = msix_init(pci, d->cfg.num_vectors, &d->msix_bar, at->bar, at->table,
                    &d->msix_bar, at->bar, at->pba, 0, errp);
    if (ret < 0) {
        if (ret == -ENOTSUP && errp && !*errp) {
            error_setg(errp, "this machine has no MSI-X");
        }
        return false;
    }
    for (i = 0; i < d->cfg.num_vectors; i++) {
        msix_vector_use(pci, i);
    }
    return true;
}

/* Pending bits may be those of a machine that has migrated. */
static bool add_msi(ErnicPci *d, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(d);
    int ret = msi_init(pci, 0, MSI_MESSAGES, true, true, errp);

    if (ret == -ENOTSUP && errp && !*errp) {
        error_setg(errp, "this machine has no MSI");
    }
    if (ret >= 0) {
        pci_set_long(pci->cmask + pci->msi_cap + PCI_MSI_PENDING_64, 0);
    }
    return ret >= 0;
}

bool ernic_pci_add_capabilities(ErnicPci *d, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(d);

    if (!add_pm(pci, errp) || !add_pcie(pci, errp)) {
        return false;
    }
    if (pcie_aer_init(pci, PCI_ERR_VER, PCI_CONFIG_SPACE_SIZE, PCI_ERR_SIZEOF,
                      errp) < 0) {
        return false;
    }
    return d->shell.kind == ERNIC_SHELL_XIB ? add_msi(d, errp) : add_msix(d, errp);
}

/* MSI-X. With card memory, the BAR is twice that size; the upper half maps it. */
static void init_msix_bar(ErnicPci *d)
{
    uint64_t card = d->shell.card_size;

    memory_region_init(&d->msix_bar, OBJECT(d), "ernic-msix",
                       card ? 2 * card : MSIX_BAR_SIZE);
    if (card) {
        memory_region_add_subregion(&d->msix_bar, card, &d->shell.card);
    }
}

void ernic_pci_add_msix_bar(ErnicPci *d, uint8_t type)
{
    init_msix_bar(d);
    pci_register_bar(PCI_DEVICE(d), ERNIC_BAR_MSIX, type, &d->msix_bar);
}
