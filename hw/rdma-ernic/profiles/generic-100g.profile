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

mmio.latency            = 0 ns          # assumption: pcie.posted twice is all of it
mmio.packet             = 2 cycles      # assumption
command.latency         = 1 us          # assumption: firmware, beside what it reads and writes
command.packet          = 0 cycles      # contained in command.latency
doorbell.latency        = 0 ns          # assumption: pcie.posted is all of it
doorbell.packet         = 2 cycles      # assumption
arbiter.latency         = 10 ns         # assumption
arbiter.packet          = 4 cycles      # assumption: 125 M requests a second
wqe.latency             = 10 ns         # assumption
wqe.packet              = 0 cycles      # assumption: contained in arbiter.packet
wqe.batch               = 16 requests   # assumption: 1 KiB of queue in one fetch
wqe.fetch               = 50 ns         # assumption: what comes on top of a read over PCIe
wqe.outstanding         = 16 requests   # assumption
tx-context.latency      = 10 ns         # assumption: on-chip memory
tx-context.packet       = 1 cycle       # assumption
rx-context.latency      = 10 ns         # assumption: on-chip memory
rx-context.packet       = 1 cycle       # assumption
context.entries         = 1024 entries  # assumption
context.miss            = 50 ns         # as wqe.fetch
key.latency             = 10 ns         # assumption: on-chip memory
key.packet              = 1 cycle       # assumption
key.entries             = 4096 entries  # assumption
key.miss                = 50 ns         # as wqe.fetch
key.update              = 50 ns         # as dma-write.latency: its table is in memory
ack.latency             = 10 ns         # assumption
ack.packet              = 1 cycle       # assumption
ack.coalesce            = 1 requests    # assumption: none is held back
ack.delay               = 0 ns          # see above
outstanding.requests    = 64 requests   # assumption: as many as the model keeps decoded
retry.buffer            = 0 packets     # assumption: read again from memory
read-response.latency   = 10 ns         # assumption
read-response.packet    = 2 cycles      # assumption
read-response.overlap   = 16 responses  # assumption: as many as READs may be under way
dma-read.latency        = 50 ns         # assumption: what comes on top of pcie.completion
dma-read.packet         = 1 cycle       # assumption
dma-read.width          = 64 B/cycle    # assumption: 512-bit data path, 256 Gb/s
dma-read.outstanding    = 128 requests  # assumption: tags
dma-read.request        = 512 B         # assumption: greatest read request
build.latency           = 50 ns         # assumption: headers
build.packet            = 2 cycles      # assumption
build.close             = 0 cycles      # assumption
build.width             = 64 B/cycle    # assumption
build.buffer            = 32 packets    # assumption: 128 KiB
icrc.latency            = 30 ns         # assumption
icrc.packet             = 0 cycles      # assumption: as fast as build
icrc.width              = 64 B/cycle    # assumption
mac.latency             = 60 ns         # assumption
receive.latency         = 150 ns        # assumption
receive.packet          = 2 cycles      # assumption
receive.close           = 2 cycles      # assumption
receive.width           = 64 B/cycle    # assumption
receive.buffer          = 256 packets   # assumption: 1 MiB
dma-write.latency       = 50 ns         # assumption: what comes on top of pcie.posted
dma-write.packet        = 2 cycles      # assumption
dma-write.width         = 64 B/cycle    # assumption: 512-bit data path, 256 Gb/s
cqe.latency             = 50 ns         # assumption: what comes on top of pcie.posted
cqe.packet              = 4 cycles      # assumption
interrupt.latency       = 300 ns        # assumption: from the root complex to the processor
interrupt.packet        = 2 cycles      # assumption

pcie.speed              = 16 GT/s       # assumption: PCIe 4.0
pcie.lanes              = 16 lanes      # assumption
pcie.payload            = 256 B         # assumption: what most hosts set
pcie.completion         = 550 ns        # assumption
pcie.posted             = 200 ns        # assumption: one way
pcie.headers            = 64 credits    # assumption
pcie.data               = 1024 credits  # assumption: 16 KiB
pcie.credit-return      = 300 ns        # assumption: until UpdateFC, one way and back

# The DMA engines of a card's shell (shell=), with PCI Express in it.
shell.latency           = 1200 ns       # assumption: a descriptor and its data, two reads
shell.packet            = 4 cycles      # assumption
shell.width             = 64 B/cycle    # assumption: 512-bit data path, 256 Gb/s
