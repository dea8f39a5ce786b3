// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of processes and the responses to them. The process may be older or newer
 * than the driver: structures grow at their end only, and 0 in a new member means
 * what its absence means.
 */
#include "ernic_verbs.h"

int ernic_request_copy(struct ib_udata *udata, void *req, size_t size,
		       size_t least, size_t known)
{
	if (udata->inlen < least)
		return -EINVAL;
	if (udata->inlen > known &&
	    !ib_is_udata_cleared(udata, known, udata->inlen - known))
		return -EOPNOTSUPP;
	memset(req, 0, size);
	return ib_copy_from_udata(req, udata, min(known, udata->inlen));
}

int ernic_no_request(struct ib_udata *udata)
{
	if (!udata || !udata->inlen ||
	    ib_is_udata_cleared(udata, 0, udata->inlen))
		return 0;
	return -EOPNOTSUPP;
}

int ernic_respond(struct ib_udata *udata, const void *resp, size_t len)
{
	if (!udata)
		return 0;
	return ib_copy_to_udata(udata, (void *)resp, min(len, udata->outlen));
}
