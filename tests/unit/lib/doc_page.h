/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pages of the documentation that tests print from tables: the option --print of such
 * a test writes the page, and one of its cases compares the file with it.
 */
#ifndef DOC_PAGE_H
#define DOC_PAGE_H

/* The option --print: writes what @print returns, and returns true. */
static inline bool page_printed(int argc, char **argv, GString *(*print)(void))
{
    GString *page;

    if (argc != 2 || strcmp(argv[1], "--print") != 0) {
        return false;
    }
    page = print();
    fputs(page->str, stdout);
    g_string_free(page, true);
    return true;
}

/* The file @name in docs has the text that @print returns. */
static inline void check_page(const char *name, GString *(*print)(void))
{
    g_autofree char *path = g_strconcat(ERNIC_DOCS "/", name, NULL), *text = NULL;
    g_autoptr(GString) page = print();
    GError *err = NULL;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    g_assert_cmpstr(text, ==, page->str);
}

#endif /* DOC_PAGE_H */
