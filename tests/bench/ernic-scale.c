/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Messages between queue pairs of one engine, with many objects or few, and trains in a
 * lab of many members or few. test_scale.py counts the instructions of run_messages() and
 * run_trains(): they may not depend on how many there are.
 *
 * usage: ernic-scale queue-pairs|regions|completions|contexts NUMBER
 *        ernic-scale lab-CASE MEMBERS
 */
#include "qemu/osdep.h"
#include "fake_verbs.h"
#include "shm_fixture.h"

#define MEMORY      (1ull << 30)
#define MESSAGES    2000
#define LEN         8
#define RIGHTS      (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)
#define CQ_DEPTH    (1u << 20)

typedef struct Scale {
    FakeEnv env;
    Ernic *e;
    FakeCq cq;
    uint32_t pd, num_qp, num_keys, posted;
    FakeQp *qp;
    uint32_t *key;
    uint64_t from, to;
    bool poll;
} Scale;

static void open_scale(Scale *s)
{
    ErnicConfig cfg;

    *s = (Scale) { .poll = true, .num_qp = 2, .num_keys = 1 };
    fake_env_init_sized(&s->env, MEMORY);
    fake_config(&cfg);
    cfg.max_qp = 16384;
    cfg.max_mr = 131072;
    cfg.max_uctx = 512;
    s->e = ernic_new(&cfg, &fake_env_ops, &s->env);
    fake_set_gid(s->e, 0, 1);
    s->pd = fake_create_pd(s->e);
    fake_create_cq(s->e, &s->cq, CQ_DEPTH, FAKE_NONE);
    s->from = fake_alloc(&s->env, LEN, 64);
    s->to = fake_alloc(&s->env, LEN, 64);
}

/* Pairs that send to each other: 2i and 2i + 1. */
static void connect_all(Scale *s)
{
    uint32_t i;

    s->qp = g_new0(FakeQp, s->num_qp);
    for (i = 0; i < s->num_qp; i++) {
        fake_create_deep_qp(s->e, &s->qp[i], ERNIC_QPT_RC, s->pd, s->cq.cqn, s->cq.cqn,
                            16);
    }
    for (i = 0; i < s->num_qp; i++) {
        fake_connect(s->e, &s->qp[i], s->qp[i ^ 1].qpn, 1);
    }
    s->key = g_new0(uint32_t, s->num_keys);
    for (i = 0; i < s->num_keys; i++) {
        s->key[i] = fake_reg_mr(s->e, s->pd, s->to, LEN, RIGHTS);
    }
}

static void message(Scale *s, uint32_t lkey)
{
    FakeQp *qp = &s->qp[s->posted % s->num_qp];
    struct ernic_cqe cqe;

    fake_rdma(s->e, qp, ERNIC_WR_WRITE, ERNIC_WR_SIGNALED, s->from, LEN, lkey, s->to,
              s->key[s->posted % s->num_keys]);
    s->posted++;
    fake_run(s->e);
    if (s->poll) {
        g_assert_true(fake_poll_cq(s->e, &s->cq, &cqe));
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
        fake_ring_cq(s->e, &s->cq);
    }
}

/* test_scale.py counts its instructions. */
static void __attribute__((noinline)) run_messages(Scale *s, uint32_t lkey)
{
    uint32_t i;

    for (i = 0; i < MESSAGES; i++) {
        message(s, lkey);
    }
}

static void more_contexts(Scale *s, uint32_t num)
{
    while (num--) {
        fake_create_uctx(s->e);
    }
}

/* ---- a lab ------------------------------------------------------------------- */

/* Whole rounds of all flows, with 2, 4 or 8 members. */
#define TRAINS      1680
/* Trains of each flow before: so many that the rings of silent members sleep. */
#define WARM        (ERNIC_SHM_SILENT + 16)
#define FRAME       64

typedef struct Flow {
    uint32_t from, to;
    ErnicTrain train;
    uint8_t frame[FRAME];
} Flow;

typedef struct Traffic Traffic;

typedef struct Case {
    const char *name;
    void (*flows)(Traffic *t);
    bool at_once;               /* all flows send before a member receives */
    bool frames;
    bool to_all;                /* broadcasts */
    bool polls;                 /* members look at memory, and do not sleep */
} Case;

struct Traffic {
    Case c;
    Lab lab;
    uint32_t members, flows;
    Flow flow[2 * PORTS];
};

static void add_flow(Traffic *t, uint32_t from, uint32_t to)
{
    static const uint8_t data[LEN];

    t->flow[t->flows++] = (Flow) {
        .from = from, .to = to, .train = lab_train(&t->lab, from, to, data, LEN, LEN),
    };
}

static void one_pair(Traffic *t)
{
    add_flow(t, 0, 1);
    add_flow(t, 1, 0);
}

static void all_pairs(Traffic *t)
{
    uint32_t i;

    for (i = 0; i < t->members; i++) {
        add_flow(t, i, i ^ 1);
    }
}

/* And each answers. */
static void one_to_each(Traffic *t)
{
    uint32_t i;

    for (i = 1; i < t->members; i++) {
        add_flow(t, 0, i);
        add_flow(t, i, 0);
    }
}

static void each_to_one(Traffic *t)
{
    uint32_t i;

    for (i = 1; i < t->members; i++) {
        add_flow(t, i, 0);
    }
}

static void one_to_all(Traffic *t)
{
    add_flow(t, 0, 1);
}

static const Case cases[] = {
    { "lab-idle", one_pair },
    { "lab-polls", one_pair, .polls = true },
    { "lab-polls-each", one_to_each, .polls = true },
    { "lab-pairs", all_pairs },
    { "lab-to-each", one_to_each },
    { "lab-from-each", each_to_one, .at_once = true },
    { "lab-frames", one_pair, .frames = true },
    { "lab-broadcast", one_to_all, .frames = true, .to_all = true },
};

static void set_mac(uint8_t *mac, uint32_t member)
{
    const uint8_t address[6] = { 0x52, 0x54, 0, 0, 0, member + 1 };

    memcpy(mac, address, sizeof(address));
}

static void make_frame(const Traffic *t, Flow *f)
{
    set_mac(f->frame, f->to);
    set_mac(f->frame + 6, f->from);
    if (t->c.to_all) {
        memset(f->frame, 0xff, 6);
    }
    f->train = (ErnicTrain) {
        .frame = true, .data = f->frame, .len = FRAME, .seg = FRAME,
    };
}

/* Member @i takes all trains that have come. Returns their number. */
static uint32_t take(Traffic *t, uint32_t i)
{
    ErnicShm *port = t->lab.port[i];
    ErnicTrain in;
    uint32_t n = 0;

    if (!t->c.polls || !ernic_shm_ready(port)) {
        ernic_shm_serve(port);
    }
    while (ernic_shm_recv(port, &in)) {
        n++;
    }
    g_assert_true(t->c.polls || ernic_shm_sleep(port));
    return n;
}

static void pass_trains(Traffic *t, uint32_t num)
{
    uint32_t next = 0, sent, got, i = 0;

    while (num) {
        for (sent = 0; sent < (t->c.at_once ? t->flows : 1); sent++) {
            Flow *f = &t->flow[next++ % t->flows];

            g_assert_true(ernic_shm_send(t->lab.port[f->from], &f->train));
            i = f->to;
        }
        got = take(t, i);
        while (t->c.to_all && ++i < t->members) {
            got += take(t, i);
        }
        g_assert_cmpuint(got, ==, t->c.to_all ? t->members - 1 : sent);
        num -= got;
    }
}

/* test_scale.py counts its instructions. */
static void __attribute__((noinline)) run_trains(Traffic *t)
{
    pass_trains(t, TRAINS);
}

static uint64_t wakeups(const Traffic *t)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < t->members; i++) {
        sum += stats(&t->lab, i)->bells;
    }
    return sum;
}

/*
 * All members have talked to the first one, and sleep or poll. The first trains of a case
 * are not counted.
 */
static void run_lab(const Case *c, uint32_t members)
{
    Traffic t = { .members = members };
    uint64_t before;
    uint32_t i;

    lab_open(&t.lab, 0);
    for (i = 0; i < members; i++) {
        lab_join_as(&t.lab, i, (ErnicShmConfig) { .frames = true });
    }
    for (i = 0; i < members; i++) {
        g_assert_true(ernic_shm_sleep(t.lab.port[i]));
    }
    t.c = (Case) { .polls = c->polls };
    one_to_each(&t);
    pass_trains(&t, t.flows);

    t.c = *c;
    t.flows = 0;
    c->flows(&t);
    for (i = 0; i < t.flows && c->frames; i++) {
        make_frame(&t, &t.flow[i]);
    }
    pass_trains(&t, (c->to_all ? members - 1 : t.flows) * WARM);
    before = wakeups(&t);
    run_trains(&t);
    printf("%u trains, %" PRIu64 " wake-ups\n", TRAINS, wakeups(&t) - before);
    lab_close(&t.lab);
}

static const Case *find_case(const char *name)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        if (g_str_equal(cases[i].name, name)) {
            return &cases[i];
        }
    }
    return NULL;
}

static void run_engine(const char *what, uint32_t number)
{
    uint32_t lkey, i;
    Scale s;

    open_scale(&s);
    if (g_str_equal(what, "queue-pairs")) {
        s.num_qp = number * 2;
    } else if (g_str_equal(what, "regions")) {
        s.num_keys = number;
    } else if (g_str_equal(what, "contexts")) {
        more_contexts(&s, number);
    }
    connect_all(&s);
    lkey = fake_reg_mr(s.e, s.pd, s.from, LEN, RIGHTS);
    fake_run(s.e);                      /* a turn of each queue pair, which is new */
    s.poll = !g_str_equal(what, "completions");
    for (i = 0; !s.poll && i < number; i++) {
        message(&s, lkey);              /* their completions are not read */
    }
    run_messages(&s, lkey);
    printf("%u messages\n", MESSAGES);
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    uint32_t number = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const Case *lab = find_case(what);

    if (!number || (lab && (number < 2 || number > PORTS))) {
        fprintf(stderr, "usage: ernic-scale queue-pairs|regions|completions|contexts"
                " NUMBER, or lab-CASE 2-8\n");
        return 2;
    }
    if (lab) {
        run_lab(lab, number);
    } else {
        run_engine(what, number);
    }
    return 0;
}
