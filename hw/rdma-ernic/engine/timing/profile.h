/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Profiles of hardware: the costs of the pipeline stages and the other parameters of
 * the timing model, and the text files that define them.
 */
#ifndef ERNIC_TIMING_PROFILE_H
#define ERNIC_TIMING_PROFILE_H

#include "hw/rdma-ernic/ernic_counters.h"
#include "timing/pcie.h"

typedef enum ErnicStage {
#define X(symbol, name) ERNIC_STAGE_##symbol,
    ERNIC_TIMING_STAGES(X)
#undef X
    ERNIC_STAGE_COUNT
} ErnicStage;

/* The cost of one stage, in cycles of its clock. */
typedef struct ErnicCost {
    uint64_t latency;           /* ps; does not keep the stage busy */
    uint64_t packet;            /* cycles for each passage */
    uint64_t close;             /* cycles more at the end of a message */
    uint64_t width;             /* bytes per cycle; 0: bytes cost nothing */
} ErnicCost;

/* All members are uint64_t: a profile is compared as an array of them. */
struct ErnicProfile {
    uint64_t core_ps, host_ps;  /* periods of the two clocks */
    uint64_t wire_mbps;
    uint64_t wire_extra;        /* bytes: preamble, FCS, gap */
    uint64_t wire_min;          /* bytes of the shortest frame, without FCS */
    uint64_t wire_flight;       /* ps */
    uint64_t wqe_batch;         /* requests in one fetch */
    uint64_t wqe_miss;          /* ps of a fetch */
    uint64_t wqe_fetches;       /* fetches in progress at once */
    uint64_t context_entries, context_miss;     /* cache; ps per miss */
    uint64_t key_entries, key_miss;
    uint64_t key_update;        /* ps to register, bind or invalidate a key */
    uint64_t read_overlap;      /* READ responses in progress at once */
    uint64_t dma_requests;      /* reads of memory in progress at once */
    uint64_t dma_request;       /* bytes of each */
    uint64_t tx_packets;        /* FIFO of packets that wait to leave */
    uint64_t rx_packets;        /* FIFO of received packets */
    uint64_t outstanding;       /* outstanding requests of a queue pair */
    uint64_t retry_packets;     /* retry buffer for WRITEs; 0: none */
    uint64_t ack_coalesce;      /* requests acknowledged by one ACK */
    uint64_t ack_delay;         /* ps: greatest delay of such an ACK */
    ErnicPcie pcie;
    ErnicCost shell;            /* a descriptor of a shell's DMA engine; no stage */
    ErnicCost stage[ERNIC_STAGE_COUNT];
};
typedef struct ErnicProfile ErnicProfile;

const char *ernic_stage_name(ErnicStage stage);

/* Find the text of the profile @name, the base of another; NULL: not found. */
typedef const char *ErnicProfileFind(void *opaque, const char *name);

/*
 * Parse @text; messages call it @name. False: *err, which the caller frees, says where
 * and why. @find may be NULL: then a base is an error.
 */
bool ernic_profile_parse(ErnicProfile *p, const char *name, const char *text,
                         ErnicProfileFind *find, void *opaque, char **err);
/* The built-in profiles, from the profiles folder; the list ends with NULL. */
typedef struct ErnicProfileText {
    const char *name, *text;
} ErnicProfileText;
extern const ErnicProfileText ernic_profiles[];

/* A hash of all values, to compare profiles. */
uint64_t ernic_profile_hash(const ErnicProfile *p);

#endif /* ERNIC_TIMING_PROFILE_H */
