// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --self-test: what a reader of the report needs who never sees the machine.
 *
 * Nothing here names the machine's owner, users, hosts, addresses or disks: the report is for
 * strangers.  Lists say what is taken, of the kernel's command line, too, and of its log: see
 * self-test-private.c.
 */
#include <elf.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <zlib.h>

#include "checks.h"

const char *facts_root = "";

static FILE *open_below(const char *path)
{
	char below[4096];

	if (snprintf(below, sizeof(below), "%s%s", facts_root, path) >= (int)sizeof(below))
		return NULL;
	return fopen(below, "re");
}

/* Tabs separate the fields of a line, and a device tree's text ends with a zero. */
static void clean(char *text)
{
	size_t length = strlen(text), i;

	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
			text[i] = ' ';
	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
}

/* Read the first line of a file.  Return: false: there is none */
static bool read_first(const char *path, char *line, size_t size)
{
	FILE *in = open_below(path);
	bool there;

	if (!in)
		return false;
	there = fgets(line, (int)size, in);
	fclose(in);
	if (there)
		clean(line);
	return there && *line;
}

static void print_fact(FILE *f, const char *name, const char *path)
{
	char line[1024];

	if (read_first(path, line, sizeof(line)))
		fprintf(f, "%s\t%s\n", name, line);
}

static const struct {
	const char *name, *path;
} facts[] = {
	{ "dmi sys_vendor", "/sys/class/dmi/id/sys_vendor" },
	{ "dmi product_name", "/sys/class/dmi/id/product_name" },
	{ "dmi board_name", "/sys/class/dmi/id/board_name" },
	{ "dmi bios_version", "/sys/class/dmi/id/bios_version" },
	{ "dmi bios_date", "/sys/class/dmi/id/bios_date" },
	{ "device tree", "/proc/device-tree/model" },
	{ "lockdown", "/sys/kernel/security/lockdown" },
	{ "hypervisor", "/sys/hypervisor/type" },
	{ "preemption", "/sys/kernel/debug/sched/preempt" },
	{ "smt", "/sys/devices/system/cpu/smt/control" },
	{ "possible", "/sys/devices/system/cpu/possible" },
	{ "online", "/sys/devices/system/cpu/online" },
	{ "sysctl kernel/nmi_watchdog", "/proc/sys/kernel/nmi_watchdog" },
	{ "sysctl kernel/perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
	{ "sysctl kernel/perf_user_access", "/proc/sys/kernel/perf_user_access" },
	{ "clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" },
	{ "tainted", "/proc/sys/kernel/tainted" },
	{ "module version", "/sys/module/vperfctr/version" },
	{ "module source", "/sys/module/vperfctr/srcversion" },
};

/* ---- several files of a kind --------------------------------------------------------------- */

static size_t find_files(const char *pattern, glob_t *found)
{
	char below[4096];

	found->gl_pathc = 0;
	if (snprintf(below, sizeof(below), "%s%s", facts_root, pattern) < (int)sizeof(below) &&
	    glob(below, 0, NULL, found))
		found->gl_pathc = 0;
	return found->gl_pathc;
}

/* A line for each file, with a name before its last part, or its path; none if it is harmless. */
static void print_each(FILE *f, const char *name, const char *pattern)
{
	char label[4096];
	char line[1024];
	const char *path;
	glob_t found;
	size_t i;

	if (!find_files(pattern, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		path = found.gl_pathv[i] + strlen(facts_root);
		snprintf(label, sizeof(label), "%s%s%s", name, *name ? " " : "",
			 *name ? strrchr(path, '/') + 1 : path);
		if (read_first(path, line, sizeof(line)) && strcmp(line, "Not affected"))
			fprintf(f, "%s\t%s\n", label, line);
	}
	globfree(&found);
}

#define MAX_VALUES	16

/* A line for all files: how many have each value, as CPUs of the same kind have the same. */
static void print_values(FILE *f, const char *name, const char *pattern)
{
	char value[MAX_VALUES][64], line[64];
	unsigned int times[MAX_VALUES];
	size_t i, k, nr = 0;
	bool more = false;
	glob_t found;

	if (!find_files(pattern, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		if (!read_first(found.gl_pathv[i] + strlen(facts_root), line, sizeof(line)))
			continue;
		for (k = 0; k < nr && strcmp(value[k], line); k++)
			;
		if (k == MAX_VALUES) {
			more = true;
			continue;
		}
		if (k == nr) {
			strcpy(value[nr], line);
			times[nr++] = 0;
		}
		times[k]++;
	}
	globfree(&found);
	if (!nr)
		return;
	fputs(name, f);
	for (k = 0; k < nr; k++)
		fprintf(f, "%c%ux %s", k ? ' ' : '\t', times[k], value[k]);
	fputs(more ? " ...\n" : "\n", f);
}

/* ---- the kernel's command line and configuration --------------------------------------------- */

/* Beginnings of words that say something of counters, clocks, CPUs or interrupts. */
static const char *const told_words[] = {
	"acpi", "amd_", "apic", "arm64.", "clocksource", "console=", "cpufreq", "cpuidle", "efi=",
	"hpet", "hv_", "idle", "intel_", "iomem", "irqaffinity", "isolcpus", "kpti", "kvm", "l1tf",
	"lapic", "lockdown", "maxcpus", "mce", "mds", "mem=", "mitigations", "nmi_watchdog",
	"no_timer_check", "noapic", "nohpet", "nohz", "nolapic", "nopti", "nopv", "nosmp", "nosmt",
	"notsc", "nowatchdog", "nox2apic", "nr_cpus", "panic", "perf", "pmu", "possible_cpus",
	"preempt", "processor.", "pti", "rcu", "retbleed", "rdpmc", "skew_tick", "smt-", "spec_",
	"spectre", "threadirqs", "tsc", "tsx", "unknown_nmi_panic", "vperfctr", "watchdog", "x2apic",
	"xen",
};

static bool is_told(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(told_words); i++)
		if (!strncmp(word, told_words[i], strlen(told_words[i])))
			return true;
	return false;
}

/*
 * Return: the next word of the command line, ended by a zero, or NULL.  As in the kernel, one has
 * blanks between quotes.  Without a second quote it has all that follows.
 */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *end;
	bool quoted = false;

	for (end = word; *end && (quoted || *end != ' '); end++)
		if (*end == '"')
			quoted = !quoted;
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return end > word ? word : NULL;
}

/* The other words may name disks, hosts, or secrets. */
static void print_command_line(FILE *f)
{
	char line[4096], *word, *rest = line;
	unsigned int others = 0;

	if (!read_first("/proc/cmdline", line, sizeof(line)))
		return;
	fputs("cmdline\t", f);
	while ((word = next_word(&rest))) {
		if (is_told(word))
			fprintf(f, "%s ", word);
		else
			others++;
	}
	fprintf(f, "(%u other words)\n", others);
}

static const char *const told_options[] = {
	"CONFIG_PREEMPT", "CONFIG_HZ=", "CONFIG_NO_HZ_", "CONFIG_PARAVIRT=", "CONFIG_KVM_GUEST=",
	"CONFIG_VIRT_CPU_ACCOUNTING_GEN=", "CONFIG_HARDLOCKUP_DETECTOR=",
};

static void print_options(FILE *f, gzFile in)
{
	char line[1024];
	bool first = true;
	size_t i;

	while (gzgets(in, line, sizeof(line))) {
		for (i = 0; i < ARRAY_SIZE(told_options); i++)
			if (!strncmp(line, told_options[i], strlen(told_options[i])))
				break;
		if (i == ARRAY_SIZE(told_options))
			continue;
		clean(line);
		fprintf(f, "%s%s", first ? "config\t" : " ", line);
		first = false;
	}
	if (!first)
		putc('\n', f);
}

/* The model of preemption and the rate of ticks are in the configuration, where there is one. */
static void print_configuration(FILE *f, const char *release)
{
	static const char *const places[] = {
		"%s/proc/config.gz", "%s/boot/config-%s", "%s/lib/modules/%s/config",
	};
	char path[4096];
	gzFile in;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), places[i], facts_root, release);
		in = gzopen(path, "rbe");
		if (!in)
			continue;
		print_options(f, in);
		gzclose(in);
		return;
	}
}

/* ---- which builds ------------------------------------------------------------------------ */

/* Print the build ID in notes of ELF. */
static void print_build_id(FILE *f, const char *name, const unsigned char *notes, size_t size)
{
	ElfW(Nhdr) note;
	size_t at, id, i;

	for (at = 0; at + sizeof(note) <= size; at = id + ((note.n_descsz + 3) & ~3UL)) {
		memcpy(&note, notes + at, sizeof(note));
		id = at + sizeof(note) + ((note.n_namesz + 3) & ~3UL);
		if (note.n_namesz > size || note.n_descsz > size || id + note.n_descsz > size)
			return;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(notes + at + sizeof(note), "GNU", 4))
			continue;
		fprintf(f, "%s\t", name);
		for (i = 0; i < note.n_descsz; i++)
			fprintf(f, "%02x", notes[id + i]);
		putc('\n', f);
		return;
	}
}

/* perfex itself is the first object. */
static int print_own_build_id(struct dl_phdr_info *info, size_t size, void *f)
{
	ElfW(Phdr) const *phdr;
	uintptr_t notes;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		phdr = &info->dlpi_phdr[i];
		notes = info->dlpi_addr + phdr->p_vaddr;
		if (phdr->p_type == PT_NOTE)
			print_build_id(f, "perfex build", (const unsigned char *)notes,
				       phdr->p_memsz);
	}
	return 1;
}

static void print_builds(FILE *f)
{
	FILE *in = open_below("/sys/module/vperfctr/notes/.note.gnu.build-id");
	unsigned char notes[256];

	dl_iterate_phdr(print_own_build_id, f);
	if (!in)
		return;
	print_build_id(f, "module build", notes, fread(notes, 1, sizeof(notes), in));
	fclose(in);
}

/* ---- the processor ----------------------------------------------------------------------- */

/*
 * Lines of /proc/cpuinfo for the first CPU: the model and the microcode, or the registers that
 * identify the processor.  On POWER and RISC-V those are nowhere else.
 */
static void print_processor(FILE *f)
{
	/* The flags have more than a thousand characters. */
	static const char *const left_out[] = { "flags", "vmx flags", "bugs", "Serial" };
	FILE *in = open_below("/proc/cpuinfo");
	char *line = NULL;
	size_t size = 0, i;

	if (!in)
		return;
	while (getline(&line, &size, in) > 0 && *line != '\n') {
		for (i = 0; i < ARRAY_SIZE(left_out); i++)
			if (!strncmp(line, left_out[i], strlen(left_out[i])))
				break;
		if (i == ARRAY_SIZE(left_out))
			fprintf(f, "processor\t%s", line);
	}
	free(line);
	fclose(in);
}

/* ---- all --------------------------------------------------------------------------------- */

void self_test_facts(FILE *f)
{
	struct utsname uts;
	time_t now = time(NULL);
	char date[32];
	size_t i;

	fprintf(f, "report\t%d\n", REPORT_FORMAT);
	fprintf(f, "perfex\t%s\n", VPERFCTR_VERSION);
	print_builds(f);
	if (strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", gmtime(&now)))
		fprintf(f, "date\t%s\n", date);
	if (!uname(&uts)) {
		fprintf(f, "kernel\t%s\t%s\t%s\n", uts.release, uts.version, uts.machine);
		print_configuration(f, uts.release);
	}
	print_command_line(f);
	for (i = 0; i < ARRAY_SIZE(facts); i++)
		print_fact(f, facts[i].name, facts[i].path);
	print_each(f, "parameter", "/sys/module/vperfctr/parameters/*");
	print_each(f, "", "/sys/devices/cpu*/cpus");
	print_each(f, "", "/sys/devices/armv8*/cpus");
	print_each(f, "", "/sys/devices/cpu*/rdpmc");
	print_each(f, "", "/sys/devices/cpu*/caps/*");
	print_each(f, "mitigation", "/sys/devices/system/cpu/vulnerabilities/*");
	print_values(f, "topology core_cpus_list",
		     "/sys/devices/system/cpu/cpu[0-9]*/topology/core_cpus_list");
	print_values(f, "topology die_id", "/sys/devices/system/cpu/cpu[0-9]*/topology/die_id");
	print_values(f, "topology physical_package_id",
		     "/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id");
	print_values(f, "midr_el1",
		     "/sys/devices/system/cpu/cpu[0-9]*/regs/identification/midr_el1");
	print_values(f, "revidr_el1",
		     "/sys/devices/system/cpu/cpu[0-9]*/regs/identification/revidr_el1");
	print_values(f, "smidr_el1",
		     "/sys/devices/system/cpu/cpu[0-9]*/regs/identification/smidr_el1");
	/* POWER's processor version register */
	print_values(f, "pvr", "/sys/devices/system/cpu/cpu[0-9]*/pvr");
	print_processor(f);
}
