// SPDX-License-Identifier: GPL-2.0
/*
 * Events that need a register besides their select (aux in struct vperfctr_ctr).  The
 * model's processors that have them count an instruction once for each bit that is set in
 * the register.
 *
 * "absent": on a processor whose hypervisor does not have the registers.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "service.h"

struct extra {
	u32 event;
	u64 aux[3];		/* different values */
	u64 bad;		/* a bit that would fault */
};

static const struct extra sandy_bridge[] = {
	{ 0x01b7, { 0x1, 0x10003, 0x3f807f8fff }, 0x4000 },
	{ 0x01bb, { 0x2, 0x2000000007, 0x3f807f8fff }, 0x4000000000 },
};

static const struct extra skylake[] = {
	{ 0x01b7, { 0x1, 0x10003, 0x3fffff8fff }, 0x1000 },
	{ 0x01bb, { 0x2, 0x2000000007, 0x3fffff8fff }, 1ULL << 63 },
	{ 0x01c6, { 0x11, 0x400406, 0x7fff17 }, 0x8 },
};

static const struct extra *extras;
static int nr_extras;
static int fd;

static void setup(void)
{
	fd = open_state(0);
}

static unsigned int bits_set(u64 value)
{
	return __builtin_popcountll(value);
}

static void add_aux_event(struct control *control, u32 map, u32 event, u64 aux)
{
	control_add(control, map, SEL_USER | event);
	control->ctr[control->c.nractrs - 1].aux = aux;
}

/* Count instructions in the first counter, and the event in the second. */
static void start_control(struct control *control, u32 event, u64 aux)
{
	control_init(control, 1);
	control_add(control, 2, INSNS_USER);
	add_aux_event(control, 0, event, aux);
}

/* Check that counter i counts each instruction `times[i]` times. */
static void assert_counts(const unsigned int *times, unsigned int nr)
{
	struct reading before, after;
	unsigned int i;

	if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after), 1000))
		die("READ failed");
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(after.own[1 + i] - before.own[1 + i],
				  times[i] * INSNS_BETWEEN(1000));
}

START_TEST(counts_by_bits_of_aux)
{
	const struct extra *e = &extras[_i / 3];
	u64 aux = e->aux[_i % 3];
	struct control control;

	start_control(&control, e->event, aux);
	assert_ok(set_control(fd, &control));
	assert_counts((unsigned int[]) { 1, bits_set(aux) }, 2);

	/* Beside the same value again, and the other registers with other values. */
	add_aux_event(&control, 1, e->event, aux);
	assert_ok(set_control(fd, &control));
	assert_counts((unsigned int[]) { 1, bits_set(aux), bits_set(aux) }, 3);
	e = &extras[(_i / 3 + 1) % nr_extras];
	add_aux_event(&control, 3, e->event, e->aux[1]);
	assert_ok(set_control(fd, &control));
	assert_counts((unsigned int[]) { 1, bits_set(aux), bits_set(aux), bits_set(e->aux[1]) }, 4);
}
END_TEST

/* A refused control changes nothing. */
START_TEST(refused_aux_changes_nothing)
{
	const struct extra *e = &extras[_i];
	struct control good, bad;
	unsigned int i;

	start_control(&good, e->event, e->aux[1]);
	assert_ok(set_control(fd, &good));
	for (i = 0; i < 7; i++) {
		bad = good;
		bad.c.ctr = (uintptr_t)bad.ctr;
		switch (i) {
		case 0:
			bad.ctr[1].aux = 0;
			break;
		case 1:
			bad.ctr[1].aux |= e->bad;
			break;
		case 2:
			bad.ctr[1].aux = e->bad;
			break;
		case 3:		/* another event, without a register */
			bad.ctr[1].evntsel ^= 0x8000;
			break;
		case 4:		/* an event that needs no register */
			bad.ctr[0].aux = e->aux[1];
			break;
		case 5:
			control_add(&bad, FIXED(0), FIXED_USER);
			bad.ctr[2].aux = e->aux[1];
			break;
		case 6:		/* two values for one register */
			add_aux_event(&bad, 1, e->event, e->aux[2]);
			break;
		}
		assert_errno(set_control(fd, &bad), EINVAL);
		assert_counts((unsigned int[]) { 1, bits_set(e->aux[1]) }, 2);
	}
}
END_TEST

/* Threads of one CPU, each with a value of its own, and one without. */
static void *count_yielding(void *arg)
{
	const struct extra *e = &extras[0];
	long n = (long)arg;
	struct control control;
	struct sums sums;
	int own;

	pin(0);
	own = open_state(0);
	control_init(&control, 1);
	control_add(&control, 2, INSNS_USER);
	if (n < 3)
		add_aux_event(&control, 0, e->event, e->aux[n]);
	if (set_control(own, &control))
		die("CONTROL failed");
	loop_yielding(100, 1000 + n);
	read_sums(own, &sums);
	return n < 3 && sums.pmc[1] != bits_set(e->aux[n]) * sums.pmc[0] ? (void *)1 : NULL;
}

START_TEST(threads_with_different_aux)
{
	pthread_t thread[4];
	void *wrong;
	long i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, count_yielding, (void *)i), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], &wrong);
		ck_assert_msg(!wrong, "thread %ld", i);
	}
}
END_TEST

static volatile sig_atomic_t signals;

static void on_overflow(int sig)
{
	(void)sig;
	signals++;
	if (call(fd, VPERFCTR_IRESUME, NULL))
		die("IRESUME failed");
}

/* Each period, in the event's own count, ends with a signal. */
START_TEST(overflows_of_aux_event)
{
	const struct extra *e = &extras[0];
	const u64 period = 4000;
	struct control control;
	struct sums sums;

	signal(SIGUSR1, on_overflow);
	control_init(&control, 0);
	add_aux_event(&control, 0, e->event, e->aux[0]);
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.c.si_signo = SIGUSR1;
	control.ctr[0].ireset = -(s64)period;
	assert_ok(set_control(fd, &control));
	loop(100000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	read_sums(fd, &sums);
	/* 200,000 instructions, and those of the way here and back. */
	ck_assert_uint_ge(sums.pmc[0], 200000);
	ck_assert_uint_lt(sums.pmc[0], 210000);
	ck_assert_int_eq(signals, sums.pmc[0] / period);
}
END_TEST

/* ---- perf ---------------------------------------------------------------- */

static int perf_raw(u64 config, u64 aux, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = config & 0xffff,
		.config1 = aux,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = group < 0,
		.read_format = PERF_FORMAT_GROUP,
	};
	int perf = syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);

	if (perf < 0)
		die("perf_event_open: %s", strerror(errno));
	return perf;
}

static void assert_perf_counts(u32 event, u64 aux)
{
	int leader = perf_raw(INSNS_USER, 0, -1), other = perf_raw(event, aux, leader);
	u64 got[3];

	if (ioctl(leader, PERF_EVENT_IOC_ENABLE, 0))
		die("PERF_EVENT_IOC_ENABLE: %s", strerror(errno));
	loop(1000);
	ck_assert_int_eq(read(leader, got, sizeof(got)), sizeof(got));
	ck_assert_uint_ge(got[1], 2000);
	ck_assert_uint_eq(got[2], bits_set(aux) * got[1]);
	close(other);
	close(leader);
}

/* perf can use the registers before and after, and counts correctly with its own values. */
START_TEST(perf_counts_with_its_aux)
{
	const struct extra *e = &extras[_i];
	struct control control;

	assert_perf_counts(e->event, e->aux[0]);
	start_control(&control, e->event, e->aux[1]);
	assert_ok(set_control(fd, &control));
	assert_counts((unsigned int[]) { 1, bits_set(e->aux[1]) }, 2);
	assert_ok(stop_all(fd));
	assert_perf_counts(e->event, e->aux[0]);
	assert_perf_counts(e->event, e->aux[2]);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, counts_by_bits_of_aux, 0, 3 * nr_extras);
	tcase_add_loop_test(tc, refused_aux_changes_nothing, 0, nr_extras);
	tcase_add_test(tc, threads_with_different_aux);
	tcase_add_test(tc, overflows_of_aux_event);
	tcase_add_loop_test(tc, perf_counts_with_its_aux, 0, nr_extras);
}

/* ---- absent --------------------------------------------------------------- */

START_TEST(registers_are_absent)
{
	const struct extra *e = &extras[_i];
	struct control control;

	assert_ok(count_insns(fd, 0));
	start_control(&control, e->event, e->aux[0]);
	assert_errno(set_control(fd, &control), EINVAL);
	start_control(&control, e->event, 0);
	assert_errno(set_control(fd, &control), EINVAL);
	assert_counts((unsigned int[]) { 1 }, 1);
}
END_TEST

static void add_absent(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, registers_are_absent, 0, nr_extras);
}

int main(int argc, char **argv)
{
	open_device();
	switch (cpu_model()) {
	case 0x2a:
		extras = sandy_bridge;
		nr_extras = 2;
		break;
	case 0x5e:
		extras = skylake;
		nr_extras = 3;
		break;
	default:
		die("this test needs Sandy Bridge or Skylake");
	}
	if (argc > 1 && !strcmp(argv[1], "absent"))
		return run_tests("absent", add_absent);
	return run_tests("aux_register", add);
}
