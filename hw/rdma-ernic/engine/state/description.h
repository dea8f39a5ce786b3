/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A stream begins with a description of what its writer knew: how many sections,
 * how many structures, and of each structure how many rows with how many elements.
 */
#ifndef ERNIC_STATE_DESCRIPTION_H
#define ERNIC_STATE_DESCRIPTION_H

#include "state/codec.h"

void ernic_state_describe(GByteArray *out, uint32_t sections);
/*
 * Fill in in->stream from the description of a writer of at most @sections sections.
 * False: it is not valid, or of a newer release.
 */
bool ernic_state_read_description(ErnicReader *in, uint32_t sections);
void ernic_state_stream_fini(ErnicStateStream *stream);

#endif /* ERNIC_STATE_DESCRIPTION_H */
