/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The hardware handshake of the ERNIC interface: the test is the user logic, at the other
 * end of a character device.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <poll.h>
#include <sys/un.h>
#include "qobject/qdict.h"
#include "ernic-card.h"

#define THREADS     { "main-loop", "4.2,engine-thread=off" }, \
                    { "thread", "3.1,engine-thread=on" }

#define EJECT       0xae08          /* the guest's register; a bit for each slot */

typedef struct Logic {
    QErnic *q;
    Card c;
    const char *path;           /* of the socket of the device's character device */
    int fd;                     /* connected to it; -1: not */
} Logic;

static void hang_up(Logic *l)
{
    if (l->fd >= 0) {
        close(l->fd);
        l->fd = -1;
    }
}

static void call(Logic *l)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    g_strlcpy(to.sun_path, l->path, sizeof(to.sun_path));
    l->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    g_assert_cmpint(connect(l->fd, (struct sockaddr *)&to, sizeof(to)), ==, 0);
}

static char *port(const char *path)
{
    unlink(path);
    return g_strdup_printf("-chardev socket,id=logic,path=%s,server=on,wait=off", path);
}

static void open_card(Logic *l, const char *more)
{
    g_autofree char *socket = NULL;

    l->fd = -1;
    l->path = qernic_temp();
    socket = port(l->path);
    l->q = qernic_device(",roce-udp=127.0.0.1:0,user-logic=logic,ernic-version=%s %s",
                         more, socket);
    card_open(&l->c, l->q, card_version(more), 1);
    card_open_qp(&l->c, 1, CARD_QPN);                   /* to itself */
    card_put_qp(&l->c, PG332_QPCONF, card_get_qp(&l->c, PG332_QPCONF) &
                ~PG332_QPCONF_NO_HS);
}

static void open_logic(Logic *l, const char *more)
{
    open_card(l, more);
    call(l);
}

static void put_bytes(Logic *l, const void *bytes, size_t len)
{
    g_assert_cmpint(send(l->fd, bytes, len, MSG_NOSIGNAL), ==, len);
}

static void record(uint8_t bytes[8], uint8_t kind, uint16_t qpn, uint32_t value)
{
    memset(bytes, 0, 8);
    bytes[0] = kind;
    stw_le_p(bytes + 2, qpn);
    stl_le_p(bytes + 4, value);
}

static void put(Logic *l, uint8_t kind, uint16_t qpn, uint32_t value)
{
    uint8_t bytes[8];

    record(bytes, kind, qpn, value);
    put_bytes(l, bytes, sizeof(bytes));
}

static bool has_bytes(Logic *l)
{
    uint8_t byte;

    return recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* The value of the next record, which is one of this kind. */
static uint32_t take(Logic *l, uint8_t kind)
{
    uint8_t bytes[8];

    qernic_wait_while(l->q->qts, !has_bytes(l));
    g_assert_cmpint(recv(l->fd, bytes, 8, MSG_WAITALL), ==, 8);
    g_assert_cmpuint(bytes[0], ==, kind);
    g_assert_cmpuint(bytes[1], ==, 0);
    g_assert_cmpuint(lduw_le_p(bytes + 2), ==, CARD_QPN);
    return ldl_le_p(bytes + 4);
}

static void takes(Logic *l, uint8_t kind, uint32_t value)
{
    g_assert_cmpuint(take(l, kind), ==, value);
}

/* A request in memory, without a doorbell. */
static void request(Logic *l, uint8_t opcode)
{
    card_request(&l->c, opcode, 0, 64, CARD_VA + 0x8000, CARD_KEY, 0);
}

static void waits_for_stat(Logic *l, const char *name, uint64_t value)
{
    qernic_wait_while(l->q->qts, qernic_stat(l->q, name) < value);
    g_assert_cmpuint(qernic_stat(l->q, name), ==, value);
}

/* User logic posts, and hears of it; no word in memory changes. */
WORLD_KINDS("/ernic-user/handshake-", test_handshake, Logic, l, open_logic,
            { "3.1", "3.1" }, { "4.0", "4.0" }, { "4.2", "4.2" },
            { "thread", "4.2,engine-thread=on" }, { "timing", "4.2,timing=on" })
{
    Card *c = &l->c;

    card_fill(c, c->mem, 64, 5);
    request(l, CARD_SEND);
    put(l, PG332_USER_SQPI, CARD_QPN, 1);
    takes(l, PG332_USER_RECEIVED, 1);
    takes(l, PG332_USER_COMPLETED, 1);
    card_equal(c, c->mem, c->rq, 64);
    g_assert_cmpuint(card_get_qp(c, PG332_SQPI), ==, 1);
    g_assert_cmpuint(card_get_qp(c, PG332_CQHEAD), ==, 1);
    g_assert_cmphex(card_word(c, c->cq), ==, CARD_SEND << 16);
    g_assert_cmpuint(card_word(c, c->db), ==, 0);
    g_assert_cmpuint(card_word(c, c->db + 4), ==, 0);
    /* Several at once; the index of the receive queue wraps with those that return. */
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t done = 0;

        for (uint32_t i = 0; i < CARD_DEPTH / 2; i++) {
            request(l, CARD_SEND);
        }
        put(l, PG332_USER_SQPI, CARD_QPN, (c->posted - 1) % CARD_DEPTH + 1);
        card_wait(c, PG332_CQHEAD, (c->posted - 1) % CARD_DEPTH + 1);
        put(l, PG332_USER_RQCI, CARD_QPN, (c->posted - 1) % CARD_DEPTH + 1);
        card_wait(c, PG332_RQCI, (c->posted - 1) % CARD_DEPTH + 1);
        while (done < CARD_DEPTH / 2) {
            uint8_t kind;

            qernic_wait_while(l->q->qts, !has_bytes(l));
            g_assert_cmpint(recv(l->fd, &kind, 1, MSG_PEEK), ==, 1);
            done += kind == PG332_USER_COMPLETED ? take(l, kind) : 0 * take(l, kind);
        }
        g_assert_cmpuint(done, ==, CARD_DEPTH / 2);
    }
    /* With the bit set, the indices are in memory again. */
    card_put_qp(c, PG332_QPCONF, card_get_qp(c, PG332_QPCONF) | PG332_QPCONF_NO_HS);
    request(l, CARD_WRITE);
    card_put_qp(c, PG332_SQPI, (c->posted - 1) % CARD_DEPTH + 1);
    qernic_wait_while(l->q->qts, !card_word(c, c->db));
    hang_up(l);
}

/* Nobody listens, and then somebody slow: nothing is lost. */
WORLD_KINDS("/ernic-user/flow-", test_flow, Logic, l, open_card, THREADS)
{
    Card *c = &l->c;
    uint32_t done;

    for (uint32_t i = 0; i < 3; i++) {
        request(l, CARD_SEND);
        card_put_qp(c, PG332_SQPI, i + 1);
        card_wait(c, PG332_CQHEAD, i + 1);
    }
    card_put_qp(c, PG332_RQCI, 3);
    call(l);
    takes(l, PG332_USER_RECEIVED, 3);
    takes(l, PG332_USER_COMPLETED, 3);
    waits_for_stat(l, "user_logic.sent", 2);
    for (uint32_t i = 0; i < 1000; i++) {
        request(l, CARD_WRITE);
        card_put_qp(c, PG332_SQPI, (c->posted - 1) % CARD_DEPTH + 1);
        card_wait(c, PG332_CQHEAD, (c->posted - 1) % CARD_DEPTH + 1);
    }
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.sent"), <, 900);
    for (done = 0; done < 1000; done += take(l, PG332_USER_COMPLETED)) {
    }
    g_assert_cmpuint(done, ==, 1000);
    qtest_clock_step(l->q->qts, 1000000);
    g_assert_false(has_bytes(l));
    hang_up(l);
}

/* Records that mean nothing have no effect. */
WORLD_KINDS("/ernic-user/hostile-", test_hostile, Logic, l, open_logic, THREADS)
{
    static const struct {
        uint8_t kind;
        uint16_t qpn;
        uint32_t value;
    } bad[] = {
        { 0, CARD_QPN, 1 }, { PG332_USER_RECEIVED, CARD_QPN, 1 },
        { PG332_USER_COMPLETED, CARD_QPN, 1 }, { 5, CARD_QPN, 1 }, { 0xff, 0xffff, ~0u },
        { PG332_USER_SQPI, 0, 1 }, { PG332_USER_SQPI, 33, 1 },
        { PG332_USER_RQCI, 0xffff, 1 }, { PG332_USER_SQPI, CARD_QPN, 0x10001 },
        { PG332_USER_RQCI, CARD_QPN, ~0u }, { PG332_USER_SQPI, CARD_QPN + 1, 1 },
        { PG332_USER_SQPI, CARD_QPN + 2, 1 },
    };
    const size_t num = ARRAY_SIZE(bad);
    uint8_t bytes[8];
    Card *c = &l->c;

    /* The doorbells of CARD_QPN + 1 are its registers; software does not use the next. */
    card_put_at(c, card_at(c, ERNIC_REG_QP, CARD_QPN, PG332_QPCONF),
                PG332_QPCONF_NO_HS | PG332_QPCONF_ENABLE);
    request(l, CARD_WRITE);
    for (size_t i = 0; i < num; i++) {
        put(l, bad[i].kind, bad[i].qpn, bad[i].value);
    }
    record(bytes, PG332_USER_SQPI, CARD_QPN, 1);
    bytes[1] = 1;
    put_bytes(l, bytes, sizeof(bytes));
    waits_for_stat(l, "user_logic.refused", num + 1);
    g_assert_cmpuint(card_get_qp(c, PG332_SQPI), ==, 0);
    g_assert_cmpuint(card_get_qp(c, PG332_RQCI), ==, 0);
    /* A record in pieces; an index beyond the depth counts modulo the depth. */
    record(bytes, PG332_USER_SQPI, CARD_QPN, 3 * CARD_DEPTH + 1);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        g_assert_cmpuint(card_get_qp(c, PG332_SQPI), ==, 0);
        put_bytes(l, bytes + i, 1);
        qtest_clock_step(l->q->qts, 1000);
    }
    takes(l, PG332_USER_COMPLETED, 1);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.received"), ==, num + 2);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.refused"), ==, num + 1);
    /* More than the device keeps. */
    for (uint32_t i = 0; i < 2000; i++) {
        put(l, PG332_USER_RQCI, 0, i);
    }
    waits_for_stat(l, "user_logic.received", num + 2002);
    hang_up(l);
}

/* Software begins and user logic continues, while software's stores are under way. */
WORLD_KINDS("/ernic-user/handover-", test_handover, Logic, l, open_logic,
            { "timing", "4.2,timing=on" })
{
    uint32_t done;

    for (uint32_t i = 0; i < 4; i++) {
        request(l, CARD_WRITE);
    }
    for (uint32_t i = 1; i < 4; i++) {
        card_put_qp(&l->c, PG332_SQPI, i);
    }
    put(l, PG332_USER_SQPI, CARD_QPN, 4);
    g_usleep(20000);
    for (done = 0; done < 4; done += take(l, PG332_USER_COMPLETED)) {
    }
    qtest_clock_step(l->q->qts, 1000000);
    g_assert_cmpuint(done, ==, 4);
    g_assert_false(has_bytes(l));
    g_assert_cmpuint(card_get_qp(&l->c, PG332_CQHEAD), ==, 4);
    hang_up(l);
}

/* A doorbell that strict mode ignores is a record that is refused. */
WORLD_KINDS("/ernic-user/strict-", test_strict, Logic, l, open_logic,
            { "enforce", "4.2,ernic-strict=enforce" })
{
    put(l, PG332_USER_SQPI, CARD_QPN, CARD_DEPTH + 1);
    waits_for_stat(l, "user_logic.refused", 1);
    g_assert_cmpuint(card_get_qp(&l->c, PG332_SQPI), ==, 0);
    hang_up(l);
}

/* A connection begins with a record, whatever was left of the one before. */
WORLD_KINDS("/ernic-user/connection-", test_connection, Logic, l, open_logic, THREADS)
{
    static const uint8_t half[] = { PG332_USER_SQPI, 0, CARD_QPN };
    Card *c = &l->c;

    request(l, CARD_WRITE);
    for (uint32_t i = 0; i < 3; i++) {
        put_bytes(l, half, sizeof(half));
        qtest_clock_step(l->q->qts, 1000000);
        hang_up(l);
        call(l);
    }
    put(l, PG332_USER_SQPI, CARD_QPN, 1);
    takes(l, PG332_USER_COMPLETED, 1);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.refused"), ==, 0);
    /* A reset forgets what was not taken, and not where a record begins. */
    put_bytes(l, half, sizeof(half));
    hang_up(l);
    request(l, CARD_WRITE);
    card_put_qp(c, PG332_SQPI, 2);
    card_wait(c, PG332_CQHEAD, 2);
    call(l);
    takes(l, PG332_USER_COMPLETED, 1);
    put_bytes(l, half, sizeof(half));
    qernic_flr(&l->q->dev);
    qpci_device_enable(&l->q->dev);
    put_bytes(l, "\0\1\0\0\0", 5);              /* for a queue pair that is no more */
    waits_for_stat(l, "user_logic.received", 2);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.refused"), ==, 1);
    g_assert_false(has_bytes(l));
    hang_up(l);
}

/* Somebody who cannot read is no user logic: nothing turns for ever, nothing is lost. */
WORLD_KINDS("/ernic-user/deaf-", test_deaf, Logic, l, open_logic, THREADS)
{
    int deaf = l->fd;
    struct pollfd hung = { .fd = deaf };

    request(l, CARD_SEND);
    g_assert_cmpint(shutdown(deaf, SHUT_RD), ==, 0);
    put(l, PG332_USER_SQPI, CARD_QPN, 1);
    card_wait(&l->c, PG332_CQHEAD, 1);
    qernic_wait_while(l->q->qts, poll(&hung, 1, 0) != 1);
    g_assert_true(hung.revents & POLLHUP);
    call(l);
    takes(l, PG332_USER_RECEIVED, 1);
    takes(l, PG332_USER_COMPLETED, 1);
    close(deaf);
    hang_up(l);
}

/* While the machine is stopped, and in D3hot, records wait in both directions. */
WORLD_KINDS("/ernic-user/stopped-", test_stopped, Logic, l, open_logic, THREADS)
{
    request(l, CARD_WRITE);
    qernic_stop(l->q->qts);
    put(l, PG332_USER_SQPI, CARD_QPN, 1);
    waits_for_stat(l, "user_logic.received", 0);
    g_usleep(20000);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.received"), ==, 0);
    qernic_cont(l->q->qts);
    takes(l, PG332_USER_COMPLETED, 1);
    request(l, CARD_WRITE);
    qernic_power(&l->q->dev, 3);
    put(l, PG332_USER_SQPI, CARD_QPN, 2);
    qtest_clock_step(l->q->qts, 1000000);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.received"), ==, 1);
    qernic_power(&l->q->dev, 0);
    takes(l, PG332_USER_COMPLETED, 1);
    hang_up(l);
}

/* A reset drops the records that wait, and not the beginning of the next one. */
WORLD_KINDS("/ernic-user/reset-", test_reset, Logic, l, open_logic, THREADS)
{
    request(l, CARD_WRITE);
    qernic_power(&l->q->dev, 3);
    put(l, PG332_USER_SQPI, CARD_QPN, 1);
    put_bytes(l, "\3\0\2", 3);
    qtest_clock_step(l->q->qts, 1000000);
    qernic_flr(&l->q->dev);
    qpci_device_enable(&l->q->dev);
    put_bytes(l, "\0\1\0\0\0", 5);
    waits_for_stat(l, "user_logic.refused", 1);
    g_assert_cmpuint(qernic_stat(l->q, "user_logic.received"), ==, 1);
    /* The device keeps 64, and a reset makes room for those after them. */
    qernic_power(&l->q->dev, 3);
    for (uint32_t i = 0; i < 200; i++) {
        put(l, PG332_USER_RQCI, CARD_QPN, i);
    }
    qtest_clock_step(l->q->qts, 1000000);
    qernic_flr(&l->q->dev);
    qpci_device_enable(&l->q->dev);
    waits_for_stat(l, "user_logic.refused", 1 + 200 - 64);
    hang_up(l);
}

/* The device leaves while a record is half received and others wait to be sent. */
WORLD_KINDS("/ernic-user/unplug-", test_unplug, Logic, l, open_logic, THREADS)
{
    QTestState *qts = l->q->qts;

    for (uint32_t i = 0; i < CARD_DEPTH; i++) {
        request(l, CARD_WRITE);
    }
    put(l, PG332_USER_SQPI, CARD_QPN, CARD_DEPTH);
    put_bytes(l, "\3\0\2", 3);
    take(l, PG332_USER_COMPLETED);
    qtest_qmp_device_del_send(qts, "ernic0");
    put_bytes(l, "\0\1\0\0\0", 5);
    qtest_outl(qts, EJECT, 1 << 4);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    /* The character device is free for the next one. */
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             " 'driver': 'ernic', 'id': 'next', 'addr': '5',"
                             " 'ernic-version': '4.2', 'user-logic': 'logic' } }");
    hang_up(l);
}

static void migrate(Logic *l, const char *path, const char *more)
{
    g_autofree char *socket = port(path);
    g_autofree char *args = g_strdup_printf(
        VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0,user-logic=logic,"
        "ernic-version=%s %s", more, socket);

    qernic_migrate_as(l->q, args);
    l->path = path;
    call(l);
    takes(l, PG332_USER_RECEIVED, 2);
    takes(l, PG332_USER_COMPLETED, 2);
    request(l, CARD_SEND);
    put(l, PG332_USER_SQPI, CARD_QPN, 3);
    takes(l, PG332_USER_RECEIVED, 3);
    takes(l, PG332_USER_COMPLETED, 1);
    hang_up(l);
}

/* All that was not taken is at the destination. */
MACHINE_KINDS("/ernic-user/migrate-", test_migrate, THREADS)
{
    Logic l;

    open_card(&l, more);
    for (uint32_t i = 1; i <= 2; i++) {
        request(&l, CARD_SEND);
        card_put_qp(&l.c, PG332_SQPI, i);
        card_wait(&l.c, PG332_CQHEAD, i);
    }
    migrate(&l, qernic_temp(), more);
}

/* Records that come to the destination before the state is there wait for it. */
MACHINE_TEST("/ernic-user/migrate-early", test_migrate_early)
{
    const char *path = qernic_temp();
    g_autofree char *in = g_strdup_printf("%s.in", path);
    g_autofree char *out = g_strdup_printf("%s.out", path);
    g_autofree char *args = g_strdup_printf(
        VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0,user-logic=logic,"
        "ernic-version=4.2 -chardev pipe,id=logic,path=%s", path);
    uint8_t bytes[8];
    Logic l;
    int fd[2];

    g_assert_cmpint(mkfifo(in, 0600), ==, 0);
    g_assert_cmpint(mkfifo(out, 0600), ==, 0);
    fd[0] = open(in, O_RDWR);
    fd[1] = open(out, O_RDWR);
    open_card(&l, "4.2");
    request(&l, CARD_WRITE);
    record(bytes, PG332_USER_SQPI, CARD_QPN, 1);
    g_assert_cmpint(write(fd[0], bytes, sizeof(bytes)), ==, sizeof(bytes));
    qernic_migrate_as(l.q, args);
    card_wait(&l.c, PG332_CQHEAD, 1);
    g_assert_cmpint(read(fd[1], bytes, sizeof(bytes)), ==, sizeof(bytes));
    g_assert_cmpuint(bytes[0], ==, PG332_USER_COMPLETED);
    close(fd[0]);
    close(fd[1]);
    unlink(in);
    unlink(out);
}

MACHINE_TEST("/ernic-user/refused", test_refused)
{
    QErnicMachine *m = qernic_machine("-chardev null,id=logic");

    qernic_refused(m->qts, "user-logic= needs interface=ernic",
                   "'interface': 'mlx5', 'user-logic': 'logic'");
    qernic_refused(m->qts, "user-logic= needs ernic-version=",
                   "'shell': 'opennic', 'user-logic': 'logic'");
}

/* Nobody records the bytes that come. */
MACHINE_TEST("/ernic-user/record", test_record)
{
    qernic_no_start("user-logic= and record and replay exclude each other",
                    "-icount shift=3,rr=record,rrfile=/dev/null -chardev null,id=logic"
                    " -device ernic,ernic-version=4.2,user-logic=logic");
}
