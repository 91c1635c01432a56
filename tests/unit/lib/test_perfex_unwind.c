// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that perfex --report finds in registers and stacks: those of this program, which the
 * tests write into files.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include "other-order.h"
#include "perfex-command.h"
#include "perfex.h"
#include "report-file.h"
#include "sample-builder.h"

#define REGS		VPERFCTR_X86_REGS
#define SP		7
#define IP		16
#define STACK		8192

/* The registers and the stack of a sample. */
static struct {
	uint64_t regs[REGS];
	unsigned char stack[STACK];
} taken;

static uint64_t tsc;
static size_t stack_size;

/* As the kernel numbers them, from a context of a signal. */
static void set_registers(const ucontext_t *uc)
{
	static const int order[REGS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};
	unsigned int i;

	for (i = 0; i < REGS; i++)
		taken.regs[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
}

/* A stack is no array of this program. */
__attribute__((no_sanitize("address", "undefined")))
static void copy_stack(void)
{
	const unsigned char *from = (const unsigned char *)taken.regs[SP];
	/* The program's name is at the end of the stack. */
	const size_t room = (getauxval(AT_EXECFN) - taken.regs[SP]) & ~7UL;
	size_t i;

	stack_size = room < STACK ? room : STACK;
	for (i = 0; i < stack_size; i++)
		taken.stack[i] = *(volatile const unsigned char *)(from + i);
}

static void put_taken(uint64_t ip)
{
	put_user((uint32_t)getpid(), ++tsc, ip, VPERFCTR_USER_64, REGS, taken.regs, taken.stack,
		 stack_size);
}

static void on_trap(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)si;
	set_registers(context);
	copy_stack();
	put_taken(taken.regs[IP]);
}

/* Take a sample here. */
static __attribute__((noinline, noclone)) void sample_here(void)
{
	__asm__ volatile("int3; nop" ::: "memory");
}

/* The mapping of the library is one of a file with this inode, if it is not 0. */
static uint64_t library_inode;

/* The library has this path in the file, if it is not NULL. */
static const char *library_path;

static void put_library(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	struct record_mapping r = {
		.task = { (uint32_t)getpid(), (uint32_t)getpid(), 0 }, .start = start,
		.end = end, .offset = offset, .major = 8, .minor = 1, .inode = library_inode,
	};

	put_record(RECORD_MAPPING, &r, sizeof(r), path);
}

static void put_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[4096], exec;
	int at;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %n", &start,
			   &end, &exec, &offset, &at) != 4 || exec != 'x')
			continue;
		if (library_inode && strstr(line + at, "/unwound.so"))
			put_library(start, end, offset, line + at);
		else
			put_mapping((uint32_t)getpid(), 0, start, end, offset,
				    library_path && strstr(line + at, "/unwound.so") ? library_path : line + at);
	}
	fclose(f);
}

static void begin(void)
{
	tsc = 0;
	put_header(in_dir("s"), SAMPLES_STACKS);
	put_record(RECORD_COMMAND, NULL, 0, "two x");
	put_event(0, 1000, "instructions:u");
	put_task(RECORD_COMM, (uint32_t)getpid(), (uint32_t)getpid(), 0, "name");
	put_mappings();
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

#define folded()	perfex("--report", (char *)in_dir("s"), "--export=folded")

static void load_library(void (**outer)(void (*)(void)))
{
	void *library = dlopen(TMP "/unwound.so", RTLD_NOW);

	ck_assert_msg(library, "%s", dlerror());
	*(void **)outer = dlsym(library, "library_outer");
}

/* Each sample has all calls, also the first one in a file. */
START_TEST(calls_through_library)
{
	void (*outer)(void (*)(void));
	int i;

	load_library(&outer);
	begin();
	for (i = 0; i < 3; i++)
		outer(sample_here);
	end();
	ck_assert_int_eq(folded(), 0);
	has(out, ";calls_through_library_fn;library_outer;library_inner;sample_here 3\n");
	check_other_order("--export=folded");
	has(out, ";main;");
}
END_TEST

/* perf.data has the calls, and not the stack. */
START_TEST(calls_for_perf)
{
	void (*outer)(void (*)(void));
	char command[512];

	load_library(&outer);
	begin();
	outer(sample_here);
	outer(sample_here);
	end();
	ck_assert_int_eq(perfex("--report", (char *)in_dir("s"), "--export=perf", "-o",
				(char *)in_dir("perf.data")), 0);
	snprintf(command, sizeof(command), "python3 " SRC "perf-stacks.py %s instructions:u 1000 > %s",
		 in_dir("perf.data"), in_dir("out"));
	ck_assert_int_eq(system(command), 0);
	slurp("out", out, sizeof(out));
	has(out, ";calls_for_perf_fn;library_outer;library_inner;sample_here 2\n");
}
END_TEST

/* Exports say which file is missing; --symfs finds it, for perf.data, too. */
START_TEST(calls_below_symfs)
{
	void (*outer)(void (*)(void));
	char root[128];

	snprintf(root, sizeof(root), "%s", in_dir("root"));
	load_library(&outer);
	library_path = "/nowhere/unwound.so";
	begin();
	outer(sample_here);
	outer(sample_here);
	end();
	ck_assert_int_eq(folded(), 0);
	has_not(out, "calls_below_symfs_fn");
	has(err, "perfex: /nowhere/unwound.so: ");
	has(err, ", so callers of its functions are not found (--symfs=DIR finds it in a directory or another root)\n");
	ck_assert_int_eq(perfex("--report", (char *)in_dir("s"), "--export=perf", "-o", (char *)in_dir("perf.data")), 0);
	has(err, "perfex: /nowhere/unwound.so: ");
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "--export=folded", "-q"), 0);
	ck_assert_str_eq(err, "");
	shell("mkdir -p root/nowhere && cp " TMP "/unwound.so root/nowhere");
	ck_assert_int_eq(perfex("--report", (char *)in_dir("s"), "--export=perf", "-o", (char *)in_dir("perf.data"),
				"--symfs", root), 0);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(perfex("--report", (char *)in_dir("perf.data"), "--export=folded", "--symfs", root), 0);
	has(out, ";calls_below_symfs_fn;library_outer;library_inner;sample_here 2\n");
	shell("rm -r root");
}
END_TEST

/* Tables of another file, which has the library's path now, would lead to wrong calls. */
START_TEST(another_library)
{
	void (*outer)(void (*)(void));

	load_library(&outer);
	library_inode = 1;
	begin();
	outer(sample_here);
	end();
	ck_assert_int_eq(folded(), 0);
	has_not(out, "another_library_fn;");
	has(out, "[unwound.so];sample_here 1\n");
}
END_TEST

/* Put a sample at the place of the last one, with other registers. */
static void put_other(unsigned int mode, unsigned int nrregs, const uint64_t *regs, size_t size)
{
	put_user((uint32_t)getpid(), ++tsc, taken.regs[IP], mode, nrregs, regs, taken.stack, size);
}

/* A stack that is too small has the calls that it has, and wrong registers have none. */
START_TEST(wrong_states)
{
	uint64_t regs[64] = { 0 };
	void (*outer)(void (*)(void));

	load_library(&outer);
	begin();
	outer(sample_here);
	memcpy(regs, taken.regs, sizeof(taken.regs));
	switch (_i) {
	case 0:
		put_other(VPERFCTR_USER_64, REGS, regs, 0);
		break;
	case 1:
		put_other(VPERFCTR_USER_NONE, REGS, regs, stack_size);
		break;
	case 2:
		put_other(VPERFCTR_USER_64, 64, regs, stack_size);
		break;
	case 3:
		put_other(VPERFCTR_USER_32, REGS, regs, stack_size);
		break;
	case 4:
		put_other(VPERFCTR_USER_64, VPERFCTR_ARM64_REGS, regs, stack_size);
		break;
	case 5:
		put_other(~0U, 0, regs, stack_size);
		break;
	case 6:
		regs[IP] = 0;
		put_other(VPERFCTR_USER_64, REGS, regs, stack_size);
		break;
	case 7:
		regs[IP] = ~UINT64_C(0);
		put_other(VPERFCTR_USER_64, REGS, regs, stack_size);
		break;
	}
	end();
	ck_assert_int_eq(folded(), 0);
	ck_assert_str_eq(err, "");
	has(out, ";wrong_states_fn;library_outer;library_inner;sample_here 1\n");
	has(out, "\nname;sample_here 1\n");
}
END_TEST

/* The first address of a sample of the kernel is where it was entered. */
START_TEST(sample_of_the_kernel)
{
	begin();
	sample_here();
	put_taken(UINT64_C(0xffffffff81000000));
	end();
	ck_assert_int_eq(folded(), 0);
	has(out, ";sample_of_the_kernel_fn;sample_here;[kernel] 1\n");
}
END_TEST

/* Calls in the kernel come before those of user mode, and as many as a chain can have. */
START_TEST(calls_in_the_kernel)
{
	const uint64_t base = UINT64_C(0xffffffff81000000);
	uint64_t chain[MAX_CHAIN];
	uint32_t i, nr = _i ? MAX_CHAIN : 2;

	for (i = 0; i < MAX_CHAIN; i++)
		chain[i] = base + 100 + i;
	begin();
	sample_here();
	put_calls_and_user((uint32_t)getpid(), ++tsc, base, nr, chain, VPERFCTR_USER_64, REGS,
			   taken.regs, taken.stack, stack_size);
	put_kernel(base + 99, base + 100, "outer");
	put_kernel(base, base + 99, "inner [module]");
	end();
	ck_assert_int_eq(folded(), 0);
	if (_i)
		has(out, ";sample_here;[kernel];outer_[k];inner [module]_[k] 1\n");
	else
		has(out, ";calls_in_the_kernel_fn;sample_here;[kernel];outer_[k];inner [module]_[k] 1\n");
}
END_TEST

/* A function that a signal interrupts is not that before its first instruction. */
static void on_signal(int sig)
{
	(void)sig;
	sample_here();
	__asm__ volatile("" ::: "memory");
}

START_TEST(signal_handler)
{
	begin();
	signal(SIGUSR1, on_signal);
	kill(getpid(), SIGUSR1);
	end();
	ck_assert_int_eq(folded(), 0);
	has(out, ";signal_handler_fn;");
	has(out, ";on_signal;sample_here 1\n");
}
END_TEST

/* Two samples in a small program, whose stack has addresses of it. */
static void small_file(void)
{
	static const uint64_t stack[] = { 0x401100, 0x401140, 0x401180, 0x4011c0, 0, 8, 16, 24 };
	uint64_t regs[REGS];
	unsigned int i;

	for (i = 0; i < REGS; i++)
		regs[i] = 0x401100 + 8 * i;
	put_header(in_dir("s"), SAMPLES_STACKS);
	put_event(0, 1000, "e");
	put_mapping(1, 0, 0x400000, 0x404000, 0, TMP "/two");
	put_user(1, 1, regs[IP], VPERFCTR_USER_64, REGS, regs, stack, sizeof(stack));
	put_user(1, 2, regs[IP], VPERFCTR_USER_64, REGS, regs, stack, 0);
	end();
}

START_TEST(truncated_file)
{
	small_file();
	check_truncated(sizeof(struct samples_header));
}
END_TEST

START_TEST(damaged_file)
{
	small_file();
	check_damaged(0, 0);
	small_file();
	change_byte_order();
	check_damaged(0, 0);
}
END_TEST

/* Lengths that do not fit. */
static const struct {
	uint32_t nrregs;
	uint64_t stack;
} impossible[] = {
	{ 65, 0 }, { ~0U, 0 }, { 0x20000000, 0 }, { 17, 72 }, { 17, ~UINT64_C(0) }, { 17, UINT64_C(1) << 63 },
	{ 26, 0 }, { 0, 201 },
};

START_TEST(impossible_stack)
{
	struct {
		struct record_sample r;
		struct record_user u;
		uint64_t words[17 + 8];
	} s = {
		.r = { .size = sizeof(s), .pid = 1, .tid = 1, .ip = 1, .overflow = 1 },
		.u = { VPERFCTR_USER_64, impossible[_i].nrregs, impossible[_i].stack },
	};

	put_header(in_dir("s"), SAMPLES_STACKS);
	put_event(0, 1000, "instructions:u");
	put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
	end();
	ck_assert_int_eq(folded(), 125);
	has(err, "is damaged: an impossible stack at byte ");
	/* Less than its head. */
	put_header(in_dir("s"), SAMPLES_STACKS);
	put_event(0, 1000, "instructions:u");
	s.r.size = sizeof(s.r) + 8;
	put_record(RECORD_SAMPLES, &s, s.r.size, NULL);
	end();
	ck_assert_int_eq(folded(), 125);
	has(err, "is damaged: an impossible stack at byte ");
}
END_TEST

static void setup(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	command_setup();
	sigaction(SIGTRAP, &sa, NULL);
}

int main(void)
{
	Suite *s = suite_create("perfex-unwind");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, calls_through_library);
	tcase_add_test(t, calls_for_perf);
	tcase_add_test(t, calls_below_symfs);
	tcase_add_test(t, another_library);
	tcase_add_loop_test(t, wrong_states, 0, 8);
	tcase_add_test(t, sample_of_the_kernel);
	tcase_add_loop_test(t, calls_in_the_kernel, 0, 2);
	tcase_add_test(t, signal_handler);
	tcase_add_test(t, truncated_file);
	tcase_add_test(t, damaged_file);
	tcase_add_loop_test(t, impossible_stack, 0, ARRAY_SIZE(impossible));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
