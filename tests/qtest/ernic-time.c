/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How time passes in a test: by steps of the clock, or with KVM and TCG by itself.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "ernic.h"

#define WAIT_SECONDS    60

static bool real_clock;

static void pass(QTestState *qts, int64_t ns)
{
    if (real_clock) {
        g_usleep(MAX(100, ns / 1000));
    } else {
        qtest_clock_step(qts, ns);
    }
}

static void restore_clock(void *unused)
{
    real_clock = false;
}

#define BIOS_LEN    (64 * 1024)
#define HLT         0xf4

const char *qernic_halting_bios(void)
{
    g_autofree char *halts = g_malloc(BIOS_LEN);
    const char *path = qernic_temp();

    memset(halts, HLT, BIOS_LEN);
    g_assert_true(g_file_set_contents(path, halts, BIOS_LEN, NULL));
    return path;
}

void qernic_real_time(void)
{
    real_clock = true;
    g_test_queue_destroy(restore_clock, NULL);
}

static bool is_enabled(QTestState *qts, const char *query, const char *member)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': %s }", query);
    bool enabled = qdict_get_bool(qdict_get_qdict(answer, "return"), member);

    qobject_unref(answer);
    return enabled;
}

bool qernic_has_kvm(QTestState *qts)
{
    bool kvm = is_enabled(qts, "query-kvm", "enabled");

    g_test_message("KVM: %d", kvm);
    return kvm;
}

static bool is_halted(QTestState *qts)
{
    g_autofree char *registers = qtest_hmp(qts, "info registers");

    return strstr(registers, "HLT=1");
}

bool qernic_processor_halts(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + WAIT_SECONDS * G_TIME_SPAN_SECOND;

    while (!is_halted(qts)) {
        if (!is_enabled(qts, "query-status", "running")) {
            return false;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
    return true;
}

void qernic_wait(QTestState *qts, uint64_t *deadline)
{
    uint64_t now = g_get_monotonic_time();

    if (!*deadline) {
        *deadline = now + WAIT_SECONDS * G_TIME_SPAN_SECOND;
    }
    g_assert_cmpuint(now, <, *deadline);
    pass(qts, 1000);
}

void qernic_pass(QTestState *qts, uint32_t n, int64_t ns)
{
    while (n--) {
        pass(qts, ns);
    }
}
