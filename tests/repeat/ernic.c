/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The implementation of ernic.h, after docs/ernic-interface.md.
 */
#include "ernic.h"
#include "hw/rdma-ernic/ernic_abi.h"

#define QPN         2
#define RKEY        8               /* entry 0 of the table, key byte 8 */
#define UDP_PORT    22222u

void *memcpy(void *to, const void *from, size_t len);
void *memset(void *to, int byte, size_t len);

static Memory memory[FUNCTIONS] __attribute__((aligned(4096)));

static volatile uint32_t *word(const Interface *f, uint32_t at)
{
    return (volatile uint32_t *)(f->regs + at);
}

uint32_t global_get(const Interface *f, uint32_t reg)
{
    return *word(f, PG332_V3_GLOBAL + reg);
}

/* Memory accesses before this write are complete. */
void global_put(const Interface *f, uint32_t reg, uint32_t value)
{
    barrier();
    *word(f, PG332_V3_GLOBAL + reg) = value;
}

uint32_t qp_get(const Interface *f, uint32_t reg)
{
    uint32_t value = *word(f, PG332_V3_QP + (QPN - 1) * PG332_SLOT + reg);

    barrier();
    return value;
}

static void qp_put(const Interface *f, uint32_t reg, uint32_t value)
{
    barrier();
    *word(f, PG332_V3_QP + (QPN - 1) * PG332_SLOT + reg) = value;
}

uint32_t side_get(const Interface *f, uint32_t at)
{
    return *word(f, PG332_V3_SIZE + at);
}

static void open_region(const Interface *f)
{
    *word(f, PG332_PDPDNUM) = 0;
    *word(f, PG332_VIRTADDRLSB) = (uintptr_t)f->memory->in;
    *word(f, PG332_VIRTADDRMSB) = 0;
    *word(f, PG332_BUFBASEADDRLSB) = (uintptr_t)f->memory->in;
    *word(f, PG332_BUFBASEADDRMSB) = 0;
    *word(f, PG332_BUFRKEY) = RKEY;
    *word(f, PG332_WRRDBUFLEN) = BUF;
    *word(f, PG332_ACCESSDESC) = PG332_ACCESS_READ_WRITE;
}

/* The high halves of addresses are 0, as after a reset. */
static void open_globals(const Interface *f)
{
    global_put(f, PG332_DATBUFBA, (uintptr_t)f->memory->retry);
    global_put(f, PG332_DATBUFSZ, sizeof(f->memory->retry[0]) << 16 | 32);
    global_put(f, PG332_IPKTERRQBA, (uintptr_t)f->memory->fatal);
    global_put(f, PG332_IPKTERRQSZ, 64);
    global_put(f, PG332_ERRBUFBA, (uintptr_t)f->memory->errors);
    global_put(f, PG332_ERRBUFSZ, sizeof(f->memory->errors[0]) << 16 | 16);
    global_put(f, PG332_MACXADDLSB, f->host);
    global_put(f, PG332_MACXADDMSB, 0x5254);
    global_put(f, PG332_IPv4XADD, 10 << 24 | f->host);
    global_put(f, PG332_XRNICCONF, UDP_PORT << 16 | 8 << 8 | PG332_CONF_ENABLE);
}

void interface_open(Interface *f, uint8_t devfn, uint8_t host)
{
    struct ernic_regs *verbs;

    *f = (Interface) { .devfn = devfn, .host = host, .memory = &memory[host - 1] };
    f->regs = pci_bar(devfn, ERNIC_BAR_PG332);
    if (!f->regs) {
        power_off("no registers of PG332 in BAR 0");
    }
    pci_open(devfn, pci_msix_size(devfn) - 1);
    verbs = (void *)pci_bar(devfn, ERNIC_BAR_REGS);
    f->time = (void *)&verbs->time;
    open_globals(f);
    open_region(f);
}

int interfaces_open(Interface *f)
{
    int n = 0;

    for (uint32_t devfn = 0; devfn < 256 && n < FUNCTIONS; devfn += 8) {
        if (pci_read(devfn, 0) == (ERNIC_PCI_VENDOR | ERNIC_PCI_DEVICE << 16)) {
            interface_open(&f[n], devfn, n + 1);
            n++;
        }
    }
    return n;
}

/* Seven retries; RNR NAKs ask for a delay of 10 us. */
void interface_connect(const Interface *f, uint8_t peer, uint32_t psn, uint8_t timeout)
{
    qp_put(f, PG332_IPDESADDR1, 10 << 24 | peer);
    qp_put(f, PG332_MACDESADDLSB, peer);
    qp_put(f, PG332_MACDESADDMSB, 0x5254);
    qp_put(f, PG332_SQBA, (uintptr_t)f->memory->sq);
    qp_put(f, PG332_CQBA, (uintptr_t)f->memory->cq);
    qp_put(f, PG332_RQBA, (uintptr_t)f->memory->rq);
    qp_put(f, PG332_CQDBADD, (uintptr_t)&f->memory->cq_head);
    qp_put(f, PG332_RQWPTRDBADD, (uintptr_t)&f->memory->rq_pi);
    qp_put(f, PG332_DESTQPCONF, QPN);
    qp_put(f, PG332_QDEPTH, DEPTH << 16 | DEPTH);
    qp_put(f, PG332_TIMEOUTCONF, 1 << 16 | 7 << 11 | 7 << 8 | timeout);
    qp_put(f, PG332_QPADVCONF, 0xffff4000);
    qp_put(f, PG332_PD, 0);
    qp_put(f, PG332_LSTRQREQ, psn - 1);
    qp_put(f, PG332_SQPSN, psn);
    qp_put(f, PG332_QPCONF, BUF / 256 << PG332_QPCONF_RQ_BUF_SHIFT |
           2 << PG332_QPCONF_PMTU_SHIFT | PG332_QPCONF_CQE | PG332_QPCONF_NO_HS |
           PG332_QPCONF_CQ_INT | PG332_QPCONF_RQ_INT | PG332_QPCONF_ENABLE);
}

void interfaces_connect(Interface *f)
{
    interface_connect(&f[0], f[1].host, 0x1000, 6);
    interface_connect(&f[1], f[0].host, 0x1000, 6);
}

/* The value of an index after @count entries. */
static uint32_t pointer(uint32_t count)
{
    return count ? (count - 1) % DEPTH + 1 : 0;
}

/* Steps 2 to 9 of the recovery in docs/ernic-interface.md, without the override's end. */
static void zero_indices(Interface *f)
{
    static const uint16_t regs[] = {
        PG332_STATRQPIDB, PG332_STATRQBUFCA, PG332_STATRQBUFCAMSB, PG332_RQCI,
        PG332_STATCURSQPTR, PG332_SQPI, PG332_SQPSN, PG332_LSTRQREQ,
        PG332_STATMSN, PG332_CQHEAD,
    };

    for (uint32_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
        qp_put(f, regs[i], 0);
    }
    while (qp_get(f, PG332_CQHEAD)) {
    }
    f->posted = f->completed = f->received = 0;
    f->memory->cq_head = f->memory->rq_pi = 0;
}

void interface_stop(const Interface *f)
{
    qp_put(f, PG332_QPCONF, qp_get(f, PG332_QPCONF) | PG332_QPCONF_RECOVERY);
    while ((qp_get(f, PG332_STATQP) >> 9 & 3) != 3 ||
           qp_get(f, PG332_CQHEAD) != pointer(f->posted) ||
           !(global_get(f, PG332_RESPHNDSTS) & PG332_RESPHND_PTR_DONE)) {
    }
    f->memory->cq_head = qp_get(f, PG332_CQHEAD);
    f->memory->rq_pi = qp_get(f, PG332_STATRQPIDB);
}

void interface_take_down(Interface *f)
{
    uint32_t config = global_get(f, PG332_XRNICADCONF);

    qp_put(f, PG332_QPCONF, qp_get(f, PG332_QPCONF) & ~PG332_QPCONF_ENABLE);
    global_put(f, PG332_XRNICADCONF, config | QPN << 24 | PG332_ADCONF_OVERRIDE);
    zero_indices(f);
    global_put(f, PG332_XRNICADCONF, config);
    qp_put(f, PG332_QPCONF, 0);
}

void post_request(Interface *f, enum pg332_opcode opcode, uint32_t at, uint32_t len,
                  uint32_t peer_at)
{
    uint8_t *wqe = f->memory->sq[f->posted % DEPTH];
    Memory *peer = &memory[f->host == 1];
    uint64_t local = (uintptr_t)f->memory->out + at;
    uint64_t remote = (uintptr_t)peer->in + peer_at;
    uint32_t key = RKEY;

    memset(wqe, 0, 64);
    memcpy(wqe, &f->posted, 2);
    memcpy(wqe + 4, &local, 8);
    memcpy(wqe + 12, &len, 4);
    wqe[16] = opcode;
    memcpy(wqe + 20, &remote, 8);
    memcpy(wqe + 28, &key, 4);
    if (opcode == PG332_OP_SEND && len <= INLINE) {
        memcpy(wqe + 32, f->memory->out + at, len);
    }
    f->posted++;
}

void ring_doorbell(const Interface *f)
{
    qp_put(f, PG332_SQPI, pointer(f->posted));
}

/* The distance, less than DEPTH, that an index has moved since @count. */
static uint32_t moved(const Interface *f, uint32_t reg, const volatile uint32_t *word,
                      uint32_t count)
{
    uint32_t index = word ? *word : qp_get(f, reg);

    barrier();
    return (index - count) % DEPTH;
}

uint32_t completions(const Interface *f, bool word)
{
    return moved(f, PG332_CQHEAD, word ? &f->memory->cq_head : NULL, f->completed);
}

uint32_t messages(const Interface *f, bool word)
{
    return moved(f, PG332_STATRQPIDB, word ? &f->memory->rq_pi : NULL, f->received);
}

void give_back(Interface *f, uint32_t keep)
{
    if (++f->received > keep) {
        qp_put(f, PG332_RQCI, pointer(f->received - keep));
    }
}

uint32_t clear_causes(const Interface *f)
{
    uint32_t causes = global_get(f, PG332_INTSTS);

    global_put(f, PG332_INTSTS, causes);
    global_put(f, PG332_V3_CQINTSTS, global_get(f, PG332_V3_CQINTSTS));
    global_put(f, PG332_V3_RQINTSTS, global_get(f, PG332_V3_RQINTSTS));
    return causes;
}
