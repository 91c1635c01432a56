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
static unsigned int next_recorded;
static bool replays;
#define FIRST_STATE	{ .steps_hash = 1, .scenario = 88172645463325252ULL }
struct sim_explorer sim_explorer = FIRST_STATE;
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
	sim_explorer = (struct sim_explorer)FIRST_STATE;
}

void (*sim_reset)(void);

/* ---- exploring ----------------------------------------------------------------- */

/*
 * A process forks at each choice, once for each possibility that is not the usual one, and
 * waits for it.  So all runs with at most that many unusual choices are executed, each
 * once, and what they have in common is not repeated.  rewind.c does the same without forks.
 */
bool sim_explores;
unsigned int (*sim_branch)(unsigned int n);
void (*sim_rewind)(void);

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
	sim_explorer.deviations_left = deviations;
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
	sim_explorer.in_scenario = begins;
}

bool sim_may_deviate(void)
{
	return sim_explorer.in_scenario && (replays || sim_explorer.deviations_left);
}

void sim_explored_step(unsigned int cpu, const void *place, int line)
{
	u64 hash = sim_explorer.steps_hash;

	hash = (hash ^ (u64)(unsigned long)place ^ (u64)line << 40 ^ (u64)cpu << 56) *
	       0x9e3779b97f4a7c15ULL;
	sim_explorer.steps_hash = hash ^ hash >> 29;
}

static void add_interleaving(void)
{
	u64 i = sim_explorer.steps_hash >> (64 - TABLE_BITS);

	if (explored->result.distinct > (1UL << TABLE_BITS) * 3 / 4)
		return;			/* the table is full */
	while (explored->table[i] && explored->table[i] != sim_explorer.steps_hash)
		i = (i + 1) % (1UL << TABLE_BITS);
	if (!explored->table[i])
		explored->result.distinct++;
	explored->table[i] = sim_explorer.steps_hash;
}

/* A run has ended well. */
void sim_explored_run(void)
{
	if (!explored)
		return;
	explored->result.runs++;
	add_interleaving();
	if (sim_rewind)
		sim_rewind();
}

/* Begin the runs with this choice.  Return: false if there have been enough runs. */
bool sim_takes_branch(unsigned int value)
{
	if (explored->result.runs >= explored->limit) {
		explored->result.incomplete = true;
		return false;
	}
	sim_explorer.deviations_left--;
	if (sim_explorer.nr_recorded < MAX_RECORDED)
		recorded[sim_explorer.nr_recorded++] = (struct choice) { sim_explorer.number, value };
	return true;
}

static unsigned int explore(unsigned int n)
{
	struct sim_explorer here = sim_explorer;
	unsigned int value;
	int status;
	pid_t pid;

	if (!sim_explorer.in_scenario || !sim_explorer.deviations_left)
		return 0;
	if (sim_branch)
		return sim_branch(n);
	for (value = 1; value < n; value++) {
		if (!sim_takes_branch(value))
			return 0;
		fflush(stdout);
		pid = fork();
		if (!pid)
			return value;
		sim_explorer = here;
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
	sim_explorer.number++;
	if (n < 2)
		return 0;
	if (explored)
		return explore(n);
	if (replays) {
		while (next_recorded < sim_explorer.nr_recorded && recorded[next_recorded].number < sim_explorer.number)
			next_recorded++;
		if (next_recorded < sim_explorer.nr_recorded && recorded[next_recorded].number == sim_explorer.number)
			value = recorded[next_recorded].value;
		return value < n ? value : n - 1;
	}
	if (next_random() % one_in == 0)
		value = one_in == 1 ? next_random() % n : 1 + next_random() % (n - 1);
	if (value && sim_explorer.nr_recorded < MAX_RECORDED)
		recorded[sim_explorer.nr_recorded++] = (struct choice) { sim_explorer.number, value };
	return value;
}

/* Numbers of the scenario are the same in a replay: they do not depend on the choices. */
u64 sim_random(u64 n)
{
	u64 *scenario = &sim_explorer.scenario;

	*scenario = *scenario * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*scenario >> 33) % n;
}

unsigned int sim_nr_choices(void)
{
	return sim_explorer.nr_recorded;
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
	for (i = 0; i < sim_explorer.nr_recorded; i++)
		fprintf(f, "%u %u\n", recorded[i].number, recorded[i].value);
	fclose(f);
}

void sim_choices_replay(const char *file)
{
	FILE *f = fopen(file, "r");
	unsigned int nr;

	if (!f) {
		perror(file);
		exit(2);
	}
	for (sim_explorer.nr_recorded = 0; sim_explorer.nr_recorded < MAX_RECORDED; sim_explorer.nr_recorded++) {
		struct choice *c = &recorded[sim_explorer.nr_recorded];

		if (fscanf(f, "%u %u", &c->number, &c->value) != 2)
			break;
	}
	fclose(f);
	/* As for a seed: a process may have made other runs. */
	nr = sim_explorer.nr_recorded;
	sim_explorer = (struct sim_explorer)FIRST_STATE;
	sim_explorer.nr_recorded = nr;
	replays = true;
	next_recorded = 0;
}
