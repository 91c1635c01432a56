// SPDX-License-Identifier: GPL-2.0
/*
 * usage: kinds		on a hybrid processor whose CPUs 0 and 1 are of two kinds, count a thread
 *			that moves between them, an overflow on both, and one CPU, by PAPI
 */
#include <err.h>
#include <papi.h>
#include <sched.h>
#include <stdio.h>

#define PERIOD	1000000

static int overflows;

static void handler(int set, void *address, long long vector, void *context)
{
	(void)set;
	(void)address;
	(void)vector;
	(void)context;
	overflows++;
}

static void must(int err, const char *what)
{
	if (err != PAPI_OK)
		errx(1, "%s: %s", what, PAPI_strerror(err));
}

static void move_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(1, "CPU %d", cpu);
}

/* Execute two instructions for each round. */
static void loop(unsigned long rounds)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds) : : "cc");
}

static int new_set(void)
{
	int set = PAPI_NULL;

	must(PAPI_create_eventset(&set), "create");
	must(PAPI_assign_eventset_component(set, 0), "component");
	return set;
}

/* Return the count of a thread that executes this number of rounds on each CPU. */
static long long cost_of(int set, unsigned long rounds)
{
	long long count;

	move_to(0);
	must(PAPI_start(set), "start");
	loop(rounds);
	move_to(1);
	loop(rounds);
	must(PAPI_stop(set, &count), "stop");
	return count;
}

int main(void)
{
	PAPI_option_t option = { .cpu = { .cpu_num = 1 } };
	long long before, few, many;
	int set, code;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		errx(1, "this is another version of PAPI");

	set = new_set();
	must(PAPI_add_named_event(set, "instructions:u"), "instructions");
	cost_of(set, 1000);
	few = cost_of(set, 1000);
	many = cost_of(set, 3000);
	if (many - few != 8000)
		errx(1, "on two kinds: %lld instructions, not 8000", many - few);

	must(PAPI_event_name_to_code("instructions:u", &code), "code");
	must(PAPI_overflow(set, code, PERIOD, 0, handler), "overflow");
	cost_of(set, 5 * PERIOD / 2);
	if (overflows != 10)
		errx(1, "on two kinds: %d overflows, not 10", overflows);
	must(PAPI_overflow(set, code, 0, 0, handler), "no overflow");
	must(PAPI_cleanup_eventset(set), "cleanup");

	set = new_set();
	option.cpu.eventset = set;
	must(PAPI_set_opt(PAPI_CPU_ATTACH, &option), "one CPU");
	must(PAPI_add_named_event(set, "instructions:u"), "instructions of a CPU");
	move_to(1);
	must(PAPI_start(set), "start of a CPU");
	must(PAPI_read(set, &before), "read of a CPU");
	loop(PERIOD);
	must(PAPI_stop(set, &many), "stop of a CPU");
	if (many - before < 2 * PERIOD || many - before > 3 * PERIOD)
		errx(1, "CPU 1: %lld instructions", many - before);
	printf("two kinds: %d overflows\n", overflows);
	return 0;
}
