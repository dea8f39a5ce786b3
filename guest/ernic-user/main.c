/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ernic-user: SEND, WRITE and READ between two ERNICs, or an ERNIC and any other
 * RC queue pair. One end serves, the other asks for requests one after the other or
 * in batches; every byte is looked at.
 */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "ernic-user.h"

static const char usage[] =
    "usage: ernic-user serve [OPTION...]\n"
    "       ernic-user send|write|read ADDRESS [OPTION...]\n"
    "       ernic-user stream [--count N] [--size BYTES] [--card N]\n"
    "\n"
    "--count N          requests (16)\n"
    "--batch N          of them rung for at once (1), 63 at most\n"
    "--size BYTES       of each (4096); SENDs have 32768 at most, others 2 MiB\n"
    "--queues host|card memory of the queues (host)\n"
    "--data host|card   memory of what is sent, read and written (host)\n"
    "--memory host|card both\n"
    "--poll registers|memory\n"
    "                  where to look for what is done (registers)\n"
    "--mtu BYTES        path MTU (4096)\n"
    "--port N           of TCP (5003)\n"
    "--card N           which of several, from 0 on\n";

struct job {
    const char *what, *host;
    unsigned count, batch, size, port, card, seed;
    bool queues_on_card, data_on_card, poll_memory;
    unsigned mtu;
};

static const struct {
    const char *name;
    enum pg332_opcode opcode;
} operations[] = {
    { "send", PG332_OP_SEND }, { "write", PG332_OP_WRITE },
    { "read", PG332_OP_READ },
};

/* ---- contents of the messages ----------------------------------------------------- */

static uint8_t byte_at(unsigned seed, uint32_t off)
{
    return seed * 31 + off * 7 + (off >> 8);
}

/* Bytes [@off, @off + @len) of the pattern. */
static void fill(uint8_t *at, unsigned seed, uint32_t off, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        at[i] = byte_at(seed, off + i);
    }
}

/* Clears the data of an earlier job. */
static void spoil(uint8_t *at, unsigned seed, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        at[i] = ~byte_at(seed, i);
    }
}

static bool right(const uint8_t *at, unsigned seed, uint32_t off, uint32_t len)
{
    uint32_t i;

    for (i = 0; i < len; i++) {
        if (at[i] != byte_at(seed, off + i)) {
            fprintf(stderr, "ernic-user: byte %u is %02x, not %02x\n", off + i,
                    at[i], byte_at(seed, off + i));
            return false;
        }
    }
    return true;
}

/* Each request has its place in the area, if there is room; then again. */
static uint32_t places(const struct job *job)
{
    uint32_t room = AREA / job->size;

    return job->count < room ? job->count : room;
}

static uint32_t place(const struct job *job, unsigned n)
{
    return n % places(job) * job->size;
}

/* ---- the end that serves ----------------------------------------------------------- */

static bool receive_all(struct interface *f, const struct job *job)
{
    bool good = true;
    unsigned n;

    for (n = 0; n < job->count; n++) {
        good &= right(interface_receive(f), job->seed, place(job, n), job->size);
        interface_give_back(f);
    }
    return good;
}

static void serve_job(struct interface *f, FILE *peer, const struct job *job)
{
    uint32_t len = places(job) * job->size;
    bool good = true;
    char line[64];

    if (!strcmp(job->what, "read")) {
        fill(f->region.at, job->seed, 0, len);
    } else {
        spoil(f->region.at, job->seed, len);
    }
    send_line(peer, "ready");
    if (!strcmp(job->what, "send")) {
        good = receive_all(f, job);
    }
    if (!read_line(peer, line, sizeof(line)) || strcmp(line, "check")) {
        errx(1, "the peer has gone");
    }
    if (!strcmp(job->what, "write")) {
        good = right(f->region.at, job->seed, 0, len);
    }
    send_line(peer, good ? "good" : "bad");
}

static void serve(struct interface *f, FILE *peer)
{
    struct job job = { 0 };
    char line[64], what[16];

    while (read_line(peer, line, sizeof(line)) && strcmp(line, "quit")) {
        if (sscanf(line, "%15s %u %u %u", what, &job.count, &job.size,
                   &job.seed) != 4 || !job.count || !job.size ||
            job.size > AREA || (!strcmp(what, "send") && job.size > SLOT)) {
            errx(1, "the peer asks for '%s'", line);
        }
        job.what = what;
        serve_job(f, peer, &job);
    }
    send_line(peer, "quit");
}

/*
 * ---- the end that asks
 * ----------------------------------------------------------------
 */

static double run_requests(struct interface *f, const struct job *job,
                           enum pg332_opcode opcode)
{
    double since = seconds();
    unsigned n, k, now;

    for (n = 0; n < job->count; n += now) {
        now = job->count - n < job->batch ? job->count - n : job->batch;
        for (k = 0; k < now; k++) {
            interface_request(f, k, opcode, place(job, n + k), job->size,
                         f->peer.va + place(job, n + k));
        }
        interface_run(f, now);
    }
    return seconds() - since;
}

static void expect(FILE *peer, const char *wanted)
{
    char line[64];

    if (!read_line(peer, line, sizeof(line))) {
        errx(1, "the peer has gone");
    }
    if (strcmp(line, wanted)) {
        errx(1, "the peer says '%s', not '%s'", line, wanted);
    }
}

static void ask(struct interface *f, FILE *peer, const struct job *job,
                enum pg332_opcode opcode)
{
    uint32_t len = places(job) * job->size;
    bool read = opcode == PG332_OP_READ;
    double time;

    if (opcode == PG332_OP_SEND ? job->size > f->peer.slot
                                : len > f->peer.bytes) {
        errx(1, "the peer has no room for that");
    }
    if (read) {
        spoil(f->data.at, job->seed, len);
    } else {
        fill(f->data.at, job->seed, 0, len);
    }
    send_line(peer, "%s %u %u %u", job->what, job->count, job->size, job->seed);
    expect(peer, "ready");
    time = run_requests(f, job, opcode);
    send_line(peer, "check");
    expect(peer, "good");
    if (read && !right(f->data.at, job->seed, 0, len)) {
        errx(1, "what was read is wrong");
    }
    send_line(peer, "quit");
    expect(peer, "quit");
    printf("%s: %u x %u bytes, %u at once: %.3f ms, %.2f us each, %.1f MB/s,"
           " verified\n", job->what, job->count, job->size, job->batch,
           time * 1e3, time * 1e6 / job->count,
           (double)job->count * job->size / time / 1e6);
}

/*
 * ---- command line
 * ----------------------------------------------------------------------
 */

static unsigned count_of(const char *text, unsigned min, unsigned max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 0);

    if (*end || value < min || value > max) {
        errx(1, "%s is not %u to %u", text, min, max);
    }
    return value;
}

/* The second of two words. */
static bool is_second(const char *text, const char *first, const char *second)
{
    if (strcmp(text, first) && strcmp(text, second)) {
        errx(1, "%s is not %s or %s", text, first, second);
    }
    return !strcmp(text, second);
}

static bool is_card(const char *text)
{
    return is_second(text, "host", "card");
}

/* Whether the job needs no peer to call. */
static bool alone(const struct job *job)
{
    return !strcmp(job->what, "serve") || !strcmp(job->what, "stream");
}

static void parse(struct job *job, int argc, char **argv)
{
    static const struct option known[] = {
        { "count", 1, NULL, 'c' }, { "batch", 1, NULL, 'b' },
        { "size", 1, NULL, 's' }, { "queues", 1, NULL, 'q' },
        { "data", 1, NULL, 'd' }, { "memory", 1, NULL, 'm' },
        { "mtu", 1, NULL, 'M' }, { "port", 1, NULL, 'p' },
        { "card", 1, NULL, 'n' }, { "poll", 1, NULL, 'P' }, { 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        switch (c) {
        case 'c': job->count = count_of(optarg, 1, 1u << 24); break;
        case 'b': job->batch = count_of(optarg, 1, DEPTH - 1); break;
        case 's': job->size = count_of(optarg, 1, AREA); break;
        case 'q': job->queues_on_card = is_card(optarg); break;
        case 'd': job->data_on_card = is_card(optarg); break;
        case 'm': job->queues_on_card = job->data_on_card = is_card(optarg); break;
        case 'M': job->mtu = count_of(optarg, 256, 4096); break;
        case 'p': job->port = count_of(optarg, 1, 65535); break;
        case 'P': job->poll_memory = is_second(optarg, "registers", "memory"); break;
        case 'n': job->card = count_of(optarg, 0, 31); break;
        default: fputs(usage, stderr); exit(2);
        }
    }
    job->what = optind < argc ? argv[optind++] : "";
    job->host = optind < argc ? argv[optind++] : NULL;
    if (optind < argc || alone(job) == !!job->host) {
        fputs(usage, stderr);
        exit(2);
    }
}

/* The row of operations[], or -1: to serve. */
static int operation(const struct job *job)
{
    int i;

    for (i = 0; i < 3; i++) {
        if (!strcmp(job->what, operations[i].name)) {
            return i;
        }
    }
    if (strcmp(job->what, "serve")) {
        fputs(usage, stderr);
        exit(2);
    }
    return -1;
}

/* Frames through the shell's QDMA and back. */
static void stream(struct card *card, const struct job *job)
{
    double time = stream_run(card, job->count, job->size);

    printf("stream: %u x %u bytes: %.3f ms, %.2f us each, %.1f MB/s, verified\n",
           job->count, job->size, time * 1e3, time * 1e6 / job->count,
           (double)job->count * job->size / time / 1e6);
}

int main(int argc, char **argv)
{
    struct job job = { .count = 16, .batch = 1, .size = 4096, .mtu = 4096,
                       .port = 5003, .seed = time(NULL) & 0xffff };
    struct card card = { .mem = NULL };
    struct interface interface = { .card = &card };
    FILE *peer;
    int op;

    parse(&job, argc, argv);
    if (!strcmp(job.what, "stream")) {
        card_open(&card, job.card);
        stream(&card, &job);
        return 0;
    }
    op = operation(&job);
    if (op >= 0 && operations[op].opcode == PG332_OP_SEND && job.size > SLOT) {
        errx(1, "a SEND has at most %u bytes", SLOT);
    }
    card_open(&card, job.card);
    interface.poll_memory = job.poll_memory;
    interface.queues = mem_alloc(&card, job.queues_on_card);
    interface.data = mem_alloc(&card, job.data_on_card);
    interface.region = mem_alloc(&card, job.data_on_card);
    interface.own = (struct end) {
        .qpn = QPN, .psn = 0xabd, .slot = SLOT, .mtu = job.mtu, .bytes = AREA,
        /* On the card an address is its own name, as with RecoNIC. */
        .va = job.data_on_card ? interface.region.bus : (uintptr_t)interface.region.at,
    };
    peer = meet(job.host, job.port);
    own_address(peer, &interface.own);
    interface_open(&interface);
    introduce(peer, &interface.own, &interface.peer);
    interface_connect(&interface);
    send_line(peer, "connected");
    expect(peer, "connected");
    if (op < 0) {
        serve(&interface, peer);
    } else {
        ask(&interface, peer, &job, operations[op].opcode);
    }
    interface_close(&interface);
    return 0;
}
