/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Files that devices write: what they may be, and how many writers they have.
 */
#include "qemu/osdep.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/output.h"
#include "capture/timing_file.h"
#include "test.h"

#define LIMIT (1 << 20)

typedef struct World {
    char *folder, *path;
} World;

static void open_world(World *w)
{
    w->folder = g_dir_make_tmp("ernic-XXXXXX", NULL);
    g_assert_nonnull(w->folder);
    w->path = g_build_filename(w->folder, "file", NULL);
}

static void close_world(World *w)
{
    IS(g_unlink(w->path), 0);
    IS(g_rmdir(w->folder), 0);
    g_free(w->path);
    g_free(w->folder);
}

#define OUTPUT_TEST(path, fn) \
    WORLD_TEST(path, fn, World, w, open_world(&world), close_world(&world))

static void holds(const World *w, const char *text)
{
    g_autofree char *now = NULL;

    g_assert_true(g_file_get_contents(w->path, &now, NULL, NULL));
    g_assert_cmpstr(now, ==, text);
}

/* Of two writers in a process, the second one changes nothing. */
OUTPUT_TEST("/capture-output/two", test_two)
{
    const char *why = NULL;
    struct stat st;
    int first, second;

    g_assert_true(g_file_set_contents(w->path, "before", -1, NULL));
    first = ernic_output_open(w->path, &st, &why);
    g_assert_cmpint(first, >=, 0);
    g_assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
    holds(w, "before");
    g_assert_true(ernic_output_begin(first, &why));
    holds(w, "");
    IS(write(first, "text", 4), 4);
    second = ernic_output_open(w->path, &st, &why);
    g_assert_false(ernic_output_begin(second, &why));
    g_assert_cmpstr(why, ==, "another device or process writes it");
    holds(w, "text");
    close(first);
    g_assert_true(ernic_output_begin(second, &why));
    holds(w, "");
    close(second);
}

/* Nobody reads the FIFO: to open it could wait without end. */
OUTPUT_TEST("/capture-output/fifo", test_fifo)
{
    const char *why = NULL;
    struct stat st;
    int reader;

    IS(mkfifo(w->path, 0600), 0);
    g_assert_cmpint(ernic_output_open(w->path, &st, &why), ==, -1);
    g_assert_cmpstr(why, ==, "not a regular file");
    reader = open(w->path, O_RDONLY | O_NONBLOCK);
    why = NULL;
    g_assert_cmpint(ernic_output_open(w->path, &st, &why), ==, -1);
    g_assert_cmpstr(why, ==, "not a regular file");
    close(reader);
}

/* The source of a migration on this host has the file until it ends. */
OUTPUT_TEST("/capture-output/source", test_source)
{
    g_autofree char *err = NULL, *text = NULL;
    ErnicTimingFile *f;
    int ready[2], status;
    char byte = 0;
    pid_t source;

    IS(pipe(ready), 0);
    source = fork();
    if (source == 0) {
        alarm(60);              /* the test may fail */
        f = ernic_timing_file_open(w->path, "source", LIMIT, NULL, &err);
        ernic_timing_file_flush(f);
        byte = write(ready[1], &byte, 1);
        pause();
    }
    IS(read(ready[0], &byte, 1), 1);
    g_assert_true(g_file_get_contents(w->path, &text, NULL, NULL));
    f = ernic_timing_file_open(w->path, "destination", LIMIT, NULL, &err);
    holds(w, text);
    g_assert_null(f);
    g_assert_nonnull(strstr(err, "another device or process writes it"));
    g_clear_pointer(&err, g_free);
    IS(kill(source, SIGKILL), 0);
    IS(waitpid(source, &status, 0), source);
    f = ernic_timing_file_open(w->path, "destination", LIMIT, NULL, &err);
    g_assert_nonnull(f);
    ernic_timing_file_close(f);
    close(ready[0]);
    close(ready[1]);
}
