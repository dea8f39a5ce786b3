/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of the engine of the verbs and the mlx5 interface.
 */
#ifndef ERNIC_DEVICE_ENV_H
#define ERNIC_DEVICE_ENV_H

#include "engine/base/env.h"

extern const ErnicEnvOps ernic_pci_env_ops;

#endif /* ERNIC_DEVICE_ENV_H */
