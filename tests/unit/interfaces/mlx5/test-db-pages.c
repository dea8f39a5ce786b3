/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells without a value: which pages may have them, and what is found in the records
 * of their send queues.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "engine.h"
#include "mlx5_objects.h"
#include "mlx5_send.h"
#include "page_events.h"

#define LOG     4

static void put_counter(Frames *f, const FramesQueue *sq, uint16_t counter)
{
    ernic_mlx5_put(fake_ptr(&f->eth.env, sq->record, 8),
                   &ernic_mlx5_qp_doorbell_record.send_counter, counter);
}

/* Announced by the record, and not rung. */
static void announce(Frames *f, FramesQueue *sq)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, 0x0a, ERNIC_MLX5_CE_ALWAYS, 0);
    send_eth(&wr, 0, 0, fake_ptr(&f->eth.env, f->mem, 18), 18);
    mlx5_data(&wr, f->mem, 60, f->key);
    send_write(f, sq, &wr);
    put_counter(f, sq, sq->pi);
}

/* A run of the engine; the number of frames that it sends. */
static uint32_t sent(Frames *f)
{
    uint32_t before = f->eth.env.trains->len;

    ernic_run(f->eth.e, f->eth.env.now);
    return f->eth.env.trains->len - before;
}

static uint32_t rung(Frames *f, uint32_t page)
{
    ernic_slice(f->eth.e);
    ernic_page_rung(f->eth.e, f->eth.env.now, page);
    return sent(f);
}

/*
 * A page has an event from its first send queue on, until it is deallocated, which looks
 * at its records once more.
 */
SEND_TEST("/mlx5/db-pages/pages", LOG, test_pages)
{
    FramesQueue second;

    listen_pages(f->eth.e);
    g_assert_true(has_event(SEND_UAR));
    announce(f, &f->sq);
    ETH_OK(&f->eth, 0x803, "uar=%u", SEND_UAR);
    g_assert_false(has_event(SEND_UAR));
    IS(sent(f), 1);
    announce(f, &f->sq);
    IS(rung(f, SEND_UAR), 0);
    ETH_OK(&f->eth, 0x802, "%s", "");
    g_assert_true(has_event(SEND_UAR));
    IS(rung(f, SEND_UAR), 1);
    send_queue(f, &second, LOG, "");
    ETH_OK(&f->eth, 0x906, "sqn=%u", f->sq.number);
    g_assert_true(has_event(SEND_UAR));
    announce(f, &second);
    IS(rung(f, SEND_UAR), 1);
    ETH_OK(&f->eth, 0x906, "sqn=%u", second.number);
    g_assert_true(has_event(SEND_UAR));
    ETH_OK(&f->eth, 0x803, "uar=%u", SEND_UAR);
    g_assert_false(has_event(SEND_UAR));
    ETH_OK(&f->eth, 0x802, "%s", "");
    IS(g_hash_table_size(pages), 0);            /* no queue */
}

/* The end of all objects takes the events away. */
TEST("/mlx5/db-pages/ends", test_ends)
{
    for (int how = 0; how < 4; how++) {
        Frames f;

        send_setup(&f, LOG);
        listen_pages(f.eth.e);
        g_assert_true(has_event(SEND_UAR));
        if (how == 0) {
            ETH_OK(&f.eth, 0x103, "%s", "");
            g_assert_false(has_event(SEND_UAR));
            ernic_run(f.eth.e, f.eth.env.now);
        } else if (how == 1) {                  /* another kernel takes over */
            ernic_bar_write(f.eth.e, f.eth.env.now, 0x14, 4, 0x1000);
            g_assert_false(has_event(SEND_UAR));
            ernic_run(f.eth.e, f.eth.env.now);
        } else if (how == 2) {
            ernic_bar_read(f.eth.e, f.eth.env.now, 0, 4);       /* it was used */
            ernic_reset(f.eth.e);
            g_assert_false(has_event(SEND_UAR));
        }
        frames_done(&f);
        g_assert_false(has_event(SEND_UAR));
    }
}

/* Records that are not valid count as doorbells that are not; the others are taken. */
SEND_TEST("/mlx5/db-pages/hostile", LOG, test_hostile)
{
    ErnicStats *stats = &f->eth.e->stats;
    FramesQueue second;

    listen_pages(f->eth.e);
    send_queue(f, &second, LOG, "");
    announce(f, &second);
    put_counter(f, &f->sq, (1 << LOG) + 1);
    IS(rung(f, SEND_UAR), 1);
    IS(stats->bad_doorbells, 1);
    put_counter(f, &f->sq, -1);
    IS(rung(f, SEND_UAR), 0);
    IS(stats->bad_doorbells, 2);
    put_counter(f, &f->sq, 0);
    announce(f, &second);
    fake_fail_dma(&f->eth.env, 1, false);
    IS(rung(f, SEND_UAR), 1);
    IS(stats->bad_doorbells, 3);
    announce(f, &f->sq);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=1\nctx.state=3", f->sq.number);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=3\nctx.state=0", f->sq.number);
    IS(rung(f, SEND_UAR), 0);                   /* it is reset */
    IS(stats->bad_doorbells, 3);
}

/* Through error and reset, as Linux does after a failure; it leaves the record. */
static void renew(Frames *f)
{
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=1\nctx.state=3", f->sq.number);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=3\nctx.state=0", f->sq.number);
    ETH_OK(&f->eth, 0x905, "sqn=%u\nsq_state=0\nctx.state=1", f->sq.number);
    f->sq.pi = 0;
}

/*
 * Linux leaves the counter of before a reset in the record, until it posts again. Another
 * queue of the page must not make the device execute the old requests.
 */
SEND_TEST("/mlx5/db-pages/stale", LOG, test_stale)
{
    FramesQueue second;

    send_queue(f, &second, LOG, "");
    for (int how = 0; how < 3; how++) {
        announce(f, &f->sq);
        announce(f, &f->sq);
        IS(rung(f, SEND_UAR), 2);
        renew(f);
        announce(f, &second);
        IS(rung(f, SEND_UAR), 1);
        if (how == 1) {
            frames_move(f);
            ernic_pages_rung(f->eth.e, f->eth.env.now);
            IS(sent(f), 0);
        }
        announce(f, &f->sq);
        if (how == 2) {                         /* the same value as before the reset */
            announce(f, &f->sq);
            IS(rung(f, SEND_UAR), 2);
        } else {
            IS(rung(f, SEND_UAR), 1);
            announce(f, &f->sq);
            IS(rung(f, SEND_UAR), 1);
        }
        renew(f);
    }
    IS(f->eth.e->stats.bad_doorbells, 0);
}

/* Queue pairs: one with a record that moved is found, and one in Reset is not read. */
MLX5_PAIR_TEST("/mlx5/db-pages/queue-pairs", ERNIC_QPT_RC, test_queue_pairs)
{
    Mlx5Cqe cqe;
    Mlx5Wr wr;

    mlx5_post_recv(&p->b, &p->bq, p->b.mem, 64);
    mlx5_wr(&wr, ERNIC_MLX5_OP_SEND, ERNIC_MLX5_CE_ALWAYS, 0);
    mlx5_inline(&wr, "abcd", 4);
    mlx5_write(&p->a, &p->aq, &wr);
    stl_be_p(fake_ptr(&p->a.env, p->aq.record + 4, 4), p->aq.sq_pi);
    mlx5_exchange(&p->a, &p->b);
    g_assert_false(mlx5_poll(&p->a, &cqe));
    ernic_page_rung(p->a.e, p->a.env.now, MLX5_UAR);
    ernic_run(p->a.e, p->a.env.now);
    mlx5_exchange(&p->a, &p->b);
    g_assert_true(mlx5_poll(&p->a, &cqe));
    IS(cqe.qpn, p->aq.qpn);
    g_assert_true(mlx5_poll(&p->b, &cqe));
    stl_be_p(fake_ptr(&p->a.env, p->aq.record + 4, 4), MLX5_DEPTH + p->aq.sq_pi + 1);
    ernic_page_rung(p->a.e, p->a.env.now, MLX5_UAR);
    IS(p->a.e->stats.bad_doorbells, 1);
    p->a.e->qp[p->aq.qpn].state = ERNIC_QPS_RESET;
    ernic_page_rung(p->a.e, p->a.env.now, MLX5_UAR);
    IS(p->a.e->stats.bad_doorbells, 1);
    p->a.e->qp[p->aq.qpn].state = ERNIC_QPS_RTS;
    stl_be_p(fake_ptr(&p->a.env, p->aq.record + 4, 4), p->aq.sq_pi);
}

/* Queue pairs that commands create and destroy; one without a send queue has no page. */
MLX5_TEST("/mlx5/db-pages/commands", mlx5_boot, test_commands)
{
    listen_pages(f->e);
    mlx5_objects(f);
    g_assert_true(has_event(16));
    mlx5_accept(f->e, 0x501, "qpn=2\n");
    g_assert_true(has_event(16));
    mlx5_accept(f->e, 0x501, "qpn=3\n");
    g_assert_true(has_event(16));
    mlx5_accept(f->e, 0x803, "uar=16\n");
    g_assert_false(has_event(16));
    mlx5_accept(f->e, 0x802, "");
    g_assert_false(has_event(16));
    IS(mlx5_accept(f->e, 0x500, QP "qpc.no_sq=1\n"), 4);
    g_assert_false(has_event(16));
    mlx5_refuse(f->e, 0x501, "qpn=3\n", ERNIC_MLX5_NO_OBJECT);
    mlx5_accept(f->e, 0x501, "qpn=4\n");
}

static bool pages_ok(Mlx5Fixture *f)
{
    g_autoptr(GString) why = g_string_new(NULL);

    ernic_check(f->e, why);
    return !strstr(why->str, "db-pages");
}

/* The invariant sees a queue that is not listed, one too many, and a wrong number. */
MLX5_TEST("/mlx5/db-pages/invariant", mlx5_start, test_invariant)
{
    ErnicDbPage *uar = &f->e->db_pages->page[16];

    IS(uar->count, 2);
    g_assert_true(pages_ok(f));
    uar->count = 1;
    g_assert_false(pages_ok(f));
    uar->count = 3;
    g_assert_false(pages_ok(f));
    uar->count = 2;
    uar->number[0] = QP_UD;
    g_assert_false(pages_ok(f));
    uar->number[0] = QP_RC;
    uar[1].crowded = true;
    g_assert_false(pages_ok(f));
    uar[1].crowded = false;
    g_assert_true(pages_ok(f));
}
