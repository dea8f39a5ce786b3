/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software that sends Ethernet frames by the mlx5 interface.
 */
#include "qemu/osdep.h"
#include "mlx5_send.h"

void send_setup(Frames *f, uint32_t log)
{
    frames_setup(f);
    ETH_OK(&f->eth, 0x802, "%s", "");
    IS(ernic_mlx5_get(f->eth.out, &ernic_mlx5_alloc_uar_out.uar), SEND_UAR);
    send_queue(f, &f->sq, log, "ctx.flush_in_error_en=1\n");
}

void send_queue(Frames *f, FramesQueue *sq, uint32_t log, const char *more)
{
    g_autofree char *text = g_strdup_printf("ctx.tis_lst_sz=1\nctx.tis_num_0=1\n"
                                            "ctx.wq.uar_page=%u\n%s", SEND_UAR, more);

    frames_queue(f, sq, false, log, 6, text);
}

void send_eth(Mlx5Wr *wr, uint8_t sums, uint16_t mss, const uint8_t *head, uint32_t len)
{
    uint8_t *eth = mlx5_segment(wr, MAX(16, ROUND_UP(14 + len, 16)));

    ernic_mlx5_put(eth, &ernic_mlx5_wqe_eth_seg.cs_flags, sums);
    ernic_mlx5_put(eth, &ernic_mlx5_wqe_eth_seg.mss, mss);
    ernic_mlx5_put(eth, &ernic_mlx5_wqe_eth_seg.sz, len);
    if (len) {
        memcpy(eth + 14, head, len);
    }
}

void send_write(Frames *f, FramesQueue *sq, Mlx5Wr *wr)
{
    g_assert_cmpuint(wr->len, <=, 63 * 16);
    ernic_mlx5_put(wr->bytes, &ernic_mlx5_wqe_ctrl_seg.ds, wr->len / 16);
    ernic_mlx5_put(wr->bytes, &ernic_mlx5_wqe_ctrl_seg.qpn, sq->number);
    ernic_mlx5_put(wr->bytes, &ernic_mlx5_wqe_ctrl_seg.wqe_index, sq->pi);
    for (uint32_t at = 0; at < wr->len; at += 64) {
        uint32_t slot = sq->pi++ & ((1u << sq->log) - 1);

        memcpy(fake_ptr(&f->eth.env, sq->ring + slot * 64, 64), wr->bytes + at, 64);
    }
}

void send_doorbell(Frames *f, uint32_t page, uint32_t number)
{
    ernic_bar_write(f->eth.e, f->eth.env.now, page * 4096 + 0x800, 8,
                    (uint64_t)number << 8);
}

void send_ring(Frames *f, const FramesQueue *sq)
{
    ernic_mlx5_put(fake_ptr(&f->eth.env, sq->record, 8),
                   &ernic_mlx5_qp_doorbell_record.send_counter, sq->pi);
    send_doorbell(f, SEND_UAR, sq->number);
}

void send_post(Frames *f, FramesQueue *sq, Mlx5Wr *wr)
{
    send_write(f, sq, wr);
    send_ring(f, sq);
    ernic_run(f->eth.e, f->eth.env.now);
}

void send_frame(Frames *f, FramesQueue *sq, uint32_t len, uint32_t head, uint8_t ce)
{
    Mlx5Wr wr;

    mlx5_wr(&wr, 0x0a, ce, 0);
    send_eth(&wr, 0, 0, fake_ptr(&f->eth.env, f->mem, len), head);
    mlx5_data(&wr, f->mem + head, len - head, f->key);
    send_post(f, sq, &wr);
}

FakeTrain *send_take(Frames *f)
{
    FakeTrain *t = fake_take_train(&f->eth.env);

    g_assert_nonnull(t);
    g_assert_true(t->train.frame);
    return t;
}

void send_took(Frames *f, const void *frame, uint32_t len)
{
    FakeTrain *t = send_take(f);

    g_assert_cmpmem(t->train.data, t->train.len, frame, len);
    fake_train_free(t);
}
