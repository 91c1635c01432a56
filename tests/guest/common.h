/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs that run against the live module: the raw ABI in a few
 * calls, code of known length, and means to inspect a state from several threads
 * and processes.
 *
 * Nothing here needs libcheck.  Calls return a negative error number.  A failure
 * that no test is about ends the program by die().
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

#ifdef __powerpc64__
/* Kernels have pages of 4 KiB or of 64. */
extern int page_size;
#define PAGE		page_size
#define MAX_PAGE	65536
#else
#define PAGE		4096
#define MAX_PAGE	4096
#endif
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

/* The maps of the counters that exist, from 0; there may be holes. */
u32 nth_general(unsigned int n);
u32 nth_fixed(unsigned int n);

/*
 * With SKIP_KEPT in the environment, programs that use general counters from 0 on run where the
 * NMI watchdog keeps counter 0: maps that are added to a control become those that exist.  It is
 * not for programs that use a map for anything else.
 */
u32 skip_kept_counters(u32 map);

/* The properties of a kind of CPUs; NULL if there is none. */
const struct vperfctr_info *kind_info(u32 kind);

/* General counters that all kinds have; there are no holes between them. */
unsigned int nr_common_general(void);

/* The first map beyond the last counter. */
u32 no_general(void);
u32 no_fixed(void);

/*
 * An instruction that raises an exception instead of completing, and the signal that this sends;
 * 0: the kernel emulates the instruction.
 */
struct fault {
	const char *name;
	u32 code;
	int signal;
};

/*
 * Each architecture's header defines SEL_ and FIXED_ for the modes of an evntsel, INSNS_
 * and CYCLES_, rdpmc() and rdtsc(), and loop(n) of 2n instructions.  RDPMC_SIGNAL is the
 * signal that a forbidden RDPMC raises.  FIXED_INSNS is the fixed counter of instructions, if
 * have_fixed_insns().
 */
#if defined(__aarch64__)
#include "arch-arm64.h"
#elif defined(__riscv)
#include "arch-riscv.h"
#elif defined(__powerpc64__)
#include "arch-powerpc.h"
#elif defined(__powerpc__)
#include "arch-ppc32.h"
#else
#include "arch-x86.h"
#endif

/* True if /proc/interrupts has a line for function calls of other CPUs. */
#ifndef CALLS_ARE_SHOWN
#define CALLS_ARE_SHOWN		true
#endif

/* A device of ours that takes the counters as perf does, where perf has no driver. */
#ifndef PMC_USER
#define PMC_USER		""
#endif

/* False if the instruction of a system call is not counted, because it raises an exception. */
#ifndef SYSTEM_CALLS_COMPLETE
#define SYSTEM_CALLS_COMPLETE	true
#endif

/* The number of units that the kernel disables at context switches, and enables by a fault. */
#ifndef MAX_DISABLED_UNITS
#define MAX_DISABLED_UNITS	0
#endif

/* The tests' own read takes fewer instructions, times OVERHEAD_FACTOR: inline, and by READ. */
#ifndef MOST_READ
#define MOST_READ		50
#endif
#ifndef MOST_READ_BY_KERNEL
#define MOST_READ_BY_KERNEL	100
#endif

/* True if all counters of a control have the same modes. */
#ifndef MODES_ARE_SHARED
#define MODES_ARE_SHARED	false
#endif

/* True if user space cannot have this address: 32-bit kernels leave it 3 GB. */
static inline bool is_kernel_address(u64 address)
{
#if defined(__i386__) || defined(__powerpc__) && !defined(__powerpc64__)
	return address >= 0xc0000000;
#else
	return address >> 63;
#endif
}

/*
 * Limits of overheads are this many times as large in 32-bit code, which has few registers and
 * handles a sum in two halves.  On POWER a call of libc goes through a stub that saves and loads
 * the pointer to the table of addresses.
 */
#if defined(__powerpc64__)
#define OVERHEAD_FACTOR		2
#else
#define OVERHEAD_FACTOR		(8 / sizeof(long))
#endif

/* Load the head of a ring before what is in the ring. */
static inline u64 load_head(const volatile void *head)
{
#if defined(__powerpc__) && !defined(__powerpc64__)
	/* There is no load of 64 bits, and no test makes 2^32 samples. */
	return __atomic_load_n((const volatile u32 *)head + 1, __ATOMIC_ACQUIRE);
#else
	return __atomic_load_n((const volatile u64 *)head, __ATOMIC_ACQUIRE);
#endif
}

/* Return a sum of the TSC in nanoseconds, rounded down; 32 bits have no wider integers. */
static inline u64 ns_of_tsc(u64 tsc)
{
	return tsc / info.tsc_khz * 1000000 + tsc % info.tsc_khz * 1000000 / info.tsc_khz;
}

/*
 * Open the device and fill in `dev` and `info`: the first call of every main().
 * If KIND is in the environment, controls are for that kind of CPUs, and the
 * program starts on one of them.
 */
void open_device(void);
u32 kind_cpus(u32 kind);	/* a mask of the first 32 */

/* Call ioctl(); return 0 or more, or -errno. */
int call(int fd, unsigned long cmd, const void *arg);

/* Open the calling thread's state. */
int try_open_state(u32 flags);
int open_state(u32 flags);	/* implies CREAT; dies on error */

/* Map the page; on error return MAP_FAILED, or die. */
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

/* Make a control one for any kind of CPUs, with the same counters on each. */
void control_any_kind(struct control *control);

/* Start general counter 0; die on error. */
void count(int fd, u64 evntsel);

/* Set the all-zero control. */
int stop_all(int fd);

struct sums {
	u64 tsc;
	u64 pmc[VPERFCTR_MAX_CTRS];
	u32 status;
	u32 nrctrs;
};

int try_read_sums(int fd, struct sums *sums);
void read_sums(int fd, struct sums *sums);	/* dies on error */
u32 status_of(int fd);

/* ---- instructions -------------------------------------------------------- */

/*
 * Read counter i as its owner, without a system call, by the ABI's protocol.  Where user mode
 * can never read it, as INFO says, use READ of the descriptor that map_state() had.
 * *restarts is the number of times that the read started over, which takes
 * instructions.  Die if the page forbids RDPMC, after a wait if the right may be late.
 */
u64 self_read_restarts(const struct vperfctr_page *page, unsigned int i, unsigned int *restarts);

static inline u64 self_read(const struct vperfctr_page *page, unsigned int i)
{
	unsigned int restarts;

	return self_read_restarts(page, i, &restarts);
}

u64 self_read_tsc(const struct vperfctr_page *page);

/* The TSC counts at least this much during that many instructions of 1 ns each. */
static inline u64 tsc_of(u64 instructions)
{
	return instructions * info.tsc_khz / 1000000;
}

/* Execute RDPMC; return 0, or the signal that it raised (RDPMC_SIGNAL if forbidden). */
int try_rdpmc(u32 index, u64 *value);

/*
 * True if a change of the right to RDPMC may come late, on x86 from Linux 6.18 on.  It
 * then reaches a CPU when a kernel thread runs there, and the system call that makes
 * the change waits for these threads a short time only.  False with one CPU: it runs
 * the kernel thread while the call waits, and virtual time does not pass meanwhile.
 */
bool rdpmc_may_be_late(void);

/*
 * Execute RDPMC after a change of the right, until it does as expected; return the
 * last result, as try_rdpmc() does.  Where the change may not be late, execute it once.
 */
int try_changed_rdpmc(u32 index, int expected);

/* Read a byte; return 0, or the signal that this raised. */
int try_touch(const volatile void *address);

/* Ignore overflow signals with the numbers of faults; real faults still kill. */
void catch_faults(void);

/* ---- threads and processes ------------------------------------------------ */

/* Return zeroed memory that stays shared after a fork. */
void *shared_memory(size_t size);

/*
 * Fork, but share the descriptors until one of the processes executes a file: the
 * parent can then use the child's state.
 */
pid_t fork_files(void);

/* Wait for a child's end; return its exit status, or 128 + the signal. */
int wait_for(pid_t pid);

void pin(int cpu);
void set_affinity(pid_t pid, u32 cpus);
int nr_cpus(void);
void other_cpus(const char *online);	/* "1" or "0", for all that the caller may not use */

/* True if the test can run and count on CPU 0 as well as on CPU 1. */
bool may_choose_cpu(void);

/* True on a PREEMPT_RT kernel. */
bool is_rt(void);

/* True on a debug kernel, which executes several times as many instructions. */
bool is_debug_kernel(void);

/* True on a debug kernel with KCSAN, which executes even more. */
bool is_kcsan_kernel(void);
void msleep(unsigned int ms);

/*
 * On 32-bit PowerPC, wait until the TSC needs its upper half, so that a test sees a time which
 * lacks it.  Elsewhere the kernel has no function that returns the lower half only.  The machine
 * sleeps for three minutes at most, and the emulator skips these.
 */
void wait_for_upper_tsc(void);

/* ---- interrupts ------------------------------------------------------------ */

/*
 * Let a child that has been on CPU 1 execute rounds(arg) on CPU 0, several times.  Return the
 * smallest number of interrupts by which CPU 1 was told to call a function meanwhile, and of
 * runs of the module's thread there, or the first that is less than `few`.
 *
 * The kernel has reasons of its own for such interrupts.  The commonest is that CPU 0
 * wakes a kernel thread on CPU 1, such as that of RCU.  So each thread that may run on
 * either CPU is on CPU 0 meanwhile; threads that the test has pinned stay.
 */
unsigned long interrupts_of_cpu1(void (*rounds)(int), int arg, unsigned long few);

/*
 * True if the module interrupts all CPUs to take the hardware: before 5.14 it must clear what
 * perf has left.
 */
bool taking_interrupts_all(void);

/* ---- perf and files --------------------------------------------------------- */

/* perf's config of a hardware event, for the tested kind of CPUs. */
u64 perf_config(u64 config);

/* Open perf's hardware event, in user mode, for the caller; return -errno on error. */
int perf_open(u64 config, bool on_exec);

/* Run for 100 periods with a sample each; return the number of signals. */
unsigned int perf_samples(u64 config, u64 period);

/* True if perf can take the counters, or another user that does it in the same way. */
static inline bool has_other_user(void)
{
	return has_perf() || *PMC_USER;
}

/*
 * Let that user take the counters; return a descriptor that holds them, or -errno.  Only perf
 * counts.
 */
int other_user_open(void);

/* True if states hold the counters and perf, or the other user, gets none. */
bool perf_is_kept_out(void);

/* Write, read a short file in /proc or /sys; die on error. */
void write_file(const char *path, const char *text);
void read_file(const char *path, char *text, size_t size);

#endif /* GUEST_COMMON_H */
