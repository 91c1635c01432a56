/* SPDX-License-Identifier: GPL-2.0 */
/* The module's version. */
#ifndef VPERFCTR_DRIVER_VERSION_H
#define VPERFCTR_DRIVER_VERSION_H

#define DRIVER_VERSION		"0.1.0"

#endif /* VPERFCTR_DRIVER_VERSION_H */
