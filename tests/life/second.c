/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hw/rdma-ernic/ernic_abi.h"
#include "hw/rdma-ernic/ernic_regs.h"
#include "driver.h"
#include "mlx5.h"
#include "second.h"

#define AP_PAGE         0x8000      /* of ap.S */
#define ICR_LOW         0x300
#define ICR_HIGH        0x310
#define ICR_INIT        0x000c4500  /* to all processors but this one */
#define ICR_STARTUP     (0x000c4600 | AP_PAGE >> 12)

#define FIRST_SLOT      2

#define REGS(field)     offsetof(struct ernic_regs, field)
#define ETH(field)      (ERNIC_ETH_OFFSET + offsetof(struct ernic_eth_regs, field))
#define DOORBELL        0x1000
#define SHELL_PG332     0x40000     /* of version 3.1 in BAR 2 */
#define CONFIG          -1          /* in place of a BAR */

#define EVENTS          10000       /* accesses until some were events, and more */
#define EVENT_TIME      500000000   /* of the counter, until a page has an event */

#define MLX5_QUEUE_HIGH 0x10
#define MLX5_QUEUE_LOW  0x14
#define MLX5_COMMAND    0x18        /* doorbell of the command queue */

/*
 * BOTH writes 0, and reads the register that is at the value in the same BAR. RING writes
 * a doorbell of a queue pair with a record: an event, as the function has ioeventfd=on.
 */
enum { READ, WRITE, BOTH, RING };

void *memcpy(void *to, const void *from, size_t len);

/* A row: what the second processor does until the function is gone. */
static const struct {
    const char *name;
    int bar;
    uint32_t at;
    uint8_t size, kind;
    uint64_t value;
} accesses[] = {
    { "doorbell", ERNIC_BAR_REGS, DOORBELL, 8, WRITE, ERNIC_DB(ERNIC_DB_CQ, 1, 1) },
    { "doorbell-iothread", ERNIC_BAR_REGS, DOORBELL, 8, WRITE,
      ERNIC_DB(ERNIC_DB_CQ, 1, 1) },
    { "doorbell-timing", ERNIC_BAR_REGS, DOORBELL, 8, WRITE,
      ERNIC_DB(ERNIC_DB_CQ, 1, 1) },
    { "cmd_pi", ERNIC_BAR_REGS, REGS(cmd_pi), 4, WRITE, 0 },
    { "cmd_pi-iothread", ERNIC_BAR_REGS, REGS(cmd_pi), 4, WRITE, 0 },
    { "control", ERNIC_BAR_REGS, REGS(control), 4, WRITE, ERNIC_CONTROL_RESET },
    { "control-udp", ERNIC_BAR_REGS, REGS(control), 4, WRITE, ERNIC_CONTROL_RESET },
    { "status", ERNIC_BAR_REGS, REGS(status), 4, READ, 0 },
    { "status-timing", ERNIC_BAR_REGS, REGS(status), 4, READ, 0 },
    { "tx_pi", ERNIC_BAR_REGS, ETH(tx_pi), 4, WRITE, 0 },
    { "tx_pi-udp", ERNIC_BAR_REGS, ETH(tx_pi), 4, WRITE, 0 },
    { "rx_arm", ERNIC_BAR_REGS, ETH(rx_arm), 4, WRITE, 1 },
    { "pg332", ERNIC_BAR_PG332, PG332_V3_GLOBAL + PG332_INTEN, 4, WRITE, 0xff },
    { "pg332-doorbell", ERNIC_BAR_PG332, PG332_V3_QP + PG332_SQPI, 4, WRITE, 1 },
    { "pg332-side", ERNIC_BAR_PG332, PG332_V3_SIZE, 4, READ, 0 },
    { "shell", ERNIC_BAR_REGS, 0x16420, 4, BOTH, SHELL_PG332 + PG332_V3_GLOBAL },
    { "shell-reset", ERNIC_BAR_REGS, 0x4, 4, WRITE, 1 },
    { "shell-qdma", ERNIC_BAR_PG332, 0, 4, WRITE, 0 },
    { "card-memory", ERNIC_BAR_CARD, 0x100000, 4, WRITE, 0 },
    { "device-memory", ERNIC_BAR_REGS, 0x101000, 4, WRITE, 0 },
    { "msix", ERNIC_BAR_MSIX, 0xc, 4, BOTH, 0x800 },
    { "command", CONFIG, 0x04, 4, WRITE, 6 },
    { "reset", CONFIG, 0, 4, WRITE, 1 << 15 },      /* function level; address by probe */
    /* Values are big-endian; page 16 is the first one for doorbells. */
    { "mlx5-command", 0, MLX5_COMMAND, 4, WRITE, 0xffffffff },
    { "mlx5-command-iothread", 0, MLX5_COMMAND, 4, WRITE, 0xffffffff },
    { "mlx5-interface", 0, MLX5_QUEUE_LOW, 4, WRITE, 1 << 16 },
    { "mlx5-blueflame", 0, 0x10800, 8, WRITE, 1ull << 40 },
    { "mlx5-health", 0, 0x1010, 4, READ, 0 },
    { "mlx5-events", 0, 0x10800, 8, RING, 2ull << 48 },
    { "verbs-events", ERNIC_BAR_REGS, DOORBELL + ERNIC_DB_RECORD, 8, RING,
      ERNIC_DB(ERNIC_DB_SQ, 2, 0) },
};
#define ACCESSES (sizeof(accesses) / sizeof(accesses[0]))

static uint8_t rings[2][4096] __attribute__((aligned(4096)));

/* The task of the second processor, written by the first: row + 1, or 0 for nothing. */
static volatile uint32_t task, done;
static volatile uintptr_t task_at;
static volatile uint8_t task_devfn;
static volatile bool idle;

/* Of the row in use. */
static bool events;                 /* it is a RING */

static void access(uint32_t row, uintptr_t at)
{
    if (accesses[row].bar == CONFIG) {
        pci_write(task_devfn, at, accesses[row].value);
    } else if (accesses[row].size == 8) {
        store64(at, accesses[row].value);
    } else if (accesses[row].kind == BOTH) {
        *(volatile uint32_t *)at = 0;
        (void)*(volatile uint32_t *)(at - accesses[row].at +
                                      (uint32_t)accesses[row].value);
    } else if (accesses[row].kind == WRITE) {
        *(volatile uint32_t *)at = accesses[row].value;
    } else {
        (void)*(volatile uint32_t *)at;
    }
}

void ap_main(void)
{
    uint32_t row;

    while (true) {
        row = task;
        idle = !row;
        if (row) {
            access(row - 1, task_at);
            done++;
        }
    }
}

void pass(uint64_t time)
{
    uint64_t from = tsc();

    while (tsc() - from < time) {
    }
}

static void start_second(void)
{
    extern const char ap_start[], ap_end[];
    volatile uint32_t *lapic = (uint32_t *)LAPIC;

    memcpy((void *)AP_PAGE, ap_start, ap_end - ap_start);
    barrier();
    lapic[0xf0 / 4] = 0x1ff;
    lapic[ICR_HIGH / 4] = 0;
    lapic[ICR_LOW / 4] = ICR_INIT;
    pass(10000000);
    lapic[ICR_LOW / 4] = ICR_STARTUP;
}

void wait_for(uint32_t n)
{
    uint32_t from = done;

    while (done - from < n) {
    }
}

uint8_t capability(uint8_t devfn, uint8_t id)
{
    uint8_t cap = pci_read(devfn, 0x34);

    while ((pci_read(devfn, cap) & 0xff) != id) {
        cap = pci_read(devfn, cap) >> 8;
    }
    return cap;
}

/* A queue of ENABLE_HCA, QUERY_PAGES, INIT_HCA, ALLOC_UAR, and commands of any kind. */
static void enable_mlx5(uintptr_t bar)
{
    static const uint16_t opcodes[] = { 0x104, 0x107, 0x102, 0x802 };
    uint8_t *entry = rings[0];
    uint32_t opcode;

    for (uint32_t i = 0; i < 32; i++, entry += 64) {
        opcode = i < 4 ? opcodes[i] : 0x100 + i;
        entry[0] = 7;
        entry[7] = entry[59] = 16;      /* lengths of message and answer */
        entry[16] = opcode >> 8;
        entry[17] = opcode;
        entry[60] = entry[63] = 1;      /* token; posted */
    }
    *(volatile uint32_t *)(bar + MLX5_QUEUE_HIGH) = 0;
    *(volatile uint32_t *)(bar + MLX5_QUEUE_LOW) = __builtin_bswap32((uintptr_t)rings[0]);
    *(volatile uint32_t *)(bar + MLX5_COMMAND) = 0xffffffff;
}

/* A queue pair in RTS, connected with itself, whose doorbell page may have an event. */
static void enable_events(uint8_t devfn)
{
    static struct ernic_record record;
    static Function f;
    static Mlx5 x;
    static Qp qp;

    if (pci_read(devfn, 0) == MLX5_PCI_ID) {
        mlx5_open(&x, devfn, 1);
        mlx5_connect(&x, 1, 0, 14);
    } else {
        record = (struct ernic_record) { };
        function_open(&f, devfn, 1);
        f.record = &record;
        qp_create(&qp, &f);
        qp_to_rts(&qp, &qp, 0, 14);
    }
}

void enable(uint8_t devfn)
{
    volatile struct ernic_regs *regs;

    if (events) {
        enable_events(devfn);
        return;
    }
    pci_write(devfn, 4, pci_read(devfn, 4) | 6);        /* memory, bus master */
    if (pci_read(devfn, 0) == MLX5_PCI_ID) {
        enable_mlx5(pci_bar(devfn, 0));
        return;
    }
    if (pci_read(devfn, 0) != (ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16)) {
        return;                                         /* RecoNIC's identity */
    }
    regs = (volatile void *)pci_bar(devfn, ERNIC_BAR_REGS);
    regs->cmd_addr = (uintptr_t)rings[0];
    regs->rsp_addr = (uintptr_t)rings[1];
    regs->ring_shift = 2;
    regs->control = ERNIC_CONTROL_ENABLE;
}

static uintptr_t target(uint8_t devfn, uint32_t row)
{
    if (accesses[row].bar != CONFIG) {
        return pci_bar(devfn, accesses[row].bar) + accesses[row].at;
    }
    return accesses[row].at ? accesses[row].at : capability(devfn, 0x10) + 8u;
}

/* Waits until the function has executed the first command of the queue. */
static void wait_for_command(uint32_t row)
{
    volatile uint8_t *entry = rings[0];

    while (accesses[row].bar == 0 && accesses[row].at == MLX5_COMMAND && entry[63] & 1) {
    }
}

void put_row(uint32_t row)
{
    put(accesses[row].name);
    put_end();
}

void second_starts(uint8_t slot, uint32_t row)
{
    task_devfn = slot << 3;
    task_at = target(slot << 3, row);
    idle = false;
    barrier();
    task = row + 1;
}

void second_begins(uint8_t slot, uint32_t row)
{
    put_row(row);
    events = accesses[row].kind == RING;
    enable(slot << 3);
    second_starts(slot, row);
    if (events) {
        pass(EVENT_TIME);
    }
    wait_for(events ? EVENTS : 50 + row % 7);
    wait_for_command(row);
}

void second_ends(void)
{
    task = 0;
    while (!idle) {
    }
}

bool uses_ports(uint32_t row)
{
    return accesses[row].bar == CONFIG;
}

void each_function(void (*use)(uint8_t slot, uint32_t row))
{
    start_second();
    for (uint32_t row = 0; row < ACCESSES; row++) {
        if (pci_read((FIRST_SLOT + row) << 3, 0) != 0xffffffff) {
            use(FIRST_SLOT + row, row);
        }
    }
    power_off("end");
}
