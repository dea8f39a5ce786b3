/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Fuzz input as a sequence of records: kind (1 byte), length (2 bytes, little-
 * endian), that many bytes. Missing bytes read as 0, so that every
 * input means something; the mutator keeps the records whole.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#define FUZZ_RECORD_HEAD 3
#define FUZZ_RECORD_MAX  4096

typedef struct FuzzIn {
    const uint8_t *p;
    size_t left;
} FuzzIn;

uint8_t fuzz_u8(FuzzIn *in);
uint16_t fuzz_u16(FuzzIn *in);
uint32_t fuzz_u32(FuzzIn *in);
uint64_t fuzz_u64(FuzzIn *in);
void fuzz_bytes(FuzzIn *in, void *to, size_t len);
/* The next record of @in; false: none is left. */
bool fuzz_record(FuzzIn *in, uint8_t *kind, FuzzIn *record);

/* A small generator: the same seed, the same numbers. */
typedef struct FuzzRng {
    uint64_t state;
} FuzzRng;

/* 0 to @n - 1. */
uint32_t fuzz_rand(FuzzRng *rng, uint32_t n);

/* A record under construction; emptied by fuzz_put_record(). */
typedef struct FuzzOut {
    uint8_t data[FUZZ_RECORD_MAX];
    size_t len;
} FuzzOut;

void fuzz_put(FuzzOut *out, uint64_t value, uint32_t bytes);
/* Append @out as a record of @kind to @to. */
void fuzz_put_record(GByteArray *to, uint8_t kind, FuzzOut *out);

/* The payload of a plausible record; its kind is returned. */
typedef uint8_t FuzzMake(FuzzRng *rng, FuzzOut *out);
/* The target's own, for mutator.c. */
FuzzMake fuzz_make;

/* LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver over records. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
                   FuzzMake *make);
size_t fuzz_cross(const uint8_t *a, size_t a_len, const uint8_t *b,
                  size_t b_len, uint8_t *out, size_t max, unsigned seed);

/* Of libFuzzer. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len,
                                 const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t max, unsigned seed);

#endif /* FUZZ_INPUT_H */
