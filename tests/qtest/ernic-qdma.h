/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the QDMA of a shell: registers, contexts, and memory-mapped
 * queues with the contexts that RecoNIC's driver gives them.
 */
#ifndef QTEST_ERNIC_QDMA_H
#define QTEST_ERNIC_QDMA_H

#include "ernic-card.h"

#define QDMA_QUEUES     512
#define QDMA_DOORBELLS  0x18000
#define QDMA_OPTIONS    VERBS_NIC ",id=ernic0,addr=04.0,shell=reconic"

enum { QDMA_C2H, QDMA_H2C };
enum { QDMA_CLEAR, QDMA_WRITE, QDMA_READ, QDMA_INVALIDATE };
/* Selectors; those of a direction follow each other. */
enum { QDMA_SW = 0, QDMA_HW = 2, QDMA_CREDIT = 4, QDMA_CMPT = 6, QDMA_PREFETCH = 7,
       QDMA_INT_RING = 8, QDMA_TIMER = 11, QDMA_FMAP = 12 };

/* A machine with one function, and its BARs. */
typedef struct Qdma {
    QErnicMachine *m;
    QErnic *q;
    QPCIBar bar, user, card;
    bool opennic;               /* the shell: OpenNIC's or RecoNIC's */
    uint64_t mmio;              /* where the BARs begin */
    uint64_t messages;          /* of MSI-X: a word for each vector */
} Qdma;

/*
 * Starts a machine; @more: more properties of the device, and options of QEMU. With
 * shell=opennic among them, that is the shell.
 */
void qdma_open(Qdma *x, const char *more);
/* Maps the BARs again, after a reset. */
void qdma_map(Qdma *x);
/* Moves to a new machine with the same options. */
void qdma_migrate(Qdma *x, const char *more);
/* The reset of the QDMA (0) or of the system (1) by the shell, or of the function (2). */
void qdma_reset(Qdma *x, int kind);

uint32_t qdma_get(Qdma *x, uint32_t off);
void qdma_put(Qdma *x, uint32_t off, uint32_t value);
/* Registers of the shell. */
uint32_t qdma_user(Qdma *x, uint32_t off);
void qdma_put_user(Qdma *x, uint32_t off, uint32_t value);
/* One command for a context; checks that it is not busy. */
void qdma_command(Qdma *x, uint32_t selector, uint32_t number, uint32_t op);
/* All eight words of data. */
void qdma_write_context(Qdma *x, uint32_t selector, uint32_t number,
                        const uint32_t words[8]);
void qdma_read_context(Qdma *x, uint32_t selector, uint32_t number, uint32_t words[8]);

#define QDMA_ERROR_VECTOR   16
/* Every error counts, and the next one interrupts. */
void qdma_arm_errors(Qdma *x);

/* A memory-mapped queue, one direction; its vector is its number modulo 16. */
typedef struct QdmaQueue {
    Qdma *x;
    uint32_t number, entries, pi;
    int dir;
    uint64_t ring;
} QdmaQueue;

/* Enables MSI-X, whose messages go to memory. */
void qdma_aim(Qdma *x, uint32_t vectors);
/* Resets the MAC whose registers are at @at of the shell, by a bit, and starts it. */
void qdma_start_mac(Qdma *x, uint32_t at, uint32_t reset);
/* qdma_aim(), and starts the engines with queues 0 to 67. */
void qdma_start(Qdma *x);
/* qdma_open() and qdma_start(). */
void qdma_begin(Qdma *x, const char *more);
/* The number of messages of @vector since the last call is 0 or 1. */
bool qdma_interrupted(Qdma *x, uint32_t vector);
void qdma_queue_open(Qdma *x, QdmaQueue *k, uint32_t number, int dir, uint32_t entries);
/* Writes the software context; @set and @clear: bits of its second word. */
void qdma_queue_context(QdmaQueue *k, uint32_t set, uint32_t clear);
/* Writes a descriptor: @bus and @card are addresses, whatever the direction. */
void qdma_post(QdmaQueue *k, uint64_t bus, uint64_t card, uint32_t len);
/* Rings the doorbell, with the interrupt armed or not. */
void qdma_ring(QdmaQueue *k, bool arm);
/* The status at the end of the ring. */
uint64_t qdma_status(QdmaQueue *k);
/* Waits until all posted descriptors are complete. */
void qdma_wait(QdmaQueue *k);
/* Posts a descriptor, rings, and waits. */
void qdma_move(QdmaQueue *k, uint64_t bus, uint64_t card, uint32_t len);

#endif /* QTEST_ERNIC_QDMA_H */
