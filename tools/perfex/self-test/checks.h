/* SPDX-License-Identifier: GPL-2.0 */
/* perfex --self-test: what its checks share. */
#ifndef PERFEX_CHECKS_H
#define PERFEX_CHECKS_H

#include <sched.h>
#include <setjmp.h>
#include "perfex.h"

enum outcome { PASSED, FAILED, SKIPPED };

#define MAX_KINDS	8

/* The machine, as it was before the first check. */
struct self_test {
	struct vperfctr_info kind[MAX_KINDS];
	unsigned int nrkinds;
	/*
	 * CPUs of each kind that can count, and on which perfex may run.  The check "start"
	 * removes those on which counting cannot be started, so that the others are checked.
	 */
	cpu_set_t usable[MAX_KINDS];
	uint64_t nmis;			/* so far, on all CPUs */
	int64_t log_last;		/* the number of the last line that /dev/kmsg had */
	char log_error[80];		/* why it cannot be read, or empty */
	FILE *report;			/* or NULL */
	/* of the check that runs */
	int cpu;			/* where it was put last; -1: nowhere */
	enum outcome outcome;
	char text[512];
	jmp_buf end;
};

struct check {
	const char *name, *what;
	enum outcome (*run)(struct self_test *t);
	bool on_request;		/* only if it is named */
};

#define CHECK(n, w, fn)			{ .name = (n), .what = (w), .run = (fn) }
#define CHECK_ON_REQUEST(n, w, fn) { .name = (n), .what = (w), .run = (fn), .on_request = true }
#define CHECKS_END			{ .name = NULL }

/* One sentence says what was found, and is the result of a check. */
enum outcome passed(struct self_test *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum outcome failed(struct self_test *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum outcome skipped(struct self_test *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* End the check from wherever it is. */
void fail_check(struct self_test *t, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
void skip_check(struct self_test *t, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* ---- CPUs ----------------------------------------------------------------- */

/* Run on this CPU only. */
void pin(struct self_test *t, unsigned int cpu);
/* Call fn for each usable CPU of each kind, on that CPU. */
void on_each_cpu(struct self_test *t,
		 void (*fn)(struct self_test *t, const struct vperfctr_info *kind,
			    unsigned int cpu));
/* The first usable CPU of the first kind that has one; perfex runs there afterwards. */
unsigned int pin_to_first(struct self_test *t, const struct vperfctr_info **kind);
unsigned int nr_usable(const struct self_test *t);
/* Interrupts of a CPU so far: all of them, or those of one line ("NMI"). */
uint64_t interrupts_of(unsigned int cpu, const char *line);
uint64_t nr_of_nmis(void);

/* ---- counting ------------------------------------------------------------- */

struct counting {
	struct vperfctr *v;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	unsigned int nr;
};

/* A counter for this event, as control->ctr takes it.  The check is skipped if there is none. */
struct vperfctr_ctr counter_for(struct self_test *t, const struct vperfctr_info *kind,
				const char *event);
/* True if the counters cannot tell user mode from kernel mode. */
bool counts_all_modes(const struct vperfctr_info *kind);
/* A counter for instructions in user mode, or in all modes if there is no other. */
struct vperfctr_ctr counter_for_instructions(struct self_test *t, const struct vperfctr_info *kind);
/* The check is skipped if the counters also count what the kernel does. */
void require_modes(struct self_test *t, const struct vperfctr_info *kind);
/* Append counters; a period makes an i-mode counter. */
void add_counter(struct counting *c, struct vperfctr_ctr ctr, uint64_t period);
/*
 * All counters of the kind that count instructions, as counter_for_instructions() does.  The
 * check is skipped if there is none.
 */
unsigned int add_instructions(struct self_test *t, const struct vperfctr_info *kind,
			      struct counting *c);
void init_counting(struct counting *c, const struct vperfctr_info *kind);
/* Try to start counting.  Return: 0, or -1 with *e: why counting cannot be started. */
int try_counting(struct counting *c, struct error *e);
/* Start counting.  If that fails, skip the check: the check "start" reports the failure. */
void start_counting(struct self_test *t, struct counting *c);
void stop_counting(struct counting *c);
/* Return counter i's count so far; *overflow: the counters that wait after an overflow. */
uint64_t read_count(struct self_test *t, struct counting *c, unsigned int i, uint64_t *overflow);
/*
 * Execute 2n instructions and store what each counter has counted meanwhile, less the cost
 * of reading: the least of `times` attempts.
 */
void count_loop(struct self_test *t, struct counting *c, unsigned long n, unsigned int times,
		uint64_t *counts);

/* "general counter 3" */
const char *counter_name(char *buf, size_t size, uint32_t map);

/* ---- code of known length ------------------------------------------------- */

/* Execute 2n instructions; n is at least 1. */
static inline void known_loop(unsigned long n)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("1:	dec	%0\n"
			 "	jnz	1b" : "+r" (n) : : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1:	sub	%0, %0, #1\n"
			 "	cbnz	%0, 1b" : "+r" (n));
#elif defined(__riscv)
	__asm__ volatile("1:	addi	%0, %0, -1\n"
			 "	bnez	%0, 1b" : "+r" (n));
#elif defined(__powerpc__)
	__asm__ volatile("1:	addic.	%0, %0, -1\n"
			 "	bne	1b" : "+r" (n) : : "cr0", "xer");
#else
#error Add a loop of two instructions for this architecture.
#endif
}

/* ---- registers ------------------------------------------------------------ */

struct msr {
	uint32_t address;
	char name[40];
	uint64_t idle;		/* bits that must be clear before anything counts */
	uint64_t counting;	/* the same while the module counts */
};

/* The register that enables all counters of a CPU, or 0. */
uint64_t enabling_register(const struct self_test *t, unsigned int cpu);
/*
 * Read a register of a CPU by the msr driver.  Return: 0 or -errno; -ENOENT: there is no msr
 * driver; -EIO: there is no such register.
 */
int read_msr(unsigned int cpu, uint32_t address, uint64_t *value);
/* The version of what a report says, which is its first line. */
#define REPORT_FORMAT	2

/* A directory with the files that the kernel has; tests have others. */
extern const char *facts_root;
/* Print the machine and its registers into the report. */
void describe_machine(const struct self_test *t, FILE *f);
void describe_registers(const struct self_test *t, FILE *f, const char *when);
/*
 * Print those of a CPU (-1: none) at the end of a check that has failed: the check does, while it
 * still counts, or its parent, if it cannot.
 */
void describe_failure(const struct self_test *t, FILE *f, const char *check, int cpu);

/* Seconds for one check.  Tests have less. */
extern unsigned int check_limit;

/* The checks, ended by one without a name. */
extern const struct check register_checks[], count_checks[], counting_register_checks[],
	interrupt_checks[], other_checks[], machine_checks[];

/* ---- the kernel's log ------------------------------------------------------ */

struct log_line {
	int64_t number;
	bool of_kernel;			/* and not written by a program */
	const char *text;
};

typedef void (*log_reader_fn)(void *arg, const struct log_line *line);

/* Find out what the log has before the first check. */
void begin_log(struct self_test *t);
/* True if this line says why the module cannot count on a CPU. */
bool is_why_no_start(const struct log_line *line);
/* Call fn for each line before that. */
void read_old_log(const struct self_test *t, log_reader_fn fn, void *arg);
/* Call fn for each line since then. */
void read_log(const struct self_test *t, log_reader_fn fn, void *arg);
/*
 * Write what a report has of a line, which is for strangers.
 * Return: false: nothing, as it is a program's, of other things than counters and CPUs, or private
 */
bool tell_line(const struct log_line *line, char *told, size_t size);

#endif /* PERFEX_CHECKS_H */
