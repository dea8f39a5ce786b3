/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reserved bytes of structures that the guest wrote.
 */
#ifndef ERNIC_BASE_BYTES_H
#define ERNIC_BASE_BYTES_H

/* Whether all @len bytes at @p are 0. Reads all of them, so that it has no branches. */
static inline bool ernic_all_zero(const void *p, size_t len)
{
    const uint8_t *bytes = p;
    uint8_t any = 0;

    while (len--) {
        any |= bytes[len];
    }
    return any == 0;
}

#endif /* ERNIC_BASE_BYTES_H */
