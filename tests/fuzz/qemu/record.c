/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writes an input as one of QEMU's generic fuzzer (tests/qtest/fuzz/generic_fuzz.c). That
 * has no operation for guest memory: it fills what the device reads with patterns, in
 * turn. So before each access come the patterns of all reads that it caused.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/range.h"
#include "compat/qemu.h"
#include "target.h"

/* Operations of the generic fuzzer. */
enum { GENERIC_READ = 2, GENERIC_WRITE, GENERIC_PATTERN = 7, GENERIC_CLEAR };

/* The bytes that the generic fuzzer fills at a time. */
#define MAX_PATTERN     0x10000

typedef struct Reads {
    uint64_t addr, len;
} Reads;

static FuzzMachine *recorded;
static GByteArray *input;       /* so far */
static GByteArray *patterns;    /* of the operation that runs */
static GArray *reads;           /* what it has read: filled once only */

bool fuzz_recording(void)
{
    return recorded;
}

void fuzz_record_start(FuzzMachine *m)
{
    input = g_byte_array_new();
    patterns = g_byte_array_new();
    reads = g_array_new(false, false, sizeof(Reads));
    recorded = m;
}

static void append(GByteArray *to, const void *op, size_t len)
{
    g_byte_array_append(to, op, len);
    g_byte_array_append(to, (const uint8_t *)FUZZ_SEPARATOR, strlen(FUZZ_SEPARATOR));
}

static bool read_before(uint64_t addr, uint64_t len)
{
    const Reads *r;
    unsigned i;

    for (i = 0; i < reads->len; i++) {
        r = &g_array_index(reads, Reads, i);
        if (ranges_overlap(addr, len, r->addr, r->len)) {
            return true;
        }
    }
    return false;
}

/* QEMU calls this before the device reads; the linker puts it before the other. */
void __wrap_fuzz_dma_read_cb(size_t addr, size_t len, MemoryRegion *mr);
void __real_fuzz_dma_read_cb(size_t addr, size_t len, MemoryRegion *mr);

void __wrap_fuzz_dma_read_cb(size_t addr, size_t len, MemoryRegion *mr)
{
    g_autoptr(GByteArray) op = NULL;
    const uint8_t *data;

    __real_fuzz_dma_read_cb(addr, len, mr);
    if (!recorded || !len || mr != current_machine->ram || addr >= FUZZ_RAM ||
        read_before(addr, len)) {
        return;
    }
    len = MIN(MIN(len, MAX_PATTERN), FUZZ_RAM - addr);
    g_array_append_val(reads, ((Reads) { addr, len }));
    data = recorded->ram + addr;
    op = g_byte_array_new();
    g_byte_array_append(op, (const uint8_t[]) { GENERIC_PATTERN, 0, 0 }, 3);
    /* One byte stands for a block of equal ones. */
    g_byte_array_append(op, data, len > 1 && !memcmp(data, data + 1, len - 1) ? 1 : len);
    append(patterns, op->data, op->len);
}

void fuzz_record_op(const void *op, size_t len)
{
    static const uint8_t clear = GENERIC_CLEAR;

    if (!recorded) {
        return;
    }
    append(input, &clear, 1);
    g_byte_array_append(input, patterns->data, patterns->len);
    append(input, op, len);
    g_byte_array_set_size(patterns, 0);
    g_array_set_size(reads, 0);
}

/* ---- register accesses ------------------------------------------------------- */

/* The generic fuzzer counts the regions of the devices in the order of addresses. */
typedef struct Search {
    uint64_t addr, offset;
    unsigned index;
} Search;

static bool visit_region(Int128 start, Int128 len, const MemoryRegion *mr, hwaddr offset,
                         void *opaque)
{
    Search *s = opaque;
    uint64_t from = int128_get64(start);

    if (memory_region_is_ram((MemoryRegion *)mr) || !memory_region_owner((void *)mr) ||
        !object_dynamic_cast(memory_region_owner((void *)mr), TYPE_ERNIC)) {
        return false;
    }
    if (s->addr >= from && s->addr - from < int128_get64(len)) {
        s->offset = s->addr - from;
        return true;
    }
    s->index++;
    return false;
}

void fuzz_record_mmio(bool write, unsigned size_log2, uint64_t addr, uint64_t value)
{
    struct QEMU_PACKED {
        uint8_t op, size, base;
        uint32_t offset;
        uint64_t value;
    } generic = { .op = write ? GENERIC_WRITE : GENERIC_READ, .size = size_log2 };
    Search s = { .addr = addr, .offset = UINT64_MAX };

    if (!recorded) {
        return;
    }
    flatview_for_each_range(address_space_to_flatview(&address_space_memory),
                            visit_region, &s);
    if (s.offset != UINT64_MAX && s.index <= UINT8_MAX) {
        generic.base = s.index;
        generic.offset = cpu_to_le32(s.offset);
        generic.value = value;
        fuzz_record_op(&generic, write ? sizeof(generic)
                                       : offsetof(typeof(generic), value));
    }
}

void fuzz_record_finish(void)
{
    static unsigned number;
    g_autofree char *name = g_strdup_printf("%s/%u", getenv("ERNIC_FUZZ_RECORD"),
                                            number++);
    g_autoptr(GError) err = NULL;

    if (input->len &&
        !g_file_set_contents(name, (char *)input->data, input->len, &err)) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
    g_byte_array_set_size(input, 0);
    g_byte_array_set_size(patterns, 0);
    g_array_set_size(reads, 0);
}
