/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The second processor accesses one function after the other, each for a while, and does
 * nothing before: the host measures how long the monitor takes to answer meanwhile.
 */
#include "second.h"

#define WHILE   1000000000          /* of the host's counter: some 0.3 s */

static void use(uint8_t slot, uint32_t row)
{
    put("nothing");
    put_end();
    pass(WHILE);
    second_begins(slot, row);
    pass(WHILE);
    second_ends();
}

int main(void)
{
    each_function(use);
}
