/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lists and holes of a migration, as its destination gets them.
 */
#include "qemu/osdep.h"
#include "base/device.h"
#include "state/precopy.h"
#include "ahead.h"

#define MOST    (1u << 20)      /* bytes of all lists, and of the whole */
#define NUMBERS 16              /* of lists */
#define ENTRY   sizeof(uint64_t)

static ErnicPrecopied lists;
static GArray *holes;           /* of ErnicPrecopyHole */
static uint64_t moved;          /* bytes that ahead_move() took out of the state */
static uint32_t last;           /* where the state has the hole of the last ones */

void ahead_clear(void)
{
    ernic_precopied_clear(&lists);
    holes = holes ?: g_array_new(false, false, sizeof(ErnicPrecopyHole));
    g_array_set_size(holes, 0);
    moved = last = 0;
}

static void add_hole(uint64_t at, uint32_t number)
{
    ErnicPrecopyHole hole = { .at = at, .number = number };

    g_array_append_val(holes, hole);
}

void ahead_move(GByteArray *state, FuzzIn *in)
{
    uint32_t at, n;
    uint8_t *to;

    if (state->len < last) {
        return;
    }
    at = last + fuzz_u32(in) % (state->len - last + 1);
    n = MIN(fuzz_u16(in), (state->len - at) / ENTRY);
    to = ernic_precopy_take(&lists, &(ErnicPrecopyPart) {
        .number = lists.lists + 1, .length = n, .count = n,
    }, MOST);
    if (to) {
        memcpy(to, state->data + at, n * ENTRY);
        g_byte_array_remove_range(state, at, n * ENTRY);
        add_hole(at + moved, lists.lists);
        moved += n * ENTRY;
        last = at;
    }
}

void ahead_part(FuzzIn *in)
{
    ErnicPrecopyPart part = {
        .number = fuzz_u8(in) % NUMBERS, .length = fuzz_u32(in), .count = fuzz_u32(in),
    };
    uint8_t *to = ernic_precopy_take(&lists, &part, MOST);

    if (to) {
        fuzz_bytes(in, to, part.count * ENTRY);
    }
}

void ahead_hole(FuzzIn *in)
{
    uint64_t at = fuzz_u64(in);

    add_hole(at, fuzz_u8(in) % NUMBERS);
}

bool ahead_fill(GByteArray *state)
{
    size_t len = state->len;
    uint8_t *whole;

    if (!holes->len) {
        return true;
    }
    whole = ernic_precopy_fill(&lists, state->data, &len,
                               (ErnicPrecopyHole *)holes->data, holes->len, MOST);
    if (whole) {
        g_assert(len <= MOST);
        g_byte_array_set_size(state, 0);
        g_byte_array_append(state, whole, len);
        g_free(whole);
    }
    return whole;
}
