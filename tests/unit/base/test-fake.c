/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The knob of the fake environment by which accesses to memory fail. All tests of queue
 * pairs check its guest software.
 */
#include "qemu/osdep.h"
#include "fake_env.h"
#include "test.h"

/* fake_fail_dma() fails the selected access, and only that. */
TEST("/fake/knob", test_knob)
{
    const ErnicEnvOps *ops = &fake_env_ops;
    uint64_t at = FAKE_MEM_BASE;
    FakeEnv env;
    uint8_t byte = 0;

    fake_env_init(&env);
    fake_fail_dma(&env, 3, false);
    for (int i = 1; i <= 6; i++) {
        IS(ops->dma_read(&env, at, &byte, 1), i != 3);
    }
    IS(env.refused, 1);
    fake_fail_dma(&env, 3, true);
    for (int i = 1; i <= 6; i++) {
        IS(ops->dma_write(&env, at, &byte, 1), i < 3);
    }
    IS(env.refused, 4);
    fake_fail_dma(&env, 0, false);
    g_assert_true(ops->dma_read(&env, at, &byte, 1));
    g_assert_false(ops->dma_read(&env, at - 1, &byte, 1));
    g_assert_false(ops->dma_read(&env, at + FAKE_MEM_SIZE, &byte, 1));
    g_assert_false(ops->dma_read(&env, UINT64_MAX, &byte, 2));
    fake_env_fini(&env);
}
