/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ernic-strict for the QDMA: each rule is broken in turn, and no other with it.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "ernic-qdma-net.h"

#define STRICT      ",ernic-strict=report"
#define QUEUE       3
#define ENTRIES     16
#define INDEX       QUEUE           /* of the ring's size: qdma_queue_context() */
#define MASK        0x824
#define C2H_DOORBELL(q) (QDMA_DOORBELLS + (q) * 16 + 8)

/* A memory-mapped queue that is open, and a stream in both directions. */
typedef struct Rules {
    QdmaNet n;
    QdmaQueue k;
    QdmaStream s;
} Rules;

static void begin(Rules *w, const char *more)
{
    g_autofree char *all = g_strconcat(STRICT, more, NULL);

    qnet_open(&w->n, all);
    qdma_queue_open(&w->n.x, &w->k, QUEUE, QDMA_H2C, ENTRIES);
}

static void stream(Rules *w)
{
    qnet_stream(&w->n.x, &w->s, 0, QNET_EVERY, 0);
}

/* Enables the queue, which is not, with changes of its second word. */
static void enable(Rules *w, uint32_t set, uint32_t clear)
{
    qdma_command(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_CLEAR);
    qdma_queue_context(&w->k, set, clear);
}

static void post(Rules *w, uint32_t pi)
{
    w->k.pi = pi;
    qdma_ring(&w->k, false);
}

static void check(Rules *w, const char *name);

/* The arguments of a row. */
typedef uint32_t Args[2];

/* A register and its value. */
static void put(Rules *w, const Args arg)
{
    qdma_put(&w->n.x, arg[0], arg[1]);
}

/* The same with a stream that is open. */
static void put_streaming(Rules *w, const Args arg)
{
    stream(w);
    put(w, arg);
}

/* A stream without a context has buffers. */
static void no_context(Rules *w, const Args arg)
{
    stream(w);
    qdma_command(&w->n.x, arg[0], 0, QDMA_INVALIDATE);
    qdma_put(&w->n.x, C2H_DOORBELL(0), QNET_ENTRIES - 1);
}

static void ring_in_use(Rules *w, const Args arg)
{
    qdma_put(&w->n.x, 0x204 + INDEX * 4, ENTRIES + 1);
    qdma_put(&w->n.x, 0x204 + INDEX * 4, ENTRIES + 2);
}

static void masked(Rules *w, const Args arg)
{
    qdma_put(&w->n.x, MASK, 1);
    qdma_command(&w->n.x, QDMA_CREDIT, QUEUE, QDMA_WRITE);
}

static void still_enabled(Rules *w, const Args arg)
{
    qdma_queue_context(&w->k, 0, 0);
}

static void not_cleared(Rules *w, const Args arg)
{
    uint32_t words[8];

    qdma_read_context(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, words);
    qdma_command(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_CLEAR);
    qdma_write_context(&w->n.x, QDMA_HW + QDMA_H2C, QUEUE, (uint32_t[8]) { 1 });
    words[0] |= 1;
    qdma_write_context(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, words);
    check(w, NULL);
    post(w, 1);
}

/* Bits of the queue's second word. */
static void bits(Rules *w, const Args arg)
{
    enable(w, arg[0], 0);
}

static void ring_base(Rules *w, const Args arg)
{
    w->k.ring += 64;
    enable(w, 0, 0);
    w->k.ring -= 64;
}

static void function_map(Rules *w, const Args arg)
{
    qdma_command(&w->n.x, QDMA_FMAP, 0, QDMA_CLEAR);
    enable(w, 0, 0);
}

static void no_vector(Rules *w, const Args arg)
{
    uint32_t words[8];

    qdma_read_context(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, words);
    words[4] = 17;
    qdma_command(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_CLEAR);
    qdma_write_context(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, words);
}

static void ends_busy(Rules *w, const Args arg)
{
    qdma_write_context(&w->n.x, QDMA_HW + QDMA_H2C, QUEUE, (uint32_t[8]) { 1 });
    qdma_command(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_INVALIDATE);
}

static void post_disabled(Rules *w, const Args arg)
{
    qdma_command(&w->n.x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_INVALIDATE);
    post(w, 0);
}

static void pidx_range(Rules *w, const Args arg)
{
    post(w, ENTRIES);
}

static void overrun(Rules *w, const Args arg)
{
    qdma_move(&w->k, w->n.x.messages, 0, 64);
    qdma_move(&w->k, w->n.x.messages, 0, 64);
    qdma_write_context(&w->n.x, QDMA_HW + QDMA_H2C, QUEUE, (uint32_t[8]) { 0 });
    post(w, 1);
}

static void engine_stopped(Rules *w, const Args arg)
{
    qdma_put(&w->n.x, 0x1204, 0);
    post(w, 0);
}

static const struct {
    const char *rule;
    void (*act)(Rules *w, const Args arg);
    Args arg;
} rules[] = {
    { "qdma-no-register", put, { 0x300, 1 } },
    { "qdma-no-register", put, { 0x134, 1 } },          /* it is read-only */
    { "qdma-table-in-use", ring_in_use },
    { "qdma-table-in-use", put_streaming, { 0xab0, QNET_BUFFER / 2 } },
    { "qdma-mask", masked },
    { "qdma-still-enabled", still_enabled },
    { "qdma-not-cleared", not_cleared },
    { "qdma-error-bits", bits, { 1 << 26 } },
    { "qdma-ring-base", ring_base },
    { "qdma-ring-size", bits, { 0xf << 12 } },
    { "qdma-descriptor-size", bits, { 3 << 16 } },
    { "qdma-function-map", function_map },
    { "qdma-vector", no_vector },
    { "qdma-ends-busy", ends_busy },
    { "qdma-post-disabled", post_disabled },
    { "qdma-pidx-range", pidx_range },
    { "qdma-overrun", overrun },
    { "qdma-no-completions", no_context, { QDMA_CMPT } },
    { "qdma-no-prefetch", no_context, { QDMA_PREFETCH } },
    { "qdma-engine-stopped", engine_stopped },
    { "qdma-read-invalid", put, { C2H_DOORBELL(QUEUE) + 4, 0 } },
    { "qdma-cidx-range", put_streaming, { C2H_DOORBELL(0) + 4, 5 } },
};

/* The table above has all rules of the device; @name alone was broken, once. */
static void check(Rules *w, const char *name)
{
    QDict *rsp = qernic_get(w->n.x.m->qts, w->n.x.q->id, "ernic-violations");
    QDict *all = qdict_get_qdict(rsp, "return");
    const QDictEntry *entry;
    uint32_t i, seen = 0;

    for (entry = qdict_first(all); entry; entry = qdict_next(all, entry)) {
        QDict *rule = qobject_to(QDict, qdict_entry_value(entry));
        const char *key = qdict_entry_key(entry);

        if (!g_str_has_prefix(key, "qdma-")) {
            continue;
        }
        for (i = 0; i < ARRAY_SIZE(rules) && strcmp(rules[i].rule, key); i++) {
        }
        g_assert_cmpuint(i, <, ARRAY_SIZE(rules));
        g_test_message("%s after %s", key, name);
        g_assert_cmpint(qdict_get_int(rule, "count"), ==, !g_strcmp0(key, name));
        seen |= 1u << i;
    }
    for (i = 0; i < ARRAY_SIZE(rules); i++) {       /* rows of a rule follow each other */
        g_assert_true((i && !strcmp(rules[i].rule, rules[i - 1].rule)) || seen & 1u << i);
    }
    qobject_unref(rsp);
}

WORLD_KINDS("/ernic-qdma-rules/table", test_table, Rules, w, begin,
            { "", "" }, { "-opennic", ",shell=opennic,ernic-version=4.2" },
            { "-no-ernic", ",shell=opennic,card-memory=1M" })
{
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        check(w, NULL);
        rules[i].act(w, rules[i].arg);
        check(w, rules[i].rule);
        qdma_reset(&w->n.x, 2);
        qnet_setup(&w->n.x);
        qdma_queue_open(&w->n.x, &w->k, QUEUE, QDMA_H2C, ENTRIES);
    }
}

/* Counts migrate, to a device with strict mode. */
WORLD_KINDS("/ernic-qdma-rules/migrate", test_migrate, Rules, w, begin, { "", "" })
{
    g_autofree char *args = NULL;

    post(w, ENTRIES);
    args = qnet_cable(&w->n, STRICT);
    qdma_migrate(&w->n.x, args);
    check(w, "qdma-pidx-range");
    qernic_cont(w->n.x.m->qts);
    qdma_reset(&w->n.x, 0);
    check(w, NULL);
}

/* One report for each rule and queue. */
MACHINE_TEST("/ernic-qdma-rules/report", test_report)
{
    const char *path = qernic_temp();
    g_autofree char *log = g_strconcat(" -trace ernic_guest_qdma_rule -D ", path, NULL);
    QErnicMachine *m;
    Rules w = { };

    begin(&w, log);
    m = w.n.x.m;
    for (int i = 0; i < 3; i++) {
        post(&w, ENTRIES);
        qdma_put(&w.n.x, C2H_DOORBELL(0) + 4, i);
    }
    g_assert_cmpuint(qernic_logged(m, path, "qdma-pidx-range queue 3 offset"
                                   " 0x18034 value 0x10"), ==, 1);
    g_assert_cmpuint(qernic_logged(m, path, "qdma-post-disabled queue 3"), ==, 1);
    g_assert_cmpuint(qernic_logged(m, path, "qdma-read-invalid queue 0"), ==, 1);
}

/*
 * OpenNIC's driver writes the software context first, and then clears the others. At the
 * end it invalidates them; the next time the hardware's index is still that of before.
 */
WORLD_KINDS("/ernic-qdma-rules/again", test_again, Rules, w, begin, { "", "" })
{
    uint32_t words[8];
    Qdma *x = &w->n.x;

    qdma_read_context(x, QDMA_SW + QDMA_H2C, QUEUE, words);
    words[0] &= ~0xffff;
    qdma_move(&w->k, x->messages, 0, 64);
    for (int of = QDMA_SW; of <= QDMA_CREDIT; of += 2) {
        qdma_command(x, of + QDMA_H2C, QUEUE, QDMA_INVALIDATE);
    }
    qdma_command(x, QDMA_SW + QDMA_H2C, QUEUE, QDMA_CLEAR);
    qdma_write_context(x, QDMA_SW + QDMA_H2C, QUEUE, words);
    qdma_command(x, QDMA_HW + QDMA_H2C, QUEUE, QDMA_CLEAR);
    qdma_command(x, QDMA_CREDIT + QDMA_H2C, QUEUE, QDMA_CLEAR);
    check(w, NULL);
}

/* The ring of completions is of a size of that table, too. */
WORLD_KINDS("/ernic-qdma-rules/completions", test_completions, Rules, w, begin,
            { "", "" })
{
    uint32_t words[8], size;

    stream(w);
    qdma_read_context(&w->n.x, QDMA_CMPT, 0, words);
    size = words[0] >> 28;
    qdma_put(&w->n.x, 0x204 + size * 4, qdma_get(&w->n.x, 0x204 + size * 4) - 1);
    check(w, "qdma-table-in-use");
}
