/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenarios that run on the simulated machine and on a real kernel, and must give the
 * same record on both: see README.md.
 *
 * They use only what is declared here.  real.c implements it by the simulation's
 * calls of user space, ../guest/test_real_record.c by system calls.  Processes share
 * nothing but `shared`.
 */
#ifndef SIM_REAL_SCENARIOS_H
#define SIM_REAL_SCENARIOS_H

#include <stdio.h>
#include <linux/vperfctr.h>

struct real_scenario {
	const char *name;
	void (*func)(void);
};

extern const struct real_scenario real_scenarios[];
extern const unsigned int nr_real_scenarios;

/*
 * Write the lines that a task has recorded, "NAME: TEXT", without those that need not be the same
 * in each run.  Callbacks are NAME: <CALLBACK>.
 */
void write_real_task(FILE *to, const char *lines);

/* Zero when a scenario starts. */
struct shared { volatile unsigned int step; };
extern struct shared *shared;

/*
 * Execute that many units of instructions in user mode.  The instructions of everything else that
 * a task does in user mode are less than one.
 */
#define UNIT		1000000
#define REAL_SIGNAL	40
void work(unsigned int units);

/* Write a line to the record.  Its order among the task's calls of the module is part of it. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

/* Calls return 0 or more, or a negative errno, and write a note with it. */
int open_own_state(unsigned int flags);
int control_counter(int fd, unsigned int flags);	/* user-mode instructions in counter 0 */
int control_period(int fd, unsigned int halves, int signal, unsigned int flags);
int control_nothing(int fd);
int simple_call(int fd, unsigned int cmd, const char *name);
#define call_state(fd, cmd)	simple_call(fd, VPERFCTR_##cmd, #cmd)
int make_ring(int fd, unsigned int nrsamples);
int close_state(int fd);

/* READ, and note the counts in units, the status and the signals that the task has received. */
int read_state(int fd);
/* Wait until READ does not report children. */
void wait_for_children(int fd);

/* Map the page; touch it; unmap it.  One mapping of a task at a time. */
void map_page(int fd);
void touch_page(void);
void unmap_page(void);

/* The first map and the samples that a ring has. */
void map_ring(int fd);
void note_ring(void);

struct task;
struct task *start_process(const char *name, void (*func)(int fd), int fd);
struct task *start_thread(const char *name, void (*func)(int fd), int fd);
void wait_for_end(struct task *task);
void kill_task(struct task *task);
void wait_for_step(unsigned int step);

/* Execute a file, which goes on with this function and ends. */
__attribute__((noreturn)) void execute(void (*func)(int fd), int fd);

#endif /* SIM_REAL_SCENARIOS_H */
