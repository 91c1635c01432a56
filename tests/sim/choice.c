// SPDX-License-Identifier: GPL-2.0
/*
 * The choices of a run: random ones by a seed, or recorded ones.  A record names only the
 * choices that were not the usual one, by their numbers.  So a record can be shortened,
 * which shrinks a failure to the choices that it needs.
 */
#include <stdlib.h>

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

unsigned int sim_choose(unsigned int n, unsigned int one_in)
{
	unsigned int value = 0;

	number++;
	if (n < 2)
		return 0;
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
