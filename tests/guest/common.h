/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that run against the live module have in common: the raw
 * ABI in a few calls, code of known length, and what it takes to look at a
 * state from several threads and processes.
 *
 * Nothing here needs libcheck.  Calls return a negative error number; what
 * fails for reasons that no test is about ends the program by die().
 */
#ifndef GUEST_COMMON_H
#define GUEST_COMMON_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <linux/vperfctr.h>

typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define PAGE		4096
#define NOBODY		65534

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* ---- the device -------------------------------------------------------- */

extern int dev;				/* /dev/vperfctr */
extern struct vperfctr_info info;

static inline bool has(u32 feature)
{
	return info.features & feature;
}

unsigned int nr_general(void);
unsigned int nr_fixed(void);

/* The maps of those that there are, the first being 0; there may be holes. */
u32 nth_general(unsigned int n);
u32 nth_fixed(unsigned int n);

/* Beyond the last one. */
u32 no_general(void);
u32 no_fixed(void);

/*
 * Of the processor: SEL_ and FIXED_ for the modes of an evntsel, INSNS_ and CYCLES_,
 * rdpmc() and rdtsc(), the signal that RDPMC gives where it is not allowed, and
 * loop(n) of 2n instructions.  FIXED_INSNS: the fixed counter of instructions, if
 * have_fixed_insns().
 */
#if defined(__aarch64__)
#include "arch-arm64.h"
#else
#include "arch-x86.h"
#endif

/*
 * Open the device and fill in the two above: the first call of every main().
 * The environment's KIND says for which kind of CPUs controls are, and the
 * program starts on one of them.
 */
void open_device(void);
u32 kind_cpus(u32 kind);	/* of the first 32 */

/* ioctl() that returns 0 or more, or -errno. */
int call(int fd, unsigned long cmd, const void *arg);

/* OPEN of the calling thread's state. */
int try_open_state(u32 flags);
int open_state(u32 flags);	/* CREAT is implied; dies */

/* Map the page; MAP_FAILED and errno, or die. */
const struct vperfctr_page *try_map_state(int fd);
const struct vperfctr_page *map_state(int fd);

/* ---- control and reading ------------------------------------------------ */

struct control {
	struct vperfctr_control c;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS + 1];
};

void control_init(struct control *control, u32 tsc_on);
void control_add(struct control *control, u32 map, u64 evntsel);
int set_control(int fd, struct control *control);

/* Start one general counter, 0; dies. */
void count(int fd, u64 evntsel);

/* The all-zero control. */
int stop_all(int fd);

struct sums {
	u64 tsc;
	u64 pmc[VPERFCTR_MAX_CTRS];
	u32 status;
	u32 nrctrs;
};

int try_read_sums(int fd, struct sums *sums);
void read_sums(int fd, struct sums *sums);	/* dies */
u32 status_of(int fd);

/* ---- instructions -------------------------------------------------------- */

/*
 * The owner's self-read of counter i, as the ABI has it.  *restarts says how
 * often it had to start over, which takes instructions.  Dies if RDPMC is not
 * to be used.
 */
u64 self_read_restarts(const struct vperfctr_page *page, unsigned int i, unsigned int *restarts);

static inline u64 self_read(const struct vperfctr_page *page, unsigned int i)
{
	unsigned int restarts;

	return self_read_restarts(page, i, &restarts);
}

u64 self_read_tsc(const struct vperfctr_page *page);

/* What the TSC counts at least while so many instructions are executed: 1 ns each. */
static inline u64 tsc_of(u64 instructions)
{
	return instructions * info.tsc_khz / 1000000;
}

/* Execute RDPMC: 0, or the signal that this gave, RDPMC_SIGNAL where it is not allowed. */
int try_rdpmc(u32 index, u64 *value);

/* Read a byte: 0, or the signal that this gave. */
int try_touch(const volatile void *address);

/* Ignore overflow signals with the numbers of faults; real faults still kill. */
void catch_faults(void);

/* ---- threads and processes ------------------------------------------------ */

/* Memory that stays shared after a fork; zero. */
void *shared_memory(size_t size);

/*
 * fork, except that parent and child have their descriptors in common, until
 * one of them executes a file: how one gets at the other's state.
 */
pid_t fork_files(void);

/* Wait for a child's end: its exit status, or 128 + the signal. */
int wait_for(pid_t pid);

void pin(int cpu);
void set_affinity(pid_t pid, u32 cpus);
int nr_cpus(void);

/* Can the test run on either of CPU 0 and 1, and be counted there? */
bool may_choose_cpu(void);

/* A PREEMPT_RT kernel? */
bool is_rt(void);

/* One of ours that checks all it does, which takes it several times the instructions? */
bool is_debug_kernel(void);

/* The one with KCSAN, which takes more again? */
bool is_kcsan_kernel(void);
void msleep(unsigned int ms);

/* perf's number of a hardware event, for the tested kind of CPUs. */
u64 perf_config(u64 config);

/* perf_event_open of a hardware event in user mode, for the caller; -errno. */
int perf_open(u64 config, bool on_exec);

/* As perf_open, with a sample each period; for 100 of them.  How many signals that gave. */
unsigned int perf_samples(u64 config, u64 period);

/* Have states got the counters, and perf not? */
bool perf_is_kept_out(void);

/* A file of a few bytes, in /proc or /sys; dies. */
void write_file(const char *path, const char *text);
void read_file(const char *path, char *text, size_t size);

#endif /* GUEST_COMMON_H */
