// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is built and installed: symbols, header, and the cost of a read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCS	" -I" TOP "lib/include -I" TOP "include/uapi "
#define WARN	" -O2 -Wall -Wextra -Wshadow -Werror "
#define CC	"${CC:-cc}" WARN INCS
#define CXX	"${CXX:-c++}" WARN INCS
/* asm/ is there without gcc-multilib, too, which excludes cross compilers. */
#define M32	"-m32 -idirafter /usr/include/$(${CC:-cc} -print-multiarch) "

static char text[65536];

/* The command's output, in text. */
static const char *output_of(const char *command)
{
	FILE *f = popen(command, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, f);

	text[n] = '\0';
	ck_assert_msg(!pclose(f), "failed: %s\n%s", command, text);
	return text;
}

START_TEST(exported)
{
	char symbols[8192], map[8192];

	snprintf(symbols, sizeof(symbols), "%s",
		 output_of("nm -D --defined-only " LIB "/libvperfctr.so | "
			   "sed -n 's/.* T \\(.*\\)@@VPERFCTR_0\\.1$/\\1/p' | sort"));
	snprintf(map, sizeof(map), "%s",
		 output_of("sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' " TOP "lib/libvperfctr.map | sort"));
	ck_assert_int_gt(strlen(map), 100);
	ck_assert_str_eq(symbols, map);
	/* Nothing else: not without a version, nor as data. */
	ck_assert_str_eq(output_of("nm -D --defined-only " LIB "/libvperfctr.so | "
				   "grep -v ' T .*@@VPERFCTR_0\\.1$' | grep -v ' A VPERFCTR_0.1$' || true"), "");
}
END_TEST

/* Each function that the header declares can be linked; each in the map is declared. */
START_TEST(declared)
{
	char map[8192];

	snprintf(map, sizeof(map), "%s",
		 output_of("sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' " TOP "lib/libvperfctr.map | sort"));
	ck_assert_str_eq(map, output_of("sed -n 's/^\\(VPERFCTR_INLINE \\)\\?\\(unsigned \\)\\?"
					"\\(int \\|void \\|uint64_t \\|const struct [_a-z]* [*]\\)"
					"\\([_a-z]*\\)(.*/\\4/p' " TOP "lib/include/vperfctr.h | sort"));
}
END_TEST

START_TEST(soname)
{
	ck_assert_ptr_nonnull(strstr(output_of("readelf -d " LIB "/libvperfctr.so"),
				     "Library soname: [libvperfctr.so.0]"));
	output_of("test -L " LIB "/libvperfctr.so && test -L " LIB "/libvperfctr.so.0 && "
		  "test -f " LIB "/libvperfctr.so.0");
	/* It depends on the C library only, and neither prints nor ends programs. */
	ck_assert_str_eq(output_of("readelf -d " LIB "/libvperfctr.so | grep NEEDED | grep -v 'libc\\.so' || true"), "");
	ck_assert_str_eq(output_of("nm -D --undefined-only " LIB "/libvperfctr.so | "
				   "grep -E 'printf|puts|perror|write|abort|exit|assert' || true"), "");
	/* No variables. */
	ck_assert_str_eq(output_of("nm " LIB "/libvperfctr.a | grep -E ' [BbDdCGgSs] ' || true"), "");
}
END_TEST

START_TEST(pkg_config)
{
	ck_assert_ptr_nonnull(strstr(output_of("PKG_CONFIG_PATH=" LIB " pkg-config --libs libvperfctr"),
				     "-lvperfctr"));
	ck_assert_ptr_null(strchr(output_of("cat " LIB "/libvperfctr.pc"), '@'));
}
END_TEST

/* Each function has a manual page, which declares it as the header does. */
START_TEST(manual)
{
	char names[8192];

	snprintf(names, sizeof(names), "%s", output_of(TOP "lib/man/links | sed 's/ .*//' | sort"));
	ck_assert_str_eq(names,
			 output_of("sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' " TOP "lib/libvperfctr.map | "
				   "grep -v '^__' | sort"));
	/* What is declared differently, or is not a declaration, does not compile. */
	output_of("for p in " TOP "lib/man/*.3; do sed -n '/^.SH SYN/,/^.fi/ s/^.B \"*\\([^\"]*\\)\"*$/\\1/p' $p | "
		  CC "-x c -std=gnu11 -c -o /dev/null - 2>&1 || exit; done");
	/* And each is. */
	snprintf(names, sizeof(names), "%s", output_of(TOP "lib/man/links | sed 's/ .*//' | sort"));
	ck_assert_str_eq(names,
			 output_of("sed -n '/^.SH SYN/,/^.fi/ s/^.B \".*\\(vperfctr_[_a-z]*\\)(.*/\\1/p' "
				   TOP "lib/man/*.3 | sort"));
	output_of("test \"$(make -s -C " TOP "lib install O=" LIB "/.. DESTDIR=" TMP "/install prefix=/usr && "
		  "ls " TMP "/install/usr/share/man/man3 | wc -l)\" = \"$(" TOP "lib/man/links | wc -l)\" && "
		  "rm -r " TMP "/install");
}
END_TEST

static const char *const compilers[] = {
	CC "-x c -std=c99 -pedantic",
	CC M32 "-x c -std=c11 -pedantic",
	CC "-x c -std=gnu17 -O0",
	CXX "-x c++ -std=c++11",
	CXX M32 "-x c++ -std=c++17",
};

/* Twice, and used. */
START_TEST(header)
{
	char command[4096];

	snprintf(command, sizeof(command),
		 "printf '#include <vperfctr.h>\\n#include <vperfctr.h>\\n"
		 "int f(struct vperfctr *v, uint64_t *p);\\n"
		 "int f(struct vperfctr *v, uint64_t *p)\\n{\\n"
		 "struct vperfctr_control c; struct vperfctr_ctr t[2]; struct vperfctr_info i;\\n"
		 "vperfctr_control_init(&c, t); vperfctr_control_add(&c, 0, 1);\\n"
		 "vperfctr_control_add_imode(&c, 1, 1, 5); *p = vperfctr_ring_nr(v) + vperfctr_ring_dropped(v) +\\n"
		 "vperfctr_ring_sample(v, 0)->ip;\\n"
		 "return vperfctr_info(&i, 0) | vperfctr_control(v, &c) | vperfctr_read(v, p, p + 1, 4) |\\n"
		 "vperfctr_read_pmc(v, 1, p) | vperfctr_read_tsc(v, p);\\n}\\n' | "
		 "%s -c -o /dev/null - 2>&1", compilers[_i]);
	output_of(command);
}
END_TEST

/*
 * The instructions from a function's first to its first return, which is the
 * way through a read that nothing disturbs: the rest is laid out behind it.
 */
static int instructions(const char *body)
{
	char command[2048];

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

	/* The lower limit: what a read cannot do without. */
	ck_assert_msg(one >= 10 && one <= 16, "one counter: %d instructions", one);
	ck_assert_msg(four >= 34 && four <= 44, "four counters: %d instructions", four);
	ck_assert_msg(tsc >= 9 && tsc <= 16, "tsc: %d instructions", tsc);
#endif
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("lib-build");
	TCase *t = tcase_create("build");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, exported);
	tcase_add_test(t, declared);
	tcase_add_test(t, soname);
	tcase_add_test(t, pkg_config);
	tcase_add_test(t, manual);
	tcase_add_loop_test(t, header, 0, sizeof(compilers) / sizeof(compilers[0]));
	tcase_add_test(t, cost);
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
