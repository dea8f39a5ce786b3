# SPDX-License-Identifier: GPL-2.0-or-later
#
# An RDMA NIC of no maker in particular, behind PCIe 4.0 x16, fast enough to be
# limited by its wire from messages of 1 KiB on. Nothing in it is measured: it is a
# peer for the other profiles, and a start for a profile of one's own.

clock.core              = 500 MHz       # assumption
clock.host              = 500 MHz       # assumption: PCIe core with a 512-bit data path

wire.rate               = 100 Gb/s      # its name
wire.extra              = 24 B          # IEEE 802.3: preamble 8, FCS 4, gap 12
wire.shortest           = 60 B          # IEEE 802.3: 64 with FCS
wire.flight             = 15 ns         # assumption: 3 m of cable

doorbell.latency        = 200 ns        # assumption: posted write over PCIe
doorbell.packet         = 2 cycles      # assumption
wqe.latency             = 20 ns         # assumption: arbitration
wqe.packet              = 4 cycles      # assumption: 125 M requests a second
wqe.batch               = 16 requests   # assumption: 1 KiB of queue in one fetch
wqe.fetch               = 600 ns        # assumption: read over PCIe
wqe.outstanding         = 16 requests   # assumption
tx-context.latency      = 10 ns         # assumption: on-chip memory
tx-context.packet       = 1 cycle       # assumption
rx-context.latency      = 10 ns         # assumption: on-chip memory
rx-context.packet       = 1 cycle       # assumption
context.entries         = 1024 entries  # assumption
context.miss            = 600 ns        # as wqe.fetch: read over PCIe
key.latency             = 10 ns         # assumption: on-chip memory
key.packet              = 1 cycle       # assumption
key.entries             = 4096 entries  # assumption
key.miss                = 600 ns        # as wqe.fetch: read over PCIe
key.update              = 250 ns        # as dma-write.latency: its table is in memory
read-response.latency   = 10 ns         # assumption
read-response.packet    = 2 cycles      # assumption
read-response.overlap   = 16 responses  # assumption: as many as READs may be under way
dma-read.latency        = 600 ns        # assumption: read over PCIe
dma-read.packet         = 1 cycle       # assumption
dma-read.width          = 64 B/cycle    # assumption: 256 Gb/s, PCIe 4.0 x16
dma-read.outstanding    = 128 requests  # assumption: tags
dma-read.request        = 512 B         # assumption: greatest read request
build.latency           = 80 ns         # assumption
build.packet            = 2 cycles      # assumption
build.close             = 0 cycles      # assumption
build.width             = 64 B/cycle    # assumption
build.buffer            = 32 packets    # assumption: 128 KiB
mac.latency             = 60 ns         # assumption
receive.latency         = 150 ns        # assumption
receive.packet          = 2 cycles      # assumption
receive.close           = 2 cycles      # assumption
receive.width           = 64 B/cycle    # assumption
receive.buffer          = 256 packets   # assumption: 1 MiB
dma-write.latency       = 250 ns        # assumption: posted write over PCIe
dma-write.packet        = 2 cycles      # assumption
dma-write.width         = 64 B/cycle    # assumption: 256 Gb/s, PCIe 4.0 x16
cqe.latency             = 250 ns        # assumption: posted write over PCIe
cqe.packet              = 4 cycles      # assumption
interrupt.latency       = 500 ns        # assumption: MSI-X over PCIe
interrupt.packet        = 2 cycles      # assumption
