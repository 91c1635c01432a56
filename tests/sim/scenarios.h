/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIM_SCENARIOS_H
#define SIM_SCENARIOS_H

#include "sim.h"

/* A scenario is called in a task of the kernel, with the module loaded. */
struct scenario {
	const char *name;
	void (*func)(void);
	unsigned int cpus;
	struct sim_processor processor;
};

extern const struct scenario sim_scenarios[];
extern const unsigned int sim_nr_scenarios;

#endif /* SIM_SCENARIOS_H */
