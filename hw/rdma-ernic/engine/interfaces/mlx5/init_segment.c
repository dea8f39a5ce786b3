/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The initialization segment (mlx5_init_seg of Linux), and the work of the interface.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/mlx5/events.h"
#include "interfaces/common/db_pages.h"
#include "interfaces/mlx5/rdma/records.h"
#include "trace.h"

/* The revision of the command interface that Linux's driver asks for. */
#define COMMAND_REVISION    5
/* Revision 1.0.0 of this implementation. */
#define REVISION_MAJOR      1

/* The health counter moves once in this time; the driver looks every two seconds. */
#define HEALTH_NS           (10 * 1000 * 1000)

/*
 * nic_interface after a reset, until software writes the address of its commands: so that
 * a driver that did not ask for the reset finds out, and starts the function again.
 */
#define NIC_DISABLED        1

ErnicMlx5 *ernic_mlx5_new(Ernic *e)
{
    ErnicMlx5 *m;

    if (!e->cfg.mlx5) {
        return NULL;
    }
    m = g_new0(ErnicMlx5, 1);
    m->nic_interface = NIC_DISABLED;
    ernic_mlx5_function_init(&m->function, e, e->cfg.mlx5);
    ernic_mlx5_command_queue_init(&m->queue, e->ops, e->env, &e->mem,
                                  ernic_mlx5_function_execute, &m->function);
    ernic_mlx5_queues_init(&m->queues, &e->cfg);
    ernic_mlx5_contexts_init(&m->contexts, &e->cfg);
    return m;
}

void ernic_mlx5_free(ErnicMlx5 *m)
{
    if (m) {
        ernic_mlx5_function_reset(&m->function);
        ernic_mlx5_command_queue_reset(&m->queue);
        ernic_mlx5_queues_fini(&m->queues, &m->function.engine->cfg);
        ernic_mlx5_contexts_fini(&m->contexts, &m->function.engine->cfg);
        g_free(m);
    }
}

/* ---- reading the segment ----------------------------------------------------------- */

static uint64_t queue_high(const Ernic *e)
{
    return e->mlx5->queue.base >> 32;
}

static uint64_t queue_low(const Ernic *e)
{
    return (uint32_t)e->mlx5->queue.base >> 12;
}

/* The old value until no object is left that accesses memory. */
static uint64_t nic_interface(const Ernic *e)
{
    return e->mlx5->function.teardown ? 0 : e->mlx5->nic_interface;
}

static uint64_t timer_high(const Ernic *e)
{
    return e->now >> 32;
}

static uint64_t timer_low(const Ernic *e)
{
    return (uint32_t)e->now;
}

static uint64_t health_counter(const Ernic *e)
{
    return e->now / HEALTH_NS;
}

/*
 * The syndrome of the health buffer, which the driver logs when it changes. The only
 * error that the function does not recover from is an event queue that it cannot write.
 */
static uint64_t health_syndrome(const Ernic *e)
{
    enum { EQ_ERROR = 0x0d };       /* MLX5_INITIAL_SEG_HEALTH_SYNDROME_EQ_ERR */
    uint32_t i;

    for (i = 1; i < e->cfg.max_eq; i++) {
        if (e->eq[i].used && e->eq[i].broken) {
            return EQ_ERROR;
        }
    }
    return 0;
}

/* Fields that are not 0: a constant, or what a function returns. */
static const struct {
    const ErnicMlx5Field *part;         /* with the field in it; NULL: the segment */
    const ErnicMlx5Field *field;
    uint32_t constant;
    uint64_t (*read)(const Ernic *e);
} segment[] = {
#define FIELD(name) .field = &ernic_mlx5_initial_seg.name
#define HEALTH(name) \
    .part = &ernic_mlx5_initial_seg.health_buffer, .field = &ernic_mlx5_health_buffer.name
    { FIELD(fw_rev_major), .constant = REVISION_MAJOR },
    { FIELD(cmd_interface_rev), .constant = COMMAND_REVISION },
    { FIELD(cmdq_phy_addr_63_32), .read = queue_high },
    { FIELD(cmdq_phy_addr_31_12), .read = queue_low },
    { FIELD(nic_interface), .read = nic_interface },
    { FIELD(log_cmdq_size), .constant = ERNIC_MLX5_QUEUE_LOG_SIZE },
    { FIELD(log_cmdq_stride), .constant = ERNIC_MLX5_QUEUE_LOG_STRIDE },
    { HEALTH(fw_version), .constant = REVISION_MAJOR },
    { HEALTH(synd), .read = health_syndrome },
    /* The time in ns: device_frequency_khz of the capabilities. */
    { FIELD(internal_timer_h), .read = timer_high },
    { FIELD(internal_timer_l), .read = timer_low },
    { FIELD(health_counter), .read = health_counter },
#undef HEALTH
#undef FIELD
};

/* The word of 32 bits at @offset. */
static uint32_t read_word(const Ernic *e, uint32_t offset)
{
    uint32_t word = 0, i;

    for (i = 0; i < ARRAY_SIZE(segment); i++) {
        const ErnicMlx5Field *f = segment[i].field;
        uint32_t bit = (segment[i].part ? segment[i].part->offset : 0) + f->offset;

        if (bit / 32 == offset / 4) {
            uint64_t v = segment[i].read ? segment[i].read(e) : segment[i].constant;

            word |= (v & ((1ull << f->width) - 1)) << (32 - bit % 32 - f->width);
        }
    }
    return word;
}

/* Doorbell pages cannot be read. */
uint64_t ernic_mlx5_read(Ernic *e, uint32_t offset, uint32_t size)
{
    uint64_t value = read_word(e, offset);

    return size == 8 ? value << 32 | read_word(e, offset + 4) : value;
}

/* ---- writing the segment ----------------------------------------------------------- */

static void set_queue_high(Ernic *e, uint32_t value)
{
    uint64_t *base = &e->mlx5->queue.base;

    *base = (uint64_t)value << 32 | (uint32_t)*base;
}

/*
 * Software that gives the interface up expects no more accesses to its memory. So does
 * the kernel that starts after another one has crashed: it says where its own commands
 * are, and the function is as after a reset.
 */
static void set_queue_low(Ernic *e, uint32_t value)
{
    const ErnicMlx5Field *interface = &ernic_mlx5_initial_seg.nic_interface;
    ErnicMlx5 *m = e->mlx5;

    m->queue.base = (m->queue.base >> 32 << 32) | (value & ~(ERNIC_MLX5_PAGE - 1));
    m->nic_interface = value >> (32 - interface->offset % 32 - interface->width) &
                       ((1u << interface->width) - 1);
    if (m->nic_interface || m->function.state != ERNIC_MLX5_DISABLED) {
        uint64_t base = m->queue.base;

        trace_ernic_mlx5_interface(m->nic_interface);
        ernic_mlx5_command_queue_reset(&m->queue);
        m->queue.base = base;
        ernic_mlx5_function_reset(&m->function);
        m->function.teardown = true;
    }
}

static void ring_command_doorbell(Ernic *e, uint32_t value)
{
    if (e->mlx5->nic_interface) {
        trace_ernic_mlx5_bad_write(ernic_mlx5_initial_seg.command_doorbell_vector.offset
                                   / 8, value);
        return;
    }
    ernic_mlx5_command_queue_ring(&e->mlx5->queue, value);
}

static const struct {
    const ErnicMlx5Field *field;
    void (*write)(Ernic *e, uint32_t value);
} effects[] = {
    { &ernic_mlx5_initial_seg.cmdq_phy_addr_63_32, set_queue_high },
    { &ernic_mlx5_initial_seg.cmdq_phy_addr_31_12, set_queue_low },
    { &ernic_mlx5_initial_seg.command_doorbell_vector, ring_command_doorbell },
};

static void write_word(Ernic *e, uint32_t offset, uint32_t value)
{
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(effects); i++) {
        if (effects[i].field->offset / 32 == offset / 4) {
            effects[i].write(e, value);
            return;
        }
    }
    trace_ernic_mlx5_bad_write(offset, value);
}

void ernic_mlx5_write(Ernic *e, uint32_t offset, uint32_t size, uint64_t value)
{
    uint32_t page = offset / ERNIC_MLX5_PAGE;

    if (page >= ERNIC_MLX5_UAR_FIRST) {
        ernic_mlx5_uar_write(e, page, offset % ERNIC_MLX5_PAGE, size, value);
    } else if (size == 8) {
        write_word(e, offset, value >> 32);
        write_word(e, offset + 4, value);
    } else {
        write_word(e, offset, value);
    }
}

/* ---- work -------------------------------------------------------------------------- */

void ernic_mlx5_run(Ernic *e)
{
    ErnicMlx5 *m = e->mlx5;

    /* The memory of a large list is freed before there may be another. */
    while (ernic_work_left(e) && ernic_mlx5_has_work(e) && !m->function.teardown &&
           !e->mem.freed) {
        uint32_t done;

        ernic_charge(e, ERNIC_WORK_COMMAND);
        if (m->queue.stage == ERNIC_MLX5_QUEUE_IDLE) {
            m->by_event = m->command_eq;
        }
        ernic_mlx5_command_queue_step(&m->queue);
        done = ernic_mlx5_command_queue_completed(&m->queue);
        if (m->by_event) {
            m->completed |= done;
        }
        ernic_mlx5_report_commands(e);
    }
}

bool ernic_mlx5_has_work(const Ernic *e)
{
    return ernic_mlx5_command_queue_has_work(&e->mlx5->queue) ||
           e->mlx5->function.teardown;
}

/* ---- the end of all objects -------------------------------------------------------- */

bool ernic_mlx5_teardown_due(const Ernic *e)
{
    return e->mlx5->function.teardown;
}

void *ernic_mlx5_take_key_contexts(Ernic *e)
{
    return e->mlx5 ? g_steal_pointer(&e->mlx5->contexts.mkey) : NULL;
}

void ernic_mlx5_forget_objects(Ernic *e)
{
    ernic_mlx5_queues_fini(&e->mlx5->queues, &e->cfg);
    ernic_mlx5_queues_init(&e->mlx5->queues, &e->cfg);
    ernic_mlx5_contexts_fini(&e->mlx5->contexts, &e->cfg);
    ernic_mlx5_contexts_init(&e->mlx5->contexts, &e->cfg);
    ernic_db_pages_empty(e);
    e->mlx5->function.teardown = false;
    e->mlx5->command_eq = 0;
    e->mlx5->completed = 0;
    e->mlx5->by_event = false;
}
