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

/* Code and constants.  No other CPU can change what lies there. */
extern char __executable_start[], data_start[];

static void access_memory(void *p, size_t size, const char *what, void *pc)
{
	if ((char *)p >= __executable_start && (char *)p < data_start)
		return;
	if (sim_is_own_stack(p))
		return;
	sim_plain_step(what, pc);
	/* After the step, in which other code may have freed it. */
	if (__asan_region_is_poisoned(p, size))
		sim_failed_at(pc, "%s memory that is not allocated", what);
}

static void write_memory(void *p, size_t size, void *pc)
{
	access_memory(p, size, "writes", pc);
	if (!sim_is_own_stack(p))
		sim_will_store(p, size);
}

#define ACCESS(size)								\
void __tsan_read##size(void *p);						\
void __tsan_read##size(void *p)							\
{										\
	access_memory(p, size, "reads", __builtin_return_address(0));		\
}										\
void __tsan_write##size(void *p);						\
void __tsan_write##size(void *p)						\
{										\
	write_memory(p, size, __builtin_return_address(0));			\
}										\
void __tsan_unaligned_read##size(void *p);					\
void __tsan_unaligned_read##size(void *p)					\
{										\
	access_memory(p, size, "reads", __builtin_return_address(0));		\
}										\
void __tsan_unaligned_write##size(void *p);					\
void __tsan_unaligned_write##size(void *p)					\
{										\
	write_memory(p, size, __builtin_return_address(0));			\
}										\
void __tsan_volatile_read##size(void *p);					\
void __tsan_volatile_read##size(void *p)					\
{										\
	check_memory(p, size, "reads", __builtin_return_address(0));		\
}										\
void __tsan_volatile_write##size(void *p);					\
void __tsan_volatile_write##size(void *p)					\
{										\
	check_memory(p, size, "writes", __builtin_return_address(0));		\
}

/* Without a step. */
static void check_memory(void *p, size_t size, const char *what, void *pc)
{
	if (!sim_is_own_stack(p) && __asan_region_is_poisoned(p, size))
		sim_failed_at(pc, "%s memory that is not allocated", what);
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *p, long size);
void __tsan_read_range(void *p, long size)
{
	access_memory(p, size, "reads", __builtin_return_address(0));
}

void __tsan_write_range(void *p, long size);
void __tsan_write_range(void *p, long size)
{
	write_memory(p, size, __builtin_return_address(0));
}

void __tsan_init(void);
/* Called before main() if the module has been compiled so. */
void __tsan_init(void)
{
	sim_sees_plain_stores = true;
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
