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

bool qernic_has_kvm(QTestState *qts)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'query-kvm' }");
    bool kvm = qdict_get_bool(qdict_get_qdict(answer, "return"), "enabled");

    qobject_unref(answer);
    g_test_message("KVM: %d", kvm);
    if (kvm) {
        qernic_real_time();
    }
    return kvm;
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
