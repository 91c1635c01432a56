/* SPDX-License-Identifier: GPL-2.0 */
/* The drivers' registers: the model of the unit tests.  Included ahead of each source file. */
#include "../../unit/arm64/regs.h"

/* The generic timer is as fast as the TSC, so that the same scenarios fit. */
#undef perfctr_tsc_khz
#define perfctr_tsc_khz()	tsc_khz
