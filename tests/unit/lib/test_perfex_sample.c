// SPDX-License-Identifier: GPL-2.0
/* perfex --sample and --report: samples that the fake kernel puts into the ring come out. */
#include <errno.h>
#include <pty.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "other-order.h"
#include "output.h"
#include "perfex-command.h"
#include "perfex.h"
#include "report-file.h"
#include "sample-file.h"

#define TWO		TMP "/two"
#define KERNEL_IP	UINT64_C(0xffffffff81000000)

static char text[65536];

static uint64_t address_of(const char *symbol)
{
	char command[256];
	unsigned long address;
	FILE *f;

	snprintf(command, sizeof(command), "nm --plugin none " TWO " | grep ' %s$'", symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

static struct vperfctr_sample sample_at(uint64_t ip)
{
	return (struct vperfctr_sample){
		.type = VPERFCTR_SAMPLE_OVERFLOW, .ip = ip, .overflow = 1,
	};
}

/* Two of four samples are in first(), one is in second(). */
static void setup(void)
{
	command_setup();
	fake.info.soft = VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_PAGE_FAULTS;
	fake.nrsamples = 1000;
	/* More than the run really takes, on any machine. */
	fake.exec_tsc = 4000000000;
	fake.samples[0] = sample_at(address_of("first"));
	fake.samples[1] = sample_at(address_of("first") + 3);
	fake.samples[2] = sample_at(address_of("second"));
	fake.samples[3] = sample_at(0x10);
	fake.nrrecords = 2;
	fake.records[0] = (struct fake_record){ VPERFCTR_RECORD_EXEC, .text = "two" };
	fake.records[1] = (struct fake_record){
		VPERFCTR_RECORD_MAP, .start = 0x400000, .end = 0x500000, .text = TWO,
	};
}

static void teardown(void)
{
	unlink(in_dir("s"));
	command_teardown();
}

#define sample(spec, ...)	perfex("--sample", spec, "-o", (char *)in_dir("s"), ##__VA_ARGS__)
#define report(...)		perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

/* ---- from the ring to the table ---------------------------------------------------- */

START_TEST(sample_and_report)
{
	ck_assert_int_eq(sample("instructions:u=100k", TWO, "x", "y"), 2);
	snprintf(text, sizeof(text), "perfex: 1,000 samples in '%s', 0 dropped; "
		 "1,000,000 instructions:u in all\n", in_dir("s"));
	ck_assert_str_eq(err, text);
	ck_assert_uint_eq(fake_seen->control_flags,
			  VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_RING |
			  VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_SPREAD);
	ck_assert_uint_eq(fake_seen->control.nractrs, 0);
	ck_assert_uint_eq(fake_seen->control.nrictrs, 1);
	ck_assert_int_eq(fake_seen->control.si_signo, 0);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_RECORDS);
	ck_assert_uint_eq(fake_seen->ctr[0].map, VPERFCTR_FIXED);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -100000);
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
			  VPERFCTR_OPEN_OBSERVER);

	ck_assert_int_eq(report(), 0);
	ck_assert_str_eq(err, "");
	has(out, " Samples of '" TWO " x y' (one each 100,000 instructions:u):\n");
	has(out, "               1,000  samples\n                   0  dropped\n"
		 "           1,000,000  instructions:u\n         2.000000000  seconds thread time\n");
	has(out, " Functions:\n\n"
		 "  50.00%           500  first [two]\n"
		 "  25.00%           250  [unknown]\n"
		 "  25.00%           250  second [two]\n");
	/* The first sample is at the beginning of the function, in its line. */
	has(out, "two.c:11  first\n");
	has(out, "two.c:17  second\n");
	has_not(out, "#");
	has_not(out, "[kernel]");
}
END_TEST

static void check_mode(const char *name, unsigned int mode)
{
	struct stat st;

	ck_assert_int_eq(stat(in_dir(name), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
	ck_assert_int_gt(st.st_size, 0);
}

/* Only the user may read addresses and paths, whatever the file was before. */
START_TEST(samples_are_private)
{
	struct stat before, after;
	char buf[8];
	int fd;

	umask(0);
	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	check_mode("s", 0600);
	/* A process that has the old file open does not see the new one. */
	ck_assert_int_eq(chmod(in_dir("s"), 0644), 0);
	fd = open(in_dir("s"), O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(sample("instructions=1", TWO, "again"), 1);
	check_mode("s", 0600);
	ck_assert_int_eq(stat(in_dir("s"), &after), 0);
	ck_assert_uint_ne(before.st_ino, after.st_ino);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
	ck_assert_uint_eq(after.st_nlink, 0);
	close(fd);
	ck_assert_int_eq(report(), 0);
	has(out, " Samples of '" TWO " again' (");
	/* A link remains a link; its target is replaced, or made. */
	ck_assert_int_eq(chmod(in_dir("s"), 0666), 0);
	ck_assert_int_eq(symlink("s", in_dir("file")), 0);
	ck_assert_int_eq(perfex("--sample", "instructions=1", "-o", (char *)in_dir("file"), TWO), 0);
	ck_assert_int_eq(readlink(in_dir("file"), buf, sizeof(buf)), 1);
	check_mode("s", 0600);
	unlink(in_dir("s"));
	ck_assert_int_eq(perfex("--sample", "instructions=1", "-o", (char *)in_dir("file"), TWO), 0);
	check_mode("s", 0600);
	/* A device is not replaced. */
	ck_assert_int_eq(perfex("--sample", "instructions=1", "-o", "/dev/null", TWO), 0);
	ck_assert_int_eq(stat("/dev/null", &after), 0);
	ck_assert(S_ISCHR(after.st_mode));
	ck_assert_uint_eq(after.st_mode & 07777, 0666);
	/* A file of counts has the mode that the user's umask allows. */
	unlink(in_dir("file"));
	ck_assert_int_eq(perfex("-o", (char *)in_dir("file"), "true"), 0);
	check_mode("file", 0666);
}
END_TEST

/* The directory does not let the file be replaced; root may replace it everywhere. */
START_TEST(samples_in_fixed_directory)
{
	pid_t pid;
	int fd, status;

	umask(022);
	fd = open(in_dir("s"), O_WRONLY | O_CREAT, 0666);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0666), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		struct showing show = { .log_fd = -1, .samples = true, .file = in_dir("s") };
		struct error e = { .text = "" };
		struct output output;

		if (!geteuid()) {
			/* Another user's file that this user may write. */
			if (chmod(dir, 0755) || setuid(65534))
				_exit(2);
			_exit(output_choose(&output, &show, &e) >= 0 || !strstr(e.text, "belongs to another user, who could read the samples"));
		}
		if (chmod(dir, 0555))
			_exit(2);
		_exit(output_choose(&output, &show, &e) < 0 || output_close(&output, true));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	chmod(dir, 0700);
	if (geteuid()) {
		struct stat st;

		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, 0600);
	}
	close(fd);
}
END_TEST

START_TEST(kernel_samples)
{
	fake.samples[3].ip = KERNEL_IP;
	fake.samples[2].ip = KERNEL_IP + 12345;
	ck_assert_int_eq(sample("r01d1=1000", TWO), 0);
	ck_assert_uint_eq(fake_seen->ctr[0].evntsel, 0x4301d1);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS);
	ck_assert_int_eq(report(), 0);
	has(out, "  50.00%           500  [kernel]\n");
	has_not(out, "ffffffff");
}
END_TEST

/* A file without symbols: the report shows offsets. */
START_TEST(stripped_file)
{
	char address[64], copy[128];

	snprintf(copy, sizeof(copy), "%s", in_dir("file"));
	snprintf(text, sizeof(text), "strip -o %s " TWO, copy);
	ck_assert_int_eq(system(text), 0);
	strcpy(fake.records[1].text, copy);
	ck_assert_int_eq(sample("cycles=1M", copy), 0);
	ck_assert_int_eq(report("-v"), 0);
	snprintf(address, sizeof(address), " [file]+0x%lx\n",
		 (unsigned long)fake.samples[2].ip);
	has(out, address);
	has_not(out, " second ");
	/* The file is gone; the offset in it is still known. */
	unlink(copy);
	ck_assert_int_eq(report(), 0);
	snprintf(address, sizeof(address), " [file]+0x%lx\n",
		 (unsigned long)fake.samples[2].ip & 0xffff);
	has(out, address);
}
END_TEST

START_TEST(full_ring)
{
	fake.nrrecords = 0;
	fake.nrsamples = 140000;
	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	has(err, "perfex: 131,072 samples in ");
	has(err, ", 8,928 dropped; ");
	has_not(err, "use a longer period");
	ck_assert_int_eq(report(), 0);
	has(out, "             131,072  samples\n               8,928  dropped\n");
}
END_TEST

/* A sample also represents those dropped before it, unless these are very many. */
START_TEST(weight_of_dropped_samples)
{
	fake.samples[2].dropped = 3;
	fake.samples[3].dropped = 100000;
	fake.nrsamples = 4;
	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	ck_assert_int_eq(report(), 0);
	has(out, "             100,003  dropped\n");
	has(out, "  57.14%             1  second [two]\n"
		 "  28.57%             2  first [two]\n"
		 "  14.29%             1  [unknown]\n");
}
END_TEST

/* -o must not empty the file to report: the command is one edit away from that which made it. */
START_TEST(report_into_itself)
{
	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	ck_assert_int_eq(report("-o", (char *)in_dir("s")), 125);
	is_message("is the file to report, and -o would replace it");
	ck_assert_int_eq(link(in_dir("s"), in_dir("other")), 0);
	ck_assert_int_eq(report("-o", (char *)in_dir("other")), 125);
	is_message("is the file to report");
	ck_assert_int_eq(report("-o", (char *)in_dir("text")), 0);
	slurp("text", text, sizeof(text));
	has(text, "  samples\n");
}
END_TEST

/* Messages do not speak of "1 samples". */
START_TEST(one_sample)
{
	fake.nrsamples = 1;
	ck_assert_int_eq(sample("instructions=1k", TWO), 0);
	has(err, "perfex: 1 sample in ");
	ck_assert_int_eq(report("--export=svg"), 0);
	has(out, ": 1 sample, ");
	has(out, ": 1 sample, one each 1,000<");
}
END_TEST

START_TEST(no_samples)
{
	fake.nrsamples = 0;
	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	has(err, "perfex: 0 samples in ");
	has(err, "\nperfex: no samples: there were only 1,000,000 instructions: "
		 "use a shorter period, as in -e instructions=1000\n");
	ck_assert_int_eq(report(), 0);
	has(out, "                   0  samples\n");
	has_not(out, "Functions");
	/* A shorter period would be no help. */
	fake.status = VPERFCTR_STATUS_PRIVILEGED;
	ck_assert_int_eq(sample("instructions=1", TWO), 125);
	has(err, "perfex: 0 samples in ");
	has(err, "\nperfex: a program was not counted: it gained privileges when executed");
	has_not(err, "no samples: ");
}
END_TEST

/* Samples of one overflow in 1000 say nothing about the others. */
START_TEST(most_samples_dropped)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fake.samples[i].dropped = 999;
	ck_assert_int_eq(sample("instructions:u=20", TWO, "x"), 1);
	has(err, "perfex: 1,000 samples in ");
	has(err, "\nperfex: 999,000 of 1,000,000 overflows gave no sample: "
		 "use a longer period, as in -e instructions:u=30000\n");
	/* As many dropped as samples are not most. */
	for (i = 0; i < 4; i++)
		fake.samples[i].dropped = 1;
	ck_assert_int_eq(sample("instructions:u=20", TWO), 0);
	has_not(err, "use a longer period");
	/* The event does not happen at all. */
	fake.nrsamples = 0;
	fake.no_events = true;
	ck_assert_int_eq(sample("cache-misses:u=20", TWO), 0);
	has(err, "\nperfex: no samples: no cache-misses:u was counted\n");
	ck_assert_int_eq(sample("cache-misses:u=20", "--no-inherit", TWO), 0);
	has(err, "\nperfex: no samples: the command's first thread had no cache-misses:u; "
		 "its other threads and children are sampled without --no-inherit\n");
}
END_TEST

/* A sample is looked up in the mappings of the program in which it was taken. */
START_TEST(exec_forgets_mappings)
{
	unsigned int i;

	fake.nrrecords = 3;
	fake.records[2] = fake.records[1];
	fake.records[1] = fake.records[0];
	fake.records[1].tsc = fake.records[2].tsc = 20;
	for (i = 0; i < 4; i++)
		fake.samples[i].tsc = 10;
	ck_assert_int_eq(sample("instructions=1", "sh", "-c", "exec " TWO), 0);
	ck_assert_int_eq(report(), 0);
	has(out, " 100.00%         1,000  [unknown]\n");
	has_not(out, "first [two]");
}
END_TEST

START_TEST(report_on_a_terminal)
{
	int master, slave;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(sample("instructions=1", TWO), 0);
	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(slave, STDOUT_FILENO);
		exit(perfex_main(5, ARGV("report", "-i", (char *)in_dir("s"), "--stdio")));
	}
	close(slave);
	ck_assert_int_eq(finish(pid), 0);
	n = read(master, text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	has(text, "  50.00%           500  ########################  first [two]\r\n");
	has(text, "  25.00%           250  ############              second [two]\r\n");
	close(master);
}
END_TEST

/* ---- what the command does ---------------------------------------------------- */

START_TEST(command_life)
{
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "echo out; echo err >&2; exit 42"), 42);
	ck_assert_str_eq(out, "out\n");
	has(err, "err\n");
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "kill -TERM $$"), 128 + SIGTERM);
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "kill -KILL $$"), 128 + SIGKILL);
	has(err, " samples in ");
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "trap 'exit 9' USR1; kill -USR1 $$; exit 8"), 9);
	/* A stopped command stays stopped until SIGCONT. */
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c",
				"stopped() { grep -q 'State:.[tT]' /proc/$$/status; }; "
				"(until stopped; do sleep 0.02; done; sleep 0.2; "
				"stopped && echo stopped; kill -CONT $$) & "
				"kill -STOP $$; wait; exit 7"), 7);
	ck_assert_str_eq(out, "stopped\n");
}
END_TEST

START_TEST(signal_is_passed_on)
{
	pid_t pid = start(ARGV("--sample", "cycles=1k", "-o", (char *)in_dir("s"), "sh", "-c",
			       "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"));
	int i;

	for (i = 0; i < 1000 && !strstr(out, "ready"); i++) {
		usleep(10000);
		slurp("out", out, sizeof(out));
	}
	kill(pid, SIGTERM);
	ck_assert_int_eq(finish(pid), 9);
	has(err, " samples in ");
}
END_TEST

START_TEST(other_threads)
{
	fake.exec_tsc = 3000000;
	ck_assert_int_eq(sample("cycles=1k", "--no-inherit", "sh", "-c",
				"i=0; while test $i -lt 20000; do i=$((i+1)); done; :"), 0);
	has(err, " s of other threads and children are not sampled\n");
}
END_TEST

START_TEST(perfex_killed)
{
	pid_t pid = start(ARGV("--sample", "cycles=1k", "-o", (char *)in_dir("s"), "sh", "-c",
			       "echo $$; exec sleep 600"));
	int i, status;

	fake.nrsamples = 4;
	for (i = 0; i < 1000 && !atoi(out); i++) {
		usleep(10000);
		slurp("out", out, sizeof(out));
	}
	usleep(100000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* The command runs on. */
	ck_assert_int_eq(kill(atoi(out), 0), 0);
	kill(atoi(out), SIGKILL);
}
END_TEST

/* ---- thread time --------------------------------------------------------------------- */

#define sample_clock(...) perfex("--sample=task-clock", "-o", (char *)in_dir("s"), ##__VA_ARGS__)

static const struct {
	const char *arg;	/* NULL: without a period */
	uint64_t period;
	const char *text;
} clocks[] = {
	{ "task-clock=10000", 10000, "10,000" }, { "task-clock=100k", 100000, "100,000" },
	{ "task-clock=12345ns", 12345, "12,345" }, { "task-clock=50us", 50000, "50,000" },
	{ "task-clock=1ms", 1000000, "1,000,000" }, { "cpu-clock=1ms", 1000000, "1,000,000" },
	{ "cpu-clock:ppp=1ms", 1000000, "1,000,000" }, { "task-clock:uk=1ms", 1000000, "1,000,000" },
	{ "cpu-clock/period=50000/", 50000, "50,000" }, { "cpu-clock/period=50000/H", 50000, "50,000" },
	{ "task-clock=1000s", 1000000000000, "1,000,000,000,000" },
	{ NULL, 500009, "500,009" },
};

START_TEST(clock_samples)
{
	const struct vperfctr_control *control = &fake_seen->control;

	fake.samples[2].flags |= VPERFCTR_SAMPLE_SYSTEM;
	ck_assert_int_eq(clocks[_i].arg ? sample((char *)clocks[_i].arg, TWO) : sample_clock(TWO), 0);
	ck_assert_uint_eq(control->clock_period, clocks[_i].period);
	ck_assert_uint_eq(control->nractrs + control->nrictrs, 0);
	ck_assert_uint_eq(control->kind, 0);
	ck_assert_uint_eq(control->soft, VPERFCTR_SOFT_TASK_CLOCK);
	ck_assert_uint_eq(control->flags, VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_START_ON_EXEC |
			  VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_SPREAD);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS);
	has(err, "perfex: 1,000 samples in ");
	has(err, " ns task-clock in all\n");
	if (clocks[_i].arg)
		has_not(err, "a sample each");
	else
		has(err, "perfex: a sample each 500,009 ns of thread time (-F N or -e task-clock=PERIOD chooses another period)\n");
	ck_assert_int_eq(report(), 0);
	snprintf(text, sizeof(text), " (one each %s ns task-clock):\n", clocks[_i].text);
	has(out, text);
	has(out, " ns task-clock\n");
	has(out, "                 250  samples of the kernel's work, shown where it was called\n");
	has(out, "  first [two]\n");
	ck_assert_int_eq(report("-j"), 0);
	has(out, "\"event\":\"task-clock\",");
	has(out, ",\"unit\":\"ns\"");
	ck_assert_int_eq(report("--export=svg"), 0);
	snprintf(text, sizeof(text), ", one each %s ns<", clocks[_i].text);
	has(out, text);
}
END_TEST

/* Without overflow interrupts it is the event that is sampled if none is named. */
START_TEST(clock_by_default)
{
	fake.info.features &= ~(VPERFCTR_FEATURE_PCINT | VPERFCTR_FEATURE_INHERIT_IMODE |
				VPERFCTR_FEATURE_KERNEL);
	fake.info.max_period = 0;
	ck_assert_int_eq(perfex("--sample", "-o", (char *)in_dir("s"), TWO), 0);
	ck_assert_uint_eq(fake_seen->control.clock_period, 500009);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_RECORDS);
	ck_assert(fake_seen->control.flags & VPERFCTR_CONTROL_INHERIT);
	has(err, "perfex: no overflow interrupts here: a sample each 500,009 ns of thread time (");
	/* An event of the processor is still refused. */
	ck_assert_int_eq(sample("cycles=1k", TWO), 125);
	is_message("no overflow interrupts, so there are no samples but of task-clock");
	fake.info.features &= ~VPERFCTR_FEATURE_CLOCK;
	ck_assert_int_eq(sample_clock(TWO), 125);
	is_message("this module takes no samples of task-clock");
	ck_assert_int_eq(perfex("--sample", "-o", (char *)in_dir("s"), TWO), 125);
	has_not(err, "but of task-clock");
}
END_TEST

/* perf's modes: in user mode only, or both. */
START_TEST(clock_modes)
{
	ck_assert_int_eq(perfex("record", "-q", "-e", "cpu-clock:u", "-o", (char *)in_dir("s"), TWO), 0);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_RECORDS);
	ck_assert_int_eq(perfex("record", "-q", "-e", "cpu-clock/period=50000/u", "-o", (char *)in_dir("s"), TWO), 0);
	ck_assert_uint_eq(fake_seen->control.clock_period, 50000);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_RECORDS);
	ck_assert_int_eq(perfex("record", "-q", "-e", "cpu-clock:k", "-o", (char *)in_dir("s"), TWO), 125);
	is_message("'cpu-clock:k': the clock is sampled in both modes, or in user mode by :u");
	ck_assert_int_eq(perfex("record", "-q", "-e", "cycles/period=100000,name=x/", "-o", (char *)in_dir("s"), TWO), 125);
	is_message("of perf's settings of an event, perfex record takes its period (cycles/period=100000/): -F and -g are those of all");
	ck_assert_int_eq(perfex("record", "-q", "-e", "cpu-clock/freq=100/", "-o", (char *)in_dir("s"), TWO), 125);
	is_message("-F and -g are those of all");
}
END_TEST

/* The period of that many samples is known. */
START_TEST(clock_rate)
{
	ck_assert_int_eq(sample_clock("-F", "4000", TWO), 0);
	ck_assert_uint_eq(fake_seen->control.clock_period, 250000);
	ck_assert_uint_eq(fake_seen->ring.rate, 0);
	has(err, "a sample each 250,000 ns of thread time");
	has(err, " dropped;");
	ck_assert_int_eq(sample_clock("-F", "1000000", TWO), 0);
	ck_assert_uint_eq(fake_seen->control.clock_period, 10000);
	ck_assert_int_eq(sample("task-clock=1ms", "-F", "1000", TWO), 125);
	is_message("either -F or");
}
END_TEST

START_TEST(clock_advice)
{
	fake.nrsamples = 0;
	ck_assert_int_eq(sample("task-clock=1s", TWO), 0);
	has(err, "perfex: no samples: there were only 2,000,000 ns task-clock: use a shorter period, as in -e task-clock=10000\n");
	ck_assert_int_eq(sample("task-clock=10us", TWO), 0);
	has(err, "perfex: no samples: there were only 2,000,000 ns of thread time\n");
	fake.nrsamples = 1000;
	fake.samples[0].dropped = 999;
	ck_assert_int_eq(sample("task-clock=10us", TWO), 0);
	has(err, " periods gave no sample: use a longer period, as in -e task-clock=");
}
END_TEST

/* ---- misuse and failures ---------------------------------------------------------------- */

static const struct {
	const char *arg, *message;
} bad_specs[] = {
	{ "=5", "needs EVENT or EVENT=PERIOD" },
	{ "instructions=", "'' is not a period" },
	{ "instructions=0", "'0' is not a period" },
	{ "instructions=0k", "'0k' is not a period" },
	{ "instructions=-1", "'-1' is not a period" },
	{ "instructions=+1", "is not a period" },
	{ "instructions= 1", "is not a period" },
	{ "instructions=x", "is not a period" },
	{ "instructions=1x", "is not a period" },
	{ "instructions=1kk", "is not a period" },
	{ "instructions=1.5", "is not a period" },
	{ "instructions=0x10", "is not a period" },
	{ "instructions=k", "is not a period" },
	{ "instructions=2147483648", "too large: 2,147,483,647 is" },
	{ "instructions=3G", "too large" },
	{ "instructions=99999999999999999999", "too large" },
	{ "instructions=18446744073709551616k", "too large" },
	{ "instructions=18446744073709552k", "too large" },
	{ "nonsense-event=5", "unknown event 'nonsense-event'" },
	{ "instructions=5us", "is not a period" },
	{ "task-clock=", "'' is not a period: it is a time" },
	{ "task-clock=0", "'0' is not a period: it is a time" },
	{ "task-clock=1m", "'1m' is not a period: it is a time, as in 50us or 1ms" },
	{ "task-clock=1msec", "is not a period" },
	{ "task-clock=9999", "the period is too small: 10,000 ns is the smallest of task-clock" },
	{ "task-clock=9us", "too small" },
	{ "task-clock=1001s", "too large: 1,000,000,000,000 ns is the largest of task-clock" },
	{ "task-clock=99999999999s", "too large" },
	{ "task-clock=1ms,cycles=1k", "task-clock is sampled alone" },
	{ "cycles=1k,task-clock", "task-clock is sampled alone" },
	{ "page-faults=1k", "'page-faults' is counted by the kernel" },
};

START_TEST(bad_spec)
{
	ck_assert_int_eq(sample((char *)bad_specs[_i].arg, "echo", "ran"), 125);
	is_message(bad_specs[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(largest_period)
{
	ck_assert_int_eq(sample("instructions=2147483647", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -2147483647);
	ck_assert_int_eq(sample("LONGEST_LAT_CACHE:MISS:c=1=2M", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -2000000);
}
END_TEST

START_TEST(shortest_period)
{
	ck_assert_int_eq(sample("cycles=1", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -1);
	fake.info.min_period = 2;
	ck_assert_int_eq(sample("cycles=1", TWO), 125);
	is_message("the period is too small: 2 is the smallest on this processor");
	fake.info.min_period = 32;
	ck_assert_int_eq(sample("cycles=31", TWO), 125);
	is_message("32 is the smallest");
	ck_assert_int_eq(sample("cycles=32", TWO), 0);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -32);
}
END_TEST

START_TEST(sample_misuse)
{
	ck_assert_int_eq(sample("cycles=1k"), 125);
	is_message("no command");
	ck_assert_int_eq(sample("cycles=1k", "-r", "2", "true"), 125);
	is_message("there is no -r, which perf record has");
	ck_assert_int_eq(sample("cycles=1k", "--sample", "cycles=2k", "true"), 125);
	is_message("one --sample at a time");
	ck_assert_int_eq(sample("cycles=1k", "--report", "x"), 125);
	is_message("cannot be combined");
	ck_assert_int_eq(perfex("--report", "x", "true"), 125);
	is_message("perfex report runs no command");
	ck_assert_int_eq(perfex("--sample"), 125);
	is_message("no command");
	fake.info.max_period = 0;
	ck_assert_int_eq(sample("cycles=1k", "true"), 125);
	is_message("no overflow interrupts");
}
END_TEST

static const struct {
	enum fake_call call;
	int error;
	const char *message;
} failures[] = {
	{ FAKE_DEVICE, ENOENT, "modprobe vperfctr" },
	{ FAKE_OPEN, ENOMEM, "cannot use /dev/vperfctr: Cannot allocate memory" },
	{ FAKE_RING, EAGAIN, "max_ring_kb_per_user" },
	{ FAKE_RING, ENOMEM, "cannot make room for samples: Cannot allocate memory" },
	{ FAKE_RING_MMAP, ENOMEM, "cannot make room for samples: Cannot allocate memory" },
	{ FAKE_CONTROL, EBUSY, "holds the counters" },
	{ FAKE_CONTROL, EINVAL, "cannot count these events" },
};

START_TEST(failing_calls)
{
	fake.fail[failures[_i].call] = failures[_i].error;
	ck_assert_int_eq(sample("cycles=1k", "echo", "ran"), 125);
	is_message(failures[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(command_cannot_run)
{
	ck_assert_int_eq(sample("cycles=1k", "no-such-command-at-all"), 127);
	is_message("there is no command 'no-such-command-at-all'");
	ck_assert_int_eq(sample("cycles=1k", "/"), 126);
	is_message("cannot run '/'");
}
END_TEST

/* The message names the file in which the samples are, which are not lost. */
static void check_kept_samples(void)
{
	char buf[4096], *kept = strstr(err, "/.perfex-");

	ck_assert_ptr_nonnull(kept);
	kept[strcspn(kept, "'")] = '\0';
	slurp(kept + 1, buf, sizeof(buf));
	ck_assert_int_eq(strncmp(buf, SAMPLES_MAGIC, 8), 0);
}

/* The command runs to its end even if its samples are lost. */
START_TEST(failure_during_the_run)
{
	char buf[4096];
	FILE *f;

	fake.fail[FAKE_CONSUME] = EINVAL;
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "sleep 0.1; echo ran"), 125);
	is_message("cannot read samples");
	ck_assert_str_eq(out, "ran\n");
	/* There are samples: neither they are lost, nor what the file was before. */
	f = fopen(in_dir("s"), "w");
	fputs("old", f);
	fclose(f);
	ck_assert_int_eq(sample("cycles=1k", "true"), 125);
	is_message("(the samples until then are in '/tmp/");
	slurp("s", buf, sizeof(buf));
	ck_assert_str_eq(buf, "old");
	check_kept_samples();
	unlink(in_dir("s"));
	fake.fail[FAKE_CONSUME] = 0;
	fake.fail[FAKE_READ] = EFAULT;
	/* This failure is found before the command is released. */
	ck_assert_int_eq(sample("cycles=1k", "echo", "ran"), 125);
	is_message("cannot use the counters' descriptor: Bad address");
	ck_assert_str_eq(out, "");
	fake.fail[FAKE_READ] = 0;
	ck_assert_int_eq(perfex("--sample", "cycles=1k", "-o", "/dev/full", "true"), 125);
	has(err, "perfex: cannot write to '/dev/full': No space");
	fake.status = VPERFCTR_STATUS_PRIVILEGED;
	ck_assert_int_eq(sample("cycles=1k", "true"), 125);
	has(err, "gained privileges");
	/* The file is complete, although the counts are not. */
	ck_assert_int_eq(sample("cycles=1k", "true"), 125);
	has(err, "gained privileges");
	has_not(err, "until then");
}
END_TEST

/* A file that cannot be written to its end: where the samples are depends on whether there was one. */
START_TEST(no_room_for_all)
{
	char buf[4096];
	FILE *f;

	/* At the latest, the end of the file is above the limit. */
	fake.nrsamples = 1000;
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "prlimit --fsize=4096 --pid=$PPID"), 125);
	has(err, "/s': File too large; the samples until then are in it\n");
	slurp("s", buf, sizeof(buf));
	ck_assert_int_eq(strncmp(buf, SAMPLES_MAGIC, 8), 0);
	f = fopen(in_dir("s"), "w");
	fputs("old", f);
	fclose(f);
	ck_assert_int_eq(sample("cycles=1k", "sh", "-c", "prlimit --fsize=4096 --pid=$PPID"), 125);
	has(err, "/s': File too large (the samples until then are in '/tmp/");
	has_not(err, "are in it");
	slurp("s", buf, sizeof(buf));
	ck_assert_str_eq(buf, "old");
	check_kept_samples();
}
END_TEST

/* ---- bad files ----------------------------------------------------------------- */

START_TEST(not_a_sample_file)
{
	ck_assert_int_eq(perfex("--report", "/nonexistent"), 125);
	is_message("cannot read '/nonexistent': No such file");
	ck_assert_int_eq(perfex("--report", "/"), 125);
	is_message("cannot read '/': Is a directory");
	ck_assert_int_eq(perfex("--report", "/dev/null"), 125);
	is_message("is not a file of perfex record");
	ck_assert_int_eq(perfex("--report", TWO), 125);
	is_message("is not a file of perfex record");
}
END_TEST

static void put_record(FILE *f, uint32_t type, const void *data, size_t len)
{
	struct record r = { type, (uint32_t)(sizeof(r) + len) };

	fwrite(&r, sizeof(r), 1, f);
	if (len)
		fwrite(data, len, 1, f);
}

/* A file of version 1. */
static void record_few(void)
{
	static const struct record_end_v1 end = { .samples = 4, .count = 1000000 };
	struct samples_header_v1 h = {
		.version = SAMPLES_VERSION_1, .size = sizeof(h), .period = 1,
		.event = "instructions",
	};
	struct { struct record_mapping_v1 m; char path[sizeof(TWO) + 8]; } map = {
		.m = { 0x400000, 0x500000, 0 }, .path = TWO,
	};
	struct record_sample_v1 samples[4] = { 0 };
	FILE *f = fopen(in_dir("s"), "w");
	unsigned int i;

	memcpy(h.magic, SAMPLES_MAGIC, sizeof(h.magic));
	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_COMMAND, "two\0\0\0\0", 8);
	put_record(f, RECORD_EXEC_V1, NULL, 0);
	put_record(f, RECORD_MAPPING_V1, &map, sizeof(map) & ~7ul);
	for (i = 0; i < 4; i++)
		samples[i].ip = fake.samples[i].ip;
	put_record(f, RECORD_SAMPLES_V1, samples, sizeof(samples));
	put_record(f, RECORD_END, &end, sizeof(end));
	fclose(f);
}

START_TEST(truncated_file)
{
	static char *const exports[] = {
		"--export=folded", "--export=svg", "--export=pprof", "--export=firefox",
	};
	size_t i;

	record_few();
	check_truncated(sizeof(struct samples_header_v1));
	ck_assert_int_eq(report(), 0);
	has(out, "The recording was cut off");
	has(out, "first [two]");
	ck_assert_str_eq(err, "");
	/* Others have no place for that in what they print: they say it on standard error. */
	for (i = 0; i < ARRAY_SIZE(exports); i++) {
		ck_assert_msg(!perfex("report", "-i", (char *)in_dir("s"), exports[i], "-o", (char *)in_dir("x")), "%s", err);
		has(err, "/s' was cut off: perfex was killed, or is still recording\n");
		unlink(in_dir("x"));
	}
	ck_assert_int_eq(perfex("report", "-q", "-i", (char *)in_dir("s"), "--export=folded"), 0);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(perfex("script", "-i", (char *)in_dir("s")), 0);
	has(err, "/s' was cut off: ");
	ck_assert_int_eq(perfex("annotate", "-i", (char *)in_dir("s"), "first"), 0);
	has(err, "/s' was cut off: ");
	ck_assert_int_eq(perfex("diff", (char *)in_dir("s"), (char *)in_dir("s")), 0);
	has(err, "/s' was cut off: ");
}
END_TEST

/* Names take most of the header. */
START_TEST(damaged_file)
{
	record_few();
	check_damaged(65, sizeof(struct samples_header_v1) - 80);
}
END_TEST

static void append(const void *data, size_t len)
{
	FILE *f = fopen(in_dir("s"), "a");

	ck_assert_uint_eq(fwrite(data, 1, len, f), len);
	fclose(f);
}

START_TEST(other_byte_order)
{
	record_few();
	check_other_order();
	has(out, "first [two]");
	check_damaged(65, sizeof(struct samples_header_v1) - 80);
}
END_TEST

START_TEST(hostile_file)
{
	struct record r = { RECORD_MAPPING_V1, 16 + sizeof(struct record_mapping_v1) };
	struct { struct record_mapping_v1 m; char path[8]; } map = { .m = { 1, 2, 0 } };
	size_t len;

	record_few();
	len = load(text);
	/* Text that a terminal would obey. */
	map = (typeof(map)){ .m = { 0x1000, 0x2000, 0 }, .path = "\033[2J" };
	r.size = sizeof(r) + sizeof(map);
	append(&r, sizeof(r));
	append(&map, sizeof(map));
	r = (struct record){ RECORD_SAMPLES_V1, sizeof(r) + sizeof(struct record_sample_v1) };
	append(&r, sizeof(r));
	append(&(struct record_sample_v1){ .ip = 0x1010 }, sizeof(struct record_sample_v1));
	ck_assert_int_eq(report(), 0);
	has(out, " [?[2J]+0x10\n");
	has_not(out, "\033");

	/* A name without an end. */
	store(text, len);
	memset(map.path, 'x', sizeof(map.path));
	r = (struct record){ RECORD_MAPPING_V1, sizeof(r) + sizeof(map) };
	append(&r, sizeof(r));
	append(&map, sizeof(map));
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: a mapping without a name at byte ");

	/* 32 bytes are no whole number of samples of 24. */
	store(text, len);
	r = (struct record){ RECORD_SAMPLES_V1, sizeof(r) + 32 };
	append(&r, sizeof(r));
	append(text, 32);
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: samples of another size");

	/* An unknown record is skipped, if it is a record at all. */
	store(text, len);
	r = (struct record){ 99, sizeof(r) + 8 };
	append(&r, sizeof(r));
	append(text, 8);
	ck_assert_int_eq(report(), 0);
	r.size = 4;
	append(&r, sizeof(r));
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: an impossible record");
	store(text, len);
	r.size = 1U << 31;
	append(&r, sizeof(r));
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: an impossible record");

	((struct samples_header_v1 *)text)->version = 3;
	store(text, len);
	ck_assert_int_eq(report(), 125);
	is_message("another format than this perfex knows (version 3, not 2)");
	((struct samples_header_v1 *)text)->version = __builtin_bswap32(3);
	store(text, len);
	ck_assert_int_eq(report(), 125);
	is_message("another format than this perfex knows (version 3, not 2)");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-sample");
	TCase *t = tcase_create("sample");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, sample_and_report);
	tcase_add_test(t, samples_are_private);
	tcase_add_test(t, samples_in_fixed_directory);
	tcase_add_test(t, kernel_samples);
	tcase_add_test(t, stripped_file);
	tcase_add_test(t, full_ring);
	tcase_add_test(t, weight_of_dropped_samples);
	tcase_add_test(t, one_sample);
	tcase_add_test(t, no_samples);
	tcase_add_test(t, most_samples_dropped);
	tcase_add_test(t, report_into_itself);
	tcase_add_test(t, exec_forgets_mappings);
	tcase_add_test(t, report_on_a_terminal);
	tcase_add_test(t, command_life);
	tcase_add_test(t, signal_is_passed_on);
	tcase_add_test(t, other_threads);
	tcase_add_test(t, perfex_killed);
	tcase_add_loop_test(t, bad_spec, 0, ARRAY_SIZE(bad_specs));
	tcase_add_loop_test(t, clock_samples, 0, ARRAY_SIZE(clocks));
	tcase_add_test(t, clock_by_default);
	tcase_add_test(t, clock_modes);
	tcase_add_test(t, clock_rate);
	tcase_add_test(t, clock_advice);
	tcase_add_test(t, largest_period);
	tcase_add_test(t, shortest_period);
	tcase_add_test(t, sample_misuse);
	tcase_add_loop_test(t, failing_calls, 0, ARRAY_SIZE(failures));
	tcase_add_test(t, command_cannot_run);
	tcase_add_test(t, failure_during_the_run);
	tcase_add_test(t, no_room_for_all);
	tcase_add_test(t, not_a_sample_file);
	tcase_add_test(t, truncated_file);
	tcase_add_test(t, damaged_file);
	tcase_add_test(t, other_byte_order);
	tcase_add_test(t, hostile_file);
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
