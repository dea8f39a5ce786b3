# SPDX-License-Identifier: GPL-2.0-or-later
#
# ERNIC (PG332 3.1) with a core clock of 200 MHz on a 100 GbE MAC, its queues and
# buffers in DDR of the same board: the "ERNIC 250-SoC" reference design, whose
# user guide (UG, section 7.4.4) has the measurements that "fitted" refers to.
# docs/timing.md explains every parameter.

clock.core              = 200 MHz       # PG332: AXI4 clock of the core, its greatest
clock.host              = 200 MHz       # PG332: the AXI4 masters run in the core's clock

wire.rate               = 100 Gb/s      # UG 7.4.4: 100 GbE CMAC
wire.extra              = 24 B          # IEEE 802.3: preamble 8, FCS 4, gap 12
wire.shortest           = 60 B          # IEEE 802.3: 64 with FCS
wire.flight             = 15 ns         # estimate: 3 m of cable

mmio.latency            = 400 ns        # as doorbell.latency, there and back
mmio.packet             = 2 cycles      # as doorbell.packet
command.latency         = 1 us          # estimate: the core has none; what a driver stores
command.packet          = 0 cycles      # contained in command.latency
doorbell.latency        = 200 ns        # estimate: AXI-Lite store, clock crossing
doorbell.packet         = 2 cycles      # PG332: register clock, half of the core's
arbiter.latency         = 20 ns         # estimate: round robin over all queue pairs
arbiter.packet          = 1 cycle       # estimate: a grant
wqe.latency             = 30 ns         # estimate: check of the opcode
wqe.packet              = 1 cycle       # estimate: 64 bytes on the 512-bit bus
wqe.batch               = 8 requests    # estimate: PG332 says "prefetches", not how many
wqe.fetch               = 365 ns        # as dma-read.latency: the same memory
wqe.outstanding         = 2 requests    # estimate: as few as a simple prefetcher has
tx-context.latency      = 20 ns         # estimate: on-chip memory
tx-context.packet       = 1 cycle       # estimate
rx-context.latency      = 20 ns         # estimate: on-chip memory
rx-context.packet       = 1 cycle       # estimate
context.entries         = 0 entries     # PG332: all queue pairs are on chip, none misses
context.miss            = 0 ns          # PG332: see above
key.latency             = 20 ns         # estimate: on-chip table
key.packet              = 1 cycle       # estimate
key.entries             = 0 entries     # PG332: all regions are on chip, none misses
key.miss                = 0 ns          # PG332: see above
key.update              = 0 ns          # PG332: software writes the table itself
ack.latency             = 10 ns         # estimate: syndrome and MSN from the context
ack.packet              = 1 cycle       # estimate
ack.coalesce            = 1 requests    # PG332: an ACK for what asks for one
ack.delay               = 0 ns          # see above
outstanding.requests    = 16 requests   # PG332: of a queue pair
retry.buffer            = 1024 packets  # DATBUFSZ: buffers of 4 KiB that AMD's driver sets up
read-response.latency   = 0 ns          # contained in dma-read.latency
read-response.packet    = 0 cycles      # contained in dma-read.latency
read-response.overlap   = 1 responses   # UG 7.4.4: incoming READ loses a gap per request
dma-read.latency        = 365 ns        # fitted: incoming READ, 16 KiB, 78.70 Gb/s
dma-read.packet         = 1 cycle       # estimate: address phase
dma-read.width          = 64 B/cycle    # PG332: 512-bit AXI4
dma-read.outstanding    = 16 requests   # estimate
dma-read.request        = 4096 B        # AXI4: a burst does not cross 4 KiB
build.latency           = 70 ns         # estimate: headers
build.packet            = 1 cycle       # estimate: gap between packets
build.close             = 2 cycles      # fitted: outgoing WRITE, 4 KiB, 95.38 Gb/s
build.width             = 64 B/cycle    # PG332: 512-bit AXI4-Stream
build.buffer            = 16 packets    # estimate: 64 KiB of transmit buffer
icrc.latency            = 30 ns         # estimate: ICRC, clock crossing
icrc.packet             = 0 cycles      # estimate: as fast as build
icrc.width              = 64 B/cycle    # PG332: 512-bit AXI4-Stream
mac.latency             = 100 ns        # estimate: CMAC
receive.latency         = 150 ns        # estimate: CMAC, parser, validation
receive.packet          = 1 cycle       # estimate: gap between packets
receive.close           = 18 cycles     # fitted: incoming SEND, 16 KiB, 92.85 Gb/s
receive.width           = 64 B/cycle    # PG332: 512-bit AXI4-Stream
receive.buffer          = 64 packets    # estimate: flow control manager
dma-write.latency       = 100 ns        # estimate: posted write to DDR
dma-write.packet        = 1 cycle       # estimate: address phase
dma-write.width         = 64 B/cycle    # PG332: 512-bit AXI4
cqe.latency             = 100 ns        # estimate: posted write to DDR
cqe.packet              = 4 cycles      # estimate: entry and doorbell write-back
interrupt.latency       = 100 ns        # estimate: wire to the processor
interrupt.packet        = 1 cycle       # estimate

# Nothing of this is behind PCI Express: what follows counts nothing.
pcie.speed              = 0 GT/s        # UG 7.4.4: queues and payload in memory of the board
pcie.lanes              = 0 lanes       # see above
pcie.payload            = 0 B           # see above
pcie.completion         = 0 ns          # see above
pcie.posted             = 0 ns          # see above
pcie.headers            = 0 credits     # see above
pcie.data               = 0 credits     # see above
pcie.credit-return      = 0 ns          # see above

# The DMA engines of a card's shell (shell=), which cross PCI Express: it is in here.
shell.latency           = 1 us          # estimate: a descriptor and its data, two reads
shell.packet            = 14 cycles     # fitted: DMA of pages at 250 MHz, see docs/timing.md
shell.width             = 64 B/cycle    # PG302: 512-bit AXI4
