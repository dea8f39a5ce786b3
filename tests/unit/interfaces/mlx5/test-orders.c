/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects that are destroyed in any order. Linux destroys those of a process that dies in
 * rounds, and repeats what is refused as busy: so a destroy is refused while another
 * object needs the object, with that status, and never otherwise.
 */
#include "qemu/osdep.h"
#include "mlx5_objects.h"
#include "objects/mr.h"

enum { MOST = 13, ORDERS = 50 };

/* Each object: the command that ends it, and those that need it, by name. */
static const struct {
    const char *name;
    uint16_t opcode;
    const char *text;
    const char *users[MOST];
} all[] = {
    { "eq", 0x302, "eq_number=1", { "cq" } },
    { "pd", 0x801, "pd=1", { "list", "bus", "free", "window_1", "window_2", "rmp",
                             "srq", "rc", "ud", "shared", "sq", "rq_1", "rq_2" } },
    { "xrcd", 0x80f, "xrcd=2", { "srq", "target" } },
    { "transport", 0x817, "transport_domain=1", { "tis", "tir_1", "tir_2" } },
    { "cq", 0x401, "cqn=1", { "srq", "rc", "ud", "shared", "sq", "rq_1", "rq_2",
                              "rq_3" } },
    { "list", 0x202, "mkey_index=2", { } },             /* with windows */
    { "bus", 0x202, "mkey_index=3", { } },
    { "free", 0x202, "mkey_index=4", { } },
    { "window_1", 0x202, "mkey_index=5", { } },
    { "window_2", 0x202, "mkey_index=6", { } },
    { "rmp", 0x90e, "rmpn=1", { "shared" } },
    { "srq", 0x706, "xrc_srqn=2", { } },
    { "counter", 0x772, "counter_set_id=1", { } },      /* of the RC queue pair */
    { "rc", 0x501, "qpn=2", { } },
    { "ud", 0x501, "qpn=3", { } },                      /* in a group */
    { "shared", 0x501, "qpn=4", { } },
    { "target", 0x501, "qpn=5", { } },
    { "tis", 0x914, "tisn=1", { "sq" } },
    { "sq", 0x906, "sqn=0x8001", { } },
    { "rq_1", 0x90a, "rqn=0x9001", { "rqt", "tir_1" } },
    { "rq_2", 0x90a, "rqn=0x9002", { "rqt" } },
    { "rq_3", 0x90a, "rqn=0x9003", { } },
    { "rqt", 0x918, "rqtn=1", { "tir_2" } },
    { "tir_1", 0x902, "tirn=1", { "entry_3" } },
    { "tir_2", 0x902, "tirn=2", { "entry_1" } },
    { "flow_counter", 0x93a, "flow_counter_id=1", { "entry_1" } },
    { "table_1", 0x931, "table_id=1", { "group_1", "group_2" } },
    { "table_2", 0x931, "table_id=2", { "group_3", "entry_1" } },
    { "group_1", 0x934, "table_id=1\ngroup_id=1", { "entry_1", "entry_2" } },
    { "group_2", 0x934, "table_id=1\ngroup_id=2", { } },
    { "group_3", 0x934, "table_id=2\ngroup_id=3", { "entry_3" } },
    { "entry_1", 0x938, "table_id=1\nflow_index=0", { } },
    { "entry_2", 0x938, "table_id=1\nflow_index=1", { } },
    { "entry_3", 0x938, "table_id=2\nflow_index=0", { } },
};

enum { NUM = ARRAY_SIZE(all) };

static uint32_t index_of(const char *name)
{
    for (uint32_t i = 0; i < NUM; i++) {
        if (!strcmp(all[i].name, name)) {
            return i;
        }
    }
    g_assert_not_reached();
}

/* Whether object @b needs object @a. */
static bool needed_by(uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < MOST && all[a].users[i]; i++) {
        if (index_of(all[a].users[i]) == b) {
            return true;
        }
    }
    return false;
}

/* Whether object @i is free to go: all that need it are gone. */
static bool is_free(uint32_t i, const bool gone[NUM])
{
    for (uint32_t k = 0; k < NUM; k++) {
        if (!gone[k] && needed_by(i, k)) {
            return false;
        }
    }
    return true;
}

/* A window over the first 16 bytes of the list. */
static void add_window(Mlx5Fixture *f, const char *text)
{
    uint32_t key = f->e->mr[MKEY_MTT].variant | MKEY_MTT << 8;
    uint32_t window = mlx5_accept(f->e, 0x200, text);
    struct ernic_wqe_bind_mw wr = {
        .rkey = window << 8 | f->e->mr[window].variant, .lkey = key,
        .addr = 0x7f0010, .length = 16, .access = ERNIC_ACCESS_REMOTE_READ,
    };

    wr.new_rkey = wr.rkey + 1;
    IS(ernic_mw_bind(f->e, 1, QP_RC, &wr), ERNIC_FAULT_NONE);
}

static void open_all(Mlx5Fixture *f)
{
    mlx5_start(f);
    mlx5_ethernet(f);
    mlx5_accept(f->e, 0x502, INIT "qpc.counter_set_id=1\n");
    add_window(f, KLM);
    add_window(f, KLM M "en_rinval=1\n");
    IS(mlx5_accept(f->e, 0x500, QP "qpc.rq_type=1\nqpc.srqn_rmpn_xrqn=1\n"), 4);
    IS(mlx5_accept(f->e, 0x500, QP "qpc.st=3\nqpc.rq_type=1\nqpc.xrcd=2\n"
                   "qpc.no_sq=1\n"), 5);
    mlx5_accept(f->e, 0x806, GROUP "qpn=3");
}

/* Destroy object @i, if it is free to go; else it is busy, and stays. */
static void destroy(Mlx5Fixture *f, uint32_t i, bool gone[NUM])
{
    g_test_message("%s", all[i].name);
    if (is_free(i, gone)) {
        mlx5_accept(f->e, all[i].opcode, all[i].text);
        gone[i] = true;
    } else {
        mlx5_refuse(f->e, all[i].opcode, all[i].text, ERNIC_MLX5_BUSY);
    }
    fake_check(f->e);
}

/* All objects that can go while @a and @b are there. */
static void destroy_others(Mlx5Fixture *f, uint32_t a, uint32_t b, bool gone[NUM])
{
    bool more = true;

    while (more) {
        more = false;
        for (uint32_t i = 0; i < NUM; i++) {
            if (i != a && i != b && !gone[i] && is_free(i, gone)) {
                destroy(f, i, gone);
                more = true;
            }
        }
    }
}

/* Each pair is tried: the one, then the other, then the one again. */
TEST("/mlx5-orders/pairs", test_pairs)
{
    for (uint32_t a = 0; a < NUM; a++) {
        for (uint32_t b = 0; b < NUM; b++) {
            bool gone[NUM] = { };
            Mlx5Fixture f;

            if (a == b || !needed_by(a, b)) {
                continue;
            }
            open_all(&f);
            destroy_others(&f, a, b, gone);
            destroy(&f, a, gone);
            g_assert_false(gone[a]);
            destroy(&f, b, gone);
            destroy_others(&f, a, b, gone);
            destroy(&f, a, gone);
            g_assert_true(gone[a] && gone[b]);
            mlx5_finish(&f);
        }
    }
}

static bool all_gone(const bool gone[NUM])
{
    for (uint32_t i = 0; i < NUM; i++) {
        if (!gone[i]) {
            return false;
        }
    }
    return true;
}

static void shuffle(GRand *rand, uint32_t order[NUM])
{
    for (uint32_t i = 0; i < NUM; i++) {
        uint32_t k = g_rand_int_range(rand, 0, i + 1);

        order[i] = order[k];
        order[k] = i;
    }
}

/* Rounds over all objects in some order: at last nothing is left, in whatever order. */
TEST("/mlx5-orders/rounds", test_rounds)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(4711);

    for (uint32_t n = 0; n < ORDERS; n++) {
        uint32_t order[NUM], rounds = 0;
        bool gone[NUM] = { };
        uint64_t used;
        Mlx5Fixture f;

        mlx5_boot(&f);
        mlx5_accept(f.e, 0x302, "eq_number=1");
        used = f.e->mem.used;
        mlx5_finish(&f);
        open_all(&f);
        shuffle(rand, order);
        while (!all_gone(gone)) {
            g_assert_cmpuint(rounds++, <, 8);
            for (uint32_t i = 0; i < NUM; i++) {
                if (!gone[order[i]]) {
                    destroy(&f, order[i], gone);
                }
            }
        }
        fake_run(f.e);
        IS(f.e->mem.used, used);
        IS(f.e->num_bound, 0);
        IS(f.e->num_groups, 0);
        mlx5_finish(&f);
    }
}
