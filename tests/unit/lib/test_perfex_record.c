// SPDX-License-Identifier: GPL-2.0
/* perfex --sample: what it asks the kernel for, and what it writes. */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "perfex-command.h"
#include "perfex.h"
#include "recording.h"

#define TWO		TMP "/two"

static char text[4 << 20];

static void setup(void)
{
	unsigned int i;

	command_setup();
	fake.nrsamples = 10;
	/* More than the run really takes, on any machine. */
	fake.exec_tsc = 4000000000;
	for (i = 0; i < 4; i++)
		fake.samples[i] = (struct vperfctr_sample){
			.type = VPERFCTR_SAMPLE_OVERFLOW, .flags = VPERFCTR_SAMPLE_USER,
			.ip = 0x5000 + i, .tsc = 100 + i, .overflow = 1 << (i & 1),
		};
}

/* perfex --sample... -o FILE ARGUMENT... */
#define sample(option, ...)	perfex(option, "-o", (char *)in_dir("s"), ##__VA_ARGS__)

/* Print the file into `text`.  Return: false: it breaks the format, or is not complete. */
static bool read_samples(void)
{
	char command[256];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), TMP "/print_samples %s 2>&1", in_dir("s"));
	f = popen(command, "r");
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	return !pclose(f);
}

static void print_samples(void)
{
	ck_assert_msg(read_samples(), "%.1000s", text);
}

static unsigned int count_lines(const char *begin)
{
	const char *line = text;
	unsigned int n = 0;

	while (line) {
		n += !strncmp(line, begin, strlen(begin));
		line = strchr(line, '\n');
		line += !!line;
	}
	return n;
}

/* ---- events and periods ------------------------------------------------------------- */

START_TEST(whole_family)
{
	struct utsname name;
	char host[300];

	ck_assert_int_eq(sample("--sample=instructions:u=100k", TWO, "x"), 1);
	ck_assert_uint_eq(fake_seen->control_flags, VPERFCTR_CONTROL_START_ON_EXEC |
			  VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT |
			  VPERFCTR_CONTROL_SPREAD);
	/* An older module */
	fake.info.features &= ~(uint32_t)VPERFCTR_FEATURE_SPREAD;
	ck_assert_int_eq(sample("--sample=instructions:u=100k", TWO), 0);
	ck_assert_uint_eq(fake_seen->control_flags, VPERFCTR_CONTROL_START_ON_EXEC |
			  VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT);
	fake.children = 234567;
	ck_assert_int_eq(sample("--sample=instructions:u=100k", TWO), 0);
	has(err, " samples in '");
	has(err, "; 1,234,567 instructions:u in all\n");
	print_samples();
	has(text, "command " TWO "\n");
	ck_assert_int_eq(uname(&name), 0);
	snprintf(host, sizeof(host), "host %ld %ld %s %s %s\n", sysconf(_SC_NPROCESSORS_CONF),
		 sysconf(_SC_NPROCESSORS_ONLN), name.machine, name.release, name.nodename);
	has(text, host);
	has(text, "event 0 100000 instructions:u\n");
	has(text, "end 10 0 0 1234567\n");
}
END_TEST

START_TEST(first_thread_only)
{
	ck_assert_int_eq(sample("--sample=instructions:u=100k", "--no-inherit", TWO), 0);
	ck_assert_uint_eq(fake_seen->control_flags,
			  VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_RING);
}
END_TEST

/* perf's options, and the file that it would write, with perfex's name. */
START_TEST(options_of_perf)
{
	struct stat old, new;

	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(perfex("record", "-e", "{cycles, instructions}:u", "-c", "1k", TWO), 0);
	has(err, " samples in 'perfex.data', ");
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -1000);
	ck_assert_int_eq(fake_seen->ctr[1].ireset, -1000);
	ck_assert_int_eq(stat("perfex.data", &old), 0);
	ck_assert_uint_eq(old.st_mode & 0777, 0600);
	ck_assert_int_eq(stat("perfex.data.old", &new), -1);
	/* The one before is kept, and no third one. */
	ck_assert_int_eq(perfex("record", "-q", "-c", "2000", TWO), 0);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -2000);
	ck_assert_int_eq(stat("perfex.data.old", &new), 0);
	ck_assert_uint_eq(new.st_ino, old.st_ino);
	ck_assert_int_eq(stat("perfex.data", &old), 0);
	ck_assert_int_eq(perfex("record", "-F", "999", "-g", TWO), 0);
	ck_assert_int_eq(stat("perfex.data.old", &new), 0);
	ck_assert_uint_eq(new.st_ino, old.st_ino);
	ck_assert_int_eq(access("perfex.data.old.old", F_OK), -1);
	/* A command that fails leaves both as they were. */
	ck_assert_int_eq(stat("perfex.data", &old), 0);
	ck_assert_int_eq(perfex("record", "-c", "1000", "/no/such"), 127);
	ck_assert_int_eq(stat("perfex.data", &new), 0);
	ck_assert_uint_eq(new.st_ino, old.st_ino);
	/* standard output; a file that is named has no other name */
	ck_assert_int_eq(perfex("record", "-o", "-", "-c", "1000", TWO), 0);
	ck_assert_int_eq(strncmp(out, "perfexS\n", 8), 0);
	has(err, " samples in standard output, ");
	ck_assert_int_eq(perfex("record", "-o", "s", "-c", "1000", TWO), 0);
	ck_assert_int_eq(perfex("record", "-o", "s", "-c", "1000", TWO), 0);
	ck_assert_int_eq(access("s.old", F_OK), -1);
	ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* A module that cannot inherit i-mode counters. */
START_TEST(no_inheritance)
{
	fake.info.features &= ~(uint32_t)VPERFCTR_FEATURE_INHERIT_IMODE;
	ck_assert_int_eq(sample("--sample=cycles=1k", TWO), 0);
	ck_assert_uint_eq(fake_seen->control_flags,
			  VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_RING);
	has(err, "perfex: this module does not sample what is started: only the command's first thread is sampled\n");
	ck_assert_int_eq(sample("--sample=cycles=1k", "--no-inherit", TWO), 0);
	has_not(err, "does not sample what is started");
}
END_TEST

/* 2 GHz: 2000 samples per second, as the fake processor runs one instruction in a cycle. */
START_TEST(usual_period)
{
	ck_assert_int_eq(sample("--sample=instructions:u", TWO), 0);
	has(err, "perfex: a sample each 1,000,003 instructions:u (-e EVENT=PERIOD chooses others)\n");
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -1000003);
	ck_assert_int_eq(sample("--sample=branches:u,branch-misses:u=77", TWO), 0);
	has(err, "perfex: a sample each 200,003 branches:u and each 77 branch-misses:u (");
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -200003);
	ck_assert_int_eq(fake_seen->ctr[1].ireset, -77);
	fake.info.max_period = 5000;
	ck_assert_int_eq(sample("--sample=cycles", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -5000);
	fake.info.tsc_khz = 0;
	fake.info.max_period = 0x7fffffff;
	ck_assert_int_eq(sample("--sample=cycles", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -500009);
}
END_TEST

START_TEST(usual_event)
{
	ck_assert_int_eq(sample("--sample", TWO), 0);
	has(err, "perfex: a sample each 1,000,003 cycles:u (");
	ck_assert_uint_eq(fake_seen->control.nrictrs, 1);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_RECORDS);
	ck_assert_uint_eq(fake_seen->ring.depth, 0);
	print_samples();
	has(text, "event 0 1000003 cycles:u\n");
	/* The first that this processor has. */
	fake.info.arch_events = VPERFCTR_EVENT_INSTRUCTIONS | VPERFCTR_EVENT_BRANCHES;
	ck_assert_int_eq(sample("--sample", TWO), 0);
	has(err, "perfex: a sample each 1,000,003 instructions:u (");
	fake.info.arch_events = 0;
	ck_assert_int_eq(sample("--sample", TWO), 125);
	is_message("this processor cannot count");
}
END_TEST

/* The next word is the argument only if it has a period. */
START_TEST(separate_argument)
{
	ck_assert_int_eq(perfex("--sample", "cycles=77", "-o", (char *)in_dir("s"), TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -77);
	ck_assert_int_eq(perfex("-o", (char *)in_dir("s"), "--sample", "./no=command"), 127);
	has(err, "perfex: a sample each ");
	has(err, "\nperfex: there is no command './no=command'");
}
END_TEST

START_TEST(several_events)
{
	ck_assert_int_eq(sample("--sample=instructions:u=100k,cycles=7k", TWO), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 0);
	ck_assert_uint_eq(fake_seen->control.nrictrs, 2);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -100000);
	ck_assert_int_eq(fake_seen->ctr[1].ireset, -7000);
	/* One of them counts kernel mode. */
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS);
	has(err, ", 0 dropped; 1,000,000 instructions:u, 1,000,001 cycles in all\n");
	print_samples();
	has(text, "event 0 100000 instructions:u\nevent 1 7000 cycles\n");
	has(text, " 1 0 5000\n");
	has(text, " 2 0 5001\n");
	ck_assert_uint_eq(count_lines("sample "), 10);
	has(text, "end 10 0 0 1000000 1000001\n");
	/* More than there are counters. */
	ck_assert_int_eq(sample("--sample=r01d1=1k,r02d1=1k,r03d1=1k,r04d1=1k,r05d1=1k", TWO), 125);
	is_message("");
}
END_TEST

START_TEST(advice_on_several_events)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fake.samples[i].dropped = 999;
	ck_assert_int_eq(sample("--sample=instructions:u=20,cycles:u=40", TWO), 0);
	has(err, "\nperfex: 9,990 of 10,000 overflows gave no sample: "
		 "use a longer period, as in -e instructions:u=30000,cycles:u=60000\n");
	fake.nrsamples = 0;
	ck_assert_int_eq(sample("--sample=instructions:u=20,cycles:u=40", TWO), 0);
	has(err, "\nperfex: no samples: there were only 1,000,001 cycles:u: "
		 "use a shorter period, as in -e cycles:u=1000\n");
}
END_TEST

/* ---- a rate ------------------------------------------------------------------------------ */

/* The samples stand for all of the events, as the kernel has made periods longer. */
START_TEST(rate)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fake.samples[i].dropped = 99;
	ck_assert_int_eq(sample("--sample", "-F", "1000", TWO), 0);
	has(err, "perfex: about 1,000 samples of cycles:u per second of each thread (");
	has(err, "perfex: 10 samples in '");
	has(err, "' for 1,000 periods; ");
	has_not(err, "longer period");
	ck_assert_uint_eq(fake_seen->ring.rate, 1000);
	/* 2 GHz, and a 256th of the cycles between two samples. */
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -7817);
	ck_assert_int_eq(sample("--sample=branches:u,instructions:u", "--freq=50000", TWO), 0);
	has_not(err, "perfex: about");
	ck_assert_uint_eq(fake_seen->ring.rate, 50000);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -251);
	ck_assert_int_eq(fake_seen->ctr[1].ireset, -251);
	fake.info.min_period = 1000;
	ck_assert_int_eq(sample("--sample=instructions:u", "-F1000000", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -1009);
	ck_assert_int_eq(sample("--sample", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.rate, 0);
}
END_TEST

START_TEST(rate_of_an_old_module)
{
	fake.fail[FAKE_RING] = E2BIG;
	ck_assert_int_eq(sample("--sample=cycles", "-F1000", TWO), 125);
	is_message("the vperfctr module is too old for call chains (-g) or a rate (-F)");
}
END_TEST

/* ---- chains -------------------------------------------------------------------------- */

START_TEST(chains)
{
	fake.nrcalls = 3;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.depth, 64);
	print_samples();
	has(text, " 5000 1001 1002 1003\n");
	ck_assert_uint_eq(count_lines("sample "), 10);
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", "fp", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.depth, 64);
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-gfp", "--max-stack=2", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.depth, 2);
	print_samples();
	has(text, " 5000 1001 1002\n");
	has_not(text, "1003");
	fake.nrcalls = 127;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "--max-stack=127", "--call-graph=fp", TWO), 0);
	print_samples();
	has(text, " 107e 107f\n");
	fake.nrcalls = 0;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", TWO), 0);
	print_samples();
	has(text, " 5000\n");
}
END_TEST

/* Calls in the kernel, in samples that have an address there. */
START_TEST(chains_of_the_kernel)
{
	fake.samples[2].ip = UINT64_C(0xffffffff81000000);
	fake.samples[2].flags = VPERFCTR_SAMPLE_KERNEL;
	fake.nrcalls = 3;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS);
	ck_assert_uint_eq(fake_seen->ring.depth, 64);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 64);
	print_samples();
	has(text, " ffffffff81000000 8000000000000001 8000000000000002 1001 1002 1003\n");
	has(text, " 5000 1001 1002 1003\n");
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", "dwarf", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 64);
	print_samples();
	has(text, " ffffffff81000000 8000000000000001 8000000000000002 stack 2 17 24\n");
	has(text, " 5000 stack 2 17 24\n");
	/* Together they are no more than a chain of the file can have. */
	fake.nrcalls = 127;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", "--max-stack=127", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 127);
	print_samples();
	has(text, " 800000000000007d 800000000000007e 1001\n");
	/* Neither without kernel mode, nor without -g. */
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 0);
	ck_assert_int_eq(sample("--sample=cycles=1k", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 0);
	fake.fail[FAKE_RING] = EOPNOTSUPP;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", TWO), 125);
	is_message("this kernel cannot find its own calls, as its unwinder is UNWINDER_GUESS or missing: sample user mode with ':u', or do without -g");
}
END_TEST

/* The kernel's architecture, if it is not NULL. */
static const char *fake_machine;

int uname(struct utsname *name)
{
	int ret = (int)syscall(SYS_uname, name);

	if (!ret && fake_machine)
		strcpy(name->machine, fake_machine);
	return ret;
}

/* The file has the addresses of a 32-bit kernel with the top bit, and those of firmware as they are. */
START_TEST(chains_of_a_32_bit_kernel)
{
	fake_machine = _i ? "ppc64" : "ppc";
	fake.samples[2].ip = 0xc0001000;
	fake.samples[2].flags = VPERFCTR_SAMPLE_KERNEL;
	fake.nrcalls = 3;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", TWO), 0);
	print_samples();
	has(text, _i ? " c0001000 80000001 80000002 1001 1002 1003\n" :
		       " ffffffffc0001000 ffffffff80000001 ffffffff80000002 1001 1002 1003\n");
	has(text, " 5000 1001 1002 1003\n");
	fake_machine = NULL;
}
END_TEST

/* The fake's samples have as many words of stack as they have calls. */
START_TEST(stacks)
{
	fake.nrcalls = 3;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", "dwarf", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.depth, 0);
	ck_assert_uint_eq(fake_seen->ring.stack, 8192);
	/* 24 MB have 2048 slots of this size. */
	ck_assert_uint_eq(fake_seen->ring.nrsamples, 2048);
	print_samples();
	has(text, " 5000 stack 2 17 24\n");
	ck_assert_uint_eq(count_lines("sample "), 10);
	fake.nrcalls = 4096;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "--call-graph=dwarf,32768", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.stack, 32768);
	print_samples();
	has(text, " 5000 stack 2 17 32768\n");
	ck_assert_uint_eq(count_lines("sample "), 10);
	/* Where the registers are not known. */
	fake.nrcalls = 0;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", "dwarf,8", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.stack, 8);
	print_samples();
	has(text, " 5000\n");
	has_not(text, "stack");
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-gdwarf", "--max-stack=5", TWO), 125);
	is_message("--max-stack is for -g fp: -g dwarf,SIZE limits the stack");
	/* The last one counts. */
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-gdwarf", "-g", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.depth, 64);
	ck_assert_uint_eq(fake_seen->ring.stack, 0);
}
END_TEST

/* More samples than one record holds. */
START_TEST(many_records)
{
	fake.nrcalls = 64;
	fake.nrsamples = 5000;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", TWO), 0);
	has(err, "perfex: 5,000 samples in ");
	print_samples();
	has(text, "event 0 1000 cycles:u\n");
	fake.nrcalls = 0;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", TWO), 0);
	print_samples();
	ck_assert_uint_eq(count_lines("sample "), 5000);
	has(text, "end 5000 0 0 1000000\n");
}
END_TEST

/* A ring whose end would disturb is not made: see VPERFCTR_RING. */
START_TEST(size_of_rings)
{
	ck_assert_int_eq(sample("--sample=cycles:u=1k", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.nrsamples, 131072);
	ck_assert_uint_eq(fake_seen->ring.watermark, 32768);
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.nrsamples, 32768);
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", "--max-stack=127", TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.nrsamples, 16384);
	fake.nrsamples = 20000;
	ck_assert_int_eq(sample("--sample=cycles:u=1k", "-g", "--max-stack=127", TWO), 0);
	has(err, "perfex: 16,384 samples in ");
	has(err, ", 3,616 dropped; ");
	print_samples();
	has(text, "end 16384 3616 0 1000000\n");
}
END_TEST

/* ---- tasks and mappings ----------------------------------------------------------------- */

static const char long_path[] =
	"/a/long/path/that/needs/several/slots/of/a/ring/whose/samples/are/small/so/that/the/"
	"library/must/put/it/together/again/and/perfex/writes/it/as/one/record";

START_TEST(tasks_of_the_ring)
{
	static const struct fake_record records[] = {
		{ .type = VPERFCTR_RECORD_FORK },
		{ .type = VPERFCTR_RECORD_EXEC, .text = "new" },
		{ .type = VPERFCTR_RECORD_MAP, .start = 0x1000, .end = 0x2000 },
		{ .type = VPERFCTR_RECORD_COMM, .text = "renamed" },
		{ .type = VPERFCTR_RECORD_EXIT },
		/* a type of a later kernel */
		{ .type = 100 },
	};
	char expected[512];
	unsigned int pid;

	memcpy(fake.records, records, sizeof(records));
	strcpy(fake.records[2].text, long_path);
	fake.nrrecords = ARRAY_SIZE(records);
	fake.lost = 1234;
	ck_assert_int_eq(_i ? sample("--sample=cycles:u=1k", "-g", TWO) :
			      sample("--sample=cycles:u=1k", TWO), 0);
	has(err, "perfex: 10 samples in ");
	has(err, "\nperfex: 1,234 records of tasks and mappings were lost: samples may be shown as [unknown]\n");
	print_samples();
	ck_assert_int_eq(sscanf(strstr(text, "exec "), "exec %u", &pid), 1);
	snprintf(expected, sizeof(expected),
		 "exec %u %u new\nprocess %u %u %u\nmapping %u 1000 2000 0 0 %s\ncomm %u %u renamed\nexit %u %u\nsample ",
		 pid, pid, pid, pid, (unsigned int)geteuid(), pid, long_path, pid, pid, pid, pid);
	has(text, expected);
	snprintf(expected, sizeof(expected), "\nfork %u %u ", pid, pid);
	has(text, expected);
	ck_assert_uint_eq(count_lines("sample "), 10);
	has(text, "end 10 0 1234 1000000\n");
}
END_TEST

/* The module has no records: perfex reads /proc while the command lives. */
START_TEST(tasks_from_proc)
{
	pid_t pid;
	int i, fd;

	fake.info.features &= ~(uint32_t)VPERFCTR_FEATURE_RECORDS;
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	snprintf(text, sizeof(text), "read x < %s", in_dir("fifo"));
	pid = start(ARGV("--sample=cycles:u=1k", "-o", (char *)in_dir("s"), "sh", "-c", text));
	for (i = 0; i < 3000 && !strstr(text, " [vdso]\n"); i++) {
		usleep(10000);
		read_samples();
	}
	fd = open(in_dir("fifo"), O_WRONLY);
	ck_assert_int_eq(write(fd, "x\n", 2), 2);
	close(fd);
	ck_assert_int_eq(finish(pid), 0);
	ck_assert_uint_eq(fake_seen->ring.flags, 0);
	print_samples();
	ck_assert_uint_eq(count_lines("exec "), 1);
	has(text, " sh\n");
	has(text, " [vdso]\n");
	has(text, "end 10 0 0 1000000\n");
}
END_TEST

/* ---- misuse --------------------------------------------------------------------------------- */

static const struct {
	const char *option, *more, *message;
} misuses[] = {
	{ "--sample=", NULL, "needs EVENT or EVENT=PERIOD" },
	{ "--sample=cycles,", NULL, "needs EVENT or EVENT=PERIOD" },
	{ "--sample=cycles=1k,=2", NULL, "needs EVENT or EVENT=PERIOD" },
	{ "--sample=cycles=1k,instructions=", NULL, "'' is not a period" },
	{ "--sample=cycles=1k,nonsense-event=1", NULL, "unknown event 'nonsense-event'" },
	{ "--sample=cycles=1k,cs=1", NULL, "takes no samples of it here" },
	{ "--sample", "-gdwarf2", "are those of frame pointers (-g fp) or of stacks (-g dwarf), not 'dwarf2'" },
	{ "--sample", "--call-graph=lbr", "not 'lbr'" },
	{ "--sample", "-gdwarf,32776", "'32776' is not the size of a stack: it is a multiple of 8, from 8 to 32768" },
	{ "--sample", "-gdwarf,4097", "'4097' is not the size of a stack" },
	{ "--sample", "-gdwarf,0", "'0' is not the size of a stack" },
	{ "--sample", "-gdwarf,", "'' is not the size of a stack" },
	{ "--sample", "-gdwarf,-8", "'-8' is not the size of a stack" },
	{ "--sample", "-gdwarf,8k", "'8k' is not the size of a stack" },
	{ "--sample", "-gdwarf,99999999999999999999999", "is not the size of a stack" },
	{ "-v", "-gdwarf", "perfex stat has no -g, which is an option of perfex record" },
	{ "--sample", "-gx", "not 'x'" },
	{ "--sample", "--max-stack=5", "--max-stack is for -g" },
	{ "--sample", "--max-stack=128", "from 1 to 127" },
	{ "--sample", "--max-stack=0", "from 1 to 127" },
	{ "--sample", "-F0", "'0' is not a number of samples per second, from 1 to 1000000" },
	{ "--sample", "-F1000001", "from 1 to 1000000" },
	{ "--sample", "--freq=x", "from 1 to 1000000" },
	{ "--sample=cycles=1k", "-F1000", "either -F or EVENT=PERIOD says" },
	{ "--sample=cycles,instructions=1k", "-F1000", "either -F or EVENT=PERIOD says" },
	{ "-v", "-F1000", "perfex stat has no -F, which is an option of perfex record" },
	{ "--sample", "-r2", "there is no -r, which perf record has" },
	{ "--sample", "-j", "there is no -j, which perf record has" },
	{ "--sample", "-I5", "there is no -I, which perf record has" },
	{ "--sample", "--per-thread", "perfex report --sort=tid shows the threads" },
	{ "--sample", "--runs=auto", "perfex record has no --runs, which is an option of perfex stat" },
	{ "--sample", "--timeout=1s", "--timeout is for -p, -t, -a and -C" },
	{ "-v", "-g", "perfex stat has no -g, which is an option of perfex record" },
	{ "-v", "--max-stack=3", "perfex stat has no --max-stack, which is an option of perfex record" },
};

START_TEST(misuse)
{
	fake.info.soft = VPERFCTR_SOFT_CONTEXT_SWITCHES;
	if (misuses[_i].more)
		ck_assert_int_eq(sample((char *)misuses[_i].option, (char *)misuses[_i].more, "echo"), 125);
	else
		ck_assert_int_eq(sample((char *)misuses[_i].option, "echo"), 125);
	is_message(misuses[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

static const struct {
	int error;
	const char *message;
} attach_failures[] = {
	{ EAGAIN, "max_ring_kb_per_user" },
	{ EBUSY, "holds the counters" },
	{ EADDRINUSE, "is counted already, by itself or by another program" },
	{ ESRCH, "no process or thread" },
	{ EMFILE, "ulimit" },
	{ E2BIG, "too old to sample running processes" },
};

START_TEST(old_modules_and_failures)
{
	unsigned int i;
	char pid[16];
	pid_t child;

	/* One without chains. */
	fake.fail[FAKE_RING] = E2BIG;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", "echo"), 125);
	is_message("too old for call chains (-g)");
	/* One that cannot attach, as the fake one. */
	fake.fail[FAKE_RING] = EINVAL;
	ck_assert_int_eq(sample("--sample=cycles=1k", "-g", "dwarf", "echo"), 125);
	is_message("too old for stacks in samples (-g dwarf), or for calls in the kernel: install that of this perfex, or use -g fp and sample user mode with ':u'");
	fake.fail[FAKE_RING] = E2BIG;
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "-p%d", (int)child);
	ck_assert_int_eq(sample("--sample=cycles=1k", pid, "--timeout=1s"), 125);
	is_message("too old to sample running processes");
	for (i = 0; i < ARRAY_SIZE(attach_failures); i++) {
		fake.fail[FAKE_ATTACH] = attach_failures[i].error;
		ck_assert_int_eq(sample("--sample=cycles=1k", pid, "--timeout=1s"), 125);
		is_message(attach_failures[i].message);
	}
	/* Others have the counter that comes first, and perfex takes another one. */
	fake.fail[FAKE_ATTACH] = 0;
	fake.used_fixed = 7;
	fake.used_pmcs = 1;
	ck_assert_int_eq(sample("--sample=cycles=1k", pid, "--timeout=1s"), 125);
	is_message("too old to sample running processes");
	fake.used_pmcs = 0xf;
	ck_assert_int_eq(sample("--sample=cycles=1k", pid, "--timeout=1s"), 125);
	is_message("with counters 0, 1, 2, 3, fixed 0, fixed 1, fixed 2: end that first");
	ck_assert_int_eq(sample("--sample=cycles=1k", pid, "--timeout=1s", "true"), 125);
	is_message("either --timeout or a command");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

/* Other threads run during the first and the last reading. */
START_TEST(clocks_read_together)
{
	const struct clock_reading readings[] = {
		{ 1000, 12, 9000 }, { 10000, 21, 10060 }, { 10100, 22, 10140 }, { 10200, 3000, 90000 },
	};
	struct record_clock r = best_clock(readings, ARRAY_SIZE(readings));

	ck_assert_uint_eq(r.tsc, 10120);
	ck_assert_uint_eq(r.monotonic, 22);
	r = best_clock(readings, 1);
	ck_assert_uint_eq(r.tsc, 5000);
	ck_assert_uint_eq(r.monotonic, 12);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-record");
	TCase *t = tcase_create("record");

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, whole_family);
	tcase_add_test(t, first_thread_only);
	tcase_add_test(t, options_of_perf);
	tcase_add_test(t, no_inheritance);
	tcase_add_test(t, usual_period);
	tcase_add_test(t, usual_event);
	tcase_add_test(t, separate_argument);
	tcase_add_test(t, several_events);
	tcase_add_test(t, advice_on_several_events);
	tcase_add_test(t, rate);
	tcase_add_test(t, rate_of_an_old_module);
	tcase_add_test(t, chains);
	tcase_add_test(t, chains_of_the_kernel);
	tcase_add_loop_test(t, chains_of_a_32_bit_kernel, 0, 2);
	tcase_add_test(t, stacks);
	tcase_add_test(t, many_records);
	tcase_add_test(t, size_of_rings);
	tcase_add_loop_test(t, tasks_of_the_ring, 0, 2);
	tcase_add_test(t, tasks_from_proc);
	tcase_add_loop_test(t, misuse, 0, ARRAY_SIZE(misuses));
	tcase_add_test(t, old_modules_and_failures);
	tcase_add_test(t, clocks_read_together);
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
