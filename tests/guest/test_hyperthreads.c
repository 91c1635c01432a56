// SPDX-License-Identifier: GPL-2.0
/*
 * Events that disturb the hyper-thread sibling, or share a register with it: on two CPUs
 * that are siblings.  Counts must be exact.
 */
#include "narrow.h"
#include "service.h"

struct event {
	u32 code;
	u64 aux;
	unsigned int counted;		/* times that an instruction is counted */
};

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"
#define BOTH		3U

static int fd;
static volatile sig_atomic_t sigills;

static void on_sigill(int sig)
{
	(void)sig;
	sigills++;
}

static void setup(void)
{
	signal(SIGILL, on_sigill);
	set_affinity(0, BOTH);
	fd = open_state(0);
}

static void teardown(void)
{
	write_file(ONLINE, "1");
}

/* Count instructions, and an event. */
static int count_by(const struct event *event, u32 flags,
		    int (*set)(int fd, struct control *control))
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, SEL_USER | event->code);
	control.ctr[1].aux = event->aux;
	control.c.flags = flags;
	return set(fd, &control);
}

static int count_with(const struct event *event, u32 flags)
{
	return count_by(event, flags, set_control);
}

static u64 measure(const struct event *event)
{
	struct reading before, after;
	u64 insns;

	if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after), 1000))
		die("READ failed");
	insns = after.own[1] - before.own[1];
	ck_assert_uint_eq(after.own[2] - before.own[2], insns * event->counted);
	return insns;
}

/* Events of Sandy Bridge's erratum: the model counts none of these. */
static const struct event sandy_bridge[4] = {
	{ .code = 0x81d0 }, { .code = 0x01d1 }, { .code = 0x01d2 }, { .code = 0x01d3 },
};

/* Off-core responses: two hyper-threads share one register. */
static const struct event westmere[4] = {
	{ 0x01b7, 0x0001, 1 }, { 0x01bb, 0xff33, 12 }, { 0x01b7, 0xffff, 16 }, { 0x01bb, 0x8000, 1 },
};

static const struct event harmless[4] = {
	{ .code = 0x81cf }, { .code = 0x01d4 }, { .code = 0xd0c4 }, { .code = 0x01c3 },
};

static const struct event *disturbing;

START_TEST(refused_while_sibling_online)
{
	assert_errno(count_with(&disturbing[_i], VPERFCTR_CONTROL_AFFINITY), EUSERS);
	/* There is no CPU to which the library could narrow the affinity. */
	assert_errno(count_by(&disturbing[_i], VPERFCTR_CONTROL_AFFINITY, set_control_by_library),
		     EUSERS);
	ck_assert_uint_eq(affinity(0), BOTH);
	assert_status(fd, ATTACHED);
	ck_assert(counters_free());
	assert_ok(count_with(&harmless[_i], 0));
	ck_assert_uint_eq(measure(&harmless[_i]), INSNS_BETWEEN(1000));
	assert_errno(count_with(&disturbing[_i], VPERFCTR_CONTROL_AFFINITY), EUSERS);
	ck_assert_uint_eq(measure(&harmless[_i]), INSNS_BETWEEN(1000));
	/* Without AFFINITY the thread is not counted, and READ says so. */
	assert_ok(count_with(&disturbing[_i], 0));
	ck_assert_uint_eq(measure(&disturbing[_i]), 0);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	ck_assert_int_eq(sigills, 0);
}
END_TEST

START_TEST(accepted_while_sibling_offline)
{
	write_file(ONLINE, "0");
	assert_ok(count_with(&disturbing[_i], VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(measure(&disturbing[_i]), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* The sibling goes online: counting ends soon, and SIGILL says so if it was asked for. */
START_TEST(sibling_goes_online)
{
	const u32 flags = _i ? 0 : VPERFCTR_CONTROL_AFFINITY;
	u64 last;

	write_file(ONLINE, "0");
	assert_ok(count_with(&disturbing[0], flags));
	ck_assert_uint_eq(measure(&disturbing[0]), INSNS_BETWEEN(1000));
	write_file(ONLINE, "1");
	ck_assert_eventually(status_of(fd) & FORBIDDEN);
	ck_assert_int_eq(sigills, !_i);
	last = count_of(fd);
	loop(10000);
	ck_assert_uint_eq(count_of(fd), last);
	write_file(ONLINE, "0");
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(measure(&disturbing[0]), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, refused_while_sibling_online, 0, 4);
	tcase_add_loop_test(tc, accepted_while_sibling_offline, 0, 4);
	tcase_add_loop_test(tc, sibling_goes_online, 0, 2);
}

int main(void)
{
	open_device();
	disturbing = cpu_model() == 42 ? sandy_bridge : westmere;
	return run_tests("hyperthreads", add);
}
