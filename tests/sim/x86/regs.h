/* SPDX-License-Identifier: GPL-2.0 */
/* The drivers' registers: the model of the unit tests.  Included ahead of each source file. */
#include "../../unit/driver/regs.h"

/* The unit tests replace rdpmc.h.  The simulation has the real one, and CR4 of each CPU. */
#undef VPERFCTR_X86_RDPMC_H
#undef perfctr_user_rdpmc
#define perfctr_user_rdpmc()	sim_user_rdpmc()
