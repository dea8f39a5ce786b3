/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fuzz target "ernic" of QEMU's fuzzer: the machine, and what an input does to it.
 */
#ifndef ERNIC_FUZZ_TARGET_H
#define ERNIC_FUZZ_TARGET_H

#include "io/channel-buffer.h"
#include "migration/qemu-file.h"
#include "tests/qtest/libqtest.h"
#include "device/device.h"
#include "fabric/wire_device.h"

#define FUZZ_MAX_DEVICES    4
#define FUZZ_BARS           6
/* Separates the operations of an input. */
#define FUZZ_SEPARATOR      "FUZZ"
/* Bytes of guest RAM; the machine gets as much. */
#define FUZZ_RAM            (128 * 1024 * 1024)

/* The stream of a migration: the part of one device. */
typedef struct FuzzStream {
    QIOChannelBuffer *bytes;
    QEMUFile *f;                /* NULL: nothing */
    unsigned sections;          /* of page lists, which come before the state */
} FuzzStream;

typedef struct FuzzDevice {
    ErnicPci *d;
    uint64_t bar[FUZZ_BARS];    /* its address; 0: there is none */
    GString *peers;             /* what this input added or removed, with '+' between */
    FuzzStream ahead;           /* of the migration that this input has begun */
} FuzzDevice;

typedef struct FuzzMachine {
    QTestState *qts;
    FuzzDevice dev[FUZZ_MAX_DEVICES];
    unsigned num;
    ErnicWire *wire;            /* or NULL */
    uint8_t *ram;               /* its host address */
    bool config_written;        /* by this input: BARs may have moved */
    bool precopy;               /* this input has begun a migration */
} FuzzMachine;

/* Runs the main loop, and the iothreads, until nothing is left to do. */
void fuzz_settle(FuzzMachine *m);
/*
 * Runs the operation at @data of @len >= 1 bytes. False: it changed guest memory alone,
 * so that the device has nothing to do.
 */
bool fuzz_op(FuzzMachine *m, const uint8_t *data, size_t len);
/* Ends a migration that an input has begun. */
void fuzz_end_precopy(FuzzMachine *m);

#endif /* ERNIC_FUZZ_TARGET_H */
