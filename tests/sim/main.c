// SPDX-License-Identifier: GPL-2.0
/* Run scenarios, each with many seeds. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>

#include "host.h"
#include "scenarios.h"

extern unsigned int *const sim_param_max_stops_per_second;

static const struct scenario *scenario;
static unsigned int nr_cpus, failing_calls;

static void main_of_machine(void *arg)
{
	if (scenario->load_fails) {
		sim_try_to_load(scenario->load_fails);
		return;
	}
	if (scenario->bad_parameter) {
		sim_load_badly();
		return;
	}
	if (scenario->before)
		scenario->before();
	sim_load_module();
	sim_explore_scenario(true);
	sim_failures.alloc = scenario->alloc;
	sim_failures.calls = failing_calls;
	/* Each repetition of ATTACH uses the budget, too. */
	if (failing_calls)
		*sim_param_max_stops_per_second = 0;
	scenario->func();
	sim_failures.alloc = 0;
	sim_failures.calls = 0;
	sim_explore_scenario(false);
	/* Both in turn: an unload that comes at once ends what has been left, too. */
	if (!scenario->after && !sim_random(3))
		sim_check_rest();
	sim_unload_module(scenario->after);
	(void)arg;
}

#ifdef __SANITIZE_ADDRESS__
void __asan_set_death_callback(void (*callback)(void));
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	/* The memory of the machine is no heap: see memory.c. */
	return "detect_leaks=0";
}

static void save_at_death(void)
{
	sim_choices_save(getenv("SIM_SAVE"));
	fflush(stdout);
}
#endif

void host_exit(int status)
{
	_exit(status);
}

/* The machine is a virtual one. */
static bool in_guest;

static void run_machine(u64 seed, const char *replay)
{
	if (replay)
		sim_choices_replay(replay);
	else if (!sim_explores)
		sim_choices_random(seed);
	sim_processor = scenario->processor;
	sim_processor.exits |= in_guest;
	if (scenario->only_by_name)	/* scale */
		sim_max_steps *= 10;
	sim_boot(nr_cpus ?: scenario->cpus, main_of_machine, NULL);
}

/* A process makes at most that many runs, as what the host's library allocates in them stays. */
#define RUNS_AT_ONCE	1000

/* How many runs have ended well, which the process that executes them tells its parent. */
static unsigned int *nr_good;

/* Execute runs with these seeds in a process.  Return: false if one failed. */
static bool run_all(u64 seed, unsigned int runs, const char *replay, bool quiet)
{
	int status;
	pid_t pid;

	*nr_good = 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (quiet && !freopen("/dev/null", "w", stdout))
			_exit(2);
#ifdef __SANITIZE_ADDRESS__
		__asan_set_death_callback(save_at_death);
#endif
		for (; *nr_good < runs; ++*nr_good) {
			if (*nr_good)
				sim_reset();
			run_machine(seed + *nr_good, replay);
		}
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(2);
	}
	/* One that is explored ends in a process of its own, which has counted nothing. */
	return status == 0 && (sim_explores || *nr_good == runs);
}

static bool run(u64 seed, const char *replay, bool quiet)
{
	return run_all(seed, 1, replay, quiet);
}

/* ---- shrinking ------------------------------------------------------------- */

#define MAX_LINES	200000

static char *lines[MAX_LINES];
static unsigned int nr_lines;

static void read_record(const char *file)
{
	char line[64];
	FILE *f = fopen(file, "r");

	nr_lines = 0;
	while (f && nr_lines < MAX_LINES && fgets(line, sizeof(line), f))
		lines[nr_lines++] = strdup(line);
	if (f)
		fclose(f);
}

static void write_record(const char *file, unsigned int skip, unsigned int n)
{
	FILE *f = fopen(file, "w");
	unsigned int i;

	for (i = 0; f && i < nr_lines; i++) {
		if (i < skip || i >= skip + n)
			fputs(lines[i], f);
	}
	if (f)
		fclose(f);
}

/* Leave choices out, as long as the run still fails. */
static void shrink(const char *file, const char *tmp)
{
	unsigned int n, i, k;

	read_record(file);
	for (n = nr_lines / 2; n; n /= 2) {
		for (i = 0; i < nr_lines;) {
			write_record(tmp, i, n);
			if (run(0, tmp, true)) {
				i += n;
				continue;
			}
			for (k = i; k < i + n && k < nr_lines; k++)
				free(lines[k]);
			memmove(&lines[i], &lines[min(i + n, nr_lines)],
				(nr_lines - min(i + n, nr_lines)) * sizeof(lines[0]));
			nr_lines -= min(n, nr_lines - i);
		}
	}
	write_record(file, 0, 0);
	printf("%u choices are needed\n", nr_lines);
	while (nr_lines)
		free(lines[--nr_lines]);
}

/* ---- the command ----------------------------------------------------------- */

static void usage(void)
{
	fprintf(stderr, "usage: sim [-n RUNS] [-s SEED] [-c CPUS] [-e N] [-f N] [-g] [-v] [-r RECORD] [-w RECORD] [SCENARIO]...\n"
		"	-e: all runs with at most N unusual choices, up to RUNS\n"
		"	-f: one in N allocations and accesses to user memory fails in an ioctl, which is repeated then\n"
		"	-v: print the story of each run; twice: with each step\n"
		"	-w: write the choices of a run that failed, shrunk\n"
		"	-r: replay them\n");
	exit(2);
}

/* Addresses decide which hash bucket is used: they must be the same in a replay. */
static void fix_addresses(char **argv)
{
	int old = personality(0xffffffff);

	if (old < 0 || (old & ADDR_NO_RANDOMIZE))
		return;
	if (personality(old | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

static struct sim_explored explored;	/* in all scenarios */

/* Execute all runs with at most that many unusual choices. */
static unsigned int explore_scenario(unsigned int deviations, u64 limit, const char *record)
{
	struct sim_explored result;
	bool ok;

	sim_explore(deviations, limit);
	if (record)
		setenv("SIM_SAVE", record, 1);
	ok = run(0, NULL, false);
	result = sim_explored_result();
	explored.runs += result.runs;
	explored.distinct += result.distinct;
	printf("%s: %s, all runs with at most %u unusual choices%s: %llu, %llu distinct interleavings\n",
	       ok ? "ok" : "FAILED", scenario->name, deviations,
	       result.incomplete ? " (not all: the limit was reached)" : "", result.runs,
	       result.distinct);
	return !ok;
}

static unsigned int run_scenario(u64 seed, unsigned int runs, const char *replay, const char *record)
{
	unsigned int done, n;
	char tmp[4096];

	for (done = 0; done < runs; done += n) {
		n = sim_reset ? min(runs - done, (unsigned int)RUNS_AT_ONCE) : 1;
		if (record)
			setenv("SIM_SAVE", record, 1);
		if (run_all(seed + done, n, replay, false))
			continue;
		printf("FAILED: %s, seed %llu\n", scenario->name, seed + done + *nr_good);
		if (record) {
			unsetenv("SIM_SAVE");
			snprintf(tmp, sizeof(tmp), "%s.tmp", record);
			shrink(record, tmp);
			unlink(tmp);
		}
		return 1;
	}
	printf("ok: %s, %u runs\n", scenario->name, runs);
	return 0;
}

/* True if the command has this scenario, by its name or as one of all. */
static bool is_wanted(char **names, const struct scenario *s)
{
	if (!*names)
		return !s->only_by_name;
	while (*names && strcmp(*names, s->name))
		names++;
	return *names;
}

/* True for a scenario that is also run without failing allocations. */
static bool is_repetition(const struct scenario *s)
{
	return s->alloc;
}

/* True for a scenario of many calls by one thread after the other: a run takes thirty times as long
 * as that of another scenario, and tells the same in most orders.
 */
static bool is_long(const struct scenario *s)
{
	static const char *const names[] = { "refusals", "rate", "real", "real_exit_mm_first", "many_chains" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names) && strcmp(names[i], s->name); i++)
		;
	return i < ARRAY_SIZE(names);
}

/* True for a scenario that counts stops of the machine, or records all calls, if such are repeated. */
static bool is_exact(const struct scenario *s)
{
	static const char *const names[] = {
		"real", "real_exit_mm_first", "refusals", "refusals_alone", "refusals_in_guest",
		"attach_price", "attach_price_beside", "attach_pieces", "attach_unlinked",
		"attach_beyond_room", "beside_attach", "beside_users", "beside_leavers",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names) && strcmp(names[i], s->name); i++)
		;
	return i < ARRAY_SIZE(names);
}

int main(int argc, char **argv)
{
	const char *replay = NULL, *record = NULL;
	unsigned int i, n, runs = 1, failed = 0, found = 0, deviations = 0;
	bool explores = false;
	u64 seed = 1;
	int c;

	fix_addresses(argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	nr_good = mmap(NULL, sizeof(*nr_good), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_good == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	while ((c = getopt(argc, argv, "n:s:c:e:f:gvr:w:")) != -1) {
		switch (c) {
		case 'n':
			runs = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			nr_cpus = strtoul(optarg, NULL, 0);
			break;
		case 'e':
			explores = true;
			deviations = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			failing_calls = strtoul(optarg, NULL, 0);
			break;
		case 'g':
			in_guest = true;
			break;
		case 'v':
			sim_all_steps = sim_story;
			sim_story = true;
			break;
		case 'r':
			replay = optarg;
			break;
		case 'w':
			record = optarg;
			break;
		default:
			usage();
		}
	}
	if (nr_cpus > NR_CPUS)
		usage();
	if (sim_reset)
		sim_reset();
	for (i = 0; i < sim_nr_scenarios; i++) {
		scenario = &sim_scenarios[i];
		if (!is_wanted(argv + optind, scenario))
			continue;
		found++;
		if (failing_calls && is_exact(scenario))
			continue;
		sim_explores = explores;
		n = (is_repetition(scenario) || is_long(scenario)) && !argv[optind] ?
			    DIV_ROUND_UP(runs, 4) : runs;
		failed += explores && !replay ? explore_scenario(deviations, n, record) :
						run_scenario(seed, n, replay, record);
	}
	if (!found)
		usage();
	if (explored.runs)
		printf("%llu runs in all, %llu distinct interleavings\n", explored.runs, explored.distinct);
	/* As libcheck, for the summary of all tests. */
	printf("%u%%: Checks: %u, Failures: %u, Errors: 0\n", (found - failed) * 100 / found, found, failed);
	return failed ? 1 : 0;
}
