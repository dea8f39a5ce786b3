/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames that the function of the mlx5 interface sends and receives: which TIRs get
 * them, by transport domains, by the bits of TIRs, and by those of the port.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "mlx5_send.h"
#include "transport/tx.h"

#define BUFFER  2048

/* A frame to the port, if it has no other address. */
static const FramesHead udp4 = {
    .version = 4, .proto = 17, .src = { 10, 0, 0, 1 }, .dst = { 10, 0, 0, 9 },
    .sport = 1000, .dport = 2000, .payload = 333,
};
static const uint8_t group[6] = { 0x01, 0, 0x5e, 0, 0, 1 };
static const uint8_t others[6] = { 0x02, 0, 0, 0, 0, 0x55 };

enum { OWN_DOMAIN = 1, OTHER_DOMAIN = 2 };
enum { TO_PORT, TO_GROUP, TO_OTHERS, KINDS };

/*
 * Whether a TIR of @domain with @bits receives a frame of @kind that domain OWN_DOMAIN
 * of the function sends, while the port has loopback turned off for the casts of @off.
 */
static bool loops(uint32_t domain, uint32_t bits, uint32_t off, uint32_t kind)
{
    uint32_t cast = kind == TO_GROUP ? 2 : 1;

    return !(off & cast) && (domain != OWN_DOMAIN || (bits & cast && kind != TO_OTHERS));
}

/* A queue of whose requests one is posted, as often as the last one was used. */
static void post(Frames *f, uint32_t used)
{
    f->rq.pi = used;
    frames_post(f, &f->rq, &(FramesPiece) { f->mem + BUFFER, BUFFER, f->key }, 1);
}

/* Loopback at the port is off for the casts of @off, and TIR @tir has @bits. */
static void set_bits(Frames *f, uint32_t tir, uint32_t bits, uint32_t off)
{
    ETH_OK(&f->eth, 0x901, "tirn=%u\nbitmask.self_lb_en=1\nctx.self_lb_block=%u", tir,
           bits);
    ETH_OK(&f->eth, 0x755, "field_select.disable_uc_local_lb=1\n"
           "field_select.disable_mc_local_lb=1\n"
           "nic_vport_context.disable_uc_local_lb=%u\n"
           "nic_vport_context.disable_mc_local_lb=%u", off & 1, off >> 1);
}

/* All frames go to a new TIR of @domain. */
static uint32_t make_tir(Frames *f, uint32_t domain)
{
    uint32_t tir;

    ETH_OK(&f->eth, 0x900, "ctx.inline_rqn=%#x\nctx.transport_domain=%u", f->rq.number,
           domain);
    tir = eth_number(&f->eth);
    frames_root(f, tir, 3);
    return tir;
}

/* Each cast, domain, bits of the TIR and of the port. */
FRAMES_TEST("/mlx5/loopback/which", test_which)
{
    const ErnicTrain own = { .domain = OWN_DOMAIN };
    FramesHead head[KINDS] = { udp4, udp4, udp4 };
    uint32_t tir, used = 0, len;
    uint8_t frame[BUFFER];

    memcpy(head[TO_GROUP].dmac, group, 6);
    memcpy(head[TO_OTHERS].dmac, others, 6);
    frames_queue(f, &f->rq, true, 3, 6, "");
    ETH_OK(&f->eth, 0x816, "%s", "");
    for (uint32_t domain = OWN_DOMAIN; domain <= OTHER_DOMAIN; domain++) {
        tir = make_tir(f, domain);
        for (uint32_t n = 0; n < 4 * 4 * KINDS; n++) {
            uint32_t bits = n % 4, off = n / 4 % 4, kind = n / 16;
            bool want = loops(domain, bits, off, kind);
            Ernic *e = f->eth.e;

            set_bits(f, tir, bits, off);
            post(f, used);
            len = frames_make(&head[kind], frame);
            IS(e->interface->wants_frame(e, frame, len, &own), want);
            e->interface->take_frame(e, frame, len, &own);
            IS(frames_poll(f), want);
            used += want;
        }
        ETH_OK(&f->eth, 0x92f, "op_mod=1");
    }
    IS(f->eth.e->stats.rx_frames, 0);
}

/*
 * A function with a sender in domain 1, a frame to @dmac in f->mem, and one request in a
 * receive queue. Returns the length of the frame.
 */
static uint32_t setup(Frames *f, const uint8_t *dmac)
{
    FramesHead head = udp4;

    memcpy(head.dmac, dmac, 6);
    send_setup(f, 5);
    ETH_OK(&f->eth, 0x816, "%s", "");
    frames_queue(f, &f->rq, true, 3, 4, "");
    post(f, 0);
    return frames_make(&head, fake_ptr(&f->eth.env, f->mem, BUFFER));
}

/* The frame of @len bytes has left the function. */
static void left(Frames *f, uint32_t len)
{
    send_took(f, fake_ptr(&f->eth.env, f->mem, len), len);
}

/* It comes back after a run. */
static void came_back(Frames *f, uint32_t len)
{
    ernic_run(f->eth.e, f->eth.env.now);
    CQE_IS(f, "opcode=2 byte_cnt=%u", len);
    g_assert_cmpmem(fake_ptr(&f->eth.env, f->mem + BUFFER, len), len,
                    fake_ptr(&f->eth.env, f->mem, len), len);
}

/*
 * A unicast frame to anybody leaves, and comes back to a TIR of another domain; not to
 * that of the sender, also if one of another domain exists. A state has the sender.
 */
TEST("/mlx5/loopback/domains", test_domains)
{
    for (uint32_t domain = OWN_DOMAIN; domain <= OTHER_DOMAIN; domain++) {
        Frames f;
        uint32_t len = setup(&f, others);

        make_tir(&f, OTHER_DOMAIN);
        make_tir(&f, domain);
        send_frame(&f, &f.sq, len, 14, 0);
        left(&f, len);
        g_assert_cmpuint(f.eth.e->tx->loop_len, >, 0);
        frames_move(&f);
        if (domain == OTHER_DOMAIN) {
            came_back(&f, len);
        }
        ernic_run(f.eth.e, f.eth.env.now);
        g_assert_false(frames_poll(&f));
        frames_done(&f);
    }
}

/* A frame that waits for the link has its sender in a state. */
TEST("/mlx5/loopback/held", test_held)
{
    Frames f;
    uint32_t len = setup(&f, others);

    make_tir(&f, OTHER_DOMAIN);
    f.eth.env.tx_busy = true;
    send_frame(&f, &f.sq, len, 14, 0);
    g_assert_true(f.eth.e->tx->busy);
    frames_move(&f);
    f.eth.env.tx_busy = false;
    ernic_set_link(f.eth.e, f.eth.env.now, true);
    ernic_run(f.eth.e, f.eth.env.now);
    left(&f, len);
    came_back(&f, len);
    frames_done(&f);
}
