// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Device memory: mapped while it is allocated, copied in words.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>

#include "ernic.h"
#include "ernic_cmd.h"

/* Copies consist of whole words of so many bytes, as with other devices. */
#define DM_WORD 4

static bool dm_range_ok(const struct ernic_dm *dm, uint64_t offset,
			size_t length)
{
	return offset <= dm->length && length <= dm->length - offset &&
	       !(offset % DM_WORD) && !(length % DM_WORD);
}

static int dm_write(struct ibv_dm *ibdm, uint64_t offset, const void *from,
		    size_t length)
{
	struct ernic_dm *dm = to_ernic_dm(ibdm);

	if (!dm_range_ok(dm, offset, length))
		return ernic_error(EINVAL);
	memcpy((uint8_t *)dm->addr + offset, from, length);
	/* visible to the device before requests that are posted next */
	mmio_flush_writes();
	return 0;
}

static int dm_read(void *to, struct ibv_dm *ibdm, uint64_t offset,
		   size_t length)
{
	struct ernic_dm *dm = to_ernic_dm(ibdm);

	if (!dm_range_ok(dm, offset, length))
		return ernic_error(EINVAL);
	udma_from_device_barrier();
	memcpy(to, (uint8_t *)dm->addr + offset, length);
	return 0;
}

static size_t dm_bytes(const struct ernic_dm *dm)
{
	return align(dm->length, sysconf(_SC_PAGESIZE));
}

static int dm_map(struct ibv_context *ibctx, struct ernic_dm *dm,
		  uint64_t offset)
{
	dm->addr = mmap(NULL, dm_bytes(dm), PROT_READ | PROT_WRITE, MAP_SHARED,
			ibctx->cmd_fd, offset);
	if (dm->addr == MAP_FAILED)
		return errno;
	dm->vdm.dm.context = ibctx;
	dm->vdm.dm.memcpy_to_dm = dm_write;
	dm->vdm.dm.memcpy_from_dm = dm_read;
	return 0;
}

struct ibv_dm *ernic_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			       1);
	struct ernic_dm *dm;
	uint64_t offset;
	int ret;

	if (attr->comp_mask || !attr->length)
		return ernic_create_failed(NULL, EINVAL);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	dm->length = attr->length;
	fill_attr_out_ptr(cmd, ERNIC_ATTR_ALLOC_DM_OFFSET, &offset);
	ret = ibv_cmd_alloc_dm(ibctx, attr, &dm->vdm, cmd);
	if (ret)
		goto err;
	ret = dm_map(ibctx, dm, offset);
	if (ret)
		goto err_dm;
	return &dm->vdm.dm;

err_dm:
	ibv_cmd_free_dm(&dm->vdm);
err:
	return ernic_create_failed(dm, ret);
}

int ernic_free_dm(struct ibv_dm *ibdm)
{
	struct ernic_dm *dm = to_ernic_dm(ibdm);
	int ret = ibv_cmd_free_dm(&dm->vdm);

	if (ret)
		return ret;
	munmap(dm->addr, dm_bytes(dm));
	free(dm);
	return 0;
}

struct ibv_dm *ernic_import_dm(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, ERNIC_METHOD_DM_QUERY, 2);
	struct ernic_dm *dm = calloc(1, sizeof(*dm));
	struct ernic_dm_resp resp;

	if (!dm)
		return NULL;
	fill_attr_in_obj(cmd, ERNIC_ATTR_QUERY_DM_HANDLE, handle);
	fill_attr_out_ptr(cmd, ERNIC_ATTR_QUERY_DM_RESP, &resp);
	if (execute_ioctl(ibctx, cmd))
		goto err;
	dm->length = resp.length;
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	if (dm_map(ibctx, dm, resp.mmap_offset))
		goto err;
	return &dm->vdm.dm;

err:
	free(dm);
	return NULL;
}

void ernic_unimport_dm(struct ibv_dm *ibdm)
{
	struct ernic_dm *dm = to_ernic_dm(ibdm);

	munmap(dm->addr, dm_bytes(dm));
	free(dm);
}

struct ibv_mr *ernic_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t length,
			       unsigned int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));

	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_dm_mr(ibpd, &to_ernic_dm(ibdm)->vdm, offset, length,
			      access, vmr, NULL)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}
