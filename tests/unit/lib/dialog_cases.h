/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Dialogues that the tests of several services or operations have in common.
 */
#ifndef DIALOG_CASES_H
#define DIALOG_CASES_H

#include "dialog.h"

/*
 * A queue pair of @type with two receive requests: one with a wrong key, and one of
 * @len bytes. After the next message both are complete, the second flushed.
 */
void dlg_open_bad_recv(Dialog *d, uint8_t type, uint32_t len);
void dlg_close_bad_recv(Dialog *d);

#endif /* DIALOG_CASES_H */
