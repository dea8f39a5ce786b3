/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One of two machines that exchange numbered messages without an end, and verify each
 * one. The host sends commands through the serial port and reads the counters from
 * memory (machine.py).
 */
#include "port.h"

#define MAGIC       0x6b616f73u
#define WINDOW      4               /* messages that are under way at most */
#define TICKS       10              /* ms; for serial port and hot-plug registers */
#define BARS        6
/* The hot-plug registers of QEMU's pc machine, for bus 0. */
#define PLUG_DOWN   0xae04
#define PLUG_EJECT  0xae08
#define PLUG_BUS    0xae10
#define UART        0x3f8

void *memcpy(void *to, const void *from, size_t len);

/* A defect that the command 'd', with its number as epoch, makes the program commit. */
enum { DEFECT_NONE, DEFECT_BYTE, DEFECT_NUMBER, DEFECT_COUNT };

enum state { IDLE, HELD, RUNNING, BROKEN, GONE, WRONG };

/* Message n: a SEND; or a WRITE, or a READ of what it wrote, with a SEND after it. */
enum kind { SENT, WRITTEN, READ_BACK, KINDS };

struct head {
    uint32_t magic, n, kind, len;
};

struct command {
    uint8_t op, host, epoch, timeout;
};

/* Read by the host. Those of one connection start from 0 with each. */
static volatile struct {
    uint32_t magic, state, epoch, plugs;
    uint32_t posted, completed, received;
    uint32_t last_completed, last_received;     /* at the end of the one before */
    uint32_t where, got, wanted;                /* what is wrong */
    uint64_t verified;                          /* of all connections */
} soak __attribute__((section(".data"))) = { .magic = MAGIC };

static struct command now;
static uint8_t defect;                          /* DEFECT_*: to test the verifiers */
static uint32_t bars[BARS], slot_bit;
static uint8_t devfn;
static bool bars_known, opened, half_done;

static void wrong(uint32_t where, uint32_t got, uint32_t wanted)
{
    if (soak.state != WRONG) {
        soak.where = where;
        soak.got = got;
        soak.wanted = wanted;
        soak.state = WRONG;
    }
}

static void expect(uint32_t where, uint32_t got, uint32_t wanted)
{
    if (got != wanted) {
        wrong(where, got, wanted);
    }
}

/* WRITEs are KINDS messages apart: the peer has looked before a slot is used again. */
static uint32_t slot_of_write(uint32_t n)
{
    return n / KINDS % SLOTS;
}

static uint32_t length(uint32_t n)
{
    uint32_t chance = (n - (n % KINDS == READ_BACK)) * 2654435761u >> 12;

    return 4 + chance % (SLOT - 4 - sizeof(struct head)) / 4 * 4;
}

static uint32_t seed(uint8_t host, uint32_t n)
{
    return (n << 9 ^ now.epoch << 1 ^ host) * 0x9e3779b1u;
}

static void fill(uint8_t *to, uint32_t len, uint32_t value)
{
    uint32_t i, *words = (uint32_t *)to;

    for (i = 0; i < len / 4; i++) {
        words[i] = value + i * 0x01000193u;
    }
}

static void check(uint32_t where, const uint8_t *at, uint32_t len, uint32_t value)
{
    const uint32_t *words = (const uint32_t *)at;
    uint32_t i;

    for (i = 0; i < len / 4 && words[i] == value + i * 0x01000193u; i++) {
    }
    if (i < len / 4) {
        wrong(where, words[i], value + i * 0x01000193u);
    }
}

static bool commit(uint8_t which)
{
    bool yes = defect == which;

    if (yes) {
        defect = DEFECT_NONE;
    }
    return yes;
}

static void post_message(uint32_t n)
{
    struct head head = { MAGIC, n, n % KINDS, length(n) };
    uint32_t data = n % WINDOW, slot = WINDOW + data, len = sizeof(head);

    if (head.kind == WRITTEN) {
        fill(port_out(data), head.len, seed(now.host, n));
        port_post(PORT_WRITE, data, head.len, slot_of_write(n));
    } else if (head.kind == READ_BACK) {
        fill(port_out(data), head.len, ~seed(now.host, n - 1));
        port_post(PORT_READ, data, head.len, slot_of_write(n));
    } else {
        fill(port_out(slot) + len, head.len, seed(now.host, n));
        len += head.len;
    }
    if (head.kind == SENT && commit(DEFECT_BYTE)) {
        port_out(slot)[len - 1] ^= 1;
    }
    head.n += commit(DEFECT_NUMBER);
    memcpy(port_out(slot), &head, sizeof(head));
    port_post(PORT_SEND, slot, len, 0);
    soak.posted++;
}

static void completed(void)
{
    uint32_t n = soak.completed;

    if (n % KINDS != SENT && !half_done) {
        half_done = true;
        return;
    }
    half_done = false;
    if (n % KINDS == READ_BACK) {
        check(__LINE__, port_out(n % WINDOW), length(n), seed(now.host, n - 1));
        soak.verified++;
    }
    soak.completed += 1 + commit(DEFECT_COUNT);
}

static void received(const uint8_t *message)
{
    uint32_t n = soak.received;
    uint8_t peer = 3 - now.host;
    struct head head;

    memcpy(&head, message, sizeof(head));
    expect(__LINE__, head.magic, MAGIC);
    expect(__LINE__, head.n, n);
    expect(__LINE__, head.kind, n % KINDS);
    expect(__LINE__, head.len, length(n));
    if (soak.state == WRONG) {
        return;
    }
    if (head.kind == SENT) {
        check(__LINE__, message + sizeof(head), head.len, seed(peer, n));
    } else if (head.kind == WRITTEN) {
        check(__LINE__, port_in(slot_of_write(n)), head.len, seed(peer, n));
    }
    soak.received++;
    soak.verified++;
}

/* Handles all events; returns whether there were any. */
static bool handle_events(void)
{
    enum port_event event;
    const uint8_t *message;
    bool any = false;

    while (soak.state != WRONG && (event = port_poll(&message)) != PORT_NOTHING) {
        any = true;
        if (event == PORT_COMPLETED) {
            completed();
        } else if (event == PORT_RECEIVED) {
            received(message);
            port_give_back();
        } else if (soak.state == HELD || soak.state == RUNNING) {
            soak.state = BROKEN;
        } else if (soak.state == BROKEN) {
            return any;
        }
    }
    return any;
}

/* Handles what a connection that has ended has left. */
static void drain(void)
{
    if (soak.state != WRONG) {
        soak.state = BROKEN;
    }
    while (handle_events()) {
    }
    soak.last_completed = soak.completed;
    soak.last_received = soak.received;
}

static bool find_device(void)
{
    for (uint32_t at = 0; at < 256; at += 8) {
        if (pci_read(at, 0) == port_id) {
            devfn = at;
            slot_bit = 1u << (at >> 3);
            return true;
        }
    }
    return false;
}

/* A device that is plugged in gets the addresses that firmware gave the first one. */
static void open_device(void)
{
    if (!find_device()) {
        wrong(__LINE__, 0, 0);
        return;
    }
    for (uint32_t i = 0; i < BARS; i++) {
        if (bars_known) {
            pci_write(devfn, 0x10 + 4 * i, bars[i]);
        }
        bars[i] = pci_read(devfn, 0x10 + 4 * i);
    }
    bars_known = true;
    port_open(devfn, now.host);
    opened = true;
}

static void connect(const struct command *command)
{
    if (opened) {
        port_stop();
        drain();
        port_reset();
    }
    now = *command;
    if (!opened) {
        open_device();
    }
    if (soak.state == WRONG) {
        return;
    }
    soak.posted = soak.completed = soak.received = 0;
    half_done = false;
    port_connect(now.epoch << 16 | 0x1000, now.timeout);
    soak.state = HELD;
    soak.epoch = now.epoch;
}

static void execute(const struct command *command)
{
    if (command->op == 'c') {
        connect(command);
    } else if (command->op == 'g' && soak.state == HELD) {
        soak.state = RUNNING;
    } else if (command->op == 'h' && soak.state == RUNNING) {
        soak.state = HELD;
    } else if (command->op == 'd') {
        defect = command->epoch;
    }
}

static void poll_serial(void)
{
    static uint8_t bytes[sizeof(struct command)];
    static uint32_t count;
    struct command command;

    while (in8(UART + 5) & 1) {
        bytes[count++] = in8(UART);
        if (count == sizeof(bytes)) {
            count = 0;
            memcpy(&command, bytes, sizeof(command));
            execute(&command);
        }
    }
}

/* Ejects the device as soon as the host asks, with requests under way. */
static void poll_plug(void)
{
    out32(PLUG_BUS, 0);
    if (opened && (in32(PLUG_DOWN) & slot_bit)) {
        out32(PLUG_EJECT, slot_bit);
        opened = false;
        port_lost();
        drain();
        soak.plugs++;
        if (soak.state != WRONG) {
            soak.state = GONE;
        }
    }
}

void irq(void)
{
    *(volatile uint32_t *)(LAPIC + 0xb0) = 0;
}

/* The timer of the local APIC: 1 GHz in QEMU, divided by 128. */
static void timer_open(void)
{
    *(volatile uint32_t *)(LAPIC + 0x3e0) = 0xa;
    *(volatile uint32_t *)(LAPIC + 0x320) = 1 << 17 | VECTOR;
    *(volatile uint32_t *)(LAPIC + 0x380) = TICKS * (1000000 / 128);
}

int main(void)
{
    irq_open();
    timer_open();
    for (uint32_t turn = 0; ; turn++) {
        if (opened && soak.state != WRONG) {
            handle_events();
            while (soak.state == RUNNING && soak.posted - soak.completed < WINDOW) {
                post_message(soak.posted);
            }
            port_arm();
        }
        if (turn % 64 == 0 || !opened || !handle_events()) {
            poll_serial();
            poll_plug();
            if (!opened || soak.state >= BROKEN || !handle_events()) {
                sleep();
            }
        }
    }
}
