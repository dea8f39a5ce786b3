/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Trace events are appended to the file, and the end of the array after the
 * last of them. The next events overwrite that end.
 */
#include "qemu/osdep.h"
#include <unistd.h>
#include "capture/output.h"
#include "capture/timing_file.h"
#include "capture/timing_usage.h"

#define FILE_BUFFER     (64 << 10)
#define FILE_HEAD       "[\n"
#define FILE_TAIL       "\n]\n"
/* Greater than any event, in bytes. */
#define FILE_EVENT      1024
/* Marks kept of items that never take effect; FIFOs are shorter. */
#define MAX_MARKS       (1 << 16)

typedef struct TraceFile {
    char *path;
    int fd;
    dev_t dev;
    ino_t ino;
    uint32_t users, pids;
    uint64_t limit, end;        /* bytes; @end: position of the tail */
    GString *buf;               /* to be written at @end */
    bool over;
    void (*warn)(const char *what);
} TraceFile;

/*
 * The files that are being written: devices may share one. The lock protects
 * the list.
 */
static GMutex files_lock;
static GList *files;

/* A point that an item has passed: an arrow may begin or end there. */
typedef struct Mark {
    uint64_t epoch, in, ps;     /* arrival, and start of service */
    ErnicStage stage;
    uint64_t flow;
    bool valid;
} Mark;

/* The life of a queue pair; its requests are counted from @first on. */
typedef struct Life {
    uint32_t serial, first, posted, over;
} Life;

struct ErnicTimingFile {
    TraceFile *file;
    uint32_t pid, lives;
    ErnicTimingTrace trace;
    GQueue marks[ERNIC_TIMED_KINDS];    /* of Mark, in the order of the FIFO */
    Mark cause[ERNIC_TIMED_KINDS];      /* of the item that takes effect at present */
    GHashTable *qps;            /* of Life, by number */
    uint64_t interrupts;
    uint64_t ended;             /* flow of the request that completed last */
    uint32_t waiting[ERNIC_TIMED_QUEUES];
    ErnicUsage usage[ERNIC_STAGE_COUNT];
};

/* ---- the file -------------------------------------------------------------- */

static bool write_at(int fd, uint64_t at, const char *data, size_t len)
{
    while (len) {
        ssize_t n = pwrite(fd, data, len, at);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n ? errno : ENOSPC;
            return false;
        }
        data += n;
        at += n;
        len -= n;
    }
    return true;
}

static void file_over(TraceFile *file, const char *why)
{
    char *what = g_strdup_printf("%s: %s; the trace ends here", file->path,
                                 why);

    file->over = true;
    g_string_truncate(file->buf, 0);
    if (file->warn) {
        file->warn(what);
    }
    g_free(what);
}

static void file_flush(TraceFile *file)
{
    size_t len = file->buf->len;
    int err;

    if (file->over || !len) {
        return;
    }
    g_string_append(file->buf, FILE_TAIL);
    if (write_at(file->fd, file->end, file->buf->str, file->buf->len)) {
        file->end += len;
        g_string_truncate(file->buf, 0);
        return;
    }
    err = errno;
    /*
     * Restore the last valid state of the file. If the disk is full, at least
     * its length is restored.
     */
    if (ftruncate(file->fd, file->end) < 0 ||
        !write_at(file->fd, file->end, FILE_TAIL, strlen(FILE_TAIL))) {
        err = errno ? errno : err;
    }
    file_over(file, g_strerror(err));
}

/* Append one event, without the braces of its object. */
static void G_GNUC_PRINTF(2, 3) event(ErnicTimingFile *f, const char *format,
                                      ...)
{
    TraceFile *file = f->file;
    va_list args;

    g_mutex_lock(&files_lock);
    if (!file->over) {
        g_string_append(file->buf, file->end || file->buf->len > 2 ?
                        ",\n{" : "{");
        va_start(args, format);
        g_string_append_vprintf(file->buf, format, args);
        va_end(args);
        g_string_append_c(file->buf, '}');
        if (file->end + file->buf->len + FILE_EVENT > file->limit) {
            file_flush(file);
            if (!file->over) {
                file_over(file, "it has reached its greatest size");
            }
        } else if (file->buf->len > FILE_BUFFER - FILE_EVENT) {
            file_flush(file);
        }
    }
    g_mutex_unlock(&files_lock);
}

/* Takes over @fd, which is closed when the last user is gone. NULL: *@why. */
static TraceFile *file_get(int fd, const struct stat *st, const char *path,
                           const char **why)
{
    TraceFile *file;
    GList *l;

    for (l = files; l; l = l->next) {
        file = l->data;
        if (file->dev == st->st_dev && file->ino == st->st_ino) {
            close(fd);
            file->users++;
            return file;
        }
    }
    if (!ernic_output_begin(fd, why)) {
        close(fd);
        return NULL;
    }
    file = g_new0(TraceFile, 1);
    file->path = g_strdup(path);
    file->fd = fd;
    file->dev = st->st_dev;
    file->ino = st->st_ino;
    file->users = 1;
    file->buf = g_string_sized_new(FILE_BUFFER);
    g_string_append(file->buf, FILE_HEAD);
    files = g_list_prepend(files, file);
    return file;
}

static void file_put(TraceFile *file)
{
    file_flush(file);
    if (--file->users) {
        return;
    }
    files = g_list_remove(files, file);
    close(file->fd);
    g_string_free(file->buf, TRUE);
    g_free(file->path);
    g_free(file);
}

/* ---- what the events have in common ---------------------------------------- */

/* Append a time in us with all its decimals: @ns plus @ps. */
#define TS          "%" PRIu64 ".%03u%03u"
#define TS_ARGS(epoch, ps) \
    ((epoch) + (ps) / 1000) / 1000, \
    (unsigned)(((epoch) + (ps) / 1000) % 1000), (unsigned)((ps) % 1000)
/* Append a duration of @ns. */
#define NS          "%" PRIu64 ".%03u"
#define NS_ARGS(ps) (ps) / 1000, (unsigned)((ps) % 1000)

/* Append the start (@phase s), a step (t) or the end (f) of an arrow. */
static void arrow(ErnicTimingFile *f, char phase, const char *cat,
                  uint64_t id, const Mark *at)
{
    event(f, "\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"0x%" PRIx64
          "\",\"pid\":%u,\"tid\":%u,\"ts\":" TS "%s", phase, cat, cat, id,
          f->pid, at->stage + 1, TS_ARGS(at->epoch, at->ps),
          phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void counter(ErnicTimingFile *f, uint64_t now, const char *name,
                    uint32_t value)
{
    event(f, "\"ph\":\"C\",\"name\":\"%s\",\"pid\":%u,\"ts\":" TS
          ",\"args\":{\"value\":%u}", name, f->pid, TS_ARGS(now, (uint64_t)0),
          value);
}

/* ErnicUsageEmit */
static void use_counter(void *opaque, ErnicStage stage, uint64_t us,
                        const uint64_t ps[ERNIC_USE_COUNT])
{
    ErnicTimingFile *f = opaque;

    event(f, "\"ph\":\"C\",\"name\":\"use of %s, ns in %u us\",\"pid\":%u,"
          "\"ts\":%" PRIu64 ",\"args\":{\"busy\":" NS ",\"stalled\":" NS
          ",\"idle\":" NS "}", ernic_stage_name(stage),
          ERNIC_USAGE_WINDOW_US, f->pid, us, NS_ARGS(ps[ERNIC_USE_BUSY]),
          NS_ARGS(ps[ERNIC_USE_STALLED]), NS_ARGS(ps[ERNIC_USE_IDLE]));
}

/* The number of the arrows of a request; 0: posted before the trace began. */
static uint64_t request_flow(const ErnicTimingFile *f, uint32_t qpn,
                             uint32_t index)
{
    const Life *life = g_hash_table_lookup(f->qps, GUINT_TO_POINTER(qpn));

    if (!life || index - life->first >= life->posted - life->first) {
        return 0;
    }
    return (uint64_t)f->pid << 56 | (uint64_t)life->serial << 32 | index;
}

/* The request ends at @ps after @epoch. */
static void end_request(ErnicTimingFile *f, uint32_t qpn, uint64_t flow,
                        uint64_t epoch, uint64_t ps)
{
    f->ended = flow;
    event(f, "\"ph\":\"e\",\"cat\":\"request\",\"name\":\"QP %u\","
          "\"id\":\"0x%" PRIx64 "\",\"pid\":%u,\"tid\":0,\"ts\":" TS, qpn, flow,
          f->pid, TS_ARGS(epoch, ps));
}

/* ---- hooks ----------------------------------------------------------------- */

static void slice(ErnicTimingFile *f, const ErnicPassage *p)
{
    static const char *const names[ERNIC_TIMED_KINDS] = {
        [ERNIC_TIMED_DOORBELL] = "doorbell", [ERNIC_TIMED_STORE] = "store",
        [ERNIC_TIMED_SENT] = "packet",
        [ERNIC_TIMED_RECEIVED] = "packet", [ERNIC_TIMED_CQE] = "completion",
        [ERNIC_TIMED_INTERRUPT] = "interrupt",
        [ERNIC_TIMED_ACCESS] = "access",
    };
    const ErnicTimedThing *what = &p->what;
    uint64_t dur = p->end - p->start;
    char of[64] = "";

    if (what->name) {
        snprintf(of, sizeof(of), ",\"psn\":%u,\"bytes\":%u", what->psn,
                 p->bytes);
    }
    if (what->of_request) {
        snprintf(of + strlen(of), sizeof(of) - strlen(of), ",\"request\":%u",
                 what->index);
    }
    event(f, "\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":" TS
          ",\"dur\":" TS ",\"args\":{\"%s\":%u%s,\"waited\":" NS
          ",\"work\":" NS ",\"held up\":" NS ",\"latency\":" NS "}",
          what->name ?: names[what->kind], f->pid, p->stage + 1,
          TS_ARGS(p->epoch, p->start), TS_ARGS((uint64_t)0, dur),
          what->kind == ERNIC_TIMED_INTERRUPT ? "vector" :
          what->kind == ERNIC_TIMED_DOORBELL ? "queue" : "qp", what->qpn, of,
          NS_ARGS(p->start - p->in), NS_ARGS(p->work), NS_ARGS(dur - p->work),
          NS_ARGS(p->out - p->end));
}

static void put_mark(ErnicTimingFile *f, ErnicTimedKind kind, const Mark *mark)
{
    GQueue *marks = &f->marks[kind];

    if (marks->length == MAX_MARKS) {
        g_free(g_queue_pop_head(marks));
    }
    g_queue_push_tail(marks, g_memdup2(mark, sizeof(*mark)));
}

static void passed_cqe(ErnicTimingFile *f, const ErnicPassage *p,
                       const Mark *here)
{
    const Mark *cause = &f->cause[ERNIC_TIMED_RECEIVED];

    if (here->flow) {
        if (cause->valid) {
            arrow(f, 't', "request", here->flow, cause);
        }
        arrow(f, 'f', "request", here->flow, here);
        end_request(f, p->what.qpn, here->flow, p->epoch, p->out);
    }
    put_mark(f, ERNIC_TIMED_CQE, here);
}

/*
 * The cause is a completion, or a store that requested an event for an entry
 * that is already there.
 */
static void passed_interrupt(ErnicTimingFile *f, const Mark *here)
{
    const Mark *cause = f->cause[ERNIC_TIMED_CQE].valid ?
        &f->cause[ERNIC_TIMED_CQE] : &f->cause[ERNIC_TIMED_DOORBELL];
    uint64_t flow = (uint64_t)f->pid << 56 | ++f->interrupts;

    if (cause->valid) {
        arrow(f, 's', "interrupt", flow, cause);
        arrow(f, 'f', "interrupt", flow, here);
    }
}

static void hook_passed(void *opaque, const ErnicPassage *p)
{
    ErnicTimingFile *f = opaque;
    const ErnicTimedThing *what = &p->what;
    Mark here = {
        .epoch = p->epoch, .in = p->in, .ps = p->start, .stage = p->stage,
        .valid = true,
        .flow = what->of_request ? request_flow(f, what->qpn, what->index) : 0,
    };

    slice(f, p);
    ernic_usage_pass(&f->usage[p->stage], p, use_counter, f);
    switch (what->kind) {
    case ERNIC_TIMED_SENT:
        /* An arrow cannot bind to a slice of length 0. */
        if (here.flow && p->end > p->start) {
            arrow(f, 't', "request", here.flow, &here);
        }
        if (p->stage == ERNIC_STAGE_MAC) {
            arrow(f, 's', "packet", what->id, &here);
        }
        break;
    case ERNIC_TIMED_RECEIVED:
        if (p->stage == ERNIC_STAGE_RECEIVE) {
            if (what->id) {
                arrow(f, 'f', "packet", what->id, &here);
            }
            put_mark(f, what->kind, &here);
        }
        break;
    case ERNIC_TIMED_CQE:
        passed_cqe(f, p, &here);
        break;
    case ERNIC_TIMED_INTERRUPT:
        passed_interrupt(f, &here);
        break;
    case ERNIC_TIMED_DOORBELL:
        put_mark(f, what->kind, &here);
        break;
    default:
        break;
    }
}

/* An item that came by migration, or was lost by a reset, has no mark. */
static void hook_taken(void *opaque, ErnicTimedKind kind, uint32_t count)
{
    ErnicTimingFile *f = opaque;
    GQueue *marks = &f->marks[kind];
    Mark *mark;

    f->cause[kind].valid = false;
    while (count && marks->length > count) {
        g_free(g_queue_pop_head(marks));
    }
    if (count && marks->length == count) {
        mark = g_queue_pop_head(marks);
        f->cause[kind] = *mark;
        g_free(mark);
    }
}

static void count_requests(ErnicTimingFile *f, uint64_t now, uint32_t qpn,
                           const Life *life)
{
    char name[32];

    snprintf(name, sizeof(name), "requests of QP %u", qpn);
    counter(f, now, name, life->posted - life->first - life->over);
}

static void hook_posted(void *opaque, uint64_t now, uint32_t qpn,
                        uint32_t from, uint32_t to)
{
    ErnicTimingFile *f = opaque;
    const Mark *cause = &f->cause[ERNIC_TIMED_DOORBELL];
    Life *life = g_hash_table_lookup(f->qps, GUINT_TO_POINTER(qpn));
    uint32_t i;

    if (!life || life->posted != from) {
        life = g_new0(Life, 1);
        life->serial = ++f->lives & 0xffffff;
        life->first = from;
        g_hash_table_insert(f->qps, GUINT_TO_POINTER(qpn), life);
    }
    life->posted = to;
    for (i = from; i != to; i++) {
        uint64_t flow = request_flow(f, qpn, i);

        event(f, "\"ph\":\"b\",\"cat\":\"request\",\"name\":\"QP %u\","
              "\"id\":\"0x%" PRIx64 "\",\"pid\":%u,\"tid\":0,\"ts\":" TS
              ",\"args\":{\"request\":%u}", qpn, flow, f->pid,
              TS_ARGS(cause->valid ? cause->epoch : now,
                      cause->valid ? cause->in : 0), i);
        if (cause->valid) {
            arrow(f, 's', "request", flow, cause);
        }
    }
    count_requests(f, now, qpn, life);
}

static void hook_completed(void *opaque, uint64_t now, uint32_t qpn,
                           uint32_t index)
{
    ErnicTimingFile *f = opaque;
    const Mark *cause = &f->cause[ERNIC_TIMED_RECEIVED];
    uint64_t flow = request_flow(f, qpn, index);
    Life *life;

    if (!flow) {
        return;
    }
    life = g_hash_table_lookup(f->qps, GUINT_TO_POINTER(qpn));
    life->over++;
    count_requests(f, now, qpn, life);
    if (flow != f->ended) {             /* no completion reports it */
        if (cause->valid) {
            arrow(f, 'f', "request", flow, cause);
        }
        end_request(f, qpn, flow, now, 0);
    }
}

static void hook_waiting(void *opaque, uint64_t now,
                         const uint32_t num[ERNIC_TIMED_QUEUES])
{
    static const char *const names[] = {
#define X(symbol, name) name,
        ERNIC_TIMING_QUEUES(X)
#undef X
    };
    ErnicTimingFile *f = opaque;
    uint32_t i;

    for (i = 0; i < ERNIC_TIMED_QUEUES; i++) {
        if (num[i] != f->waiting[i]) {
            f->waiting[i] = num[i];
            counter(f, now, names[i], num[i]);
        }
    }
}

/* ---- life ------------------------------------------------------------------ */

static void name_tracks(ErnicTimingFile *f, const char *name)
{
    char *known = g_strdelimit(g_strdup(name), "\"\\\n\t", '_');
    uint32_t i;

    event(f, "\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,"
          "\"args\":{\"name\":\"%.100s\"}", f->pid, known);
    g_free(known);
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        event(f, "\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,"
              "\"tid\":%u,\"args\":{\"name\":\"%s\"}", f->pid, i + 1,
              ernic_stage_name(i));
        event(f, "\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,"
              "\"tid\":%u,\"args\":{\"sort_index\":%u}", f->pid, i + 1, i + 1);
    }
}

ErnicTimingFile *ernic_timing_file_open(const char *path, const char *name,
                                        uint64_t limit,
                                        void (*warn)(const char *what),
                                        char **err)
{
    const char *why = NULL;
    TraceFile *file = NULL;
    ErnicTimingFile *f;
    struct stat st;
    int fd = ernic_output_open(path, &st, &why);

    if (fd >= 0) {
        g_mutex_lock(&files_lock);
        file = file_get(fd, &st, path, &why);
        g_mutex_unlock(&files_lock);
    }
    if (!file) {
        *err = g_strdup_printf("%s: %s", path, why);
        return NULL;
    }
    f = g_new0(ErnicTimingFile, 1);
    f->file = file;
    f->pid = ++file->pids;
    file->limit = limit;
    file->warn = warn;
    f->qps = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    f->trace = (ErnicTimingTrace) {
        .opaque = f, .passed = hook_passed, .taken = hook_taken,
        .posted = hook_posted, .completed = hook_completed,
        .waiting = hook_waiting,
    };
    name_tracks(f, name);
    return f;
}

const ErnicTimingTrace *ernic_timing_file_trace(const ErnicTimingFile *f)
{
    return &f->trace;
}

void ernic_timing_file_flush(ErnicTimingFile *f)
{
    g_mutex_lock(&files_lock);
    file_flush(f->file);
    g_mutex_unlock(&files_lock);
}

void ernic_timing_file_close(ErnicTimingFile *f)
{
    uint32_t i;

    if (!f) {
        return;
    }
    for (i = 0; i < ERNIC_STAGE_COUNT; i++) {
        ernic_usage_end(&f->usage[i], i, use_counter, f);
    }
    g_mutex_lock(&files_lock);
    file_put(f->file);
    g_mutex_unlock(&files_lock);
    for (i = 0; i < ERNIC_TIMED_KINDS; i++) {
        g_queue_clear_full(&f->marks[i], g_free);
    }
    g_hash_table_destroy(f->qps);
    g_free(f);
}
