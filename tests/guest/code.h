/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length, in stress-code.S and service-code.S: how many
 * instructions it executes in user mode follows from these sources, and is
 * said here.
 */
#ifndef GUEST_CODE_H
#define GUEST_CODE_H

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <linux/vperfctr.h>

/* Kinds of children, as clone() has them; none needs a stack of its own. */
#define FORKED		SIGCHLD
#define VFORKED		(CLONE_VM | CLONE_VFORK | SIGCHLD)
#define SHARING_MEMORY	(CLONE_VM | SIGCHLD)
#define THREAD		(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
			 CLONE_SYSVSEM)

/*
 * Two calls (READs) with 2n instructions in between: 0, or what failed.
 * INSNS_BETWEEN from one to the other.
 */
long read_loop_read(int fd, unsigned int cmd, struct vperfctr_read *before,
		    struct vperfctr_read *after, unsigned long n);
#define INSNS_BETWEEN(n)	(5 + 2ULL * (n))

/*
 * fork a process that clones `leaves` times and waits for those that can be
 * waited for; each leaf executes 2n instructions and a few, and ends.  All of
 * them together execute INSNS_TREE; leaves that are threads want CLONE_VFORK.
 */
long spawn_tree(unsigned long flags, unsigned long leaves, unsigned long n);
#define INSNS_TREE(leaves, n)		(16 + (25 + 2ULL * (n)) * (leaves))
#define INSNS_TREE_THREADS(leaves, n)	(16 + (17 + 2ULL * (n)) * (leaves))

/*
 * Clone a child that executes 2n instructions and a few, waits for the futex
 * to be no longer 0, executes 2m more and a few, and ends.  With no futex it
 * ends at once.
 */
long start_child(unsigned long flags, unsigned long n, unsigned int *futex, unsigned long m);
#define INSNS_CHILD(n)			(8 + 2ULL * (n))
#define INSNS_CHILD_UNTIL_FUTEX(n)	(12 + 2ULL * (n))
#define INSNS_CHILD_FUTEX(n, m)		(16 + 2ULL * (n) + 2ULL * (m))

/* fork a process that forks one that forks ..., each of 2n instructions and a few. */
long fork_chain(unsigned long generations, unsigned long n);
#define INSNS_CHAIN(generations, n)	((18 + 2ULL * (n)) * (generations) - 10)

/*
 * For ever: the calling thread stops itself by SIGSTOP, then executes 2 * *n
 * instructions.  INSNS_STOP from stop to stop.
 */
void stop_for_ever(pid_t pid, pid_t tid, const volatile unsigned long *n)
	__attribute__((noreturn));
#define INSNS_STOP(n)			(7 + 2ULL * (n))

/*
 * Clone a thread that makes a state for itself and controls it, waits for the
 * futex, executes 2n instructions, reads its counters, and ends.  INSNS_COUNTED
 * is what it reads.
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
