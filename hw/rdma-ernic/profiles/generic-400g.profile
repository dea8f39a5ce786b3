# SPDX-License-Identifier: GPL-2.0-or-later
#
# generic-100g on a wire of 400 Gb/s, twice as fast inside and on both sides of the
# packet paths twice as wide, behind PCIe 5.0 x16 or better.

base = generic-100g

wire.rate               = 400 Gb/s      # its name
clock.core              = 1 GHz         # assumption
clock.host              = 1 GHz         # assumption: 512-bit data path, 512 Gb/s
dma-read.outstanding    = 256 requests  # assumption: 400 Gb/s times 600 ns is 30 KiB
build.buffer            = 64 packets    # assumption: 256 KiB
receive.buffer          = 512 packets   # assumption: 2 MiB

pcie.speed              = 32 GT/s       # assumption: PCIe 5.0
pcie.headers            = 128 credits   # assumption: 16 KiB would be as fast as the wire
pcie.data               = 2048 credits  # assumption: see above
