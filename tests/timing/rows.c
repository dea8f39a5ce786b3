/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every published figure of ERNIC's throughput. UG: the user guide of the
 * 250-SoC reference design, 7.4.4. RF: a radio on an RFSoC4x2, whose README has
 * a figure that others quote, without size and depth.
 */
#include "qemu/osdep.h"
#include "rows.h"

const char *const timing_hows[] = {
    [TIMING_FITTED] = "fitted", [TIMING_PREDICTED] = "predicted",
    [TIMING_QUOTED] = "quoted",
};

#define IN(op)  TIMING_OTHER, ERNIC_WR_##op
#define OUT(op) TIMING_CARD, ERNIC_WR_##op
#define FITTED(parameter) TIMING_FITTED, parameter
#define PREDICTED TIMING_PREDICTED, NULL
#define QUOTED  TIMING_QUOTED, NULL

const TimingRow timing_rows[] = {
    { "incoming READ", "16 KiB, 16 outstanding", IN(READ), 16384, 128, 1000, false,
      FITTED("dma-read.latency"), 78.70, "UG" },
    { "incoming WRITE", "16 KiB, depth 128", IN(WRITE), 16384, 128, 5000, false,
      PREDICTED, 97.53, "UG" },
    { "incoming SEND", "16 KiB, depth 128", IN(SEND), 16384, 128, 1000, false,
      FITTED("receive.close"), 92.85, "UG" },
    { "incoming SEND, at ERNIC", "the same run", IN(SEND), 16384, 128, 1000, true,
      PREDICTED, 90.99, "UG" },
    { "outgoing READ", "16 KiB, depth 64", OUT(READ), 16384, 64, 5000, false,
      PREDICTED, 94.88, "UG" },
    { "outgoing WRITE", "4 KiB, depth 64", OUT(WRITE), 4096, 64, 20000, false,
      FITTED("build.close"), 95.38, "UG" },
    { "outgoing SEND", "4 KiB, depth 64", OUT(SEND), 4096, 64, 20000, false,
      PREDICTED, 94.71, "UG" },
    { "incoming WRITE", "here 64 KiB, depth 64", IN(WRITE), 65536, 64, 1000, false,
      QUOTED, 98.00, "RF" },
    { "outgoing READ", "here 64 KiB, depth 64", OUT(READ), 65536, 64, 1000, false,
      QUOTED, 98.00, "RF" },
};
const uint32_t timing_num_rows = ARRAY_SIZE(timing_rows);

double timing_row_model(const TimingRow *row, const ErnicProfile *card,
                        const ErnicProfile *other)
{
    TimingFlow f = {
        .from = row->from, .opcode = row->opcode, .len = row->len,
        .depth = row->depth, .total = row->total,
    };

    timing_flow(&f, card, other);
    return row->at_receiver ? timing_rx_rate(&f) : timing_rate(&f);
}

double timing_row_error(double model, double hardware)
{
    return (model / hardware - 1) * 100;
}

double timing_both_ways(const ErnicProfile *card, const ErnicProfile *other,
                        uint64_t interval, uint64_t *worst)
{
    TimingFlow f[2] = {
        { .from = TIMING_CARD, .opcode = ERNIC_WR_WRITE_IMM, .len = 65536,
          .depth = 16, .total = 2000, .interval = interval },
        { .from = TIMING_OTHER, .opcode = ERNIC_WR_WRITE_IMM, .len = 65536,
          .depth = 16, .total = 2000, .interval = interval },
    };
    TimingWorld w;

    timing_open(&w, card, other);
    timing_run(&w, f, 2);
    timing_close(&w);
    *worst = MAX(f[0].worst, f[1].worst);
    return MIN(timing_rate(&f[0]), timing_rate(&f[1]));
}
