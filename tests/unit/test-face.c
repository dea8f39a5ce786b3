/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of a face is complete: every method of every face is set, so that the
 * roles call without a look.
 */
#include "qemu/osdep.h"
#include "faces/face.h"

typedef void Method(void);

static const struct {
    const char *name;
    const ErnicFaceOps *face;
} faces[] = {
    { "verbs", &ernic_face_verbs },
    { "pg332", &ernic_face_pg332 },
};

/* Methods are what stands from the first one to the end of a table. */
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
    g_assert_cmpuint(from, ==, size);
    return n;
}

static void test_complete(void)
{
    uint32_t i;

    for (i = 0; i < G_N_ELEMENTS(faces); i++) {
        const ErnicFaceOps *face = faces[i].face;

        g_test_message("%s", faces[i].name);
        g_assert_cmpuint(missing(face, FIRST_METHOD, sizeof(*face)), ==, 0);
        g_assert_nonnull(face->keys);
        g_assert_cmpuint(missing(face->keys, 0, sizeof(*face->keys)), ==, 0);
    }
}

/* The walk sees each method that is not there. */
static void test_walk(void)
{
    size_t at;

    for (at = FIRST_METHOD; at < sizeof(ErnicFaceOps); at += sizeof(Method *)) {
        ErnicFaceOps face = ernic_face_verbs;

        memset((uint8_t *)&face + at, 0, sizeof(Method *));
        g_assert_cmpuint(missing(&face, FIRST_METHOD, sizeof(face)), ==, 1);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/face/complete", test_complete);
    g_test_add_func("/face/walk", test_walk);
    return g_test_run();
}
