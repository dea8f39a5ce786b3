/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What one piece of hardware takes, as numbers: the stages of the pipeline and
 * the parameters of the timing model, and the text files that they come from.
 */
#ifndef ERNIC_PROFILE_H
#define ERNIC_PROFILE_H

#include "hw/rdma-ernic/ernic_counters.h"
#include "timing/pcie.h"

typedef enum ErnicStage {
#define X(symbol, name) ERNIC_STAGE_##symbol,
    ERNIC_TIMING_STAGES(X)
#undef X
    ERNIC_STAGE_COUNT
} ErnicStage;

/* What one stage takes; cycles are those of its clock. */
typedef struct ErnicCost {
    uint64_t latency;           /* ps, however busy it is */
    uint64_t packet;            /* cycles for each thing that passes */
    uint64_t close;             /* cycles more for what ends a message */
    uint64_t width;             /* bytes per cycle; 0: bytes cost nothing */
} ErnicCost;

/* All members are uint64_t: a profile is compared as an array of them. */
struct ErnicProfile {
    uint64_t core_ps, host_ps;  /* periods of the two clocks */
    uint64_t wire_mbps;
    uint64_t wire_extra;        /* bytes: preamble, FCS, gap */
    uint64_t wire_min;          /* bytes of the shortest frame, without FCS */
    uint64_t wire_flight;       /* ps */
    uint64_t wqe_batch;         /* requests that one fetch brings */
    uint64_t wqe_miss;          /* ps that a fetch takes */
    uint64_t wqe_fetches;       /* that are under way at once */
    uint64_t context_entries, context_miss;     /* cache; ps of a miss */
    uint64_t key_entries, key_miss;
    uint64_t key_update;        /* ps: a key is made, bound or taken away */
    uint64_t read_overlap;      /* responses to READs that overlap */
    uint64_t dma_requests;      /* reads of memory that are under way at once */
    uint64_t dma_request;       /* bytes of each */
    uint64_t tx_packets;        /* built, and waiting to leave */
    uint64_t rx_packets;        /* come, and waiting to be served */
    uint64_t outstanding;       /* requests of a queue pair under way */
    uint64_t retry_packets;     /* of WRITEs, kept until acknowledged; 0: none */
    uint64_t ack_coalesce;      /* requests that one ACK waits for */
    uint64_t ack_delay;         /* ps: but no longer than this */
    ErnicPcie pcie;
    ErnicCost stage[ERNIC_STAGE_COUNT];
};
typedef struct ErnicProfile ErnicProfile;

const char *ernic_stage_name(ErnicStage stage);

/* The text of the profile @name, which another is based on; NULL: none. */
typedef const char *ErnicProfileFind(void *opaque, const char *name);

/*
 * Read @text, which messages call @name. False: *err, to be freed by the
 * caller, says where and why. @find may be NULL: then nothing can be a base.
 */
bool ernic_profile_parse(ErnicProfile *p, const char *name, const char *text,
                         ErnicProfileFind *find, void *opaque, char **err);
/* The profiles of the folder, for who has them in the binary; ends in NULL. */
typedef struct ErnicProfileText {
    const char *name, *text;
} ErnicProfileText;
extern const ErnicProfileText ernic_profiles[];

/* Tells profiles apart that differ in any value. */
uint64_t ernic_profile_hash(const ErnicProfile *p);

#endif /* ERNIC_PROFILE_H */
