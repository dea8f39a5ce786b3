/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The folder of the shared-memory link: whose it may be, what else may be in it, and
 * sockets to which a port cannot connect, or not yet.
 */
#include "qemu/osdep.h"
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "links/shm/folder.h"
#include "shm_fixture.h"

/* The only file in the folder. */
static char *socket_of(const Lab *l)
{
    GDir *dir = g_dir_open(l->folder, 0, NULL);
    char *path = g_build_filename(l->folder, g_dir_read_name(dir), NULL);

    g_dir_close(dir);
    return path;
}

typedef struct Calls {
    uint32_t found, failed;
} Calls;

static void count_found(void *opaque, int fd)
{
    ((Calls *)opaque)->found++;
    close(fd);
}

static void count_failed(void *opaque, const char *name, int err)
{
    ((Calls *)opaque)->failed++;
    IS(err, ENOTSOCK);
}

/* A process that was killed leaves its socket, which the next port removes. */
LAB_TEST("/shm-folder/remnant", 1, test_remnant)
{
    g_autofree char *kept = NULL, *path = NULL;

    path = socket_of(l);
    kept = g_strconcat(path, "-kept", NULL);
    IS(link(path, kept), 0);
    lab_leave(l, 0);
    g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
    lab_join(l, 1, false);
    g_assert_false(g_file_test(kept, G_FILE_TEST_EXISTS));
}

/* Each port has the first free number, also if a process before it was killed. */
LAB_TEST("/shm-folder/numbers", 3, test_numbers)
{
    g_autofree char *second = g_build_filename(l->folder, "ernic-2", NULL);
    g_autofree char *kept = g_build_filename(l->folder, "kept", NULL);

    for (uint32_t i = 0; i < 3; i++) {
        IS(ernic_shm_number(l->port[i]), i + 1);
    }
    IS(link(second, kept), 0);
    lab_leave(l, 1);
    IS(rename(kept, second), 0);
    lab_join(l, 1, false);
    IS(ernic_shm_number(l->port[1]), 2);
    IS(stats(l, 0)->peers, 2);
    IS(stats(l, 1)->peers, 2);
}

/* The user has cleared the folder, and another port has the name. */
LAB_TEST("/shm-folder/taken-name", 1, test_taken_name)
{
    g_autofree char *path = socket_of(l);

    IS(g_unlink(path), 0);
    lab_join(l, 1, false);
    IS(ernic_shm_number(l->port[1]), 1);
    ernic_shm_hide(l->port[0]);
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    lab_join(l, 2, false);
    IS(stats(l, 1)->peers, 1);
}

/* A name that was noted is that of another port before the call. */
LAB_TEST("/shm-folder/noted-name", 1, test_noted_name)
{
    g_autofree char *path = socket_of(l);
    ErnicShmFolder f;
    char *err = NULL;
    Calls calls = { 0 };

    g_assert_true(ernic_shm_folder_join(&f, l->folder, test_closer(), &err));
    IS(f.others->len, 1);
    IS(g_unlink(path), 0);
    lab_join(l, 1, false);
    ernic_shm_folder_call(&f, count_found, count_failed, &calls);
    IS(calls.found, 0);
    IS(calls.failed, 0);
    IS(f.others->len, 0);
    ernic_shm_folder_leave(&f);
}

/* All numbers are taken by files that are no sockets. */
LAB_TEST("/shm-folder/no-number", 0, test_no_number)
{
    for (uint32_t i = 1; i <= ERNIC_SHM_ENTRIES; i++) {
        g_autofree char *name = g_strdup_printf("%s/ernic-%u", l->folder, i);

        g_assert_true(g_file_set_contents(name, "", 0, NULL));
    }
    lab_join(l, 0, false);
    IS(ernic_shm_number(l->port[0]), 0);
    lab_leave(l, 0);
    for (uint32_t i = 1; i <= ERNIC_SHM_ENTRIES; i++) {
        g_autofree char *name = g_strdup_printf("%s/ernic-%u", l->folder, i);

        IS(g_unlink(name), 0);
    }
}

/* Files of others stay. */
LAB_TEST("/shm-folder/other-files", 0, test_other_files)
{
    g_autofree char *file = g_build_filename(l->folder, "ernic-notes", NULL);

    g_assert_true(g_file_set_contents(file, "x", 1, NULL));
    lab_join(l, 0, false);
    g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
    IS(g_unlink(file), 0);
}

LAB_TEST("/shm-folder/bad-folder", 0, test_bad_folder)
{
    static const char *const bad[] = { "/dev/null", "/dev/null/x", "/nowhere/x" };
    g_autofree char *deep = g_strnfill(120, 'x'), *path = NULL;
    ErnicShmConfig cfg = { 0 };
    ErnicShm *shm;
    char *err = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cfg.folder = bad[i];
        g_assert_null(ernic_shm_new(&cfg, &err));
        g_assert_true(g_str_has_prefix(err, bad[i]));
        g_clear_pointer(&err, g_free);
    }
    /* Longer than the address of a socket may be: its name is not part of that. */
    path = g_build_filename(l->folder, deep, NULL);
    cfg.folder = path;
    shm = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    ernic_shm_free(shm);
    IS(g_rmdir(path), 0);
}

static const struct {
    mode_t folder, socket;      /* 0: the folder is refused */
} modes[] = {
    { 0700, 0600 }, { 0755, 0600 }, { 0770, 0 }, { 0777, 0 }, { 01770, 0660 },
    { 03770, 0660 }, { 01777, 0666 },
};

LAB_TEST("/shm-folder/modes", 0, test_modes)
{
    mode_t mask = umask(0077);
    char *err = NULL;
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        ErnicShmConfig cfg = { .folder = l->folder };
        ErnicShm *shm;

        IS(chmod(l->folder, modes[i].folder), 0);
        shm = ernic_shm_new(&cfg, &err);
        IS(!shm, !modes[i].socket);
        if (shm) {
            g_autofree char *path = socket_of(l);

            IS(stat(path, &st), 0);
            IS(st.st_mode & 0777, modes[i].socket);
            ernic_shm_free(shm);
        } else {
            g_assert_nonnull(strstr(err, "not sticky"));
            g_clear_pointer(&err, g_free);
        }
    }
    umask(mask);
}

/* A slash after the name would make the system follow the link. */
LAB_TEST("/shm-folder/symlink", 0, test_symlink)
{
    g_autofree char *link = g_strconcat(l->folder, "-link", NULL);
    static const char *const ends[] = { "", "/", "//" };
    size_t i;

    IS(symlink(l->folder, link), 0);
    for (i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autofree char *path = g_strconcat(link, ends[i], NULL), *err = NULL;
        ErnicShmConfig cfg = { .folder = path };

        g_assert_null(ernic_shm_new(&cfg, &err));
        g_assert_true(g_str_has_prefix(err, path));
    }
    IS(g_unlink(link), 0);
}

LAB_TEST("/shm-folder/relative", 0, test_relative)
{
    g_autofree char *cwd = g_get_current_dir();
    char *folder = g_steal_pointer(&l->folder);

    l->folder = g_path_get_basename(folder);
    IS(g_chdir(g_get_tmp_dir()), 0);
    lab_join(l, 0, false);
    lab_join(l, 1, false);
    IS(g_chdir(cwd), 0);
    IS(stats(l, 0)->peers, 1);
    ernic_shm_hide(l->port[1]);
    g_free(l->folder);
    l->folder = folder;
}

static void note(void *opaque, const char *text)
{
    char **said = opaque;

    g_assert_null(*said);
    *said = g_strdup(text);
}

/* The folder has a socket of another user. This user must not connect to it. */
LAB_TEST("/shm-folder/not-permitted", 0, test_not_permitted)
{
    g_autofree char *path = NULL, *said = NULL;
    ErnicShmConfig cfg = { .warn = note, .opaque = &said };
    bool root = geteuid() == 0;
    char *err = NULL;
    ErnicShm *shm;

    IS(chmod(l->folder, 01777), 0);
    lab_join(l, 0, false);
    path = socket_of(l);
    IS(chmod(path, 0), 0);
    cfg.folder = l->folder;
    if (root) {
        IS(seteuid(65534), 0);
    }
    shm = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    g_assert_true(g_str_has_prefix(said, path));
    g_assert_nonnull(strstr(said, g_strerror(EACCES)));
    IS(ernic_shm_stats(shm)->unreachable, 1);
    ernic_shm_free(shm);
    if (root) {
        /* Permitted, and of another user. */
        IS(seteuid(0), 0);
        IS(chmod(path, 0666), 0);
        IS(seteuid(65534), 0);
        lab_join(l, 1, false);
        IS(stats(l, 0)->peers, 1);
        lab_leave(l, 1);
        IS(seteuid(0), 0);
        IS(chown(l->folder, 65534, -1), 0);
        cfg.folder = l->folder;
        g_assert_null(ernic_shm_new(&cfg, &err));
        g_assert_nonnull(strstr(err, "another user"));
        g_free(err);
    }
}

/* Others who may write to the folder write no line to the terminal of the user. */
LAB_TEST("/shm-folder/name", 0, test_name)
{
    g_autofree char *path = g_strconcat(l->folder, "/ernic-\n\033[2J", NULL);
    g_autofree char *said = NULL;
    ErnicShmConfig cfg = { .folder = l->folder, .warn = note, .opaque = &said };
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *err = NULL;
    ErnicShm *shm;

    g_strlcpy(sa.sun_path, path, sizeof(sa.sun_path));
    IS(bind(fd, (void *)&sa, sizeof(sa)), 0);
    IS(listen(fd, 1), 0);
    shm = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    g_assert_nonnull(strstr(said, "/ernic-\\n\\033[2J: "));
    ernic_shm_free(shm);
    close(fd);
    IS(unlink(path), 0);
}

/* Between the look at the folder and the call, a socket becomes a link to another one. */
LAB_TEST("/shm-folder/exchanged", 1, test_exchanged)
{
    g_autofree char *path = socket_of(l), *outside = NULL;
    ErnicShmFolder f;
    Calls calls = { 0 };
    char *err = NULL;

    g_assert_true(ernic_shm_folder_join(&f, l->folder, test_closer(), &err));
    IS(f.others->len, 1);
    outside = g_strconcat(l->folder, "-outside", NULL);
    IS(rename(path, outside), 0);
    IS(symlink(outside, path), 0);
    ernic_shm_folder_call(&f, count_found, count_failed, &calls);
    IS(calls.found, 0);
    IS(calls.failed, 1);
    IS(f.others->len, 0);
    ernic_shm_folder_leave(&f);
    IS(rename(outside, path), 0);
}

/* Another process holds the lock: a port does not wait for it, and joins later. */
LAB_TEST("/shm-folder/locked", 1, test_locked)
{
    gint64 begin = g_get_monotonic_time(), end = begin + 10 * G_USEC_PER_SEC;
    int dir = open(l->folder, O_RDONLY | O_DIRECTORY);
    g_autofree char *said = NULL;
    ErnicShmConfig cfg = { .folder = l->folder, .warn = note, .opaque = &said };
    char *err = NULL;

    IS(flock(dir, LOCK_EX), 0);
    l->port[1] = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, G_USEC_PER_SEC / 2);
    while (!said) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        lab_serve(l);
        g_usleep(1000);
    }
    g_assert_nonnull(strstr(said, "not entered yet"));
    IS(stats(l, 0)->peers, 0);
    close(dir);
    while (!stats(l, 1)->peers) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        lab_serve(l);
        g_usleep(1000);
    }
    IS(stats(l, 0)->peers, 1);
}

/* A port that does not run for now, with more newcomers than its socket holds. */
LAB_TEST("/shm-folder/backlog", 1, test_backlog)
{
    ErnicShmConfig cfg = { 0 };
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd[200], num = 0;
    g_autofree char *path = socket_of(l);
    char *err = NULL;
    gint64 end;

    g_strlcpy(sa.sun_path, path, sizeof(sa.sun_path));
    do {
        g_assert_cmpint(num, <, ARRAY_SIZE(fd));
        fd[num] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    } while (connect(fd[num++], (void *)&sa, sizeof(sa)) == 0);
    cfg.folder = l->folder;
    l->port[1] = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    for (int i = 0; i < num; i++) {
        close(fd[i]);
    }
    end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    while (!stats(l, 1)->peers) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        lab_serve(l);
        g_usleep(1000);
    }
    IS(stats(l, 1)->unreachable, 0);
}
