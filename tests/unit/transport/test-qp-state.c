/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ring of inbound READs and atomics, which software resizes in SQD.
 */
#include "qemu/osdep.h"
#include "qp_fixture.h"
#include "interfaces/verbs/commands.h"

static uint8_t resize(Fixture *f, const FakeQp *q, uint8_t size)
{
    struct ernic_qp_attr attr = { .max_dest_rd_atomic = size };

    return fake_modify_qp(f->e, q->qpn, ERNIC_QPA_STATE | ERNIC_QPA_MAX_DEST_RD_ATOMIC,
                          ERNIC_QPS_SQD, &attr);
}

/* It keeps the newest entries. */
ENGINE_TEST("/qp-state/rd-resize", test_rd_resize)
{
    static const uint8_t sizes[] = { 16, 5, 7, 2, 1, 16, 0, 3 };
    uint32_t newest = 100;
    ErnicQp *qp;
    FakeQp q;

    bring(f, &q, ERNIC_QPT_RC, ERNIC_QPS_SQD);
    qp = &f->e->qp[q.qpn];
    for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint32_t old = qp->attr.max_dest_rd_atomic, kept = 0;

        /* Fill the ring as the responder does: one more entry than it holds. */
        for (uint32_t k = 0; old && k < old + 1; k++) {
            qp->rd[qp->rq.rd_head] = (ErnicRdRes) {
                .used = true, .npsn = 1, .end = 1, .next = 1, .atomic = true,
                .psn = newest++,
            };
            qp->rq.rd_head = (qp->rq.rd_head + 1) % old;
        }
        OK(resize(f, &q, sizes[i]));
        fake_check(f->e);
        for (uint32_t k = 0; k < ERNIC_MAX_RD_ATOMIC; k++) {
            if (qp->rd[k].used) {
                g_assert_cmpuint(qp->rd[k].psn, >=, newest - MIN(old, sizes[i]));
                kept++;
            }
        }
        IS(kept, MIN(old, sizes[i]));
        /* The next entry to be overwritten is the oldest, or free. */
        if (sizes[i] && kept == sizes[i]) {
            IS(qp->rd[qp->rq.rd_head].psn, newest - kept);
        } else if (sizes[i]) {
            g_assert_false(qp->rd[qp->rq.rd_head].used);
        }
    }
}

/* An entry whose response has not been sent stays, however old it is. */
ENGINE_TEST("/qp-state/rd-resize/pending", test_rd_resize_pending)
{
    ErnicQp *qp;
    FakeQp q;

    bring(f, &q, ERNIC_QPT_RC, ERNIC_QPS_SQD);
    qp = &f->e->qp[q.qpn];
    OK(resize(f, &q, 4));
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            qp->rd[k] = (ErnicRdRes) {
                .used = true, .npsn = 1, .end = 1, .atomic = true, .psn = 100 + k,
                .again = k == i, .pending = k == i, .next = k != i,
            };
        }
        qp->rq.rd_head = 0;
        qp->ack.rd_pending = 1;
        IS(resize(f, &q, 2), i < 2 ? ERNIC_ERR_BUSY : ERNIC_OK);
        IS(qp->ack.rd_pending, 1);
        g_assert_true(i < 2 || qp->rd[i - 2].pending);
        OK(resize(f, &q, 4));
    }
}
