/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of a face is complete: every method of every face is set, so that the
 * roles call without a look.
 */
#include "qemu/osdep.h"
#include "interfaces/interface.h"
#include "test.h"

typedef void Method(void);

static const struct {
    const char *name;
    const ErnicFaceOps *face;
} faces[] = {
    { "verbs", &ernic_face_verbs },
    { "pg332", &ernic_face_pg332 },
    { "mlx5", &ernic_face_mlx5 },
};

/* A method is each pointer from the first one to the end of a table. */
#define FIRST_METHOD    offsetof(ErnicFaceOps, fetch)

static uint32_t missing(const void *table, size_t from, size_t size)
{
    uint32_t n = 0;
    Method *method;

    for (; from < size; from += sizeof(method)) {
        memcpy(&method, (const uint8_t *)table + from, sizeof(method));
        if (!method) {
            g_test_message("no method at offset %zu", from);
            n++;
        }
    }
    IS(from, size);
    return n;
}

TEST("/face/complete", test_complete)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(faces); i++) {
        const ErnicFaceOps *face = faces[i].face;

        g_test_message("%s", faces[i].name);
        IS(missing(face, FIRST_METHOD, sizeof(*face)), 0);
        g_assert_nonnull(face->keys);
        IS(missing(face->keys, 0, sizeof(*face->keys)), 0);
        g_assert_nonnull(face->cqes);
        IS(missing(face->cqes, 0, sizeof(*face->cqes)), 0);
    }
}

/* The walk finds each missing method. */
TEST("/face/walk", test_walk)
{
    for (size_t at = FIRST_METHOD; at < sizeof(ErnicFaceOps); at += sizeof(Method *)) {
        ErnicFaceOps face = ernic_face_verbs;

        memset((uint8_t *)&face + at, 0, sizeof(Method *));
        IS(missing(&face, FIRST_METHOD, sizeof(face)), 1);
    }
}
