/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands of the mlx5 interface: entries, mailboxes and messages in a small guest
 * memory, doorbells, and accesses that fail. The device may write answers only, and
 * every answer must have a status that the interface knows.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "harness.h"
#include "input.h"
#include "interfaces/mlx5/command/queue.h"
#include "mlx5_commands.h"
#include "interfaces/mlx5/command/function.h"

#define MEM     (64u << 10)
#define BASE    0x700000000ull
#define PAGE    0               /* of entries; mailboxes follow it */
#define BOX(n)  (4096u + (n) * 1024u)
#define BOXES   ((MEM - 4096) / 1024)

/* Steps in which any command must end: the longest message each way. */
#define STEPS   (3 * ERNIC_MLX5_MESSAGE_MAX / ERNIC_MLX5_BOX_DATA)

enum { PATCH, POST, RING, RUN, RESET, FAIL, KINDS };

typedef struct Host {
    uint8_t mem[MEM];
    uint32_t fail_in;           /* the access that fails; 0: none */
    ErnicMem account;
    ErnicMlx5CommandQueue q;
    ErnicMlx5Function f;
} Host;

static uint8_t *reach(Host *h, uint64_t addr, uint64_t len)
{
    if (h->fail_in && !--h->fail_in) {
        return NULL;
    }
    return addr >= BASE && len <= MEM && addr - BASE <= MEM - len ?
           h->mem + (addr - BASE) : NULL;
}

static bool dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    const uint8_t *p = reach(env, addr, len);

    if (p) {
        memcpy(buf, p, len);
    }
    return p;
}

/* Answers go to mailboxes, and to the two parts of an entry that are the device's. */
static bool dma_write(void *env, uint64_t addr, const void *buf, uint64_t len)
{
    Host *h = env;
    uint8_t *p = reach(h, addr, len);
    uint64_t in_entry = (addr - h->q.addr) + fuzz_break("mlx5-write");
    bool answer = in_entry == 32 && len == 16, tail = in_entry == 60 && len == 4;

    if (h->q.stage == ERNIC_MLX5_QUEUE_WRITE && !fuzz_break("mlx5-write") &&
        addr % ERNIC_MLX5_BOX_ALIGN == 0 && len <= ERNIC_MLX5_BOX_DATA) {
        answer = true;
    }
    if (!answer && !tail) {
        fuzz_fail("mlx5-write", "%" PRIu64 " bytes at %#" PRIx64, len, addr);
    }
    if (p) {
        memcpy(p, buf, len);
    }
    return p;
}

static const ErnicEnvOps ops = { .dma_read = dma_read, .dma_write = dma_write };

/* Limits that no command may break. */
static void check_function(const ErnicMlx5Function *f)
{
    for (uint32_t i = 0; i < ERNIC_MLX5_LISTS; i++) {
        if (f->vport.num[i] > (i == ERNIC_MLX5_LIST_VLAN ? ERNIC_MLX5_VLAN_MAX :
                                                           ERNIC_MLX5_LIST_MAX) ||
            fuzz_break("mlx5-function")) {
            fuzz_fail("mlx5-function", "list %u has %u entries", i, f->vport.num[i]);
        }
    }
    for (uint32_t i = 0; i < ernic_mlx5_num_capabilities; i++) {
        if (f->capabilities.value[i] >
            ernic_mlx5_capability_most(&f->capabilities, i)) {
            fuzz_fail("mlx5-function", "capability %u is %u", i,
                      f->capabilities.value[i]);
        }
    }
}

static bool execute(void *opaque, const uint8_t *in, uint32_t in_len, uint8_t *out,
                    uint32_t out_len)
{
    Host *h = opaque;
    uint32_t refusal;

    if (!ernic_mlx5_function_execute(&h->f, in, in_len, out, out_len)) {
        return false;
    }
    refusal = ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome);
    if (refusal >= ERNIC_MLX5_REFUSALS || fuzz_break("mlx5-status") ||
        out[0] != ernic_mlx5_statuses[refusal].status) {
        fuzz_fail("mlx5-status", "status %#x, syndrome %u", out[0], refusal);
    }
    check_function(&h->f);
    return true;
}

/* A well-formed command; the rest of the record is its message. */
static void post(Host *h, FuzzIn *in)
{
    uint32_t number = fuzz_u8(in) % 32, first = fuzz_u8(in) % BOXES, n, at;
    uint16_t opcode = mlx5_commands[fuzz_u8(in) % mlx5_num_commands].opcode;
    uint16_t op_mod = fuzz_u8(in);
    uint32_t in_len = 16 + fuzz_u16(in) % 8192, out_len = 16 + fuzz_u16(in) % 8192;
    uint8_t *entry = h->mem + PAGE + number * ERNIC_MLX5_ENTRY_SIZE;

    memset(entry, 0, ERNIC_MLX5_ENTRY_SIZE);
    entry[0] = 7;
    stl_be_p(entry + 4, in_len);
    stq_be_p(entry + 8, BASE + BOX(first));
    stq_be_p(entry + 48, BASE + BOX(first));
    stl_be_p(entry + 56, out_len);
    entry[60] = number;
    entry[63] = 1;
    stw_be_p(entry + 16, opcode);
    stw_be_p(entry + 22, op_mod);
    fuzz_bytes(in, entry + 24, 8);
    /* Both messages share the mailboxes, which is a case of its own. */
    for (n = 0, at = 16; first + n < BOXES && at < MAX(in_len, out_len); n++) {
        uint8_t *box = h->mem + BOX(first + n);

        memset(box, 0, ERNIC_MLX5_BOX_SIZE);
        fuzz_bytes(in, box, MIN(in->left, ERNIC_MLX5_BOX_DATA));
        stq_be_p(box + 560, BASE + BOX(first + n + 1));
        stl_be_p(box + 568, n);
        box[573] = number;
        at += ERNIC_MLX5_BOX_DATA;
    }
    ernic_mlx5_command_queue_ring(&h->q, 1u << number);
}

static void patch(Host *h, FuzzIn *in)
{
    uint32_t at = fuzz_u16(in) % MEM, len = MIN(in->left, MEM - at);

    fuzz_bytes(in, h->mem + at, len);
}

static void run(Host *h, uint32_t steps)
{
    for (; steps && ernic_mlx5_command_queue_has_work(&h->q); steps--) {
        ernic_mlx5_command_queue_step(&h->q);
    }
}

static void step(Host *h, uint8_t kind, FuzzIn *in)
{
    switch (kind % KINDS) {
    case PATCH:
        patch(h, in);
        break;
    case POST:
        post(h, in);
        break;
    case RING:
        ernic_mlx5_command_queue_ring(&h->q, fuzz_u32(in));
        break;
    case RUN:
        run(h, fuzz_u8(in));
        break;
    case RESET:
        ernic_mlx5_command_queue_reset(&h->q);
        ernic_mlx5_function_reset(&h->f);
        h->q.base = BASE + PAGE;
        break;
    case FAIL:
        h->fail_in = fuzz_u8(in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };
    FuzzIn in = { data, size }, record;
    Host *h = g_new0(Host, 1);
    uint8_t kind;

    h->account.bound = 2 * ERNIC_MLX5_MESSAGE_MAX;
    ernic_mlx5_function_init(&h->f, NULL, &config);
    ernic_mlx5_command_queue_init(&h->q, &ops, h, &h->account, execute, h);
    h->q.base = BASE + PAGE;
    while (fuzz_record(&in, &kind, &record)) {
        step(h, kind, &record);
    }
    /* Each of the 32 entries may have the longest message. */
    run(h, 32 * STEPS);
    if (ernic_mlx5_command_queue_has_work(&h->q) || fuzz_break("mlx5-end")) {
        fuzz_fail("mlx5-end", "commands that do not end");
    }
    ernic_mlx5_command_queue_reset(&h->q);
    g_free(h);
    return 0;
}

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, 3) ? POST : fuzz_rand(rng, KINDS);

    if (kind == POST) {
        fuzz_put(out, 1, fuzz_rand(rng, 256), fuzz_rand(rng, BOXES),
                 fuzz_rand(rng, 256),
                 fuzz_rand(rng, 2) ? fuzz_rand(rng, 16) : 0);
        fuzz_put(out, 2, fuzz_rand(rng, 2) ? fuzz_rand(rng, 600) : 4096,
                 fuzz_rand(rng, 2) ? fuzz_rand(rng, 600) : 4096);
    }
    fuzz_put_bytes(out, rng, 8u << fuzz_rand(rng, 6), 3, 1);
    return kind;
}
