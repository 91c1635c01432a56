# SPDX-License-Identifier: LGPL-2.1-or-later
# just enough for -M pc: serial port, PCI, no disks, no network
CONFIG_I440FX=y
