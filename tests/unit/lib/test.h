/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A test stands under its path in GLib's tree of tests: no list names it again.
 */
#ifndef TEST_H
#define TEST_H

#include <glib.h>

/* GLib calls @fn as the test @path; if that is NULL, @fn is called to add tests. */
void unit_add(const char *path, void (*fn)(void));
/* The test @path/@name of @fn(@data). */
void unit_add_row(const char *path, const char *name, const void *data,
                  void (*fn)(gconstpointer data));
/* The rest of main(), for a program with a main() of its own. */
int unit_run(int argc, char **argv);

#define UNIT_ADD(path, fn)                                          \
    static void fn(void);                                           \
    static void __attribute__((constructor)) register_##fn(void)    \
    {                                                               \
        unit_add(path, fn);                                         \
    }                                                               \
    static void fn(void)

/* The head of a function that is the test @path. */
#define TEST(path, fn) UNIT_ADD(path, fn)
/* The same with a @type *@name, which @open makes and @close ends. */
#define WORLD_TEST(path, fn, type, name, open, close)               \
    static void fn(type *name);                                     \
    UNIT_ADD(path, run_##fn)                                        \
    {                                                               \
        type world;                                                 \
        type *name = &world;                                        \
                                                                    \
        open;                                                       \
        fn(name);                                                   \
        close;                                                      \
    }                                                               \
    static void fn(type *name)
/* The same with a Fixture *f that setup() has made and teardown() ends. */
#define FIXTURE_TEST(path, fn)                                      \
    static void fn(Fixture *f, gconstpointer data);                 \
    UNIT_ADD(NULL, add_##fn)                                        \
    {                                                               \
        g_test_add(path, Fixture, NULL, setup, fn, teardown);       \
    }                                                               \
    static void fn(Fixture *f, gconstpointer data)
/* The same with one of zeros that setup() fills; its engine f->e ends after the test. */
#define ENGINE_TEST(path, fn)                                       \
    WORLD_TEST(path, fn, Fixture, f, *f = (Fixture) { }; setup(f),  \
               fake_ernic_done(&f->env, f->e))
/* A test for each element of the array @rows, @path/NAME; *@row is the element. */
#define ROW_TEST(path, rows, row, fn)                               \
    static void fn(typeof(&rows[0]) row);                           \
    static void row_##fn(gconstpointer row)                         \
    {                                                               \
        fn(row);                                                    \
    }                                                               \
    UNIT_ADD(NULL, add_##fn)                                        \
    {                                                               \
        size_t i;                                                   \
                                                                    \
        for (i = 0; i < G_N_ELEMENTS(rows); i++) {                  \
            unit_add_row(path, rows[i].name, &rows[i], row_##fn);   \
        }                                                           \
    }                                                               \
    static void fn(typeof(&rows[0]) row)
/* The same with a @type *@name, which @open makes and @close ends. */
#define WORLD_ROW_TEST(path, rows, row, fn, type, name, open, close) \
    static void fn(type *name, typeof(&rows[0]) row);               \
    ROW_TEST(path, rows, row, run_##fn)                             \
    {                                                               \
        type world;                                                 \
        type *name = &world;                                        \
                                                                    \
        open;                                                       \
        fn(name, row);                                              \
        close;                                                      \
    }                                                               \
    static void fn(type *name, typeof(&rows[0]) row)
/* The head of a function that adds tests, such as one for each row of a table. */
#define TESTS(fn) UNIT_ADD(NULL, fn)

/* A number is @want; a command or the like succeeds. */
#define IS(got, want) g_assert_cmpuint(got, ==, want)
#define OK(status) g_assert_cmpuint(status, ==, ERNIC_OK)
/* The engine is saved, and loads its state. */
#define RELOAD(e, now)                                              \
    do {                                                            \
        g_autoptr(GByteArray) saved = g_byte_array_new();           \
                                                                    \
        ernic_save(e, saved);                                       \
        g_assert_true(ernic_load(e, now, saved->data, saved->len)); \
    } while (0)
/* The status of the command @cmd, of which the statement @SET sets members. */
#define CMD(e, OPCODE, SET)                                         \
    ({                                                              \
        struct ernic_cmd cmd = { .opcode = ERNIC_CMD_##OPCODE };    \
                                                                    \
        SET;                                                        \
        fake_cmd(e, &cmd, NULL);                                    \
    })

#endif /* TEST_H */
