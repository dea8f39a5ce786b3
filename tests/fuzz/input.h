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
/* A time, as a number and how far to shift it. */
uint64_t fuzz_ns(FuzzIn *in);
void fuzz_bytes(FuzzIn *in, void *to, size_t len);
/* The next record of @in; false: none is left. */
bool fuzz_record(FuzzIn *in, uint8_t *kind, FuzzIn *record);
/*
 * For each of the first @most records call the step of its kind, if there is one, and
 * @check.
 */
typedef void FuzzStep(FuzzIn *in);
void fuzz_records(const uint8_t *data, size_t size, uint32_t most,
                  FuzzStep *const *steps, uint32_t num_steps, void (*check)(void));

/* A small generator: the same seed, the same numbers. */
typedef struct FuzzRng {
    uint64_t state;
} FuzzRng;

/* 0 to @n - 1. */
uint32_t fuzz_rand(FuzzRng *rng, uint32_t n);

/* A record under construction. */
typedef struct FuzzOut {
    uint8_t data[FUZZ_RECORD_MAX];
    size_t len;
} FuzzOut;

/* Append numbers of @bytes each. */
#define fuzz_put(out, bytes, ...)                                       \
    fuzz_put_all(out, bytes, (const uint64_t[]) { __VA_ARGS__ },        \
                 sizeof((const uint64_t[]) { __VA_ARGS__ }) / 8)
void fuzz_put_all(FuzzOut *out, uint32_t bytes, const uint64_t *value, uint32_t n);
/* Append @n bytes: one in @odds is any, and the others are below @limit. */
void fuzz_put_bytes(FuzzOut *out, FuzzRng *rng, uint32_t n, uint32_t odds,
                    uint32_t limit);
/*
 * Each target with mutator.c has this: the payload of a plausible record; its kind is
 * returned.
 */
uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out);

/* Functions of libFuzzer. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len,
                                 const uint8_t *b, size_t b_len, uint8_t *out,
                                 size_t max, unsigned seed);

#endif /* FUZZ_INPUT_H */
