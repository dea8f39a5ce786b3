/* SPDX-License-Identifier: (GPL-2.0-or-later OR BSD-2-Clause) */
/*
 * The character device of ernic_shell.ko, /dev/ernic-shell- with the address on PCI: how a
 * program reaches the ERNIC of a card whose function has a network driver. One program at
 * a time may have it open, which needs CAP_SYS_RAWIO. When it closes it, the driver resets
 * the ERNIC, in the xib shell what is enabled in it. read() and write() copy from and to
 * the memory of the card, by the engines of the QDMA; the position is the address there.
 *
 * The upper bits of the offset of mmap() say what is mapped, the lower ones where in it.
 */
#ifndef ERNIC_SHELL_ABI_H
#define ERNIC_SHELL_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ERNIC_SHELL_MAP_SHIFT	40

enum {
	ERNIC_SHELL_MAP_USER,		/* registers of shell and ERNIC: BAR 2, of xib BAR 0 */
	ERNIC_SHELL_MAP_CARD,		/* BAR 4: memory of the card */
	ERNIC_SHELL_MAP_AREA,		/* the first area; the next ones follow */
};

#define ERNIC_SHELL_AREAS	8
#define ERNIC_SHELL_AREA_MAX	(4u << 20)

/* Memory that the ERNIC reaches, contiguous for it, until the file is closed. */
struct ernic_shell_area {
	__aligned_u64 size;		/* in: whole pages */
	__aligned_u64 bus;		/* out: its bus address */
	__aligned_u64 offset;		/* out: for mmap() */
};

#define ERNIC_SHELL_IOC_AREA	_IOWR('E', 0x90, struct ernic_shell_area)

#endif /* ERNIC_SHELL_ABI_H */
