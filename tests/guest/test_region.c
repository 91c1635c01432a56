// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of regions: they count code of known length exactly, wherever the region is,
 * however the library is linked and the program is compiled.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <vperfctr.h>

#define INSTRUCTIONS_USER	0x4100c0
#define NR			4

/* 2n + 1 instructions; the compiler adds none. */
#define CODE(n)	asm volatile("	mov	%0, %%ecx\n"		\
			     "1:	dec	%%ecx\n"	\
			     "	jnz	1b" : : "i" (n) : "ecx", "cc")

static struct vperfctr_region global;
static unsigned int kind, nr_general;	/* as common.h's KIND and nr_general() */

static struct vperfctr *count_self(unsigned int nr, int tsc_on, uint32_t flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[NR];
	struct vperfctr *v;
	unsigned int i;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | flags), 0);
	vperfctr_control_init(&control, ctr);
	control.tsc_on = tsc_on;
	control.kind = kind;
	for (i = 0; i < nr; i++)
		vperfctr_control_add(&control, i, INSTRUCTIONS_USER);
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	return v;
}

static void end(struct vperfctr *v)
{
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
}

static void check_region(const struct vperfctr_region *r, unsigned int nr, uint64_t passes,
			 uint64_t instructions)
{
	unsigned int i;

	ck_assert_uint_eq(vperfctr_region_passes(r), passes);
	/* A timer interrupt during a read makes the count inexact. */
	if (vperfctr_region_disturbed(r))
		return;
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(vperfctr_region_pmc(r, i), instructions);
}

static void in_pointer(struct vperfctr *v, unsigned int nr, struct vperfctr_region *r)
{
	int i;

	ck_assert_int_eq(vperfctr_region_init(r, v, nr), 0);
	check_region(r, nr, 0, 0);
	vperfctr_region_begin(r);
	vperfctr_region_end(r);
	check_region(r, nr, 1, 0);
	vperfctr_region_begin(r);
	CODE(1);
	ck_assert_int_eq(vperfctr_region_end(r), 0);
	check_region(r, nr, 2, 3);
	for (i = 0; i < 50; i++) {
		vperfctr_region_begin(r);
		CODE(1000);
		vperfctr_region_end(r);
	}
	check_region(r, nr, 52, 3 + 50 * 2001);
}

static void in_stack(struct vperfctr *v, unsigned int nr)
{
	struct vperfctr_region r;
	int i;

	ck_assert_int_eq(vperfctr_region_init(&r, v, nr), 0);
	for (i = 0; i < 50; i++) {
		vperfctr_region_begin(&r);
		CODE(10);
		vperfctr_region_end(&r);
	}
	check_region(&r, nr, 50, 50 * 21);
}

static void in_global(struct vperfctr *v, unsigned int nr)
{
	int i;

	ck_assert_int_eq(vperfctr_region_init(&global, v, nr), 0);
	for (i = 0; i < 50; i++) {
		vperfctr_region_begin(&global);
		CODE(10);
		vperfctr_region_end(&global);
	}
	check_region(&global, nr, 50, 50 * 21);
}

static void everywhere(unsigned int nr, int tsc_on, uint32_t flags)
{
	struct vperfctr *v = count_self(nr, tsc_on, flags);
	struct vperfctr_region *r = malloc(sizeof(*r));

	in_pointer(v, nr, r);
	in_stack(v, nr);
	in_global(v, nr);
	if (tsc_on)
		ck_assert_uint_gt(vperfctr_region_tsc(r), 0);
	else
		ck_assert_uint_eq(vperfctr_region_tsc(r), 0);
	free(r);
	end(v);
}

START_TEST(exact)
{
	everywhere(1 + _i, 1, 0);
	everywhere(1 + _i, 0, 0);
}
END_TEST

/* The kernel reads: the user-mode part of the system calls is always the same. */
START_TEST(without_page)
{
	everywhere(1, 1, VPERFCTR_OPEN_NOMAP);
	everywhere(nr_general, 0, VPERFCTR_OPEN_NOMAP);
}
END_TEST

/* A pause inside a region is not counted; a pause around it is another way to read. */
START_TEST(paused)
{
	struct vperfctr *v = count_self(1, 1, 0);
	int err, i;

	ck_assert_int_eq(vperfctr_region_init(&global, v, 1), 0);
	/* The first call of each function takes longer. */
	for (i = 0; i < 2; i++) {
		vperfctr_region_begin(&global);
		CODE(100);
		err = vperfctr_suspend(v);
		CODE(100000);
		err |= vperfctr_resume(v);
		err |= vperfctr_region_end(&global);
		ck_assert_int_eq(err, 0);
		if (!i)
			ck_assert_int_eq(vperfctr_region_init(&global, v, 1), 0);
	}
	ck_assert_uint_ge(vperfctr_region_pmc(&global, 0), 201);
	ck_assert_uint_lt(vperfctr_region_pmc(&global, 0), 1000);
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	vperfctr_region_begin(&global);
	ck_assert_int_eq(vperfctr_region_end(&global), -EAGAIN);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	end(v);
}
END_TEST

#define EMPTY_PASS do {				\
	vperfctr_region_begin(&inner);		\
	vperfctr_region_end(&inner);		\
} while (0)

/*
 * An empty inner pass adds the same number each time to the region around it.
 * vperfctr_region_init(3) says how much.
 */
START_TEST(nested)
{
	struct vperfctr_region outer, inner;
	struct vperfctr *v = count_self(1, 1, 0);
	uint64_t one;

	ck_assert_int_eq(vperfctr_region_init(&inner, v, 1), 0);
	ck_assert_int_eq(vperfctr_region_init(&outer, v, 1), 0);
	vperfctr_region_begin(&outer);
	EMPTY_PASS;
	ck_assert_int_eq(vperfctr_region_end(&outer), 0);
	one = vperfctr_region_pmc(&outer, 0);
	if (vperfctr_region_disturbed(&outer))
		return;
	ck_assert_uint_ge(one, 150);
	ck_assert_uint_le(one, 250);

	ck_assert_int_eq(vperfctr_region_init(&outer, v, 1), 0);
	vperfctr_region_begin(&outer);
	EMPTY_PASS;
	CODE(1000);
	EMPTY_PASS;
	EMPTY_PASS;
	EMPTY_PASS;
	ck_assert_int_eq(vperfctr_region_end(&outer), 0);
	ck_assert_uint_eq(vperfctr_region_passes(&inner), 5);
	if (!vperfctr_region_disturbed(&outer) && !vperfctr_region_disturbed(&inner))
		ck_assert_uint_eq(vperfctr_region_pmc(&outer, 0) - 4 * one, 2001);
	/* The inner region itself counts nothing. */
	check_region(&inner, 1, 5, 0);
	end(v);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region");
	TCase *tcase = tcase_create("region");
	SRunner *runner = srunner_create(suite);
	struct vperfctr_info info;

	if (getenv("KIND"))
		kind = atoi(getenv("KIND"));
	if (vperfctr_info(&info, kind))
		return EXIT_FAILURE;
	nr_general = __builtin_popcountll(info.pmc_mask);
	if (nr_general > NR)
		nr_general = NR;
	tcase_set_timeout(tcase, 50);
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, exact, 0, nr_general);
	tcase_add_test(tcase, without_page);
	tcase_add_test(tcase, paused);
	tcase_add_test(tcase, nested);
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS;
}
