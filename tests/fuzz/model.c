/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The objects of an engine that commands have created, as the guest knows them.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "interfaces/verbs/commands.h"
#include "steering/flow.h"
#include "model.h"
#include "objects/mr.h"
#include "transport/qp.h"
#include "trace-mark.h"

#define IN(member) offsetof(struct ernic_cmd, member) - \
                   offsetof(struct ernic_cmd, raw)
#define INIT(member) offsetof(struct ernic_qp_init, member)
#define HANDLE(k) .fields = 1, .field = { { MODEL_##k, IN(handle.handle) } }
#define TAKES(k) { .takes = MODEL_##k, HANDLE(k) }
#define QUERY(k) { .fields = 2, .field = { { MODEL_NONE, IN(query.addr) }, \
                                           { k, IN(query.handle) } } }

const ModelCmd model_cmds[ERNIC_CMD_COUNT] = {
    [ERNIC_CMD_QUERY_DEVICE] = QUERY(MODEL_NONE),
    [ERNIC_CMD_QUERY_PORT] = QUERY(MODEL_NONE),
    [ERNIC_CMD_QUERY_STATS] = QUERY(MODEL_NONE),
    [ERNIC_CMD_QUERY_TIMING] = QUERY(MODEL_NONE),
    [ERNIC_CMD_UCTX_ALLOC] = { .makes = MODEL_UCTX },
    [ERNIC_CMD_UCTX_FREE] = TAKES(UCTX),
    [ERNIC_CMD_PD_ALLOC] = { .makes = MODEL_PD },
    [ERNIC_CMD_PD_FREE] = TAKES(PD),
    [ERNIC_CMD_EQ_CREATE] = {
        .makes = MODEL_EQ, .fields = 1,
        .field = { { MODEL_NONE, IN(eq_create.buf.addr) } },
    },
    [ERNIC_CMD_EQ_DESTROY] = TAKES(EQ),
    [ERNIC_CMD_CQ_CREATE] = {
        .makes = MODEL_CQ, .fields = 3,
        .field = { { MODEL_NONE, IN(cq_create.buf.addr) },
                   { MODEL_NONE, IN(cq_create.ci_addr) },
                   { MODEL_EQ, IN(cq_create.eq) } },
    },
    [ERNIC_CMD_CQ_RESIZE] = {
        .fields = 2, .field = { { MODEL_NONE, IN(cq_create.buf.addr) },
                                { MODEL_CQ, IN(cq_create.handle) } },
    },
    [ERNIC_CMD_CQ_MODERATE] = {
        .fields = 1, .field = { { MODEL_CQ, IN(cq_moderate.handle) } },
    },
    [ERNIC_CMD_CQ_DESTROY] = TAKES(CQ),
    [ERNIC_CMD_SRQ_CREATE] = {
        .makes = MODEL_SRQ, .fields = 2,
        .field = { { MODEL_NONE, IN(srq.buf.addr) },
                   { MODEL_PD, IN(srq.pd) } },
    },
    [ERNIC_CMD_SRQ_MODIFY] = {
        .fields = 2, .field = { { MODEL_SRQ, IN(srq.handle) },
                                { MODEL_NONE, IN(srq.buf.addr) } },
    },
    [ERNIC_CMD_SRQ_QUERY] = QUERY(MODEL_SRQ),
    [ERNIC_CMD_SRQ_DESTROY] = TAKES(SRQ),
    [ERNIC_CMD_MR_REG] = {
        .makes = MODEL_MR, .fields = 2,
        .field = { { MODEL_NONE, IN(mr_reg.buf.addr) },
                   { MODEL_PD, IN(mr_reg.pd) } },
    },
    [ERNIC_CMD_MR_REREG] = {
        .fields = 3, .field = { { MODEL_NONE, IN(mr_reg.buf.addr) },
                                { MODEL_PD, IN(mr_reg.pd) },
                                { MODEL_MR, IN(mr_reg.key) } },
    },
    [ERNIC_CMD_MR_PAGES] = {
        .fields = 2, .field = { { MODEL_NONE, IN(mr_pages.list) },
                                { MODEL_MR, IN(mr_pages.key) } },
    },
    [ERNIC_CMD_PAGE_RESUME] = {
        .fields = 2, .field = { { MODEL_MR, IN(page_resume.key) },
                                { MODEL_QP, IN(page_resume.qpn) } },
    },
    [ERNIC_CMD_MR_ALLOC] = {
        .makes = MODEL_MR, .fields = 1,
        .field = { { MODEL_PD, IN(mr_alloc.pd) } },
    },
    [ERNIC_CMD_MR_FREE] = TAKES(MR),
    [ERNIC_CMD_MW_ALLOC] = {
        .makes = MODEL_MW, .fields = 1,
        .field = { { MODEL_PD, IN(mw_alloc.pd) } },
    },
    [ERNIC_CMD_MW_FREE] = TAKES(MW),
    [ERNIC_CMD_QP_CREATE] = {
        .makes = MODEL_QP, .inner_len = INIT(sq_record),
        .inners = 6,
        .inner = { { MODEL_NONE, INIT(sq_buf.addr) },
                   { MODEL_NONE, INIT(rq_buf.addr) },
                   { MODEL_PD, INIT(pd) }, { MODEL_CQ, INIT(send_cq) },
                   { MODEL_CQ, INIT(recv_cq) }, { MODEL_SRQ, INIT(srq) } },
    },
    [ERNIC_CMD_QP_MODIFY] = {
        .fields = 1, .field = { { MODEL_QP, IN(qp.handle) } },
        .inner_len = sizeof(struct ernic_qp_attr),
    },
    [ERNIC_CMD_QP_QUERY] = QUERY(MODEL_QP),
    [ERNIC_CMD_QP_DESTROY] = TAKES(QP),
    [ERNIC_CMD_MCAST_ATTACH] = {
        .fields = 1, .field = { { MODEL_QP, IN(mcast.qpn) } },
    },
    [ERNIC_CMD_MCAST_DETACH] = {
        .fields = 1, .field = { { MODEL_QP, IN(mcast.qpn) } },
    },
    [ERNIC_CMD_FLOW_CREATE] = {
        .makes = MODEL_FLOW, .inner_len = sizeof(struct ernic_flow_rule),
        .inners = 1,
        .inner = { { MODEL_QP, offsetof(struct ernic_flow_rule, qpn) } },
    },
    [ERNIC_CMD_FLOW_DESTROY] = TAKES(FLOW),
    [ERNIC_CMD_RSS_CREATE] = {
        .makes = MODEL_RSS, .inner_len = sizeof(struct ernic_rss),
        .inners = 2,
        .inner = { { MODEL_QP, offsetof(struct ernic_rss, wq[0]) },
                   { MODEL_QP, offsetof(struct ernic_rss, wq[1]) } },
    },
    [ERNIC_CMD_RSS_DESTROY] = TAKES(RSS),
    [ERNIC_CMD_COUNTER_ALLOC] = { .makes = MODEL_COUNTER },
    [ERNIC_CMD_COUNTER_FREE] = TAKES(COUNTER),
    [ERNIC_CMD_COUNTER_BIND] = {
        .fields = 2, .field = { { MODEL_QP, IN(counter_bind.qpn) },
                                { MODEL_COUNTER, IN(counter_bind.counter) } },
    },
    [ERNIC_CMD_COUNTER_QUERY] = QUERY(MODEL_COUNTER),
};

/* ---- objects ---------------------------------------------------------- */

/* Keys of a region are compared without the variant byte, as *_FREE does. */
static bool same_handle(uint8_t kind, uint32_t a, uint32_t b)
{
    bool key = kind == MODEL_MR || kind == MODEL_MW;

    return key ? a >> 8 == b >> 8 : a == b;
}

static ModelObject *find_object(Model *m, uint8_t kind, uint32_t handle)
{
    for (uint32_t i = 0; i < m->objects; i++) {
        if (m->object[i].kind == kind &&
            same_handle(kind, m->object[i].handle, handle)) {
            return &m->object[i];
        }
    }
    return NULL;
}

ModelObject *model_pick(Model *m, uint8_t kind, uint32_t n)
{
    uint32_t i, count = 0;

    for (i = 0; i < m->objects; i++) {
        count += m->object[i].kind == kind;
    }
    n = count ? n % count : 0;
    for (i = 0; i < m->objects; i++) {
        if (m->object[i].kind == kind && n-- == 0) {
            return &m->object[i];
        }
    }
    return NULL;
}

/* ---- memory ----------------------------------------------------------- */

static void add_part(ModelMem *mem, uint64_t addr, uint64_t len)
{
    if (len && mem->parts < ARRAY_SIZE(mem->part)) {
        mem->part[mem->parts].addr = addr;
        mem->part[mem->parts].len = len;
        mem->parts++;
    }
}

/* One page of a buffer, of which [@from, @to) is used. */
static void add_page(const Model *m, ModelMem *mem, uint64_t page,
                     uint64_t size, uint64_t from, uint64_t to)
{
    uint64_t off = page - m->h.env.base, i;

    if (from || to < size) {
        add_part(mem, page + from, to - from);
        return;
    }
    for (i = 0; i < size / MODEL_UNIT && i < MODEL_UNITS; i++) {
        if (off + i * MODEL_UNIT < FUZZ_MEM) {
            mem->unit[off / MODEL_UNIT + i] = true;
        }
    }
}

static uint64_t get64(Model *m, uint64_t addr)
{
    uint64_t off = addr - m->h.env.base;

    return off <= FUZZ_MEM - 8 ? ldq_le_p(m->h.env.mem + off) : 0;
}

/* Bytes [@offset, @offset + @length) of what @desc names. */
static void resolve(Model *m, const struct ernic_buf_desc *desc,
                    uint64_t offset, uint64_t length, ModelMem *mem)
{
    uint64_t addr = le64_to_cpu(desc->addr), end = offset + length;
    uint32_t npages = le32_to_cpu(desc->npages), i;
    uint64_t size = 1ull << (desc->page_shift & 63);

    if (!desc->levels) {
        add_part(mem, addr + offset, length);
        return;
    }
    for (i = offset / size; i < npages && i * size < end; i++) {
        uint64_t begin = i * size, list = addr;

        if (desc->levels == 2) {
            list = get64(m, addr + i / 512 * 8) + i % 512 * 8;
        } else {
            list += i * 8ull;
        }
        add_page(m, mem, get64(m, list), size,
                 offset > begin ? offset - begin : 0,
                 MIN(end - begin, size));
    }
}

typedef void Brush(FuzzHost *h, uint64_t addr, uint64_t len, uint8_t may);

static void paint(Model *m, const ModelMem *mem, uint8_t may, Brush *brush)
{
    for (uint32_t i = 0; i < MODEL_UNITS && may; i++) {
        if (mem->unit[i]) {
            brush(&m->h, m->h.env.base + i * MODEL_UNIT, MODEL_UNIT, may);
        }
    }
    for (uint32_t i = 0; i < mem->parts && may; i++) {
        brush(&m->h, mem->part[i].addr, mem->part[i].len, may);
    }
}

static uint8_t may_of(uint32_t access)
{
    bool bind = access & ERNIC_ACCESS_MW_BIND;

    if (!(access & ERNIC_ACCESS_LOCAL_WRITE)) {
        return 0;
    }
    return FUZZ_RECV | FUZZ_LAND |
           (bind || (access & ERNIC_ACCESS_REMOTE_WRITE) ? FUZZ_RWRITE : 0) |
           (bind || (access & ERNIC_ACCESS_REMOTE_ATOMIC) ? FUZZ_RATOMIC : 0);
}

/* The memory that @cmd opens, if it succeeds. */
static uint8_t opens(Model *m, const struct ernic_cmd *cmd, ModelMem *mem)
{
    memset(mem, 0, sizeof(*mem));
    switch (cmd->opcode) {
    case ERNIC_CMD_EQ_CREATE:
        resolve(m, &cmd->eq_create.buf, 0, (uint64_t)
                le32_to_cpu(cmd->eq_create.depth) * sizeof(struct ernic_eqe),
                mem);
        return FUZZ_RING;
    case ERNIC_CMD_CQ_CREATE:
    case ERNIC_CMD_CQ_RESIZE:
        resolve(m, &cmd->cq_create.buf, 0, (uint64_t)
                le32_to_cpu(cmd->cq_create.depth) * sizeof(struct ernic_cqe),
                mem);
        return FUZZ_RING;
    case ERNIC_CMD_MR_REG:
    case ERNIC_CMD_MR_REREG:
        /* A region on demand opens memory later: sync_pages(). */
        if (le32_to_cpu(cmd->mr_reg.access) & ERNIC_ACCESS_ON_DEMAND) {
            return may_of(le32_to_cpu(cmd->mr_reg.access));
        }
        resolve(m, &cmd->mr_reg.buf, le32_to_cpu(cmd->mr_reg.offset),
                le64_to_cpu(cmd->mr_reg.length), mem);
        return may_of(le32_to_cpu(cmd->mr_reg.access));
    default:
        return 0;
    }
}

/* Regions that work requests registered: as the engine has them. */
static void sync_fast(FuzzHost *h)
{
    Model *m = container_of(h, Model, h);

    for (uint32_t i = 1; i < h->e->cfg.max_mr; i++) {
        const ErnicMr *mr = &h->e->mr[i];
        ModelMem mem = { .parts = 0 };

        if (mr->kind != ERNIC_MR_FAST || !mr->valid) {
            continue;
        }
        for (uint32_t page = 0; page < mr->buf.npages; page++) {
            uint64_t size = 1ull << mr->buf.page_shift;

            add_page(m, &mem, mr->buf.page[page], size, 0, size);
        }
        paint(m, &mem, may_of(mr->access), fuzz_paint);
    }
}

/* Regions on demand: as the engine has them, too. */
static void sync_pages(Model *m)
{
    for (uint32_t i = 1; i < m->h.e->cfg.max_mr; i++) {
        const ErnicMr *mr = &m->h.e->mr[i];
        ModelMem mem = { .parts = 0 };

        for (uint32_t c = 0; mr->odp && c < mr->odp->num; c++) {
            for (uint32_t k = 0; k < ERNIC_ODP_CHUNK; k++) {
                uint64_t entry = mr->odp->chunk[c].entry[k];
                uint64_t size = 1ull << mr->odp->page_shift;

                if (entry) {
                    add_page(m, &mem, entry & ~(size - 1), size, 0, size);
                }
            }
        }
        paint(m, &mem, may_of(mr->access), fuzz_paint);
    }
}

static void repaint(Model *m)
{
    memset(m->h.shadow, 0, FUZZ_MEM);
    for (uint32_t i = 0; i < m->objects; i++) {
        paint(m, &m->object[i].mem, m->object[i].may, fuzz_paint);
    }
    sync_fast(&m->h);
    sync_pages(m);
}

/* ---- commands --------------------------------------------------------- */

/* The state but for counters, of which a refusal has its own. */
static GByteArray *snapshot(Model *m)
{
    ErnicStats stats = m->h.e->stats;
    GByteArray *out = g_byte_array_new();

    memset(&m->h.e->stats, 0, sizeof(stats));
    m->h.e->now = m->h.env.now;
    ernic_save(m->h.e, out);
    m->h.e->stats = stats;
    return out;
}

static void unchanged(Model *m, const struct ernic_cmd *cmd,
                      GByteArray *before, uint64_t writes, uint8_t status)
{
    GByteArray *after = snapshot(m);

    if (fuzz_break("atomic-cmd")) {
        after->data[after->len - 1] ^= 1;
    }
    if (before->len != after->len ||
        memcmp(before->data, after->data, after->len) != 0 ||
        m->h.env.writes != writes) {
        fuzz_fail("atomic-cmd", "%s failed with status %u and changed the "
                  "device", ernic_cmd_info(cmd->opcode)->name, status);
    }
    g_byte_array_free(after, true);
}

static void owner(Model *m, const struct ernic_cmd *cmd,
                  const ModelField *field, const uint8_t *at)
{
    uint32_t uctx = le32_to_cpu(cmd->uctx), handle = ldl_le_p(at);
    ModelObject *o = find_object(m, field->kind, handle);

    if (field->kind == MODEL_QP && handle >= ERNIC_RSS_QPN) {
        o = find_object(m, MODEL_RSS, handle);   /* a rule is for either */
    }
    if (field->kind == MODEL_QP && !handle &&
        cmd->opcode == ERNIC_CMD_RSS_CREATE) {
        return;                                 /* behind the table */
    }
    if (handle == UINT32_MAX &&
        (field->kind == MODEL_EQ || field->kind == MODEL_SRQ)) {
        return;                                 /* none */
    }
    if (handle == 0 && field->kind == MODEL_CQ) {
        return;                                 /* XRC; fuzz_check() knows */
    }
    if (handle == 0 && field->kind == MODEL_COUNTER) {
        return;                                 /* it is always there */
    }
    if (field->kind == MODEL_QP && o && cmd->opcode == ERNIC_CMD_COUNTER_BIND) {
        return;                                 /* of any context */
    }
    if (fuzz_break("owner") || !o ||
        (o->uctx != uctx && !(field->kind == MODEL_EQ && !o->uctx))) {
        fuzz_fail("owner", "%s for context %u used handle 0x%x of %s",
                  ernic_cmd_info(cmd->opcode)->name, uctx, handle,
                  o ? "another" : "nothing");
    }
}

/* A command that succeeded may only have named what is its own. */
static void owners(Model *m, const struct ernic_cmd *cmd)
{
    const ModelCmd *row = &model_cmds[cmd->opcode];
    uint32_t uctx = le32_to_cpu(cmd->uctx), i;
    const uint8_t *inner;

    if (uctx && (!find_object(m, MODEL_UCTX, uctx) ||
                 (ernic_cmd_info(cmd->opcode)->flags & ERNIC_CMDF_KERNEL))) {
        fuzz_fail("owner", "%s for context %u",
                  ernic_cmd_info(cmd->opcode)->name, uctx);
    }
    if (cmd->opcode == ERNIC_CMD_PAGE_RESUME) {
        return;                 /* of any context; a stale one does nothing */
    }
    for (i = 0; i < row->fields; i++) {
        if (row->field[i].kind != MODEL_NONE) {
            owner(m, cmd, &row->field[i], cmd->raw + row->field[i].offset);
        }
    }
    inner = m->h.env.mem + (le64_to_cpu(cmd->qp.addr) - m->h.env.base);
    for (i = 0; i < row->inners; i++) {
        if (row->inner[i].kind != MODEL_NONE) {
            owner(m, cmd, &row->inner[i], inner + row->inner[i].offset);
        }
    }
}

static void made(Model *m, const struct ernic_cmd *cmd, uint32_t handle,
                 const ModelMem *mem, uint8_t may)
{
    uint8_t kind = model_cmds[cmd->opcode].makes;
    ModelObject *o;

    if (find_object(m, kind, handle) || fuzz_break("handle")) {
        fuzz_fail("handle", "0x%x was given out twice", handle);
    }
    g_assert(m->objects < MODEL_OBJECTS);
    o = &m->object[m->objects++];
    *o = (ModelObject) {
        .kind = kind, .handle = handle, .uctx = le32_to_cpu(cmd->uctx),
        .may = may, .mem = *mem,
    };
    if (kind == MODEL_FLOW) {
        o->qpn = m->h.e->flow[handle].qpn;
    }
    if (kind == MODEL_QP) {
        o->srq = m->h.e->qp[handle].srq;
    }
    if (!m->trusted) {
        repaint(m);
    }
}

/* Rules go with the queue pair that they are for. */
static void forget_flows(Model *m, uint32_t qpn)
{
    uint32_t i = 0;

    while (i < m->objects) {
        if (m->object[i].kind == MODEL_FLOW && m->object[i].qpn == qpn) {
            m->object[i] = m->object[--m->objects];
        } else {
            i++;
        }
    }
}

static void succeeded(Model *m, const struct ernic_cmd *cmd, uint32_t handle,
                      const ModelMem *mem, uint8_t may)
{
    const ModelCmd *row = &model_cmds[cmd->opcode];
    ModelObject *o;

    owners(m, cmd);
    if (row->makes) {
        made(m, cmd, handle, mem, may);
    } else if (row->takes) {
        o = find_object(m, row->takes, le32_to_cpu(cmd->handle.handle));
        *o = m->object[--m->objects];
        if (row->takes == MODEL_QP || row->takes == MODEL_RSS) {
            forget_flows(m, le32_to_cpu(cmd->handle.handle));
        }
        repaint(m);
    } else if (cmd->opcode == ERNIC_CMD_CQ_RESIZE) {
        o = find_object(m, MODEL_CQ, le32_to_cpu(cmd->cq_create.handle));
        o->mem = *mem;
        repaint(m);
    } else if (cmd->opcode == ERNIC_CMD_MR_REREG) {
        o = find_object(m, MODEL_MR, le32_to_cpu(cmd->mr_reg.key));
        if (le32_to_cpu(cmd->mr_reg.flags) & ERNIC_REREG_TRANS) {
            o->mem = *mem;
        }
        if (le32_to_cpu(cmd->mr_reg.flags) & ERNIC_REREG_ACCESS) {
            o->may = may;
        }
        repaint(m);
    } else if (cmd->opcode == ERNIC_CMD_MR_PAGES) {
        repaint(m);
    } else if (cmd->opcode == ERNIC_CMD_QP_MODIFY) {
        o = find_object(m, MODEL_QP, le32_to_cpu(cmd->qp.handle));
        if (m->h.e->qp[o->handle].state == ERNIC_QPS_RESET) {
            o->sq_next = o->sq_pi = o->rq_next = o->rq_pi = 0;
        }
    }
}

/* Where the command itself writes: answers, and the ring it moves to. */
static void paint_answer(Model *m, const struct ernic_cmd *cmd,
                         const ModelMem *mem, Brush *brush)
{
    switch (cmd->opcode) {
    case ERNIC_CMD_QUERY_DEVICE:
    case ERNIC_CMD_QUERY_PORT:
    case ERNIC_CMD_QUERY_STATS:
    case ERNIC_CMD_COUNTER_QUERY:
    case ERNIC_CMD_QUERY_TIMING:
    case ERNIC_CMD_SRQ_QUERY:
    case ERNIC_CMD_QP_QUERY:
        brush(&m->h, le64_to_cpu(cmd->query.addr),
              le32_to_cpu(cmd->query.length), FUZZ_QUEUE);
        break;
    case ERNIC_CMD_CQ_RESIZE:
        paint(m, mem, FUZZ_QUEUE, brush);
        break;
    default:
        break;
    }
}

uint8_t model_cmd(Model *m, const struct ernic_cmd *cmd, uint32_t *handle)
{
    GByteArray *before = m->trusted ? NULL : snapshot(m);
    uint64_t writes = m->h.env.writes;
    struct ernic_rsp rsp;
    ModelMem mem;
    uint8_t may = opens(m, cmd, &mem), status;

    paint_answer(m, cmd, &mem, fuzz_paint);
    status = fuzz_cmd_within(&m->h, cmd, &rsp, FUZZ_RING | FUZZ_QUEUE);
    paint_answer(m, cmd, &mem, fuzz_unpaint);
    if (status == ERNIC_OK) {
        succeeded(m, cmd, le32_to_cpu(rsp.handle), &mem, may);
    } else if (before && cmd->opcode < ERNIC_CMD_COUNT &&
               cmd->opcode != ERNIC_CMD_CQ_RESIZE) {
        /* A resize looks up the consumer's counter, and fills the new ring. */
        unchanged(m, cmd, before, writes, status);
    }
    if (before) {
        g_byte_array_free(before, true);
    }
    if (handle) {
        *handle = le32_to_cpu(rsp.handle);
    }
    return status;
}

/* ---- requests --------------------------------------------------------- */

static Model *watched;
static int id_send = -1, id_unsignaled, id_recv;

static int id_of(const char *name)
{
    for (unsigned i = 0; i < ernic_trace_events; i++) {
        if (strcmp(ernic_trace_names[i], name) == 0) {
            return i;
        }
    }
    g_assert_not_reached();
}

static void completed(ModelObject *o, const char *which, uint32_t index,
                      uint32_t *next, uint32_t pi)
{
    if (fuzz_break("completion")) {
        index++;
    }
    if (index != *next || *next == pi) {
        fuzz_fail("completion", "%s %u of queue pair 0x%x, expected %u of %u",
                  which, index, o->handle, *next, pi);
    }
    ++*next;
}

static void print_event(unsigned id, const char *fmt, va_list ap)
{
    fprintf(stderr, "%s: ", ernic_trace_names[id]);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
}

/*
 * Instead of the trace backend (linked with --wrap): all requests complete one
 * after the other, reported to the guest or not.
 */
void __wrap_ernic_trace_event(unsigned id, const char *fmt, ...);
void __wrap_ernic_trace_event(unsigned id, const char *fmt, ...)
{
    uint32_t qpn, index;
    ModelObject *o;
    va_list ap;

    if (ernic_trace_mode == ERNIC_TRACE_STDERR) {
        va_start(ap, fmt);
        print_event(id, fmt, ap);
        va_end(ap);
    }
    if ((int)id != id_send && (int)id != id_unsignaled && (int)id != id_recv) {
        return;
    }
    va_start(ap, fmt);
    qpn = va_arg(ap, uint32_t);
    index = va_arg(ap, uint32_t);
    va_end(ap);
    o = find_object(watched, MODEL_QP, qpn);
    if (!o) {
        fuzz_fail("completion", "of queue pair 0x%x, which is not there", qpn);
    }
    if ((int)id != id_recv) {
        completed(o, "send", index, &o->sq_next, o->sq_pi);
    } else if (!o->srq) {
        completed(o, "receive", index, &o->rq_next, o->rq_pi);
    }
}

uint8_t model_doorbell(Model *m, uint32_t uctx, uint64_t value)
{
    uint32_t kind = value >> 56, queue = value >> 32 & 0xffffff;
    uint8_t status = fuzz_doorbell(&m->h, uctx, value, FUZZ_ALL);
    static const uint8_t kinds[] = {
        [ERNIC_DB_SQ] = MODEL_QP, [ERNIC_DB_RQ] = MODEL_QP,
        [ERNIC_DB_SRQ] = MODEL_SRQ, [ERNIC_DB_CQ] = MODEL_CQ,
        [ERNIC_DB_CQ_ARM] = MODEL_CQ, [ERNIC_DB_CQ_ARM_SOLICITED] = MODEL_CQ,
        [ERNIC_DB_EQ] = MODEL_EQ,
    };
    ModelObject *o;

    if (status != ERNIC_OK) {
        return status;
    }
    o = kind < ARRAY_SIZE(kinds) ? find_object(m, kinds[kind], queue) : NULL;
    if (!o || o->uctx != uctx || fuzz_break("doorbell")) {
        fuzz_fail("doorbell", "kind %u queue 0x%x obeyed for context %u", kind,
                  queue, uctx);
    }
    if (kind == ERNIC_DB_SQ) {
        o->sq_pi = value;
    } else if (kind == ERNIC_DB_RQ) {
        o->rq_pi = value;
    }
    return status;
}

/* ---- life ------------------------------------------------------------- */

void model_open(Model *m)
{
    if (id_send < 0) {
        id_send = id_of("ernic_complete_send");
        id_unsignaled = id_of("ernic_unsignaled");
        id_recv = id_of("ernic_complete_recv");
    }
    watched = m;
    m->objects = 0;
    m->trusted = true;
    fuzz_open(&m->h, 1);
    m->h.run_write = MODEL_WRITES;
    m->h.sync = sync_fast;
    if (ernic_trace_mode == ERNIC_TRACE_OFF) {
        ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    }
}

void model_begin(Model *m)
{
    m->trusted = false;
    repaint(m);
}

void model_close(Model *m)
{
    fuzz_close(&m->h);
}
