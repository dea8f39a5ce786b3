# SPDX-License-Identifier: GPL-2.0-or-later
#
# The devices in QEMU's fuzzer (scripts/qemu-tree --fuzz): a machine and ours.
CONFIG_I440FX=y
CONFIG_ERNIC=y
