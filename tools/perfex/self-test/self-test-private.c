// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --self-test: what a report has of the kernel's log.
 *
 * The kernel names programs, users, hosts, disks and networks in many ways, and each version in new
 * ones.  So these lists say what is taken: lines about counters, clocks, interrupts and CPUs, and
 * those of an oops or a warning, without the names of programs in them.
 */
#include <ctype.h>
#include <stdlib.h>

#include "checks.h"

/* How lines begin that a reader needs. */
static const char *const told_lines[] = {
	/* counters */
	"vperfctr: ", "perf: ", "perf_event", "Performance Events: ", "core: ", "... ", "PMU ",
	"AMD PMU", "Intel PMU", "RAPL PMU", "hw perfevents: ", "riscv-pmu", "generic-compat-pmu",
	"POWER", "amd_uncore: ", "CPU PMU", "Broken BIOS detected", "Failed to access perfctr msr",
	"[Firmware Bug]: ", "LVT offset ", "unchecked MSR access error: ",
	/* NMIs and watchdogs */
	"NMI ", "INFO: NMI handler ", "watchdog: ", "Watchdog detected ", "Uhhuh. NMI received ",
	"Dazed and confused", "Do you have a strange power saving", "Sending NMI ", "rcu: ",
	/* virtual machines */
	"kvm", "Hypervisor detected: ", "Booting paravirtualized kernel ",
	/* clocks and CPUs */
	"tsc: ", "TSC ", "clocksource: ", "sched_clock: ", "arch_timer: ", "microcode: ", "smp: ",
	"smpboot: ", "CPU features: ", "APIC: ", "x2apic", "GICv", "mce: ", "SBI ", "DMI: ",
	"Dynamic Preempt: ",
	/* an oops or a warning */
	"BUG: ", "WARNING: ", "Oops", "Internal error: ", "kernel BUG at ", "Kernel panic ",
	"general protection fault", "Unable to handle kernel ", "in_atomic(): ", "CPU: ",
	"Hardware name: ", "RIP: ", "EIP: ", "NIP ", "LR ", "pc : ", "lr : ", "pstate: ", "epc : ",
	"Code: ", "Call Trace:", "Call trace:", "---[ ", "------------[ cut here ]",
	"Modules linked in:", "<TASK>", "</TASK>", "<IRQ>", "</IRQ>", "<NMI>", "</NMI>",
};

/* The rest of a line after one of these names a program, or a user and then a program. */
static const char *const before_names[] = {
	" Comm:", " UID: ", " in process ", " process `", " code: ", " atomic: ", ", name: ",
	" stuck for ", ", CPU#", " stack regs at ", " frame pointer at ",
	"perf is refused counters: ",
};

/* These follow the name of a program in lines of the module. */
static const char *const after_names[] = {
	" counts; perf gets ", ": the counters of this virtual machine ",
};

static const char *const private_words[] = {
	"audit:", " SRC=", " MAC=", " DST=", "erial", "PPIN", "UUID", "uuid", "hostname",
	"ommand line:", "usb ", "hid-", "input:", "Bluetooth", "IPv4", "IPv6", " eth", " wl",
	"SSID", "nfs", "cifs", "Killing ", "Killed ", "(process ", "bpf_prog_",
};

/* True if the text begins like the pattern, where x is a hexadecimal digit. */
static bool has_pattern(const char *text, const char *pattern)
{
	for (; *pattern; pattern++, text++)
		if (*pattern == 'x' ? !isxdigit((unsigned char)*text) : *text != *pattern)
			return false;
	return true;
}

static bool is_private(const char *line)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(private_words); i++)
		if (strstr(line, private_words[i]))
			return true;
	/* Addresses of networks' devices, and UUIDs */
	for (; *line; line++)
		if (has_pattern(line, "xx:xx:xx:xx:xx:xx") ||
		    has_pattern(line, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
			return true;
	return false;
}

/*
 * True if the line is as "RAX: 0000000000000000 RBX: ...", "x29: ...", "GPR00: ...", " gp : ...",
 * "RSP: 0018:ffff...".
 */
static bool has_registers(const char *line)
{
	int name = 0, value = 0;

	sscanf(line, "%*5[A-Za-z0-9]%n", &name);
	line += name + strspn(line + name, " ");
	if (!name || *line++ != ':')
		return false;
	line += strspn(line, " ");
	value = (int)strspn(line, "0123456789abcdef:");
	while (isalnum((unsigned char)*line) || (*line && strchr(" :()", *line)))
		line++;
	return value >= 8 && !*line;
}

/* True if the line is as "? some_function+0x12/0x340 [module]". */
static bool is_function(const char *line)
{
	unsigned int offset, size;

	if (line[0] == '?')
		line += 1 + strspn(line + 1, " ");
	return sscanf(line, "%*[A-Za-z0-9_.]+0x%x/0x%x", &offset, &size) == 2;
}

static bool is_told(const char *line)
{
	size_t i;

	line += strspn(line, " ");
	for (i = 0; i < ARRAY_SIZE(told_lines); i++)
		if (!strncmp(line, told_lines[i], strlen(told_lines[i])))
			return true;
	return has_registers(line) || is_function(line);
}

/* Return: the last place of a text in another one, or NULL. */
static const char *find_last(const char *text, const char *what)
{
	const char *found = NULL;

	while ((text = strstr(text, what)))
		found = text++;
	return found;
}

/* Copy the line without the names of programs and users. */
static void leave_out_names(const char *line, char *told, size_t size)
{
	const char *end = NULL, *found;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(after_names); i++) {
		found = strncmp(line, "vperfctr: ", 10) ? NULL : find_last(line, after_names[i]);
		if (found) {
			snprintf(told, size, "vperfctr: ...%s", found);
			return;
		}
	}
	for (i = 0; i < ARRAY_SIZE(before_names); i++) {
		found = strstr(line, before_names[i]);
		if (!found)
			continue;
		found += strlen(before_names[i]);
		/* The number of the CPU, or the time for which it was stuck */
		if (isdigit((unsigned char)*found) && strcmp(before_names[i], " UID: "))
			found += strcspn(found, " ");
		if (!end || found < end)
			end = found;
	}
	if (end && *end)
		snprintf(told, size, "%.*s%s...", (int)(end - line), line,
			 end[-1] == ' ' ? "" : " ");
	else
		snprintf(told, size, "%s", line);
}

bool tell_line(const struct log_line *line, char *told, size_t size)
{
	if (!line->of_kernel || !is_told(line->text))
		return false;
	leave_out_names(line->text, told, size);
	/* Modules have such words in their names. */
	return !strncmp(told, "Modules linked in:", 18) || !is_private(told);
}
