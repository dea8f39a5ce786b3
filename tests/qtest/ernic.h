/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small guest driver for the tests: registers, commands and queues of one device.
 * All data is in guest memory.
 */
#ifndef QTEST_ERNIC_H
#define QTEST_ERNIC_H

#include "qemu/module.h"
#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/pci.h"
#include "tests/qtest/libqos/libqos-malloc.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define QERNIC_RING_SHIFT   4
#define QERNIC_DEPTH        16          /* of every queue */
#define QERNIC_BUF          (256 * 1024)
#define QERNIC_QKEY         0x11111111

typedef struct QErnic {
    QPCIDevice dev;
    QTestState *qts;
    QGuestAllocator *alloc;
    QPCIBar bar;
    const char *id;             /* id of -device */
    uint64_t cmd_ring, rsp_ring;
    uint64_t scratch;           /* a page for structures of commands */
    uint32_t cmd_pi, uctx;      /* the context of commands that name none */

    /* Created by qernic_setup(), for all transfers. */
    uint32_t pd, eq, key;
    uint64_t eq_ring, buf;
    uint8_t gid[16];
} QErnic;

typedef struct QErnicCq {
    uint32_t cqn, ci;
    uint64_t ring;
} QErnicCq;

typedef struct QErnicQp {
    QErnic *q;
    uint32_t qpn, sq_pi, rq_pi;
    uint64_t sq, rq;
    uint64_t sq_record, rq_record;      /* struct ernic_record; 0: none */
    bool rings_later;           /* with a record: the test rings, not the driver */
    uint8_t type;
    QErnicCq cq;
} QErnicQp;

typedef struct QErnicMachine {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
} QErnicMachine;

/* A test for each kind of machine: what its name adds to the path, and more options. */
typedef struct QErnicKind {
    const char *name, *more;
} QErnicKind;

void qernic_add_kinds(const char *path, const QErnicKind *kinds, size_t num,
                      void (*fn)(const void *more));

/* A function with the verbs interface; properties follow. */
#define VERBS_NIC " -device ernic,interface=verbs"

/* The head of a function that is a test of a device with a UDP link: @q. */
#define ERNIC_TEST(name, fn)                                                \
    static void fn(QErnic *q);                                              \
    MACHINE_TEST("/ernic-" name, device_##fn)                               \
    {                                                                       \
        fn(qernic_device(",roce-udp=127.0.0.1:0"));                         \
    }                                                                       \
    static void fn(QErnic *q)
/* The head of a function that starts machines of its own. */
#define MACHINE_TEST(path, fn)                                              \
    static void fn(void);                                                   \
    static void add_##fn(void)                                              \
    {                                                                       \
        qtest_add_func(path, fn);                                           \
    }                                                                       \
    libqos_init(add_##fn);                                                  \
    static void fn(void)
/* The same for each QErnicKind that follows @fn, which gets its @more. */
#define MACHINE_KINDS(path, fn, ...)                                        \
    static void fn(const char *more);                                       \
    static void run_##fn(const void *more)                                  \
    {                                                                       \
        fn(more);                                                           \
    }                                                                       \
    static void add_##fn(void)                                              \
    {                                                                       \
        static const QErnicKind kinds[] = { __VA_ARGS__ };                  \
                                                                            \
        qernic_add_kinds(path, kinds, ARRAY_SIZE(kinds), run_##fn);         \
    }                                                                       \
    libqos_init(add_##fn);                                                  \
    static void fn(const char *more)

/* The same for a @type *@name, which @open(name, more) has set up. */
#define WORLD_KINDS(path, fn, type, name, open, ...)                        \
    static void fn(type *name);                                             \
    MACHINE_KINDS(path, world_##fn, __VA_ARGS__)                            \
    {                                                                       \
        type world;                                                         \
                                                                            \
        open(&world, more);                                                 \
        fn(&world);                                                         \
    }                                                                       \
    static void fn(type *name)

/*
 * Starts a machine, pc unless @fmt begins with -M, which ends with the test. It has no
 * devices but those of the board and of @fmt.
 */
QErnicMachine *qernic_machine(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* The function ernic0 of a machine, with further properties and options of QEMU. */
QErnic *qernic_device(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Ends a machine before. */
void qernic_machine_end(QErnicMachine *m);
/* Ends a QEMU as qtest_quit() does, which looks after it every 100 ms only. */
void qernic_quit(QTestState *qts);
/* The function in a slot of bus 0, until the end of the test. */
QErnic *qernic_at(QErnicMachine *m, const char *id, int slot);
/* The same in the machine of @q. */
QErnic *qernic_beside(QErnic *q, const char *id, int slot);
/* The same with qernic_setup(). */
QErnic *qernic_host(QErnicMachine *m, const char *id, int slot, uint8_t host);
/* Finds a function behind a bridge, or again. */
void qernic_init(QErnic *q, const char *id, QPCIBus *bus, int devfn,
                 QGuestAllocator *alloc);
/* The path of an empty file, which exists until the end of the test. */
const char *qernic_temp(void);
/* A folder for machines that start later, which leave it empty. It is removed then. */
const char *qernic_folder(void);
/* The answer to qom-get, which has "return". */
QDict *qernic_get(QTestState *qts, const char *path, const char *property);
void qernic_set(QTestState *qts, const char *path, const char *property,
                const char *value);
/* device_add with these arguments in JSON fails with a message that begins so. */
void qernic_refused(QTestState *qts, const char *says, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);
/* QEMU does not start with these options, and says so. */
void qernic_no_start(const char *says, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
void qernic_stop(QTestState *qts);
void qernic_cont(QTestState *qts);
void qernic_set_link(QTestState *qts, const char *name, bool up);
/*
 * A cable until the end of the test: @own is the test's end, and the other one, which is
 * returned, that of -netdev socket,fd=.
 */
int qernic_cable(int *own);
void qernic_to_wire(int fd, const uint8_t *frame, uint32_t len);
/* The length of the next frame. */
uint32_t qernic_from_wire(int fd, uint8_t *frame, uint32_t room);
void qernic_flr(QPCIDevice *dev);
/*
 * A slot whose hot-plug controller (SHPC) has registers in memory, for machine q35; the
 * function has bus=slot0,addr=01.0. It has no power, and stays until the LED is off too,
 * which 16 bits at QERNIC_SLOT_COMMAND do.
 */
#define QERNIC_SLOT         " -device pci-bridge,id=slot0,chassis_nr=2,shpc=on,addr=05.0"
#define QERNIC_SLOT_DEVFN   (1 << 8 | QPCI_DEVFN(1, 0))
#define QERNIC_SLOT_COMMAND 0xe4000014
#define QERNIC_SLOT_EJECT   (1 << 8 | 3 << 2)
void qernic_slot_open(QErnicMachine *m);
/* Lets time pass in @n steps. */
void qernic_pass(QTestState *qts, uint32_t n, int64_t ns);
/* Enters D0 or D3hot (3). */
void qernic_power(QPCIDevice *dev, uint16_t state);
/* Sets or clears the bit of Command, and bits of MSI-X. */
void qernic_set_master(QPCIDevice *dev, bool on);
void qernic_msix_bits(QPCIDevice *dev, uint16_t bits, bool on);
/* Places a BAR of 64 bits. */
void qernic_place(QPCIDevice *dev, QPCIBar *bar, int number, uint64_t addr);
/* Masks or unmasks a vector. */
void qernic_mask(QPCIDevice *dev, uint32_t vector, bool on);
/* Unmasks a vector, whose message is @value to @addr. */
void qernic_aim(QPCIDevice *dev, uint32_t vector, uint64_t addr, uint32_t value);

#define qernic_reg(q, name) \
    qernic_read(q, offsetof(struct ernic_regs, name))
#define qernic_set_reg(q, name, value) \
    qernic_write(q, offsetof(struct ernic_regs, name), value)
uint32_t qernic_read(QErnic *q, uint64_t off);
void qernic_write(QErnic *q, uint64_t off, uint32_t value);
void qernic_write64(QErnic *q, uint64_t off, uint64_t value);

/* The device's clock, in ns. */
uint64_t qernic_time(QErnic *q);
/* Allocates zeroed guest memory. */
uint64_t qernic_zeroed(QErnic *q, size_t bytes);
/* Allocates rings and enables the device. */
void qernic_enable(QErnic *q);
/* Steps the clock while @cond holds; fails the test after a deadline. */
#define qernic_wait_while(qts, cond) \
    for (uint64_t deadline_ = 0; cond; qernic_wait(qts, &deadline_)) { \
    }
void qernic_wait(QTestState *qts, uint64_t *deadline);
/* The path of a firmware whose processor halts, for -accel kvm or tcg. */
const char *qernic_halting_bios(void);
/* Until the end of the test time passes by itself: KVM and TCG have no clock to step. */
void qernic_real_time(void);
/* Whether it has KVM. On a host without, such a machine runs by qtest alone. */
bool qernic_has_kvm(QTestState *qts);
/* Waits until the processor of such firmware halts; false: the machine does not run. */
bool qernic_processor_halts(QTestState *qts);
/* Executes a command; returns its status. @rsp may be NULL. */
uint8_t qernic_cmd(QErnic *q, struct ernic_cmd *cmd, struct ernic_rsp *rsp);
/* Posts a command without waiting for its response. */
void qernic_cmd_post(QErnic *q, struct ernic_cmd *cmd);
/* Executes a command, which must succeed; returns the handle of the new object. */
uint32_t qernic_make(QErnic *q, struct ernic_cmd *cmd);
/* The same for a command with a structure in memory. */
uint32_t qernic_make_with(QErnic *q, uint8_t opcode, const void *data, size_t len);
/* A NOP waits for what was posted before. */
void qernic_nop(QErnic *q);
/* Sets a second address, which raises an asynchronous event: posted, not awaited. */
void qernic_post_change(QErnic *q);
/* Executes a command with a handle as its only parameter. */
uint8_t qernic_cmd_handle(QErnic *q, uint8_t opcode, uint32_t handle);
/* The value of a counter in the monitor; @name may have parts, as "drops.psn". */
uint64_t qernic_stat(QErnic *q, const char *name);
/* The same of all counters, the answer of the monitor: it takes ms. */
QDict *qernic_stats(QErnic *q);
uint64_t qernic_stat_of(const QDict *answer, const char *name);
/* Write trace event @event to a file from now on. */
const char *qernic_log(QTestState *qts, const char *event);
/* Ends the machine: how often @event is in that file. */
uint32_t qernic_logged(QErnicMachine *m, const char *path, const char *event);
void qernic_doorbell(QErnic *q, uint32_t uctx, uint64_t value);
/* The same for a send queue with a record, at ERNIC_DB_RECORD. */
void qernic_doorbell_record(QErnic *q, uint32_t uctx, uint64_t value);

/* Creates PD, EQ with vector 1, and a registered buffer; GID 0 is 10.0.0.@host. */
void qernic_setup(QErnic *q, uint8_t host);
/* Sets the device's address, with a VLAN or (0xffff) without. */
void qernic_set_gid(QErnic *q, uint8_t index, uint16_t vlan);
/* Creates a queue pair in RESET, with its own CQ. */
void qernic_qp_create(QErnic *q, QErnicQp *qp, uint8_t type);
/* The same with records, by which it posts. */
void qernic_qp_record(QErnic *q, QErnicQp *qp, uint8_t type);
/* The request that shall ring, of a record. */
uint32_t qernic_wake(QErnic *q, uint64_t record);
/* Moves @qp to INIT, RTR and RTS, connected to @peer on any device. */
void qernic_qp_connect(QErnicQp *qp, const QErnicQp *peer);
/* A queue pair of 10.0.0.9, which does not exist. */
extern const QErnicQp qernic_nobody;
/* Creates two queue pairs and connects them. */
void qernic_pair(QErnic *a, QErnic *b, QErnicQp *x, QErnicQp *y, uint8_t type);
/* The same for two of @q with records. */
void qernic_pair_record(QErnic *q, QErnicQp *x, QErnicQp *y);
/* Creates a queue pair and connects it to itself. */
void qernic_self(QErnic *q, QErnicQp *qp, uint8_t type);
/* Posts a receive of @len bytes at offset @at of the buffer. */
void qernic_post_recv(QErnicQp *qp, uint64_t at, uint32_t len);
/*
 * Posts a request with one SGE of @len bytes at offset @at, and rings the doorbell.
 * The caller fills in the fields of @wqe that depend on the opcode.
 */
void qernic_post_send(QErnicQp *qp, struct ernic_wqe *wqe, uint64_t at, uint32_t len);
/* Posts a SEND of @len bytes at offset @at. */
void qernic_send(QErnicQp *qp, uint64_t at, uint32_t len);
/* Posts a WRITE to @raddr. */
void qernic_post_write(QErnicQp *qp, uint64_t at, uint32_t len, uint64_t raddr,
                       uint32_t rkey);
/* Waits for the next completion of @qp, which must be a success. */
void qernic_done(QErnicQp *qp);
/* A SEND of the first @len bytes of the buffer, to offset 4096. */
void qernic_message(QErnicQp *x, QErnicQp *y, uint32_t len);
/* Waits for the next completion of @qp. */
void qernic_poll(QErnicQp *qp, struct ernic_cqe *cqe);
/* Whether a completion is available now. */
bool qernic_has_cqe(QErnicQp *qp);

/* Connects an RC pair and sends a message, which waits because no receive is posted. */
void qernic_begin(QErnic *q, QErnicQp *x, QErnicQp *y);
/* Posts the receive for qernic_begin(); the message arrives. */
void qernic_end(QErnicQp *x, QErnicQp *y);
/*
 * Moves to a new machine with these options, which the test uses from now on, while @ns
 * pass. The old one is returned, and goes on.
 */
QTestState *qernic_copy(QErnic *q, const char *args, int64_t ns);
/* The same in no time, and the old one ends. */
void qernic_migrate_as(QErnic *q, const char *args);
/* The same, to a machine with only the device of ERNIC_TEST, with properties @more. */
void qernic_migrate(QErnic *q, const char *more);
/* A machine with -incoming defer loads the file; false: it refuses the state. */
bool qernic_load(QTestState *qts, const char *path);
/* The state of a machine, which a test can change. */
typedef struct QErnicState {
    const char *path;
    char *bytes;
    gsize len;
    int64_t now;                /* ns: the virtual clock migrates, but qtest's does not */
} QErnicState;

/* Saves a machine, and reads the file. */
void qernic_state_save(QTestState *qts, QErnicState *s);
/* The first of these bytes, which are there. */
char *qernic_state_find(const QErnicState *s, const char *bytes, size_t len);
/* Whether a machine with these options loads it as it is now; if so, it runs. */
bool qernic_state_loads(const QErnicState *s, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* Waits until a migration completes; false: until it has failed. */
bool qernic_migrated(QTestState *qts);
/* RC, UC, UD and GSI transfers between two devices after set-up, or within one. */
void qernic_transfers(QErnic *a, QErnic *b);
/* Sends from @a to a multicast group with queue pairs of @b as members. */
void qernic_multicast(QErnic *a, QErnic *b);
/* Attaches 900 queue pairs of @b to a group; @a sends to it, and to @b alone. */
void qernic_crowd(QErnic *a, QErnic *b);
/* Sends a datagram to @b while its machine is stopped; @b receives it afterwards. */
void qernic_stopped(QErnic *a, QErnic *b);
/* Sends a datagram and waits for the completion of the send request. */
void qernic_datagram(QErnicQp *from, const QErnicQp *to);

#endif /* QTEST_ERNIC_H */
