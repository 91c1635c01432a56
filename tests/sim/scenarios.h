/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIM_SCENARIOS_H
#define SIM_SCENARIOS_H

#include "sim.h"

/* Calls of user space.  A negative errno is a failure. */
int sim_open(s32 tid, u32 flags);
int sim_control(int fd, u32 flags);
int sim_read(int fd);
#define sim_must(call)	\
	({ long sim_ret = (call); sim_require(sim_ret >= 0, #call ": %ld", sim_ret); sim_ret; })

/* litmus.c */
void sim_weak_buffering(void);
void sim_weak_buffering_wmb(void);
void sim_weak_buffering_release(void);
void sim_weak_buffering_unlock(void);
void sim_weak_buffering_bit(void);
void sim_weak_message(void);
void sim_strong_buffering_mb(void);
void sim_strong_buffering_xchg(void);
void sim_strong_buffering_bit_mb(void);
void sim_strong_message_wmb(void);
void sim_strong_message_unlock(void);
void sim_strong_message_release(void);

/* scale.c */
void sim_scale(void);

/* A scenario is called in a task of the kernel, with the module loaded. */
struct scenario {
	const char *name;
	void (*func)(void);
	unsigned int cpus;
	struct sim_processor processor;
	bool only_by_name;		/* not one of all */
};

extern const struct scenario sim_scenarios[];
extern const unsigned int sim_nr_scenarios;

#endif /* SIM_SCENARIOS_H */
