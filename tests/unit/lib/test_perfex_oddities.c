// SPDX-License-Identifier: GPL-2.0
/*
 * Programs and machines that other profilers have reports of in their trackers: odd names, files
 * and clocks.  Each was tried with perfex, and those are here that it had wrong.
 */
#include <sys/stat.h>

#include "code-places.h"
#include "perfex-command.h"
#include "sample-builder.h"

#define CODE	UINT64_C(0x10000000)

/* Where a function is in its file. */
static uint64_t offset_of(const char *file, const char *function)
{
	char condition[128];

	snprintf(condition, sizeof(condition), "== \"%s\"", function);
	return offset_of_symbol(file, condition);
}

static void setup(void)
{
	command_setup();
}

static void teardown(void)
{
	shell("rm -rf -- *");
	command_teardown();
}

static void begin(void)
{
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
}

static void end(uint64_t count)
{
	put_end(1, &count);
	put_close();
}

/* A sample of each of these places in a file. */
static void record(const char *file, unsigned int nr, const uint64_t *offsets)
{
	unsigned int i;

	begin();
	put_mapping(10, 0, CODE, CODE + 0x10000000, 0, in_dir(file));
	for (i = 0; i < nr; i++)
		put_sample(10, 10, 5 + i, CODE + offsets[i]);
	end(nr * 1000);
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

/* ---- names ----------------------------------------------------------------------------------- */

/* A symbol table has the default version of a symbol in its name: no source file, and no export. */
START_TEST(versions_of_symbols)
{
	uint64_t offset[3];

	write_text("lib.c", "int n;\n"
		   "void new(void) { n++; }\n__asm__(\".symver new, work@@V_2\");\n"
		   "void old(void) { n--; }\n__asm__(\".symver old, work@V_1\");\n"
		   "void cpp(void) { n *= 3; }\n__asm__(\".symver cpp, _Z4calli@@V_2\");\n");
	write_text("map", "V_1 { global: work; local: *; };\nV_2 { global: work; _Z4calli; } V_1;\n");
	shell("${CC:-cc} -O1 -fPIC -shared -fno-lto -Wl,--version-script=map -o lib.so lib.c");
	offset[0] = offset_of("lib.so", "work@@V_2");
	offset[1] = offset_of("lib.so", "work@V_1");
	offset[2] = offset_of("lib.so", "_Z4calli@@V_2");
	record("lib.so", 3, offset);
	ck_assert_int_eq(report(), 0);
	has(out, "  work [lib.so]\n");
	has(out, "  work@V_1 [lib.so]\n");
	has(out, "  call(int) [lib.so]\n");
	ck_assert_int_eq(report("--annotate=work"), 0);
}
END_TEST

/*
 * In a stripped library, functions of assembly that it exports have no size, and are far apart: they
 * do not name the functions between them.
 */
START_TEST(symbols_without_a_size)
{
	uint64_t offset[3], hidden;
	char line[64];

	write_text("label.s", ".text\n.globl label\nlabel:\n.rept 16\nnop\n.endr\nret\n"
		   ".section .note.GNU-stack,\"\",@progbits\n");
	write_text("c.c", "volatile int n;\nstatic __attribute__((noinline)) void hidden(void)\n{\n\tn++;\n}\n"
		   "__attribute__((visibility(\"hidden\"))) void other(void)\n{\n\thidden();\n\thidden();\n}\n");
	shell("${CC:-cc} -O1 -fPIC -fno-lto -fasynchronous-unwind-tables -shared -o lib.so label.s c.c");
	offset[0] = offset_of("lib.so", "label");
	offset[1] = offset[0] + 5;
	offset[2] = hidden = offset_of("lib.so", "hidden");
	ck_assert_uint_gt(hidden, offset[0]);
	shell("strip lib.so");
	record("lib.so", 3, offset);
	ck_assert_int_eq(report(), 0);
	has(out, " 66.67%             2  label [lib.so]\n");
	snprintf(line, sizeof(line), " 33.33%%             1  [lib.so]+0x%lx\n", (unsigned long)hidden);
	has(out, line);
}
END_TEST

/* Readers of folded stacks and of scripts take a name for granted. */
START_TEST(threads_without_a_name)
{
	begin();
	put_task(RECORD_EXEC, 10, 10, 1, "");
	put_mapping(10, 2, CODE, CODE + 0x1000, 0, "/nowhere");
	put_sample(10, 10, 5, CODE);
	end(1000);
	ck_assert_int_eq(report("--sort=comm"), 0);
	has(out, "  (no name)\n");
	ck_assert_int_eq(report("--export=folded"), 0);
	ck_assert_str_eq(out, "(no name);[nowhere] 1\n");
	ck_assert_int_eq(perfex("script", "-i", (char *)in_dir("s")), 0);
	has(out, "(no_name) 10/10 ");
}
END_TEST

/* ---- clocks ---------------------------------------------------------------------------------- */

/* In a virtual machine, the timer of perf's clock is late, also where there is one thread only. */
START_TEST(late_clock)
{
	struct record_event clock = { .map = EVENT_OF_TIME, .period = 250000 };
	unsigned int i;

	put_header(in_dir("s"), 0);
	fseek(built, offsetof(struct samples_header, cpu_name), SEEK_SET);
	fwrite("perf_event", 1, sizeof("perf_event"), built);
	fseek(built, 0, SEEK_END);
	put_record(RECORD_EVENT, &clock, sizeof(clock), "task-clock");
	put_mapping(10, 0, CODE, CODE + 0x1000, 0, "/nowhere");
	for (i = 0; i < 50; i++)
		put_sample(10, 10, 5 + i, CODE);
	end(200 * 250000);
	ck_assert_int_eq(report(), 0);
	has(out, "\n 75% of task-clock have no samples: threads and processes that ended before their first one, or a timer that was late, as in a busy virtual machine.\n"
		 " A shorter period (-c) shows such threads.\n");
	has_not(out, "newer module");
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

/* Code may be mapped from a file of any format, which is there and can be read. */
START_TEST(code_in_no_elf_file)
{
	char line[512];

	write_text("code", "no ELF file");
	record("code", 1, (uint64_t []){ 3 });
	ck_assert_int_eq(report(), 0);
	snprintf(line, sizeof(line), "\n %s: it is no ELF file, so its functions have no names.\n", in_dir("code"));
	has(out, line);
}
END_TEST

/* Some lines of advice are printed, and how many there would be more. */
START_TEST(many_missing_files)
{
	char name[16];
	unsigned int i;

	begin();
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "/none/%u", i);
		put_mapping(10, i, CODE + i * 0x1000, CODE + (i + 1) * 0x1000, 0, name);
		put_sample(10, 10, 9 + i, CODE + i * 0x1000);
	}
	end(8000);
	ck_assert_int_eq(report(), 0);
	has(out, " /none/4: ");
	has_not(out, " /none/5: ");
	has(out, "\n 3 more such lines are not printed.\n");
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "-q"), 0);
	has_not(out, "not printed");
}
END_TEST

/* Deep functions of a tree are indented alike, and have their depth before their names. */
START_TEST(deep_trees)
{
	uint64_t chain[25], at;
	unsigned int i;
	FILE *f;

	f = fopen(in_dir("deep.c"), "w");
	fputs("volatile int n;\nstatic inline __attribute__((always_inline)) void f0(void)\n{\n\tn++;\n}\n", f);
	for (i = 1; i < 10; i++)
		fprintf(f, "static inline __attribute__((always_inline)) void f%u(void)\n{\n\tf%u();\n}\n", i, i - 1);
	fputs("void outer(void)\n{\n\tf9();\n}\n", f);
	fclose(f);
	shell("${CC:-cc} -g -O1 -fPIC -shared -fno-lto -fcf-protection=none -o deep.so deep.c || ${CC:-cc} -g -O1 -fPIC -shared -fno-lto -o deep.so deep.c");
	at = CODE + offset_of("deep.so", "outer");
	put_header(in_dir("s"), SAMPLES_CHAINS);
	put_event(0, 1000, "instructions:u");
	put_mapping(10, 0, CODE, CODE + 0x10000000, 0, in_dir("deep.so"));
	for (i = 0; i < 25; i++)
		chain[i] = at + 1;
	put_chain(10, 10, 5, 1, at, 25, chain);
	end(1000);
	ck_assert_int_eq(report("--callees", "-v", "-o", (char *)in_dir("tree")), 0);
	shell("cut -c 420- tree > names && grep -q '(201) f' names && grep -q '(286) f0 ' names && ! grep -q '(200) ' tree");
}
END_TEST

/* Programs of Go have no symbols, but the table of their runtime, of one of three layouts. */
static const char *const go_tables[] = {
	"t: .long 0xfffffffb\n.byte 0, 0, 1, 8\n.quad 2\n"
	"functions: .quad one, d1 - t, two, d2 - t, end\n"
	"d1: .quad one\n.long n1 - t\nd2: .quad two\n.long n2 - t\n",
	"t: .long 0xfffffffa\n.byte 0, 0, 1, 8\n.quad 2, 0, names - t, 0, 0, 0, functions - t\n"
	"functions: .quad one, d1 - functions, two, d2 - functions, end\n"
	"d1: .quad one\n.long n1 - names\nd2: .quad two\n.long n2 - names\n",
	"t: .long 0xfffffff0\n.byte 0, 0, 1, 8\n.quad 2, 0, begin, names - t, 0, 0, 0, functions - t\n"
	"functions: .long one - begin, d1 - functions, two - begin, d2 - functions, end - begin\n"
	"d1: .long one - begin, n1 - names\nd2: .long two - begin, n2 - names\n",
};

START_TEST(functions_of_go)
{
	uint64_t offset[4];
	char line[2048];

	if (sizeof(void *) != 8)
		return;
	snprintf(line, sizeof(line), ".text\n.globl _start\n_start: .skip 16, 0x90\nbegin: .skip 16, 0x90\none: .skip 32, 0x90\n"
		 "two: .skip 32, 0x90\nend: .skip 32, 0x90\n.section .gopclntab, \"a\"\n"
		 "%snames: .byte 0\nn1: .asciz \"main.one\"\nn2: .asciz \"main.(*T).two\"\n.section .note.GNU-stack, \"\", %%progbits\n",
		 go_tables[_i]);
	write_text("go.s", line);
	shell("${CC:-cc} -no-pie -nostdlib -o go go.s");
	offset[0] = offset_of("go", "one") + 31;
	offset[1] = offset_of("go", "two");
	offset[2] = offset_of("go", "begin") + 15;
	offset[3] = offset_of("go", "end");
	shell("strip go");
	record("go", 4, offset);
	ck_assert_int_eq(report(), 0);
	has(out, " 25.00%             1  main.one [go]\n");
	has(out, " 25.00%             1  main.(*T).two [go]\n");
	has(out, "  [go]+0x");
	ck_assert_int_eq(report("--annotate=main.(*T).two"), 0);
}
END_TEST

/* Lambdas that are inlined have neither a linkage name nor a class with a name, in what gcc writes. */
START_TEST(inlined_lambdas)
{
	uint64_t offset[2];

	write_text("l.cc", "volatile int n;\ntemplate <class F> static inline __attribute__((always_inline)) void call(F f) { f(); }\n"
		   "extern \"C\" void one() { call([] { n = 1; }); }\nextern \"C\" void two() { call([] { n = 2; }); }\n");
	if (system("command -v g++ > /dev/null"))
		return;
	shell("g++ -g -O2 -fPIC -shared -fno-lto -fcf-protection=none -o l.so l.cc || g++ -g -O2 -fPIC -shared -fno-lto -o l.so l.cc");
	offset[0] = offset_of("l.so", "one");
	offset[1] = offset_of("l.so", "two");
	record("l.so", 2, offset);
	ck_assert_int_eq(report(), 0);
	if (strstr(out, "::{lambda()#1}"))
		return;
	has(out, "  {lambda l.cc:3:31}::operator() [l.so]\n");
	has(out, "  {lambda l.cc:4:31}::operator() [l.so]\n");
	ck_assert_int_eq(report("--annotate={lambda l.cc:4:31}::operator()"), 0);
}
END_TEST

/* perf record --threads and --kcore write a directory. */
START_TEST(directories_of_perf)
{
	shell("mkdir perf.data && touch perf.data/data");
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("perf.data")), 125);
	is_message("/perf.data' is a directory, as perf record writes it with --threads and --kcore: record without these");
}
END_TEST

/* Files of samples are sent by mail, compressed. */
START_TEST(compressed_files)
{
	static const struct { const char *compress, *ending, *expand; } programs[] = {
		{ "gzip", "gz", "gzip" }, { "xz", "xz", "xz" }, { "zstd -q", "zst", "zstd" },
		{ "bzip2", "bz2", "bzip2" },
	};
	char line[256], name[16];

	snprintf(line, sizeof(line), "command -v %s > /dev/null", programs[_i].expand);
	if (system(line))
		return;
	begin();
	put_mapping(10, 2, CODE, CODE + 0x1000, 0, "/nowhere");
	put_sample(10, 10, 5, CODE);
	end(1000);
	snprintf(line, sizeof(line), "%s s", programs[_i].compress);
	shell(line);
	snprintf(name, sizeof(name), "s.%s", programs[_i].ending);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir(name)), 125);
	snprintf(line, sizeof(line), "/s.%s' is compressed: %s -dc FILE | perfex report -i - reads it",
		 programs[_i].ending, programs[_i].expand);
	is_message(line);
}
END_TEST

/* libelf expands what zstd has compressed from version 0.189 on, and shows no lines before. */
START_TEST(debugging_information_of_zstd)
{
	uint64_t offset;

	write_text("a.c", "volatile int n;\nvoid work(void)\n{\n\tn++;\n}\nint main(void)\n{\n\twork();\n\treturn 0;\n}\n");
	shell("${CC:-cc} -g -O1 -o a a.c");
	if (system("objcopy --help | grep -q 'compress-debug-sections.*zstd'"))
		return;
	shell("objcopy --compress-debug-sections=zstd a");
	offset = offset_of("a", "work");
	if (_i)
		shell("objcopy --only-keep-debug a a.debug && strip a && objcopy --add-gnu-debuglink=a.debug a");
	record("a", 1, (uint64_t []){ offset });
	ck_assert_int_eq(report(), 0);
	has(out, "  work [a]\n");
	if (strstr(out, "a.c:"))
		return;
	has(out, "/a: its debugging information is compressed by zstd, which this libelf cannot expand (objcopy --decompress-debug-sections can), and is left out.\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-oddities");
	TCase *t = tcase_create("oddities");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, versions_of_symbols);
	tcase_add_test(t, symbols_without_a_size);
	tcase_add_test(t, threads_without_a_name);
	tcase_add_test(t, late_clock);
	tcase_add_test(t, code_in_no_elf_file);
	tcase_add_test(t, directories_of_perf);
	tcase_add_test(t, many_missing_files);
	tcase_add_test(t, deep_trees);
	tcase_add_test(t, inlined_lambdas);
	tcase_add_loop_test(t, functions_of_go, 0, 3);
	tcase_add_loop_test(t, compressed_files, 0, 4);
	tcase_add_loop_test(t, debugging_information_of_zstd, 0, 2);
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
