// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Methods of uverbs that the driver adds: a process that imports the context of
 * another asks them where to map doorbells and device memory.
 */
#define UVERBS_MODULE_NAME ernic
#include "ernic_verbs.h"
#include <rdma/uverbs_named_ioctl.h>
#include <rdma/uverbs_types.h>

int ernic_query_ucontext(struct ib_ucontext *ibuctx,
			 struct uverbs_attr_bundle *attrs)
{
	struct ernic_alloc_ucontext_resp resp;

	ernic_ucontext_resp(to_dev(ibuctx->device),
			    to_ucontext(ibuctx)->uctx, &resp);
	return uverbs_copy_to_struct_or_zero(attrs, ERNIC_ATTR_QUERY_CONTEXT,
					     &resp, sizeof(resp));
}

static int UVERBS_HANDLER(ERNIC_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs,
						 ERNIC_ATTR_QUERY_DM_HANDLE);
	struct ernic_dm_resp resp = {};

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	resp.mmap_offset = rdma_user_mmap_get_offset(&to_dm(ibdm)->entry);
	resp.length = ibdm->length;
	return uverbs_copy_to(attrs, ERNIC_ATTR_QUERY_DM_RESP, &resp,
			      sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(ernic_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
	UVERBS_ATTR_PTR_OUT(ERNIC_ATTR_QUERY_CONTEXT,
			    UVERBS_ATTR_STRUCT(struct ernic_alloc_ucontext_resp,
					       db_time_offset),
			    UA_MANDATORY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(ernic_dm_alloc, UVERBS_OBJECT_DM,
			     UVERBS_METHOD_DM_ALLOC,
	UVERBS_ATTR_PTR_OUT(ERNIC_ATTR_ALLOC_DM_OFFSET, UVERBS_ATTR_TYPE(u64),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(ERNIC_METHOD_DM_QUERY,
	UVERBS_ATTR_IDR(ERNIC_ATTR_QUERY_DM_HANDLE, UVERBS_OBJECT_DM,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(ERNIC_ATTR_QUERY_DM_RESP,
			    UVERBS_ATTR_TYPE(struct ernic_dm_resp),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(ernic_dm_query, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(ERNIC_METHOD_DM_QUERY));

const struct uapi_definition ernic_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &ernic_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &ernic_dm_alloc),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &ernic_dm_query),
	{}
};
