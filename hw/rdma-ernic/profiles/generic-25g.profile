# SPDX-License-Identifier: GPL-2.0-or-later
#
# generic-100g on a wire of 25 Gb/s.

base = generic-100g

wire.rate               = 25 Gb/s       # its name

pcie.speed              = 8 GT/s        # assumption: PCIe 3.0
pcie.lanes              = 8 lanes       # assumption
