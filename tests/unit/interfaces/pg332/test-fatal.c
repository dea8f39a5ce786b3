/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fatal codes of PG332: each row of the table by a dialogue that ends so, and the
 * error that software then reads.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/packet_checks.h"
#include "objects/qp.h"
#include "pg332_peer.h"
#include "trace-mark.h"

static void check_report(Card *c, uint8_t code)
{
    IS(get(c, PG332_IPKTERRQWPTR), 1);
    IS(card_word(c, c->errq), QPN << 16 | code);
    IS(card_word(c, c->errq + 4), 0);
    g_assert_cmphex(get(c, PG332_INTSTS) & PG332_INT_FATAL, !=, 0);
    g_assert_cmphex(get_qp(c, PG332_STATQP) & (PG332_STATQP_FATAL |
                    PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY), ==,
                    PG332_STATQP_FATAL | PG332_STATQP_SQ_EMPTY | PG332_STATQP_OSQ_EMPTY);
    IS(get_qp(c, PG332_CQHEAD), get_qp(c, PG332_SQPI));
    if (c->posted) {
        g_assert_cmphex(card_cqe(c, 0) & CQE_ERROR, !=, 0);
    }
}

TEST("/pg332-fatal/codes", test_codes)
{
    IS(pg332_num_ends, ernic_pg332_num_fatals);
    for (uint32_t i = 0; i < ernic_pg332_num_fatals; i++) {
        Card *c = &cards[0];

        g_test_message("%02x: %s", ernic_pg332_fatals[i].code,
                       ernic_pg332_fatals[i].cause);
        IS(pg332_ends[i].code, ernic_pg332_fatals[i].code);
        card_open(&cards[0], 0, PG332_V3_1);
        pg332_ends[i].provoke(c);
        check_report(c, pg332_ends[i].code);
        IS(ernic_trace_count("ernic_pg332_fatal"), i + 1);
        fake_lose_trains(&c->env);
        card_close(&cards[0]);
    }
}

/* READs of the peer on a busy link, until one is too many: their number. */
static uint32_t reads_until_fatal(Card *c, uint8_t depth)
{
    uint32_t n = 0;

    card_open(c, 0, PG332_V3_1);
    c->e->cfg.pg332_reads = depth;
    put_qp(c, PG332_QPCONF, get_qp(c, PG332_QPCONF));
    c->env.tx_busy = true;
    while (!c->e->qp[QPN].ack.fault) {
        g_assert_cmpuint(n, <, 200);
        PEER(c, READ_REQUEST, .psn = PEER_PSN + n++, .va = VA, .rkey = KEY,
             .dma_len = 64);
    }
    fake_tx_ready(c->e);
    fake_run(c->e);
    check_report(c, 0x10);
    fake_lose_trains(&c->env);
    card_close(c);
    return n;
}

/* The depth of the queue of READs is a parameter. */
TEST("/pg332-fatal/read-depth", test_read_depth)
{
    static const uint8_t depths[] = { 1, 2, 7, 15 };
    uint32_t most = reads_until_fatal(&cards[0], 0);

    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        IS(reads_until_fatal(&cards[0], depths[i]), most - 16 + depths[i]);
    }
}

/* The document contains the same codes. */
TEST("/pg332-fatal/document", test_document)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    uint32_t listed = 0, known = 0;
    char *at, *end;

    g_assert(g_file_get_contents(ERNIC_DOCS "/ernic-interface.md", &text, NULL, NULL));
    at = strstr(text, "| Code | Cause |\n| --- | --- |\n");
    g_assert_nonnull(at);
    lines = g_strsplit(at, "\n", 0);
    for (uint32_t i = 2; lines[i][0] == '|'; i++) {
        for (at = lines[i] + 1; *at != '|'; at = *end == ',' ? end + 1 : end) {
            listed |= 1u << g_ascii_strtoull(at, &end, 16);
            g_assert(end > at);
            end += *end == ' ';
        }
    }
    for (uint32_t i = 0; i < ernic_pg332_num_fatals; i++) {
        known |= 1u << ernic_pg332_fatals[i].code;
    }
    IS(listed, known);
}

int main(int argc, char **argv)
{
    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    return unit_run(argc, argv);
}
