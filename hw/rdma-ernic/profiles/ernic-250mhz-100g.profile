# SPDX-License-Identifier: GPL-2.0-or-later
#
# The same core in a user box of 250 MHz, as RecoNIC places it. Memory takes as many
# ns as before; what is counted in cycles gets shorter.

base = ernic-200mhz-100g

clock.core              = 250 MHz       # RecoNIC: OpenNIC's 250 MHz user box
clock.host              = 250 MHz       # RecoNIC: see above
