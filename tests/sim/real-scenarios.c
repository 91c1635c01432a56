// SPDX-License-Identifier: GPL-2.0
/* Scenarios that run on the simulated machine and on a real kernel. */
#include <stdbool.h>
#include <string.h>

#include "real-scenarios.h"

#define CREAT		VPERFCTR_OPEN_CREAT
#define INHERIT		VPERFCTR_CONTROL_INHERIT
#define SIGNAL		REAL_SIGNAL

/* ---- a thread counts itself ----------------------------------------------------- */

static void itself(void)
{
	int fd = open_own_state(CREAT);

	read_state(fd);
	control_counter(fd, 0);
	work(3);
	read_state(fd);
	call_state(fd, SUSPEND);
	work(2);
	call_state(fd, SUSPEND);
	read_state(fd);
	call_state(fd, RESUME);
	work(1);
	call_state(fd, RESUME);
	read_state(fd);
	call_state(fd, IRESUME);
	control_nothing(fd);
	work(1);
	read_state(fd);
	call_state(fd, UNLINK);
	read_state(fd);
	call_state(fd, RESUME);
	close_state(fd);
	close_state(fd);
	open_own_state(0);
}

/* A state that its owner leaves at its end. */
static void never_closed(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	work(1);
	open_own_state(CREAT | VPERFCTR_OPEN_TRANSIENT);
}

static void transient(void)
{
	int fd = open_own_state(CREAT | VPERFCTR_OPEN_TRANSIENT);

	control_counter(fd, 0);
	work(1);
	close_state(fd);
	open_own_state(0);
}

/* ---- mappings ------------------------------------------------------------------------ */

static void uses_page(int fd)
{
	touch_page();
	unmap_page();
	map_page(fd);
	touch_page();
}

static void page(void)
{
	int fd = open_own_state(CREAT);

	map_page(fd);
	touch_page();
	touch_page();
	control_counter(fd, 0);
	work(1);
	wait_for_end(start_process("child", uses_page, fd));
	touch_page();
	close_state(fd);
	unmap_page();
}

static void page_until_exit(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	map_page(fd);
	touch_page();
	work(1);
}

/* ---- children -------------------------------------------------------------------------- */

static void works(int fd)
{
	work(2);
	(void)fd;
}

static void has_thread(int fd)
{
	work(1);
	wait_for_end(start_thread("grandchild", works, fd));
	work(1);
}

static void children(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, INHERIT);
	wait_for_end(start_process("child", works, fd));
	wait_for_end(start_thread("thread", works, fd));
	work(1);
	wait_for_children(fd);
	read_state(fd);
	close_state(fd);
}

static void grandchildren(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, INHERIT);
	wait_for_end(start_process("child", has_thread, fd));
	wait_for_children(fd);
	read_state(fd);
}

static void not_inherited(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	wait_for_end(start_process("child", works, fd));
	wait_for_end(start_thread("thread", works, fd));
	read_state(fd);
	close_state(fd);
}

static void is_read(int fd)
{
	open_own_state(0);
	read_state(fd);
	call_state(fd, SUSPEND);
	close_state(fd);
}

static void other_process(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	work(1);
	wait_for_end(start_process("child", is_read, fd));
	read_state(fd);
}

/* ---- ends -------------------------------------------------------------------------------- */

static void counts_itself(int unused)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	work(2);
	shared->step = 1;
	wait_for_step(2);
	(void)unused;
}

static void killed(void)
{
	struct task *task = start_process("child", counts_itself, 0);

	wait_for_step(1);
	kill_task(task);
	wait_for_end(task);
}

static void counts_until_killed(int fd)
{
	work(2);
	shared->step = 1;
	wait_for_step(2);
	(void)fd;
}

static void killed_member(void)
{
	int fd = open_own_state(CREAT);
	struct task *task;

	control_counter(fd, INHERIT);
	task = start_process("child", counts_until_killed, fd);
	wait_for_step(1);
	kill_task(task);
	wait_for_end(task);
	wait_for_children(fd);
	read_state(fd);
}

/* ---- new programs -------------------------------------------------------------------------- */

static void after_exec(int fd)
{
	work(2);
	read_state(fd);
	close_state(fd);
}

static void exec(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, 0);
	map_page(fd);
	touch_page();
	work(1);
	execute(after_exec, fd);
}

static void starts_at_exec(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, VPERFCTR_CONTROL_START_ON_EXEC);
	work(3);
	read_state(fd);
	execute(after_exec, fd);
}

static void executes(int fd)
{
	work(1);
	execute(works, fd);
}

static void child_executes(void)
{
	int fd = open_own_state(CREAT);

	control_counter(fd, INHERIT);
	wait_for_end(start_process("child", executes, fd));
	wait_for_children(fd);
	read_state(fd);
}

/* ---- overflows --------------------------------------------------------------------------------- */

static void overflow(void)
{
	int fd = open_own_state(CREAT);

	control_period(fd, 4, SIGNAL, 0);
	work(1);
	read_state(fd);
	work(2);
	read_state(fd);
	work(3);
	call_state(fd, IRESUME);
	work(3);
	read_state(fd);
	call_state(fd, IRESUME);
	call_state(fd, IRESUME);
	close_state(fd);
}

static void ring(void)
{
	int fd = open_own_state(CREAT);

	make_ring(fd, 4);
	make_ring(fd, 4);
	map_ring(fd);
	control_period(fd, 4, 0, VPERFCTR_CONTROL_RING);
	work(3);
	note_ring();
	work(4);
	note_ring();
	work(8);
	note_ring();
	read_state(fd);
	control_nothing(fd);
	note_ring();
}

static void family_ring(void)
{
	int fd = open_own_state(CREAT);

	make_ring(fd, 8);
	map_ring(fd);
	control_period(fd, 3, 0, VPERFCTR_CONTROL_RING | INHERIT);
	work(4);
	wait_for_end(start_process("child", works, fd));
	wait_for_end(start_process("child", has_thread, fd));
	wait_for_children(fd);
	note_ring();
	read_state(fd);
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_callback(const char *line, const char *name)
{
	size_t n = strlen(name);

	line += strcspn(line, "\n ");
	return !strncmp(line, " <", 2) && !strncmp(line + 2, name, n) && line[2 + n] == '>';
}

/* True if these lines, which have no note, include the task's end. */
static bool is_end(const char *line)
{
	while (*line && !is_callback(line, "exit")) {
		line += strcspn(line, "\n ");
		if (strncmp(line, " <", 2))
			return false;
		line = strchr(line, '\n') + 1;
	}
	return *line;
}

/*
 * A task may be preempted anywhere.  When it ends, another may hold its memory for a while, and
 * before 6.16 the kernel takes the memory before it calls the module.  An exec gives the new name
 * before it drops the old memory, or after that.
 */
void write_real_task(FILE *to, const char *line)
{
	const char *next, *last;
	bool ends = false;

	for (; *line; line = next) {
		next = strchr(line, '\n') + 1;
		if (is_callback(line, "sched_out") && is_callback(next, "sched_in")) {
			next = strchr(next, '\n') + 1;
			continue;
		}
		if (is_callback(line, "rename") && is_callback(next, "vma_close")) {
			last = strchr(next, '\n') + 1;
			fwrite(next, 1, last - next, to);
			fwrite(line, 1, next - line, to);
			next = last;
			continue;
		}
		if (!is_callback(line, "vma_close") || !(ends || is_end(next)))
			fwrite(line, 1, next - line, to);
		ends |= is_callback(line, "exit");
	}
}

const struct real_scenario real_scenarios[] = {
	{ "itself", itself },
	{ "never_closed", never_closed },
	{ "transient", transient },
	{ "page", page },
	{ "page_until_exit", page_until_exit },
	{ "children", children },
	{ "grandchildren", grandchildren },
	{ "not_inherited", not_inherited },
	{ "other_process", other_process },
	{ "killed", killed },
	{ "killed_member", killed_member },
	{ "exec", exec },
	{ "starts_at_exec", starts_at_exec },
	{ "child_executes", child_executes },
	{ "overflow", overflow },
	{ "ring", ring },
	{ "family_ring", family_ring },
};

const unsigned int nr_real_scenarios = sizeof(real_scenarios) / sizeof(real_scenarios[0]);
