/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The differences between the versions of QEMU that the device is built for, 10.0 and
 * later: places of headers, types, names and arguments. No other file asks for a version.
 */
#ifndef ERNIC_COMPAT_QEMU_H
#define ERNIC_COMPAT_QEMU_H

#include "chardev/char-fe.h"
#include "hw/pci/pcie.h"

/* Moved in 10.1. */
#if __has_include("system/memory.h")
#include "system/address-spaces.h"
#include "system/memory.h"
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#endif

/* Part of system/cpu-timers.h before 10.1. */
#if __has_include("exec/icount.h")
#include "exec/icount.h"
#else
#include "system/cpu-timers.h"
#endif

/* Moved in 11.0. */
#if __has_include("hw/core/qdev.h")
#include "hw/core/boards.h"
#include "hw/core/qdev.h"
#include "hw/core/qdev-properties.h"
#include "hw/core/qdev-properties-system.h"
#include "hw/core/registerfields.h"
#include "hw/core/resettable.h"
#else
#include "hw/boards.h"
#include "hw/qdev-core.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "hw/registerfields.h"
#include "hw/resettable.h"
#endif
#if __has_include("qemu/aio.h")
#include "qemu/aio.h"
#include "qemu/aio-wait.h"
#else
#include "block/aio.h"
#include "block/aio-wait.h"
#endif

/* CharFrontend since 10.2. */
#if QEMU_VERSION_MAJOR > 10 || QEMU_VERSION_MINOR >= 2
typedef CharFrontend ErnicCharFrontend;
#else
typedef CharBackend ErnicCharFrontend;
#endif

/*
 * Routes of interrupts are of any accelerator since 11.1; ours are of KVM. No type of C:
 * system/kvm.h may not be included everywhere.
 */
#if __has_include("accel/accel-route.h")
#define ErnicRouteChange        AccelRouteChange
#define ERNIC_ROUTE_CHANGE      { .accel = ACCEL(kvm_state) }
#else
#define ErnicRouteChange        KVMRouteChange
#define ERNIC_ROUTE_CHANGE      { .s = kvm_state }
#endif

/*
 * In 10.1 the argument of class_init became const, and a member of SaveVMHandlers got
 * another name.
 */
#if QEMU_VERSION_MAJOR > 10 || QEMU_VERSION_MINOR >= 1
typedef const void ErnicClassData;
#define ERNIC_SAVE_COMPLETE     save_complete
#else
typedef void ErnicClassData;
#define ERNIC_SAVE_COMPLETE     save_live_complete_precopy
#endif

#if QEMU_VERSION_MAJOR > 11 || (QEMU_VERSION_MAJOR == 11 && QEMU_VERSION_MINOR >= 1)
#define ERNIC_QEMU_11_1
#endif

/* Of arguments of system/memory.h, which tests imitate. */
#ifdef ERNIC_QEMU_11_1
#define ERNIC_MEMORY_CONST      const
#else
#define ERNIC_MEMORY_CONST
#endif

/* Since 11.1 VMStateDescription.post_save() returns nothing, as @clear(void *) does. */
#ifdef ERNIC_QEMU_11_1
#define ERNIC_POST_SAVE(clear)                                                      \
    static void clear##_post_save(void *opaque)                                     \
    {                                                                               \
        clear(opaque);                                                              \
    }
#else
#define ERNIC_POST_SAVE(clear)                                                      \
    static int clear##_post_save(void *opaque)                                      \
    {                                                                               \
        clear(opaque);                                                              \
        return 0;                                                                   \
    }
#endif

/* Since 10.2 the last argument may say why not; for the fuzzer. */
#if QEMU_VERSION_MAJOR > 10 || QEMU_VERSION_MINOR >= 2
#define ernic_vmstate_save(f, vmsd, obj)    vmstate_save_state(f, vmsd, obj, NULL, NULL)
#define ernic_vmstate_load(f, vmsd, obj)                                            \
    vmstate_load_state(f, vmsd, obj, (vmsd)->version_id, NULL)
#else
#define ernic_vmstate_save(f, vmsd, obj)    vmstate_save_state(f, vmsd, obj, NULL)
#define ernic_vmstate_load(f, vmsd, obj)                                            \
    vmstate_load_state(f, vmsd, obj, (vmsd)->version_id)
#endif

/*
 * In 11.1 one member of SaveVMHandlers replaced two. @left(void *, bool exact) returns
 * the bytes that precopy has still to send. Only an exact answer may take time, and the
 * final one need not be: the machine stands still, and what is left goes with the state.
 */
#ifdef ERNIC_QEMU_11_1
#define ERNIC_SAVE_PENDING(left)                                                    \
    static void left##_query(void *opaque, MigPendingData *pending, bool exact,     \
                             bool final)                                            \
    {                                                                               \
        pending->precopy_bytes += left(opaque, exact && !final);                    \
    }
#define ERNIC_SAVE_PENDING_MEMBERS(left)                                            \
    .save_query_pending = left##_query
#else
#define ERNIC_SAVE_PENDING(left)                                                    \
    static void left##_estimate(void *opaque, uint64_t *must_precopy,               \
                                uint64_t *can_postcopy)                             \
    {                                                                               \
        *must_precopy += left(opaque, false);                                       \
    }                                                                               \
    static void left##_exact(void *opaque, uint64_t *must_precopy,                  \
                             uint64_t *can_postcopy)                                \
    {                                                                               \
        *must_precopy += left(opaque, true);                                        \
    }
#define ERNIC_SAVE_PENDING_MEMBERS(left)                                            \
    .state_pending_estimate = left##_estimate, .state_pending_exact = left##_exact
#endif

/* PCIe 6.0 has a mode of flits, which 11.0 asks for. */
static inline void ernic_pcie_set_link(PCIDevice *pci, PCIExpLinkWidth width,
                                       PCIExpLinkSpeed speed)
{
#if QEMU_VERSION_MAJOR > 10
    pcie_cap_fill_link_ep_usp(pci, width, speed, false);
#else
    pcie_cap_fill_link_ep_usp(pci, width, speed);
#endif
}

#endif
