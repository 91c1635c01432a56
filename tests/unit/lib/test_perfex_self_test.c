// SPDX-License-Identifier: GPL-2.0
/*
 * The report of perfex self-test, which is for a reader who never sees the machine.  The checks themselves
 * need a kernel: see the guest test.
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
	static const unsigned char notes[] = { 4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0 };

	put_text("/proc/cmdline", "BOOT_IMAGE=/secret/vmlinuz root=UUID=secret nmi_watchdog=0 ip=secret isolcpus=2,3 x=\"a perf_secret\" pmu=\"1 2\" \"perf_x=a secret\"\n");
	put_text("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu secret\nSerial\t: secret\n\nprocessor\t: 1\n");
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
	put_text("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000410fd0c0\n");
	put_text("/sys/devices/system/cpu/cpu1/regs/identification/midr_el1", "0x00000000410fd0c0\n");
	put_text("/sys/devices/system/cpu/cpu2/regs/identification/midr_el1", "0x00000000411fd050\n");
	put_text("/sys/devices/system/cpu/cpu0/pvr", "4e1202\n");
	shell("printf 'CONFIG_SECRET=y\\nCONFIG_HZ=250\\nCONFIG_PREEMPT_DYNAMIC=y\\n# CONFIG_NO_HZ_FULL is not set\\n' | gzip > root/proc/config.gz");
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
	ck_assert_int_eq(perfex("self-test", "--facts"), 0);
	ck_assert_str_eq(err, "");
	strcpy(report, out);
	ck_assert_int_eq(strncmp(report, "report\t2\n", 9), 0);
	for (i = 0; i < ARRAY_SIZE(facts_of_machine); i++)
		has_line(facts_of_machine[i]);
	has_not(report, "secret");
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
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", i);
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

/* Before the module: lines about counters.  After it: all lines of the kernel that name no one. */
START_TEST(kernel_log)
{
	put_text("/dev/kmsg",
		 "5,1,0,-;Linux version 6.1.0 (secret@secret) gcc\n"
		 "6,2,0,-;Command line: root=secret perf\n"
		 "6,3,0,-;tsc: Refined TSC clocksource calibration: 2000.000 MHz\n"
		 "6,4,0,-;usb 1-1: PMU SerialNumber: secret\n"
		 "6,5,0,-;EXT4-fs (secret): mounted\n SUBSYSTEM=secret\n DEVICE=;secret perf\n"
		 "30,6,0,-;systemd[1]: Hostname perf set to <secret>\n"
		 "6,7,0,-;vperfctr: version 0.1.0, Fake, 7 counters\n"
		 "4,8,0,-;RIP: 0010:somewhere\n"
		 "5,9,0,-;audit: type=1400 secret\n"
		 "13,10,0,-;secret of a program\n");
	run_checks("kinds");
	has(report, "\nlog before\ttsc: Refined TSC clocksource calibration: 2000.000 MHz\n"
	    "log before\tvperfctr: version 0.1.0, Fake, 7 counters\n"
	    "log before\tRIP: 0010:somewhere\nbegin\tkinds\n");
	has_not(report, "secret");
	/* It cannot be read by all. */
	shell("rm root/dev/kmsg");
	run_checks("kinds");
	has(report, "\nlog\tcannot be read: /dev/kmsg: No such file or directory\n");
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
