/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The target "ernic" without libFuzzer, in an ordinary build of QEMU by any compiler.
 * It runs inputs from files, and then inputs that it mutates itself.
 *
 * usage: ernic-replay --fuzz-target=ernic CURRENT SEED NUMBER FILE...
 *
 * CURRENT is a file that has the input in progress, also after a crash. An input that
 * takes longer than MAX_SECONDS ends the program.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <sys/mman.h>
#ifdef ERNIC_GCOV
#include <gcov.h>
#endif
#include "tests/qtest/fuzz/fuzz.h"
#include "target.h"

#define MAX_SECONDS     60
#define MAX_FILE        (64 * 1024)
/* Bytes of a mutated input: most of a long one only repeats what its start does. */
#define MAX_MUTATED     4096
#define MAX_CHANGES     8

/* ---- mutations ------------------------------------------------------------------- */

static GByteArray *copy(const GByteArray *from, size_t most)
{
    GByteArray *to = g_byte_array_new();

    return g_byte_array_append(to, from->data, MIN(from->len, most));
}

/* The start of an operation, at random: after a separator, or the input's start. */
static size_t some_op(GRand *r, const GByteArray *input)
{
    size_t from = g_rand_int_range(r, 0, input->len);
    uint8_t *at = memmem(input->data + from, input->len - from, FUZZ_SEPARATOR,
                         strlen(FUZZ_SEPARATOR));

    return at ? at - input->data + strlen(FUZZ_SEPARATOR) : 0;
}

static size_t op_end(const GByteArray *input, size_t start)
{
    uint8_t *at = memmem(input->data + start, input->len - start, FUZZ_SEPARATOR,
                         strlen(FUZZ_SEPARATOR));

    return at ? at - input->data + strlen(FUZZ_SEPARATOR) : input->len;
}

static void change_byte(GRand *r, GByteArray *input, const GByteArray *other)
{
    static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
    size_t at = g_rand_int_range(r, 0, input->len);

    input->data[at] = g_rand_boolean(r) ? g_rand_int(r)
                                        : values[g_rand_int_range(r, 0, 5)];
}

static void change_word(GRand *r, GByteArray *input, const GByteArray *other)
{
    static const uint32_t values[] = { 1, 0x10000, 0x7fffffff, 0x80000000, UINT32_MAX };
    size_t at = g_rand_int_range(r, 0, input->len);

    if (at + 4 <= input->len) {
        stl_le_p(input->data + at, ldl_le_p(input->data + at) +
                 values[g_rand_int_range(r, 0, ARRAY_SIZE(values))]);
    }
}

static void remove_op(GRand *r, GByteArray *input, const GByteArray *other)
{
    size_t start = some_op(r, input), end = op_end(input, start);

    if (end - start < input->len) {
        g_byte_array_remove_range(input, start, end - start);
    }
}

/* An operation of @from comes before another of @input. */
static void insert(GRand *r, GByteArray *input, const GByteArray *from)
{
    size_t start = some_op(r, from), len = op_end(from, start) - start;
    size_t at = some_op(r, input), left = input->len - at;
    g_autofree uint8_t *op = g_memdup2(from->data + start, len);

    if (len >= strlen(FUZZ_SEPARATOR) && input->len + len <= MAX_MUTATED) {
        g_byte_array_set_size(input, input->len + len);
        memmove(input->data + at + len, input->data + at, left);
        memcpy(input->data + at, op, len);
    }
}

static void repeat_op(GRand *r, GByteArray *input, const GByteArray *other)
{
    insert(r, input, input);
}

static void other_op(GRand *r, GByteArray *input, const GByteArray *other)
{
    insert(r, input, other);
}

static void (*const changes[])(GRand *r, GByteArray *input, const GByteArray *other) = {
    change_byte, change_byte, change_word, remove_op, repeat_op, other_op,
};

static GByteArray *mutate(GRand *r, GPtrArray *inputs)
{
    const GByteArray *other = inputs->pdata[g_rand_int_range(r, 0, inputs->len)];
    GByteArray *input = copy(inputs->pdata[g_rand_int_range(r, 0, inputs->len)],
                             MAX_MUTATED);
    int n = g_rand_int_range(r, 1, MAX_CHANGES + 1);

    while (n--) {
        changes[g_rand_int_range(r, 0, ARRAY_SIZE(changes))](r, input, other);
    }
    return input;
}

/* ---- inputs ---------------------------------------------------------------------- */

/* The file @fd gets the input first. */
static void run(int fd, const GByteArray *input)
{
    if (ftruncate(fd, 0) || pwrite(fd, input->data, input->len, 0) != input->len) {
        perror("the file of the input in progress");
        exit(1);
    }
    alarm(MAX_SECONDS);
    LLVMFuzzerTestOneInput(input->data, input->len);
    alarm(0);
}

static GPtrArray *read_files(int num, char **names)
{
    GPtrArray *inputs = g_ptr_array_new();
    g_autoptr(GError) err = NULL;
    char *data;
    gsize len;

    for (int i = 0; i < num; i++) {
        if (!g_file_get_contents(names[i], &data, &len, &err)) {
            fprintf(stderr, "%s\n", err->message);
            exit(1);
        }
        if (len && len <= MAX_FILE) {
            g_ptr_array_add(inputs, g_byte_array_new_take((guint8 *)data, len));
        }
    }
    return inputs;
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) inputs = NULL;
    g_autoptr(GRand) r = NULL;
    GByteArray *input;
    int fd, i, number;

    if (argc < 6) {
        fprintf(stderr, "usage: %s --fuzz-target=ernic CURRENT SEED NUMBER FILE...\n",
                argv[0]);
        return 2;
    }
    inputs = read_files(argc - 5, argv + 5);
    fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    r = g_rand_new_with_seed(strtoul(argv[3], NULL, 0));
    number = atoi(argv[4]);
    LLVMFuzzerInitialize(&argc, &argv, NULL);
    for (i = 0; i < inputs->len; i++) {
        run(fd, inputs->pdata[i]);
    }
    for (i = 0; i < number; i++) {
        input = mutate(r, inputs);
        run(fd, input);
        g_byte_array_unref(input);
    }
    printf("%d executions\n", (int)inputs->len + number);
    fflush(NULL);
    /* Its machine has threads that exit handlers would wait for. */
#ifdef ERNIC_GCOV
    __gcov_dump();
#endif
    _exit(0);
}
