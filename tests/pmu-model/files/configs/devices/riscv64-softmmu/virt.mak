# SPDX-License-Identifier: LGPL-2.1-or-later
# just enough for -M virt: its own serial port, a card with more, no disks, no network
CONFIG_RISCV_VIRT=y
CONFIG_SERIAL_PCI_MULTI=y
