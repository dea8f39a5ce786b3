/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The face's table (faces/face.h). There are no commands that create queue pairs yet,
 * so the methods of their queues are never called; they find no requests.
 */
#include "qemu/osdep.h"
#include "faces/face.h"
#include "faces/mlx5/mlx5.h"
#include "transport/face_defaults.h"

static bool fetch(Ernic *e, ErnicQp *qp, ErnicWqe *wqe)
{
    return false;
}

static void complete_send(Ernic *e, ErnicQp *qp, const ErnicWqe *wqe, ErnicFault fault)
{
}

static bool take_recv(Ernic *e, ErnicQp *qp, ErnicRecv *recv)
{
    return false;
}

static void complete_recv(Ernic *e, ErnicQp *qp, const ErnicRecv *recv, ErnicWc *wc,
                          ErnicFault fault)
{
}

static void post(Ernic *e, uint32_t cqn, const ErnicWc *wc)
{
}

const ErnicFaceOps ernic_face_mlx5 = {
    .keys = &ernic_mr_keys,
    .eqs = &ernic_mlx5_eqs,
    .recv_requests = true,
    .send_queue_error = true,
    .fetch = fetch,
    .complete_send = complete_send,
    .datagram = ernic_face_default_datagram,
    .gather = ernic_face_default_gather,
    .outstanding = ernic_face_default_outstanding,
    .retry_forever = ernic_face_default_retry_forever,
    .take_recv = take_recv,
    .complete_recv = complete_recv,
    .recv_head = ernic_face_default_recv_head,
    .ack_delay = ernic_face_default_ack_delay,
    .post = post,
    .pkey = ernic_face_default_pkey,
    .pkey_ok = ernic_face_default_pkey_ok,
    .sent = ernic_face_default_sent,
    .pressed = ernic_face_default_pressed,
    .check_packet = ernic_face_default_check_packet,
    .came = ernic_face_default_came,
    .refused = ernic_face_default_refused,
    .marked = ernic_face_default_marked,
    .cnp = ernic_face_default_cnp,
    .fault_code = ernic_face_default_fault_code,
    .fatal = ernic_face_default_fatal,
};
