/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Profiles of the timing model: those of the tree, and files with every possible error.
 */
#include "qemu/osdep.h"
#include "timed_pair.h"

static char *read_profile(const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s.profile", ERNIC_PROFILES, name);
    char *text;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* Texts live as long as the test program. */
static const char *find(void *opaque, const char *name)
{
    g_autofree char *text = read_profile(name);
    const char *kept = g_intern_string(text);

    return kept;
}

static void load(ErnicProfile *p, const char *name)
{
    char *text = read_profile(name), *err = NULL;

    g_assert_nonnull(text);
    if (!ernic_profile_parse(p, name, text, find, NULL, &err)) {
        g_error("%s", err);
    }
    g_free(text);
}

TEST("/profile/tree", test_tree)
{
    GDir *dir = g_dir_open(ERNIC_PROFILES, 0, NULL);
    GHashTable *seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    const char *file;
    uint32_t n = 0;

    g_assert_nonnull(dir);
    while ((file = g_dir_read_name(dir))) {
        g_autofree char *name = NULL;
        uint64_t *hash;
        ErnicProfile p;

        if (!g_str_has_suffix(file, ".profile")) {
            continue;
        }
        name = g_strndup(file, strlen(file) - strlen(".profile"));
        load(&p, name);
        hash = g_new(uint64_t, 1);
        *hash = ernic_profile_hash(&p);
        g_assert_true(g_hash_table_add(seen, hash));
        n++;
    }
    IS(n, 5);
    g_hash_table_destroy(seen);
    g_dir_close(dir);
}

TEST("/profile/values", test_values)
{
    ErnicProfile p, fast;

    load(&p, "ernic-200mhz-100g");
    IS(p.core_ps, 5000);
    IS(p.wire_mbps, 100000);
    IS(p.wire_extra, 24);
    IS(p.wire_flight, 15000);
    IS(p.dma_request, 4096);
    IS(p.stage[ERNIC_STAGE_BUILD].width, 64);
    IS(p.stage[ERNIC_STAGE_RECEIVE].close, 18);
    IS(p.stage[ERNIC_STAGE_DMA_READ].latency, 365000);
    load(&fast, "ernic-250mhz-100g");
    IS(fast.core_ps, 4000);
    IS(fast.host_ps, 4000);
    IS(fast.stage[ERNIC_STAGE_DMA_READ].latency, 365000);
    fast.core_ps = fast.host_ps = 5000;
    IS(ernic_profile_hash(&fast), ernic_profile_hash(&p));
    fast.rx_packets++;
    g_assert_cmpuint(ernic_profile_hash(&fast), !=, ernic_profile_hash(&p));
}

/* One line after a good base; @member is the field that it sets. */
TEST("/profile/units", test_units)
{
    static const struct {
        const char *line;
        uint32_t at;
        uint64_t value;
    } good[] = {
#define AT(member) offsetof(ErnicProfile, member)
        { "wire.flight = 1.5 us # s", AT(wire_flight), 1500000 },
        { "wire.flight=17ps#s", AT(wire_flight), 17 },
        { "wire.flight = 0.001 ns # s", AT(wire_flight), 1 },
        { "\twire.flight = 0 ns # s\r", AT(wire_flight), 0 },
        { "clock.core = 161.132812 MHz # CMAC", AT(core_ps), 6206 },
        { "clock.core = 1.5 GHz # s", AT(core_ps), 667 },
        { "wire.rate = 2.5 Gb/s # s", AT(wire_mbps), 2500 },
        { "wire.rate = 10 Mb/s # s", AT(wire_mbps), 10 },
        { "dma-read.request = 4 KiB # s", AT(dma_request), 4096 },
        { "build.packet = 1 cycle # s", AT(stage[ERNIC_STAGE_BUILD].packet), 1 },
        { "pcie.speed = 2.5 GT/s # s", AT(pcie.speed), 2500 },
        { "pcie.data = 16 credits # s", AT(pcie.data), 16 },
        { "dma-write.width = 32 B/cycle # s",
          AT(stage[ERNIC_STAGE_DMA_WRITE].width), 32 },
#undef AT
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(good); i++) {
        char *text = g_strdup_printf("# mine\nbase = generic-25g\n%s\n", good[i].line);
        ErnicProfile p;
        char *err = NULL;

        if (!ernic_profile_parse(&p, "mine", text, find, NULL, &err)) {
            g_error("%s", err);
        }
        IS(*(uint64_t *)((char *)&p + good[i].at), good[i].value);
        g_free(text);
    }
}

/* The profile @text is refused; the reason begins with @says. */
static void refused(const char *text, const char *says)
{
    g_autofree char *err = NULL;
    ErnicProfile p;

    g_assert_false(ernic_profile_parse(&p, "x", text, find, NULL, &err));
    if (!g_str_has_prefix(err, says)) {
        g_error("\"%s\": \"%s\" instead of \"%s\"", text, err, says);
    }
}

TEST("/profile/bad", test_bad)
{
    static const struct {
        const char *text, *err;
    } bad[] = {
        { "", "x: clock.core: is missing" },
        { "nonsense # s", "x:1: \"nonsense\" is not \"key = value unit # source\"" },
        { "\n\nclock.core = 200 MHz", "x:3: clock.core: no source is named" },
        { "clock.core = 200 MHz #  ", "x:1: clock.core: no source is named" },
        { "clock.cores = 200 MHz # s", "x:1: clock.cores: no such parameter" },
        { "= 200 MHz # s", "x:1: : no such parameter" },
        { "clock.core = # s", "x:1: clock.core: \"\" does not begin with a number" },
        { "clock.core = fast # s",
          "x:1: clock.core: \"fast\" does not begin with a number" },
        { "clock.core = -1 MHz # s",
          "x:1: clock.core: \"-1 MHz\" does not begin with a number" },
        { "clock.core = .5 MHz # s",
          "x:1: clock.core: \".5 MHz\" does not begin with a number" },
        { "clock.core = 1. MHz # s",
          "x:1: clock.core: \"1. MHz\" does not begin with a number" },
        { "clock.core = 1.2.3 MHz # s",
          "x:1: clock.core: \".3 MHz\" is no unit of this value" },
        { "clock.core = 200 # s", "x:1: clock.core: a value needs its unit" },
        { "clock.core = 200 ns # s", "x:1: clock.core: \"ns\" is no unit of this value" },
        { "clock.core = 200 mhz # s",
          "x:1: clock.core: \"mhz\" is no unit of this value" },
        { "clock.core = 0 MHz # s",
          "x:1: clock.core: 0 MHz is out of range or too fine" },
        { "clock.core = 11 GHz # s",
          "x:1: clock.core: 11 GHz is out of range or too fine" },
        { "clock.core = 99999999999999999999999 MHz # s",
          "x:1: clock.core: \"99999999999999999999999 MHz\" does not begin with"
          " a number" },
        { "wire.flight = 1.0001 ns # s",
          "x:1: wire.flight: 1.0001 ns is out of range or too fine" },
        { "wire.flight = 0.00000001 us # s",
          "x:1: wire.flight: \"0.00000001 us\" does not begin with a number" },
        { "wire.flight = 2000 us # s",
          "x:1: wire.flight: 2000 us is out of range or too fine" },
        { "build.packet = 1.5 cycles # s",
          "x:1: build.packet: 1.5 cycles is out of range or too fine" },
        { "build.width = 0 B/cycle # s",
          "x:1: build.width: 0 B/cycle is out of range or too fine" },
        { "read-response.overlap = 257 responses # s",
          "x:1: read-response.overlap: 257 responses is out of range or too fine" },
        { "clock.core = 200 MHz # s\nclock.core = 200 MHz # s",
          "x:2: clock.core: given twice" },
        { "pcie.speed = 10 GT/s # s", "x:1: pcie.speed: 10 GT/s is neither 0"
          " nor a speed of PCI Express" },
        { "pcie.speed = 8 Gb/s # s",
          "x:1: pcie.speed: \"Gb/s\" is no unit of this value" },
        { "pcie.lanes = 3 lanes # s",
          "x:1: pcie.lanes: 3 lanes is neither 0 nor a power of two" },
        { "pcie.lanes = 64 lanes # s",
          "x:1: pcie.lanes: 64 lanes is out of range or too fine" },
        { "pcie.payload = 384 B # s",
          "x:1: pcie.payload: 384 B is neither 0 nor a power of two" },
        { "base = generic-25g\npcie.lanes = 0 lanes # s",
          "x: pcie.lanes: 0 is too small for a pcie.speed that is not 0" },
        { "base = generic-25g\npcie.payload = 64 B # s",
          "x: pcie.payload: less than 128 B is too small for a pcie.speed" },
        { "base = generic-25g\npcie.headers = 0 credits # s",
          "x: pcie.headers: no TLP of pcie.payload could ever be sent" },
        { "base = generic-25g\npcie.data = 15 credits # s",
          "x: pcie.data: no TLP of pcie.payload could ever be sent" },
        { "base = nobody", "x:1: base: there is no profile \"nobody\"" },
        { "clock.core = 200 MHz # s\nbase = generic-25g",
          "x:2: base: has to come first" },
        { "base = generic-25g\nbase = generic-25g", "x:2: base: has to come first" },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
        refused(bad[i].text, bad[i].err);
    }
}

/* ---- hostile texts --------------------------------------------------------- */

/*
 * @other in place of line @line of @lines, or (@more) after it: refused with the line's
 * number, or (@all) none, its key and @why.
 */
static void with_line(char **lines, uint32_t line, bool more, const char *other,
                      bool all, const char *why)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *key = g_strndup(lines[line], strcspn(lines[line], " ="));
    g_autofree char *where = all ? g_strdup("x") :
                                   g_strdup_printf("x:%u", line + 1 + more);
    g_autofree char *says = g_strdup_printf("%s: %s: %s", where, key, why);

    for (uint32_t i = 0; lines[i]; i++) {
        if (i != line || more) {
            g_string_append_printf(text, "%s\n", lines[i]);
        }
        if (i == line) {
            g_string_append_printf(text, "%s\n", other);
        }
    }
    refused(text->str, says);
}

/* The same with @value in place of the value of line @line. */
static void with_value(char **lines, uint32_t line, const char *value, const char *why)
{
    g_autofree char *other = g_strdup_printf("%.*s = %s", (int)strcspn(lines[line], " ="),
                                             lines[line], value);

    with_line(lines, line, false, other, false, why);
}

/* Each line of a profile, with each possible error and its position. */
TEST("/profile/lines", test_lines)
{
    g_autofree char *text = read_profile("generic-100g");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    uint32_t n = 0;

    for (uint32_t i = 0; lines[i]; i++) {
        if (!strchr(lines[i], '=') || lines[i][0] == '#') {
            continue;
        }
        if (!g_str_has_prefix(lines[i], "shell.")) {
            with_line(lines, i, false, "", true, "is missing");
        }
        with_line(lines, i, true, lines[i], false, "given twice");
        with_value(lines, i, "1 parsec # s", "\"parsec\" is no unit");
        with_value(lines, i, "1 ", "no source is named");
        with_value(lines, i, "# s", "\"\" does not begin");
        n++;
    }
    g_assert_cmpuint(n, >, 60);
}

/* A profile of an older release has no shell, whose engines then take no time. */
TEST("/profile/no-shell", test_no_shell)
{
    g_autofree char *text = read_profile("generic-100g");
    ErnicProfile p, whole;
    char *err = NULL;

    g_assert_true(ernic_profile_parse(&whole, "x", text, find, NULL, &err));
    IS(whole.shell.width, 64);
    *strstr(text, "shell.latency") = 0;
    g_assert_true(ernic_profile_parse(&p, "x", text, find, NULL, &err));
    IS(p.shell.latency | p.shell.packet | p.shell.width, 0);
    p.shell = whole.shell;
    g_assert_cmpmem(&p, sizeof(p), &whole, sizeof(whole));
}

/* Random bytes: no text does harm, and each refusal gives a reason. */
TEST("/profile/bytes", test_bytes)
{
    static const char some[] = "0123456789.=#\n \t-%scnGMBx\xff";
    g_autofree char *text = read_profile("generic-100g");
    gsize len = strlen(text);
    g_autoptr(GRand) rng = g_rand_new_with_seed(5);
    uint32_t bad = 0;

    for (uint32_t i = 0; i < 5000; i++) {
        char *other = g_strdup(text), *err = NULL;
        ErnicProfile p;

        for (uint32_t k = g_rand_int_range(rng, 1, 8); k; k--) {
            other[g_rand_int_range(rng, 0, len)] =
                some[g_rand_int_range(rng, 0, sizeof(some))];
        }
        if (!ernic_profile_parse(&p, "x", other, find, NULL, &err)) {
            g_assert_true(g_str_has_prefix(err, "x:"));
            g_free(err);
            bad++;
        }
        g_free(other);
    }
    g_assert_cmpuint(bad, >, 1000);
    g_assert_cmpuint(bad, <, 5000);
}

/*
 * The example of docs/timing.md: its values, and a run of it: two packets of 4096 bytes
 * leave as far apart as its wire rate demands.
 */
TEST("/profile/own", test_own)
{
    g_autofree char *page = NULL;
    char *text, *err = NULL;
    ErnicProfile p;
    uint64_t gap;
    Pair pair;

    g_assert_true(g_file_get_contents(ERNIC_DOCS "/timing.md", &page, NULL, NULL));
    text = strstr(page, "```profile\n");
    g_assert_nonnull(text);
    text += strlen("```profile\n");
    *strstr(text, "```") = 0;
    if (!ernic_profile_parse(&p, "own", text, find, NULL, &err)) {
        g_error("%s", err);
    }
    IS(p.wire_mbps, 50000);
    IS(p.pcie.speed, 8000);
    IS(p.pcie.payload, 128);
    IS(p.stage[ERNIC_STAGE_ARBITER].packet, 62);
    open_pair(&pair, &p, ERNIC_QPT_RC);
    post(&pair, 8192);
    until(&pair, 100000);
    gap = next_left(&pair);
    gap = next_left(&pair) - gap;
    /* 4096, 58 of headers, 24: 668.48 ns. */
    g_assert_cmpuint(gap, >=, 668);
    g_assert_cmpuint(gap, <=, 669);
    close_pair(&pair);
}

static const char *find_itself(void *opaque, const char *name)
{
    return "# turns round\nbase = me\n";
}

TEST("/profile/endless", test_endless)
{
    ErnicProfile p;
    char *err = NULL;

    g_assert_false(ernic_profile_parse(&p, "me", find_itself(NULL, "me"),
                                       find_itself, NULL, &err));
    g_assert_cmpstr(err, ==,
                    "me:2: base: too many bases, or a profile based on itself");
    g_free(err);
    g_assert_false(ernic_profile_parse(&p, "me", "base = you", NULL, NULL, &err));
    g_assert_cmpstr(err, ==, "me:1: base: there is no profile \"you\"");
    g_free(err);
}

/* Every stage has a name, and a key that begins with it. */
TEST("/profile/stages", test_stages)
{
    g_autofree char *text = read_profile("ernic-200mhz-100g");

    for (uint32_t i = 0; i < ERNIC_STAGE_COUNT; i++) {
        g_autofree char *key = g_strdup_printf("\n%s.latency", ernic_stage_name(i));

        g_assert_nonnull(strstr(text, key));
    }
}
