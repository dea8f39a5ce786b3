/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saving is not divided into slices, so its cost for each object counts: how often it
 * appends to the state, and processor time as a multiple of what it takes to copy the
 * same bytes into new memory. The former is exact, the latter leaves room for busy hosts.
 */
#include "qemu/osdep.h"
#include <dlfcn.h>
#include "base/pages.h"
#include "cpu_time.h"
#include "fake_verbs.h"
#include "test.h"

#define TRIES   5               /* of which the fastest counts: the host is busy */

typedef struct Rig {
    FakeEnv env;
    Ernic *e;
    uint32_t pd;
} Rig;

static uint64_t appends;

/* Comes before GLib's, which does the work. */
GByteArray *g_byte_array_append(GByteArray *array, const guint8 *data, guint len)
{
    static GByteArray *(*append)(GByteArray *array, const guint8 *data, guint len);

    if (!append) {
        append = dlsym(RTLD_NEXT, "g_byte_array_append");
    }
    appends++;
    return append(array, data, len);
}

/* Regions whose list of @npages pages has one level. */
static void add_regions(Rig *r, uint32_t n, uint32_t npages)
{
    struct ernic_cmd cmd = fake_reg_list(r->pd, fake_alloc(&r->env, 4096, 4096), npages,
                                         1);

    while (n--) {
        OK(fake_cmd(r->e, &cmd, NULL));
    }
}

static void large_regions(Rig *r, uint32_t n)
{
    add_regions(r, n, 256);
}

static void small_regions(Rig *r, uint32_t n)
{
    add_regions(r, n, 2);
}

static void queues(Rig *r, uint32_t n)
{
    uint64_t mark = r->env.next;
    FakeCq cq;

    while (n--) {
        r->env.next = mark;
        fake_create_cq(r->e, &cq, 64, FAKE_NONE);
    }
}

static void queue_pairs(Rig *r, uint32_t n)
{
    uint64_t mark;
    FakeCq cq;
    FakeQp qp;

    fake_create_cq(r->e, &cq, 64, FAKE_NONE);
    mark = r->env.next;
    while (n--) {
        r->env.next = mark;
        fake_create_deep_qp(r->e, &qp, ERNIC_QPT_RC, r->pd, cq.cqn, cq.cqn, 64);
    }
}

static int64_t save_ns(const Rig *r, GByteArray **state)
{
    int64_t start = cpu_ns();

    *state = g_byte_array_new();
    ernic_save(r->e, *state);
    return cpu_ns() - start;
}

static int64_t copy_ns(const GByteArray *state)
{
    int64_t start = cpu_ns();
    g_autofree uint8_t *copy = g_malloc(state->len);

    memcpy(copy, state->data, state->len);
    IS(copy[state->len - 1], state->data[state->len - 1]);
    return cpu_ns() - start;
}

static void rig_open(Rig *r)
{
    r->e = FAKE_ERNIC(&r->env, cfg.max_qp = ERNIC_LIM_QP; cfg.max_cq = ERNIC_LIM_CQ;
                      cfg.max_mr = ERNIC_MR_UNCHARGED);
    r->pd = fake_create_pd(r->e);
}

/* A state that is too long ends early: no buffer has room for 2^24 keys and all else. */
TEST("/save-end", test_end)
{
    g_autoptr(GByteArray) out = g_byte_array_new();
    Rig r = { };
    guint whole;

    if (!ERNIC_OWN_PAGES) {
        g_test_skip("a sanitizer uses all memory");
        return;
    }
    rig_open(&r);
    small_regions(&r, 1000);
    ernic_save(r.e, out);
    whole = out->len;
    g_byte_array_set_size(out, ERNIC_SAVE_END - whole / 2);
    ernic_save(r.e, out);
    g_assert_cmpuint(out->len, >, ERNIC_SAVE_END);
    g_assert_cmpuint(out->len, <, ERNIC_SAVE_END + 1000);
    fake_ernic_done(&r.env, r.e);
}

typedef struct Row {
    const char *name;
    void (*add)(Rig *r, uint32_t n);
    uint32_t n;
    uint64_t appends;           /* at most, of each */
    int64_t most;               /* times a copy */
} Row;

static const Row rows[] = {
    { "large-regions", large_regions, 16000, 16, 8 },
    { "small-regions", small_regions, 60000, 10, 80 },
    { "completion-queues", queues, 16000, 20, 80 },
    { "queue-pairs", queue_pairs, 16000, 141, 80 },
};

ROW_TEST("/save-cost", rows, row, test_row)
{
    int64_t saved = INT64_MAX, copied = INT64_MAX;
    guint len = 0;
    Rig r = { };

    rig_open(&r);
    row->add(&r, row->n);
    for (int i = 0; i < TRIES; i++) {
        GByteArray *state;

        appends = 0;
        saved = MIN(saved, save_ns(&r, &state));
        copied = MIN(copied, copy_ns(state));
        len = state->len;
        g_byte_array_free(state, true);
    }
    g_test_message("of each object: %u bytes, %" PRIu64 " appends, %" PRId64 " ns, which"
                   " is %.1f times a copy", len / row->n, appends / row->n,
                   saved / row->n, (double)saved / copied);
    g_assert_cmpuint(appends / row->n, >, 0);
    g_assert_cmpuint(appends / row->n, <=, row->appends);
    /* A sanitizer slows down saving, and not copies. */
    g_assert_true(!ERNIC_OWN_PAGES || saved < row->most * copied);
    fake_ernic_done(&r.env, r.e);
}
