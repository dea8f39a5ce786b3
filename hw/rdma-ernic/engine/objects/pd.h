/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Protection domains, which are also the domains of XRC.
 */
#ifndef ERNIC_OBJECTS_PD_H
#define ERNIC_OBJECTS_PD_H

#include "base/device.h"

struct ErnicPd {
    bool used;
    uint32_t uctx;              /* 0: the kernel */
    uint32_t refs;              /* regions, windows, queue pairs, SRQs */
};

/* Commands. They check all handles. ERNIC_ERR_BUSY: objects use the domain. */
uint8_t ernic_pd_alloc(Ernic *e, uint32_t uctx, uint32_t *pd);
uint8_t ernic_pd_free(Ernic *e, uint32_t uctx, uint32_t pd);
/* NULL unless @pd exists and belongs to @uctx. */
ErnicPd *ernic_pd_get(Ernic *e, uint32_t uctx, uint32_t pd);

#endif /* ERNIC_OBJECTS_PD_H */
