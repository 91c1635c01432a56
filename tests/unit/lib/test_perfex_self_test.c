// SPDX-License-Identifier: GPL-2.0
/*
 * The report of perfex self-test, which is for a reader who never sees the machine.  The checks
 * themselves need a kernel: see the guest test.
 */
#include <sys/stat.h>

#include "checks.h"
#include "perfex-command.h"

static char report[65536];

/* Write a file of the machine that the report describes. */
static void put(const char *path, const void *content, size_t size)
{
	char command[512];
	FILE *f;

	snprintf(command, sizeof(command), "mkdir -p \"root$(dirname %s)\"", path);
	shell(command);
	snprintf(command, sizeof(command), "%s/root%s", dir, path);
	f = fopen(command, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(content, 1, size, f), size);
	fclose(f);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

/* A line of the report, from its beginning. */
static void has_line(const char *line)
{
	char *text;

	ck_assert_int_gt(asprintf(&text, "\n%s\n", line), 0);
	has(report, text);
	free(text);
}

#define run_checks(checks)	run_with_report("--checks=" checks)

static int run_with_report(const char *checks)
{
	int status = perfex("self-test", "--report", (char *)in_dir("report"), (char *)checks);

	slurp("report", report, sizeof(report));
	return status;
}

/* Registers that can be read, of all CPUs of this machine, too. */
static void put_registers(void)
{
	long cpu, nr = sysconf(_SC_NPROCESSORS_CONF);
	char registers[4096], path[64];

	memset(registers, 0x5a, sizeof(registers));
	for (cpu = 0; cpu < nr || cpu < 4; cpu++) {
		snprintf(path, sizeof(path), "/dev/cpu/%ld/msr", cpu);
		put(path, registers, sizeof(registers));
	}
}

static void setup(void)
{
	command_setup();
	facts_root = strdup(in_dir("root"));
	put_text("/proc/cmdline", "quiet\n");
}

static void teardown(void)
{
	shell("rm -rf root");
	command_teardown();
}

/* A machine whose owner's names are all "secret". */
static void put_machine(void)
{
	static const unsigned char notes[] = {
		4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0,
	};

	put_text("/proc/cmdline",
		 "BOOT_IMAGE=/secret/vmlinuz root=UUID=secret nmi_watchdog=0 ip=secret "
		 "isolcpus=2,3 x=\"a perf_secret\" pmu=\"1 2\" \"perf_x=a secret\"\n");
	put_text("/proc/cpuinfo",
		 "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu secret\n"
		 "Serial\t: secret\n\nprocessor\t: 1\n");
	put_text("/proc/sys/kernel/hostname", "secret\n");
	put_text("/sys/class/dmi/id/sys_vendor", "A Vendor\t\n");
	put_text("/sys/class/dmi/id/product_name", "A\tProduct\n");
	put_text("/sys/class/dmi/id/product_serial", "secret\n");
	put_text("/sys/class/dmi/id/product_uuid", "secret\n");
	put_text("/proc/device-tree/model", "A Board");
	put_text("/sys/kernel/debug/sched/preempt", "none voluntary (full)\n");
	put_text("/sys/module/vperfctr/srcversion", "0123456789ABCDEF\n");
	put_text("/sys/module/vperfctr/parameters/isolate", "Y\n");
	put_text("/sys/module/vperfctr/parameters/perf_counters", "2\n");
	put("/sys/module/vperfctr/notes/.note.gnu.build-id", notes, sizeof(notes));
	put_text("/sys/devices/cpu/caps/branches", "32\n");
	put_text("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n");
	put_text("/sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: x\n");
	put_text("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
		 "0x00000000410fd0c0\n");
	put_text("/sys/devices/system/cpu/cpu1/regs/identification/midr_el1",
		 "0x00000000410fd0c0\n");
	put_text("/sys/devices/system/cpu/cpu2/regs/identification/midr_el1",
		 "0x00000000411fd050\n");
	put_text("/sys/devices/system/cpu/cpu0/pvr", "4e1202\n");
	shell("printf 'CONFIG_SECRET=y\\nCONFIG_HZ=250\\nCONFIG_PREEMPT_DYNAMIC=y\\n"
	      "# CONFIG_NO_HZ_FULL is not set\\n' | gzip > root/proc/config.gz");
}

static const char *const facts_of_machine[] = {
	"perfex\t" VPERFCTR_VERSION,
	"cmdline\tnmi_watchdog=0 isolcpus=2,3 pmu=\"1 2\" (5 other words)",
	"config\tCONFIG_HZ=250 CONFIG_PREEMPT_DYNAMIC=y",
	"preemption\tnone voluntary (full)",
	"dmi sys_vendor\tA Vendor",
	"dmi product_name\tA Product",
	"device tree\tA Board",
	"module source\t0123456789ABCDEF",
	"module build\tabcdef",
	"parameter isolate\tY",
	"parameter perf_counters\t2",
	"/sys/devices/cpu/caps/branches\t32",
	"mitigation spectre_v1\tMitigation: x",
	"midr_el1\t2x 0x00000000410fd0c0 1x 0x00000000411fd050",
	"pvr\t1x 4e1202",
	"processor\tprocessor\t: 0\nprocessor\tmodel name\t: Some CPU",
};

/* The kernel tells what the reader needs; nothing names the owner, hosts or disks. */
START_TEST(facts)
{
	size_t i;

	put_machine();
	run_checks("cpuid");
	ck_assert_int_eq(strncmp(report, "report\t2\n", 9), 0);
	for (i = 0; i < ARRAY_SIZE(facts_of_machine); i++)
		has_line(facts_of_machine[i]);
	has(report, "\nmodule\t");
	has(report, "\nkernel\t");
	has(report, "\ndate\t20");
	has_not(report, "secret");
	has_not(report, "SECRET");
	has_not(report, "meltdown");
}
END_TEST

/* The same without the module, and without a run. */
START_TEST(facts_alone)
{
	size_t i;

	put_machine();
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_msg(!perfex("self-test", "--facts"), "%s", err);
	ck_assert_str_eq(err, "");
	strcpy(report, out);
	ck_assert_int_eq(strncmp(report, "report\t2\n", 9), 0);
	for (i = 0; i < ARRAY_SIZE(facts_of_machine); i++)
		has_line(facts_of_machine[i]);
	has_not(report, "secret");
	/* Where the options say, or not at all. */
	ck_assert_int_eq(perfex("self-test", "--facts", "-o", (char *)in_dir("facts")), 0);
	ck_assert_str_eq(out, "");
	slurp("facts", out, sizeof(out));
	ck_assert_int_eq(strncmp(out, "report\t2\n", 9), 0);
	ck_assert_int_eq(perfex("self-test", "-o", (char *)in_dir("facts"), "help"), 0);
	ck_assert_str_eq(out, "");
	slurp("facts", out, sizeof(out));
	has(out, "only if named");
	unlink(in_dir("facts"));
	ck_assert_int_eq(perfex("self-test", "-o", "/dev/full", "--checks=help"), 125);
	has(err, "perfex: cannot write to '/dev/full': ");
	ck_assert_int_eq(perfex("self-test", "-j", "--facts"), 125);
	has(err, "-j prints the results of checks");
	ck_assert_int_eq(perfex("self-test", "help", "-j"), 125);
	has(err, "-j prints the results of checks");
	/* Little is known of some machines. */
	shell("rm -rf root/*");
	ck_assert_int_eq(perfex("self-test", "--facts"), 0);
	has(out, "report\t2\nperfex\t");
	has_not(out, "cmdline");
	has_not(out, "config");
}
END_TEST

/* Many CPUs, all different. */
START_TEST(many_values)
{
	char path[96], value[32];
	unsigned int i;

	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", i);
		snprintf(value, sizeof(value), "%u\n", i);
		put_text(path, value);
	}
	ck_assert_int_eq(perfex("self-test", "--facts"), 0);
	has(out, "\ntopology core_cpus_list\t1x 0 1x 1 1x 10 ");
	has(out, " ...\n");
}
END_TEST

/* The summary is that of the terminal; each check has its time. */
START_TEST(results)
{
	char *line;

	ck_assert_int_eq(run_checks("idle,kinds"), 0);
	has(out, "\n0 passed, 0 failed, 2 skipped\n");
	has_line("summary\t0 passed, 0 failed, 2 skipped");
	has(report, "\nSKIP\tidle\t");
	line = strstr(report, "\nduration\tidle\t");
	ck_assert_ptr_nonnull(line);
	ck_assert(strtod(line + strlen("\nduration\tidle\t"), NULL) < 60);
	has(report, "\nduration\tkinds\t");
	ck_assert_ptr_null(strstr(line, "\nbegin\tidle"));
	ck_assert_ptr_nonnull(strstr(line, "\nbegin\tkinds\n"));
}
END_TEST

static void hang(unsigned int step)
{
	(void)step;
	for (;;)
		pause();
}

static void crash(unsigned int step)
{
	(void)step;
	abort();
}

/* The registers of a check that cannot print them: its parent does. */
START_TEST(registers_of_killed_checks)
{
	put_registers();
	/* It fails by itself, as the fake counts nothing */
	ck_assert_int_eq(run_checks("each"), 1);
	has(report, "\nbegin\teach\nregister\teach\tCPU ");
	has(report, "\t0x5a5a5a5a5a5a5a5a\nFAIL\teach\tCPU 0: ");
	fake.on_step = crash;
	ck_assert_int_eq(run_checks("each"), 1);
	has(report, "\nbegin\teach\nregister\teach\tCPU 0\tIA32_");
	has(report, "\t0x5a5a5a5a5a5a5a5a\nFAIL\teach\tsignal 6 (Aborted) ended the check\n");
	fake.on_step = hang;
	check_limit = 1;
	ck_assert_int_eq(run_checks("each"), 1);
	has(report, "\nbegin\teach\nregister\teach\tCPU 0\tIA32_");
	has(report, "\t0x5a5a5a5a5a5a5a5a\nFAIL\teach\tthe check did not end in 1 seconds\n");
}
END_TEST

/*
 * Lines of the kernel that name its users, their programs, hosts or disks, and of programs.  The
 * same ones are there before the checks, behind the module's load, and in their time.
 */
static const char *const private_lines[] = {
	"5;audit: type=1400 secret",
	"6;wlan0: authenticate with 11:22:33:44:55:66 (local address=secret)",
	"6;wlp3s0: deauthenticated from 11:22:33:44:55:66 (Reason: 3=DEAUTH_LEAVING) secret",
	"6;EXT4-fs (sda1): mounted filesystem 01234567-89ab-cdef-0123-456789abcdef r/w secret",
	"6;XFS (dm-0-secret): Mounting V5 Filesystem",
	"6;BTRFS: device label secret devid 1 transid 7 /dev/sda1 scanned by secret (123)",
	"6;CIFS: Attempting to mount \\\\secret\\share",
	"6;secret[123]: segfault at 0 ip 0000555555555129 sp 00007fffffffe0c0 error 6 in libpmu.so",
	"4;traps: secret[123] general protection fault ip:555555555129 sp:7fffffffe0c0 error:0",
	"3;Out of memory: Killed process 1 (secret) total-vm:1kB, UID:1000 pgtables:1kB",
	"3;INFO: task secret:123 blocked for more than 120 seconds.",
	"6;thunderbolt 0-1: new device found, vendor=secret PMU",
	"6;task:secret          state:R  running task     stack:0     pid:123",
	"6;x86/split lock detection: #AC: secret/123 took a split_lock trap at address: 0x1",
	"6;device-mapper: secret watchdog: BUG:",
	"6;PMU 11:22:33:44:55:66",
	"6;PMU 01234567-89ab-cdef-0123-456789abcdef",
	"6;secret: perf: tsc: RIP: Call Trace:",
	"6; bpf_prog_0123456789abcdef_secret+0x12/0x34",
	/* A program */
	"13;mail of secret",
	"13;BUG: mail of secret",
	"13;vperfctr: secret",
};

/* Lines that a reader needs, and what the report has of them; NULL: all. */
static const struct {
	const char *line, *told;
} told_lines[] = {
	{ .line = "vperfctr: the NMI watchdog keeps its counter, 0xc1" },
	{ "vperfctr: a secret (process 1) (process 12, user 1000) counts; perf gets no counters",
	  "vperfctr: ... counts; perf gets no counters" },
	{ "vperfctr: perf is refused counters: secret (process 12, user 1000) has them",
	  "vperfctr: perf is refused counters: ..." },
	{ "vperfctr: secret[12]: the counters of this virtual machine stand still, because",
	  "vperfctr: ...: the counters of this virtual machine stand still, because" },
	{ .line = "perf: interrupt took too long (2501 > 2500), lowering the rate" },
	{ .line = "Performance Events: Skylake events, 32-deep LBR, Intel PMU driver." },
	{ .line = "... max period:             00007fffffffffff" },
	{ .line = "hw perfevents: enabled with armv8_pmuv3 PMU driver, 7 counters available" },
	{ .line = "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter." },
	{ .line = "Uhhuh. NMI received for unknown reason 20 on CPU 1." },
	{ .line = "kvm_intel: enabled mediated PMU" },
	{ .line = "microcode: Current revision: 0x000000f0" },
	{ "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [secret:123]",
	  "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! ..." },
	{ .line = "BUG: kernel NULL pointer dereference, address: 0000000000000010" },
	{ "BUG: scheduling while atomic: secret/123/0x00000002",
	  "BUG: scheduling while atomic: ..." },
	{ "BUG: using smp_processor_id() in preemptible [00000000] code: secret/123",
	  "BUG: using smp_processor_id() in preemptible [00000000] code: ..." },
	{ "BUG: Bad page map in process secret  pte:0 pmd:0", "BUG: Bad page map in process ..." },
	{ "BUG: Bad rss-counter state mm:0 type:MM_FILEPAGES val:1 Comm:secret Pid:123",
	  "BUG: Bad rss-counter state mm:0 type:MM_FILEPAGES val:1 Comm: ..." },
	{ "in_atomic(): 1, irqs_disabled(): 1, non_block: 0, pid: 123, name: secret",
	  "in_atomic(): 1, irqs_disabled(): 1, non_block: 0, pid: 123, name: ..." },
	{ .line = "------------[ cut here ]------------" },
	{ .line = "WARNING: CPU: 1 PID: 123 at switch.c:12 some_function+0x12/0x340 [vperfctr]" },
	{ "WARNING: module/switch.c:12 at some_function+0x12/0x340 [vperfctr], CPU#1: secret/123",
	  "WARNING: module/switch.c:12 at some_function+0x12/0x340 [vperfctr], CPU#1: ..." },
	{ .line = "Modules linked in: vperfctr(OE) nfs cifs wl usb_common" },
	{ "CPU: 1 UID: 1000 PID: 123 Comm: secret Tainted: G           OE      6.12.0 #1",
	  "CPU: 1 UID: ..." },
	{ "CPU: 1 PID: 123 Comm: secret Not tainted 6.1.0 #1", "CPU: 1 PID: 123 Comm: ..." },
	{ .line = "Hardware name: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-1 04/01/2014" },
	{ .line = "RIP: 0010:some_function+0x12/0x340 [vperfctr]" },
	{ .line = "RSP: 0018:ffffc90000013e58 EFLAGS: 00010246" },
	{ .line = "RAX: 0000000000000000 RBX: ffff888003ae8000 RCX: 0000000000000000" },
	{ .line = "x29: ffff800008003d50 x28: ffff000002f1a000 x27: 0000000000000000" },
	{ .line = "pc : some_function+0x12/0x340 [vperfctr]" },
	{ .line = "GPR00: c0000000000e4a50 c000000002b7f9e0 c00000000142fb00 0000000000000000" },
	{ .line = "Call Trace:" },
	{ .line = " <NMI>" },
	{ .line = " ? some_function+0x12/0x340 [vperfctr]" },
	{ .line = "---[ end trace 0000000000000000 ]---" },
};

static unsigned int next_number;

/* Append these lines to the log. */
static void log_lines(void)
{
	FILE *f = fopen(in_dir("root/dev/kmsg"), "a");
	size_t i;

	ck_assert_ptr_nonnull(f);
	for (i = 0; i < ARRAY_SIZE(private_lines); i++)
		fprintf(f, "%.*s,%u,0,-;%s\n", (int)strcspn(private_lines[i], ";"),
			private_lines[i], next_number++, strchr(private_lines[i], ';') + 1);
	for (i = 0; i < ARRAY_SIZE(told_lines); i++)
		fprintf(f, "4,%u,0,-;%s\n", next_number++, told_lines[i].line);
	fclose(f);
}

static void log_lines_once(unsigned int step)
{
	(void)step;
	fake.on_step = NULL;
	log_lines();
}

/* The report has these lines, and no other, in this order. */
static void has_told_lines(const char *label, const char *before)
{
	const char *at = strstr(report, before);
	char line[512];
	size_t i;

	ck_assert_ptr_nonnull(at);
	at = strchr(at + strlen(before) - 1, '\n') + 1;
	for (i = 0; i < ARRAY_SIZE(told_lines); i++) {
		snprintf(line, sizeof(line), "%s\t%s\n", label,
			 told_lines[i].told ? told_lines[i].told : told_lines[i].line);
		ck_assert_msg(!strncmp(at, line, strlen(line)), "%.120s, not %s", at, line);
		at += strlen(line);
	}
	ck_assert(strncmp(at, "log", 3));
}

/* A list says what the report has of the log, as of the command line. */
START_TEST(kernel_log)
{
	put_text("/dev/kmsg",
		 "5,1,0,-;Linux version 6.1.0 (secret@secret) gcc\n"
		 "6,2,0,-;Command line: root=secret perf\n"
		 "6,3,0,-;tsc: Refined TSC clocksource calibration: 2000.000 MHz\n"
		 "6,4,0,-;usb 1-1: PMU SerialNumber: secret\n"
		 "6,5,0,-;EXT4-fs (secret): mounted\n SUBSYSTEM=secret\n DEVICE=;secret perf\n"
		 "30,6,0,-;systemd[1]: Hostname perf set to <secret>\n"
		 "6,7,0,-;vperfctr: version 0.1.0, Fake, 7 counters\n");
	next_number = 8;
	log_lines();
	/* A check whose steps are counted; it fails as the fake counts nothing. */
	fake.on_step = log_lines_once;
	ck_assert_int_eq(run_checks("each,log"), 1);
	has_told_lines("log before",
		       "\nlog before\ttsc: Refined TSC clocksource calibration: 2000.000 MHz\n"
		       "log before\tvperfctr: version 0.1.0, Fake, 7 counters\n");
	has_told_lines("log", "\nnmis\t");
	has_not(report, "secret");
	has_not(out, "secret");
	/* It cannot be read by all. */
	shell("rm root/dev/kmsg");
	run_checks("kinds");
	has(report, "\nlog\tcannot be read: /dev/kmsg: No such file or directory\n");
}
END_TEST

/* The check of the log shows no line that the report leaves out, but it counts them. */
START_TEST(complaint_of_log)
{
	put_text("/dev/kmsg", "");
	next_number = 1;
	fake.on_step = log_lines_once;
	ck_assert_int_eq(run_checks("each,log"), 1);
	has(out, "FAIL  log          ");
	has(out, " lines of the kernel's log, as: a line that is left out, ");
	has(report, "\nFAIL\tlog\t");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-self-test");
	TCase *t = tcase_create("self-test");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, facts);
	tcase_add_test(t, facts_alone);
	tcase_add_test(t, many_values);
	tcase_add_test(t, results);
	tcase_add_test(t, registers_of_killed_checks);
	tcase_add_test(t, kernel_log);
	tcase_add_test(t, complaint_of_log);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
