// SPDX-License-Identifier: GPL-2.0
/*
 * In a virtual machine with one CPU: switches of threads, for a count of exits to the hypervisor,
 * which only the host sees.  Two processes wake each other ROUNDS times, with none, one or four
 * counters in the first one, or in both; and a process sleeps as often while nothing else runs.
 * The program prints a line before and after that, and sleeps, so that the host's count at
 * the line is that of the moment.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

#define ROUNDS	1000

static void start(unsigned int n, bool mapped)
{
	struct control control;
	unsigned int i;
	int fd;

	if (!n)
		return;
	fd = open_state(0);
	if (mapped)
		map_state(fd);
	control_init(&control, 0);
	for (i = 0; i < n; i++)
		control_add(&control, nth_general(i), INSNS_USER);
	if (set_control(fd, &control))
		die("cannot count by %u counters", n);
}

static void mark(const char *what, const char *name)
{
	msleep(300);
	printf("exits: %s %s\n", what, name);
	fflush(stdout);
	msleep(300);
}

static void pass(int from, int to)
{
	char byte;

	if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
		_exit(0);
}

static void measure(const char *name, unsigned int n, unsigned int other, bool mapped)
{
	int there[2], back[2], i;
	pid_t first = fork();

	if (first) {
		if (wait_for(first))
			die("%s failed", name);
		return;
	}
	if (pipe(there) || pipe(back))
		die("pipe failed");
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		start(other, mapped);
		for (;;)
			pass(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	start(n, mapped);
	if (write(there[1], "", 1) != 1)
		die("write failed");
	pass(back[0], there[1]);
	mark("begin", name);
	for (i = 0; i < ROUNDS; i++)
		pass(back[0], there[1]);
	mark("end", name);
	_exit(0);
}

static void measure_sleep(const char *name, unsigned int n)
{
	pid_t first = fork();
	int i;

	if (first) {
		if (wait_for(first))
			die("%s failed", name);
		return;
	}
	start(n, false);
	mark("begin", name);
	for (i = 0; i < ROUNDS; i++)
		usleep(200);
	mark("end", name);
	_exit(0);
}

int main(void)
{
	open_device();
	printf("exits: rounds %d\n", ROUNDS);
	measure("none", 0, 0, false);
	measure("one", 1, 0, false);
	measure("four", 4, 0, false);
	measure("both", 4, 4, false);
	measure("mapped", 4, 0, true);
	measure_sleep("sleep", 0);
	measure_sleep("sleep-four", 4);
	return 0;
}
