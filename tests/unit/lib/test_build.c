// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of what is built and installed: symbols, headers, and the cost of a read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCS	" -I" TOP "lib/include -I" TOP "include/uapi "
#define WARN	" -O2 -Wall -Wextra -Wshadow -Werror "
#define CC	"${CC:-cc}" WARN INCS
#define CXX	"${CXX:-c++}" WARN INCS
/* Find asm/ without gcc-multilib, which conflicts with cross compilers. */
#define M32	"-m32 -idirafter /usr/include/$(${CC:-cc} -print-multiarch) "

static char text[65536];

/* Run the command and return its output. */
static const char *output_of(const char *command)
{
	FILE *f = popen(command, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, f);

	text[n] = '\0';
	ck_assert_msg(!pclose(f), "failed: %s\n%s", command, text);
	return text;
}

/* The same rules build both; the second also needs libpfm4 and libvperfctr. */
static const struct library {
	const char *name, *dir, *version, *needs;
} libraries[] = {
	{ "vperfctr", "lib", "VPERFCTR_0.1", "libc" },
	{ "vperfctr-event", "lib/event", "VPERFCTR_EVENT_0.1", "libc\\|libpfm\\|libvperfctr" },
};

#define NR_LIBRARIES	(sizeof(libraries) / sizeof(libraries[0]))

static char command[4096];

#define run(...)	(snprintf(command, sizeof(command), __VA_ARGS__), output_of(command))

/* Write the sorted functions of a library's map to map. */
static void read_map(const struct library *l, char *map, size_t size)
{
	snprintf(map, size, "%s", run("sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' %s%s/lib%s.map | sort",
				      TOP, l->dir, l->name));
	ck_assert_int_gt(strlen(map), 40);
}

START_TEST(exported)
{
	const struct library *l = &libraries[_i];
	char map[8192];

	read_map(l, map, sizeof(map));
	ck_assert_str_eq(map, run("nm -D --defined-only %s/lib%s.so | "
				  "sed -n 's/.* T \\(.*\\)@@%s$/\\1/p' | sort",
				  LIB, l->name, l->version));
	/* Nothing else: no symbol without a version, and no data. */
	ck_assert_str_eq(run("nm -D --defined-only %s/lib%s.so | grep -v ' T .*@@%s$' | "
			     "grep -v ' A %s$' || true", LIB, l->name, l->version, l->version), "");
	/* The same in the static library. */
	ck_assert_str_eq(map, run("nm -g --defined-only %s/lib%s.a | sed -n 's/.* T //p' | sort",
				  LIB, l->name));
	ck_assert_str_eq(run("nm -g --defined-only %s/lib%s.a | grep ' [^T] ' || true", LIB, l->name), "");
}
END_TEST

/* Each function that the header declares can be linked; each in the map is declared. */
START_TEST(declared)
{
	char map[8192];

	read_map(&libraries[_i], map, sizeof(map));
	ck_assert_str_eq(map, run("sed -n 's/^\\(VPERFCTR_INLINE \\|__VPERFCTR_INLINE_READ \\)\\?\\(unsigned \\)\\?"
				  "\\(int \\|void \\|uint64_t \\|const uint64_t [*]\\|const char [*]\\|const struct [_a-z]* [*]\\)"
				  "\\([_a-z]*\\)(.*/\\4/p' %slib/include/%s.h | sort",
				  TOP, libraries[_i].name));
}
END_TEST

START_TEST(soname)
{
	const struct library *l = &libraries[_i];

	run("readelf -d %s/lib%s.so | grep -q 'Library soname: .lib%s.so.0.$'", LIB, l->name, l->name);
	run("test -L %s/lib%s.so && test -L %s/lib%s.so.0 && test -f %s/lib%s.so.0",
	    LIB, l->name, LIB, l->name, LIB, l->name);
	/* It needs few libraries, and neither prints nor ends the program. */
	ck_assert_str_eq(run("readelf -d %s/lib%s.so | grep NEEDED | grep -v '%s\\.so' || true",
			     LIB, l->name, l->needs), "");
	ck_assert_str_eq(run("nm -D --undefined-only %s/lib%s.so | sed 's/.* U //; s/@.*//' | "
			     "grep -Ex '_*(f|v|vf|d)?printf(_chk)?|f?puts|perror|write|abort|exit|__assert_fail' || true",
			     LIB, l->name), "");
}
END_TEST

/* Functions that a 32-bit program must not call: it would fail at 2 GiB. */
#define OF_32_BITS \
	"open|openat|creat|fopen|freopen|tmpfile|fseeko|ftello|lseek|pread|pwrite|mmap|f?truncate|" \
	"fallocate|[fl]?stat|fstatat|mko?stemp|readdir|scandir|sendfile|[gs]etrlimit|nftw|glob|" \
	"f?statvfs|fcntl|lockf|posix_fallocate|prlimit|__open(at)?_2|__pread_chk"

/*
 * A 32-bit program has offsets of 64 bits: functions whose names say so are called, on each
 * architecture.
 */
START_TEST(large_files)
{
	static const char *const files[] = { "libvperfctr.so", "libvperfctr-event.so", "../bin/perfex" };
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		ck_assert_str_eq(run("nm -u %s/%s | sed 's/^ *[Uw] //; s/@.*//' | grep -Ex '" OF_32_BITS "' || true",
				     LIB, files[i]), "");
	ck_assert_str_ne(run("nm -u " LIB "/../bin/perfex | grep 'open64' || true"), "");
}
END_TEST

/*
 * libvperfctr has three variables, the kept descriptor, and what tells a process from its parent: all
 * other data belongs to handles.
 */
START_TEST(variables)
{
	ck_assert_str_eq(output_of("nm " LIB "/libvperfctr.a | sed -n 's/.* [BbDdCGgSs] //p' | sort"),
			 "kept\nlast\nword\n");
}
END_TEST

START_TEST(pkg_config)
{
	const struct library *l = &libraries[_i];

	ck_assert_ptr_nonnull(strstr(run("PKG_CONFIG_PATH=%s pkg-config --libs lib%s", LIB, l->name),
				     "-lvperfctr"));
	ck_assert_ptr_null(strchr(run("cat %s/lib%s.pc", LIB, l->name), '@'));
	/* A static link finds all that the library needs. */
	run("echo 'int main(void) { return 0; }' | PKG_CONFIG_PATH=%s sh -c 'exec ${CC:-cc} -x c - "
	    "-o %s/linked -L%s $(pkg-config --static --libs lib%s)' 2>&1",
	    LIB, TMP, LIB, l->name);
}
END_TEST

#define SYNOPSIS	"sed -n '/^.SH SYN/,/^.fi/ s/^.B \"*\\([^\"]*\\)\"*$/\\1/p' "

/* Each function has a manual page, which declares it as the header does. */
START_TEST(manual)
{
	const struct library *l = &libraries[_i];
	char names[8192];

	snprintf(names, sizeof(names), "%s",
		 run("%slib/man/links %s%s/man | sed 's/ .*//' | sort", TOP, TOP, l->dir));
	/* A function that passes a size has the page, and not its twin, which takes the size. */
	ck_assert_str_eq(names,
			 run("sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' %s%s/lib%s.map | grep -v '^__' | "
			     "sed 's/_sized$//' | sort",
			     TOP, l->dir, l->name));
	/* A different declaration, or other text, does not compile. */
	run("for p in %s%s/man/*.3; do " SYNOPSIS "$p | " CC "-x c -std=gnu11 -c -o /dev/null - 2>&1 || exit; done",
	    TOP, l->dir);
	/* Each function is declared. */
	ck_assert_str_eq(names,
			 run("sed -n '/^.SH SYN/,/^.fi/ s/^.B \"[^(]*\\(vperfctr_[_a-z]*\\)(.*/\\1/p' "
			     "%s%s/man/*.3 | sort", TOP, l->dir));
	run("test \"$(make -s --no-print-directory -C %s%s install O=" LIB "/.. DESTDIR=" TMP "/install prefix=/usr && "
	    "ls " TMP "/install/usr/share/man/man3 | wc -l)\" = \"$(%slib/man/links %s%s/man | wc -l)\"",
	    TOP, l->dir, TOP, TOP, l->dir);
	/* uninstall leaves no file behind. */
	ck_assert_str_eq(run("make -s --no-print-directory -C %s%s uninstall O=" LIB "/.. DESTDIR=" TMP "/install prefix=/usr && "
			     "find " TMP "/install ! -type d && rm -r " TMP "/install", TOP, l->dir), "");
}
END_TEST

static const char *const compilers[] = {
	CC "-x c -std=c99 -pedantic",
	CC M32 "-x c -std=c11 -pedantic",
	CC "-x c -std=gnu17 -O0",
	CXX "-x c++ -std=c++11 -pedantic",
	CXX "-x c++ -std=c++14 -pedantic",
	CXX "-x c++ -std=c++17 -pedantic",
	CXX "-x c++ -std=c++20 -pedantic",
	CXX "-x c++ -std=gnu++98",
	CXX M32 "-x c++ -std=c++17",
};

/* The header compiles, included twice, and its functions can be called. */
START_TEST(header)
{
	snprintf(command, sizeof(command),
		 "printf '#include <vperfctr-event.h>\\n#include <vperfctr.h>\\n#include <vperfctr-event.h>\\n"
		 "int f(struct vperfctr *v, uint64_t *p);\\n"
		 "int f(struct vperfctr *v, uint64_t *p)\\n{\\n"
		 "struct vperfctr_control c; struct vperfctr_ctr t[4]; struct vperfctr_info i;\\n"
		 "vperfctr_control_init(&c, t); vperfctr_control_add(&c, 0, 1);\\n"
		 "vperfctr_control_add_imode(&c, 1, 1, 5); vperfctr_control_add_ctr(&c, t);\\n"
		 "vperfctr_control_add_ctr_imode(&c, t, 5); vperfctr_control_add_soft(&c, 1); *p = vperfctr_ring_nr(v) + vperfctr_ring_dropped(v) +\\n"
		 "vperfctr_ring_sample(v, 0)->ip;\\n"
		 "return vperfctr_info(&i, 0) | vperfctr_control(v, &c) | vperfctr_read(v, p, p + 1, 4) |\\n"
		 "vperfctr_read_pmc(v, 1, p) | vperfctr_read_tsc(v, p) |\\n"
		 "vperfctr_read_soft(v, 1, p);\\n}\\n' | "
		 "%s -c -o /dev/null - 2>&1", compilers[_i]);
	output_of(command);
}
END_TEST

/*
 * Return the number of instructions from a function's first to its first return.  This is
 * the path of an undisturbed read: compilers put the rest behind it.
 */
static int instructions(const char *body)
{
	snprintf(command, sizeof(command),
		 "printf '#include <vperfctr.h>\\nuint64_t f(struct vperfctr *v, uint64_t *p);\\n"
		 "uint64_t f(struct vperfctr *v, uint64_t *p)\\n{ %s }\\n' | "
		 CC "-x c -Wno-unused-parameter -c -o " TMP "/cost.o - && "
		 "objdump -d --no-show-raw-insn " TMP "/cost.o | "
		 "awk '/<f>:/ { on = 1; next } on && /\tret/ { exit } on && /\t/ && !/nop/ { n++ } END { print n }'",
		 body);
	return atoi(output_of(command));
}

START_TEST(cost)
{
#ifdef __x86_64__
	int one = instructions("uint64_t x = 0; vperfctr_read_pmc(v, 0, &x); return x;");
	int four = instructions("return vperfctr_read(v, NULL, p, 4);");
	int tsc = instructions("uint64_t x = 0; vperfctr_read_tsc(v, &x); return x;");

	/* A read needs at least the lower limit: fewer mean that something is missing. */
	ck_assert_msg(one >= 10 && one <= 16, "one counter: %d instructions", one);
	ck_assert_msg(four >= 34 && four <= 44, "four counters: %d instructions", four);
	ck_assert_msg(tsc >= 9 && tsc <= 16, "tsc: %d instructions", tsc);
#endif
}
END_TEST

static const char *const optimizers[] = {
	CC "-Os -x c",
	CXX "-x c++",
	CXX "-Os -x c++",
	"clang" WARN INCS "-x c",
	"clang" WARN INCS "-Os -x c++",
};

/* A read of a known number of counters is inline, and has no loop, whatever is optimized. */
START_TEST(inlined)
{
#ifdef __x86_64__
	if (!strncmp(optimizers[_i], "clang", 5) && system("command -v clang > /dev/null"))
		return;
	run("printf '#include <vperfctr.h>\\nint f(struct vperfctr *v, uint64_t *p);\\n"
	    "int g(struct vperfctr *v, uint64_t *p);\\n"
	    "int f(struct vperfctr *v, uint64_t *p) { return vperfctr_read(v, NULL, p, 4); }\\n"
	    "int g(struct vperfctr *v, uint64_t *p) { return vperfctr_read(v, NULL, p, 2); }\\n' | "
	    "%s -c -o " TMP "/inlined.o -", optimizers[_i]);
	ck_assert_str_eq(run("nm --defined-only " TMP "/inlined.o | grep -vc ' T '; "
			     "objdump -d " TMP "/inlined.o | grep -c rdpmc"), "0\n6\n");
#endif
}
END_TEST

/* With a number that is not known, one jump goes to the code for that number. */
START_TEST(unknown_number)
{
#ifdef __x86_64__
	run("printf '#include <vperfctr.h>\\nint f(struct vperfctr *v, uint64_t *p, unsigned int n);\\n"
	    "int f(struct vperfctr *v, uint64_t *p, unsigned int n) { return vperfctr_read(v, NULL, p, n); }\\n' | "
	    CC "-x c -c -o " TMP "/unknown.o -");
	/* And a loop for more than eight. */
	ck_assert_str_eq(run("objdump -d --no-show-raw-insn " TMP "/unknown.o | "
			     "awk '/rdpmc/ { reads++ } /jmp +[*]/ { jumps++ } END { print reads, jumps }'"),
			 "9 1\n");
#endif
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("lib-build");
	TCase *t = tcase_create("build");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, exported, 0, NR_LIBRARIES);
	tcase_add_loop_test(t, declared, 0, NR_LIBRARIES);
	tcase_add_loop_test(t, soname, 0, NR_LIBRARIES);
	tcase_add_test(t, large_files);
	tcase_add_test(t, variables);
	tcase_add_loop_test(t, pkg_config, 0, NR_LIBRARIES);
	tcase_add_loop_test(t, manual, 0, NR_LIBRARIES);
	tcase_add_loop_test(t, header, 0, sizeof(compilers) / sizeof(compilers[0]));
	tcase_add_test(t, cost);
	tcase_add_loop_test(t, inlined, 0, sizeof(optimizers) / sizeof(optimizers[0]));
	tcase_add_test(t, unknown_number);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	/* With the flags of a parallel make, the make that a test runs prints directories. */
	unsetenv("MAKEFLAGS");
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
