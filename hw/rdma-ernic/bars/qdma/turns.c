/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The queues that have work for an engine, as bits.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/host-utils.h"
#include "bars/qdma/turns.h"

#define WORDS   (ERNIC_QDMA_QUEUES / 32)

void qdma_turns_set(ErnicQdmaTurns *t, uint32_t number, bool has_work)
{
    uint32_t *word = &t->bits[number / 32];

    assert(number < ERNIC_QDMA_QUEUES);
    *word = deposit32(*word, number % 32, 1, has_work);
}

bool qdma_turns_has(const ErnicQdmaTurns *t, uint32_t number)
{
    return t->bits[number / 32] >> (number % 32) & 1;
}

bool qdma_turns_next(ErnicQdmaTurns *t, uint32_t *number)
{
    uint32_t from = t->next % ERNIC_QDMA_QUEUES, bits, i, word;

    for (i = 0; i <= WORDS; i++) {
        word = (from / 32 + i) % WORDS;
        bits = t->bits[word] & (i ? ~0u : ~0u << from % 32);
        if (bits) {
            *number = word * 32 + ctz32(bits);
            t->next = *number + 1;
            return true;
        }
    }
    return false;
}
