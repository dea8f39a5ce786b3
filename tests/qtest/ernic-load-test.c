/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Machines that are loaded from a file: into functions of another kind, before anyone
 * has joined their netdev, and with a descriptor in progress that no QDMA can have.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic.h"

#define MACHINE     "-M q35 -nodefaults -device ernic,id=ernic0,addr=04.0,%s%s"
#define VERBS       "device-memory=0"
#define MLX5        "personality=mlx5"
/* The ids of the verbs face, and of another adapter. */
#define VERBS_IDS   ",pci-vendor-id=0x1af4,pci-device-id=0x10f4"
#define OTHER_ID    ",pci-device-id=0x1017"

static void save(const char *properties, const char *path)
{
    QErnicMachine *m = qernic_machine(MACHINE, properties, "");

    qernic_save(m->qts, path);
    qernic_machine_end(m);
}

static bool load(const char *properties, const char *path)
{
    QErnicMachine *m = qernic_machine(MACHINE, properties, " -incoming defer");
    bool loaded = qernic_load(m->qts, path);

    qernic_machine_end(m);
    return loaded;
}

static const struct {
    const char *from, *to;
    bool loads;
} kinds[] = {
    { MLX5, MLX5, true },
    { MLX5 OTHER_ID, MLX5 OTHER_ID, true },
    { MLX5, MLX5 OTHER_ID },
    { MLX5, VERBS },
    { VERBS, MLX5 },
    { MLX5 VERBS_IDS, VERBS },
    { VERBS, MLX5 VERBS_IDS },
};

MACHINE_TEST("/ernic-load/kinds", test_kinds)
{
    const char *path = qernic_temp();

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        g_test_message("%s to %s", kinds[i].from, kinds[i].to);
        save(kinds[i].from, path);
        g_assert_cmpint(load(kinds[i].to, path), ==, kinds[i].loads);
    }
}

/*
 * QEMU announces the address of a card when the state is loaded, and the socket of the
 * netdev does not listen before that. QEMU 10.0 then ends, unless it has the patch
 * scripts/qemu-10.0/stream-link.patch.
 */
MACHINE_TEST("/ernic-load/stream-server", test_stream_server)
{
    const char *path = qernic_temp();
    g_autofree char *wire = g_strconcat(path, ".wire", NULL);
    g_autofree char *properties = g_strdup_printf(
        "netdev=n0 -netdev stream,id=n0,server=on,addr.type=unix,addr.path=%s", wire);
    g_autofree char *incoming = g_strconcat(" -incoming file:", path, NULL);

    save(properties, path);
    g_assert_true(qernic_migrated(qernic_machine(MACHINE, properties, incoming)->qts));
    unlink(wire);
}

#define RECONIC     "shell=reconic,card-memory=1M"

/* Of the C2H engine of a QDMA; bytes are in the order of the stream. */
static const struct {
    const char *name;
    uint8_t busy;
    uint32_t queue, len, done;
    bool loads;
} jobs[] = {
    { "idle", 0, 0xffffffff, 0, 1, true },
    { "begun", 1, 511, 0xfffffff, 0, true },
    { "almost done", 1, 0, 0xfffffff, 0xfffffff, true },
    { "no such queue", 1, 512, 4096, 0 },
    { "beyond all queues", 1, 0xffffffff, 4096, 0 },
    { "more done than there is", 1, 0, 4096, 4097 },
    { "longer than a descriptor", 1, 0, 0x10000000, 0 },
};

MACHINE_TEST("/ernic-load/qdma", test_qdma)
{
    static const char section[] = "ernic/qdma";
    const char *path = qernic_temp();
    g_autofree char *bytes = NULL;
    gsize len;
    char *at;

    save(RECONIC, path);
    g_assert_true(g_file_get_contents(path, &bytes, &len, NULL));
    at = memmem(bytes, len, section, strlen(section));
    g_assert_nonnull(at);
    at += strlen(section) + 4;                  /* the version */
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        g_test_message("%s", jobs[i].name);
        at[0] = jobs[i].busy;
        stl_be_p(at + 1, jobs[i].queue);
        stl_be_p(at + 5, jobs[i].len);
        stl_be_p(at + 9, jobs[i].done);
        g_assert_true(g_file_set_contents(path, bytes, len, NULL));
        g_assert_cmpint(load(RECONIC, path), ==, jobs[i].loads);
    }
}
