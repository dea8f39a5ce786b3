/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory that the device writes is marked dirty after the write: a migration that takes
 * a page between the mark and the write would lose the data. The memory is the test's.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "device/card.h"
#include "device/clock.h"
#include "device/dma.h"
#include "device/memory.h"
#include "hw/rdma-ernic/trace.h"

static bool fake_bql(void)
{
    return false;
}

#undef PCI_DEVICE
#define PCI_DEVICE(d)   ((PCIDevice *)&(d)->parent_obj)
#define bql_locked      fake_bql
#include "device/card.c"
#include "device/dma.c"
#include "device/memory.c"

#define SIZE    64
#define AT      16              /* where it is written */
#define OLD     0x0123456789abcdefull
#define NEW     0xfedcba9876543210ull

static struct {
    ErnicPci d;
    MemoryRegion ram;           /* of the guest */
    MemoryRegion *used;         /* that has to be written and marked */
    uint64_t word[SIZE / 8];
    uint32_t marks;
} host;

/* The range has its new contents. */
static void marked(const MemoryRegion *mr, uint64_t at, uint64_t len)
{
    g_assert_true(mr == host.used);
    g_assert_cmpuint(at, ==, AT);
    g_assert_cmpuint(len, ==, sizeof(uint64_t));
    g_assert_cmphex(ldq_le_p(&host.word[AT / 8]), ==, NEW);
    host.marks++;
}

/* ---- what the device's files call ----------------------------------------------- */

void *memory_region_get_ram_ptr(ERNIC_MEMORY_CONST MemoryRegion *mr)
{
    g_assert_true(mr == host.used);
    return host.word;
}

void memory_region_set_dirty(MemoryRegion *mr, hwaddr addr, hwaddr size)
{
    marked(mr, addr, size);
}

MemoryRegion *flatview_translate(FlatView *fv, hwaddr addr, hwaddr *xlat, hwaddr *len,
                                 bool is_write, MemTxAttrs attrs)
{
    return &host.ram;
}

bool memory_region_is_ram_device(ERNIC_MEMORY_CONST MemoryRegion *mr)
{
    return false;
}

MemoryRegion *memory_region_from_host(void *ptr, ram_addr_t *offset)
{
    return &host.ram;
}

void *address_space_map(AddressSpace *as, hwaddr addr, hwaddr *plen, bool is_write,
                        MemTxAttrs attrs)
{
    return (uint8_t *)host.word + addr;
}

/* It marks what was written. */
void address_space_unmap(AddressSpace *as, void *buffer, hwaddr len, bool is_write,
                         hwaddr access_len)
{
    if (is_write && access_len) {
        marked(&host.ram, (uint8_t *)buffer - (uint8_t *)host.word, access_len);
    }
}

MemTxResult address_space_rw(ERNIC_MEMORY_CONST AddressSpace *as, hwaddr addr,
                             MemTxAttrs attrs, void *buf, hwaddr len, bool is_write)
{
    g_assert_not_reached();
}

/* Parts of those files that are not tested here. */
void ernic_pci_guarded(ErnicPci *d, QEMUBHFunc *work)
{
    g_assert_not_reached();
}

void ernic_pci_schedule(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    g_assert_not_reached();
}

void ernic_pci_continue(ErnicPci *d, QEMUTimer *timer, QEMUBH *bh)
{
    g_assert_not_reached();
}

bool memory_region_init_ram(MemoryRegion *mr, Object *owner, const char *name,
                            uint64_t size, Error **errp)
{
    g_assert_not_reached();
}

void memory_region_add_subregion(MemoryRegion *mr, hwaddr offset, MemoryRegion *sub)
{
    g_assert_not_reached();
}

void vmstate_unregister_ram(MemoryRegion *mr, DeviceState *dev)
{
    g_assert_not_reached();
}

/* ---- the writes ------------------------------------------------------------------ */

static bool dma(uint64_t addr, void *buf, bool write)
{
    return ernic_pci_dma(&host.d, addr, buf, sizeof(uint64_t), write);
}

static bool card(uint64_t addr, void *buf, bool write)
{
    return ernic_pci_card_rw(&host.d, addr, buf, sizeof(uint64_t), write);
}

static bool atomic(uint64_t addr, void *buf, bool write)
{
    uint64_t old;

    return ernic_pci_dma_atomic(&host.d, addr, ERNIC_ATOMIC_CMP_SWAP, ldq_le_p(buf), OLD,
                                &old) && old == OLD;
}

static void test_marks(void)
{
    static const struct {
        const char *what;
        bool (*access)(uint64_t addr, void *buf, bool write);
        MemoryRegion *region;
        uint64_t base;
        bool reads;
    } rows[] = {
        { "memory of the guest", dma, &host.ram, 0, true },
        { "memory of the device", dma, &host.d.mem, ERNIC_ADDR_MEMORY, true },
        { "memory of a card", card, &host.d.shell.card, 0, true },
        { "an atomic operation on the guest's", atomic, &host.ram, 0 },
        { "an atomic operation on the device's", atomic, &host.d.mem, ERNIC_ADDR_MEMORY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t new = cpu_to_le64(NEW), got;

        g_test_message("%s", rows[i].what);
        memset(&host, 0, sizeof(host));
        host.used = rows[i].region;
        host.d.life = ERNIC_PCI_WORKING;
        host.d.mem_size = host.d.shell.card_size = SIZE;
        host.ram.ram = true;
        stq_le_p(&host.word[AT / 8], OLD);
        g_assert_true(rows[i].access(rows[i].base + AT, &new, true));
        g_assert_cmpuint(host.marks, ==, 1);
        if (rows[i].reads) {
            g_assert_true(rows[i].access(rows[i].base + AT, &got, false));
            g_assert_cmphex(le64_to_cpu(got), ==, NEW);
            g_assert_cmpuint(host.marks, ==, 1);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dirty/marks", test_marks);
    return g_test_run();
}
