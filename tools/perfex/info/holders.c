// SPDX-License-Identifier: GPL-2.0
/* perfex info --holders: who has the counters. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>

#include "perfex.h"

/* The file's words for what the watchdog and perf have. */
static const struct words {
	const char *line, *text;
} facts[] = {
	{ "watchdog: none\n", "the NMI watchdog has no counter\n" },
	{ "watchdog: kept\n", "the NMI watchdog has the counter that it keeps\n" },
	{ "watchdog: waits\n", "the NMI watchdog waits for its counter\n" },
	{ "watchdog: holds\n", "the NMI watchdog has a counter, and with it keeps all\n" },
	{ "perf: holds\n", "perf_event has counters\n" },
	{ "perf_counters: kept\n", "perf_event keeps some counters, and counts with these at any time (the module's perf_counters)\n" },
	{ "guest: holds\n", "a virtual machine had the counters when they were last asked for (enable_mediated_pmu of kvm_intel or kvm_amd)\n" },
};

static bool print_fact(FILE *f, const char *line)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(facts); i++) {
		if (strcmp(line, facts[i].line))
			continue;
		fputs(facts[i].text, f);
		return true;
	}
	return false;
}

/* "thread: PID TID UID COMM" */
static bool print_holder(FILE *f, const char *line, bool first)
{
	char what[8], user[32], comm[32] = "?";
	const struct passwd *pw;
	unsigned int uid;
	int pid, tid;

	if (sscanf(line, "%7[a-z]: %d %d %u %31[^\n]", what, &pid, &tid, &uid, comm) < 4)
		return false;
	pw = getpwuid(uid);
	snprintf(user, sizeof(user), pw ? "%.31s" : "%.0s%u", pw ? pw->pw_name : "", uid);
	if (first)
		fputs("COUNTS      PID     TID USER             COMMAND\n", f);
	fprintf(f, "%-6s %8d %7d %-16s %s\n", what, pid, tid, user, comm);
	return true;
}

/* perf has no file that names its processes, or says which of them have only software events. */
static void print_perf(FILE *f, const char *proc)
{
	struct vperfctr_holders h;
	char names[256];

	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_PERF, proc);
	vperfctr_describe_holders(names, sizeof(names), &h);
	if (h.nr)
		fprintf(f, "perf_event may hold counters for %s\n", names);
}

int holders_print(FILE *f, const char *proc, struct error *e)
{
	char path[64], line[200];
	bool first = true, none = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s/vperfctr", proc);
	in = fopen(path, "re");
	if (!in && errno == ENOENT)
		return fail_with(e, "there is no %s: load the module (sudo modprobe vperfctr)", path);
	if (!in)
		return fail_with(e, "cannot read %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), in)) {
		none |= !strcmp(line, "perf: none\n");
		if (!print_fact(f, line) && print_holder(f, line, first))
			first = false;
	}
	fclose(in);
	if (first)
		fputs("vperfctr counts for none of those whom you may see\n", f);
	if (!none)
		print_perf(f, proc);
	return 0;
}
