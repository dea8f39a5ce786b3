/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames through the QDMA of RecoNIC's shell: two stream queues of each direction, set up
 * in the order that PG302 describes, and polled. The MAC returns what they send.
 */
#include <err.h>
#include <string.h>
#include "ernic-user.h"

#define QUEUES      2
#define RING        255                 /* descriptors; a place more for the status */
#define CMPT        511                 /* completions */
#define SLOTS       256
#define BUFFER      (AREA / QUEUES / SLOTS)
#define BATCH       64                  /* frames of a queue before the program waits */
#define HEAD        46                  /* headers, and the number of the frame */
#define LEAST       60
#define WAIT        10                  /* seconds for a frame to come back */

/* Registers of BAR 0, and of BAR 2. */
#define RING_SIZES  0x204
#define CONTEXT     0x804               /* data; the masks follow */
#define COMMAND     0x844
#define BUFFERS     0xab0
#define DOORBELLS   0x18000
#define FUNCTION    0x1000
#define TABLE       0x1400
#define MAC_TX      0x800c
#define MAC_RX      0x8014
#define MAC_LOOP    0x8090

enum { RING_INDEX, CMPT_INDEX };        /* of the ring sizes */
enum { C2H, H2C, PREFETCH = 7, COMPLETION = 6, FMAP = 12 };     /* selectors */
enum { CLEAR, WRITE };
enum { DB_H2C = 4, DB_C2H = 8, DB_CMPT = 12 };

struct queue {
    struct mem tx, rx, cmpt, out, in;
    uint32_t tx_pi, rx_ci, cmpt_ci;
    uint32_t got, last;                 /* frames received, number of the last one */
};

static void put(const struct card *card, uint32_t off, uint32_t value)
{
    *(volatile uint32_t *)(card->qdma + off) = value;
}

static void put_user(const struct card *card, uint32_t off, uint32_t value)
{
    *(volatile uint32_t *)(card->user + off) = value;
}

static void doorbell(const struct card *card, unsigned q, uint32_t which, uint32_t value)
{
    __sync_synchronize();               /* memory before the register */
    put(card, DOORBELLS + q * 16 + which, value);
}

static void command(const struct card *card, unsigned selector, unsigned q, unsigned op)
{
    put(card, COMMAND, q << 7 | op << 5 | selector << 1);
    while (*(volatile uint32_t *)(card->qdma + COMMAND) & 1) {
    }
}

static void context(const struct card *card, unsigned selector, unsigned q,
                    const uint32_t words[8])
{
    int i;

    for (i = 0; i < 8; i++) {
        put(card, CONTEXT + i * 4, words[i]);
        put(card, CONTEXT + 32 + i * 4, 0xffffffff);
    }
    command(card, selector, q, WRITE);
}

static struct mem part(struct mem *from, uint32_t bytes)
{
    struct mem mem = *from;

    from->at += bytes;
    from->bus += bytes;
    return mem;
}

/* ---- set-up ------------------------------------------------------------------------- */

static void open_queue(const struct card *card, struct queue *k, unsigned q)
{
    unsigned i;

    for (i = C2H; i <= PREFETCH; i++) {
        command(card, i, q, CLEAR);
    }
    /* Status when all is complete; 16 bytes. */
    context(card, H2C, q, (uint32_t[8]) {
        0, 1 | 1 << 2 | RING_INDEX << 12 | 1 << 16 | 1 << 20, k->tx.bus, k->tx.bus >> 32 });
    context(card, C2H, q, (uint32_t[8]) {
        0, 1 | RING_INDEX << 12, k->rx.bus, k->rx.bus >> 32 });
    /* Status at once, no interrupt; colour 1, 8 bytes. */
    context(card, COMPLETION, q, (uint32_t[8]) {
        1 | 1 << 2 | 1 << 27 | (uint32_t)CMPT_INDEX << 28, k->cmpt.bus >> 6,
        k->cmpt.bus >> 38, 1 << 28 });
    context(card, PREFETCH, q, (uint32_t[8]) { 0, 1 << 13 });
    for (i = 0; i < RING; i++) {
        ((uint64_t *)k->rx.at)[i] = k->in.bus + i * BUFFER;
    }
    doorbell(card, q, DB_CMPT, 1 << 24 | 1 << 27);
    doorbell(card, q, DB_C2H, RING - 1);
}

static void open_all(struct card *card, struct queue *queues)
{
    struct mem rings = mem_alloc(card, false), out = mem_alloc(card, false);
    struct mem in = mem_alloc(card, false);
    unsigned q;

    put(card, RING_SIZES + RING_INDEX * 4, RING + 1);
    put(card, RING_SIZES + CMPT_INDEX * 4, CMPT + 1);
    put(card, BUFFERS, BUFFER);
    context(card, FMAP, 0, (uint32_t[8]) { 0, QUEUES });
    for (q = 0; q < QUEUES; q++) {
        queues[q].tx = part(&rings, 8192);
        queues[q].rx = part(&rings, 4096);
        queues[q].cmpt = part(&rings, 4096);
        queues[q].out = part(&out, SLOTS * BUFFER);
        queues[q].in = part(&in, SLOTS * BUFFER);
        open_queue(card, &queues[q], q);
    }
    for (q = 0; q < 128; q++) {
        put_user(card, TABLE + q * 4, q % QUEUES);
    }
    put_user(card, FUNCTION, QUEUES);
    put_user(card, MAC_LOOP, 1);
    put_user(card, MAC_RX, 1);
    put_user(card, MAC_TX, 1);
}

static void close_all(const struct card *card)
{
    static const uint8_t order[] = { H2C, PREFETCH, COMPLETION, C2H };
    unsigned q, i;

    put_user(card, MAC_TX, 0);
    put_user(card, MAC_RX, 0);
    put_user(card, MAC_LOOP, 0);
    for (q = 0; q < QUEUES; q++) {
        for (i = 0; i < sizeof(order); i++) {
            command(card, order[i], q, CLEAR);
        }
    }
}

/* ---- frames ---------------------------------------------------------------------------- */

static uint8_t byte_of(uint32_t number, uint32_t off)
{
    return number * 31 + off * 7 + (off >> 8);
}

/* A UDP packet whose ports, which choose the queue, are its number. */
static void fill(uint8_t *frame, uint32_t number, uint32_t size)
{
    static const uint8_t head[] = {
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,
        10, 0, 0, 1, 10, 0, 0, 2
    };
    uint32_t i;

    memcpy(frame, head, sizeof(head));
    memset(frame + sizeof(head), 0, HEAD - sizeof(head));
    memcpy(frame + sizeof(head), &number, 4);
    memcpy(frame + HEAD - 4, &number, 4);
    for (i = HEAD; i < size; i++) {
        frame[i] = byte_of(number, i);
    }
}

static void post(struct queue *k, uint32_t number, uint32_t size)
{
    uint64_t *desc = (uint64_t *)(k->tx.at + k->tx_pi * 16);

    fill(k->out.at + k->tx_pi * BUFFER, number, size);
    desc[0] = (uint64_t)size << 32;
    desc[1] = k->out.bus + k->tx_pi * BUFFER;
    k->tx_pi = (k->tx_pi + 1) % RING;
}

/* Checks a frame: its content, and that none overtook it in its queue. */
static void check(struct queue *k, const uint8_t *frame, uint32_t size)
{
    uint32_t number, i;

    memcpy(&number, frame + HEAD - 4, 4);
    if (k->got && number <= k->last) {
        errx(1, "frame %u came after %u", number, k->last);
    }
    for (i = HEAD; i < size; i++) {
        if (frame[i] != byte_of(number, i)) {
            errx(1, "frame %u, byte %u is %02x, not %02x", number, i, frame[i],
                 byte_of(number, i));
        }
    }
    k->got++;
    k->last = number;
}

/* The frames that have arrived; returns their number. */
static uint32_t receive(const struct card *card, struct queue *k, unsigned q,
                        uint32_t size)
{
    const volatile uint64_t *cmpt = (const volatile uint64_t *)k->cmpt.at;
    uint32_t pi = cmpt[CMPT] & 0xffff, n = 0;

    __sync_synchronize();               /* the status before the entries */
    for (; k->cmpt_ci != pi; n++) {
        if ((cmpt[k->cmpt_ci] >> 32 & 0xffff) != size || cmpt[k->cmpt_ci] >> 2 & 1) {
            errx(1, "a completion is %016llx", (unsigned long long)cmpt[k->cmpt_ci]);
        }
        check(k, k->in.at + k->rx_ci * BUFFER, size);
        k->rx_ci = (k->rx_ci + 1) % RING;
        k->cmpt_ci = (k->cmpt_ci + 1) % CMPT;
    }
    if (n) {
        doorbell(card, q, DB_CMPT, k->cmpt_ci | 1 << 24 | 1 << 27);
        doorbell(card, q, DB_C2H, (k->rx_ci + RING - 1) % RING);
    }
    return n;
}

/* Waits for @n frames. */
static void receive_all(const struct card *card, struct queue *queues, uint32_t n,
                        uint32_t size)
{
    double since = seconds();
    uint32_t got;
    unsigned q;

    while (n) {
        for (q = 0; q < QUEUES; q++) {
            got = receive(card, &queues[q], q, size);
            n -= got;
            since = got ? seconds() : since;
        }
        if (seconds() - since > WAIT) {
            errx(1, "%u frames did not come back", n);
        }
    }
}

double stream_run(struct card *card, unsigned count, unsigned size)
{
    struct queue queues[QUEUES] = { 0 };
    uint32_t n, number = 0;
    double since;
    unsigned q;

    if (!card->qdma) {
        errx(1, "this function has no QDMA, or a driver has it");
    }
    if (size < LEAST || size > BUFFER) {
        errx(1, "a frame has %u to %u bytes", LEAST, BUFFER);
    }
    open_all(card, queues);
    since = seconds();
    while (number < count) {
        for (n = 0; n < BATCH * QUEUES && number < count; n++) {
            post(&queues[n / BATCH], number++, size);
        }
        for (q = 0; q < QUEUES; q++) {
            doorbell(card, q, DB_H2C, queues[q].tx_pi);
            /* The next queue's frames follow those of this one. */
            receive_all(card, queues, n < BATCH ? n : BATCH, size);
            n -= n < BATCH ? n : BATCH;
        }
    }
    since = seconds() - since;
    close_all(card);
    for (q = 0; q < QUEUES; q++) {
        if (count >= 100 && queues[q].got < count / 4) {
            errx(1, "queue %u has only %u of %u frames", q, queues[q].got, count);
        }
    }
    return since;
}
