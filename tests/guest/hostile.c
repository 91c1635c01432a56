// SPDX-License-Identifier: GPL-2.0
/*
 * usage: hostile attack DIR SEED	do all to processes that record and report, until killed
 *	  hostile honest		execute honest_work(), until killed
 *
 * For test_hostile.  The attack prints a line if the FIFO in DIR is opened.
 */
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "../fuzz/hostile-file.h"

#define NOT_INLINED	__attribute__((noinline, noclone))

static struct hostile hostile;
static volatile unsigned int done;

static NOT_INLINED void spin(unsigned int n)
{
	volatile unsigned int i;

	for (i = 0; i < n; i++)
		;
}

static NOT_INLINED void honest_work(void)
{
	for (;;)
		done++;
}

static uint32_t below(uint32_t n)
{
	return hostile_below(&hostile, n);
}

static const char *const names[] = {
	"h0", "h1", "h\n\033[2J2", "h'\"`;$(touch touched)3", "jit-1.dump", "\342\200\256",
};

/* Execute the function in the file, which is truncated or replaced sometimes. */
static void execute(const char *name)
{
	const uint64_t place = hostile_place((void *)spin), page = (uint64_t)getpagesize();
	void (*fn)(unsigned int n);
	char *p;
	int fd;

	hostile_write(&hostile, name);
	fd = open(name, O_RDWR | O_CLOEXEC);
	p = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)(place & ~(page - 1)));
	if (p == MAP_FAILED)
		return;
	*(void **)&fn = (p + (place & (page - 1)));
	fn(200000);
	if (!below(3) && ftruncate(fd, below(2) ? 100 : (off_t)hostile.size / 2))
		return;
	if (!below(3))
		unlink(name);
	if (!below(4) && symlink("fifo", name))
		return;
	close(fd);
}

/* Map and unmap, at addresses that are not used again. */
static void map_many(const char *name)
{
	unsigned int i, n = below(10) ? 300 : 66500;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	char *p, *at = (char *)0x200000000000;

	for (i = 0; i < n && fd >= 0; i++) {
		p = mmap(at + (size_t)i * 8192, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
		if (p != MAP_FAILED && below(2))
			munmap(p, 4096);
	}
	spin(100000);
	close(fd);
}

/* A JIT's map of this process, and its file. */
static void pretend_jit(void)
{
	char path[64], name[65536];
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	for (i = 0; f && i < 500; i++) {
		name[hostile_name(&hostile, name, sizeof(name)) - 1] = '\0';
		fprintf(f, "%llx %llx %s\n", (unsigned long long)hostile_number(&hostile),
			(unsigned long long)hostile_number(&hostile), name);
	}
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	hostile_write(&hostile, path);
	map_many(path);
	if (below(4))
		unlink(path);
}

static void attack(void)
{
	char comm[65536];

	hostile_name(&hostile, comm, sizeof(comm));
	prctl(PR_SET_NAME, comm);
	switch (below(8)) {
	case 0:
		map_many(names[below(6)]);
		break;
	case 1:
		pretend_jit();
		break;
	default:
		execute(names[below(6)]);
		break;
	}
	spin(below(300000));
}

int main(int argc, char **argv)
{
	char events[4096], line[100];
	int watch, status;
	uint64_t rng;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc < 4)
		honest_work();
	if (chdir(argv[2]) || (mkfifo("fifo", 0666) && access("fifo", F_OK)))
		return 1;
	snprintf(line, sizeof(line), "%s/fifo", argv[2]);
	hostile_init(&hostile, strtoul(argv[3], NULL, 0), line);
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (inotify_add_watch(watch, "fifo", IN_OPEN) < 0)
		return 1;
	for (;;) {
		rng = hostile_random(&hostile);
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			hostile.rng = rng * 0x9e3779b97f4a7c15ULL ?: 1;
			attack();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		snprintf(line, sizeof(line), "/tmp/perf-%d.map", (int)pid);
		unlink(line);
		if (read(watch, events, sizeof(events)) > 0) {
			puts("the FIFO was opened");
			fflush(stdout);
		}
	}
}
