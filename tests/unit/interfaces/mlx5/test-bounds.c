/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Long work of one command, request or frame of the mlx5 interface: it
 * is charged, and a call ends after its slice.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "mlx5_send.h"

/* The work of a call may exceed its slice by one step. */
#define STEP        64
#define MASK(field) "match_criteria.outer_headers." field "\n"

/* Pages of a region, a list as long as there is one, get another size at once. */
TEST("/mlx5/bounds/page-size", test_page_size)
{
    ErnicMrUpdate u = { .set = ERNIC_UPDATE_PAGE_SIZE, .page_shift = 21 };
    uint64_t before, run;
    ErnicMrInit init = { .kind = ERNIC_MR_FAST };
    ErnicBuf buf;
    FakeEnv env;
    uint32_t pd;
    ErnicMr *mr;
    bool more;
    Ernic *e = FAKE_ERNIC(&env);

    pd = fake_create_pd(e);
    OK(ernic_buf_alloc(e, &buf, ERNIC_MAX_PAGES / 2));
    OK(ernic_mr_add(e, pd, &init, &buf, &u.key));
    mr = &e->mr[u.key >> 8];
    mr->buf.page[1] = 0x40201000;
    before = e->work.done;
    IS(ernic_mr_update(e, pd, 1, &u, &more), ERNIC_FAULT_NONE);
    g_assert_cmpuint(e->work.done - before, <=, STEP);
    IS(mr->buf.page_shift, 21);
    IS(ernic_buf_addr(&mr->buf, (1 << 21) + 5, &run), 0x40200005);
    fake_ernic_done(&env, e);
}

/* A list of pages that fills the longest message. */
FRAMES_TEST("/mlx5/bounds/list", test_list)
{
    enum { PAGES = 1 << 19, HEAD = 272, LEN = HEAD + PAGES * 8 };
    g_autofree uint8_t *in = g_malloc0(LEN);
    uint8_t out[ERNIC_MLX5_MESSAGE_ROOM];
    uint32_t slices = 1, key;
    uint64_t before;

    ernic_mlx5_put(in, &ernic_mlx5_create_mkey_in.opcode, 0x200);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.access_mode_1_0, 1);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.qpn, 0xffffff);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.pd, FRAMES_PD);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.len, (uint64_t)PAGES << 12);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.translations_octword_size, PAGES / 2);
    ernic_mlx5_put(in + 16, &ernic_mlx5_mkc.log_page_size, 12);
    ernic_slice(f->eth.e);
    before = f->eth.e->work.done;
    while (!ernic_mlx5_function_execute(f->eth.f, in, LEN, out, sizeof(out))) {
        g_assert_cmpuint(f->eth.e->work.done - before, <=, ERNIC_WORK_SLICE + STEP);
        ernic_slice(f->eth.e);
        before = f->eth.e->work.done;
        slices++;
    }
    IS(ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome), 0);
    key = ernic_mlx5_get(out, &ernic_mlx5_create_mkey_out.mkey_index);
    IS(f->eth.e->mr[key].buf.npages, PAGES);
    g_assert_cmpuint(slices, >=, PAGES * 8 / 512 / ERNIC_WORK_SLICE);
}

/* A query returns as many entries of a list as the port has. */
FRAMES_TEST("/mlx5/bounds/query", test_query)
{
    enum { NUM = 4095, HEAD = 512 };
    uint8_t in[16] = { };
    g_autofree uint8_t *out = g_malloc0(HEAD + NUM * 8);
    uint64_t before;

    f->eth.f->vport.num[ERNIC_MLX5_LIST_VLAN] = NUM;
    ernic_mlx5_put(in, &ernic_mlx5_query_hca_cap_in.opcode, 0x754);
    ernic_mlx5_put(in, &ernic_mlx5_query_nic_vport_context_in.allowed_list_type,
                   ERNIC_MLX5_LIST_VLAN);
    before = f->eth.e->work.done;
    g_assert_true(ernic_mlx5_function_execute(f->eth.f, in, sizeof(in), out,
                                              HEAD + NUM * 8));
    IS(ernic_mlx5_get(out, &ernic_mlx5_plain_out.syndrome), 0);
    g_assert_cmpuint(f->eth.e->work.done - before, >=, NUM / 8);
    f->eth.f->vport.num[ERNIC_MLX5_LIST_VLAN] = 0;
}

enum { VISITS = 16, GROUPS = ERNIC_FLOW_TABLE_GROUPS, ENTRIES = 4000, STEPS = 12 };

static void entry(Ernic *e, uint32_t table, uint32_t group, uint32_t num,
                  ErnicFlowDest dest)
{
    ErnicFlowEntry init = { .table = table, .group = group, .num_dest = num };

    for (uint32_t i = 0; i < num; i++) {
        init.dest[i] = dest;
    }
    OK(ernic_flow_entry_create(e, &init));
}

/*
 * Each frame visits a table of GROUPS groups VISITS times, matches nothing there, and
 * then goes to @tir: once for each visit.
 */
static void maze(Frames *f, uint32_t tir)
{
    Eth *eth = &f->eth;
    uint32_t last = eth_table(eth, 5, 0, 0), crowd = eth_table(eth, 4, 16, last);
    uint32_t second = eth_table(eth, 3, 0, 0), first = eth_table(eth, 2, 0, 0), i;
    ErnicFlowEntry other = { .table = crowd, .num_dest = 1, .dest = { { false, tir } } };

    entry(eth->e, last, eth_group(eth, last, 0, 0, ""), 1,
          (ErnicFlowDest) { false, tir });
    entry(eth->e, second, eth_group(eth, second, 0, 0, ""), 4,
          (ErnicFlowDest) { true, crowd });
    entry(eth->e, first, eth_group(eth, first, 0, 0, ""), 4,
          (ErnicFlowDest) { true, second });
    other.group = eth_group(eth, crowd, 0, ENTRIES, MASK("dmac_15_0=0xffff"));
    for (i = 0; i < ENTRIES; i++) {
        other.index = i;
        ernic_mlx5_put(other.value, &ernic_mlx5_fte_match_set_lyr_2_4.dmac_15_0, i);
        OK(ernic_flow_entry_create(eth->e, &other));
    }
    for (i = 1; i < GROUPS; i++) {
        eth_group(eth, crowd, ENTRIES + i, ENTRIES + i, "");
    }
    ETH_OK(eth, 0x92f, "table_id=%u", first);
    ernic_slice(eth->e);
}

/* Work of a frame of @len bytes; each visit, and each copy if @copies. */
static uint64_t least(uint32_t len, bool copies)
{
    return VISITS * (GROUPS * (1 + STEPS) / 8) +
           (copies ? VISITS * (len / 512 + ERNIC_WORK_COMPLETE) : 0);
}

/* A frame to many receivers, through tables of many groups. */
FRAMES_TEST("/mlx5/bounds/receivers", test_receivers)
{
    enum { LEN = 9000 };
    const FramesHead head = { .version = 4, .proto = 17, .payload = LEN - 42 };
    uint8_t frame[LEN];
    FramesPiece piece = (FramesPiece) { f->mem, LEN, f->key };
    FramesQueue rq;
    uint64_t before;

    frames_queue(f, &rq, true, 6, 4, "");
    maze(f, eth_tir(&f->eth, rq.number));
    for (uint32_t i = 0; i < VISITS; i++) {
        frames_post(f, &rq, &piece, 1);
    }
    IS(frames_make(&head, frame), LEN);
    before = f->eth.e->work.done;
    frames_receive(f, frame, LEN);
    g_assert_cmpuint(f->eth.e->work.done - before, >=, least(LEN, true));
    g_assert_cmpuint(f->eth.e->work.done - before, <, ERNIC_WORK_SLICE);
    for (uint32_t i = 0; i < VISITS; i++) {
        CQE_IS(f, "opcode=2");
    }
    g_assert_false(frames_poll(f));
}

/* A large packet to the function itself: a slice ends between its frames. */
SEND_TEST("/mlx5/bounds/loopback", 4, test_loopback)
{
    enum { FRAMES = 40, MSS = 100, TIR_LOOP = 1 };
    const FramesHead head = { .version = 4, .proto = 6, .payload = 0 };
    uint64_t *drops, before, frame = least(54 + MSS, false);
    uint32_t slices = 0, tir;
    uint8_t bytes[64];
    Mlx5Wr wr;

    drops = &f->eth.e->stats.drop[ERNIC_DROP_NO_RQE];
    frames_queue(f, &f->rq, true, 6, 4, "");
    ETH_OK(&f->eth, 0x900, "ctx.inline_rqn=%#x\nctx.transport_domain=1\n"
           "ctx.self_lb_block=%d", f->rq.number, TIR_LOOP);
    tir = eth_number(&f->eth);
    maze(f, tir);
    frames_make(&head, bytes);
    mlx5_wr(&wr, 0x0e, 2, 0);
    send_eth(&wr, 0xc0, MSS, bytes, 54);
    mlx5_data(&wr, f->mem, FRAMES * MSS, f->key);
    send_write(f, &f->sq, &wr);
    send_ring(f, &f->sq);
    do {
        before = f->eth.e->work.done;
        f->eth.env.wake = UINT64_MAX;
        ernic_run(f->eth.e, f->eth.env.now);
        g_assert_cmpuint(f->eth.e->work.done - before, <=, ERNIC_WORK_SLICE + 2 * frame);
        slices++;
    } while (f->eth.env.wake <= f->eth.env.now);
    IS(*drops, FRAMES * VISITS);
    g_assert_cmpuint(slices, >=, FRAMES * frame / (ERNIC_WORK_SLICE + 2 * frame));
}

/* A request whose data are many pieces: each of them is an access to memory. */
SEND_TEST("/mlx5/bounds/pieces", 6, test_pieces)
{
    enum { PIECES = 24 };
    uint8_t head[32] = { };
    FakeTrain *train;
    uint64_t before;
    Mlx5Wr wr;

    mlx5_wr(&wr, 0x0a, 2, 0);
    send_eth(&wr, 0, 0, head, 18);
    for (uint32_t i = 0; i < PIECES; i++) {
        mlx5_data(&wr, f->mem + 100 * i, 1, f->key);
    }
    before = f->eth.e->work.done;
    send_post(f, &f->sq, &wr);
    g_assert_cmpuint(f->eth.e->work.done - before, >=, 2 * PIECES);
    train = send_take(f);
    IS(train->train.len, 60);
    fake_train_free(train);
}
