/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Guest memory with a shadow: it is known of every byte whether the device may
 * read or write it at this moment, so that an access of one byte too many is
 * found at once.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "sim.h"

#define BASE(id)    (((uint64_t)(id) + 1) << 32)
/* Above this, each 4 KiB page is allocated alone. */
#define PAGES_FROM  (SIM_MEM_SIZE / 2)

void sim_mem_init(SimHost *h)
{
    SimMem *m = &h->mem;
    uint32_t i, n = (SIM_MEM_SIZE - PAGES_FROM) / SIM_PAGE;

    h->mrs = g_ptr_array_new();
    m->base = BASE(h->id);
    m->bytes = g_malloc0(SIM_MEM_SIZE);
    m->shadow = g_malloc0(SIM_MEM_SIZE);
    m->brk = SIM_PAGE;
    m->page = g_new(uint32_t, n);
    m->pages = n;
    for (i = 0; i < n; i++) {
        uint32_t j = sim_below(&h->rng, i + 1);

        m->page[i] = m->page[j];
        m->page[j] = PAGES_FROM + i * SIM_PAGE;
    }
}

void sim_mem_free(SimHost *h)
{
    SIM_EACH(SimMr, mr, h->mrs) {
        g_free(mr->page);
        g_array_unref(mr->free);
        g_free(mr);
    }
    g_ptr_array_unref(h->mrs);
    g_free(h->mem.bytes);
    g_free(h->mem.shadow);
    g_free(h->mem.page);
}

uint8_t *sim_mem(SimHost *h, uint64_t addr)
{
    g_assert(addr >= h->mem.base && addr < h->mem.base + SIM_MEM_SIZE);
    return h->mem.bytes + (addr - h->mem.base);
}

void sim_shadow(SimHost *h, uint64_t addr, uint32_t len, uint8_t bits)
{
    g_assert(addr >= h->mem.base && addr - h->mem.base + len <= SIM_MEM_SIZE);
    memset(h->mem.shadow + (addr - h->mem.base), bits, len);
}

uint64_t sim_mem_take(SimHost *h, uint32_t len, uint32_t align, uint8_t shadow)
{
    SimMem *m = &h->mem;
    uint64_t addr;

    m->brk = ROUND_UP(m->brk, align);
    g_assert(m->brk + len <= PAGES_FROM);
    addr = m->base + m->brk;
    m->brk += len;
    sim_shadow(h, addr, len, shadow);
    return addr;
}

/* ---- regions ------------------------------------------------------------- */

SimMr *sim_mr_new(SimHost *h, uint32_t length, uint32_t access)
{
    SimMr *mr = g_new0(SimMr, 1);
    SimExtent all = { 0, length };
    uint32_t i, n;

    mr->host = h;
    mr->access = access;
    mr->length = length;
    mr->page_shift = 12;
    mr->offset = sim_percent(&h->rng, 50) ? sim_below(&h->rng, SIM_PAGE) : 0;
    if (access & ERNIC_ACCESS_REMOTE_ATOMIC) {
        mr->offset &= ~7;           /* words are aligned at both ends */
    }
    n = DIV_ROUND_UP(mr->offset + length, SIM_PAGE);
    if (n <= h->mem.pages && sim_percent(&h->rng, 70)) {
        mr->page = g_new(uint64_t, n);
        mr->npages = n;
        for (i = 0; i < n; i++) {
            mr->page[i] = h->mem.base + h->mem.page[--h->mem.pages];
        }
    } else {
        mr->base = sim_mem_take(h, length, 8, 0);
        mr->offset = 0;
    }
    mr->free = g_array_new(FALSE, FALSE, sizeof(SimExtent));
    g_array_append_val(mr->free, all);
    g_ptr_array_add(h->mrs, mr);
    return mr;
}

uint64_t sim_mr_addr(const SimMr *mr, uint64_t off, uint64_t *run)
{
    uint64_t at;

    if (mr->parent) {
        return sim_mr_addr(mr->parent, mr->parent_off + off, run);
    }
    if (!mr->page) {
        *run = mr->length - off;
        return mr->base + off;
    }
    at = off + mr->offset;
    *run = SIM_PAGE - (at & (SIM_PAGE - 1));
    return mr->page[at >> 12] + (at & (SIM_PAGE - 1));
}

bool sim_piece_take(SimMr *mr, SimRng *r, uint32_t len, uint32_t align,
                    SimPiece *piece)
{
    uint32_t pad = align > 1 ? align - 1 : sim_below(r, 64);
    uint64_t want = (uint64_t)len + pad;
    uint32_t i;

    memset(piece, 0, sizeof(*piece));
    for (i = 0; i < mr->free->len; i++) {
        SimExtent *x = &g_array_index(mr->free, SimExtent, i);

        if (x->len < want) {
            continue;
        }
        piece->mr = mr;
        piece->got_off = x->off;
        piece->got_len = want;
        piece->len = len;
        piece->off = align > 1 ? ROUND_UP(mr->iova + x->off, align) - mr->iova
                               : x->off + pad;
        x->off += want;
        x->len -= want;
        if (!x->len) {
            g_array_remove_index(mr->free, i);
        }
        return true;
    }
    return false;
}

void sim_piece_shadow(const SimPiece *p, uint8_t bits)
{
    uint64_t done = 0, run;

    while (p->mr && done < p->len) {
        uint64_t addr = sim_mr_addr(p->mr, p->off + done, &run);

        run = MIN(run, p->len - done);
        sim_shadow(p->mr->host, addr, run, bits);
        done += run;
    }
}

void sim_piece_free(SimPiece *piece)
{
    GArray *list;
    SimExtent x = { piece->got_off, piece->got_len };
    uint32_t i;

    sim_piece_shadow(piece, 0);
    if (!piece->mr || !x.len) {
        piece->mr = NULL;
        return;
    }
    list = piece->mr->free;
    for (i = 0; i < list->len; i++) {
        if (g_array_index(list, SimExtent, i).off > x.off) {
            break;
        }
    }
    g_assert(i == list->len ||
             x.off + x.len <= g_array_index(list, SimExtent, i).off);
    if (i < list->len &&
        x.off + x.len == g_array_index(list, SimExtent, i).off) {
        x.len += g_array_index(list, SimExtent, i).len;
        g_array_remove_index(list, i);
    }
    if (i > 0) {
        SimExtent *p = &g_array_index(list, SimExtent, i - 1);

        g_assert(p->off + p->len <= x.off);
        if (p->off + p->len == x.off) {
            p->len += x.len;
            piece->mr = NULL;
            return;
        }
    }
    g_array_insert_val(list, i, x);
    piece->mr = NULL;
}

void sim_sg_shadow(const SimSg *sg, uint8_t bits)
{
    uint32_t i;

    for (i = 0; i < sg->n; i++) {
        sim_piece_shadow(&sg->piece[i], bits);
    }
}

void sim_sg_free(SimSg *sg)
{
    uint32_t i;

    for (i = 0; i < sg->n; i++) {
        sim_piece_free(&sg->piece[i]);
    }
    sg->n = 0;
}

/* ---- content ------------------------------------------------------------- */

static uint64_t pattern_word(uint64_t pattern, uint64_t n)
{
    uint64_t x = (n + pattern) * 0x9e3779b97f4a7c15ull;

    return (x ^ (x >> 29)) * 0xd6e8feb86659fd93ull;
}

/* Bytes [@off, @off + @len) of the endless pattern @pattern. */
void sim_pattern(uint64_t pattern, uint64_t off, uint8_t *buf, uint32_t len)
{
    uint32_t done = 0;

    while (done < len) {
        uint32_t in = (off + done) & 7, n = MIN(8 - in, len - done);
        uint64_t w = cpu_to_le64(pattern_word(pattern, (off + done) >> 3));

        if (n == 8) {
            memcpy(buf + done, &w, 8);
        } else {
            memcpy(buf + done, (uint8_t *)&w + in, n);
        }
        done += n;
    }
}

void sim_piece_fill(const SimPiece *p, uint64_t pattern, uint64_t off)
{
    uint64_t done = 0, run;

    while (p->mr && done < p->len) {
        uint64_t addr = sim_mr_addr(p->mr, p->off + done, &run);

        run = MIN(run, p->len - done);
        sim_pattern(pattern, off + done, sim_mem(p->mr->host, addr), run);
        done += run;
    }
}

int64_t sim_piece_verify(const SimPiece *p, uint32_t skip, uint32_t len,
                         uint64_t pattern, uint64_t off)
{
    uint8_t want[SIM_PAGE];
    uint64_t done = 0, run;

    while (done < len) {
        uint64_t addr = sim_mr_addr(p->mr, p->off + skip + done, &run);
        const uint8_t *got = sim_mem(p->mr->host, addr);

        run = MIN(MIN(run, len - done), sizeof(want));
        sim_pattern(pattern, off + done, want, run);
        if (memcmp(got, want, run)) {
            uint64_t i = 0;

            while (got[i] == want[i]) {
                i++;
            }
            return done + i;
        }
        done += run;
    }
    return -1;
}

/*
 * Compare @len bytes from byte @skip of the list on; the first of them has
 * offset @off.
 */
int64_t sim_sg_verify(const SimSg *sg, uint32_t skip, uint32_t len,
                      uint64_t pattern, uint64_t off)
{
    uint32_t i, done = 0;

    for (i = 0; i < sg->n && done < len; i++) {
        const SimPiece *p = &sg->piece[i];
        uint32_t n;
        int64_t bad;

        if (skip >= p->len) {
            skip -= p->len;
            continue;
        }
        n = MIN(p->len - skip, len - done);
        bad = sim_piece_verify(p, skip, n, pattern, off + done);
        if (bad >= 0) {
            return done + bad;
        }
        done += n;
        skip = 0;
    }
    return done < len ? (int64_t)done : -1;
}

void sim_sg_fill(const SimSg *sg, uint64_t pattern, uint64_t off)
{
    uint32_t i;

    for (i = 0; i < sg->n; i++) {
        sim_piece_fill(&sg->piece[i], pattern, off);
        off += sg->piece[i].len;
    }
}

void sim_sg_copy_out(const SimSg *sg, uint32_t off, void *buf, uint32_t len)
{
    uint32_t i, done = 0;

    for (i = 0; i < sg->n && done < len; i++) {
        const SimPiece *p = &sg->piece[i];

        while (off < p->len && done < len) {
            uint64_t run, addr = sim_mr_addr(p->mr, p->off + off, &run);

            run = MIN(MIN(run, p->len - off), len - done);
            memcpy((uint8_t *)buf + done, sim_mem(p->mr->host, addr), run);
            done += run;
            off += run;
        }
        off -= MIN(off, p->len);
    }
}

/* ---- the seam ------------------------------------------------------------ */

/* Whether all of [@addr, @addr + @len) has shadow @bit. */
static bool shadow_all(SimHost *h, uint64_t addr, uint64_t len, uint8_t bit)
{
    const uint8_t *sh = h->mem.shadow + (addr - h->mem.base);
    uint64_t mask = bit * 0x0101010101010101ull, acc = mask, w;

    while (len >= 8) {
        memcpy(&w, sh, 8);
        acc &= w;
        sh += 8;
        len -= 8;
    }
    while (len--) {
        acc &= *sh++ | ~0xffull;
    }
    return (acc & mask) == mask;
}

/* False: the access fails, because guest memory ends before. */
static bool access_ok(SimHost *h, uint64_t addr, uint64_t len, uint8_t bit)
{
    Sim *s = h->sim;
    uint64_t off = addr - h->mem.base;

    if (!len) {
        return true;
    }
    if (off >= SIM_MEM_SIZE || len > SIM_MEM_SIZE - off) {
        sim_fail(s, "memory", "host %u: device %s of %" PRIu64 " bytes at 0x%"
                 PRIx64 ", where no memory is", h->id,
                 bit == SIM_SH_READ ? "read" : "write", len, addr);
        return false;
    }
    if (s->plan.ring_fail && sim_chance(&s->wire_rng, s->plan.ring_fail)) {
        return false;
    }
    if (s->plan.dma_fail && !(h->mem.shadow[off] & SIM_SH_RING) &&
        sim_chance(&s->wire_rng, s->plan.dma_fail)) {
        return false;
    }
    if (!shadow_all(h, addr, len, bit)) {
        uint64_t i = 0;

        while (h->mem.shadow[off + i] & bit) {
            i++;
        }
        sim_fail(s, bit == SIM_SH_READ ? "read" : "write",
                 "host %u: device %s of %" PRIu64 " bytes at 0x%" PRIx64
                 ": byte %" PRIu64 " is not open to it", h->id,
                 bit == SIM_SH_READ ? "read" : "write", len, addr, i);
    }
    return true;
}

static bool env_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    SimHost *h = env;

    if (!access_ok(h, addr, len, SIM_SH_READ)) {
        return false;
    }
    memcpy(buf, h->mem.bytes + (addr - h->mem.base), len);
    return true;
}

/* A write into a completion ring wakes the guest that polls it. */
static void notice_ring(SimHost *h, uint64_t addr)
{
    SIM_EACH(SimCq, cq, h->cqs) {
        if (addr - cq->ring < (uint64_t)cq->depth * sizeof(struct ernic_cqe) &&
            !cq->evented) {
            sim_poll_soon(cq);
            return;
        }
    }
}

static bool env_dma_write(void *env, uint64_t addr, const void *buf,
                          uint64_t len)
{
    SimHost *h = env;

    if (!access_ok(h, addr, len, SIM_SH_WRITE)) {
        return false;
    }
    memcpy(h->mem.bytes + (addr - h->mem.base), buf, len);
    if (len && (h->mem.shadow[addr - h->mem.base] & SIM_SH_RING)) {
        notice_ring(h, addr);
    }
    return true;
}

static bool env_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op,
                             uint64_t arg, uint64_t compare, uint64_t *old)
{
    SimHost *h = env;
    uint8_t *p;

    if (addr & 7) {
        sim_fail(h->sim, "write", "host %u: atomic at 0x%" PRIx64, h->id, addr);
        return false;
    }
    if (!access_ok(h, addr, 8, SIM_SH_WRITE)) {
        return false;
    }
    p = sim_mem(h, addr);
    *old = ldq_le_p(p);
    if (op == ERNIC_ATOMIC_FETCH_ADD) {
        stq_le_p(p, *old + arg);
        if (sim_sabotage(h->sim, SIM_SAB_ATOMIC)) {
            stq_le_p(p, *old + 2 * arg);
        }
    } else if (op == ERNIC_ATOMIC_WRITE || *old == compare) {
        stq_le_p(p, arg);
    }
    return true;
}

static void env_irq(void *env, uint16_t vector)
{
    SimHost *h = env;
    uint32_t i;

    h->irqs++;
    for (i = 0; i < h->eqs; i++) {
        SimEq *eq = &h->eq[i];

        if (eq->vector == vector && !eq->pending) {
            eq->pending = true;
            sim_at(h->sim, h->sim->now + sim_range(&h->rng, 100, 3 * SIM_US),
                   SIM_EV_EQ, h, eq, 0);
        }
    }
}

static void env_wake_at(void *env, uint64_t ns)
{
    SimHost *h = env;

    h->wake_gen++;
    h->wake_at = ns;
    if (ns != UINT64_MAX && !sim_sabotage(h->sim, SIM_SAB_SKIP_WAKE)) {
        sim_at(h->sim, ns, SIM_EV_RUN, h, NULL, h->wake_gen);
    }
}

const ErnicEnvOps sim_env_ops = {
    .dma_read = env_dma_read,
    .dma_write = env_dma_write,
    .dma_atomic64 = env_dma_atomic64,
    .tx = sim_wire_tx,
    .tx_departed = sim_wire_departed,
    .irq = env_irq,
    .wake_at = env_wake_at,
};
