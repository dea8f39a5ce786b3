/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Registers of PG332 by name, without the effects that software's writes have.
 */
#ifndef ERNIC_INTERFACES_PG332_REGISTER_ACCESS_H
#define ERNIC_INTERFACES_PG332_REGISTER_ACCESS_H

#include "base/device.h"
#include "interfaces/pg332/register_file.h"

enum pg332_version ernic_pg332_version(const Ernic *e);
/* A global register, by its offset in the block. */
uint32_t *ernic_pg332_reg(const Ernic *e, uint32_t offset);
/* A register of the slot of @qpn, and a pair of them: an address. */
uint32_t *ernic_pg332_qp_reg(const Ernic *e, uint32_t qpn, uint32_t offset);
uint64_t ernic_pg332_qp_addr(const Ernic *e, uint32_t qpn, uint32_t low,
                             uint32_t high);
/* Whether the configuration lets @qpn run. */
bool ernic_pg332_in_bound(const Ernic *e, uint32_t qpn);
/* Bits that the numbers of queue pairs need, where hardware packs or cuts them. */
uint32_t ernic_pg332_qpn_bits(const Ernic *e);
/* Set the bit of @qpn in the banks that begin at @bank. */
void ernic_pg332_bank(Ernic *e, uint32_t bank, uint32_t qpn);

/* Whether a cause in INTSTS is enabled. */
bool ernic_pg332_irq(const Ernic *e);
/* Latch causes (PG332_INT_*); interrupt if one that is enabled is new. */
void ernic_pg332_raise(Ernic *e, uint32_t causes);
/* The interrupt was @was before a change: send a message if it is raised now. */
void ernic_pg332_rise(Ernic *e, bool was);

#endif /* ERNIC_INTERFACES_PG332_REGISTER_ACCESS_H */
