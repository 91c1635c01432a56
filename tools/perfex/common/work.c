// SPDX-License-Identifier: GPL-2.0
/*
 * Work on files of others in a child, with limits of its processor time and memory.
 *
 * The limits are those of each owner of files: otherwise many files, each of which stays below
 * a limit, would take any time.  Larger files may use more, by what they have on the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "hash-table.h"
#include "work.h"

/* Seconds: each owner has the first number, and each byte of his files adds the second one. */
#define CPU		3.0
#define CPU_OF_BYTE	0.2e-6

/* Bytes of memory, in the same way. */
#define MEMORY		(INT64_C(96) << 20)
#define MEMORY_OF_BYTE	16

/* Children that a file was too much for: for all owners, and for one before all its files. */
#define MAX_REFUSED	16
#define MAX_OF_OWNER	2

/*
 * After each of them, the time of the owner's files, with what they are worth, is divided by this.
 * Root's files are no attacker's.
 */
#define DIVISOR		4
#define DIVISOR_OF_ROOT	2

#define MAX_ACCOUNTS	64

struct account {
	uid_t owner;
	double cpu;		/* what is left */
	int64_t memory;
};

/* The child tells this. */
struct told {
	struct error e;
	int ret;
	bool done, printing, working;
	struct work work;
};

static struct told *told;		/* NULL: this is no such child */
static struct work refused[MAX_REFUSED];
static unsigned int nrrefused;

static struct account accounts[MAX_ACCOUNTS];
static unsigned int nraccounts;
static struct hash_table opened;		/* files that have been counted */
static const struct work *current;
static double cpu_before;
static int64_t memory_before;
static struct rlimit files, data;

/* ---- accounts ---------------------------------------------------------------------------- */

static unsigned int count_refused(uid_t owner)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nrrefused; i++)
		nr += refused[i].owner == owner;
	return nr;
}

/* All children together have no more than twice the time of the first one. */
static double share_of(uid_t owner, double seconds)
{
	unsigned int i;

	for (i = count_refused(owner); i; i--)
		seconds /= owner ? DIVISOR : DIVISOR_OF_ROOT;
	return seconds;
}

/* Owners behind the last account share it. */
static struct account *account_of(uid_t owner)
{
	unsigned int i;

	for (i = 0; i < nraccounts; i++)
		if (accounts[i].owner == owner)
			return &accounts[i];
	if (nraccounts == MAX_ACCOUNTS)
		return &accounts[MAX_ACCOUNTS - 1];
	accounts[nraccounts] = (struct account){
		owner, share_of(owner, CPU), MEMORY,
	};
	return &accounts[nraccounts++];
}

static bool was_too_much(const struct work *w)
{
	unsigned int i;

	for (i = 0; i < nrrefused; i++)
		if (refused[i].dev == w->dev && refused[i].inode == w->inode)
			return true;
	return (w->owner && count_refused(w->owner) >= MAX_OF_OWNER) || nrrefused == MAX_REFUSED;
}

bool work_allows(struct work *w, int fd, const char *path)
{
	size_t len = strlen(path);
	struct account *account;
	struct stat st;
	uint64_t key[2];
	uint32_t nr;

	if (!opened.size)
		opened = (struct hash_table){ .size = sizeof(key), .key = sizeof(key) };
	memset(w, 0, sizeof(*w));
	if (fstat(fd, &st))
		return false;
	key[0] = st.st_dev;
	key[1] = st.st_ino;
	w->dev = st.st_dev;
	w->inode = st.st_ino;
	w->owner = st.st_uid;
	snprintf(w->path, sizeof(w->path), "%s", len < sizeof(w->path) ? path :
		 path + len - (sizeof(w->path) - 1));
	/* Holes cost the owner nothing. */
	w->size = (uint64_t)st.st_blocks * 512;
	if (w->size > (uint64_t)st.st_size)
		w->size = (uint64_t)st.st_size;
	if (!told)
		return true;
	if (was_too_much(w))
		return false;
	account = account_of(w->owner);
	/* A file that is opened again and again is worth no more. */
	nr = opened.nr;
	if (hash_table_add(&opened, &key) && opened.nr != nr) {
		account->cpu += share_of(w->owner, (double)w->size * CPU_OF_BYTE);
		account->memory += (int64_t)w->size * MEMORY_OF_BYTE;
	}
	return true;
}

void work_looks(const struct work *w, double worth)
{
	if (told)
		account_of(w->owner)->cpu += share_of(w->owner, worth);
}

/* ---- limits ------------------------------------------------------------------------------- */

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Return: what RLIMIT_DATA limits. */
static int64_t memory_now(void)
{
	static int fd = -1;
	long long pages = 0;
	char text[128];
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n > 0) {
		text[n] = '\0';
		if (sscanf(text, "%*s %*s %*s %*s %*s %lld", &pages) != 1)
			pages = 0;
	}
	return pages * getpagesize();
}

/* At least a microsecond: 0 would be no limit, and the kernel refuses a million of them. */
static void set_timer(double seconds)
{
	const int64_t us = (int64_t)(seconds * 1e6) + 1;
	const struct itimerval timer = { .it_value = {
		(time_t)(us / 1000000), (suseconds_t)(us % 1000000),
	} };

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void charge(const struct work *w)
{
	struct account *account = account_of(w->owner);
	int64_t memory = memory_now() - memory_before;
	const struct itimerval none = { .it_value = { 0 } };

	setitimer(ITIMER_PROF, &none, NULL);
	told->working = false;
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_DATA, &data);
	account->cpu -= cpu_now() - cpu_before;
	/* Memory that it has freed may be used again. */
	account->memory -= memory;
}

static void limit(const struct work *w)
{
	const struct rlimit none = { 0, files.rlim_max };
	const struct account *account = account_of(w->owner);
	struct rlimit most = { .rlim_max = data.rlim_max };
	int64_t left = account->memory > 0 ? account->memory : 0;

	told->work = *w;
	told->working = true;
	cpu_before = cpu_now();
	memory_before = memory_now();
	most.rlim_cur = (rlim_t)(memory_before + left);
	if (most.rlim_cur < data.rlim_cur)
		setrlimit(RLIMIT_DATA, &most);
	/* Nothing can be opened: the kernel looks for a descriptor before it looks for the file. */
	setrlimit(RLIMIT_NOFILE, &none);
	set_timer(account->cpu > 0 ? account->cpu : 0);
}

/* Bytes and seconds: names that compilers make take kilobytes and microseconds. */
#define MEMORY_OF_NAME	(INT64_C(32) << 20)
#define CPU_OF_NAME	0.25

static struct rlimit before_name;
static double cpu_behind_name;		/* what is left then; 0: the limit is nearer */

void work_begin_name(void)
{
	struct itimerval timer;
	struct rlimit most;
	double left;

	if (!told)
		return;
	getrlimit(RLIMIT_DATA, &before_name);
	most = before_name;
	if ((rlim_t)(memory_now() + MEMORY_OF_NAME) < most.rlim_cur)
		most.rlim_cur = (rlim_t)(memory_now() + MEMORY_OF_NAME);
	setrlimit(RLIMIT_DATA, &most);
	getitimer(ITIMER_PROF, &timer);
	left = (double)timer.it_value.tv_sec + (double)timer.it_value.tv_usec * 1e-6;
	cpu_behind_name = left > CPU_OF_NAME ? left - CPU_OF_NAME : 0;
	if (cpu_behind_name)
		set_timer(CPU_OF_NAME);
}

void work_end_name(void)
{
	struct itimerval timer;

	if (!told)
		return;
	setrlimit(RLIMIT_DATA, &before_name);
	if (!cpu_behind_name)
		return;
	getitimer(ITIMER_PROF, &timer);
	set_timer(cpu_behind_name + (double)timer.it_value.tv_sec +
		  (double)timer.it_value.tv_usec * 1e-6);
}

const struct work *work_on(const struct work *w)
{
	const struct work *old = current;

	current = w;
	if (!told || w == old)
		return old;
	if (old)
		charge(old);
	if (w)
		limit(w);
	return old;
}

void work_no_memory(void)
{
	raise(SIGPROF);
	abort();
}

void work_prints(void)
{
	if (told)
		told->printing = true;
}

/* ---- the child ----------------------------------------------------------------------------- */

void work_end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		raise(SIGKILL);
}

static void run_child(pid_t parent, int (*fn)(void *arg, struct error *e), void *arg)
{
	sigset_t set;

	work_end_with_parent(parent);
	signal(SIGPROF, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	getrlimit(RLIMIT_DATA, &data);
	getrlimit(RLIMIT_NOFILE, &files);
	/* Each file whose symbols are used is open. */
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	memory_now();
	told->ret = fn(arg, &told->e);
	told->done = true;
	_exit(0);
}

/* End perfex by the signal that ended the child, if it is one that users send to perfex. */
static void end_as_child(int status)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };
	size_t i;

	for (i = 0; WIFSIGNALED(status) && i < ARRAY_SIZE(signals); i++)
		if (WTERMSIG(status) == signals[i]) {
			signal(signals[i], SIG_DFL);
			raise(signals[i]);
		}
}

/* *again: whether another child may be tried; then: whether it must be */
static int judge(const struct told *t, int status, bool *again, struct error *e)
{
	char path[sizeof(t->work.path)];
	const bool may = *again;

	*again = false;
	if (t->done) {
		if (t->ret < 0)
			*e = t->e;
		return t->ret;
	}
	end_as_child(status);
	if (!t->working)
		return fail_with(e, WIFSIGNALED(status) ? "it was ended by signal %d" :
				 "it was ended with status %d",
				 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	snprintf(path, sizeof(path), "%s", t->work.path);
	replace_controls(path);
	if (t->printing || !may || nrrefused == MAX_REFUSED)
		return fail_with(e, "the symbols of '%s' need too much time or memory", path);
	refused[nrrefused++] = t->work;
	*again = true;
	return 0;
}

/* ---- the terminal --------------------------------------------------------------------------- */

/* A child may show a list, and end before it restores the terminal. */
static bool save_terminal(struct termios *found)
{
	return tcgetpgrp(STDIN_FILENO) == getpgrp() && !tcgetattr(STDIN_FILENO, found);
}

static void restore_terminal(const struct termios *found)
{
	static const char text[] = "\033[?1049l\033[?25h\r\n";	/* the usual screen, a cursor */
	struct termios now;

	if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &now) ||
	    now.c_lflag == found->c_lflag)
		return;
	tcsetattr(STDIN_FILENO, TCSADRAIN, found);
	if (write(STDIN_FILENO, text, sizeof(text) - 1) < 0)
		return;	/* it is open for reading only */
}

int work_in_child(int (*fn)(void *arg, struct error *e), void *arg, bool again, struct error *e)
{
	struct told *shared;
	struct termios terminal;
	const bool saved = save_terminal(&terminal);
	const pid_t parent = getpid();
	int status = 0, ret = 0;
	bool more;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return fail_with(e, "out of memory");
	nrrefused = 0;
	do {
		memset(shared, 0, sizeof(*shared));
		shared->e.status = STATUS_FAILED;
		fflush(NULL);
		pid = fork();
		if (!pid) {
			told = shared;
			run_child(parent, fn, arg);
		}
		while (pid > 0 && (ret = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
			;
		if (saved && !shared->done)
			restore_terminal(&terminal);
		more = again && pid > 0 && ret >= 0;
		ret = pid < 0 || ret < 0 ? fail_with(e, "cannot start a process: %s", strerror(errno)) :
					   judge(shared, status, &more, e);
	} while (more);
	munmap(shared, sizeof(*shared));
	return ret;
}
