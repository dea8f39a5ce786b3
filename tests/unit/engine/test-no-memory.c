/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host without memory: of each command, saved state and message, the n-th allocation
 * fails, once or with all that follow, for n = 1, 2, ... until none fails. The call is
 * then refused without an effect, the invariants hold, and the same call succeeds later.
 *
 * The linker makes the engine call the functions with __wrap here. Its other allocations
 * have the sizes of the configuration; without memory for these, GLib ends the process.
 */
#include "qemu/osdep.h"
#include "base/pages.h"
#include "busy.h"
#include "interfaces/mlx5/command/function.h"
#include "mlx5_objects.h"
#include "mlx5_software.h"
#include "objects/mr.h"
#include "objects/odp.h"
#include "state/check.h"
#include "state/precopy.h"
#include "state/spans.h"
#include "stored_states.h"
#include "strict_card.h"
#include "transport/qp.h"

/* ---- the host ---------------------------------------------------------------- */

static struct {
    uint32_t in;                /* the allocation that fails, from now; 0: none */
    bool for_good;              /* so do all after it */
    uint32_t failed;
} host;

static bool fails(void)
{
    bool now = host.in == 1;

    if (host.in > 1 || !host.for_good) {
        host.in -= !!host.in;
    }
    host.failed += now;
    return now;
}

static void fail(uint32_t n, bool for_good)
{
    host.in = n;
    host.for_good = for_good;
    host.failed = 0;
}

/* Ends it; whether an allocation has failed. */
static bool has_failed(void)
{
    host.in = 0;
    return host.failed;
}

#define WRAP(result, name, params, ...)                             \
    result __real_##name params;                                    \
    result __wrap_##name params;                                    \
    result __wrap_##name params                                     \
    {                                                               \
        return fails() ? 0 : __real_##name(__VA_ARGS__);            \
    }

WRAP(void *, g_try_malloc, (gsize bytes), bytes)
WRAP(void *, g_try_malloc0, (gsize bytes), bytes)
WRAP(void *, g_try_malloc_n, (gsize n, gsize bytes), n, bytes)
WRAP(void *, g_try_malloc0_n, (gsize n, gsize bytes), n, bytes)
WRAP(void *, g_try_realloc_n, (void *p, gsize n, gsize bytes), p, n, bytes)
WRAP(bool, ernic_pages_left, (size_t bytes), bytes)

void __real_fake_check(const Ernic *e);
void __wrap_fake_check(const Ernic *e);

/* The test itself has memory. */
void __wrap_fake_check(const Ernic *e)
{
    uint32_t in = host.in;

    host.in = 0;
    __real_fake_check(e);
    host.in = in;
}

/* ---- commands ---------------------------------------------------------------- */

/* Commands are executed with each of their allocations failing, before they succeed. */
static bool walking;
static uint32_t refused;

/*
 * A command without memory must not change these: bytes, but for the room of directories
 * of on-demand regions, and numbers that are free.
 */
typedef struct Account {
    uint64_t used;
    uint32_t pages, pd, eq, cq, srq, mr, qp, uctx;
} Account;

static Account account(const Ernic *e)
{
    return (Account) {
        .used = e->mem.used - e->mem.kind[ERNIC_MEM_ON_DEMAND],
        .pages = e->num_pages, .pd = e->pd_ids.count,
        .eq = e->eq_ids.count, .cq = e->cq_ids.count, .srq = e->srq_ids.count,
        .mr = ernic_ids_left(&e->mr_ids), .qp = e->qp_ids.count,
        .uctx = e->uctx_ids.count,
    };
}

static void assert_account(const Ernic *e, const Account *before)
{
    Account now = account(e);

    g_assert_cmpmem(&now, sizeof(now), before, sizeof(*before));
    fake_check(e);
}

bool __real_ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
                      struct ernic_rsp *rsp);
bool __wrap_ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
                      struct ernic_rsp *rsp);

/* A command that gives memory back may succeed without memory. */
bool __wrap_ernic_cmd(Ernic *e, uint64_t now, const struct ernic_cmd *cmd,
                      struct ernic_rsp *rsp)
{
    Account before = account(e);

    for (uint32_t n = 2; walking; n++) {
        fail(n / 2, n % 2);
        while (!__real_ernic_cmd(e, now, cmd, rsp)) {
            ernic_slice(e);
        }
        if (!has_failed() || rsp->status == ERNIC_OK) {
            return true;
        }
        IS(rsp->status, ERNIC_ERR_NO_RESOURCE);
        assert_account(e, &before);
        refused++;
    }
    return __real_ernic_cmd(e, now, cmd, rsp);
}

bool __real_ernic_mlx5_function_execute(void *f, const uint8_t *in, uint32_t in_len,
                                        uint8_t *out, uint32_t out_len);
bool __wrap_ernic_mlx5_function_execute(void *f, const uint8_t *in, uint32_t in_len,
                                        uint8_t *out, uint32_t out_len);

bool __wrap_ernic_mlx5_function_execute(void *opaque, const uint8_t *in, uint32_t in_len,
                                        uint8_t *out, uint32_t out_len)
{
    Ernic *e = ((ErnicMlx5Function *)opaque)->engine;
    Account before = account(e);
    ErnicIds numbers = e->qp_ids;

    for (uint32_t n = 2; walking; n++) {
        fail(n / 2, n % 2);
        while (!__real_ernic_mlx5_function_execute(opaque, in, in_len, out, out_len)) {
            ernic_slice(e);
        }
        if (!has_failed()) {
            return true;
        }
        IS(ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome), ERNIC_MLX5_NO_RESOURCE);
        assert_account(e, &before);
        /* Numbers of refused queue pairs are given out first, as the fixture expects. */
        e->qp_ids.fifo[numbers.tail] = 0;
        e->qp_ids = numbers;
        memset(out, 0, out_len);
        refused++;
    }
    return __real_ernic_mlx5_function_execute(opaque, in, in_len, out, out_len);
}

/* Each kind of object of the verbs interface, with requests that use them. */
TEST("/no-memory/verbs", test_verbs)
{
    Busy b;

    walking = true;
    refused = 0;
    busy_init(&b);
    /* A page of the on-demand region that goes, and one that comes. */
    for (uint32_t i = 0; i < 64; i++) {
        OK(fake_set_pages(b.e, b.demand, i * ERNIC_ODP_CHUNK, 1, b.buf,
                          ERNIC_PAGE_READ));
    }
    for (uint32_t i = 0; i < 64; i++) {
        OK(fake_set_pages(b.e, b.demand, i * ERNIC_ODP_CHUNK, 1, 0, 0));
    }
    walking = false;
    g_assert_cmpuint(refused, >=, 100);
    fake_check(b.e);
    busy_fini(&b);
}

/* Each kind of object of the mlx5 interface. */
TEST("/no-memory/mlx5", test_mlx5)
{
    Mlx5Fixture f;

    walking = true;
    refused = 0;
    mlx5_start(&f);
    mlx5_ethernet(&f);
    walking = false;
    g_assert_cmpuint(refused, >=, 30);
    fake_check(f.e);
    mlx5_finish(&f);
}

/* The messages of a command: without memory for them, it is not delivered. */
MLX5_TEST("/no-memory/mlx5-messages", mlx5_start, test_messages)
{
    static const uint8_t in[3000] = { 0x01, 0x00, [7] = 1 };    /* QUERY_HCA_CAP */
    uint64_t page = mlx5_open_queue(f->e, &f->env);
    uint32_t n = 2;
    Mlx5Posted p;
    bool failed;

    do {
        fail(n / 2, n % 2);
        p = mlx5_post(&f->env, page, 0, in, sizeof(in), 4112);
        ernic_bar_write(f->e, f->env.now, MLX5_DOORBELL, 4, 1);
        fake_run(f->e);
        failed = has_failed();
        g_assert_true(mlx5_is_done(&f->env, &p));
        IS(mlx5_status(&f->env, &p), failed ? ERNIC_MLX5_DELIVERY_INTERNAL :
                                              ERNIC_MLX5_DELIVERY_OK);
        IS(f->e->mem.kind[ERNIC_MEM_MESSAGES], 0);
        fake_check(f->e);
        n++;
    } while (failed);
    IS(n, 2 + 2 * 2 + 1);
}

/* ---- saved states ------------------------------------------------------------ */

/* A state that does not fit is refused with the reason, and leaves a new engine. */
ROW_TEST("/no-memory/load", stored_states, s, test_load)
{
    g_autoptr(GByteArray) state = g_byte_array_new(), empty = NULL;
    g_autoptr(GString) why = g_string_new(NULL);
    uint32_t n = 2;
    FakeEnv env;
    Ernic *e;

    fake_env_init(&env);
    env.now = s->make(state);
    e = ernic_new(&s->cfg, &fake_env_ops, &env);
    empty = fake_saved(e);
    for (;; n++) {
        bool loaded;

        fail(n / 2, n % 2);
        loaded = ernic_load_why(e, env.now, state->data, state->len, why);
        if (!has_failed()) {
            g_assert_true(loaded);
            break;
        }
        g_assert_false(loaded);
        g_assert_cmpstr(why->str, ==, "this host has no memory for its objects");
        IS(e->mem.used, 0);
        fake_state_is(e, empty);
    }
    g_test_message("%u allocations", n / 2 - 1);
    g_assert_cmpuint(n, >, 4);
    fake_state_is(e, state);
    for (int i = 0; i < 20; i++) {
        fake_advance(e, 20000000);
    }
    fake_ernic_done(&env, e);
}

/* Saving takes memory once, before it begins: then the host has it all. */
ROW_TEST("/no-memory/save", stored_states, s, test_save)
{
    g_autoptr(GByteArray) state = g_byte_array_new(), bytes = NULL;
    FakeEnv env;
    Ernic *e;
    void *data;

    fake_env_init(&env);
    env.now = s->make(state);
    e = ernic_new(&s->cfg, &fake_env_ops, &env);
    g_assert_true(ernic_load(e, env.now, state->data, state->len));
    fail(1, false);
    g_assert_null(ernic_save_new(e));
    g_assert_true(has_failed());
    fail(2, true);
    bytes = ernic_save_new(e);
    g_assert_nonnull(bytes);
    data = bytes->data;
    ernic_save(e, bytes);
    g_assert_false(has_failed());
    g_assert_true(bytes->data == data);
    g_assert_cmpmem(bytes->data, bytes->len, state->data, state->len);
    fake_ernic_done(&env, e);
}

/* Parts of a saved state that arrive before the rest. */
TEST("/no-memory/precopy", test_precopy)
{
    enum { MOST = 1 << 20 };
    const ErnicPrecopyPart part = { .number = 1, .length = 1024, .count = 1024 };
    const ErnicPrecopyHole hole = { .at = 4, .number = 1 };
    static const uint8_t state[8];
    ErnicPrecopied arrived = { };
    uint8_t *whole;
    size_t len;

    for (uint32_t n = 1; n <= 2; n++) {
        fail(n, false);
        g_assert_null(ernic_precopy_take(&arrived, &part, MOST));
        g_assert_true(has_failed());
        IS(arrived.lists, 0);
        IS(arrived.bytes, 0);
    }
    fail(1, true);
    g_assert_null(ernic_precopy_part_new());
    g_assert_null(ernic_precopy_holes_new(&(ErnicPrecopy) { .lists = 1 }));
    fail(0, false);
    memset(ernic_precopy_take(&arrived, &part, MOST), 0xa5, 1024 * 8);
    fail(1, false);
    len = sizeof(state);
    g_assert_null(ernic_precopy_fill(&arrived, state, &len, &hole, 1, MOST));
    g_assert_true(has_failed());
    IS(len, sizeof(state));
    whole = ernic_precopy_fill(&arrived, state, &len, &hole, 1, MOST);
    IS(len, sizeof(state) + 1024 * 8);
    IS(whole[3], 0);
    IS(whole[4], 0xa5);
    g_free(whole);
    fail(1, false);                     /* a list that would replace it: it stays */
    g_assert_null(ernic_precopy_take(&arrived, &part, MOST));
    g_assert_true(has_failed());
    IS(arrived.bytes, 1024 * 8);
    IS(arrived.list->done, 1024);
    ernic_precopied_clear(&arrived);
}

/*
 * Without room for its rows no migration begins ahead. Without a copy of a span no span
 * is sent any more, and the migration can end.
 */
TEST("/no-memory/spans", test_spans)
{
    g_autoptr(GByteArray) part = g_byte_array_new(), state = g_byte_array_new();
    g_autoptr(GByteArray) spans = g_byte_array_new(), lists = g_byte_array_new();
    ErnicPrecopyPart next;
    ErnicPrecopy p = { };
    FakeEnv env;
    Ernic *e = fake_ernic_new(&env);
    uint32_t pd = fake_create_pd(e);

    while (e->mr_ids.fresh < e->mr_ids.size) {
        fake_alloc_mw(e, pd, 1);
    }
    for (uint32_t row = 1; row <= ERNIC_SPAN_ROWS; row++) {
        fail(row, false);
        g_assert_false(ernic_precopy_begin(e, &p));
        g_assert_true(has_failed());
        g_assert_null(p.span);
    }
    g_assert_true(ernic_precopy_begin(e, &p));
    while (!ernic_precopy_look(e, &p)) {
        continue;
    }
    g_assert_cmpuint(p.left, >, 0);
    fail(1, false);
    while (!ernic_precopy_next(e, &p, &next, part)) {
        continue;
    }
    IS(next.count, 0);
    g_assert_true(has_failed());
    while (!ernic_precopy_look(e, &p)) {
        continue;
    }
    IS(p.left, 0);
    ernic_precopy_save(e, &p, state, spans, lists);
    IS(spans->len, 0);
    fake_state_is(e, state);
    ernic_precopy_end(e, &p);
    fake_ernic_done(&env, e);
}

/* ---- work -------------------------------------------------------------------- */

/* Without memory a reset frees the old objects in the call. */
BUSY_TEST("/no-memory/reset", test_reset)
{
    fail(1, true);
    ernic_reset(b->e);
    g_assert_true(has_failed());
    IS(b->e->mem.used, 0);
    fake_check(b->e);
    fake_create_pd(b->e);
}

/*
 * A queue pair without memory does not run, and its registers are as software wrote
 * them. Software may start it again.
 */
TEST("/no-memory/pg332", test_pg332)
{
    bool failed = true;
    Card c;

    for (uint32_t n = 1; failed; n++) {
        fail(n, true);
        card_open(&c, 0, n % 2 ? PG332_V3_1 : PG332_V4_2);
        put_qp(&c, PG332_SQPI, 1);
        fake_run(c.e);
        failed = has_failed();
        IS(c.e->qp[QPN].used, !failed);
        IS(c.e->mem.used > 0, !failed);
        IS(get_qp(&c, PG332_QPCONF), QPCONF);
        card_move(&c);
        IS(c.e->qp[QPN].used, !failed);
        put_qp(&c, PG332_QPCONF, QPCONF);
        g_assert_true(c.e->qp[QPN].used);
        card_close(&c);
        g_assert_true(failed || n == 3);
    }
}
