/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Walks the transition and the capability table; with --print writes them as
 * docs/qp-states.md, which must match the tables.
 */
#include "qemu/osdep.h"
#include "doc_page.h"
#include "test.h"
#include "transport/qp_transitions.h"

#define ALL_ATTRS ((1u << ERNIC_QPA_COUNT) - 1)

static const char *const type_names[ERNIC_QPT_COUNT] = {
    [ERNIC_QPT_RC] = "RC", [ERNIC_QPT_UC] = "UC", [ERNIC_QPT_UD] = "UD",
    [ERNIC_QPT_GSI] = "GSI", [ERNIC_QPT_XRC_INI] = "XRC-INI",
    [ERNIC_QPT_XRC_TGT] = "XRC-TGT", [ERNIC_QPT_RAW] = "RAW",
    [ERNIC_QPT_RWQ] = "RWQ",
};

/* The index is the bit number of ERNIC_QPA_*. */
static const char *const attr_names[ERNIC_QPA_COUNT] = {
    "state", "current state", "SQ drained notification", "access flags", "P_Key index",
    "port", "Q_Key", "address vector", "path MTU", "ACK timeout", "retry count",
    "RNR retry", "RQ PSN", "max rd/atomic", "min RNR timer", "SQ PSN",
    "max dest rd/atomic", "destination QPN", "rate limit",
};

static const struct {
    uint32_t bit;
    const char *name;
} may_names[] = {
    { ERNIC_MAY_POST_RECV, "post receive" },
    { ERNIC_MAY_PROC_RECV, "serve inbound" },
    { ERNIC_MAY_POST_SEND, "post send" },
    { ERNIC_MAY_PROC_SEND, "continue sends" },
    { ERNIC_MAY_NEXT_SEND, "start sends" },
    { ERNIC_MAY_FLUSH_RECV, "flush receives" },
    { ERNIC_MAY_FLUSH_SEND, "flush sends" },
};

static void print_mask(GString *doc, uint32_t mask)
{
    const char *sep = "";

    for (int i = 0; i < ERNIC_QPA_COUNT; i++) {
        if (mask & (1u << i)) {
            g_string_append_printf(doc, "%s%s", sep, attr_names[i]);
            sep = ", ";
        }
    }
    if (!mask) {
        g_string_append(doc, "-");
    }
}

static void print_edges(GString *doc, uint8_t type)
{
    uint32_t required, optional;

    g_string_append_printf(doc, "\n### %s\n\n| Transition | Required | Optional |\n"
                           "| --- | --- | --- |\n", type_names[type]);
    for (int from = 0; from < ERNIC_QPS_COUNT; from++) {
        for (int to = 0; to < ERNIC_QPS_COUNT; to++) {
            if (!ernic_qp_edge(type, from, to, &required, &optional)) {
                continue;
            }
            g_string_append_printf(doc, "| %s -> %s | ", ernic_qp_state_name(from),
                                   ernic_qp_state_name(to));
            print_mask(doc, required);
            g_string_append(doc, " | ");
            print_mask(doc, optional);
            g_string_append(doc, " |\n");
        }
    }
}

static GString *print_doc(void)
{
    GString *doc = g_string_new(
        "# Queue pair states\n"
        "\n"
        "`test-qp-transitions --print` prints this page from the tables in\n"
        "`hw/rdma-ernic/engine/transport/qp_transitions.c`; a unit test compares the\n"
        "two.\n"
        "\n"
        "## Actions of each state\n"
        "\n"
        "| Action | Meaning |\n"
        "| --- | --- |\n"
        "| post receive, post send | software may post such requests |\n"
        "| serve inbound | the queue pair executes the requests that it receives |\n"
        "| start sends | posted send requests start |\n"
        "| continue sends | requests that have started continue, with retries and"
        " responses |\n"
        "| flush receives, flush sends | posted requests complete with Work Request"
        " Flushed Error |\n"
        "\n"
        "| State |");

    for (int i = 0; i < ARRAY_SIZE(may_names); i++) {
        g_string_append_printf(doc, " %s |", may_names[i].name);
    }
    g_string_append(doc, "\n| --- |");
    for (int i = 0; i < ARRAY_SIZE(may_names); i++) {
        g_string_append(doc, " --- |");
    }
    g_string_append_c(doc, '\n');
    for (int state = 0; state < ERNIC_QPS_COUNT; state++) {
        g_string_append_printf(doc, "| %s |", ernic_qp_state_name(state));
        for (int i = 0; i < ARRAY_SIZE(may_names); i++) {
            bool may = ernic_qp_state_may(state) & may_names[i].bit;

            g_string_append(doc, may ? " yes |" : " - |");
        }
        g_string_append_c(doc, '\n');
    }
    g_string_append(doc,
        "\n"
        "## Transitions that software may request, and their attributes\n"
        "\n"
        "QP_MODIFY refuses a transition without a row, and one without its required\n"
        "attributes or with others than its optional ones. Only the device moves a\n"
        "queue pair to SQE, and never one of type RC or XRC. The device also moves a\n"
        "queue pair to ERR or SQE when a request fails.\n");
    for (int i = 0; i < ERNIC_QPT_COUNT; i++) {
        print_edges(doc, i);
    }
    return doc;
}

TEST("/qp-table/document", test_doc)
{
    check_page("qp-states.md", print_doc);
}

/* Every edge, with every attribute removed or added singly. */
TEST("/qp-table/masks", test_masks)
{
    uint32_t required, optional, edges = 0;

    for (int type = 0; type < ERNIC_QPT_COUNT; type++) {
        for (int from = 0; from < ERNIC_QPS_COUNT; from++) {
            for (int to = 0; to < ERNIC_QPS_COUNT; to++) {
                if (!ernic_qp_edge(type, from, to, &required, &optional)) {
                    continue;
                }
                edges++;
                IS(required & optional, 0);
                IS((required | optional) & ~ALL_ATTRS, 0);
                IS((required | optional) & ERNIC_QPA_STATE, 0);
                OK(ernic_qp_edge_check(type, from, to, required));
                OK(ernic_qp_edge_check(type, from, to,
                                       required | optional | ERNIC_QPA_STATE));
                for (uint32_t bit = 1; bit; bit <<= 1) {
                    uint8_t want = required & bit ? ERNIC_ERR_ATTR_MASK : ERNIC_OK;

                    IS(ernic_qp_edge_check(type, from, to, required & ~bit), want);
                    want = (required | optional | ERNIC_QPA_STATE) & bit ?
                           ERNIC_OK : ERNIC_ERR_ATTR_MASK;
                    IS(ernic_qp_edge_check(type, from, to, required | bit), want);
                }
            }
        }
    }
    /* 19 pairs of states for RC, XRC and RWQ, three out of SQE for the others. */
    IS(edges, 4 * 19 + 4 * 22);
}

/* The states that may follow each state, as the state diagram shows them. */
TEST("/qp-table/diagram", test_diagram)
{
    static const char *const next[ERNIC_QPS_COUNT] = {
        [ERNIC_QPS_RESET] = "RESET INIT",
        [ERNIC_QPS_INIT] = "RESET INIT RTR ERR",
        [ERNIC_QPS_RTR] = "RESET RTS ERR",
        [ERNIC_QPS_RTS] = "RESET RTS SQD ERR",
        [ERNIC_QPS_SQD] = "RESET RTS SQD ERR",
        [ERNIC_QPS_SQE] = "RESET RTS ERR",
        [ERNIC_QPS_ERR] = "RESET ERR",
    };

    for (int type = 0; type < ERNIC_QPT_COUNT; type++) {
        for (int from = 0; from < ERNIC_QPS_COUNT; from++) {
            g_auto(GStrv) want = g_strsplit(next[from], " ", 0);

            for (int to = 0; to < ERNIC_QPS_COUNT; to++) {
                const char *name = ernic_qp_state_name(to);
                bool edge = g_strv_contains((const char *const *)want, name);
                uint32_t r, o;

                if (from == ERNIC_QPS_SQE &&
                    (type == ERNIC_QPT_RC || type == ERNIC_QPT_XRC_INI ||
                     type == ERNIC_QPT_XRC_TGT || type == ERNIC_QPT_RWQ)) {
                    edge = false;
                }
                IS(ernic_qp_edge(type, from, to, &r, &o), edge);
                for (int i = 0; !edge && i <= ERNIC_QPA_COUNT; i++) {
                    uint32_t mask = i ? 1u << (i - 1) : ALL_ATTRS;

                    IS(ernic_qp_edge_check(type, from, to, mask), ERNIC_ERR_STATE);
                }
            }
        }
    }
}

/* Numbers outside the enums are no edge; they come from the guest. */
TEST("/qp-table/bounds", test_bounds)
{
    uint32_t r, o;

    for (int v = 0; v < 256; v++) {
        if (v >= ERNIC_QPS_COUNT) {
            g_assert_false(ernic_qp_edge(ERNIC_QPT_RC, ERNIC_QPS_INIT, v, &r, &o));
            g_assert_false(ernic_qp_edge(ERNIC_QPT_RC, v, ERNIC_QPS_ERR, &r, &o));
            g_assert_cmpstr(ernic_qp_state_name(v), ==, "invalid");
        }
        if (v >= ERNIC_QPT_COUNT) {
            g_assert_false(ernic_qp_edge(v, ERNIC_QPS_RESET, ERNIC_QPS_INIT, &r, &o));
        }
    }
}

/*
 * Required and optional attributes from the specification's tables of Modify QP
 * parameters; a service that is not named may not use the attribute there.
 */
static const struct {
    uint8_t from, to;
    uint32_t attrs;
    const char *required, *optional;        /* services */
} parameters[] = {
#define E(a, b) ERNIC_QPS_##a, ERNIC_QPS_##b
#define CONNECTED "RC UC XRC-INI XRC-TGT"
#define RETRIES (ERNIC_QPA_RETRY_CNT | ERNIC_QPA_RNR_RETRY | ERNIC_QPA_MAX_RD_ATOMIC)
    /* Reset to Init */
    { E(RESET, INIT), ERNIC_QPA_ACCESS, CONNECTED, "" },
    { E(RESET, INIT), ERNIC_QPA_PKEY_INDEX, CONNECTED " UD GSI", "" },
    { E(RESET, INIT), ERNIC_QPA_QKEY, "UD GSI", "" },
    { E(RESET, INIT), ERNIC_QPA_PORT, CONNECTED " UD RAW RWQ", "" },
    /* Init to RTR */
    { E(INIT, RTR), ERNIC_QPA_AV | ERNIC_QPA_PATH_MTU | ERNIC_QPA_DEST_QPN |
      ERNIC_QPA_RQ_PSN, CONNECTED, "" },
    { E(INIT, RTR), ERNIC_QPA_MAX_DEST_RD_ATOMIC | ERNIC_QPA_MIN_RNR_TIMER,
      "RC XRC-TGT", "" },
    { E(INIT, RTR), ERNIC_QPA_ACCESS, "", CONNECTED },
    { E(INIT, RTR), ERNIC_QPA_QKEY, "", "UD GSI" },
    /* RTR to RTS */
    { E(RTR, RTS), ERNIC_QPA_TIMEOUT, "RC XRC-INI XRC-TGT", "" },
    { E(RTR, RTS), ERNIC_QPA_SQ_PSN, CONNECTED " UD GSI", "" },
    { E(RTR, RTS), RETRIES, "RC XRC-INI", "" },
    { E(RTR, RTS), ERNIC_QPA_ACCESS, "", CONNECTED },
    { E(RTR, RTS), ERNIC_QPA_QKEY, "", "UD GSI" },
    { E(RTR, RTS), ERNIC_QPA_MIN_RNR_TIMER, "", "RC XRC-TGT" },
    /* in RTS, and on the ways there */
    { E(RTR, RTS), ERNIC_QPA_RATE_LIMIT, "", "RAW" },
    { E(RTS, RTS), ERNIC_QPA_RATE_LIMIT, "", "RAW" },
    { E(SQD, RTS), ERNIC_QPA_RATE_LIMIT, "", "RAW" },
    { E(SQD, SQD), ERNIC_QPA_RATE_LIMIT, "", "" },
    { E(SQE, RTS), ERNIC_QPA_RATE_LIMIT, "", "" },
    /* SQD: attributes that may change while the send queue is drained */
    { E(RTS, SQD), ERNIC_QPA_SQD_NOTIFY, "", CONNECTED " UD GSI RAW" },
    { E(SQD, SQD), ERNIC_QPA_AV, "", CONNECTED },
    { E(SQD, SQD), ERNIC_QPA_TIMEOUT, "", "RC XRC-INI XRC-TGT" },
    { E(SQD, SQD), RETRIES, "", "RC XRC-INI" },
    { E(SQD, SQD), ERNIC_QPA_MAX_DEST_RD_ATOMIC, "", "RC XRC-TGT" },
    { E(SQD, SQD), ERNIC_QPA_PKEY_INDEX, "", CONNECTED " UD GSI" },
    { E(SQD, SQD), ERNIC_QPA_QKEY, "", "UD GSI" },
    { E(SQD, SQD), ERNIC_QPA_SQ_PSN | ERNIC_QPA_RQ_PSN | ERNIC_QPA_PATH_MTU, "", "" },
    { E(SQE, RTS), ERNIC_QPA_CUR_STATE, "", "UC UD GSI RAW" },
#undef E
};

/* @services names @type. */
static bool named(const char *services, int type)
{
    g_auto(GStrv) names = g_strsplit(services, " ", 0);

    return g_strv_contains((const char *const *)names, type_names[type]);
}

TEST("/qp-table/parameters", test_parameters)
{
    for (int i = 0; i < ARRAY_SIZE(parameters); i++) {
        uint32_t attrs = parameters[i].attrs, r = 0, o = 0;

        for (int type = 0; type < ERNIC_QPT_COUNT; type++) {
            ernic_qp_edge(type, parameters[i].from, parameters[i].to, &r, &o);
            IS(r & attrs, named(parameters[i].required, type) ? attrs : 0);
            IS(o & attrs, named(parameters[i].optional, type) ? attrs : 0);
            r = o = 0;
        }
    }
}

/* docs/qp-states.md has the capabilities of each state: all that are asked for count. */
TEST("/qp-table/capabilities", test_capabilities)
{
    ErnicQp qp = { };

    for (; qp.state < ERNIC_QPS_COUNT; qp.state++) {
        uint32_t may = ernic_qp_state_may(qp.state), known = 0;

        for (int i = 0; i < ARRAY_SIZE(may_names); i++) {
            IS(ernic_qp_may(&qp, may_names[i].bit), !!(may & may_names[i].bit));
            known |= may_names[i].bit;
        }
        IS(may & ~known, 0);
    }
    qp.state = ERNIC_QPS_SQD;
    g_assert_false(ernic_qp_may(&qp, ERNIC_MAY_PROC_SEND | ERNIC_MAY_NEXT_SEND));
}

int main(int argc, char **argv)
{
    if (page_printed(argc, argv, print_doc)) {
        return 0;
    }
    return unit_run(argc, argv);
}
