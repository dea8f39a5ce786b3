// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Protection domains, memory regions and windows, address handles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ernic.h"
#include "ernic_cmd.h"

/* ---- domains ------------------------------------------------------------- */

struct ibv_pd *ernic_alloc_pd(struct ibv_context *ibctx)
{
	struct uernic_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct ernic_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd),
			     &resp.ibv_resp, sizeof(resp))) {
		free(pd);
		return NULL;
	}
	return &pd->ibv_pd;
}

struct ibv_pd *ernic_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	struct ernic_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibv_pd.context = ibctx;
	pd->ibv_pd.handle = handle;
	return &pd->ibv_pd;
}

void ernic_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_ernic_pd(ibpd));
}

struct ibv_td *ernic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr)
{
	struct ernic_td *td;

	if (attr->comp_mask)
		return ernic_create_failed(NULL, EOPNOTSUPP);
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = ibctx;
	return &td->ibv_td;
}

int ernic_dealloc_td(struct ibv_td *ibtd)
{
	struct ernic_td *td = to_ernic_td(ibtd);

	if (atomic_load(&td->refs))
		return ernic_error(EBUSY);
	free(td);
	return 0;
}

struct ibv_pd *
ernic_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr)
{
	struct ernic_pd *pd, *inner;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (attr->comp_mask & ~(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))
		return ernic_create_failed(NULL, EOPNOTSUPP);
	inner = to_ernic_pd(attr->pd);
	if (inner->inner)
		return ernic_create_failed(NULL, EINVAL);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ibv_initialize_parent_domain(&pd->ibv_pd, attr->pd);
	pd->inner = inner;
	atomic_fetch_add(&inner->refs, 1);
	if (attr->td) {
		pd->td = to_ernic_td(attr->td);
		atomic_fetch_add(&pd->td->refs, 1);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	return &pd->ibv_pd;
}

void ernic_pd_ref(struct ernic_pd *pd)
{
	if (pd)
		atomic_fetch_add(&pd->refs, 1);
}

void ernic_pd_unref(struct ernic_pd *pd)
{
	if (pd)
		atomic_fetch_sub(&pd->refs, 1);
}

int ernic_dealloc_pd(struct ibv_pd *ibpd)
{
	struct ernic_pd *pd = to_ernic_pd(ibpd);
	int ret;

	if (atomic_load(&pd->refs))
		return ernic_error(EBUSY);
	if (pd->inner) {
		atomic_fetch_sub(&pd->inner->refs, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->refs, 1);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

/* ---- memory -------------------------------------------------------------- */

struct ibv_mr *ernic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length,
			    uint64_t iova, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_mr(ibpd, addr, length, iova, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

int ernic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, ibpd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int ernic_advise_mr(struct ibv_pd *ibpd, enum ibv_advise_mr_advice advice,
		    uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(ibpd, advice, flags, sg_list, num_sge);
}

/* Imports a region of an imported context; the kernel has issued the handle. */
struct ibv_mr *ernic_import_mr(struct ibv_pd *ibpd, uint32_t handle)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		return NULL;
	if (ibv_cmd_query_mr(ibpd, vmr, handle)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

void ernic_unimport_mr(struct ibv_mr *ibmr)
{
	free(verbs_get_mr(ibmr));
}

int ernic_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (!ret)
		free(vmr);
	return ret;
}

struct ibv_mw *ernic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ernic_mw *mw = calloc(1, sizeof(*mw));

	if (!mw)
		return NULL;
	if (ibv_cmd_alloc_mw(ibpd, type, &mw->ibv_mw, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(mw);
		return NULL;
	}
	mw->rkey = mw->ibv_mw.rkey;
	return &mw->ibv_mw;
}

int ernic_dealloc_mw(struct ibv_mw *ibmw)
{
	int ret = ibv_cmd_dealloc_mw(ibmw);

	if (!ret)
		free(to_ernic_mw(ibmw));
	return ret;
}

/* ---- addresses ----------------------------------------------------------- */

struct ibv_ah *ernic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct uernic_create_ah_resp resp = {};
	struct ernic_ah *ah = calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	if (ibv_cmd_create_ah(ibpd, &ah->ibv_ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}
	memcpy(ah->av.dgid, attr->grh.dgid.raw, sizeof(ah->av.dgid));
	memcpy(ah->av.dmac, resp.drv_payload.dmac, sizeof(ah->av.dmac));
	ah->av.sgid_index = resp.drv_payload.sgid_index;
	ah->av.hop_limit = resp.drv_payload.hop_limit;
	ah->av.flow_label = htole32(attr->grh.flow_label & 0xfffff);
	ah->av.tclass = attr->grh.traffic_class;
	ah->pd = to_ernic_pd(ibpd);
	ernic_pd_ref(ah->pd);
	return &ah->ibv_ah;
}

int ernic_destroy_ah(struct ibv_ah *ibah)
{
	struct ernic_ah *ah = to_ernic_ah(ibah);
	int ret = ibv_cmd_destroy_ah(ibah);

	if (ret)
		return ret;
	ernic_pd_unref(ah->pd);
	free(ah);
	return 0;
}
