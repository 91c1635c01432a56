// SPDX-License-Identifier: GPL-2.0
/*
 * perfex self-test: check whether this machine's counters count correctly.
 *
 * Each check runs in a process of its own, so that one that crashes or hangs is a result
 * like others.  Its name is in the report, and on the disk, before it starts: if the
 * machine itself hangs, the last name in the report says where.  The process of a check
 * shares struct self_test with the others.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "checks.h"

/* The longest takes two seconds on an idle machine. */
unsigned int check_limit = 60;

static const struct check *const all_checks[] = {
	register_checks, count_checks, counting_register_checks, interrupt_checks, other_checks,
	machine_checks,
};

/* ---- one check in a child --------------------------------------------------------- */

static void run_in_child(struct self_test *t, const struct check *check)
{
	int jumped = setjmp(t->end);

	t->outcome = jumped ? (enum outcome)(jumped - 1) : check->run(t);
	/* The counters still are as the check has left them.  perfex has written its lines. */
	if (t->report && t->outcome == FAILED) {
		describe_failure(t, t->report, check->name, sched_getcpu());
		fflush(t->report);
	}
	_exit(0);
}

/*
 * Kill the child if it does not end in time.  Its counters are as it has left them until then.
 * Return: whether it ended
 */
static bool await_child(struct self_test *t, const struct check *check, pid_t pid, int *wstatus)
{
	unsigned int ms;

	for (ms = 0; ms < check_limit * 1000; ms += 10) {
		if (waitpid(pid, wstatus, WNOHANG) == pid)
			return true;
		poll(NULL, 0, 10);
	}
	if (t->report)
		describe_failure(t, t->report, check->name, t->cpu);
	kill(pid, SIGKILL);
	waitpid(pid, wstatus, 0);
	return false;
}

/* The kernel has stopped the counters of the child: what is left may say why. */
static void end_by_signal(struct self_test *t, const struct check *check, int sig)
{
	if (t->report)
		describe_failure(t, t->report, check->name, t->cpu);
	t->outcome = failed(t, "signal %d (%s) ended the check", sig, strsignal(sig));
}

static void run_check(struct self_test *t, const struct check *check)
{
	int wstatus;
	pid_t pid;

	*t->text = '\0';
	t->outcome = FAILED;
	t->cpu = -1;
	pid = fork();
	if (!pid)
		run_in_child(t, check);
	if (pid < 0)
		t->outcome = failed(t, "the check cannot be started: %s", strerror(errno));
	else if (!await_child(t, check, pid, &wstatus))
		t->outcome = failed(t, "the check did not end in %u seconds", check_limit);
	else if (WIFSIGNALED(wstatus))
		end_by_signal(t, check, WTERMSIG(wstatus));
}

/* ---- output ------------------------------------------------------------------------- */

static const char *const outcome_name[] = { "PASS", "FAIL", "SKIP" };
static const char *const json_name[] = { "pass", "fail", "skip" };

/* A string of JSON: what the checks say has no control characters but may have quotes. */
static void print_json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
	}
	fputc('"', f);
}

static void print_outcome(FILE *f, enum style style, const struct check *check,
			  const struct self_test *t)
{
	if (style != STYLE_JSON) {
		fprintf(f, "%s  %-12s %s\n", outcome_name[t->outcome], check->name, t->text);
		return;
	}
	fprintf(f, "{\"check\" : \"%s\", \"result\" : \"%s\", \"text\" : ", check->name,
		json_name[t->outcome]);
	print_json_string(f, t->text);
	fputs("}\n", f);
}

/* On a terminal, the name of the check that runs; its result replaces it. */
static void show_progress(const struct check *check)
{
	if (is_terminal(stderr) && is_terminal(stdout))
		fprintf(stderr, "      %-12s %s\r", check->name, check->what);
}

static void clear_progress(void)
{
	if (is_terminal(stderr) && is_terminal(stdout))
		fputs("\r\033[K", stderr);
}

static void sync_report(FILE *report)
{
	fflush(report);
	fsync(fileno(report));
}

/* ---- the machine ------------------------------------------------------------------ */

static bool mask_has(const struct vperfctr_cpu_mask *mask, unsigned int cpu)
{
	return cpu / 32 < mask->nrwords && (mask->mask[cpu / 32] >> cpu % 32 & 1);
}

/* Find the CPUs of a kind on which counters can be used and perfex may run. */
static int find_usable(struct self_test *t, unsigned int kind, const cpu_set_t *affinity,
		       struct error *e)
{
	struct vperfctr_cpu_mask *of_kind, *forbidden = NULL;
	unsigned int cpu;
	int err;

	err = vperfctr_kind_cpus(&of_kind, kind);
	if (err)
		return fail_device(e, err);
	err = vperfctr_cpus_forbidden(&forbidden);
	if (err) {
		free(of_kind);
		return fail_device(e, err);
	}
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, affinity) && mask_has(of_kind, cpu) && !mask_has(forbidden, cpu))
			CPU_SET(cpu, &t->usable[kind]);
	free(forbidden);
	free(of_kind);
	return 0;
}

static int describe_kinds(struct self_test *t, struct error *e)
{
	cpu_set_t affinity;
	unsigned int kind = 0;
	int err;

	if (sched_getaffinity(0, sizeof(affinity), &affinity))
		return fail_with(e, "cannot find out the CPUs on which perfex may run: %s",
				 strerror(errno));
	do {
		err = vperfctr_info(&t->kind[kind], kind);
		if (err)
			return fail_device(e, err);
		if (find_usable(t, kind, &affinity, e))
			return -1;
		kind++;
	} while (kind < t->kind[0].nrkinds && kind < MAX_KINDS);
	t->nrkinds = kind;
	return 0;
}

/* ---- all of it ------------------------------------------------------------------- */

/* True if names, as in "exact,modes", has the check's.  NULL chooses all but those on request. */
static bool is_chosen(const struct check *check, const char *names)
{
	const size_t len = strlen(check->name);

	if (!names)
		return !check->on_request;
	for (; names; names = strchr(names, ',')) {
		names += *names == ',';
		if (!strncmp(names, check->name, len) && (!names[len] || names[len] == ','))
			return true;
	}
	return false;
}

static const struct check *find_check(const char *name, size_t len)
{
	const struct check *check;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_checks); i++)
		for (check = all_checks[i]; check->name; check++)
			if (strlen(check->name) == len && !strncmp(check->name, name, len))
				return check;
	return NULL;
}

int self_test_parse(const char *names, struct error *e)
{
	size_t len;

	for (;; names += len + 1) {
		len = strcspn(names, ",");
		if (!find_check(names, len))
			return fail_with(e, "there is no check '%.*s': 'perfex self-test help' lists them",
					 (int)(len < 40 ? len : 40), names);
		if (!names[len])
			return 0;
	}
}

void self_test_list(FILE *f)
{
	const struct check *check;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_checks); i++)
		for (check = all_checks[i]; check->name; check++)
			fprintf(f, "%-12s %s%s\n", check->name, check->what,
				check->on_request ? " (only if named)" : "");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void do_check(struct self_test *t, const struct check *check, FILE *out, enum style style,
		     unsigned int *nr)
{
	double begin;

	if (t->report) {
		fprintf(t->report, "begin\t%s\n", check->name);
		sync_report(t->report);
	}
	show_progress(check);
	begin = seconds();
	run_check(t, check);
	clear_progress();
	nr[t->outcome]++;
	print_outcome(out, style, check, t);
	fflush(out);
	if (t->report) {
		fprintf(t->report, "%s\t%s\t%s\n", outcome_name[t->outcome], check->name, t->text);
		fprintf(t->report, "duration\t%s\t%.2f\n", check->name, seconds() - begin);
		sync_report(t->report);
	}
}

static void report_line(FILE *report, const char *label, const struct log_line *line)
{
	char told[1024];

	if (tell_line(line, told, sizeof(told)))
		fprintf(report, "%s\t%s\n", label, told);
}

static void report_log_line(void *report, const struct log_line *line)
{
	report_line(report, "log", line);
}

static void report_old_line(void *report, const struct log_line *line)
{
	report_line(report, "log before", line);
}

static void print_summary(FILE *f, enum style style, const unsigned int *nr)
{
	if (style == STYLE_JSON)
		fprintf(f, "{\"passed\" : %u, \"failed\" : %u, \"skipped\" : %u}\n", nr[PASSED],
			nr[FAILED], nr[SKIPPED]);
	else
		fprintf(f, "%u passed, %u failed, %u skipped\n", nr[PASSED], nr[FAILED],
			nr[SKIPPED]);
}

static int run_checks(struct self_test *t, const char *names, FILE *out, enum style style)
{
	unsigned int nr[3] = { 0 };
	const struct check *check;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_checks); i++)
		for (check = all_checks[i]; check->name; check++)
			if (is_chosen(check, names))
				do_check(t, check, out, style, nr);
	print_summary(out, style, nr);
	if (t->report) {
		fputs("summary\t", t->report);
		print_summary(t->report, STYLE_TEXT, nr);
	}
	return nr[FAILED] ? 1 : 0;
}

/* Put it in its place, so that it is there if the machine does not survive a check. */
static int begin_report(struct self_test *t, struct output *report, const char *file,
			struct error *e)
{
	int err;

	if (output_open(report, file, 0, e))
		return -1;
	t->report = report->f;
	describe_machine(t, t->report);
	describe_registers(t, t->report, "before");
	if (*t->log_error)
		fprintf(t->report, "log\tcannot be read: %s\n", t->log_error);
	read_old_log(t, report_old_line, t->report);
	err = output_publish(report);
	if (!err)
		return 0;
	output_close(report, false);
	return fail_with(e, "cannot write the report '%s': %s", file, strerror(err));
}

static int end_report(struct self_test *t, struct output *report, const char *file, struct error *e)
{
	int err;

	describe_registers(t, t->report, "after");
	fprintf(t->report, "nmis\t%" PRIu64 "\n", nr_of_nmis() - t->nmis);
	read_log(t, report_log_line, t->report);
	err = output_publish(report);
	output_close(report, true);
	return err ? fail_with(e, "cannot write the report '%s': %s", file, strerror(err)) : 0;
}

int self_test(const char *names, FILE *out, enum style style, const char *report_file,
	      struct error *e)
{
	struct output report;
	struct self_test *t;
	int ret;

	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return fail_with(e, "there is no memory: %s", strerror(errno));
	if (describe_kinds(t, e))
		return -1;
	begin_log(t);
	t->nmis = nr_of_nmis();
	if (report_file && begin_report(t, &report, report_file, e))
		return -1;
	ret = run_checks(t, names, out, style);
	if (t->report && end_report(t, &report, report_file, e))
		ret = -1;
	munmap(t, sizeof(*t));
	return ret;
}
