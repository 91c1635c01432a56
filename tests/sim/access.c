// SPDX-License-Identifier: GPL-2.0
/*
 * Steps at plain accesses to memory.  One of the builds compiles the module with gcc's
 * -fsanitize=thread, which calls a function before each access.  Here these functions are
 * steps.  Volatile accesses are parts of the kernel's interface, which has its own steps.
 */
#include <stdlib.h>

#include "sim.h"

#ifdef __SANITIZE_ADDRESS__
void *__asan_region_is_poisoned(void *p, size_t size);
#else
#define __asan_region_is_poisoned(p, size)	((void)(size), NULL)
#endif

/* ---- contended cache lines, for scale.c ------------------------------------------------ */

/*
 * A line is contended if the watched CPU accesses it after another CPU has written it, or
 * writes it after another CPU has read it.
 */
#define LINE		64
#define LINE_BITS	20

struct line {
	unsigned long address;		/* 0: free */
	bool read_elsewhere, written_elsewhere;
	unsigned int counted;		/* the last round in which it was contended */
	unsigned int touched;		/* the last round in which it was touched */
};

bool sim_has_hooks, sim_watches_lines;
static struct line *lines;
static unsigned int watched_cpu, round;

static struct line *find_line(unsigned long address)
{
	unsigned int i = hash_ptr((void *)address, LINE_BITS), n;

	for (n = 0; n < 1U << LINE_BITS; n++) {
		struct line *line = &lines[(i + n) % (1U << LINE_BITS)];

		if (!line->address)
			line->address = address;
		if (line->address == address)
			return line;
	}
	sim_fail("too many cache lines");
}

void sim_watch_lines(unsigned int cpu)
{
	if (!lines)
		lines = calloc(1U << LINE_BITS, sizeof(*lines));
	sim_require(lines, "no memory for cache lines");
	watched_cpu = cpu;
	sim_watches_lines = true;
}

/* A line counts once in each round. */
void sim_next_round(void)
{
	round++;
}

static void touch_line(struct line *line, bool write)
{
	if (sim_cpu != watched_cpu) {
		line->read_elsewhere = true;
		line->written_elsewhere |= write;
		return;
	}
	if (line->touched != round) {
		line->touched = round;
		sim_costs.touched++;
		sim_tell("touches the line at %#lx", line->address);
	}
	if (line->counted != round && (line->written_elsewhere || (write && line->read_elsewhere))) {
		line->counted = round;
		sim_costs.lines++;
		sim_tell("a contended cache line at %#lx, %s at %s:%d", line->address,
			 sim_this_cpu()->what, sim_this_cpu()->file, sim_this_cpu()->line);
	}
	line->written_elsewhere = false;
	line->read_elsewhere &= !write;
}

/* Variables that the kernel has in its code.  Only sim-lines has this section. */
extern char __start_sim_in_code[] __attribute__((__weak__));
extern char __stop_sim_in_code[] __attribute__((__weak__));

void sim_touch_lines(const volatile void *p, size_t size, bool write)
{
	unsigned long address = (unsigned long)p / LINE * LINE;

	if ((const volatile char *)p >= __start_sim_in_code &&
	    (const volatile char *)p < __stop_sim_in_code)
		return;
	for (; address < (unsigned long)p + size; address += LINE)
		touch_line(find_line(address), write);
}

/* New memory: its lines have been in use for something else. */
void sim_forget_lines(const void *p, size_t size)
{
	unsigned long address = (unsigned long)p / LINE * LINE;

	for (; sim_watches_lines && address < (unsigned long)p + size; address += LINE) {
		struct line *line = find_line(address);

		line->read_elsewhere = false;
		line->written_elsewhere = false;
	}
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Code and constants.  No other CPU can change what lies there. */
extern char __executable_start[], data_start[];

/*
 * Data races, as KCSAN finds them.  While a task waits in the step before a plain access, no
 * other CPU may change what it is about to read, or touch what it is about to write: the
 * compiler may divide, repeat or merge plain accesses.
 */
struct waiting {
	const char *p;
	size_t size;
	bool write;
	const void *pc;
	unsigned int cpu;
	struct waiting *next, **pprev;
};

static struct waiting *all_waiting;

void sim_count_atomic(int n)
{
	current->sim->atomic += n;
	sim_require(current->sim->atomic >= 0, "too many ends of atomic accesses");
}

static void begin_to_wait(struct waiting *w)
{
	w->next = all_waiting;
	w->pprev = &all_waiting;
	if (w->next)
		w->next->pprev = &w->next;
	all_waiting = w;
}

static void end_to_wait(struct waiting *w)
{
	*w->pprev = w->next;
	if (w->next)
		w->next->pprev = w->pprev;
}

static void check_race(const char *p, size_t size, bool write, const void *pc)
{
	const struct waiting *w;
	char where[256];

	for (w = all_waiting; w; w = w->next) {
		if (w->cpu == sim_cpu || !(write || w->write))
			continue;
		if (p + size <= w->p || w->p + w->size <= p)
			continue;
		strscpy(where, sim_place(w->pc), sizeof(where));
		sim_failed_at(pc, "a data race: %s at what %s plainly %s", write ? "writes" : "reads",
			      where, w->write ? "writes" : "reads");
	}
}

static void access_memory(void *p, size_t size, bool write, void *pc)
{
	struct waiting w = { .p = p, .size = size, .write = write, .pc = pc, .cpu = sim_cpu };
	const char *what = write ? "writes" : "reads";

	if ((char *)p >= __executable_start && (char *)p < data_start)
		return;
	if (sim_is_own_stack(p))
		return;
	if (!sim_sees_plain_stores) {	/* as a build without steps here */
		sim_touch(p, size, write);
		return;
	}
	if (current->sim->atomic) {
		sim_plain_step(what, pc);
	} else {
		begin_to_wait(&w);
		sim_plain_step(what, pc);
		end_to_wait(&w);
	}
	check_race(p, size, write, pc);
	/* After the step, in which other code may have freed it. */
	if (__asan_region_is_poisoned(p, size))
		sim_failed_at(pc, "%s memory that is not allocated", what);
}

static void write_memory(void *p, size_t size, void *pc)
{
	access_memory(p, size, true, pc);
	if (!sim_is_own_stack(p) && sim_sees_plain_stores)
		sim_will_store(p, size);
}

#define ACCESS(size)								\
void __tsan_read##size(void *p);						\
void __tsan_read##size(void *p)							\
{										\
	access_memory(p, size, false, __builtin_return_address(0));		\
}										\
void __tsan_write##size(void *p);						\
void __tsan_write##size(void *p)						\
{										\
	write_memory(p, size, __builtin_return_address(0));			\
}										\
void __tsan_unaligned_read##size(void *p);					\
void __tsan_unaligned_read##size(void *p)					\
{										\
	access_memory(p, size, false, __builtin_return_address(0));		\
}										\
void __tsan_unaligned_write##size(void *p);					\
void __tsan_unaligned_write##size(void *p)					\
{										\
	write_memory(p, size, __builtin_return_address(0));			\
}										\
void __tsan_volatile_read##size(void *p);					\
void __tsan_volatile_read##size(void *p)					\
{										\
	check_memory(p, size, false, __builtin_return_address(0));		\
}										\
void __tsan_volatile_write##size(void *p);					\
void __tsan_volatile_write##size(void *p)					\
{										\
	check_memory(p, size, true, __builtin_return_address(0));		\
}

/* Without a step. */
static void check_memory(void *p, size_t size, bool write, void *pc)
{
	if (sim_is_own_stack(p))
		return;
	if (__asan_region_is_poisoned(p, size))
		sim_failed_at(pc, "%s memory that is not allocated", write ? "writes" : "reads");
	if (sim_sees_plain_stores)
		check_race(p, size, write, pc);
	sim_touch(p, size, write);
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, ssize_t size);
void __tsan_read_range(void *p, ssize_t size)
{
	access_memory(p, size, false, __builtin_return_address(0));
}

void __tsan_write_range(void *p, ssize_t size);
void __tsan_write_range(void *p, ssize_t size)
{
	write_memory(p, size, __builtin_return_address(0));
}

void __tsan_init(void);
/* Called before main() if the module has been compiled so. */
void __tsan_init(void)
{
	sim_sees_plain_stores = true;
	sim_has_hooks = true;
}

/* Describe a place in the code, for the story: "file.c:line", as addr2line prints it. */
const char *sim_place(const void *pc)
{
	static char place[256];
	char command[512], exe[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	FILE *f;

	snprintf(place, sizeof(place), "%p", pc);
	if (n <= 0)
		return place;
	exe[n] = '\0';
	snprintf(command, sizeof(command), "addr2line -e '%s' %#lx 2>/dev/null", exe,
		 (unsigned long)((const char *)pc - __executable_start - 1));
	f = popen(command, "r");
	if (!f)
		return place;
	if (fgets(place, sizeof(place), f))
		place[strcspn(place, "\n ")] = '\0';
	pclose(f);
	slash = strrchr(place, '/');
	return slash ? slash + 1 : place;
}
