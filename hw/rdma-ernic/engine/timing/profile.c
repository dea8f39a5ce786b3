/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reading profiles. One table lists the keys with their units and bounds; every line
 * of a profile has to name its source.
 */
#include "qemu/osdep.h"
#include "base/limits.h"
#include "timing/profile.h"
#include "timing/stage.h"

#define PS_PER_S        1000000000000ull
/* Greatest depth of bases: stops a profile that is based on itself. */
#define MAX_DEPTH       8
/* A number is parsed in millionths, and converted once its unit is known. */
#define MICRO           1000000ull

typedef enum KeyKind {
    KIND_TIME,                  /* stored in ps */
    KIND_FREQ,                  /* stored as the period in ps */
    KIND_RATE,                  /* stored in Mb/s */
    KIND_BYTES,
    KIND_WIDTH,                 /* bytes per cycle */
    KIND_CYCLES,
    KIND_COUNT,
    KIND_SPEED,                 /* stored in MT/s */
} KeyKind;

/* A rule for a value, in addition to its bounds. */
typedef enum KeyRule {
    RULE_NONE,
    RULE_POWER,                 /* a power of two, or 0 */
    RULE_SPEED,                 /* a speed of PCI Express, or 0 */
    RULE_COUNT
} KeyRule;

static const char *const rule_says[RULE_COUNT] = {
    [RULE_POWER] = "neither 0 nor a power of two",
    [RULE_SPEED] = "neither 0 nor a speed of PCI Express 1.0 to 5.0",
};

typedef struct Unit {
    uint8_t kind;
    const char *name;
    uint64_t factor;
} Unit;

/* The factor converts to the stored unit; for KIND_FREQ to Hz. */
static const Unit units[] = {
    { KIND_TIME, "ps", 1 }, { KIND_TIME, "ns", 1000 },
    { KIND_TIME, "us", 1000000 },
    { KIND_FREQ, "MHz", 1000000 }, { KIND_FREQ, "GHz", 1000000000 },
    { KIND_RATE, "Mb/s", 1 }, { KIND_RATE, "Gb/s", 1000 },
    { KIND_BYTES, "B", 1 }, { KIND_BYTES, "KiB", 1024 },
    { KIND_WIDTH, "B/cycle", 1 },
    { KIND_CYCLES, "cycles", 1 }, { KIND_CYCLES, "cycle", 1 },
    { KIND_COUNT, "entries", 1 }, { KIND_COUNT, "requests", 1 },
    { KIND_COUNT, "packets", 1 }, { KIND_COUNT, "responses", 1 },
    { KIND_COUNT, "lanes", 1 }, { KIND_COUNT, "credits", 1 },
    { KIND_SPEED, "GT/s", 1000 },
};

typedef struct Key {
    const char *name;
    uint32_t offset;
    uint8_t kind, rule;
    bool optional;              /* 0 if it is not given: profiles of older releases */
    uint64_t min, max;          /* in the stored unit */
} Key;

#define MAX_TIME    (1000 * 1000 * 1000)        /* 1 ms */
#define MAX_CYCLES  1000000

#define KEY(name_, kind_, member, min_, max_) \
    { .name = name_, .offset = offsetof(ErnicProfile, member), \
      .kind = KIND_##kind_, .min = min_, .max = max_ }
#define RULED(name_, kind_, member, max_, rule_) \
    { .name = name_, .offset = offsetof(ErnicProfile, member), \
      .kind = KIND_##kind_, .max = max_, .rule = RULE_##rule_ }
#define OPTIONAL(name_, kind_, member, max_) \
    { .name = name_, .offset = offsetof(ErnicProfile, member), \
      .kind = KIND_##kind_, .max = max_, .optional = true }
#define LATENCY(name, s) \
    KEY(name ".latency", TIME, stage[ERNIC_STAGE_##s].latency, 0, MAX_TIME)
#define PACKET(name, s) \
    KEY(name ".packet", CYCLES, stage[ERNIC_STAGE_##s].packet, 0, MAX_CYCLES)
#define CLOSE(name, s) \
    KEY(name ".close", CYCLES, stage[ERNIC_STAGE_##s].close, 0, MAX_CYCLES)
#define WIDTH(name, s) \
    KEY(name ".width", WIDTH, stage[ERNIC_STAGE_##s].width, 1, 65536)

static const Key keys[] = {
    /* 10 GHz to 1 MHz. */
    KEY("clock.core", FREQ, core_ps, 100, 1000000),
    KEY("clock.host", FREQ, host_ps, 100, 1000000),
    KEY("wire.rate", RATE, wire_mbps, 10, 10000000),
    KEY("wire.extra", BYTES, wire_extra, 0, 1024),
    KEY("wire.shortest", BYTES, wire_min, 0, 1024),
    KEY("wire.flight", TIME, wire_flight, 0, MAX_TIME),
    LATENCY("mmio", MMIO), PACKET("mmio", MMIO),
    LATENCY("command", COMMAND), PACKET("command", COMMAND),
    LATENCY("doorbell", DOORBELL), PACKET("doorbell", DOORBELL),
    LATENCY("arbiter", ARBITER), PACKET("arbiter", ARBITER),
    LATENCY("wqe", WQE), PACKET("wqe", WQE),
    KEY("wqe.batch", COUNT, wqe_batch, 1, 1024),
    KEY("wqe.fetch", TIME, wqe_miss, 0, MAX_TIME),
    KEY("wqe.outstanding", COUNT, wqe_fetches, 1, ERNIC_LIM_UNDER_WAY),
    LATENCY("tx-context", TX_CONTEXT), PACKET("tx-context", TX_CONTEXT),
    LATENCY("rx-context", RX_CONTEXT), PACKET("rx-context", RX_CONTEXT),
    KEY("context.entries", COUNT, context_entries, 0, UINT32_MAX),
    KEY("context.miss", TIME, context_miss, 0, MAX_TIME),
    LATENCY("key", KEY), PACKET("key", KEY),
    KEY("key.entries", COUNT, key_entries, 0, UINT32_MAX),
    KEY("key.miss", TIME, key_miss, 0, MAX_TIME),
    KEY("key.update", TIME, key_update, 0, MAX_TIME),
    LATENCY("ack", ACK), PACKET("ack", ACK),
    KEY("ack.coalesce", COUNT, ack_coalesce, 1, UINT16_MAX),
    KEY("ack.delay", TIME, ack_delay, 0, MAX_TIME),
    KEY("outstanding.requests", COUNT, outstanding, 1, ERNIC_SQ_WINDOW),
    KEY("retry.buffer", COUNT, retry_packets, 0, 65536),
    LATENCY("read-response", READ_RSP), PACKET("read-response", READ_RSP),
    KEY("read-response.overlap", COUNT, read_overlap, 1, ERNIC_LIM_UNDER_WAY),
    LATENCY("dma-read", DMA_READ), PACKET("dma-read", DMA_READ),
    WIDTH("dma-read", DMA_READ),
    KEY("dma-read.outstanding", COUNT, dma_requests, 1, ERNIC_LIM_UNDER_WAY),
    KEY("dma-read.request", BYTES, dma_request, 64, 65536),
    LATENCY("build", BUILD), PACKET("build", BUILD), CLOSE("build", BUILD),
    WIDTH("build", BUILD),
    KEY("build.buffer", COUNT, tx_packets, 1, 1024),
    LATENCY("icrc", ICRC), PACKET("icrc", ICRC), WIDTH("icrc", ICRC),
    LATENCY("mac", MAC),
    LATENCY("receive", RECEIVE), PACKET("receive", RECEIVE),
    CLOSE("receive", RECEIVE), WIDTH("receive", RECEIVE),
    KEY("receive.buffer", COUNT, rx_packets, 1, 4096),
    LATENCY("dma-write", DMA_WRITE), PACKET("dma-write", DMA_WRITE),
    WIDTH("dma-write", DMA_WRITE),
    LATENCY("cqe", CQE), PACKET("cqe", CQE),
    LATENCY("interrupt", INTERRUPT), PACKET("interrupt", INTERRUPT),
    RULED("pcie.speed", SPEED, pcie.speed, 32000, SPEED),
    RULED("pcie.lanes", COUNT, pcie.lanes, 32, POWER),
    RULED("pcie.payload", BYTES, pcie.payload, 4096, POWER),
    KEY("pcie.completion", TIME, pcie.completion, 0, MAX_TIME),
    KEY("pcie.posted", TIME, pcie.posted, 0, MAX_TIME),
    KEY("pcie.headers", COUNT, pcie.headers, 0, 4096),
    KEY("pcie.data", COUNT, pcie.data, 0, 65536),
    KEY("pcie.credit-return", TIME, pcie.credit_return, 0, MAX_TIME),
    OPTIONAL("shell.latency", TIME, shell.latency, MAX_TIME),
    OPTIONAL("shell.packet", CYCLES, shell.packet, MAX_CYCLES),
    OPTIONAL("shell.width", WIDTH, shell.width, 65536),
};
#define NUM_KEYS G_N_ELEMENTS(keys)

static const char *const stage_names[] = {
#define X(symbol, name) [ERNIC_STAGE_##symbol] = name,
    ERNIC_TIMING_STAGES(X)
#undef X
};

/* The state of reading one text. */
typedef struct Reader {
    ErnicProfile *p;
    ErnicProfileFind *find;
    void *opaque;
    const char *name;
    uint32_t line;              /* 0: the text as a whole */
    uint32_t depth;
    uint32_t num;               /* number of values, with those of the bases */
    bool set[NUM_KEYS];         /* keys with a value, also from the bases */
    bool here[NUM_KEYS];        /* keys with a value in this text */
    char **err;
} Reader;

const char *ernic_stage_name(ErnicStage stage)
{
    return stage_names[stage];
}

static bool G_GNUC_PRINTF(2, 3) fail(Reader *r, const char *fmt, ...)
{
    va_list ap;
    char *what;

    va_start(ap, fmt);
    what = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    *r->err = r->line ?
        g_strdup_printf("%s:%u: %s", r->name, r->line, what) :
        g_strdup_printf("%s: %s", r->name, what);
    g_free(what);
    return false;
}

/* ---- values ---------------------------------------------------------------- */

/* A number with at most six decimals, in millionths; *@end: the end of its digits. */
static bool parse_micro(const char *s, uint64_t *micro, const char **end)
{
    const char *start = s;
    uint64_t v = 0, scale = MICRO;
    bool point = false;

    for (; g_ascii_isdigit(*s) || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = true;
            continue;
        }
        if (v > UINT64_MAX / 10 / MICRO || (point && scale == 1)) {
            return false;
        }
        v = v * 10 + (*s - '0');
        scale = point ? scale / 10 : scale;
    }
    if (s == start || !g_ascii_isdigit(s[-1]) || !g_ascii_isdigit(*start) ||
        v > UINT64_MAX / scale) {
        return false;
    }
    *micro = v * scale;
    *end = s;
    return true;
}

static const Unit *find_unit(uint8_t kind, const char *name)
{
    uint32_t i;

    for (i = 0; i < G_N_ELEMENTS(units); i++) {
        if (units[i].kind == kind && strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* Convert to the stored unit, in *@v; false: out of range, or a fraction is left. */
static bool convert(const Unit *unit, uint64_t micro, uint64_t *v)
{
    uint64_t whole;

    if (micro > UINT64_MAX / unit->factor) {
        return false;
    }
    whole = micro * unit->factor;
    if (unit->kind == KIND_FREQ) {
        whole /= MICRO;         /* Hz; the period is rounded to 1 ps */
        *v = whole ? (PS_PER_S + whole / 2) / whole : 0;
        return true;
    }
    *v = whole / MICRO;
    return whole % MICRO == 0;
}

static bool obeys(uint8_t rule, uint64_t v)
{
    return rule == RULE_NONE || v == 0 ||
           (rule == RULE_POWER ? (v & (v - 1)) == 0 : ernic_pcie_speed_ok(v));
}

static bool set_value(Reader *r, const Key *key, const char *text)
{
    const char *end;
    const Unit *unit;
    uint64_t micro, v;

    if (!parse_micro(text, &micro, &end)) {
        return fail(r, "%s: \"%s\" does not begin with a number", key->name,
                    text);
    }
    end += strspn(end, " \t");
    if (!*end) {
        return fail(r, "%s: a value needs its unit", key->name);
    }
    unit = find_unit(key->kind, end);
    if (!unit) {
        return fail(r, "%s: \"%s\" is no unit of this value", key->name, end);
    }
    if (!convert(unit, micro, &v) || v < key->min || v > key->max) {
        return fail(r, "%s: %s is out of range or too fine", key->name, text);
    }
    if (!obeys(key->rule, v)) {
        return fail(r, "%s: %s is %s", key->name, text, rule_says[key->rule]);
    }
    *(uint64_t *)((char *)r->p + key->offset) = v;
    return true;
}

/* ---- lines ----------------------------------------------------------------- */

static bool parse_text(Reader *r, const char *text);

static bool set_base(Reader *r, const char *name)
{
    const char *text = r->find ? r->find(r->opaque, name) : NULL;
    Reader base = *r;

    if (r->num) {
        return fail(r, "base: has to come first");
    }
    if (!text) {
        return fail(r, "base: there is no profile \"%s\"", name);
    }
    if (r->depth == MAX_DEPTH) {
        return fail(r, "base: too many bases, or a profile based on itself");
    }
    base.name = name;
    base.depth++;
    if (!parse_text(&base, text)) {
        return false;
    }
    memcpy(r->set, base.set, sizeof(r->set));
    r->num = base.num;
    return true;
}

static bool set_key(Reader *r, const char *name, const char *value)
{
    uint32_t i;

    for (i = 0; i < NUM_KEYS; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            break;
        }
    }
    if (i == NUM_KEYS) {
        return fail(r, "%s: no such parameter", name);
    }
    if (r->here[i]) {
        return fail(r, "%s: given twice", name);
    }
    r->here[i] = r->set[i] = true;
    r->num++;
    return set_value(r, &keys[i], value);
}

/* "key = value unit # source", "base = NAME", or nothing; changes @line. */
static bool parse_line(Reader *r, char *line)
{
    char *source = strchr(line, '#');
    char *value;

    if (source) {
        *source++ = 0;
    }
    g_strstrip(line);
    if (!*line) {
        return true;
    }
    value = strchr(line, '=');
    if (!value) {
        return fail(r, "\"%s\" is not \"key = value unit # source\"", line);
    }
    *value++ = 0;
    g_strstrip(line);
    g_strstrip(value);
    if (strcmp(line, "base") == 0) {
        return set_base(r, value);
    }
    if (!source || !*g_strstrip(source)) {
        return fail(r, "%s: no source is named after a #", line);
    }
    return set_key(r, line, value);
}

static bool parse_text(Reader *r, const char *text)
{
    char **lines = g_strsplit(text, "\n", -1);
    bool ok = true;
    uint32_t i;

    for (i = 0; ok && lines[i]; i++) {
        r->line = i + 1;
        ok = parse_line(r, lines[i]);
    }
    g_strfreev(lines);
    return ok;
}

/* Check values that depend on each other; an error has no line number. */
static bool check_pcie(Reader *r)
{
    const ErnicPcie *p = &r->p->pcie;

    if (!p->speed) {
        return true;
    }
    if (!p->lanes || p->payload < 128) {
        return fail(r, "%s is too small for a pcie.speed that is not 0",
                    p->lanes ? "pcie.payload: less than 128 B" :
                    "pcie.lanes: 0");
    }
    if (!p->headers || p->data < DIV_ROUND_UP(p->payload, ERNIC_PCIE_CREDIT)) {
        return fail(r, "%s: no TLP of pcie.payload could ever be sent",
                    p->headers ? "pcie.data" : "pcie.headers");
    }
    return true;
}

bool ernic_profile_parse(ErnicProfile *p, const char *name, const char *text,
                         ErnicProfileFind *find, void *opaque, char **err)
{
    Reader r = { .p = p, .find = find, .opaque = opaque, .name = name,
                 .err = err };
    uint32_t i;

    memset(p, 0, sizeof(*p));
    if (!parse_text(&r, text)) {
        return false;
    }
    r.line = 0;
    for (i = 0; i < NUM_KEYS; i++) {
        if (!r.set[i] && !keys[i].optional) {
            return fail(&r, "%s: is missing", keys[i].name);
        }
    }
    return check_pcie(&r);
}

uint64_t ernic_profile_hash(const ErnicProfile *p)
{
    const uint64_t *v = (const uint64_t *)p;
    uint64_t hash = 0xcbf29ce484222325ull;      /* FNV-1a, by words */
    uint32_t i;

    for (i = 0; i < sizeof(*p) / sizeof(*v); i++) {
        hash = (hash ^ v[i]) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    return hash;
}
