/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stand-in for QEMU's header of this name: the test provides the function.
 */
#ifndef QEMU_ERROR_REPORT_H
#define QEMU_ERROR_REPORT_H

G_GNUC_PRINTF(1, 2)
void error_report(const char *fmt, ...);

#endif /* QEMU_ERROR_REPORT_H */
