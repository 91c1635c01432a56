# SPDX-License-Identifier: LGPL-2.1-or-later
# just enough for -M mac99 and -M g3beige, and a card with serial ports
CONFIG_MAC_NEWWORLD=y
CONFIG_MAC_OLDWORLD=y
CONFIG_USB_OHCI_PCI=y
CONFIG_SERIAL_PCI_MULTI=y
