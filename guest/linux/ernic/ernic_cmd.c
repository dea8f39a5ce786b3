// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands as functions, with values in the byte order of the processor.
 */
#include "ernic.h"

int ernic_cmd_exec(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle)
{
	return ernic_com_exec(dev, cmd, handle, NULL, 0, NULL, 0);
}

int ernic_cmd_create(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle)
{
	int ret;

	mutex_lock(&dev->number_lock);
	ret = ernic_cmd_exec(dev, cmd, handle);
	mutex_unlock(&dev->number_lock);
	return ret;
}

int ernic_cmd_attr(struct ernic_dev *dev, struct ernic_cmd *cmd, u32 *handle,
		   const void *attr, size_t len)
{
	cmd->qp.addr = cpu_to_le64(ernic_com_buf(dev));
	cmd->qp.length = cpu_to_le32(len);
	return ernic_com_exec(dev, cmd, handle, attr, len, NULL, 0);
}

int ernic_cmd_query(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle,
		    void *out, size_t len)
{
	struct ernic_cmd cmd = { .opcode = opcode, .uctx = cpu_to_le32(uctx) };

	cmd.query.addr = cpu_to_le64(ernic_com_buf(dev));
	cmd.query.length = cpu_to_le32(len);
	cmd.query.handle = cpu_to_le32(handle);
	return ernic_com_exec(dev, &cmd, NULL, NULL, 0, out, len);
}

int ernic_cmd_alloc(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 *handle)
{
	struct ernic_cmd cmd = { .opcode = opcode, .uctx = cpu_to_le32(uctx) };

	return ernic_cmd_exec(dev, &cmd, handle);
}

int ernic_cmd_free(struct ernic_dev *dev, u8 opcode, u32 uctx, u32 handle)
{
	struct ernic_cmd cmd = { .opcode = opcode, .uctx = cpu_to_le32(uctx) };
	int ret;

	cmd.handle.handle = cpu_to_le32(handle);
	ret = ernic_cmd_exec(dev, &cmd, NULL);
	return ret && ernic_dead(dev) ? 0 : ret;
}

int ernic_cmd_set_gid(struct ernic_dev *dev, u8 index, const u8 *gid,
		      const u8 *mac, u16 vlan)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_GID };

	memcpy(cmd.set_gid.gid, gid, sizeof(cmd.set_gid.gid));
	memcpy(cmd.set_gid.mac, mac, sizeof(cmd.set_gid.mac));
	cmd.set_gid.vlan = cpu_to_le16(vlan);
	cmd.set_gid.index = index;
	return ernic_cmd_exec(dev, &cmd, NULL);
}

int ernic_cmd_set_pkey(struct ernic_dev *dev, u16 index, u16 pkey)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_SET_PKEY };

	cmd.set_pkey.index = cpu_to_le16(index);
	cmd.set_pkey.pkey = cpu_to_le16(pkey);
	return ernic_cmd_exec(dev, &cmd, NULL);
}

int ernic_cmd_eq_create(struct ernic_dev *dev, struct ernic_eq *eq,
			u16 vector, bool async)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_EQ_CREATE };

	cmd.eq_create.buf.addr = cpu_to_le64(eq->dma);
	cmd.eq_create.depth = cpu_to_le32(ERNIC_EQ_DEPTH);
	cmd.eq_create.vector = cpu_to_le16(vector);
	cmd.eq_create.async = async;
	return ernic_cmd_exec(dev, &cmd, &eq->eqn);
}

int ernic_cmd_qp_modify(struct ernic_dev *dev, u32 uctx, u32 qpn,
			const struct ernic_qp_attr *attr)
{
	struct ernic_cmd cmd = {
		.opcode = ERNIC_CMD_QP_MODIFY,
		.uctx = cpu_to_le32(uctx),
	};

	cmd.qp.handle = cpu_to_le32(qpn);
	return ernic_cmd_attr(dev, &cmd, NULL, attr, sizeof(*attr));
}
