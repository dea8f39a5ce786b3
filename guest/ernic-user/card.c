/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PCI function, found and mapped through sysfs; huge pages, whose physical
 * addresses are those of the bus (there must be no IOMMU); memory of the card. Where
 * ernic_shell.ko drives the function, its character device has all that.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ernic-shell-abi.h"
#include "ernic-user.h"

#define DEVICES     "/sys/bus/pci/devices"
#define MSIX_ALONE  4096            /* BAR 4 of a card without memory */

/* The identities, and the BAR with the ERNIC of each. */
static const struct {
    uint16_t vendor, device;
    enum card_kind kind;
    int bar;
} functions[] = {
    { ERNIC_RECONIC_VENDOR, ERNIC_RECONIC_DEVICE, CARD_RECONIC, ERNIC_RECONIC_BAR_USER },
    { ERNIC_RECONIC_VENDOR, ERNIC_XIB_DEVICE, CARD_XIB, ERNIC_BAR_PG332 },
    { 0x1af4, 0x10f4, CARD_PLAIN, ERNIC_BAR_PG332 },
};

/* The version, and the place of the ERNIC in that BAR, by the size of the BAR. */
static const struct {
    enum card_kind kind;
    uint64_t size;
    enum pg332_version version;
    uint32_t at;
} maps[] = {
    { CARD_RECONIC, 4 << 20, PG332_V3_1, 0x40000 },
    { CARD_RECONIC, 8 << 20, PG332_V4_0, 0x200000 },
    { CARD_RECONIC, 16 << 20, PG332_V4_2, 0x800000 },
    { CARD_XIB, 4 << 20, PG332_V3_1, 0x300000 },
    { CARD_PLAIN, 2 * PG332_V3_SIZE, PG332_V3_1, 0 },     /* and the side stream */
    { CARD_PLAIN, 2 * PG332_V4_SIZE, PG332_V4_2, 0 },     /* or 4.0: a register shows it */
};

static int open_file(const struct card *card, const char *name, int flags)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", card->path, name);
    fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) {
        err(1, "%s", path);
    }
    return fd;
}

static unsigned long number(const struct card *card, const char *name)
{
    char text[32] = "";
    int fd = open_file(card, name, O_RDONLY);

    if (read(fd, text, sizeof(text) - 1) < 0) {
        err(1, "%s/%s", card->path, name);
    }
    close(fd);
    return strtoul(text, NULL, 0);
}

/* The size of a BAR; 0: there is none. */
static uint64_t bar_size(const struct card *card, int bar)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s/resource%d", card->path, bar);
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Maps memory of the driver's device. */
static uint8_t *map_driver(const struct card *card, uint64_t offset, uint64_t size)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, card->driver, offset);

    if (map == MAP_FAILED) {
        err(1, "mmap of the driver's device");
    }
    return map;
}

static uint8_t *map_bar(const struct card *card, int bar, uint64_t at,
                        uint64_t size)
{
    char name[16];
    void *map;
    int fd;

    if (card->driver >= 0) {
        return map_driver(card, at | (uint64_t)(bar == ERNIC_BAR_CARD) <<
                          ERNIC_SHELL_MAP_SHIFT, size);
    }
    snprintf(name, sizeof(name), "resource%d", bar);
    fd = open_file(card, name, O_RDWR | O_SYNC);
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    if (map == MAP_FAILED) {
        err(1, "%s/%s", card->path, name);
    }
    close(fd);
    return map;
}

/* The device of the driver that has the function; -1: there is none. */
static int open_driver(const struct card *card)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/dev/ernic-shell-%.12s", card->path + sizeof(DEVICES));
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) {
        err(1, "%s", path);
    }
    return fd;
}

/* Memory decoding and bus mastering, which a driver would switch on. */
static void enable(const struct card *card)
{
    int fd = open_file(card, "config", O_RDWR);
    uint16_t command;

    if (pread(fd, &command, 2, 4) != 2) {
        err(1, "%s/config", card->path);
    }
    command |= 0x6;
    if (pwrite(fd, &command, 2, 4) != 2) {
        err(1, "%s/config", card->path);
    }
    close(fd);
}

/* The row of functions[], or -1. */
static int kind_of(const struct card *card)
{
    unsigned long vendor = number(card, "vendor"), device = number(card, "device");
    int i, count = sizeof(functions) / sizeof(functions[0]);

    for (i = 0; i < count; i++) {
        if (functions[i].vendor == vendor && functions[i].device == device &&
            bar_size(card, functions[i].bar)) {
            return i;
        }
    }
    return -1;
}

static int find(struct card *card, unsigned nth)
{
    struct dirent **names;
    int count = scandir(DEVICES, &names, NULL, alphasort), kind, i;

    for (i = 0; i < count; i++) {
        if (names[i]->d_name[0] == '.') {
            continue;
        }
        snprintf(card->path, sizeof(card->path), DEVICES "/%.12s",
                 names[i]->d_name);
        kind = kind_of(card);
        if (kind >= 0 && !nth--) {
            return kind;
        }
    }
    errx(1, "no PCI function with the registers of an ERNIC");
}

static void map_card_memory(struct card *card)
{
    uint64_t size = bar_size(card, ERNIC_BAR_CARD), at = 0;

    if (card->kind == CARD_PLAIN) {
        size = size > MSIX_ALONE ? size / 2 : 0;
        at = size;
    }
    if (size) {
        card->mem = map_bar(card, ERNIC_BAR_CARD, at, size);
        card->mem_size = size;
    }
}

void card_open(struct card *card, unsigned nth)
{
    int found = find(card, nth), bar = functions[found].bar;
    uint64_t size = bar_size(card, bar);
    unsigned i;

    card->kind = functions[found].kind;
    for (i = 0; maps[i].kind != card->kind || maps[i].size != size; i++) {
        if (i + 1 == sizeof(maps) / sizeof(maps[0])) {
            errx(1, "%s: no version has a BAR of %llu bytes", card->path,
                 (unsigned long long)size);
        }
    }
    card->driver = open_driver(card);
    if (card->driver < 0) {
        enable(card);
    }
    card->user = map_bar(card, bar, 0, size);
    card->regs = card->user + maps[i].at;
    if (card->kind == CARD_RECONIC && card->driver < 0) {
        card->qdma = map_bar(card, ERNIC_RECONIC_BAR_QDMA, 0, ERNIC_RECONIC_QDMA_SIZE);
    }
    card->version = maps[i].version;
    if (card->version == PG332_V4_2 &&
        *(volatile uint32_t *)(card->regs + 0x100000 + PG332_XRNIC_VERSION) ==
        0x40000) {
        card->version = PG332_V4_0;
    }
    map_card_memory(card);
}

/* ---- memory ------------------------------------------------------------------ */

static uint64_t physical(const void *at)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry, page = (uintptr_t)at / 4096;

    if (fd < 0 || pread(fd, &entry, 8, page * 8) != 8) {
        err(1, "/proc/self/pagemap");
    }
    close(fd);
    entry &= (1ull << 55) - 1;
    if (!entry) {
        errx(1, "/proc/self/pagemap shows no addresses: not root?");
    }
    return entry * 4096;
}

static struct mem driver_area(struct card *card)
{
    struct ernic_shell_area area = { .size = AREA };

    if (ioctl(card->driver, ERNIC_SHELL_IOC_AREA, &area)) {
        err(1, "memory of the driver");
    }
    return (struct mem) { map_driver(card, area.offset, AREA), area.bus };
}

struct mem mem_alloc(struct card *card, bool on_card)
{
    struct mem mem;

    if (on_card) {
        if (card->mem_size - card->mem_used < AREA) {
            errx(1, "the card has %llu bytes of memory, too few",
                 (unsigned long long)card->mem_size);
        }
        mem.at = card->mem + card->mem_used;
        mem.bus = (uint64_t)ERNIC_CARD_TAG << ERNIC_CARD_TAG_SHIFT |
                  card->mem_used;
        card->mem_used += AREA;
    } else if (card->driver >= 0) {
        mem = driver_area(card);
    } else {
        mem.at = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED |
                      MAP_ANONYMOUS | MAP_HUGETLB | MAP_LOCKED, -1, 0);
        if (mem.at == MAP_FAILED) {
            errx(1, "no huge page (%m): echo 8 >/proc/sys/vm/nr_hugepages");
        }
        mem.at[0] = 0;
        mem.bus = physical(mem.at);
    }
    memset(mem.at, 0, AREA);
    return mem;
}
