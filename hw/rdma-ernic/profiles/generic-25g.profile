# SPDX-License-Identifier: GPL-2.0-or-later
#
# generic-100g on a wire of 25 Gb/s.

base = generic-100g

wire.rate               = 25 Gb/s       # its name
