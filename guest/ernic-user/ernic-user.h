/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program that drives the ERNIC from user space, without a driver or beside
 * ernic_shell.ko: the parts of it, in the order of their use.
 */
#ifndef ERNIC_USER_H
#define ERNIC_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "hw/rdma-ernic/ernic_regs.h"

#define QPN         2
#define DEPTH       64              /* requests, and buffers to receive */
#define SLOT        32768           /* bytes of such a buffer: the longest SEND */
#define AREA        (2u << 20)      /* bytes of a piece of memory: a huge page */

static inline double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* ---- card.c: the PCI function, and memory that it reaches ------------------- */

enum card_kind { CARD_PLAIN, CARD_RECONIC, CARD_XIB };

struct card {
    char path[64];                  /* in sysfs */
    enum card_kind kind;            /* the shell of the function */
    enum pg332_version version;
    volatile uint8_t *regs;         /* of the ERNIC */
    volatile uint8_t *user;         /* BAR of the shell with the ERNIC, */
    volatile uint8_t *qdma;         /* RecoNIC's BAR 0; NULL: a driver has it */
    int driver;                     /* the device of that driver, or -1 */
    uint8_t *mem;                   /* of the card; NULL: none */
    uint64_t mem_size, mem_used;
};

struct mem {
    uint8_t *at;                    /* for this program */
    uint64_t bus;                   /* for the ERNIC */
};

/* The @nth such function; dies if there is none. */
void card_open(struct card *card, unsigned nth);
/* AREA bytes, zeroed; for the ERNIC they are contiguous. */
struct mem mem_alloc(struct card *card, bool on_card);

/* ---- meet.c: the exchange of both ends over TCP ----------------------------- */

struct end {
    uint32_t qpn, psn, ip, rkey, slot, mtu;
    uint8_t mac[6];
    uint64_t va, bytes;             /* the region that the peer may reach */
};

/*
 * @host an IPv4 address; NULL: waits for a peer. The stream is of lines, in both
 * directions.
 */
FILE *meet(const char *host, unsigned port);
/* Address and MAC of the interface that the connection uses. */
void own_address(FILE *peer, struct end *own);
/* Each end sends a description of itself. */
void introduce(FILE *peer, const struct end *own, struct end *other);
void send_line(FILE *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next line; false: the peer has gone. */
bool read_line(FILE *peer, char *line, int size);

/* ---- engine.c: sequences of register accesses --------------------------------- */

struct interface {
    struct card *card;
    struct mem queues, data, region;
    struct end own, peer;
    bool poll_memory;               /* the words of the doorbells, not the registers */
    uint32_t posted, completed, received;
};

/* Windows, global registers, protection domain and region. */
void interface_open(struct interface *interface);
void interface_connect(struct interface *interface);
/* The @n-th request from now on, at @local of data; not rung yet. */
void interface_request(struct interface *interface, unsigned n, enum pg332_opcode opcode,
                  uint64_t local, uint32_t len, uint64_t remote);
/* Rings for @n of them, and waits until they are complete. */
void interface_run(struct interface *interface, unsigned n);
/* Waits for a message; its buffer is the program's until interface_give_back(). */
const uint8_t *interface_receive(struct interface *interface);
void interface_give_back(struct interface *interface);
void interface_close(struct interface *interface);

/* ---- stream.c: frames through the QDMA of RecoNIC's shell ------------------------- */

/*
 * Sends @count frames of @size bytes from two queues; the MAC returns them, and each
 * arrives in one of two queues, unchanged. Returns the seconds that it took.
 */
double stream_run(struct card *card, unsigned count, unsigned size);

#endif /* ERNIC_USER_H */
