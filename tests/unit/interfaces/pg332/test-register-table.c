/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Compares the register table of the ERNIC interface with the list of facts, and walks
 * every word of every version's window; with --print writes the table as
 * docs/registers.md, which must match the table.
 */
#include "qemu/osdep.h"
#include "doc_page.h"
#include "interfaces/pg332/register_file.h"
#include "test.h"

static const char *const version_names[PG332_VERSIONS] = { "3.1", "4.0", "4.2" };
static const char *const scope_names[ERNIC_REG_SCOPES] = {
    "pd", "global", "qp"
};

static bool in_version(const ErnicRegDef *def, unsigned version)
{
    return def->versions & (1u << version);
}

static void print_mask(GString *doc, uint32_t mask)
{
    if (mask) {
        g_string_append_printf(doc, " %08x |", mask);
    } else {
        g_string_append(doc, " - |");
    }
}

static void print_def(GString *doc, const ErnicRegDef *def)
{
    char name[ERNIC_REG_NAME_MAX], last[ERNIC_REG_NAME_MAX];

    ernic_reg_name(def, 0, name);
    g_string_append_printf(doc, "| %s", name);
    if (def->count) {
        ernic_reg_name(def, def->count - 1, last);
        g_string_append_printf(doc, " to %s", last);
    }
    g_string_append(doc, " |");
    for (unsigned v = 0; v < PG332_VERSIONS; v++) {
        if (in_version(def, v)) {
            g_string_append_printf(doc, " %06x |", def->offset +
                                   ernic_reg_blocks[v][def->scope].base);
        } else {
            g_string_append(doc, " - |");
        }
    }
    g_string_append_printf(doc, " %x |", def->reset);
    print_mask(doc, def->write);
    print_mask(doc, def->over);
    print_mask(doc, def->w1c);
    g_string_append_c(doc, '\n');
}

static GString *print_doc(void)
{
    static const char *const titles[ERNIC_REG_SCOPES] = {
        "Memory region table, entry 0", "Global registers",
        "Slot of queue pair 1",
    };
    GString *doc = g_string_new("# Registers of PG332\n"
        "\n"
        "`test-register-table --print` prints this page from the table in\n"
        "`hw/rdma-ernic/engine/interfaces/pg332/register_table.c`; a unit test compares\n"
        "the two. [ernic-interface.md](ernic-interface.md#fields) has the meaning of\n"
        "the registers, `include/hw/rdma-ernic/ernic_regs.h` the names of their bits.\n"
        "\n"
        "All numbers are hexadecimal. Entries of the memory region table, and slots\n"
        "of queue pairs, are 100 apart. Registers of a bank are consecutive words.\n"
        "All other offsets read 0, and writes to them have no effect.\n"
        "\n"
        "| Column | Content |\n"
        "| --- | --- |\n"
        "| 3.1, 4.0, 4.2 | offset in the window of that version |\n"
        "| Reset | value after a reset |\n"
        "| Writable | bits that software can write |\n"
        "| Override | further bits that it can write while XRNICADCONF[0] is set |\n"
        "| 1 clears | bits that writing 1 clears |\n"
        "\n"
        "| Version | Window | Memory regions | Queue pairs, maximum |\n"
        "| --- | --- | --- | --- |\n");

    for (unsigned v = 0; v < PG332_VERSIONS; v++) {
        g_string_append_printf(doc, "| %s | %x | %x | %x |\n", version_names[v],
                               ernic_reg_window(v),
                               ernic_reg_blocks[v][ERNIC_REG_REGION].num,
                               ernic_reg_blocks[v][ERNIC_REG_QP].num);
    }
    for (unsigned s = 0; s < ERNIC_REG_SCOPES; s++) {
        g_string_append_printf(doc, "\n## %s\n\n| Register | 3.1 | 4.0 | 4.2 | "
                               "Reset | Writable | Override | 1 clears |\n"
                               "| --- | --- | --- | --- | --- | --- | --- | --- "
                               "|\n", titles[s]);
        for (unsigned i = 0; i < ernic_num_reg_defs; i++) {
            if (ernic_reg_defs[i].scope == s) {
                print_def(doc, &ernic_reg_defs[i]);
            }
        }
    }
    return doc;
}

TEST("/regs/doc", test_doc)
{
    check_page("registers.md", print_doc);
}

/* F_OFFSET is that of the versions before 4.0, which F_VERSIONS names. */
enum { F_OFFSET, F_OFFSET_4, F_NAME, F_SCOPE, F_ACCESS, F_RESET, F_VERSIONS, F_STRIDE,
       F_FIELDS, F_COUNT };

/* Words of the list, and what they mean. */
typedef struct Known {
    const char *text;
    uint32_t value;
} Known;

static const Known *find(const Known *known, uint32_t num, const char *text)
{
    for (; num; num--, known++) {
        if (!strcmp(known->text, text)) {
            return known;
        }
    }
    return NULL;
}
#define FIND(known, text) find(known, ARRAY_SIZE(known), text)

/* The versions before 4.0 that a row of the list covers. */
static const Known known_versions[] = {
    { "", 0 },
    { "1.0", 0 },               /* not modelled: registers of 1.0 alone */
    { "1.0-3.1", ERNIC_REG_V3 }, { "2.0/3.x", ERNIC_REG_V3 }, { "3.x", ERNIC_REG_V3 },
};

typedef enum Access { RW, RO, W1C, OVERRIDE } Access;

static const Known known_access[] = {
    { "RW", RW }, { "RW (HW updates)", RW }, { "RW (access blank in PG332)", RW },
    { "RO with RW sub-fields", RW },
    { "RW?", RW },              /* named in headers only: a plain register */
    { "RO", RO }, { "W1C", W1C }, { "RO in PG332; drivers write 1 to clear", W1C },
    { "RO in docs; driver writes 1 to clear", W1C },
    { "RO (RW with override)", OVERRIDE },
    { "RO (written by SW under override)", OVERRIDE },
    { "RO (written in recovery)", OVERRIDE },
};

static Access def_access(const ErnicRegDef *def)
{
    g_assert_cmpint(!!def->write + !!def->over + !!def->w1c, <=, 1);
    return def->write ? RW : def->over ? OVERRIDE : def->w1c ? W1C : RO;
}

/*
 * Reset values that the facts leave open, or for which they only give a value seen
 * later: our choice, with its version.
 */
static struct {
    const char *name, *fact;
    unsigned version;
    uint32_t reset, used;
} choices[] = {
    { "LSTINPKT", "0 (0x2 seen)", PG332_VERSIONS, 0 },
    { "WQEPROCSTS", "? (0x1012040 seen)", PG332_VERSIONS, 0 },
    { "RESPHNDSTS", "? (0x30202 seen)", PG332_VERSIONS, PG332_RESPHND_PTR_DONE },
    { "STATSSN", "1 observed", PG332_VERSIONS, 0 },
    { "XRNIC_VERSION", "?", PG332_V4_0, 0x40000 },
    { "XRNIC_VERSION", "?", PG332_V4_2, 0x40002 },
    { "OUT_ERR_STAT_BA_LSB", "?", PG332_VERSIONS, 0 },
    { "OUT_ERR_STAT_BA_MSB", "?", PG332_VERSIONS, 0 },
};

static uint32_t fact_reset(char **f, unsigned version)
{
    static const char *const remarks[] = {
        "", " (packing unclear)", " expected", " idle",
    };
    uint32_t reset;
    char *end;
    int i;

    for (i = 0; i < ARRAY_SIZE(choices); i++) {
        if (!strcmp(choices[i].name, f[F_NAME]) && (choices[i].version == version ||
             choices[i].version == PG332_VERSIONS)) {
            g_assert_cmpstr(f[F_RESET], ==, choices[i].fact);
            choices[i].used++;
            return choices[i].reset;
        }
    }
    reset = strtoul(f[F_RESET], &end, 0);
    for (i = 0; i < ARRAY_SIZE(remarks) && strcmp(end, remarks[i]); i++) {
    }
    g_assert_cmpint(i, <, ARRAY_SIZE(remarks));
    g_assert(end != f[F_RESET]);
    return reset;
}

/* Bits that the text names as [n] or [high:low]; 0: none. */
static uint32_t fact_bits(const char *text)
{
    uint32_t bits = 0;

    while ((text = strchr(text, '['))) {
        unsigned high, low;
        int n = sscanf(text++, "[%u:%u]", &high, &low);

        g_assert_cmpint(n, >=, 1);
        low = n == 1 ? high : low;
        if (high < 32) {
            g_assert_cmpint(low, <=, high);
            bits |= (0xffffffff >> (31 - high)) & (0xffffffff << low);
        }
    }
    return bits;
}

/* Writable bits that the facts do not name, and why. */
static const Known extra[] = {
    { "XRNIC_PAUSE_CONF", 1u << 13 },   /* the drivers' bit */
    { "CON_IO_CONF", 0x7fffffff },      /* two layouts */
    /* A whole address; the text only locates one of its bytes. */
    { "MACXADDLSB", 0xffffffff }, { "MACXADDMSB", 0x0000ffff },
    { "IPv4XADD", 0xffffffff },
};

/* A row may stand for several registers, one after the other: NAME<1..N>. */
static uint32_t fact_registers(const char *name)
{
    const char *last = strstr(name, "<1..");

    return last ? atoi(last + 4) : 1;
}

static char *fact_name(const char *name, uint32_t k)
{
    const char *open = strchr(name, '<'), *close = strchr(name, '>');

    return open ? g_strdup_printf("%.*s%u%s", (int)(open - name), name, k + 1, close + 1)
                : g_strdup(name);
}

/* Check register @k of a row. */
static void check_fact(char **f, uint32_t k, unsigned version, ErnicRegFile *rf,
                       uint8_t *seen)
{
    int at = version == PG332_V3_1 ? F_OFFSET : F_OFFSET_4;
    uint32_t offset = strtoul(f[at], NULL, 16) + 4 * k, bits;
    g_autofree char *want = fact_name(f[F_NAME], k);
    bool qp = !strcmp(f[F_SCOPE], "qp");
    char name[ERNIC_REG_NAME_MAX];
    const Known *more, *access = FIND(known_access, f[F_ACCESS]);
    ErnicRegRef ref;

    /* In 4.0 the slots are one further on than the list's first column. */
    if (qp && version == PG332_V4_0) {
        offset += PG332_SLOT;
    }
    if (!ernic_regfile_find(rf, offset, &ref)) {
        g_error("%s: nothing at %x in %s", want, offset, version_names[version]);
    }
    ernic_reg_name(ref.def, ref.k, name);
    g_assert_cmpstr(name, ==, want);
    g_assert_cmpstr(scope_names[ref.def->scope], ==, f[F_SCOPE]);
    g_assert_nonnull(access);
    IS(def_access(ref.def), access->value);
    IS(*ref.value, fact_reset(f, version));
    bits = fact_bits(f[F_FIELDS]);
    more = FIND(extra, name);
    if (bits) {
        bits |= more ? more->value : 0;
        IS((ref.def->write | ref.def->over | ref.def->w1c) & ~bits, 0);
    }
    if (!qp && ref.def->scope == ERNIC_REG_REGION) {
        g_assert_cmpstr(f[F_STRIDE], ==, version == PG332_V3_1 ?
                        "0x100 (i=0..255)" : "0x100 (i=0..2047)");
    }
    seen[offset / 4]++;
}

/* Every row of the list is in the table, and every register in the list. */
TEST("/regs/facts", test_facts)
{
    static const char *const only_1_0[] = {
        "TX_HDR_BUF_BA", "TX_HDR_BUF_SZ", "TX_SGL_BUF_BA", "TX_SGL_BUF_SZ",
        "BYPASS_BUF_BA", "BYPASS_BUF_SZ", "BYPASS_BUF_WRPTR",
        "PKT_HDR_VLD_STS", NULL
    };
    ErnicRegFile *rf[PG332_VERSIONS];
    uint8_t *seen[PG332_VERSIONS];
    g_auto(GStrv) lines = NULL;
    g_autofree char *text = NULL;
    uint32_t rows = 0, left_out = 0;
    GError *err = NULL;
    ErnicRegRef ref;

    for (uint32_t v = 0; v < PG332_VERSIONS; v++) {
        rf[v] = ernic_regfile_new(v, 1);
        seen[v] = g_new0(uint8_t, ernic_reg_window(v) / 4);
    }
    g_file_get_contents(ERNIC_DATA "/ernic-registers.csv", &text, NULL, &err);
    g_assert_no_error(err);
    lines = g_strsplit(text, "\n", 0);
    g_assert_cmpstr(lines[0], ==,
                    "offset,offset 4.x,name,scope,access,reset,versions,stride,fields");
    for (uint32_t i = 1; lines[i][0]; i++, rows++) {
        g_auto(GStrv) f = g_strsplit(lines[i], ",", F_COUNT);
        const Known *older;
        uint32_t versions;

        IS(g_strv_length(f), F_COUNT);
        older = FIND(known_versions, f[F_VERSIONS]);
        g_assert_nonnull(older);
        versions = older->value | (f[F_OFFSET_4][0] ? ERNIC_REG_V4 : 0);
        if (!versions) {
            g_assert(g_strv_contains(only_1_0, f[F_NAME]));
            left_out++;
        }
        for (uint32_t v = 0; v < PG332_VERSIONS; v++) {
            uint32_t n = versions & (1u << v) ? fact_registers(f[F_NAME]) : 0;

            for (uint32_t k = 0; k < n; k++) {
                check_fact(f, k, v, rf[v], seen[v]);
            }
        }
    }
    IS(rows, 124);
    IS(left_out, g_strv_length((char **)only_1_0));
    for (uint32_t i = 0; i < ARRAY_SIZE(choices); i++) {
        g_assert_cmpint(choices[i].used, >, 0);
    }
    /* Once each: the first element of every block represents the others. */
    for (uint32_t v = 0; v < PG332_VERSIONS; v++) {
        for (uint32_t offset = 0; offset < ernic_reg_window(v); offset += 4) {
            bool is = ernic_regfile_find(rf[v], offset, &ref) && !ref.element;

            IS(seen[v][offset / 4], is);
        }
        ernic_regfile_free(rf[v]);
        g_free(seen[v]);
    }
}

/* The second column of @reg's row in the manual's table; NULL: there is none. */
static char *manual_bits(const char *manual, const char *reg)
{
    g_auto(GStrv) lines = g_strsplit(strstr(manual, "## Fields\n"), "\n", 0);

    for (uint32_t i = 1; lines[i] && !g_str_has_prefix(lines[i], "## "); i++) {
        g_auto(GStrv) cells = g_strsplit(lines[i], " | ", 2);
        g_auto(GStrv) names = NULL;

        if (!g_str_has_prefix(lines[i], "| ") || !cells[1]) {
            continue;
        }
        names = g_strsplit(cells[0] + 2, ", ", 0);
        if (g_strv_contains((const char *const *)names, reg)) {
            return g_strdup(cells[1]);
        }
    }
    return NULL;
}

/* Every register is in the manual, with each bit that software can change. */
TEST("/regs/manual", test_manual)
{
    g_autofree char *text = NULL;

    g_assert(g_file_get_contents(ERNIC_DOCS "/ernic-interface.md", &text, NULL, NULL));
    for (uint32_t i = 0; i < ernic_num_reg_defs; i++) {
        const ErnicRegDef *def = &ernic_reg_defs[i];
        g_autofree char *listed = manual_bits(text, def->name);
        uint32_t bits;

        g_test_message("%s", def->name);
        g_assert_nonnull(listed);
        bits = fact_bits(listed);
        IS(bits ? (def->write | def->over | def->w1c) & ~bits : 0, 0);
    }
}

static void set_override(ErnicRegFile *rf, bool on)
{
    *ernic_regfile_at(rf, ERNIC_REG_GLOBAL, 0, PG332_XRNICADCONF) = on;
}

/* Write all ones, then all zeros, and check which bits the register keeps. */
static void walk_register(ErnicRegFile *rf, uint32_t offset,
                          const ErnicRegRef *reg, bool override)
{
    const ErnicRegDef *def = reg->def;
    uint32_t mask = def->write | (override ? def->over : 0), bit;
    ErnicRegRef ref;

    *reg->value = 0;
    for (bit = 1; bit; bit <<= 1) {
        g_assert(ernic_regfile_write(rf, offset, bit, &ref));
        g_assert(ref.def == def && ref.value == reg->value);
        IS(ernic_regfile_read(rf, offset), bit & mask);
    }
    *reg->value = 0xffffffff;
    for (bit = 1; bit; bit <<= 1) {
        uint32_t kept = ~mask & ~(def->w1c & (bit | (bit - 1)));

        g_assert(ernic_regfile_write(rf, offset, bit, &ref));
        IS(ernic_regfile_read(rf, offset), (kept & ~(def->w1c & bit)) | (bit & mask));
    }
    *reg->value = def->reset;
}

static bool is_override(const ErnicRegRef *ref)
{
    return ref->def->scope == ERNIC_REG_GLOBAL && ref->def->offset == PG332_XRNICADCONF;
}

/* Every word of the window, with the maximum number of queue pairs. */
static void test_walk(gconstpointer arg)
{
    unsigned version = GPOINTER_TO_UINT(arg);
    uint32_t num_qp = ernic_reg_blocks[version][ERNIC_REG_QP].num;
    ErnicRegFile *rf = ernic_regfile_new(version, num_qp);
    uint32_t num = 0, want = 0;
    ErnicRegRef ref;

    for (uint32_t offset = 0; offset < ernic_reg_window(version); offset += 4) {
        for (uint32_t i = 1; i < 4; i++) {
            g_assert(!ernic_regfile_find(rf, offset + i, &ref));
        }
        if (!ernic_regfile_find(rf, offset, &ref)) {
            g_assert(!ernic_regfile_write(rf, offset, 0xffffffff, &ref));
            IS(ernic_regfile_read(rf, offset), 0);
            continue;
        }
        num++;
        g_assert(in_version(ref.def, version));
        IS(offset, ernic_reg_blocks[version][ref.def->scope].base +
           ref.element * PG332_SLOT + ref.def->offset + 4 * ref.k);
        IS(ernic_regfile_read(rf, offset), ref.def->reset);
        if (is_override(&ref)) {
            g_assert(ernic_regfile_write(rf, offset, 0xffffffff, &ref));
            IS(ernic_regfile_read(rf, offset), ref.def->write);
            set_override(rf, false);
            continue;
        }
        walk_register(rf, offset, &ref, false);
        set_override(rf, true);
        walk_register(rf, offset, &ref, true);
        set_override(rf, false);
    }
    for (uint32_t i = 0; i < ernic_num_reg_defs; i++) {
        const ErnicRegDef *def = &ernic_reg_defs[i];

        want += in_version(def, version) ? MAX(def->count, 1) *
                ernic_reg_blocks[version][def->scope].num : 0;
    }
    IS(num, want);
    ernic_regfile_free(rf);
}

/* Slots that were not built do not exist; their neighbours are unchanged. */
TEST("/regs/slots", test_slots)
{
    ErnicRegFile *rf = ernic_regfile_new(PG332_V4_0, 8);
    uint32_t first = PG332_V4_0_QP, end = first + 8 * PG332_SLOT;
    ErnicRegRef ref;

    g_assert(!ernic_regfile_find(rf, first - PG332_SLOT, &ref));
    g_assert(ernic_regfile_find(rf, first, &ref));
    IS(ref.element, 0);
    g_assert(ernic_regfile_find(rf, end - PG332_SLOT, &ref));
    IS(ref.element, 7);
    g_assert(!ernic_regfile_find(rf, end, &ref));
    g_assert(!ernic_regfile_find(rf, PG332_V4_SIZE - 4, &ref));
    g_assert(!ernic_regfile_find(rf, PG332_V4_SIZE, &ref));
    g_assert(!ernic_regfile_find(rf, 0xfffffffc, &ref));
    ernic_regfile_free(rf);
}

/* A reset restores every value, also those that software cannot write. */
TEST("/regs/reset", test_reset)
{
    ErnicRegFile *rf = ernic_regfile_new(PG332_V3_1, 2);
    ErnicRegFile *fresh = ernic_regfile_new(PG332_V3_1, 2);
    uint32_t words, regs = 0;

    for (uint32_t s = 0; s < ERNIC_REG_SCOPES; s++) {
        uint32_t num = ernic_regfile_elements(rf, s, &words);

        for (uint32_t i = 0; i < num * words; i++) {
            uint32_t *value = ernic_regfile_word(rf, s, i / words, i % words);

            if (value) {
                *value = 0xa5a5a5a5;
                regs++;
            }
        }
    }
    g_assert_cmpuint(regs, >, 100);
    ernic_regfile_reset(rf);
    for (uint32_t s = 0; s < ERNIC_REG_SCOPES; s++) {
        uint32_t num = ernic_regfile_elements(fresh, s, &words);

        for (uint32_t i = 0; i < num; i++) {
            for (uint32_t k = 0; k < words; k++) {
                uint32_t *value = ernic_regfile_word(rf, s, i, k);

                g_assert_true(!value || *value == *ernic_regfile_word(fresh, s, i, k));
            }
        }
    }
    ernic_regfile_free(rf);
    ernic_regfile_free(fresh);
    ernic_regfile_free(NULL);
}

int main(int argc, char **argv)
{
    if (page_printed(argc, argv, print_doc)) {
        return 0;
    }
    for (unsigned v = 0; v < PG332_VERSIONS; v++) {
        unit_add_row("/regs/walk", version_names[v], GUINT_TO_POINTER(v), test_walk);
    }
    return unit_run(argc, argv);
}
