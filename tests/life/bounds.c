/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The second processor accesses one function after the other, each for a while: the host
 * measures how long the monitor takes to answer meanwhile. First it does nothing.
 */
#include "second.h"

#define WHILE   1500000000          /* of the host's counter: about half a second */

static void pause(void)
{
    uint64_t from = tsc();

    while (tsc() - from < WHILE) {
    }
}

static void use(uint8_t slot, uint32_t row)
{
    second_begins(slot, row);
    pause();
    second_ends();
}

int main(void)
{
    put("nothing");
    put_end();
    pause();
    each_function(use);
}
