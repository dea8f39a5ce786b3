/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface as the interface of an engine: registers of BAR 0, and commands that
 * the engine executes in slices of its work.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "fake_verbs.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/init_segment.h"
#include "mlx5_commands.h"
#include "mlx5_decode.h"
#include "mlx5_software.h"
#include "test.h"

/* Bytes in the initialization segment. */
enum {
    FW_REV = 0x0, CMDIF_REV = 0x4, QUEUE_HIGH = 0x10, QUEUE_LOW = 0x14, DOORBELL = 0x18,
    INITIALIZING = 0x1fc, TIMER_HIGH = 0x1000, HEALTH = 0x1010,
};

typedef struct Fixture {
    FakeEnv env;
    Ernic *e;
    uint64_t page;              /* of the command queue */
} Fixture;

static const ErnicMlx5Config config = { .max_mtu = 9022, .link_up = true };

static uint32_t get(Fixture *f, uint32_t offset)
{
    return ernic_bar_read(f->e, f->env.now, offset, 4);
}

static void put(Fixture *f, uint32_t offset, uint32_t value)
{
    ernic_bar_write(f->e, f->env.now, offset, 4, value);
}

static void setup(Fixture *f)
{
    f->e = FAKE_ERNIC(&f->env, cfg.mlx5 = &config);
    f->page = mlx5_queue_page(&f->env);
    put(f, QUEUE_HIGH, f->page >> 32);
    put(f, QUEUE_LOW, f->page);
}

static void run(Fixture *f)
{
    do {
        ernic_run(f->e, f->env.now);
    } while (f->env.wake <= f->env.now);
}

/*
 * Execute the command with the fields of @text, and @n page addresses after them, as
 * entry 7. Returns the syndrome; @result, if not NULL, gets @field of the answer.
 */
static uint32_t command_with(Fixture *f, uint16_t opcode, const char *text, uint64_t page,
                             uint32_t n, const ErnicMlx5Field *field, uint32_t *result)
{
    const Mlx5Command *c = mlx5_command_find(opcode);
    uint32_t at = c->in->bits / 8, len = at + n * 8;
    g_autofree uint8_t *in = g_malloc0(len);
    g_autofree uint8_t *out = NULL;
    Mlx5Posted p;

    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, opcode);
    g_assert_true(mlx5_encode(c->in, text, in, in, at));
    for (uint32_t i = 0; i < n; i++) {
        stq_be_p(in + at + i * 8, page + i * 4096);
    }
    p = mlx5_post(&f->env, f->page, 7, in, len, c->out->bits / 8);
    put(f, DOORBELL, 1u << 7);
    g_assert_false(mlx5_is_done(&f->env, &p));
    run(f);
    g_assert_true(mlx5_is_done(&f->env, &p));
    IS(mlx5_status(&f->env, &p), ERNIC_MLX5_DELIVERY_OK);
    out = mlx5_answer(&f->env, &p);
    if (result) {
        *result = ernic_mlx5_get(out, field);
    }
    return ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome);
}

static uint32_t command(Fixture *f, uint16_t opcode)
{
    return command_with(f, opcode, "", 0, 0, NULL, NULL);
}

#define ACCEPT(f, opcode) IS(command(f, opcode), ERNIC_MLX5_ACCEPTED)

/* The driver reads this before its first command. */
ENGINE_TEST("/mlx5/interface/segment", test_segment)
{
    g_assert_true(f->e->interface == &ernic_interface_mlx5);
    IS(get(f, FW_REV), 1);             /* major 1, minor 0 */
    IS(get(f, CMDIF_REV), 5 << 16);
    IS(ernic_bar_read(f->e, f->env.now, FW_REV, 8), 1ull << 32 | 5 << 16);
    IS(get(f, QUEUE_HIGH), f->page >> 32);
    IS(get(f, QUEUE_LOW), (uint32_t)f->page | 5 << 4 | 6);
    IS(get(f, INITIALIZING), 0);
    IS(ernic_bar_read(f->e, f->env.now, TIMER_HIGH, 8), f->env.now);
    /* Doorbell pages, and what lies beyond the BAR. */
    IS(get(f, 16 * 4096 + 0x20), 0);
    IS(get(f, ERNIC_MLX5_BAR_SIZE), 0);
}

/* The driver looks every two seconds, and finds another value. */
ENGINE_TEST("/mlx5/interface/health", test_health)
{
    uint32_t before = get(f, HEALTH), after, i;

    for (i = 0; i < 100; i++) {
        f->env.now += 2000000000;
        after = get(f, HEALTH);
        g_assert_cmphex(after, !=, before);
        IS(after >> 24, 0);
        before = after;
    }
}

/* Stores without meaning change nothing. */
ENGINE_TEST("/mlx5/interface/bad-writes", test_bad_writes)
{
    static const uint32_t offsets[] = {
        0x0, 0x4, 0x1c, 0x1fc, 0x1000, 0x3ffc, 15 * 4096 + 0x40,
        16 * 4096 + 0x40, 16 * 4096 + 0x800, 1023 * 4096 + 0xffc,
        ERNIC_MLX5_BAR_SIZE, 0xfffffff8,
    };
    g_autofree ErnicMlx5 *before = g_memdup2(f->e->mlx5, sizeof(*before));

    for (uint32_t i = 0; i < ARRAY_SIZE(offsets); i++) {
        put(f, offsets[i], 0xffffffff);
        if (offsets[i] % 8 == 0) {
            ernic_bar_write(f->e, f->env.now, offsets[i], 8, UINT64_MAX);
        }
    }
    g_assert_cmpmem(f->e->mlx5, sizeof(*before), before, sizeof(*before));
    IS(f->env.reads + f->env.writes, 0);
}

enum { UAR = 16, EQ_ARM = UAR * 4096 + 0x40, EQ_SET = UAR * 4096 + 0x48 };

typedef struct Queue {
    uint32_t eqn, log_size, ci;
    uint64_t buf;
} Queue;

static void start(Fixture *f)
{
    ACCEPT(f, 0x104);
    ACCEPT(f, 0x102);
    ACCEPT(f, 0x802);
}

/* @words: of mlx5_lines(). */
static uint32_t create_eq(Fixture *f, Queue *q, const char *words, uint32_t pages)
{
    g_autofree char *fields = mlx5_lines("", words, "eq_context_entry");

    return command_with(f, 0x301, fields, q->buf, pages,
                        &ernic_mlx5_create_eq_out.eq_number, &q->eqn);
}

/* A queue whose entries software owns, as the driver prepares it. */
static void make_eq(Fixture *f, Queue *q, uint32_t log_size, uint64_t mask,
                    uint32_t vector)
{
    g_autofree char *fields = g_strdup_printf(".log_eq_size=%u,.uar_page=16,.intr=%u,"
        "event_bitmask[0]=%#" PRIx64, log_size, vector, mask);
    uint32_t i, pages = DIV_ROUND_UP(64u << log_size, 4096);

    *q = (Queue) { .log_size = log_size, .buf = fake_alloc(&f->env, pages * 4096, 4096) };
    for (i = 0; i < 1u << log_size; i++) {
        *(uint8_t *)fake_ptr(&f->env, q->buf + i * 64 + 63, 1) = 1;
    }
    IS(create_eq(f, q, fields, pages), ERNIC_MLX5_ACCEPTED);
}

/* The next entry, if the device has written it. */
static const uint8_t *next_entry(Fixture *f, Queue *q)
{
    uint32_t size = 1u << q->log_size;
    const uint8_t *entry = fake_ptr(&f->env, q->buf + (q->ci % size) * 64, 64);

    if ((entry[63] ^ (q->ci >> q->log_size)) & 1) {
        return NULL;
    }
    q->ci++;
    return entry;
}

/* The command of entry 7 has completed. */
static void check_command(const uint8_t *entry)
{
    g_assert_nonnull(entry);
    IS(entry[1], 0x0a);
    IS(ldl_be_p(entry + 32), 1u << 7);
}

static void ring(Fixture *f, const Queue *q, bool arm)
{
    put(f, arm ? EQ_ARM : EQ_SET, q->eqn << 24 | (q->ci & 0xffffff));
}

/* Commands by event: an entry for each, an interrupt only for one that was armed. */
ENGINE_TEST("/mlx5/interface/command-events", test_command_events)
{
    Queue q;

    start(f);
    make_eq(f, &q, 2, 1 << 0x0a, 3);
    g_assert_null(next_entry(f, &q));                   /* CREATE_EQ was polled */
    IS(f->env.irqs->len, 0);
    ring(f, &q, true);
    IS(f->env.irqs->len, 0);
    for (uint32_t i = 0; i < 20; i++) {
        g_array_set_size(f->env.irqs, 0);
        ACCEPT(f, 0x10a);
        IS(f->env.irqs->len, 1);
        IS(g_array_index(f->env.irqs, uint16_t, 0), 3);
        ACCEPT(f, 0x10a);
        IS(f->env.irqs->len, 1);
        check_command(next_entry(f, &q));
        ring(f, &q, true);                              /* one is left: at once */
        IS(f->env.irqs->len, 2);
        check_command(next_entry(f, &q));
        g_assert_null(next_entry(f, &q));
        ring(f, &q, false);
        ring(f, &q, true);
        IS(f->env.irqs->len, 2);
    }
}

/* A doorbell page that nobody has rings nothing, not even the queue of its neighbour. */
ENGINE_TEST("/mlx5/interface/pages", test_pages)
{
    Queue q;

    start(f);
    make_eq(f, &q, 2, 1 << 0x0a, 3);
    put(f, EQ_ARM + 4096, q.eqn << 24);
    IS(f->e->stats.bad_doorbells, 0);                   /* it is no doorbell */
    ACCEPT(f, 0x10a);
    IS(f->env.irqs->len, 0);
    ring(f, &q, true);
    IS(f->env.irqs->len, 1);
}

/* A queue obeys its own page alone: a process has no other one than its own. */
ENGINE_TEST("/mlx5/interface/foreign-page", test_foreign_page)
{
    static const uint32_t stores[] = { EQ_ARM + 4096, EQ_SET + 4096 };
    Queue q;

    start(f);
    IS(command(f, 0x802), ERNIC_MLX5_ACCEPTED);         /* a second page */
    make_eq(f, &q, 2, 1 << 0x0a, 3);
    IS(command(f, 0x10a), ERNIC_MLX5_ACCEPTED);
    IS(command(f, 0x10a), ERNIC_MLX5_ACCEPTED);
    for (uint32_t i = 0; i < ARRAY_SIZE(stores); i++) {
        put(f, stores[i], q.eqn << 24 | 2);
        IS(f->e->eq[q.eqn].ci, 0);
        IS(f->env.irqs->len, 0);
        IS(f->e->stats.bad_doorbells, i + 1);
    }
    check_command(next_entry(f, &q));
    check_command(next_entry(f, &q));
    ring(f, &q, true);
    IS(f->e->eq[q.eqn].ci, 2);
}

/* A full queue takes no more; completions that follow share one entry later. */
ENGINE_TEST("/mlx5/interface/full", test_full)
{
    Queue q;

    start(f);
    make_eq(f, &q, 1, 1 << 0x0a, 0);
    for (uint32_t i = 0; i < 5; i++) {
        ACCEPT(f, 0x10a);
    }
    IS(f->e->eq[q.eqn].pi, 2);
    check_command(next_entry(f, &q));
    check_command(next_entry(f, &q));
    g_assert_null(next_entry(f, &q));
    ring(f, &q, false);
    check_command(next_entry(f, &q));
    g_assert_null(next_entry(f, &q));
}

/* The health buffer names the error of an event queue that cannot be written. */
ENGINE_TEST("/mlx5/interface/syndrome", test_syndrome)
{
    enum { FW_VERSION = 0x230, SYNDROME = 0x23c };
    Queue q;

    start(f);
    make_eq(f, &q, 4, 1 << 0x09, 0);
    ernic_set_link(f->e, f->env.now, true);
    IS(get(f, FW_VERSION), get(f, FW_REV));
    IS(get(f, SYNDROME), 0);
    fake_fail_dma(&f->env, 1, true);
    ernic_set_link(f->e, f->env.now, false);
    fake_fail_dma(&f->env, 0, false);
    g_assert_true(f->e->eq[q.eqn].broken);
    IS(get(f, SYNDROME), 0x0d << 16);
    ACCEPT(f, 0x103);
    IS(get(f, SYNDROME), 0);
}

static const struct {
    const char *fields;
    uint32_t pages;
    ErnicMlx5Refusal refusal;
} bad_queues[] = {
    { ".log_eq_size=4", 1, ERNIC_MLX5_BAD_UAR },
    { ".log_eq_size=4,.uar_page=0xffffff", 1, ERNIC_MLX5_BAD_UAR },
    { ".uar_page=16", 1, ERNIC_MLX5_BAD_VALUE },
    { ".log_eq_size=17,.uar_page=16", 1, ERNIC_MLX5_BAD_VALUE },
    { ".log_eq_size=31,.uar_page=16", 1, ERNIC_MLX5_BAD_VALUE },
    { ".log_eq_size=4,.uar_page=16,.intr=8", 1, ERNIC_MLX5_BAD_VALUE },
    { ".log_eq_size=4,.uar_page=16,.log_page_size=31", 1, ERNIC_MLX5_BAD_VALUE },
    { ".log_eq_size=4,.uar_page=16", 0, ERNIC_MLX5_SHORT_MESSAGE },
    { ".log_eq_size=6,.uar_page=16,.page_offset=1", 1, ERNIC_MLX5_SHORT_MESSAGE },
    { ".log_eq_size=4,.uar_page=16,event_bitmask[0]=0x400", 1, ERNIC_MLX5_BUSY },
    { ".log_eq_size=4,.uar_page=16,event_bitmask[0]=0x200", 1, ERNIC_MLX5_BUSY },
};

ENGINE_TEST("/mlx5/interface/bad-queues", test_bad_queues)
{
    Queue q, bad = { .buf = FAKE_MEM_BASE };
    uint32_t left;

    start(f);
    make_eq(f, &q, 4, 1 << 0x0a | 1 << 0x09, 0);
    left = f->e->eq_ids.count;
    for (uint32_t i = 0; i < ARRAY_SIZE(bad_queues); i++) {
        g_test_message("%s", bad_queues[i].fields);
        IS(create_eq(f, &bad, bad_queues[i].fields, bad_queues[i].pages),
           bad_queues[i].refusal);
    }
    for (uint32_t i = 0; i < left; i++) {
        make_eq(f, &bad, 1, 0, 0);
    }
    IS(create_eq(f, &bad, ".log_eq_size=4,.uar_page=16", 1), ERNIC_MLX5_NO_RESOURCE);
    IS(command_with(f, 0x302, "eq_number=0", 0, 0, NULL, NULL), ERNIC_MLX5_NO_OBJECT);
    IS(command_with(f, 0x302, "eq_number=255", 0, 0, NULL, NULL), ERNIC_MLX5_NO_OBJECT);
}

/* TEARDOWN_HCA destroys every object; the driver can initialize the function again. */
ENGINE_TEST("/mlx5/interface/teardown", test_teardown)
{
    uint32_t free_eqs = f->e->eq_ids.count;
    Queue q;

    ernic_set_link(f->e, f->env.now, true);
    ACCEPT(f, 0x104);
    for (uint32_t round = 0; round < 3; round++) {
        ACCEPT(f, 0x102);
        ACCEPT(f, 0x802);
        make_eq(f, &q, 4, 1 << 0x0a | 1 << 0x09, 0);
        IS(f->e->num_pages, 1);
        ACCEPT(f, 0x103);
        IS(f->e->num_pages, 0);
        IS(f->e->eq_ids.count, free_eqs);
        IS(f->e->mlx5->command_eq, 0);
        g_assert_true(f->e->port_active);
        /* A doorbell of the past. */
        ring(f, &q, true);
    }
}

/* Software that disables the interface gets no more accesses to its memory. */
ENGINE_TEST("/mlx5/interface/interface", test_interface)
{
    uint64_t accesses;
    Queue q;

    start(f);
    make_eq(f, &q, 4, 1 << 0x0a | 1 << 0x09, 0);
    put(f, QUEUE_LOW, f->page | 1 << 8);
    IS(get(f, QUEUE_LOW), (uint32_t)f->page | 5 << 4 | 6);      /* objects are left */
    run(f);
    IS(get(f, QUEUE_LOW), (uint32_t)f->page | 1 << 8 | 5 << 4 | 6);
    IS(f->e->num_pages, 0);
    accesses = f->env.reads + f->env.writes;
    put(f, DOORBELL, UINT32_MAX);
    ernic_set_link(f->e, f->env.now, true);
    run(f);
    IS(f->env.reads + f->env.writes, accesses);
    put(f, QUEUE_LOW, f->page);
    start(f);
}

/* A kernel that starts after a crash finds a function that runs, and makes it its own. */
ENGINE_TEST("/mlx5/interface/crash", test_crash)
{
    uint64_t accesses;
    Queue q;

    start(f);
    make_eq(f, &q, 4, 1 << 0x0a | 1 << 0x09, 0);
    f->page = mlx5_queue_page(&f->env);
    put(f, QUEUE_HIGH, f->page >> 32);
    put(f, QUEUE_LOW, f->page);
    run(f);
    IS(f->e->num_pages, 0);
    accesses = f->env.reads + f->env.writes;
    ernic_set_link(f->e, f->env.now, true);
    run(f);
    IS(f->env.reads + f->env.writes, accesses);
    start(f);
    make_eq(f, &q, 4, 1 << 0x0a | 1 << 0x09, 0);
}

/* The interface is disabled after a reset, so that a driver finds out. */
ENGINE_TEST("/mlx5/interface/reset", test_reset)
{
    start(f);
    IS(get(f, QUEUE_LOW) & 7 << 8, 0);
    ernic_reset_at_once(f->e);
    IS(get(f, QUEUE_LOW), 1 << 8 | 5 << 4 | 6);
    put(f, QUEUE_HIGH, f->page >> 32);
    put(f, QUEUE_LOW, f->page);
    IS(get(f, QUEUE_LOW), (uint32_t)f->page | 5 << 4 | 6);
    start(f);
}

/*
 * A reset right after TEARDOWN_HCA, before software accesses the BAR again: the interface
 * is disabled, and neither the answer nor the next command is left to be done.
 */
ENGINE_TEST("/mlx5/interface/reset-after-teardown", test_reset_after_teardown)
{
    const Mlx5Command *c = mlx5_command_find(0x103);
    g_autofree uint8_t *in = g_malloc0(c->in->bits / 8);
    uint64_t accesses;
    Mlx5Posted p[2];

    start(f);
    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, 0x103);
    for (uint32_t i = 0; i < 2; i++) {
        p[i] = mlx5_post(&f->env, f->page, i, in, c->in->bits / 8, c->out->bits / 8);
    }
    put(f, DOORBELL, 3);
    ernic_run(f->e, f->env.now);
    IS(f->e->mlx5->function.state, ERNIC_MLX5_ENABLED);
    g_assert_false(mlx5_is_done(&f->env, &p[0]));
    ernic_reset_at_once(f->e);
    accesses = f->env.reads + f->env.writes;
    run(f);
    IS(f->env.reads + f->env.writes, accesses);
    g_assert_false(mlx5_is_done(&f->env, &p[0]));
    g_assert_false(mlx5_is_done(&f->env, &p[1]));
    IS(get(f, QUEUE_LOW), 1 << 8 | 5 << 4 | 6);
    IS(f->e->mlx5->function.state, ERNIC_MLX5_DISABLED);
}

/* Every status of the engine is a reason to refuse a command. */
TEST("/mlx5/interface/status", test_status)
{
    IS(ernic_mlx5_refusal(ERNIC_OK), ERNIC_MLX5_ACCEPTED);
    IS(ernic_mlx5_refusal(ERNIC_AGAIN), ERNIC_MLX5_AGAIN);
    for (uint8_t status = 1; status <= ERNIC_ERR_FULL; status++) {
        g_assert_cmpint(ernic_mlx5_refusal(status), >, ERNIC_MLX5_ACCEPTED);
        g_assert_cmpint(ernic_mlx5_refusal(status), <, ERNIC_MLX5_REFUSALS);
    }
}
