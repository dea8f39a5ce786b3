/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The guarded seam of a fuzzed engine.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "harness.h"
#include "interfaces/pg332/register_file.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "trace-mark.h"
#include "transport/tx.h"
#include "wire/headers.h"

/* Sanitizers: nothing is kept for long, executions are short. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:allocator_may_return_null=1";
}

void fuzz_fail(const char *check, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "fuzz: %s: ", check);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    abort();
}

bool fuzz_break(const char *name)
{
    static const char *wanted;

    if (!wanted) {
        wanted = getenv("ERNIC_FUZZ_BREAK");
        wanted = wanted ? wanted : "";
    }
    return strcmp(wanted, name) == 0;
}

/* ---- guest memory ----------------------------------------------------- */

static void count_call(FuzzHost *h)
{
    h->calls += fuzz_break("work") ? FUZZ_CALLS : 1;
    if (h->calls > FUZZ_CALLS) {
        fuzz_fail("work", "one entry made %u calls", h->calls);
    }
}

/* Where the device's own accesses go; bytes that answer, or none at all. */
static uint64_t reached(FuzzHost *h, uint64_t addr, uint64_t len)
{
    return h->reach ? h->reach(h, addr, len) : addr;
}

static bool answers(const FuzzHost *h, uint64_t addr, uint64_t len)
{
    return addr >= h->env.base && addr - h->env.base <= FUZZ_MEM &&
           len <= FUZZ_MEM - (addr - h->env.base);
}

/*
 * Check that the device may do one of @may to each of these bytes, which are guest
 * memory.
 */
static void check_access(FuzzHost *h, const char *check, uint64_t addr, uint64_t len,
                         uint32_t may)
{
    uint64_t off = addr - h->env.base, i;

    if (may == FUZZ_ALL) {
        return;
    }
    for (i = 0; i < len; i++) {
        if (!(h->shadow[off + i] & may)) {
            fuzz_fail(check, "byte 0x%" PRIx64 " of 0x%" PRIx64 " bytes at 0x%"
                      PRIx64 " may 0x%02x, not 0x%02x", i, len, off,
                      h->shadow[off + i], may);
        }
    }
}

static bool guard_read(void *opaque, uint64_t addr, void *buf, uint64_t len)
{
    FuzzHost *h = opaque;

    count_call(h);
    addr = reached(h, addr, len);
    if (fuzz_break("read") && h->may_read != FUZZ_ALL) {
        addr = h->env.base + FUZZ_MEM - len;
    }
    if (answers(h, addr, len)) {
        check_access(h, "read", addr, len, h->may_read);
    } else if (h->strict) {
        fuzz_fail("read", "0x%" PRIx64 " bytes at 0x%" PRIx64, len, addr);
    } else {
        return false;
    }
    return fake_env_ops.dma_read(&h->env, addr, buf, len);
}

static bool guard_write(void *opaque, uint64_t addr, const void *buf,
                        uint64_t len)
{
    FuzzHost *h = opaque;

    count_call(h);
    addr = reached(h, addr, len);
    if (fuzz_break("write")) {
        addr = h->env.base + FUZZ_MEM - len;
    }
    if (answers(h, addr, len)) {
        check_access(h, "write", addr, len, h->may_write);
    } else if (h->strict) {
        fuzz_fail("write", "0x%" PRIx64 " bytes at 0x%" PRIx64, len, addr);
    } else {
        return false;
    }
    return fake_env_ops.dma_write(&h->env, addr, buf, len);
}

static bool guard_atomic64(void *opaque, uint64_t addr, ErnicAtomicOp op,
                           uint64_t arg, uint64_t compare, uint64_t *old)
{
    FuzzHost *h = opaque;

    count_call(h);
    if (fuzz_break("atomic")) {
        addr = h->env.base + FUZZ_MEM - 8;
    }
    if (addr % 8) {
        fuzz_fail("atomic", "address 0x%" PRIx64, addr);
    }
    if (answers(h, addr, 8)) {
        check_access(h, "atomic", addr, 8, op == ERNIC_ATOMIC_WRITE ? FUZZ_RWRITE :
                                                                      FUZZ_RATOMIC);
    } else if (h->strict) {
        fuzz_fail("atomic", "at 0x%" PRIx64, addr);
    } else {
        return false;
    }
    return fake_env_ops.dma_atomic64(&h->env, addr, op, arg, compare, old);
}

/* The shadow of the part of [@addr, @addr + *@len) that answers. */
static uint8_t *shadow_of(FuzzHost *h, uint64_t addr, uint64_t *len)
{
    uint64_t off = addr - h->env.base;

    *len = off < FUZZ_MEM ? MIN(*len, FUZZ_MEM - off) : 0;
    return h->shadow + (*len ? off : 0);
}

void fuzz_paint(FuzzHost *h, uint64_t addr, uint64_t len, uint8_t may)
{
    uint8_t *p = shadow_of(h, addr, &len);

    for (uint64_t i = 0; i < len; i++) {
        p[i] |= may;
    }
}

void fuzz_unpaint(FuzzHost *h, uint64_t addr, uint64_t len, uint8_t may)
{
    uint8_t *p = shadow_of(h, addr, &len);

    for (uint64_t i = 0; i < len; i++) {
        p[i] &= ~may;
    }
}

/* ---- link, interrupts, wake-ups --------------------------------------- */

/* Every packet that leaves is one that a peer would take. */
static void check_packet(const ErnicTrain *train, const ErnicIcrcCtx *icrc,
                         uint32_t pos, uint32_t len)
{
    uint8_t copy[ERNIC_TRAIN_BYTES];
    ErnicDrop why;
    ErnicPkt pkt;

    memcpy(copy, train->data + pos, len);
    if (fuzz_break("packet")) {
        copy[len / 2] ^= 1;
    }
    why = ernic_pkt_parse(&pkt, copy, len);
    if (why == ERNIC_DROP_NONE && !ernic_icrc_ok(icrc, copy, len)) {
        why = ERNIC_DROP_BAD_ICRC;
    }
    if (why) {
        fuzz_fail("packet", "at %u of a train: %s", pos, ernic_drop_name(why));
    }
    if (pkt.payload_len > ERNIC_MTU_MAX) {
        fuzz_fail("packet", "%u bytes of payload", pkt.payload_len);
    }
}

/* A frame of software's, whatever it says; of a large packet, several. */
static void check_frames(const FuzzHost *h, const ErnicTrain *train)
{
    if ((train->len - 1) % train->seg + 1 < ERNIC_ETH_LEN ||
        train->seg > ERNIC_ETH_FRAME_MAX || (train->len > train->seg && !h->e->mlx5)) {
        fuzz_fail("train", "frames of %u bytes in pieces of %u", train->len, train->seg);
    }
}

static bool guard_tx(void *opaque, const ErnicTrain *train)
{
    FuzzHost *h = opaque;
    uint32_t len = train->len + (fuzz_break("train") ? ERNIC_TRAIN_BYTES : 0);
    ErnicIcrcCtx icrc;

    count_call(h);
    if (!train->seg || !len || len > ERNIC_TRAIN_BYTES ||
        DIV_ROUND_UP(len, train->seg) > ERNIC_TRAIN_PACKETS) {
        fuzz_fail("train", "%u bytes in pieces of %u", len, train->seg);
    }
    if (train->frame) {
        check_frames(h, train);
        return fake_env_ops.tx(&h->env, train);
    }
    if (ernic_gid_is_v4(&train->path.sgid) !=
        ernic_gid_is_v4(&train->path.dgid)) {
        fuzz_fail("train", "between two versions of IP");
    }
    ernic_icrc_init(&icrc, &train->path);
    for (uint32_t pos = 0; pos < train->len && !h->any_packet; pos += train->seg) {
        check_packet(train, &icrc, pos, MIN(train->seg, train->len - pos));
    }
    return fake_env_ops.tx(&h->env, train);
}

static uint64_t guard_tx_departed(void *opaque)
{
    FuzzHost *h = opaque;

    return fake_env_ops.tx_departed(&h->env);
}

static void guard_irq(void *opaque, uint16_t vector)
{
    FuzzHost *h = opaque;

    count_call(h);
    vector += fuzz_break("irq") ? h->e->cfg.num_vectors : 0;
    if (vector >= h->e->cfg.num_vectors) {
        fuzz_fail("irq", "vector %u", vector);
    }
}

static void guard_wake_at(void *opaque, uint64_t ns)
{
    FuzzHost *h = opaque;

    h->env.wake = fuzz_break("livelock") ? h->env.now : ns;
}

static const ErnicEnvOps guard_ops = {
    .dma_read = guard_read,
    .dma_write = guard_write,
    .dma_atomic64 = guard_atomic64,
    .tx = guard_tx,
    .tx_departed = guard_tx_departed,
    .irq = guard_irq,
    .wake_at = guard_wake_at,
};

/* ---- life ------------------------------------------------------------- */

void fuzz_config(ErnicConfig *cfg)
{
    *cfg = (ErnicConfig) {
        .max_qp = 24, .max_cq = 12, .max_srq = 6, .max_eq = 4, .max_mr = 40,
        .max_pd = 8, .max_uctx = 4, .num_vectors = 4, .mtu = 5,
        .link_speed = 100000,
        .raw = true,
    };
}

void fuzz_gid6(uint8_t gid[16], uint8_t number)
{
    memset(gid, 0, 16);
    gid[0] = 0xfd;
    gid[15] = number;
}

static void set_gid6(FuzzHost *h, uint8_t number)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_SET_GID,
        .set_gid = { .index = 1, .vlan = cpu_to_le16(5), .mac = { 2, 0, 6 } },
    };

    fuzz_gid6(cmd.set_gid.gid, number);
    cmd.set_gid.mac[5] = number;
    fuzz_cmd(h, &cmd, NULL);
}

void fuzz_open_as(FuzzHost *h, const ErnicConfig *cfg)
{
    if (!h->env.mem) {
        fake_env_init(&h->env);
        h->shadow = g_malloc(FUZZ_MEM);
    }
    memset(h->env.mem, 0, FUZZ_MEM);
    memset(h->shadow, 0, FUZZ_MEM);
    h->env.next = FAKE_SCRATCH;
    h->env.now = 1000000;
    h->env.wake = ERNIC_NEVER;
    h->env.uctx = 0;
    h->env.tx_busy = false;
    fake_tx_leave(&h->env);
    fake_fail_dma(&h->env, 0, false);
    if (getenv("ERNIC_FUZZ_TRACE")) {
        ernic_trace_set_mode(ERNIC_TRACE_STDERR);
    }
    h->strict = false;
    h->any_packet = false;
    h->reach = NULL;
    h->sync = NULL;
    h->idle = 0;
    h->may_read = h->may_write = 0;
    h->run_read = h->run_write = FUZZ_ALL;
    fuzz_paint(h, h->env.base, FAKE_SCRATCH, FUZZ_QUEUE);
    h->e = ernic_new(cfg, &guard_ops, h);
    fuzz_set_link(h, true);
}

void fuzz_open(FuzzHost *h, uint8_t number)
{
    ErnicConfig cfg;

    fuzz_config(&cfg);
    fuzz_open_as(h, &cfg);
    fake_set_gid(h->e, 0, number);
    set_gid6(h, number);
}

/* ---- entries ---------------------------------------------------------- */

static void enter(FuzzHost *h, uint32_t may_write, uint32_t may_read)
{
    bool late = h->e->timing;           /* what has become due comes first */

    h->calls = 0;
    h->may_write = late ? FUZZ_ALL : may_write;
    h->may_read = late ? FUZZ_ALL : may_read;
}

void fuzz_check(FuzzHost *h)
{
    GString *why = g_string_new(NULL);

    if (fuzz_break("invariant")) {
        h->e->num_pages++;
    }
    if (!ernic_check(h->e, why)) {
        fuzz_fail("invariant", "%s", why->str);
    }
    g_string_free(why, true);
}

void fuzz_same(const char *check, GByteArray *a, GByteArray *b)
{
    if (fuzz_break(check)) {
        a->data[a->len / 2] ^= 1;
    }
    if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0) {
        uint32_t i = 0;

        while (i < MIN(a->len, b->len) && a->data[i] == b->data[i]) {
            i++;
        }
        fuzz_fail(check, "%u and %u bytes differ at %u", a->len, b->len, i);
    }
    g_byte_array_free(a, true);
    g_byte_array_free(b, true);
}

void fuzz_reload(FuzzHost *h)
{
    GByteArray *first = fake_saved(h->e);
    bool ok = ernic_load(h->e, h->env.now, first->data, first->len);

    if (!ok || fuzz_break("reload")) {
        fuzz_fail("reload", "what was saved does not load");
    }
    fuzz_check(h);
    fuzz_same("resave", first, fake_saved(h->e));
}

/* Returns what an engine that is new saves. */
static GByteArray *save_new(FuzzHost *h)
{
    Ernic *e = ernic_new(&h->e->cfg, h->e->ops, h->e->env);
    GByteArray *state;

    ernic_set_link(e, h->env.now, false);
    state = fake_saved(e);
    ernic_free(e);
    return state;
}

/* A reset, the second one too, leaves an engine as a new one is. */
static void check_reset(FuzzHost *h)
{
    GByteArray *first = save_new(h);
    GByteArray *second = g_byte_array_new();

    g_byte_array_append(second, first->data, first->len);
    for (uint32_t i = 0; i < 2; i++) {
        ernic_reset_at_once(h->e);
        ernic_set_link(h->e, h->env.now, false);
        fuzz_same("reset", fake_saved(h->e), i ? second : first);
        ernic_run(h->e, h->env.now);
    }
}

void fuzz_close(FuzzHost *h)
{
    check_reset(h);
    ernic_free(h->e);
    h->e = NULL;
    fake_lose_trains(&h->env);
}

static void leave(FuzzHost *h)
{
    /* Setting up by fake_verbs.h goes past the entries here. */
    h->may_write = h->may_read = FUZZ_ALL;
    if (h->sync) {
        h->sync(h);
    }
}

void fuzz_rx(FuzzHost *h, const ErnicTrain *train, uint32_t may_write,
             uint32_t may_read)
{
    enter(h, may_write, may_read);
    ernic_rx(h->e, h->env.now, train);
    leave(h);
}

void fuzz_rx_frame(FuzzHost *h, const uint8_t *frame, uint32_t len,
                   uint32_t may_write, uint32_t may_read)
{
    ErnicTrain train = { 0 };
    ErnicFrame f = { 0 };
    ErnicDrop why = ernic_net_parse(&f, frame, len);

    if (why == ERNIC_DROP_NONE) {
        train.path = f.path;
        train.ip = f.ip;
        train.data = f.ib;
        train.len = train.seg = f.ib_len;
        fuzz_rx(h, &train, may_write, may_read);
    } else if (why != ERNIC_DROP_NOT_ROCE) {
        enter(h, may_write, may_read);
        ernic_rx_bad_frame(h->e, h->env.now, frame, len);
        leave(h);
    }
}

void fuzz_rx_raw(FuzzHost *h, const uint8_t *frame, uint32_t len,
                 uint32_t may_write, uint32_t may_read)
{
    enter(h, may_write, may_read);
    ernic_rx_raw(h->e, h->env.now, frame, len);
    leave(h);
}

uint8_t fuzz_cmd(FuzzHost *h, const struct ernic_cmd *cmd,
                 struct ernic_rsp *rsp)
{
    return fuzz_cmd_within(h, cmd, rsp, FUZZ_ALL);
}

uint8_t fuzz_cmd_within(FuzzHost *h, const struct ernic_cmd *cmd,
                        struct ernic_rsp *rsp, uint32_t may_write)
{
    struct ernic_rsp own;

    rsp = rsp ? rsp : &own;
    memset(rsp, 0xa5, sizeof(*rsp));
    enter(h, may_write, FUZZ_ALL);
    do {
        ernic_slice(h->e);
    } while (!ernic_cmd(h->e, h->env.now, cmd, rsp));
    leave(h);
    if (fuzz_break("answer")) {
        rsp->status = ERNIC_STATUS_COUNT;
    }
    if (rsp->tag != cmd->tag || rsp->status >= ERNIC_STATUS_COUNT) {
        fuzz_fail("answer", "tag 0x%x status %u", rsp->tag, rsp->status);
    }
    return rsp->status;
}

uint8_t fuzz_doorbell(FuzzHost *h, uint32_t uctx, uint64_t value,
                      uint32_t may_read)
{
    uint8_t status;

    enter(h, FUZZ_RING, may_read);
    status = ernic_doorbell(h->e, h->env.now, uctx, value);
    leave(h);
    return status;
}

void fuzz_reg_write(FuzzHost *h, uint32_t offset, uint32_t value)
{
    bool side = offset >= ernic_reg_window(h->e->cfg.pg332 - 1);

    enter(h, side ? FUZZ_ALL : 0, side ? FUZZ_ALL : 0);
    ernic_reg_write(h->e, h->env.now, offset, value);
    leave(h);
}

uint32_t fuzz_reg_read(FuzzHost *h, uint32_t offset)
{
    uint32_t value;

    enter(h, 0, 0);
    value = ernic_reg_read(h->e, h->env.now, offset);
    leave(h);
    return value;
}

void fuzz_bar_write(FuzzHost *h, uint32_t offset, uint32_t size, uint64_t value)
{
    enter(h, FUZZ_RING, FUZZ_QUEUE);
    ernic_bar_write(h->e, h->env.now, offset, size, value);
    leave(h);
}

void fuzz_page_rung(FuzzHost *h, uint32_t page)
{
    enter(h, FUZZ_RING, FUZZ_QUEUE);
    if (page) {
        ernic_page_rung(h->e, h->env.now, page);
    } else {
        ernic_pages_rung(h->e, h->env.now);
    }
    leave(h);
}

uint64_t fuzz_bar_read(FuzzHost *h, uint32_t offset, uint32_t size)
{
    uint64_t value;

    enter(h, 0, 0);
    value = ernic_bar_read(h->e, h->env.now, offset, size);
    leave(h);
    return value;
}

void fuzz_tx_ready(FuzzHost *h)
{
    enter(h, 0, 0);
    ernic_tx_ready(h->e, h->env.now);
    leave(h);
}

void fuzz_set_link(FuzzHost *h, bool up)
{
    enter(h, FUZZ_RING, 0);
    ernic_set_link(h->e, h->env.now, up);
    leave(h);
}

/* Fail if too many runs in a row have changed nothing that anyone could see. */
static void watch(FuzzHost *h)
{
    if (memcmp(&h->seen, &h->e->stats, sizeof(h->seen)) != 0 &&
        !fuzz_break("livelock")) {
        h->seen = h->e->stats;
        h->idle = 0;
    } else if (++h->idle > FUZZ_IDLE) {
        fuzz_fail("livelock", "%u runs without a change", h->idle);
    }
}

void fuzz_run(FuzzHost *h)
{
    enter(h, h->run_write, h->run_read);
    h->env.wake = ERNIC_NEVER;
    ernic_run(h->e, h->env.now);
    leave(h);
    watch(h);
}

bool fuzz_settle(FuzzHost *h, uint32_t limit)
{
    uint32_t runs = 0;

    do {
        fuzz_run(h);
        runs++;
    } while (h->env.wake <= h->env.now && runs < limit);
    if (h->env.wake > h->env.now) {
        h->idle = 0;
        return true;
    }
    return false;
}

void fuzz_pass(FuzzHost *h, uint64_t ns, uint32_t wakes)
{
    uint64_t end = h->env.now + ns;
    uint32_t vain = 0;

    while (wakes && h->env.wake <= end) {
        ErnicStats before = h->e->stats;
        uint64_t wake = h->env.wake;

        h->env.now = MAX(h->env.now, wake);
        fuzz_settle(h, 16);
        if (fuzz_break("timers")) {
            h->env.wake = h->env.now + 1;
        }
        if (memcmp(&before, &h->e->stats, sizeof(before)) != 0 &&
            !fuzz_break("timers")) {
            wakes--;
        } else if (++vain > FUZZ_IDLE) {
            fuzz_fail("timers", "%u wake-ups for nothing", vain);
        }
    }
    h->env.now = MAX(h->env.now, end);
    fuzz_settle(h, 16);
}

uint32_t fuzz_train_writes(const ErnicTrain *train)
{
    static const uint32_t writes[ERNIC_CL_COUNT] = {
        [ERNIC_CL_SEND] = FUZZ_RECV,
        [ERNIC_CL_WRITE] = FUZZ_RWRITE,
        [ERNIC_CL_ATOMIC_WRITE] = FUZZ_RWRITE,
        [ERNIC_CL_READ_RSP] = FUZZ_LAND,
        [ERNIC_CL_ATOMIC_RSP] = FUZZ_LAND,
    };
    uint32_t may = FUZZ_RING;

    for (uint32_t pos = 0; pos < train->len; pos += train->seg) {
        const ErnicOpcode *op = ernic_opcode(train->data[pos]);

        may |= op ? writes[op->cls] : 0;
    }
    return may;
}
