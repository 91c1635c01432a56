# SPDX-License-Identifier: LGPL-2.1-or-later
# just enough for -M pseries: its own console, a card with serial ports, no disks, no network;
# its code does not link without that of POWERNV
CONFIG_PSERIES=y
CONFIG_POWERNV=y
CONFIG_I2C=y
CONFIG_ACPI=y
CONFIG_SERIAL_PCI_MULTI=y
