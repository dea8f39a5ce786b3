/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The second processor, which accesses a function again and again.
 *
 * Each row of the table of accesses has a slot of bus 0. The rows and the functions that
 * test_life.py adds are in the same order; a slot may be empty.
 */
#ifndef LIFE_SECOND_H
#define LIFE_SECOND_H

#include "io.h"

/* Starts it, calls @use with each function and its row, and powers the machine off. */
void each_function(void (*use)(uint8_t slot, uint32_t row)) __attribute__((noreturn));
/*
 * Writes the row's name as text, enables the function, and has the second processor make
 * its access without a pause. Returns when it has made some.
 */
void second_begins(uint8_t slot, uint32_t row);
/* Only has it make its access: the function is enabled already. */
void second_starts(uint8_t slot, uint32_t row);
void second_ends(void);
/* Writes the row's name. */
void put_row(uint32_t row);
/* Lets time pass, in units of the host's counter. */
void pass(uint64_t time);
/* Waits until it has made @n more accesses. */
void wait_for(uint32_t n);
/* The second processor uses the ports of configuration space: the first one may not. */
bool uses_ports(uint32_t row);

/* Enables the interface of a function, so that doorbells and commands have an effect. */
void enable(uint8_t devfn);
/* The place of a capability in configuration space. */
uint8_t capability(uint8_t devfn, uint8_t id);

#endif /* LIFE_SECOND_H */
