// SPDX-License-Identifier: GPL-2.0
/*
 * Lines from the manual pages of perf, with perfex for perf.  Each does what users of perf expect,
 * or says in one line what to write instead.
 */
#include <sys/stat.h>

#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define CALLS		TMP "/calls"

static uint64_t address_in(const char *symbol)
{
	char command[256];
	unsigned long address;
	FILE *f;

	snprintf(command, sizeof(command), "nm --plugin none %s | grep ' %s$'", CALLS, symbol);
	f = popen(command, "r");
	/* This is before the tests, which fail without the address. */
	if (fscanf(f, "%lx", &address) != 1)
		address = 0;
	pclose(f);
	return address;
}

/* Where functions are: each test asks for them, and nm takes long. */
static uint64_t ten, twenty, left, outer;

static void find_functions(void)
{
	ten = address_in("ten");
	twenty = address_in("twenty");
	left = address_in("left");
	outer = address_in("outer");
}

/* Samples in ten(), twenty(), as often as said, and in what is inlined into outer(). */
static void write_profile(const char *name, const char *event, unsigned int tens, unsigned int twenties)
{
	const uint64_t caller = left + 8;
	uint64_t tsc = 1000000;
	unsigned int i;

	put_header(in_dir(name), SAMPLES_CHAINS);
	put_record(RECORD_COMMAND, NULL, 0, "calls");
	put_event(0, 1000, event);
	put_task(RECORD_EXEC, 20, 20, 1, "calls and more");
	put_mapping(20, 2, UINT64_C(0x400000), UINT64_C(0x404000), 0, CALLS);
	for (i = 0; i < tens + twenties; i++)
		put_chain(20, 21, tsc += 1000000, 1, (i < tens ? ten : twenty) + 1, 1, &caller);
	put_chain(20, 20, tsc += 1000000, 1, outer, 0, NULL);
	put_end(1, (uint64_t []){ 1000 * (tens + twenties + 1) });
	put_close();
}

static void setup(void)
{
	command_setup();
	ck_assert_int_eq(chdir(dir), 0);
	fake.info.soft = 0x1f;
	write_profile("perfex.data", "cycles:u", 6, 3);
	write_profile("other.data", "cycles:u", 2, 7);
}

static void teardown(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	command_teardown();
}

/* ---- lines ------------------------------------------------------------------------------ */

#define ON_OUT	1	/* the text is on standard output, not on standard error */
#define FAILS	2	/* with one line */

static const struct {
	const char *line;
	unsigned int flags;
	const char *text;
} lines[] = {
	/* perf-stat(1) */
	{ "stat true", 0, "1,000,000  instructions" },
	{ "stat -- true", 0, "seconds elapsed" },
	{ "stat -e cycles -e instructions true", 0, "1,000,001  instructions" },
	{ "stat -e cycles:u,instructions:k true", 0, "1,000,001  instructions:k" },
	{ "stat -e '{cycles,instructions}' true", 0, "1,000,001  instructions" },
	{ "stat -e '{cycles,instructions}:u' true", 0, "1,000,001  instructions:u" },
	{ "stat -e 'cycles, instructions' true", 0, "1,000,001  instructions" },
	{ "stat -e cycles, instructions true", FAILS, "an event name is missing in the argument of -e" },
	{ "stat -e cpu-clock true", 0, "msec task-clock" },
	{ "stat -e task-clock,context-switches,page-faults true", 0, "  context-switches" },
	{ "stat -e L1-dcache-load-misses true", 0, "1,000,000  L1D:REPLACEMENT" },
	{ "stat -e LLC-load-misses true", FAILS, "the nearest event here is 'cache-misses'" },
	{ "stat -e Instructions true", 0, "1,000,000  instructions" },
	{ "stat -e r1a8 true", 0, "1,000,000  r1a8" },
	{ "stat -e cpu/event=0xc0/ true", FAILS, "raw events of a core are rUUEE here" },
	{ "stat -e cpu/instructions/u true", 0, "1,000,000  instructions:u" },
	{ "stat -e duration_time true", 0, "  ns duration_time\n" },
	{ "stat -e '{duration_time,cycles}:u' true", 0, "  ns duration_time\n" },
	{ "stat -e duration_time,cycles -a true", 0, "  ns duration_time\n" },
	{ "stat -e duration_time,cycles -I 100 true", 0, "  ns duration_time\n" },
	{ "stat -e duration_time -x, true", 0, ",ns,duration_time," },
	{ "stat -e duration_time -j true", 0, "\"unit\" : \"ns\", \"event\" : \"duration_time\"" },
	{ "stat -r 2 -e user_time,system_time true", 0, "  ns system_time          ( +- " },
	{ "stat -e user_time -I 100 true", FAILS, "with -p, -t, -a, -C, -I, -D and --control count cycles:u, or task-clock" },
	{ "stat -e system_time -a true", FAILS, "count cycles:k, or task-clock" },
	{ "record -e duration_time true", FAILS, "is for perfex stat" },
	{ "top -e duration_time --per-cpu", FAILS, "'duration_time' is for perfex stat" },
	{ "list duration_time", ON_OUT, "duration_time                             software\n" },
	{ "stat -e sched:sched_switch true", FAILS, "is a tracepoint of the kernel: use perf stat" },
	{ "stat -e power/energy-pkg/ true", FAILS, "is energy (RAPL)" },
	{ "stat -e cycles:u true 'a\033[31mb\nc'", 0, "Counts of 'true a?[31mb?c' (" },
	{ "stat -B -e cycles:u true", 0, "1,000,000  cycles:u" },
	{ "stat --no-big-num -e cycles:u true", 0, "  1000000  cycles:u" },
	{ "stat -n true", 0, "msec task-clock" },
	{ "stat -S -e cycles:u true", 0, "1,000,000  cycles:u" },
	{ "stat -U -e cycles true", 0, "1,000,000  cycles:u" },
	{ "stat --all-kernel -e cycles true", 0, "1,000,000  cycles:k" },
	{ "stat -d true", 0, "per cycle" },
	{ "stat -r 3 -e cycles:u true", 0, "3 runs" },
	{ "stat --repeat 3 --pre 'echo before' --post 'echo after' -e cycles:u true", ON_OUT,
	  "before\nafter\nbefore\nafter\nbefore\nafter\n" },
	{ "stat --pre false true", FAILS, "'false' of --pre has failed, with status 1" },
	{ "stat --pre 'kill -PIPE $$' true", FAILS, "of --pre has failed, with status 141" },
	{ "stat --post 'kill -XFSZ $$' -e cycles:u true", FAILS, "of --post has failed, with status 153" },
	{ "stat --post 'kill -TERM $$' -a -e cycles:u true", FAILS, "of --post has failed, with status 143" },
	{ "stat -r 3 --table true", 0, "Seconds elapsed of each run" },
	{ "stat -x, -e cycles:u true", 0, "1000000,,cycles:u," },
	{ "stat -j -e cycles:u true", 0, "\"counter-value\" : \"1000000.000000\"" },
	{ "stat -o counts -e cycles:u true", 0, "" },
	{ "stat -o counts --append -e cycles:u true", 0, "" },
	{ "stat -i -e cycles:u true", 0, "1,000,000  cycles:u" },
	{ "stat -v -e cycles:u true", 0, "cycles:u" },
	{ "stat -G group true", FAILS, "-p $(paste -sd, /sys/fs/cgroup/NAME/cgroup.procs) takes the processes" },
	{ "stat --for-each-cgroup a,b -a true", FAILS, "-p $(paste -sd, /sys/fs/cgroup/NAME/cgroup.procs)" },
	{ "stat --metric-only true", 0, "insn per cycle" },
	{ "stat --metric-only -e page-faults true", FAILS, "these events give no metric" },
	{ "stat --topdown true", FAILS, "topdown" },
	{ "stat --interval-count 3 -I 100 true", FAILS, "-I prints until the end" },
	{ "stat --summary --no-csv-summary -e cycles:u true", 0, "1,000,000  cycles:u" },
	{ "stat --summary -x, -e cycles:u true", 0, "1000000,,cycles:u," },
	{ "stat -B -j -e cycles:u true", 0, "\"counter-value\" : \"1000000.000000\"" },
	{ "stat -I 100 --summary -e cycles:u true", 0, "Counts of 'true'" },
	{ "stat -I 100 --summary -x, -e cycles:u true", 0, "summary,1000000,,cycles:u," },
	{ "stat --per-die -a true", FAILS, "--per-socket and --per-core print sums" },
	{ "stat --cputype core true", FAILS, "--kind=core and --kind=atom choose" },
	{ "stat -c true", FAILS, "counts are never scaled" },
	{ "stat -A -a -e cpu/event,percore=1/,otherevent true", FAILS, "raw events of a core are rUUEE here" },
	{ "stat --null -r 2 --table true", 0, "Seconds elapsed of each run" },
	{ "stat --repeat 2 --null --sync --pre true true", 0, "2 runs" },
	{ "stat -e cycles --bpf-prog 17247 --timeout 1000", FAILS, "use perf stat for BPF programs" },
	{ "stat -D -1 -e cpu-cycles -a -I 1000 true", FAILS, "-D -1 waits for a command of --control" },
	{ "stat -e cpu_core/cycles/ true", FAILS, "--kind=core" },
	{ "stat -e cycles -- taskset -c 0 true", 0, "1,000,000  cycles" },
	{ "stat -e r1a8 -a sleep 0", 0, "  r1a8" },
	{ "stat -e cpu/r1a8/ true", 0, "1,000,000  r1a8" },
	{ "stat -e r20000038f -a true", FAILS, "r20000038f" },
	{ "stat -e cpu/event=0xa8,umask=0x1,name=LSD.UOPS_CYCLES,cmask=0x1/ true", FAILS, "raw events of a core are rUUEE here" },
	{ "stat -C 0 -a -e cycles true", 0, "(1 CPU, " },
	{ "stat -C 0 -a -e uncore_imc_0/cas_count_read/ true", FAILS, "is an event of the uncore" },
	{ "stat -I 1000 -e power/energy-cores/ -a", FAILS, "is energy (RAPL)" },
	{ "stat -e '{instructions,cycles}:S' true", FAILS, "all events are counted together" },
	{ "stat -e cpu-cycles:p true", FAILS, "perf's precise events are not available" },
	{ "stat -a -A -e cycles true", 0, "CPU0" },
	{ "stat --per-core -a -e cycles true", 0, "S0-" },
	{ "stat --per-socket -a -e cycles true", 0, "S0" },
	{ "stat -M ipc true", 0, "ipc" },
	{ "stat --log-fd 2 -e cycles:u true", 0, "cycles:u" },
	{ "stat -x ';' -e cycles:u true", 0, "1000000;;cycles:u;" },
	{ "stat -x\\t -e cycles:u true", 0, "1000000" },
	{ "stat -ddd true", 0, "per cycle" },
	{ "stat -B -ecycles:u,instructions:u true", 0, "1,000,000  cycles:u" },
	{ "stat -e cycles:u -e instructions:u -r2 true", 0, "2 runs" },
	{ "stat --no-inherit -e cycles:u true", 0, "its first thread" },
	{ "stat -a -d true", 0, "per cycle" },
	{ "stat -e minor-faults,major-faults,cs,migrations true", 0, "  migrations" },
	{ "stat -e faults true", 0, "  faults" },
	{ "stat -e alignment-faults true", FAILS, "use perf stat or perf record for it" },
	{ "stat -e mem:0x1000:rw true", FAILS, "use perf stat" },
	{ "stat -e syscalls:sys_enter_* true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e stalled-cycles-frontend true", FAILS, "perfex list stall" },
	{ "stat -e branch-loads,dTLB-load-misses true", 0, "1,000,000  branches" },
	{ "stat -e uops_retired.retire_slots true", 0, "  uops_retired.retire_slots" },
	{ "stat -e INST_RETIRED.ANY_P true", 0, "1,000,000  INST_RETIRED" },
	/* perf-record(1) */
	{ "record -e cycles:pp -o new.data true", FAILS, "perf's precise events are not available" },
	{ "record -e cpu/r1a8/ -c 100000 -o new.data true", 0, "samples in 'new.data'" },
	{ "record -e r1a8 -c 100000 -o new.data true", 0, "samples in 'new.data'" },
	{ "record -e '{cycles,instructions}:S' -o new.data true", FAILS, "all events are counted together" },
	{ "record -F 99 -g -o new.data -- true", 0, "samples in 'new.data'" },
	{ "record -F 999 --call-graph=dwarf -o new.data true", 0, "samples in 'new.data'" },
	{ "record --call-graph dwarf,16384 -o new.data true", 0, "samples in 'new.data'" },
	{ "record -e cycles:u -c 100003 -o new.data true", 0, "samples in 'new.data'" },
	{ "record -e cycles -c 2000000 --output=new.data true", 0, "samples in 'new.data'" },
	{ "record -a -o new.data true", 0, "samples in 'new.data'" },
	{ "record -C 0 -o new.data true", 0, "samples in 'new.data'" },
	{ "record --no-inherit -o new.data true", 0, "samples in 'new.data'" },
	{ "record -v -o new.data true", 0, "samples in 'new.data'" },
	{ "record -B -N -T -P -o new.data true", 0, "samples in 'new.data'" },
	{ "record -e sched:sched_switch -a true", FAILS, "is a tracepoint of the kernel" },
	{ "record -e mem:0x1000:w true", FAILS, "use perf" },
	{ "record -e intel_pt//u true", FAILS, "use perf" },
	{ "record -D -1 -e cpu-cycles -a", FAILS, "start the program, and sample it by -p" },
	{ "record --off-cpu true", FAILS, "use perf record for others" },
	{ "record -F max true", FAILS, "-F takes a number, such as 10000" },
	{ "record -G group -a true", FAILS, "-p $(paste -sd, /sys/fs/cgroup/NAME/cgroup.procs)" },
	{ "record -b true", FAILS, "samples have no branch records" },
	{ "record --call-graph lbr true", FAILS, "call chains are those of frame pointers (-g fp) or of stacks (-g dwarf)" },
	{ "record -c 1000 -e nonsense true", FAILS, "nonsense" },
	{ "record -z true", FAILS, "gzip compresses" },
	{ "record -e cycles", FAILS, "there is no command to run" },
	/* perf-report(1) */
	{ "report", ON_OUT, " 60.00%             6  ten [calls]" },
	{ "report --stdio", ON_OUT, " 30.00%             3  twenty [calls]" },
	{ "report -i other.data --stdio", ON_OUT, " 70.00%             7  twenty [calls]" },
	{ "report --stdio --sort overhead,comm,dso,sym", ON_OUT, "calls and more  [calls]  ten\n" },
	{ "report --sort=srcline --no-children", ON_OUT, "calls.c:" },
	{ "report -j --sort=symbol,event --percent-limit 20 -i other.data", ON_OUT, "\"rows\":[\n  {\"symbol\":\"twenty\",\"event\":\"cycles:u\",\"samples\":7,\"weight\":7,\"share\":0.700000},\n  {\"symbol\":\"ten\",\"event\":\"cycles:u\",\"samples\":2,\"weight\":2,\"share\":0.200000}]" },
	{ "report -j -g caller,50 -i other.data", ON_OUT, "{\"symbol\":\"left\",\"dso\":\"[calls]\",\"weight\":9,\"self\":0,\"below\":[{\"symbol\":\"twenty\",\"dso\":\"[calls]\",\"weight\":7,\"self\":7}]}" },
	{ "report -e cycles:u,cycle", FAILS, "'perfex.data' has no samples of 'cycle', which -e names" },
	{ "report -e cycle,cycles:u", FAILS, "'perfex.data' has no samples of 'cycle', which -e names" },
	{ "report -e cycles:u,", ON_OUT, "ten [calls]" },
	{ "script -e cycles:u,branches", FAILS, "'perfex.data' has no samples of 'branches', which -e names" },
	{ "report --percent-limit 20", ON_OUT, " 30.00%             3  twenty [calls]\n\n 1 more" },
	{ "report -g", ON_OUT, "Functions, and below them their callers:" },
	{ "report --no-call-graph", ON_OUT, " 60.00%             6  ten [calls]" },
	{ "report -g --no-call-graph", ON_OUT, " 60.00%             6  ten [calls]" },
	{ "report -G -g none", ON_OUT, " 60.00%             6  ten [calls]" },
	{ "report -g caller", ON_OUT, "Call paths: functions, and below them what they called:" },
	{ "report -g caller,0.5", ON_OUT, "Call paths: functions, and below them what they called:" },
	{ "report -g graph,0.5,callee", ON_OUT, "Functions, and below them their callers:" },
	{ "report --no-inline", ON_OUT, " 10.00%             1  outer [calls]" },
	{ "report --no-inline --inline", ON_OUT, " 10.00%             1  between [calls]" },
	{ "report -n -q -f", ON_OUT, "ten [calls]" },
	{ "report --gtk", FAILS, "there is no window; --export=firefox or pprof" },
	{ "annotate --tui", FAILS, "perfex annotate prints text (--stdio)" },
	{ "report --header-only", FAILS, "the first lines of a report say what was recorded" },
	{ "report -D", FAILS, "perfex script prints all samples" },
	{ "report perfex.data", FAILS, "(-i perfex.data reads this file)" },
	{ "report --sort dso,sym --stdio", ON_OUT, "  [calls]  ten" },
	{ "report -s comm,pid,tid,cpu", ON_OUT, "calls and more" },
	{ "report --sort=symbol,srcline", ON_OUT, "calls.c:" },
	{ "report --no-children -g none", ON_OUT, "ten [calls]" },
	{ "report --children", ON_OUT, "left [calls]" },
	{ "report --call-graph=fractal,0.5,callee --stdio", ON_OUT, "Functions, and below them their callers:" },
	{ "report -G", ON_OUT, "Call paths" },
	{ "report --input other.data --stdio -q", ON_OUT, "twenty [calls]" },
	{ "report --comms other", FAILS, "no samples of what was chosen" },
	{ "report -c calls", FAILS, "--comm=NAME chooses the threads" },
	{ "report --pid 20 --tid 21 --stdio", ON_OUT, "ten [calls]" },
	{ "report --dsos calls", FAILS, "--sort=dso,symbol shows the files" },
	{ "report --symfs / --stdio", ON_OUT, "ten [calls]" },
	{ "report --time 0%-10%", FAILS, "perfex script prints the times" },
	{ "report --sort cpu,socket", FAILS, "comm, pid, tid, cpu, dso, symbol, line or event" },
	{ "report -v --stdio", ON_OUT, "ten [calls]" },
	{ "report -M intel", FAILS, "perfex annotate FUNCTION shows instructions" },
	{ "report --mem-mode", FAILS, "use perf mem record" },
	{ "report --hierarchy", FAILS, "has a row for each" },
	{ "report --header", FAILS, "the first lines of a report say what was recorded" },
	{ "report -p", FAILS, "-p" },
	/* perf-script(1), perf-annotate(1), perf-diff(1), perf-top(1), perf-list(1), perf-help(1) */
	{ "script", ON_OUT, "calls_and_more 20/21 [001] 0.000000: 1000 cycles:u:" },
	{ "script -i other.data", ON_OUT, " twenty (" CALLS ")\n\t" },
	{ "script flamegraph", FAILS, "perfex report --export=svg draws a flame graph" },
	{ "script report failed-syscalls", FAILS, "perf's scripts need perf" },
	{ "script -F comm,ip", FAILS, "each sample is printed with comm, pid, tid" },
	{ "annotate --stdio -s ten", ON_OUT, "ten [calls]" },
	{ "annotate ten", ON_OUT, "ten [calls]" },
	{ "annotate", FAILS, "perfex annotate needs the name of a function" },
	{ "diff perfex.data other.data", ON_OUT, "   60.00%     20.00%    -40.00%  ten [calls]" },
	{ "diff", FAILS, "cannot read 'perfex.data.old'" },
	{ "script --time 10%/1,10%/2", FAILS, "each sample is printed with its time" },
	{ "script -F comm,tid,trace", FAILS, "each sample is printed with comm, pid, tid" },
	{ "script --symbols=noploop,0x4007a0", FAILS, "grep the lines" },
	{ "script -S 0x4007a0 --addr-range 10", FAILS, "grep the lines" },
	{ "script --guestmount=x", FAILS, "use perf kvm for guests" },
	{ "script -G", FAILS, "perfex report shows functions without calls" },
	{ "script --header", FAILS, "the first lines of perfex report say what was recorded" },
	{ "script --pid=20 --tid=21", ON_OUT, "calls_and_more 20/21" },
	{ "script record x", FAILS, "perf's scripts need perf" },
	{ "script -s x.py", FAILS, "perf's scripts need perf" },
	{ "script --itrace=i0ns", FAILS, "Intel PT" },
	{ "annotate --symbol=ten --stdio", ON_OUT, "ten [calls]" },
	{ "annotate -i other.data ten", ON_OUT, "ten [calls]" },
	{ "annotate -l ten", FAILS, "lines are printed with their numbers" },
	{ "annotate --stdio2 ten", ON_OUT, "ten [calls]" },
	{ "annotate nosuch", FAILS, "no samples in a function 'nosuch'" },
	{ "diff --time 0%-10%", FAILS, "all samples are compared" },
	{ "diff -c ratio perfex.data other.data", FAILS, "their difference are printed" },
	{ "diff -s sym perfex.data other.data", FAILS, "functions are compared" },
	{ "diff -b perfex.data other.data", FAILS, "-v prints all rows" },
	{ "diff perfex.data", FAILS, "perfex diff compares two files" },
	{ "diff -f -q perfex.data other.data", ON_OUT, "   60.00%     20.00%    -40.00%  ten [calls]" },
	{ "top -p 1 -A", FAILS, "-p and -t show functions" },
	{ "top -g", FAILS, "perfex record -a -g, and perfex report -g, show calls" },
	{ "list longest", ON_OUT, "LONGEST_LAT_CACHE:MISS" },
	{ "list hw", ON_OUT, "branch-misses" },
	{ "list sw", ON_OUT, "page-faults" },
	{ "list LONG*LAT*", ON_OUT, "LONGEST_LAT_CACHE:MISS" },
	{ "list metric", ON_OUT, "ipc" },
	{ "list sched:*", FAILS, "perf list shows tracepoints" },
	{ "list tracepoint", FAILS, "there are no tracepoints" },
	{ "help stat", ON_OUT, "Usage: perfex stat" },
	{ "--version", ON_OUT, "perfex " },
	{ "evlist", FAILS, "perfex report shows the events of a file" },
	{ "--no-pager report --stdio", ON_OUT, " 60.00%             6  ten [calls]" },
	{ "--buildid-dir /tmp report", FAILS, "there is no --buildid-dir, which perf has" },
	{ "--list-cmds", FAILS, "perfex --help shows the commands" },
	{ "--exec-path", FAILS, "there is no --exec-path, which perf has" },
	{ "stat record true", FAILS, "-j -o FILE writes counts to a file" },
	{ "stat report", FAILS, "perfex merge and perfex diff show the files of perfex stat -j" },
	{ "archive", FAILS, "perfex report --symfs=DIR reads them" },
	{ "config -l", FAILS, "there is no file of settings" },
	{ "daemon start", FAILS, "use perf daemon" },
	{ "data convert --to-json out", FAILS, "convert samples" },
	{ "kwork record", FAILS, "use perf kwork" },
	{ "iostat", FAILS, "use perf iostat" },
	{ "kallsyms schedule", FAILS, "use perf kallsyms" },
	{ "sched record true", FAILS, "use perf sched for the scheduler" },
	{ "lock record true", FAILS, "use perf lock" },
	{ "mem record true", FAILS, "use perf mem" },
	{ "bench sched pipe", FAILS, "use perf bench" },
	{ "trace true", FAILS, "perf trace shows system calls" },
	{ "probe -l", FAILS, "use perf probe" },
	{ "kmem record", FAILS, "use perf kmem" },
	{ "buildid-list", FAILS, "finds files by their build IDs itself" },
	{ "version --build-options", FAILS, "perfex --version shows the version" },
	{ "c2c record true", FAILS, "use perf c2c for shared cache lines" },
	/* more of what is typed: tutorials, and what is remembered of the pages */
	{ "stat -e 'block:*' -a true", FAILS, "is a tracepoint of the kernel: use perf stat or perf record" },
	{ "stat -e probe:do_sys_open true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e sdt_libc:setjmp true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e sched:* true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e kmem:kmalloc,kmem:kfree -a true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e 'ext4:*' -a true", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e raw_syscalls:sys_enter -I 1000 -a", FAILS, "is a tracepoint of the kernel" },
	{ "stat -e cycles,instructions,cache-references,cache-misses,bus-cycles -a true", FAILS, "the nearest event here is" },
	{ "stat -e dTLB-loads,dTLB-load-misses true", 0, "DTLB_LOAD_MISSES:WALK_COMPLETED" },
	{ "stat -e msr/tsc/ true", FAILS, "for other units, use perf stat" },
	{ "stat -e cstate_core/c6-residency/ -a true", FAILS, "turbostat" },
	{ "stat -e cycles:G true", FAILS, "may be followed by ':u', ':k' or ':uk'" },
	{ "stat -e cycles:uh true", FAILS, "may be followed by ':u', ':k' or ':uk'" },
	{ "stat -e task-clock:u true", FAILS, "a software event counts in all modes" },
	{ "stat -e dummy true", FAILS, "use perf stat or perf record for it" },
	{ "stat -M IPC true", FAILS, "did you mean 'ipc'?" },
	{ "stat -M TopdownL1 true", FAILS, "-M topdown prints the first level" },
	{ "stat -M nosuch true", FAILS, "perfex list metric shows those that there are" },
	{ "stat -C 0,1 -e cs true", FAILS, "counts 'cs' for threads, and not for CPUs" },
	{ "stat -ae cycles true", 0, "system wide" },
	{ "stat -j -r 2 -e cs true", 0, "\"variance\"" },
	{ "stat -x ' ' -e cycles:u true", 0, "1000000  cycles:u" },
	{ "stat --event cycles:u true", 0, "1,000,000  cycles:u" },
	{ "stat --no-such true", FAILS, "unknown option '--no-such'" },
	{ "stat --bpf true", FAILS, "use perf stat for BPF programs" },
	{ "record -e page-faults -c 1 -ag true", FAILS, "use perf record" },
	{ "record -e minor-faults true", FAILS, "'minor-faults' is counted by the kernel, which takes no samples" },
	{ "record -e context-switches -c 1 true", FAILS, "use perf record" },
	{ "record -e dummy:u true", FAILS, "use perf stat or perf record" },
	{ "record -e block:block_rq_issue -ag true", FAILS, "is a tracepoint of the kernel" },
	{ "record -e 'tcp:*' -a true", FAILS, "is a tracepoint of the kernel: use perf stat or perf record" },
	{ "record -e probe_libc:malloc true", FAILS, "is a tracepoint of the kernel" },
	{ "record -F 49 -C 0 -g -o new.data true", 0, "samples in 'new.data'" },
	{ "record --freq=99 --all-cpus --call-graph=fp --output=new.data true", 0, "samples in 'new.data'" },
	{ "record --call-graph lbr true", FAILS, "frame pointers (-g fp) or of stacks (-g dwarf), not 'lbr'" },
	{ "record -k mono true", FAILS, "the times of JITs are matched" },
	{ "record -k CLOCK_MONOTONIC true", FAILS, "samples have the time stamp counter" },
	{ "record -u root true", FAILS, "-p $(pgrep -d, -u USER)" },
	{ "record --switch-output=1s true", FAILS, "start perfex record again" },
	{ "record --max-size=1M true", FAILS, "--timeout ends a recording" },
	{ "record --buildid true", FAILS, "finds files by their build IDs" },
	{ "record -F 0 true", FAILS, "is not a number of samples per second" },
	{ "record -c 0 true", FAILS, "it is a number of events, from 1 on" },
	{ "record -o /nonexistent/x true", FAILS, "No such file or directory" },
	{ "report --stdio -n -g folded", FAILS, "--export=folded prints folded paths" },
	{ "report -g folded,0.5", FAILS, "--export=folded prints folded paths" },
	{ "report -g caller,address", FAILS, "--sort=symbol,line shows lines" },
	{ "report -g graph,0.5,caller,function,percent", ON_OUT, "Call paths" },
	{ "report -g caller,function,count", FAILS, "--export=folded prints the samples" },
	{ "report -g fractal", ON_OUT, "Functions, and below them their callers:" },
	{ "stat --no-scale true", FAILS, "counts are never scaled" },
	{ "stat -q true", FAILS, "-o /dev/null drops the counts" },
	{ "report ten", FAILS, "perfex annotate shows one function" },
	{ "report -t ,", FAILS, "-j prints all fields" },
	{ "report --dso calls", FAILS, "--sort=dso,symbol shows the files" },
	{ "report --symbol ten", FAILS, "perfex annotate FUNCTION shows one function" },
	{ "report --field comm", FAILS, "--sort=KEY,... chooses the columns" },
	{ "report --max-stack 3", FAILS, "perfex record -g --max-stack" },
	{ "report --percentage relative", FAILS, "shares are those of the samples that they leave" },
	{ "report --no-demangle", FAILS, "names of C++ and Rust" },
	{ "report -k vmlinux", FAILS, "the kernel's functions were recorded with their names" },
	{ "report -F overhead,sym", FAILS, "--sort=KEY,... chooses the columns" },
	{ "report --sort=symbol_from,symbol_to", FAILS, "comm, pid, tid, cpu, dso, symbol, line or event" },
	{ "report -i nosuch", FAILS, "cannot read 'nosuch'" },
	{ "report --percent-limit 5 --stdio --sort comm,dso", ON_OUT, "calls and more  [calls]" },
	{ "report --tasks", FAILS, "--sort=comm,tid shows the threads" },
	{ "script syscall-counts", FAILS, "perf's scripts need perf" },
	{ "script net_dropmonitor", FAILS, "perf's scripts need perf" },
	{ "script --reltime", FAILS, "each sample is printed with its time" },
	{ "script -F +srcline", FAILS, "each sample is printed with comm" },
	{ "script --field comm,ip", FAILS, "each sample is printed with comm" },
	{ "script --no-inline", ON_OUT, "calls_and_more 20/21" },
	{ "script --list", FAILS, "perf's scripts need perf" },
	{ "script --tid=999", FAILS, "no samples of what was chosen" },
	{ "annotate --stdio -l ten", FAILS, "lines are printed with their numbers" },
	{ "annotate -d calls ten", FAILS, "FUNCTION@LIBRARY" },
	{ "annotate ten@calls", ON_OUT, "ten [calls]" },
	{ "annotate -M intel ten", FAILS, "in the style of objdump" },
	{ "annotate ten twenty", FAILS, "perfex annotate shows one function" },
	{ "annotate nosuch --stdio", FAILS, "perfex report shows which functions have some" },
	{ "diff --percentage relative", FAILS, "all samples are compared" },
	{ "diff -c delta-abs", FAILS, "their difference are printed" },
	{ "diff -s dso", FAILS, "functions are compared" },
	{ "diff nosuch other.data", FAILS, "cannot read 'nosuch'" },
	{ "top -K", FAILS, "-e cycles:u has no kernel mode" },
	{ "top -d 1", FAILS, "-I MS is the time between two counts" },
	{ "top -s comm", FAILS, "are for -a, -p and -t" },
	{ "top -u root", FAILS, "-p $(pgrep -d, -u USER)" },
	{ "top --call-graph=dwarf", FAILS, "perfex record -a -g" },
	{ "top -E 20", FAILS, "as the terminal has lines for" },
	{ "list -j", FAILS, "the first word of each line" },
	{ "list --unit cpu", FAILS, "use perf list --unit" },
	{ "list 'syscalls:*'", FAILS, "perf list shows tracepoints" },
	{ "list sdt", FAILS, "there are no tracepoints" },
	{ "list metricgroup", ON_OUT, "ipc" },
	{ "list '*miss*'", ON_OUT, "branch-misses" },
	{ "recrod -g true", FAILS, "did you mean 'perfex record'?" },
	{ "anotate ten", FAILS, "did you mean 'perfex annotate'?" },
	{ "reprot", FAILS, "did you mean 'perfex report'?" },
	{ "help nosuch", FAILS, "perfex --help shows those that there are" },
	{ "timechart record true", FAILS, "--export=firefox shows samples over time" },
	{ "kvm stat live", FAILS, "use perf kvm" },
	{ "buildid-cache --list", FAILS, "--symfs=DIR reads other files" },
	{ "inject -j -i x -o y", FAILS, "reads the files of JITs itself" },
};

/* Split a line at spaces; words may be in single quotes. */
static void split(char *line, char **argv)
{
	char *p = line;

	while (*p) {
		char end = *p == '\'' ? '\'' : ' ';

		p += *p == '\'';
		*argv++ = p;
		p = strchr(p, end);
		if (!p)
			break;
		*p++ = '\0';
		p += strspn(p, " ");
	}
	*argv = NULL;
}

START_TEST(line_of_perf)
{
	char line[256], *argv[24] = { "perfex" };
	int status;

	snprintf(line, sizeof(line), "%s", lines[_i].line);
	split(line, argv + 1);
	status = finish(start(argv));
	ck_assert_msg(status == (lines[_i].flags & FAILS ? 125 : 0), "%s: status %d: %s%s",
		      lines[_i].line, status, out, err);
	if (lines[_i].flags & FAILS)
		is_message(lines[_i].text);
	else
		has(lines[_i].flags & ON_OUT ? out : err, lines[_i].text);
}
END_TEST

/* ---- options ---------------------------------------------------------------------------- */

/* The options of perf's commands, by their manual pages. */
static const struct {
	const char *command, *options;
} options_of_perf[] = {
	{ "stat",
	  "-A -B -C -D -G -I -M -S -T -a -d -e -i -j -n -o -p -r -t -v -x --all-cpus "
	  "--all-kernel --all-user --append --big-num --bpf-counters --cgroup --control "
	  "--cpu --cputype --delay --detailed --event --field-separator --filter "
	  "--for-each-cgroup --group --hybrid-merge --interval-clear --interval-count "
	  "--interval-print --iostat --json-output --log-fd --metric-no-group "
	  "--metric-no-merge --metric-no-threshold --metric-only --metrics --no-aggr "
	  "--no-csv-summary --no-inherit --no-merge --null --output --per-cache "
	  "--per-cluster --per-core --per-die --per-node --per-socket --per-thread "
	  "--percore-show-thread --pid --post --pre --quiet --repeat --scale --smi-cost "
	  "--summary --sync --table --td-level --tid --timeout --topdown --transaction "
	  "--verbose" },
	{ "record",
	  "-B -C -D -F -G -I -N -P -R -S -T -W -a -b -c -d -e -g -i -j -k -m -n -o -p "
	  "-q -r -s -t -u -v -z --affinity --aio --all-cgroups --all-cpus --all-kernel "
	  "--all-user --aux-sample --branch-any --branch-filter --buildid-all "
	  "--buildid-mmap --call-graph --cgroup --clang-opt --clang-path --clockid "
	  "--code-page-size --compression-level --control --count --cpu --data "
	  "--data-page-size --debuginfod --delay --dry-run --event --exclude-perf "
	  "--filter --freq --group --intr-regs --kcore --kernel-callchains --max-size "
	  "--mmap-flush --mmap-pages --namespaces --no-bpf-event --no-buffering "
	  "--no-buildid --no-buildid-cache --no-inherit --no-samples "
	  "--num-thread-synthesize --off-cpu --output --overwrite --per-thread --period "
	  "--phys-data --pid --proc-map-timeout --quiet --raw-samples --realtime "
	  "--running-time --sample-cpu --sample-identifier --snapshot --stat "
	  "--strict-freq --switch-events --switch-max-files --switch-output "
	  "--switch-output-event --synth --tail-synthesize --threads --tid --timestamp "
	  "--timestamp-boundary --timestamp-filename --transaction --uid "
	  "--user-callchains --user-regs --verbose --vmlinux --weight" },
	{ "report",
	  "-C -D -F -G -I -M -S -T -U -b -c -d -f -g -i -k -m -n -p -q -s -t -v -w -x "
	  "--asm-raw --branch-history --branch-stack --call-graph --children "
	  "--column-widths --comms --cpu --demangle --demangle-kernel --disable-order "
	  "--disassembler-style --dsos --dump-raw-trace --exclude-other "
	  "--field-separator --fields --force --full-source-path --group "
	  "--group-sort-idx --header --header-only --hide-unresolved --hierarchy "
	  "--ignore-callees --ignore-vmlinux --inline --input --inverted --itrace "
	  "--kallsyms --max-stack --mem-mode --mmaps --modules --ns --objdump --parent "
	  "--percent-limit --percent-type --percentage --pid --prefix --prefix-strip "
	  "--pretty --quiet --raw-trace --samples --show-cpu-utilization --show-info "
	  "--show-nr-samples --show-on-off-events --show-ref-call-graph "
	  "--show-total-period --skip-empty --socket-filter --sort --source --stats "
	  "--stdio --stdio-color --stitch-lbr --switch-off --switch-on --symbol-filter "
	  "--symbols --symfs --tasks --threads --tid --time --time-quantum "
	  "--total-cycles --tui --verbose --vmlinux" },
	{ "annotate",
	  "-C -D -M -P -d -f -i -k -l -m -n -q -s -v --asm-raw --cpu --demangle "
	  "--demangle-kernel --disassembler-style --dsos --dump-raw-trace --force "
	  "--full-paths --group --ignore-vmlinux --input --itrace --modules --objdump "
	  "--percent-limit --percent-type --prefix --prefix-strip --print-line --quiet "
	  "--show-nr-samples --show-total-period --skip-missing --source --stdio "
	  "--stdio-color --stdio2 --symbol --symfs --tui --verbose --vmlinux" },
	{ "script",
	  "-C -D -F -G -I -L -S -a -c -d -f -g -i -k -l -s -v --addr-range --all-cpus "
	  "--call-ret-trace --call-trace --comms --cpu --debug-mode --deltatime "
	  "--demangle --demangle-kernel --dlarg --dlfilter --dsos --dump-raw-trace "
	  "--dump-unsorted-raw-trace --fields --force --full-source-path --gen-script "
	  "--graph-function --guest-code --guestkallsyms --guestmodules --guestmount "
	  "--guestvmlinux --header --header-only --hide-call-graph --inline --input "
	  "--insn-trace --itrace --kallsyms --list --list-dlfilters --max-blocks "
	  "--max-stack --ns --per-event-dump --pid --reltime --script --show-bpf-events "
	  "--show-cgroup-events --show-info --show-kernel-path --show-lost-events "
	  "--show-mmap-events --show-namespace-events --show-on-off-events "
	  "--show-round-events --show-switch-events --show-task-events "
	  "--show-text-poke-events --stitch-lbr --stop-bt --switch-off --switch-on "
	  "--symbols --symfs --tid --time --verbose --vmlinux --xed" },
	{ "diff",
	  "-C -D -F -S -b -c -d -f -m -o -p -q -s -t -v --baseline-only --comms "
	  "--compute --cpu --cycles-hist --dsos --dump-raw-trace --field-separator "
	  "--force --formula --kallsyms --modules --order --percentage --period --pid "
	  "--quiet --sort --stream --symbols --symfs --tid --time --verbose" },
	{ "top",
	  "-C -D -E -F -G -K -M -U -a -b -c -d -e -f -g -i -j -k -m -n -p -r -s -t -u "
	  "-v -w -z --all-cgroups --all-cpus --asm-raw --branch-any --branch-filter "
	  "--call-graph --cgroup --children --column-widths --comms --count "
	  "--count-filter --cpu --delay --demangle-kernel --disassembler-style --dsos "
	  "--dump-symtab --entries --event --fields --force --freq --group "
	  "--group-sort-idx --hide_kernel_symbols --hide_user_symbols --hierarchy "
	  "--ignore-callees --ignore-vmlinux --kallsyms --max-stack --mmap-pages "
	  "--namespaces --no-bpf-event --no-inherit --num-thread-synthesize --objdump "
	  "--overwrite --percent-limit --percentage --pid --prefix --prefix-strip "
	  "--proc-map-timeout --raw-trace --realtime --show-nr-samples "
	  "--show-on-off-events --show-total-period --sort --source --stdio "
	  "--stitch-lbr --switch-off --switch-on --sym-annotate --symbols --tid --tui "
	  "--uid --verbose --vmlinux --zero" },
	{ "list",
	  "-d -v --cputype --debug --deprecated --desc --details --long-desc" },
};

/* perfex has each of them, or says what to write instead. */
START_TEST(options_of)
{
	const char *command = options_of_perf[_i].command;
	char list[2048], *option = list, *rest = list;

	snprintf(list, sizeof(list), "%s", options_of_perf[_i].options);
	while ((option = strsep(&rest, " "))) {
		/* The first one may be its argument. */
		char *argv[] = { "perfex", (char *)command, option, "--nonsense", "--nonsense", NULL };

		ck_assert_msg(finish(start(argv)) == 125, "%s %s: %s%s", command, option, out, err);
		ck_assert_msg(!strstr(err, "unknown option") || strstr(err, "'--nonsense'"),
			      "%s %s: %s", command, option, err);
		ck_assert_msg(!strstr(err, "which is an option of"), "%s %s: %s", command, option, err);
	}
}
END_TEST

/* ---- files ------------------------------------------------------------------------------ */

/* Each sample: the head, the calls, and an empty line. */
START_TEST(script)
{
	char expected[512];

	write_profile("perfex.data", "cycles:u", 1, 1);
	ck_assert_int_eq(perfex("script"), 0);
	snprintf(expected, sizeof(expected), "calls_and_more 20/21 [001] 0.000000: 1000 cycles:u:%c\n"
		 "\t%16lx ten (" CALLS ")\n\t%16lx left (" CALLS ")\n\n",
		 ' ', (unsigned long)ten + 1, (unsigned long)left + 7);
	ck_assert_msg(!strncmp(out, expected, strlen(expected)), "%s\nnot:\n%s", out, expected);
	has(out, " between (inlined)\n");
	has(out, " outer (" CALLS ")\n\n");
	ck_assert_int_eq(perfex("script", "--no-inline"), 0);
	has_not(out, "(inlined)");
	ck_assert_int_eq(perfex("script", "--comm=other"), 125);
	is_message("no samples");
}
END_TEST

/* Names of templates have hundreds of bytes, and differ at their ends. */
START_TEST(script_of_long_names)
{
	const uint64_t kernel = UINT64_C(0xffffffff81000000);
	char name[2][512], line[1100];
	unsigned int i;

	put_header(in_dir("long.data"), 0);
	put_event(0, 1000, "cycles");
	put_task(RECORD_EXEC, 20, 20, 1, "calls");
	for (i = 0; i < 2; i++) {
		memset(name[i], 'x', sizeof(name[i]));
		strcpy(name[i] + 400, i ? "one" : "two");
		put_kernel(kernel + 16 * i, kernel + 16 * i + 16, name[i]);
		put_sample(20, 20, 5 + i, kernel + 16 * i + 1);
	}
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	ck_assert_int_eq(perfex("script", "-i", "long.data"), 0);
	for (i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), " %s ([kernel.kallsyms])\n", name[i]);
		has(out, line);
	}
}
END_TEST

/* The shares of different events may differ, whatever the programs do. */
START_TEST(diff_of_events)
{
	static const char line[] = "perfex: the shares are of different events: of cycles:u in 'perfex.data', and of branches:u in 'third.data'\n";

	write_profile("third.data", "branches:u", 2, 7);
	ck_assert_int_eq(perfex("diff", "perfex.data", "third.data"), 0);
	ck_assert_str_eq(err, line);
	has(out, "   60.00%     20.00%    -40.00%  ten [calls]\n");
	ck_assert_int_eq(perfex("diff", "-j", "perfex.data", "third.data"), 0);
	ck_assert_str_eq(err, line);
	ck_assert_int_eq(perfex("diff", "perfex.data", "other.data"), 0);
	ck_assert_str_eq(err, "");
	/* An event without a name, and a recording that ended before any was written. */
	write_profile("third.data", "", 2, 7);
	ck_assert_int_eq(perfex("diff", "perfex.data", "third.data"), 0);
	ck_assert_str_eq(err, "");
	put_header(in_dir("none.data"), SAMPLES_CHAINS);
	put_record(RECORD_COMMAND, NULL, 0, "calls");
	put_close();
	perfex("diff", "perfex.data", "none.data");
	has_not(err, "of different events");
	perfex("diff", "none.data", "perfex.data");
	has_not(err, "of different events");
}
END_TEST

START_TEST(diff_of_counts)
{
	write_text("a", "{\"counter-value\" : \"1000.000000\", \"unit\" : \"\", \"event\" : \"cycles\"}\n"
		   "{\"counter-value\" : \"7.000000\", \"unit\" : \"\", \"event\" : \"branches\"}\n");
	write_text("b", "{\"counter-value\" : \"1500.000000\", \"unit\" : \"\", \"event\" : \"cycles\"}\n");
	ck_assert_int_eq(perfex("diff", "a", "b"), 0);
	has(out, "               1,000                 1,500    +50.00%  cycles\n");
	has(out, "                   7                     -          -  branches\n");
	ck_assert_int_eq(perfex("diff", "-j", "-e", "cycles", "a", "b"), 0);
	ck_assert_str_eq(out, "{\"event\" : \"cycles\", \"old\" : 1000.000000, \"new\" : 1500.000000}\n");
	/* The counts of two runs are no counts of one. */
	write_text("twice", "{\"counter-value\" : \"1000.000000\", \"unit\" : \"\", \"event\" : \"cycles\"}\n"
		   "{\"counter-value\" : \"7.000000\", \"unit\" : \"\", \"event\" : \"branches\"}\n"
		   "{\"counter-value\" : \"1001.000000\", \"unit\" : \"\", \"event\" : \"cycles\"}\n");
	ck_assert_int_eq(perfex("diff", "twice", "b"), 125);
	is_message("'twice' has 'cycles' twice: it may have the counts of two runs (--append), or of one that counted it twice");
	ck_assert_int_eq(perfex("diff", "a", "twice"), 125);
	is_message("'twice' has 'cycles' twice");
	ck_assert_int_eq(perfex("diff", "-e", "branches", "a", "twice"), 0);
	/* Only rows that were counted are counts. */
	write_text("once", "{\"counter-value\" : \"<not counted>\", \"unit\" : \"\", \"event\" : \"cycles\"}\n"
		   "{\"counter-value\" : \"1500.000000\", \"unit\" : \"\", \"event\" : \"cycles\"}\n"
		   "{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"cycles\"}\n");
	ck_assert_int_eq(perfex("diff", "a", "once"), 0);
	has(out, "               1,000                 1,500    +50.00%  cycles\n");
	ck_assert_int_eq(perfex("diff", "a", "perfex.data"), 125);
	is_message("'perfex.data' has samples, and 'a' has none");
	/* Each name of -e is in one of the files at least. */
	ck_assert_int_eq(perfex("diff", "-e", "cycles,branches", "b", "a"), 0);
	ck_assert_int_eq(perfex("diff", "-e", "cycles,brunches", "b", "a"), 125);
	is_message("the files have no event or metric 'brunches', which -e names");
	ck_assert_int_eq(perfex("diff", "-e", "cycles:u,brunches", "perfex.data", "perfex.data"), 125);
	is_message("the files have no samples of 'brunches', which -e names");
	ck_assert_int_eq(perfex("diff", "-e", "cycles", "-e", "", "b", "a"), 125);
	is_message("-e has no name of an event: ''");
	ck_assert_int_eq(perfex("diff", "a", "none"), 125);
	is_message("cannot read 'none': No such file or directory (perfex -- diff runs the program of that name)");
	ck_assert_int_eq(perfex("diff", "a", "b", "-o", "b"), 125);
	is_message("'b' is one of the files to read");
}
END_TEST

/* An event that could not be counted in one of the files, or in both, remains visible. */
START_TEST(diff_of_uncounted)
{
	write_text("a", "{\"counter-value\" : \"1.500000\", \"unit\" : \"msec\", \"event\" : \"clock\"}\n"
		   "{\"counter-value\" : \"7.000000\", \"unit\" : \"\", \"event\" : \"clock-x\"}\n"
		   "{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"stalls\"}\n"
		   "{\"metric\" : \"ipc\", \"metric-value\" : null, \"metric-unit\" : \"\"}\n");
	write_text("b", "{\"counter-value\" : \"<not permitted>\", \"unit\" : \"\", \"event\" : \"clock\"}\n"
		   "{\"counter-value\" : \"<not counted>\", \"unit\" : \"\", \"event\" : \"clock-x\"}\n"
		   "{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"stalls\"}\n"
		   "{\"metric\" : \"ipc\", \"metric-value\" : 2.0, \"metric-unit\" : \"\"}\n");
	ck_assert_int_eq(perfex("diff", "a", "b"), 0);
	has(out, "               1.500       <not permitted>          -  clock: msec\n");
	has(out, "                   7         <not counted>          -  clock-x\n");
	has(out, "     <not supported>       <not supported>          -  stalls\n");
	has(out, "          <no value>                     2          -  ipc\n");
	has_not(out, "  clock\n");
	ck_assert_int_eq(perfex("diff", "-j", "b", "a"), 0);
	has(out, "{\"event\" : \"clock: msec\", \"old\" : \"<not permitted>\", \"new\" : 1.500000}\n");
}
END_TEST

/* A pipe tells only a reader what is in it. */
START_TEST(diff_of_pipes)
{
	ck_assert_int_eq(mkfifo("one", 0600), 0);
	ck_assert_int_eq(mkfifo("two", 0600), 0);
	ck_assert_int_eq(system("for pipe in one two; do cat perfex.data > $pipe 2> /dev/null & done"), 0);
	ck_assert_int_eq(perfex("diff", "one", "two"), 125);
	is_message("'one' has samples, and no counts: perfex report reads them, and perfex diff those in files, not in pipes");
	ck_assert_int_eq(perfex("diff", "perfex.data", "two"), 125);
	is_message("'perfex.data' has samples, and 'two' is no file: perfex diff reads samples from files only");
	/* Let the second cat end. */
	ck_assert_int_eq(system("cat two > /dev/null"), 0);
}
END_TEST

/* The files of perf record, too. */
START_TEST(diff_of_perf_data)
{
	ck_assert_int_eq(perfex("report", "--export=perf", "-o", "perf.data"), 0);
	ck_assert_int_eq(perfex("diff", "perfex.data", "perf.data"), 0);
	has(out, "   60.00%     60.00%     +0.00%  ten [calls]\n");
	write_text("other", "2ELIFREP");
	ck_assert_int_eq(perfex("diff", "other", "perf.data"), 125);
	is_message("'other' is of a machine with another byte order, whose perf.data perfex does not read");
}
END_TEST

/* The fields of a row of perf stat -j that say of which part of the machine it is. */
static const char *const part_fields[] = {
	"cpu", "core", "cluster", "cache", "die", "socket", "node", "thread",
};

/* Each part has a row, and each of its cgroups. */
START_TEST(diff_of_parts)
{
	static const char *const parts[] = { "S0-D0", "S1-D0" };
	char row[128], long_name[301];
	unsigned int i;
	FILE *f = fopen("parts", "w");

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (i = 0; i < 4; i++)
		fprintf(f, "{\"%s\" : \"%s\", \"counters\" : 1, \"counter-value\" : \"%u.000000\", \"unit\" : \"\", \"cgroup\" : \"%s\", \"event\" : \"cycles\"}\n",
			part_fields[_i], parts[i / 2], 1000 + i, i % 2 ? "b.slice" : "");
	for (i = 0; i < 2; i++)
		fprintf(f, "{\"%s\" : \"0\", \"counter-value\" : \"7.000000\", \"unit\" : \"\", \"cgroup\" : \"%s%u\", \"event\" : \"cycles\"}\n",
			part_fields[_i], long_name, i);
	fclose(f);
	ck_assert_int_eq(perfex("diff", "parts", "parts"), 0);
	for (i = 0; i < 4; i++) {
		snprintf(row, sizeof(row), "1,00%u                 1,00%u     +0.00%%  %s%s cycles\n", i, i,
			 parts[i / 2], i % 2 ? ", b.slice" : "");
		has(out, row);
	}
	snprintf(row, sizeof(row), "  7                     7     +0.00%%  %s 0, xxx", part_fields[_i]);
	has(out, row);
	has(out, "xxx0 cycles\n");
	has(out, "xxx1 cycles\n");
}
END_TEST

/* Return: the number of lines of intervals of -x; their last time, and the sum of their counts. */
static unsigned int add_intervals(double *at, double *sum)
{
	char *line = err, *rest = err;
	unsigned int nr = 0;
	double count;

	*sum = 0;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%lf,%lf,ns,duration_time", at, &count) == 2) {
			*sum += count / 1e9;
			nr++;
		}
	return nr;
}

/* The times of all intervals are the whole, but for what -D leaves out. */
START_TEST(duration_of_intervals)
{
	double at, sum;

	ck_assert_int_eq(perfex("stat", "-I", "40", "-x,", "-e", "duration_time", "sleep", "0.1"), 0);
	ck_assert_uint_ge(add_intervals(&at, &sum), 2);
	ck_assert_double_eq_tol(sum, at, 1e-6);
	ck_assert_int_eq(perfex("stat", "-I", "40", "-D", "60", "-x,", "-e", "duration_time", "sleep",
				"0.1"), 0);
	ck_assert_uint_ge(add_intervals(&at, &sum), 2);
	ck_assert_double_gt(sum, 0);
	ck_assert_double_le(sum, at - 0.06);
}
END_TEST

/* The mean of several runs, and its deviation. */
/* The clock's ratio is of the interval's own time, which is not that of -I. */
START_TEST(clock_in_intervals)
{
	double clock, duration, ratio;
	unsigned int nr = 0;
	char *line = err;

	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("stat", "-I", "40", "-x,", "-e", "task-clock,duration_time", "sleep", "0.1"), 0);
	for (; *line; line = strchr(strchr(line, '\n') + 1, '\n') + 1, nr++) {
		ck_assert_msg(sscanf(line, "%*f,%lf,msec,task-clock,%*u,100.00,%lf,CPUs utilized\n"
				     "%*f,%lf,ns,duration_time", &clock, &ratio, &duration) == 3, "%s", err);
		ck_assert_double_eq_tol(ratio, clock * 1e6 / duration, 0.0051);
	}
	ck_assert_uint_ge(nr, 2);
}
END_TEST

START_TEST(duration_of_runs)
{
	double mean;

	ck_assert_int_eq(perfex("stat", "-r", "3", "-x,", "-e", "duration_time", "sleep", "0.02"), 0);
	ck_assert_int_eq(sscanf(err, "%lf,ns,duration_time,", &mean), 1);
	ck_assert_double_ge(mean, 0.02e9);
	ck_assert_double_le(mean, 20e9);
	has(err, "%,");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-of-perf");
	TCase *t = tcase_create("perf");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, line_of_perf, 0, (int)ARRAY_SIZE(lines));
	tcase_add_loop_test(t, options_of, 0, (int)ARRAY_SIZE(options_of_perf));
	tcase_add_test(t, script);
	tcase_add_test(t, script_of_long_names);
	tcase_add_test(t, diff_of_events);
	tcase_add_test(t, diff_of_counts);
	tcase_add_test(t, diff_of_uncounted);
	tcase_add_test(t, diff_of_pipes);
	tcase_add_test(t, diff_of_perf_data);
	tcase_add_loop_test(t, diff_of_parts, 0, (int)ARRAY_SIZE(part_fields));
	tcase_add_test(t, duration_of_intervals);
	tcase_add_test(t, clock_in_intervals);
	tcase_add_test(t, duration_of_runs);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	find_functions();
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
