/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length, in stress-code.S and service-code.S.  The number of
 * instructions in user mode follows from these sources; the macros state it.
 */
#ifndef GUEST_CODE_H
#define GUEST_CODE_H

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <linux/vperfctr.h>

/* Kinds of children: flags of clone().  None needs a stack of its own. */
#define FORKED		SIGCHLD
#define VFORKED		(CLONE_VM | CLONE_VFORK | SIGCHLD)
#define SHARING_MEMORY	(CLONE_VM | SIGCHLD)
#define THREAD		(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
			 CLONE_SYSVSEM)

/*
 * Do two calls (READs) with 2n instructions in between; return 0, or the result of
 * the call that failed.  INSNS_BETWEEN counts from one call to the other.
 */
long read_loop_read(int fd, unsigned int cmd, struct vperfctr_read *before,
		    struct vperfctr_read *after, unsigned long n);
#define INSNS_BETWEEN(n)	(5 + 2ULL * (n))

/*
 * Fork a process that clones `leaves` times and waits for those leaves that are
 * processes.  Each leaf executes 2n instructions and a few, and ends.  Together they
 * execute INSNS_TREE.  Leaves that are threads need CLONE_VFORK.
 */
long spawn_tree(unsigned long flags, unsigned long leaves, unsigned long n);
#define INSNS_TREE(leaves, n)		(16 + (25 + 2ULL * (n)) * (leaves))
#define INSNS_TREE_THREADS(leaves, n)	(16 + (17 + 2ULL * (n)) * (leaves))

/*
 * Clone a child that executes 2n instructions and a few, waits until the futex is
 * not 0, executes 2m more and a few, and ends.  Without a futex it does not wait and
 * has no second part.
 */
long start_child(unsigned long flags, unsigned long n, unsigned int *futex, unsigned long m);
#define INSNS_CHILD(n)			(8 + 2ULL * (n))
#define INSNS_CHILD_UNTIL_FUTEX(n)	(12 + 2ULL * (n))
#define INSNS_CHILD_FUTEX(n, m)		(16 + 2ULL * (n) + 2ULL * (m))

/* Fork a chain of processes, each of 2n instructions and a few. */
long fork_chain(unsigned long generations, unsigned long n);
#define INSNS_CHAIN(generations, n)	((18 + 2ULL * (n)) * (generations) - 10)

/*
 * Loop forever: stop the calling thread by SIGSTOP, then execute 2 * *n instructions.
 * INSNS_STOP counts from stop to stop.
 */
void stop_for_ever(pid_t pid, pid_t tid, const volatile unsigned long *n)
	__attribute__((noreturn));
#define INSNS_STOP(n)			(7 + 2ULL * (n))

/*
 * Clone a thread that opens a state for itself and controls it, waits for the
 * futex, executes 2n instructions, reads its counters, and ends.  It reads
 * INSNS_COUNTED.
 */
struct counted {
	unsigned long dev;
	const struct vperfctr_open *open;
	const struct vperfctr_control *control;
	unsigned int *futex;
	unsigned long n;
	struct vperfctr_read *read;
	long fd, control_result, read_result;
	unsigned int *ended;	/* incremented last */
};
long start_counted(unsigned long flags, struct counted *counted);
#define INSNS_COUNTED(n)		(13 + 2ULL * (n))

/* The program in known_family.S. */
#define KNOWN_FAMILY_OWN(children)	(6 + 12ULL * (children))
#define KNOWN_FAMILY_CHILDREN(children)	(2007ULL * (children))

#endif /* GUEST_CODE_H */
