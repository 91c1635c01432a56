// SPDX-License-Identifier: GPL-2.0
/*
 * The choices of a run: random ones by a seed, recorded ones, or all of them.  A record names only the
 * choices that were not the usual one, by their numbers.  So a record can be shortened,
 * which shrinks a failure to the choices that it needs.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "sim.h"

#define MAX_RECORDED	200000

static struct choice { unsigned int number, value; } recorded[MAX_RECORDED];
static unsigned int nr_recorded, next_recorded, number;
static bool replays;
static u64 state;

static u64 next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

void sim_choices_random(u64 seed)
{
	state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	next_random();
	replays = false;
	number = 0;
	nr_recorded = 0;
}

/* ---- exploring ----------------------------------------------------------------- */

/*
 * A process forks at each choice, once for each possibility that is not the usual one, and
 * waits for it.  So all runs with at most that many unusual choices are executed, each
 * once, and what they have in common is not repeated.
 */
bool sim_explores;
static unsigned int deviations_left;
static bool in_scenario;
static u64 steps_hash = 1;

#define TABLE_BITS	25

static struct explored {
	struct sim_explored result;
	u64 limit;
	u64 table[1UL << TABLE_BITS];	/* of distinct interleavings */
} *explored;

void sim_explore(unsigned int deviations, u64 limit)
{
	explored = mmap(NULL, sizeof(*explored), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (explored == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	explored->limit = limit;
	deviations_left = deviations;
	sim_explores = true;
}

struct sim_explored sim_explored_result(void)
{
	struct sim_explored result = explored->result;

	munmap(explored, sizeof(*explored));
	return result;
}

void sim_explore_scenario(bool begins)
{
	in_scenario = begins;
}

bool sim_may_deviate(void)
{
	return in_scenario && (replays || deviations_left);
}

void sim_explored_step(unsigned int cpu, const void *place, int line)
{
	steps_hash = (steps_hash ^ (u64)(unsigned long)place ^ (u64)line << 40 ^ (u64)cpu << 56) *
		     0x9e3779b97f4a7c15ULL;
	steps_hash ^= steps_hash >> 29;
}

/* A run has ended well. */
void sim_explored_run(void)
{
	u64 i = steps_hash >> (64 - TABLE_BITS);

	if (!explored)
		return;
	explored->result.runs++;
	if (explored->result.distinct > (1UL << TABLE_BITS) * 3 / 4)
		return;			/* the table is full */
	while (explored->table[i] && explored->table[i] != steps_hash)
		i = (i + 1) % (1UL << TABLE_BITS);
	if (!explored->table[i])
		explored->result.distinct++;
	explored->table[i] = steps_hash;
}

static unsigned int explore(unsigned int n)
{
	unsigned int value;
	int status;
	pid_t pid;

	if (!in_scenario || !deviations_left)
		return 0;
	for (value = 1; value < n; value++) {
		if (explored->result.runs >= explored->limit) {
			explored->result.incomplete = true;
			return 0;
		}
		fflush(stdout);
		pid = fork();
		if (!pid) {
			deviations_left--;
			if (nr_recorded < MAX_RECORDED)
				recorded[nr_recorded++] = (struct choice) { number, value };
			return value;
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			_exit(1);
	}
	return 0;
}

unsigned int (*sim_chooser)(unsigned int n, unsigned int one_in);

unsigned int sim_choose(unsigned int n, unsigned int one_in)
{
	unsigned int value = 0;

	if (sim_chooser)
		return sim_chooser(n, one_in);
	number++;
	if (n < 2)
		return 0;
	if (explored)
		return explore(n);
	if (replays) {
		while (next_recorded < nr_recorded && recorded[next_recorded].number < number)
			next_recorded++;
		if (next_recorded < nr_recorded && recorded[next_recorded].number == number)
			value = recorded[next_recorded].value;
		return value < n ? value : n - 1;
	}
	if (next_random() % one_in == 0)
		value = one_in == 1 ? next_random() % n : 1 + next_random() % (n - 1);
	if (value && nr_recorded < MAX_RECORDED)
		recorded[nr_recorded++] = (struct choice) { number, value };
	return value;
}

/* Numbers of the scenario are the same in a replay: they do not depend on the choices. */
u64 sim_random(u64 n)
{
	static u64 scenario = 88172645463325252ULL;

	scenario = scenario * 6364136223846793005ULL + 1442695040888963407ULL;
	return (scenario >> 33) % n;
}

unsigned int sim_nr_choices(void)
{
	return nr_recorded;
}

void sim_choices_save(const char *file)
{
	unsigned int i;
	FILE *f;

	if (!file)
		return;
	f = fopen(file, "w");
	if (!f)
		return;
	for (i = 0; i < nr_recorded; i++)
		fprintf(f, "%u %u\n", recorded[i].number, recorded[i].value);
	fclose(f);
}

void sim_choices_replay(const char *file)
{
	FILE *f = fopen(file, "r");

	if (!f) {
		perror(file);
		exit(2);
	}
	for (nr_recorded = 0; nr_recorded < MAX_RECORDED; nr_recorded++) {
		struct choice *c = &recorded[nr_recorded];

		if (fscanf(f, "%u %u", &c->number, &c->value) != 2)
			break;
	}
	fclose(f);
	replays = true;
	next_recorded = 0;
	number = 0;
}
