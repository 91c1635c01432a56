// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of each call: what it asks the kernel for, and each way it can fail. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "internal.h"

static unsigned int fds_at_start;

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void setup(void)
{
	fake_reset();
	fds_at_start = count_fds();
}

/*
 * No descriptor is left open, except that the library keeps one of the device, unless it
 * is root.  (The fake keeps one of the state.)
 */
static void teardown(void)
{
	unsigned int kept = getuid() && fake_device_fd() >= 0;

	if (fake.state_fd >= 0)
		close(fake.state_fd);
	ck_assert_uint_eq(count_fds(), fds_at_start + kept);
}

/* ---- info and CPUs ----------------------------------------------------------- */

START_TEST(info)
{
	struct vperfctr_info i;

	memset(&i, 0xff, sizeof(i));
	ck_assert_int_eq(vperfctr_info(&i, 0), 0);
	ck_assert_uint_eq(i.size, sizeof(i));
	ck_assert_uint_eq(i.nrctrs, 7);
	ck_assert_str_eq(i.cpu_name, "Fake");
	ck_assert_int_eq(vperfctr_info(&i, 1), -EINVAL);
	fake.nrkinds = 2;
	ck_assert_int_eq(vperfctr_info(&i, 1), 0);
	ck_assert_uint_eq(i.kind, 1);
	ck_assert_int_eq(vperfctr_info(&i, 2), -EINVAL);
}
END_TEST

/* The counters of a thread are told by each handle of a state of it. */
START_TEST(info_of)
{
	struct vperfctr_info i;
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake.used_pmcs = 6;
	fake.used_fixed = 1;
	memset(&i, 0xff, sizeof(i));
	ck_assert_int_eq(vperfctr_info_of(&i, v, 0), 0);
	ck_assert_uint_eq(i.size, sizeof(i));
	ck_assert_uint_eq(i.nrctrs, 7);
	ck_assert_str_eq(i.cpu_name, "Fake");
	ck_assert_uint_eq(i.used_pmcs, 6);
	ck_assert_uint_eq(i.used_fixed, 1);
	/* The calling thread has others. */
	ck_assert_int_eq(vperfctr_info(&i, 0), 0);
	ck_assert_uint_eq(i.used_pmcs | i.used_fixed, 0);
	ck_assert_int_eq(vperfctr_info_of(&i, v, 1), -EINVAL);
	fake.nrkinds = 2;
	ck_assert_int_eq(vperfctr_info_of(&i, v, 1), 0);
	ck_assert_uint_eq(i.kind, 1);
	ck_assert_int_eq(vperfctr_info_of_sized(&i, offsetof(struct vperfctr_info, abi_version) - 1, v,
						0), -EINVAL);
	fake.info.abi_version = VPERFCTR_ABI_VERSION + 0x10000;
	ck_assert_int_eq(vperfctr_info_of(&i, v, 0), -EPROTONOSUPPORT);
	ck_assert_uint_eq(i.abi_version, fake.info.abi_version);
	fake.info.abi_version = VPERFCTR_ABI_VERSION;
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_info_of(&i, v, 0), 0);
	ck_assert_uint_eq(i.used_pmcs | i.used_fixed, 0);
	vperfctr_close(v);
	/* CPUs have no thread. */
	ck_assert_int_eq(vperfctr_open_cpus(&v, NULL, 0), 0);
	ck_assert_int_eq(vperfctr_info_of(&i, v, 0), -ENOTTY);
	vperfctr_close(v);
}
END_TEST

/* Errors of open(2) on the device, and the results of the library's calls. */
static const struct {
	int err, result;
} device_errors[] = {
	{ ENOENT, -ENODEV },
	{ ENXIO, -ENODEV },
	{ ENODEV, -ENODEV },
	{ EACCES, -EACCES },
	{ EPERM, -EPERM },
	{ EMFILE, -EMFILE },
	{ ENFILE, -ENFILE },
	{ ENOMEM, -ENOMEM },
};

START_TEST(device_fails)
{
	struct vperfctr *v = (struct vperfctr *)1;
	struct vperfctr_cpu_mask *mask = (struct vperfctr_cpu_mask *)1;
	struct vperfctr_info i;

	fake.fail[FAKE_DEVICE] = device_errors[_i].err;
	ck_assert_int_eq(vperfctr_info(&i, 0), device_errors[_i].result);
	ck_assert_int_eq(vperfctr_cpus(&mask), device_errors[_i].result);
	ck_assert_ptr_null(mask);
	ck_assert_int_eq(vperfctr_cpus_forbidden(&mask), device_errors[_i].result);
	ck_assert_ptr_null(mask);
	ck_assert_int_eq(vperfctr_kind_cpus(&mask, 0), device_errors[_i].result);
	ck_assert_int_eq(vperfctr_open(&v, 0), device_errors[_i].result);
	ck_assert_ptr_null(v);
}
END_TEST

START_TEST(abi)
{
	struct vperfctr_info i;
	struct vperfctr *v;

	/* A later minor number is compatible from 1.0 on; another major number never is. */
	fake.info.abi_version = VPERFCTR_ABI_VERSION + 5;
	if (VPERFCTR_ABI_VERSION >> 16) {
		ck_assert_int_eq(vperfctr_info(&i, 0), 0);
		ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
		ck_assert_int_eq(vperfctr_unlink(v), 0);
		vperfctr_close(v);
	} else {
		ck_assert_int_eq(vperfctr_info(&i, 0), -EPROTONOSUPPORT);
		ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -EPROTONOSUPPORT);
		fake.info.abi_version = VPERFCTR_ABI_VERSION - 1;
		ck_assert_int_eq(vperfctr_info(&i, 0), -EPROTONOSUPPORT);
	}

	fake.info.abi_version = VPERFCTR_ABI_VERSION + 0x10000;
	ck_assert_int_eq(vperfctr_info(&i, 0), -EPROTONOSUPPORT);
	ck_assert_uint_eq(i.abi_version, fake.info.abi_version);
	fake.calls[FAKE_OPEN] = 0;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -EPROTONOSUPPORT);
	fake.info.abi_version = 0;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -EPROTONOSUPPORT);
	ck_assert_uint_eq(fake.calls[FAKE_OPEN], 0);
}
END_TEST

/* The page has another version: the module was replaced after INFO, or the descriptor is older. */
START_TEST(abi_of_page)
{
	struct vperfctr *v;

	fake.page_version = VPERFCTR_ABI_VERSION + 0x10000;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -EPROTONOSUPPORT);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(fake.state_fd, -1);
}
END_TEST

/* The library that runs is the one that this was compiled with. */
START_TEST(versions)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u.%u", vperfctr_version() >> 16,
		 vperfctr_version() >> 8 & 0xff, vperfctr_version() & 0xff);
	ck_assert_str_eq(text, VPERFCTR_VERSION);
	ck_assert_str_eq(vperfctr_version_text(), VPERFCTR_VERSION);
	ck_assert_uint_eq(vperfctr_version(), VPERFCTR_VERSION_NUMBER);
	ck_assert_uint_lt(VPERFCTR_MAKE_VERSION(0, 9, 255), VPERFCTR_MAKE_VERSION(0, 10, 0));
}
END_TEST

START_TEST(nanoseconds)
{
	struct vperfctr_info i = { .tsc_khz = 2100000 };

	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, 0), 0);
	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, 21), 10);
	/* Rounded down. */
	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, 20), 9);
	/* A year, which a plain product cannot hold. */
	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, UINT64_C(31536000) * 2100000000 + 2100),
			  UINT64_C(31536000) * 1000000000 + 1000);
	i.tsc_khz = UINT32_MAX;
	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, UINT64_MAX), UINT64_C(4294967297000000));
	i.tsc_khz = 0;
	ck_assert_uint_eq(vperfctr_tsc_to_ns(&i, 1000), 0);
}
END_TEST

/* Each call's errors have a reason of their own, and others the system's words. */
static const struct {
	int err;
	unsigned int call;
	const char *text;
} reasons[] = {
	{ -ENODEV, VPERFCTR_WHY_OPEN, "sudo modprobe vperfctr" },
	{ -EACCES, VPERFCTR_WHY_OPEN, "may open /dev/vperfctr" },
	{ -EPERM, VPERFCTR_WHY_OPEN, "container" },
	{ -EPROTONOSUPPORT, VPERFCTR_WHY_OPEN, "interface version" },
	{ -EEXIST, VPERFCTR_WHY_OPEN, "has counters already" },
	{ -EAGAIN, VPERFCTR_WHY_OPEN, "max_states_per_user" },
	{ -EMFILE, VPERFCTR_WHY_OPEN, "cannot use /dev/vperfctr: Too many open files" },
	{ -ENODEV, VPERFCTR_WHY_CONTROL, "sudo modprobe vperfctr" },
	{ -EPERM, VPERFCTR_WHY_CONTROL, "kernel mode" },
	{ -EIO, VPERFCTR_WHY_CONTROL, "dmesg" },
	{ -EINVAL, VPERFCTR_WHY_CONTROL, "check raw codes" },
	{ -EADDRINUSE, VPERFCTR_WHY_CONTROL, "has one of these counters: choose other ones" },
	{ -EXFULL, VPERFCTR_WHY_CONTROL, "also counts the thread, and this processor cannot" },
	{ -EMLINK, VPERFCTR_WHY_CONTROL, "as many times as the vperfctr module allows" },
	{ -ENOMEM, VPERFCTR_WHY_CONTROL, "cannot set up the counters: Cannot allocate memory" },
	{ -EPERM, VPERFCTR_WHY_OPEN_CPUS, "CAP_PERFMON" },
	{ -EOPNOTSUPP, VPERFCTR_WHY_OPEN_CPUS, "isolate=0" },
	{ -ENOTTY, VPERFCTR_WHY_OPEN_CPUS, "too old to count CPUs" },
	{ -ENODEV, VPERFCTR_WHY_OPEN_CPUS, "sudo modprobe vperfctr" },
	{ -EPERM, VPERFCTR_WHY_CONTROL_CPUS, "CAP_PERFMON" },
	{ -EOPNOTSUPP, VPERFCTR_WHY_CONTROL_CPUS, "hyper-thread" },
	{ -EUSERS, VPERFCTR_WHY_CONTROL_CPUS, "not all of these CPUs" },
#ifdef __x86_64__
	{ -EACCES, VPERFCTR_WHY_CONTROL_CPUS, "rdpmc is 2" },
#endif
	{ -EIO, VPERFCTR_WHY_CONTROL_CPUS, "dmesg" },
	{ -E2BIG, VPERFCTR_WHY_RING, "too old" },
	{ -EINVAL, VPERFCTR_WHY_RING, "vperfctr_ring_open(3)" },
	{ -EOPNOTSUPP, VPERFCTR_WHY_RING, "unwinder" },
	{ -EAGAIN, VPERFCTR_WHY_RING, "max_ring_kb_per_user" },
	{ -ENOMEM, VPERFCTR_WHY_RING, "cannot make room for samples: Cannot allocate memory" },
	{ -EMFILE, VPERFCTR_WHY_PERF, "perf_event cannot count: Too many open files" },
	{ 0, VPERFCTR_WHY_CONTROL, "no error" },
};

#define NR_REASONS	(sizeof(reasons) / sizeof(reasons[0]))

START_TEST(why)
{
	struct vperfctr_why reason;

	memset(&reason, 'x', sizeof(reason));
	ck_assert_int_eq(vperfctr_why(reasons[_i].err, reasons[_i].call, NULL, &reason),
			 reasons[_i].err);
	ck_assert_msg(strstr(reason.text, reasons[_i].text), "%s", reason.text);
	ck_assert_ptr_null(strchr(reason.text, '\n'));
	ck_assert_int_eq(vperfctr_why(reasons[_i].err, reasons[_i].call, NULL, NULL),
			 reasons[_i].err);
}
END_TEST

/* How much room the members of the one group take; 0: there is no such group. */
static size_t group_room;

int __wrap_getgrgid_r(gid_t gid, struct group *group, char *buf, size_t size,
		      struct group **found);

int __wrap_getgrgid_r(gid_t gid, struct group *group, char *buf, size_t size,
		      struct group **found)
{
	static char name[] = "counters";

	*found = NULL;
	if (!group_room || size < group_room)
		return group_room ? ERANGE : 0;
	memset(buf, 'x', size);
	*group = (struct group){ .gr_name = name, .gr_gid = gid };
	*found = group;
	return 0;
}

/* The device's group is named also if it has many members; else it has its number. */
START_TEST(why_of_access)
{
	const gid_t gid = getegid() ? getegid() : 12345;
	char dir[] = "/tmp/vperfctr-access-XXXXXX", device[64], named[64], numbered[64];
	const struct {
		size_t room;
		const char *text;
	} groups[] = {
		{ 1, named }, { 4097, named }, { 1 << 20, named }, { (1 << 20) + 1, numbered },
		{ 0, numbered },
	};
	struct vperfctr_why reason;
	unsigned int i;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(device, sizeof(device), "%s/vperfctr", dir);
	close(open(device, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(chown(device, (uid_t)-1, gid), 0);
	vperfctr_why_at(-EACCES, VPERFCTR_WHY_OPEN, NULL, device, dir, &reason);
	ck_assert_msg(strstr(reason.text, "only root may open"), "%s", reason.text);
	ck_assert_int_eq(chmod(device, 0660), 0);
	strcpy(named, "the group counters may: 'sudo usermod -aG counters USER'");
	snprintf(numbered, sizeof(numbered), "the group %u may: 'sudo usermod -aG %u USER'",
		 (unsigned int)gid, (unsigned int)gid);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		group_room = groups[i].room;
		vperfctr_why_at(-EACCES, VPERFCTR_WHY_OPEN, NULL, device, dir, &reason);
		ck_assert_msg(strstr(reason.text, groups[i].text), "%u: %s", i, reason.text);
	}
	unlink(device);
	rmdir(dir);
}
END_TEST

/* A reader of the module's file cannot be misled by the names that processes have. */
START_TEST(holders)
{
	char dir[] = "/tmp/vperfctr-holders-XXXXXX", file[64], self[64], buf[128], longest[300] = "";
	struct vperfctr_holders h;
	unsigned int i;
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/vperfctr", dir);
	f = fopen(file, "w");
	fputs("watchdog: none\n"
	      "thread: 41 41 1000 cpus: 7 7 0 x\n"
	      "thread: 41 42 1000 other\n"
	      "cpus: 43 43 0 a b\n", f);
	fclose(f);
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_THREADS, dir), 0);
	ck_assert_uint_eq(h.nr, 1);
	ck_assert_int_eq(h.hidden, 0);
	ck_assert_int_eq(h.holder[0].pid, 41);
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_CPUS, dir), 0);
	vperfctr_describe_holders(buf, sizeof(buf), &h);
	ck_assert_str_eq(buf, "a b (process 43)");
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_PERF, dir), 0);
	vperfctr_describe_holders(buf, sizeof(buf), &h);
	ck_assert_str_eq(buf, "");
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_PERF + 1, dir), -EINVAL);
	/* Processes are counted, and not their threads; the caller's number is that in there. */
	f = fopen(file, "w");
	for (i = 0; i < 1000; i++)
		fprintf(f, "thread: %u %u 0 p\n", 40 + i * 7 % 10, 100 + i);
	fclose(f);
	snprintf(self, sizeof(self), "%s/self", dir);
	ck_assert_int_eq(symlink("44", self), 0);
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_THREADS, dir), 0);
	ck_assert_uint_eq(h.nr, 9);
	buf[0] = 'x';
	vperfctr_describe_holders(buf, 0, &h);
	ck_assert_int_eq(buf[0], 'x');
	memset(longest, '/', sizeof(longest) - 1);
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_PERF, longest), -ENAMETOOLONG);
	unlink(self);
	unlink(file);
	/* A file that is missing names none, and says that there may be some. */
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_CPUS, dir), 0);
	ck_assert_uint_eq(h.nr, 0);
	ck_assert_int_ne(h.hidden, 0);
	ck_assert_int_eq(vperfctr_find_holders(&h, VPERFCTR_HOLDERS_THREADS, dir), 0);
	ck_assert_int_ne(h.hidden, 0);
	rmdir(dir);
}
END_TEST

/* Calls for handles of perf_event by one of the module. */
START_TEST(not_of_perf)
{
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	struct vperfctr_perf_groups groups;
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_perf_descriptors(v, &groups), -ENOTTY);
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 0, &soft), -ENOTTY);
	vperfctr_close(v);
}
END_TEST

/* The counters of others are told with the errors that other counters avoid. */
START_TEST(attach_beside)
{
	struct vperfctr_attached attached, clean = { .nrthreads = 0 };
	struct vperfctr_ctr ctr[2] = { { .map = 0 } };
	struct vperfctr_control control;
	struct vperfctr *v;

	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 1, 0x4100c0);
	fake.used_pmcs = 2;
	fake.used_fixed = 4;
	ck_assert_int_eq(vperfctr_attach_beside(&v, 0, &control, NULL, &attached, 0), -EADDRINUSE);
	ck_assert_ptr_null(v);
	ck_assert_uint_eq(attached.used_pmcs, 2);
	ck_assert_uint_eq(attached.used_fixed, 4);
	ck_assert_uint_eq(attached.nrthreads | attached.nrskipped, 0);
	fake.fail[FAKE_ATTACH] = EBUSY;
	ck_assert_int_eq(vperfctr_attach_beside(&v, 0, &control, NULL, &attached, 0), -EBUSY);
	ck_assert_int_eq(memcmp(&attached, &clean, sizeof(clean)), 0);
	ck_assert_int_eq(vperfctr_attach_beside_sized(&v, 0, &control, NULL, 0, &attached,
						      sizeof(attached) - 1, 0), -EINVAL);
	ck_assert_ptr_null(v);
	ck_assert_uint_eq(fake.calls[FAKE_ATTACH], 2);
}
END_TEST

/* Whether a control uses a second register is seen in the tables of all kinds. */
START_TEST(why_of_control)
{
	struct vperfctr_ctr ctr[2] = { { .map = 0 } };
	struct vperfctr_control control;
	struct vperfctr_why reason;

	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, 0x4100c0);
	vperfctr_control_add_kind(&control, ctr);
	ck_assert_uint_eq(control.nrkinds, 2);
	vperfctr_why(-EINVAL, VPERFCTR_WHY_CONTROL, &control, &reason);
	ck_assert_ptr_null(strstr(reason.text, "second register"));
	ctr[1].aux = 1;
	vperfctr_why(-EINVAL, VPERFCTR_WHY_CONTROL, &control, &reason);
	ck_assert_ptr_nonnull(strstr(reason.text, "second register"));
	/* A counter that could not be added is not the processor's fault. */
	ck_assert_int_eq(vperfctr_control_add(&control, 0, 0x4100c0), -EINVAL);
	vperfctr_why(-EINVAL, VPERFCTR_WHY_CONTROL, &control, &reason);
	ck_assert_ptr_nonnull(strstr(reason.text, "vperfctr_control_add()"));
}
END_TEST

START_TEST(cpus)
{
	struct vperfctr_cpu_mask *mask;

	ck_assert_int_eq(vperfctr_cpus(&mask), 0);
	ck_assert_uint_eq(mask->nrwords, 3);
	ck_assert_uint_eq(mask->mask[0], 0xf);
	ck_assert_uint_eq(mask->mask[2], 1);
	free(mask);
	ck_assert_int_eq(vperfctr_cpus_forbidden(&mask), 0);
	ck_assert_uint_eq(mask->nrwords, 3);
	ck_assert_uint_eq(mask->mask[0], 0xfffffff0);
	free(mask);
	ck_assert_int_eq(vperfctr_kind_cpus(&mask, 0), 0);
	ck_assert_uint_eq(mask->nrwords, 3);
	ck_assert_uint_eq(mask->mask[0], 0xf);
	ck_assert_uint_eq(mask->mask[2], 1);
	free(mask);
	fake.nrkinds = 2;
	ck_assert_int_eq(vperfctr_kind_cpus(&mask, 1), 0);
	ck_assert_uint_eq(mask->nrwords, 3);
	ck_assert_uint_eq(mask->mask[0], 0xa);
	ck_assert_uint_eq(mask->mask[2], 0);
	free(mask);
	ck_assert_int_eq(vperfctr_kind_cpus(&mask, 2), -EINVAL);
	ck_assert_ptr_null(mask);
	ck_assert_int_eq(vperfctr_kind_cpus(&mask, VPERFCTR_ANY_KIND), 0);
	ck_assert_uint_eq(mask->mask[0], 0xf);
	free(mask);
	/* A mask without words is valid. */
	fake.nrwords = 0;
	ck_assert_int_eq(vperfctr_cpus_forbidden(&mask), 0);
	ck_assert_uint_eq(mask->nrwords, 0);
	free(mask);
	/* A kernel that always returns EOVERFLOW causes an error, not an endless loop. */
	fake.fail[FAKE_CPUS] = EOVERFLOW;
	ck_assert_int_eq(vperfctr_cpus(&mask), -EOVERFLOW);
	fake.fail[FAKE_CPUS] = EFAULT;
	ck_assert_int_eq(vperfctr_cpus(&mask), -EFAULT);
	ck_assert_ptr_null(mask);
}
END_TEST

/* ---- handles ------------------------------------------------------------------ */

START_TEST(open_and_create)
{
	struct vperfctr *v, *again;

	ck_assert_int_eq(vperfctr_open(&v, 0), -ENOENT);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_open(&again, VPERFCTR_OPEN_CREAT), -EEXIST);
	/* The failed call has not unlinked the state. */
	ck_assert_uint_eq(fake.calls[FAKE_UNLINK], 0);
	ck_assert_int_eq(vperfctr_open(&again, 0), 0);
	ck_assert_int_ne(vperfctr_fd(v), vperfctr_fd(again));
	vperfctr_close(v);
	vperfctr_close(again);
	vperfctr_close(NULL);
	ck_assert_uint_eq(fake.calls[FAKE_UNLINK], 0);
}
END_TEST

static void open_and_close(void)
{
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
	close(fake.state_fd);
	fake.state_fd = -1;
}

/* The device is opened once, unless the process has privileges that it could drop. */
/* The device of a program with privileges is not kept. */
static void drop_privileges(void)
{
	if (getuid())
		return;
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	/* or /proc/self/fd is root's, where the fake looks */
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

START_TEST(device_kept)
{
	int fd, other;

	if (!getuid()) {
		open_and_close();
		open_and_close();
		ck_assert_uint_eq(fake.calls[FAKE_DEVICE], 2);
		ck_assert_int_eq(fake_device_fd(), -1);
	}
	drop_privileges();
	fake.calls[FAKE_DEVICE] = fake.calls[FAKE_INFO] = 0;
	open_and_close();
	open_and_close();
	ck_assert_uint_eq(fake.calls[FAKE_DEVICE], 1);
	ck_assert_uint_eq(fake.calls[FAKE_INFO], 1);
	fd = fake_device_fd();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);

	/* A program may close all its descriptors, and use the number for something else. */
	other = memfd_create("other", 0);
	ck_assert_int_eq(dup2(other, fd), fd);
	open_and_close();
	ck_assert_uint_eq(fake.calls[FAKE_DEVICE], 2);
	ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
	close(fd);
	close(other);
	open_and_close();
	ck_assert_uint_eq(fake.calls[FAKE_DEVICE], 3);
}
END_TEST

/* A file that has got the number answers without an error: 0 is no state, and is not closed. */
START_TEST(stranger_answers)
{
	const unsigned int flags = VPERFCTR_OPEN_CREAT | (_i ? VPERFCTR_OPEN_NOMAP : 0);
	struct stat before, after;
	struct vperfctr *v;
	int fd, stranger;

	drop_privileges();
	open_and_close();
	fd = fake_device_fd();
	ck_assert_int_ge(fd, 0);
	stranger = memfd_create(FAKE_STRANGER, 0);
	ck_assert_int_eq(dup2(stranger, fd), fd);
	ck_assert_int_eq(fstat(STDIN_FILENO, &before), 0);
	ck_assert_int_eq(vperfctr_open(&v, flags), 0);
	ck_assert_int_gt(vperfctr_fd(v), STDERR_FILENO);
	vperfctr_unlink(v);
	vperfctr_close(v);
	ck_assert_int_eq(fstat(STDIN_FILENO, &after), 0);
	ck_assert(before.st_dev == after.st_dev && before.st_ino == after.st_ino);
	close(fd);
	close(stranger);
}
END_TEST

START_TEST(open_flags)
{
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, 0x40), -EINVAL);
	/* Lifetime flags are valid only with CREAT. */
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_TRANSIENT), -EINVAL);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
					   VPERFCTR_OPEN_KEEP), -EINVAL);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(fcntl(vperfctr_fd(v), F_GETFD), FD_CLOEXEC);
	ck_assert_uint_eq(fake.calls[FAKE_MMAP], 1);
	vperfctr_close(v);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_NOCLOEXEC), 0);
	ck_assert_int_eq(fcntl(vperfctr_fd(v), F_GETFD), 0);
	vperfctr_close(v);
	fake.calls[FAKE_MMAP] = 0;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_NOMAP), 0);
	ck_assert_uint_eq(fake.calls[FAKE_MMAP], 0);
	vperfctr_close(v);
}
END_TEST

START_TEST(open_fails)
{
	static const int errors[] = { ESRCH, EPERM, ENOMEM, EMFILE, ENFILE, EAGAIN };
	struct vperfctr *v;

	fake.fail[FAKE_OPEN] = errors[_i];
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -errors[_i]);
	ck_assert_ptr_null(v);
	fake.fail[FAKE_OPEN] = 0;
	fake.fail[FAKE_INFO] = errors[_i];
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -errors[_i]);
	ck_assert_int_eq(fake.state_fd, -1);
}
END_TEST

/* If mapping fails, a new state is unlinked; an existing one is not. */
START_TEST(mapping_fails)
{
	struct vperfctr *v;

	fake.fail[FAKE_MMAP] = ENOMEM;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), -ENOMEM);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(fake.state_fd, -1);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOMAP), 0);
	vperfctr_close(v);
	ck_assert_int_eq(vperfctr_open(&v, 0), -ENOMEM);
	ck_assert_int_ge(fake.state_fd, 0);
}
END_TEST

START_TEST(open_fd)
{
	struct vperfctr *v, *w;
	int null = open("/dev/null", O_RDONLY), fd;

	ck_assert_int_eq(vperfctr_open_fd(&w, -1, 0), -EBADF);
	ck_assert_ptr_null(w);
	ck_assert_int_eq(vperfctr_open_fd(&w, null, 0), -ENOTTY);
	/* The failed call has not closed it. */
	ck_assert_int_eq(close(null), 0);

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake_run(4, true);
	fd = dup(vperfctr_fd(v));
	ck_assert_int_eq(vperfctr_open_fd(&w, fd, 2), -EINVAL);
	fake.fail[FAKE_MMAP] = ENOMEM;
	ck_assert_int_eq(vperfctr_open_fd(&w, fd, VPERFCTR_FD_MAP), -ENOMEM);
	ck_assert_ptr_null(w);
	fake.fail[FAKE_MMAP] = 0;
	fake.foreign = true;
	ck_assert_int_eq(vperfctr_open_fd(&w, fd, VPERFCTR_FD_MAP), -EPERM);
	fake.foreign = false;
	ck_assert_int_eq(vperfctr_open_fd(&w, fd, VPERFCTR_FD_MAP), 0);
	ck_assert_int_eq(vperfctr_fd(w), fd);
	vperfctr_close(w);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	vperfctr_close(v);
}
END_TEST

/* A state and its control in one call: both, or neither. */
START_TEST(open_with_control)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];
	struct vperfctr *v;

	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, 0x4100c0);
	fake.fail[FAKE_CONTROL] = EBUSY;
	ck_assert_int_eq(vperfctr_open_control(&v, &control, VPERFCTR_OPEN_TRANSIENT), -EBUSY);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(fake.state_fd, -1);
	fake.fail[FAKE_CONTROL] = 0;
	ck_assert_int_eq(vperfctr_open_control(&v, &control, VPERFCTR_OPEN_TRANSIENT), 0);
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	ck_assert_uint_eq(fake_seen->controls, 1);
	ck_assert_uint_eq(fake_seen->ctr[0].evntsel, 0x4100c0);
	vperfctr_close(v);
}
END_TEST

/* The control that is set again is the state's, but starts at once and preserves nothing. */
START_TEST(reset)
{
	struct vperfctr_ctr ctr[4], more[2];
	struct vperfctr_control control;
	struct vperfctr *v;
	uint64_t value;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_reset(v), -EINVAL);
	fake.nrkinds = 2;
	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, FAKE_MAP_BASE, 0x4100c0);
	vperfctr_control_add(&control, FAKE_MAP_BASE + 1, 0x4101c7);
	memset(more, 0, sizeof(more));
	more[0].map = FAKE_MAP_BASE;
	more[0].evntsel = 0x4102c0;
	more[1].map = FAKE_MAP_BASE + 1;
	more[1].evntsel = 0x4103c7;
	more[1].aux = 5;
	vperfctr_control_add_kind(&control, more);
	vperfctr_control_add_soft(&control, VPERFCTR_SOFT_MIGRATIONS);
	control.preserve = 1;
	control.flags = VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	memset(fake_seen->ctr, 0, sizeof(fake_seen->ctr));

	/* It has started. */
	ck_assert_int_eq(vperfctr_read_pmc(v, 1, &value), 0);
	ck_assert_uint_eq(value, 1000001);
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_uint_eq(fake_seen->control_flags, VPERFCTR_CONTROL_INHERIT);
	ck_assert_uint_eq(fake_seen->control.preserve, 0);
	ck_assert_uint_eq(fake_seen->control.soft, VPERFCTR_SOFT_MIGRATIONS);
	ck_assert_uint_eq(fake_seen->control.tsc_on, 1);
	ck_assert_uint_eq(fake_seen->control.kind, VPERFCTR_ANY_KIND);
	ck_assert_mem_eq(fake_seen->ctr, ctr, sizeof(ctr));
	ck_assert_int_eq(vperfctr_read_pmc(v, 1, &value), 0);
	ck_assert_uint_eq(value, 0);

	/* It has not. */
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	fake.status = VPERFCTR_STATUS_ARMED;
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_uint_eq(fake_seen->control_flags, control.flags);
	fake.status = 0;

	fake.fail[FAKE_READ] = ENOMEM;
	ck_assert_int_eq(vperfctr_reset(v), -ENOMEM);
	fake.fail[FAKE_READ] = 0;
	fake.fail[FAKE_CONTROL] = EBUSY;
	ck_assert_int_eq(vperfctr_reset(v), -EBUSY);
	fake.fail[FAKE_CONTROL] = 0;
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_reset(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

/* A table for each kind follows the first, and has its periods. */
START_TEST(control_for_any_kind)
{
	struct vperfctr_ctr ctr[9], more[3];
	struct vperfctr_control control;

	memset(ctr, 0xff, sizeof(ctr));
	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, 0x4100c0);
	vperfctr_control_add(&control, 1, 0x4100c1);
	vperfctr_control_add_imode(&control, 2, 0x4100c2, 1000);
	memset(more, 0, sizeof(more));
	more[0].map = VPERFCTR_FIXED;
	more[1].evntsel = 0x4101b7;
	more[1].aux = 5;
	more[2].ireset = -7;
	vperfctr_control_add_kind(&control, more);
	ck_assert_uint_eq(control.kind, VPERFCTR_ANY_KIND);
	ck_assert_uint_eq(control.nrkinds, 2);
	/* The caller may have put the table where it belongs. */
	memcpy(&ctr[6], more, sizeof(more));
	vperfctr_control_add_kind(&control, &ctr[6]);
	ck_assert_uint_eq(control.nrkinds, 3);
	ck_assert_uint_eq(control.nractrs, 2);
	ck_assert_uint_eq(control.nrictrs, 1);
	more[2].ireset = -1000;
	ck_assert_mem_eq(&ctr[3], more, sizeof(more));
	ck_assert_mem_eq(&ctr[6], more, sizeof(more));
	ck_assert_uint_eq(ctr[1].evntsel, 0x4100c1);
}
END_TEST

/* On request, the library narrows the affinity, whatever happens to it meanwhile. */
START_TEST(control_narrows_affinity)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	fake.nrkinds = 2;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, 0x4100c0);
	ctr[1] = ctr[0];
	control.kind = 1;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0xf);
	control.flags = VPERFCTR_CONTROL_AFFINITY;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0xa);
	/* It never grows. */
	control.kind = 0;
	ck_assert_int_eq(vperfctr_control(v, &control), -EINVAL);
	ck_assert_uint_eq(fake.affinity, 0xa);
	/* Something rewrites the cpuset, a few times and for ever. */
	fake.affinity = 0xf;
	fake.rewrites = 4;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0x5);
	fake.affinity = 0xf;
	fake.rewrites = 1000;
	ck_assert_int_eq(vperfctr_control(v, &control), -EUSERS);
	fake.rewrites = 0;
	/* Hyper-thread siblings. */
	fake.affinity = 0xf;
	fake.siblings = 0x3;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0x4);
	fake.affinity = 0xf;
	fake.siblings = 0x5;
	ck_assert_int_eq(vperfctr_control(v, &control), -EUSERS);
	ck_assert_uint_eq(fake.affinity, 0xf);
	fake.siblings = 0;
	/* All kinds that the control has tables for. */
	fake.affinity = 0xf;
	control.kind = VPERFCTR_ANY_KIND;
	control.nrkinds = 2;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0xf);
	fake.foreign_cpus = 0x8;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0x7);
	control.nrkinds = 1;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(fake.affinity, 0x5);
	control.kind = control.nrkinds = 0;
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
	/* The same with the state that is made. */
	ck_assert_int_eq(vperfctr_open_control(&v, &control, 0), 0);
	ck_assert_uint_eq(fake.affinity, 0x5);
	vperfctr_close(v);
}
END_TEST

/* Start a child that only waits, stopped under this process's ptrace if `stopped`. */
static pid_t start_child(bool stopped)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	if (stopped) {
		ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
		ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
		ck_assert_int_eq(waitpid(pid, NULL, __WALL), pid);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

START_TEST(open_tid)
{
	pid_t stopped = start_child(true), running = start_child(false);
	struct vperfctr_control c;
	struct vperfctr_ctr ctr[1];
	struct vperfctr *v;
	uint64_t value;

	ck_assert_int_eq(vperfctr_open_tid(&v, running, VPERFCTR_OPEN_CREAT), -EPERM);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(vperfctr_open_tid(&v, stopped, 0), -ENOENT);
	ck_assert_int_eq(vperfctr_open_tid(&v, 0x7fffffff, VPERFCTR_OPEN_CREAT), -ESRCH);
	ck_assert_int_eq(vperfctr_open_tid(&v, stopped, VPERFCTR_OPEN_CREAT), 0);
	/* Only on request does the state outlive the monitor. */
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
	ck_assert_int_eq(vperfctr_open_tid(&v, stopped, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_KEEP),
			 0);
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_KEEP);
	/* The page is not mapped: only the owner can use it. */
	ck_assert_uint_eq(fake.calls[FAKE_MMAP], 0);
	vperfctr_control_init(&c, ctr);
	vperfctr_control_add(&c, FAKE_MAP_BASE, 0x4100c0);
	c.flags = VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_AFFINITY;
	ck_assert_int_eq(vperfctr_control(v, &c), 0);
	ck_assert_uint_eq(fake_seen->control_flags, c.flags);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, stopped, 0, 0), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 1000);
	ck_assert_int_eq(vperfctr_unlink(v), -EPERM);
	vperfctr_close(v);
	end_child(stopped);
	end_child(running);
}
END_TEST

/* READ returns the children's sums and the status. */
START_TEST(read_children)
{
	uint64_t sums[5], children[5];
	struct vperfctr_read r = {
		.nrctrs = 4, .sums = (uintptr_t)sums, .children = (uintptr_t)children,
	};
	struct vperfctr_control c;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	vperfctr_control_init(&c, ctr);
	vperfctr_control_add(&c, FAKE_MAP_BASE, 0x4100c0);
	vperfctr_control_add(&c, FAKE_MAP_BASE + 1, 0x4100c4);
	c.flags = VPERFCTR_CONTROL_INHERIT;
	fake.children = 500;
	fake.children_missed = 3;
	fake.status = VPERFCTR_STATUS_CHILDREN;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT), 0);
	ck_assert_int_eq(vperfctr_control(v, &c), 0);
	ck_assert_int_eq(vperfctr_read_state(v, &r), 0);
	ck_assert_uint_eq(r.nrctrs, 2);
	ck_assert_uint_eq(r.children_missed, 3);
	ck_assert_uint_eq(r.status, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE |
				    VPERFCTR_STATUS_CHILDREN);
	ck_assert_uint_eq(children[0], 500);
	ck_assert_uint_eq(children[2], 501);
	vperfctr_close(v);
}
END_TEST

/* Map something else at this address: anonymous memory, or a file named like a state. */
static void *map_other(void *at, bool file)
{
	int fd = file ? memfd_create("anon_inode:[vperfctr]", 0) : -1;

	if (file && ftruncate(fd, 4096))
		return MAP_FAILED;
	return mmap(at, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED | (file ? 0 : MAP_ANONYMOUS), fd, 0);
}

/*
 * In a child, close does not unmap something else that is mapped at the page's address, also if the
 * child has the process ID of its parent (2 and 3).
 */
START_TEST(close_after_fork)
{
	struct vperfctr *v;
	void *page;
	int status;
	pid_t pid;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	page = (void *)v->page;
	pid = fork();
	if (!pid) {
		if (map_other(page, _i % 2) != page)
			_exit(2);
		if (_i >= 2)
			to_handle(v)->mapper.pid = getpid();
		vperfctr_close(v);
		*(volatile char *)page = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	vperfctr_close(v);
	/* The parent's page has been unmapped. */
	ck_assert_int_eq(msync(page, 4096, MS_ASYNC), -1);
}
END_TEST

/* Map the page that the kernel shows to the child of a fork: zeros except for the version. */
static void map_dead_page(const void *at)
{
	struct vperfctr_page *page = mmap((void *)at, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	page->version = VPERFCTR_ABI_VERSION;
}

/* In the child.  Returns 0, or the number of the call with a wrong result. */
static int read_in_child(struct vperfctr *v, int expected)
{
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	struct vperfctr_region region;
	uint64_t value = 42, tsc = 43, pmc[4];

	map_dead_page(v->page);
	if (vperfctr_read_pmc(v, 0, &value) != expected)
		return 1;
	if (vperfctr_read_tsc(v, &tsc) != expected)
		return 2;
	if (vperfctr_read(v, NULL, pmc, 4) != expected || vperfctr_read(v, &tsc, pmc, 4) != expected ||
	    vperfctr_read(v, &tsc, NULL, 0) != expected)
		return 3;
	if (vperfctr_region_init(&region, v, 4) != expected)
		return 4;
	if (expected && (value != 42 || tsc != 43))
		return 5;
	/* The kernel reads the parent's sums for any holder of the descriptor. */
	return vperfctr_read_state(v, &read) ? 6 : 0;
}

/*
 * A child cannot read by its parent's handle (0) until the parent's state has ended (1), also if
 * it has the process ID that its parent had (2).
 */
START_TEST(read_after_fork)
{
	struct vperfctr *v;
	int status;
	pid_t pid;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake_run(4, true);
	fake_count(1000);
	if (_i == 1) {
		fake_switch_to(0, 0);
		ck_assert_int_eq(vperfctr_unlink(v), 0);
	}
	pid = fork();
	if (!pid) {
		if (_i == 2)
			to_handle(v)->mapper.pid = getpid();
		_exit(read_in_child(v, _i == 1 ? 0 : -EPERM));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	vperfctr_close(v);
}
END_TEST

/* A child that closes its parent's handle does not keep the state's file open. */
START_TEST(close_inherited)
{
	struct vperfctr *v;
	int status;
	pid_t pid;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	pid = fork();
	if (!pid) {
		void *page = (void *)v->page;

		vperfctr_close(v);
		_exit(msync(page, 4096, MS_ASYNC) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	vperfctr_close(v);
}
END_TEST

/* ---- control -------------------------------------------------------------------- */

START_TEST(control)
{
	struct vperfctr_control c;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	memset(&c, 0xff, sizeof(c));
	memset(ctr, 0xff, sizeof(ctr));
	vperfctr_control_init(&c, ctr);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), 0);
	ck_assert_int_eq(vperfctr_control_add(&c, VPERFCTR_FIXED, 2), 1);
	ck_assert_uint_eq(c.nractrs, 2);
	ck_assert_uint_eq(c.tsc_on, 1);
	ck_assert_uint_eq(c.flags | c.nrictrs | c.preserve | c.global[0] | c.global[1], 0);
	ck_assert_uint_eq(ctr[0].map, 5);
	ck_assert_uint_eq(ctr[0].evntsel, 0x4100c0);
	ck_assert_uint_eq(ctr[1].map, VPERFCTR_FIXED);
	ck_assert_uint_eq(ctr[1].reserved | ctr[1].aux | ctr[1].ireset, 0);

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_control(v, &c), 0);
	ck_assert_uint_eq(fake_page()->ctr[1].map, VPERFCTR_FIXED);
	vperfctr_close(v);
}
END_TEST

/* The sums remain readable after a stop. */
START_TEST(stop)
{
	struct vperfctr *v;
	uint64_t value;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake_run(4, true);
	fake_switch(9);
	fake_page()->ctr[3].sum = 1234;
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 3, &value), 0);
	ck_assert_uint_eq(value, 1234);
	fake.fail[FAKE_CONTROL] = ESRCH;
	ck_assert_int_eq(vperfctr_stop(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

/* Each call makes its ioctl once, without an argument, and returns each error. */
START_TEST(simple_calls)
{
	static const struct {
		int (*fn)(struct vperfctr *v);
		enum fake_call call;
	} calls[] = {
		{ vperfctr_suspend, FAKE_SUSPEND },
		{ vperfctr_resume, FAKE_RESUME },
		{ vperfctr_unlink, FAKE_UNLINK },
		{ vperfctr_iresume, FAKE_IRESUME },
	};
	static const int errors[] = { ESRCH, EPERM, EINVAL };
	unsigned int before[FAKE_NRCALLS];
	struct vperfctr *v;
	unsigned int i;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	for (i = 0; i < 3; i++) {
		fake.fail[calls[_i].call] = errors[i];
		ck_assert_int_eq(calls[_i].fn(v), -errors[i]);
	}
	fake.fail[calls[_i].call] = 0;
	fake.overflow = 1;
	memcpy(before, fake.calls, sizeof(before));
	ck_assert_int_eq(calls[_i].fn(v), 0);
	before[calls[_i].call]++;
	ck_assert_mem_eq(fake.calls, before, sizeof(before));
	vperfctr_close(v);
}
END_TEST

START_TEST(control_fails)
{
	static const int errors[] = {
		EINVAL, E2BIG, EOPNOTSUPP, EPERM, EBUSY, EFAULT, ENOMEM, ESRCH
	};
	struct vperfctr_control c;
	struct vperfctr *v;

	vperfctr_control_init(&c, NULL);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake.fail[FAKE_CONTROL] = errors[_i];
	ck_assert_int_eq(vperfctr_control(v, &c), -errors[_i]);
	vperfctr_close(v);
}
END_TEST

START_TEST(read_state)
{
	uint64_t sums[5];
	struct vperfctr_read r = { .nrctrs = 3, .sums = (uintptr_t)sums };
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake_run(4, true);
	fake_count(11);
	ck_assert_int_eq(vperfctr_read_state(v, &r), -EOVERFLOW);
	ck_assert_uint_eq(r.nrctrs, 4);
	ck_assert_int_eq(vperfctr_read_state(v, &r), 0);
	ck_assert_uint_eq(r.status & VPERFCTR_STATUS_ATTACHED, VPERFCTR_STATUS_ATTACHED);
	ck_assert_uint_eq(sums[0], fake.tsc_counted);
	ck_assert_uint_eq(sums[4], fake.counted[3]);
	r.flags = 0x80000000;
	ck_assert_int_eq(vperfctr_read_state(v, &r), -EINVAL);
	vperfctr_close(v);
}
END_TEST

/* ---- i-mode ------------------------------------------------------------------------ */

/* An a-mode counter does not replace an i-mode one, nor is the array overrun. */
START_TEST(control_cannot_add)
{
	struct vperfctr_ctr room[VPERFCTR_MAX_CTRS + 1];
	struct vperfctr_control c;
	struct vperfctr *v;
	int i;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	memset(room, 0x55, sizeof(room));
	vperfctr_control_init(&c, room);
	ck_assert_int_eq(vperfctr_control_add_imode(&c, 1, 0x4100c4, 100), 0);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), -EINVAL);
	ck_assert_uint_eq(room[0].map, 1);
	ck_assert_uint_eq(c.nractrs, 0);
	ck_assert_int_eq(vperfctr_control(v, &c), -EINVAL);

	vperfctr_control_init(&c, room);
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		ck_assert_int_eq(vperfctr_control_add_ctr(&c, &room[0]), i);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), -ENOSPC);
	ck_assert_int_eq(vperfctr_control_add_ctr(&c, &room[0]), -ENOSPC);
	ck_assert_int_eq(vperfctr_control_add_ctr_imode(&c, &room[0], 5), -ENOSPC);
	ck_assert_uint_eq(room[VPERFCTR_MAX_CTRS].map, 0x55555555);
	ck_assert_int_eq(vperfctr_control(v, &c), -EINVAL);

	vperfctr_control_init(&c, room);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), 0);
	vperfctr_control_add_kind(&c, room);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), -EINVAL);
	ck_assert_int_eq(vperfctr_control_add_imode(&c, 1, 0x4100c4, 100), -EINVAL);
	ck_assert_uint_eq(c.nractrs + c.nrictrs, 1);
	vperfctr_close(v);
}
END_TEST

START_TEST(control_imode)
{
	struct vperfctr_control c;
	struct vperfctr_ctr ctr[5];
	struct vperfctr *v;

	memset(ctr, 0xff, sizeof(ctr));
	vperfctr_control_init(&c, ctr);
	ck_assert_int_eq(vperfctr_control_add(&c, 5, 0x4100c0), 0);
	ck_assert_int_eq(vperfctr_control_add_imode(&c, 1, 0x4100c4, 100), 1);
	ck_assert_int_eq(vperfctr_control_add_imode(&c, VPERFCTR_FIXED, 2, UINT64_C(1) << 40), 2);
	/* An invalid period does not become a valid one. */
	ck_assert_int_eq(vperfctr_control_add_imode(&c, 2, 0x4100c4, 0), 3);
	ck_assert_int_eq(vperfctr_control_add_imode(&c, 3, 0x4100c4, UINT64_MAX), 4);
	ck_assert_uint_eq(c.nractrs, 1);
	ck_assert_uint_eq(c.nrictrs, 4);
	ck_assert_int_eq(ctr[0].ireset, 0);
	ck_assert_uint_eq(ctr[1].map, 1);
	ck_assert_uint_eq(ctr[1].evntsel, 0x4100c4);
	ck_assert_uint_eq(ctr[1].reserved | ctr[1].aux, 0);
	ck_assert_int_eq(ctr[1].ireset, -100);
	ck_assert_int_eq(ctr[2].ireset, -(INT64_C(1) << 40));
	ck_assert_int_eq(ctr[3].ireset, 0);
	ck_assert_int_eq(ctr[4].ireset, INT64_MIN);

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_control(v, &c), 0);
	ck_assert_int_eq(fake_seen->ctr[1].ireset, -100);
	vperfctr_close(v);
}
END_TEST

/* All of a counter that another call has filled in, its second register included. */
START_TEST(control_add_ctr)
{
	const struct vperfctr_ctr offcore = {
		.map = 2, .evntsel = 0x4101b7, .aux = 0x10001, .ireset = 77,
	};
	struct vperfctr_ctr ctr[3];
	struct vperfctr_control c;

	memset(ctr, 0xff, sizeof(ctr));
	/* In place: the first two elements are filled in already. */
	ctr[0] = offcore;
	ctr[1] = (struct vperfctr_ctr){ .map = VPERFCTR_FIXED, .evntsel = 2 };
	vperfctr_control_init(&c, ctr);
	ck_assert_int_eq(vperfctr_control_add_ctr(&c, &ctr[0]), 0);
	ck_assert_int_eq(vperfctr_control_add_ctr(&c, &ctr[1]), 1);
	ck_assert_int_eq(vperfctr_control_add_ctr_imode(&c, &offcore, 100), 2);
	ck_assert_uint_eq(c.nractrs, 2);
	ck_assert_uint_eq(c.nrictrs, 1);
	ck_assert_uint_eq(ctr[0].map, 2);
	ck_assert_uint_eq(ctr[0].evntsel, 0x4101b7);
	ck_assert_uint_eq(ctr[0].aux, 0x10001);
	ck_assert_int_eq(ctr[0].ireset, 0);
	ck_assert_uint_eq(ctr[1].map, VPERFCTR_FIXED);
	ck_assert_uint_eq(ctr[1].evntsel, 2);
	ck_assert_uint_eq(ctr[1].aux, 0);
	ck_assert_uint_eq(ctr[2].map, 2);
	ck_assert_uint_eq(ctr[2].evntsel, 0x4101b7);
	ck_assert_uint_eq(ctr[2].aux, 0x10001);
	ck_assert_uint_eq(ctr[2].reserved, 0);
	ck_assert_int_eq(ctr[2].ireset, -100);
}
END_TEST

START_TEST(iresume)
{
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_iresume(v), -ENODATA);
	fake.overflow = 5;
	ck_assert_int_eq(vperfctr_iresume(v), 0);
	ck_assert_uint_eq(fake.overflow, 0);
	vperfctr_close(v);
}
END_TEST

#define NRSAMPLES	8

/* Open a state with a ring of NRSAMPLES samples. */
static struct vperfctr *open_ring(struct vperfctr_ring *ring)
{
	struct vperfctr *v;

	*ring = (struct vperfctr_ring){ .nrsamples = NRSAMPLES, .watermark = 2, .nrsums = 2 };
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_ring_open(v, ring), 0);
	return v;
}

/* Write sample number n; check that a sample is number n. */
static void write_sample(uint64_t n, uint32_t dropped)
{
	struct vperfctr_sample sample = {
		.type = VPERFCTR_SAMPLE_OVERFLOW,
		.ip = 0x400000 + n, .tsc = 7 * n, .overflow = 1, .dropped = dropped
	};
	uint64_t sums[2] = { 100 * n, 100 * n + 1 };

	fake_sample(&sample, sums);
}

static void check_sample(const struct vperfctr *v, uint64_t i, uint64_t n)
{
	const struct vperfctr_sample *sample = vperfctr_ring_sample(v, i);

	ck_assert_uint_eq(sample->ip, 0x400000 + n);
	ck_assert_uint_eq(sample->tsc, 7 * n);
	ck_assert_uint_eq(sample->overflow, 1);
	ck_assert_uint_eq(sample->sums[0], 100 * n);
	ck_assert_uint_eq(sample->sums[1], 100 * n + 1);
}

/* The ring wraps several times, with different numbers of samples, from empty to full. */
START_TEST(ring_goes_round)
{
	uint64_t written = 0, consumed = 0, i, nr;
	struct vperfctr_ring ring;
	struct vperfctr *v = open_ring(&ring);

	ck_assert_uint_eq(ring.size, sizeof(ring));
	ck_assert_uint_eq(ring.sample_size, sizeof(struct vperfctr_sample) + 16);
	ck_assert_uint_eq(v->ring->nrsamples, NRSAMPLES);
	ck_assert_uint_eq(vperfctr_ring_nr(v), 0);
	for (nr = 0; nr < 3 * NRSAMPLES; nr++) {
		for (i = 0; i < nr % (NRSAMPLES + 1); i++)
			write_sample(written++, 0);
		ck_assert_uint_eq(vperfctr_ring_nr(v), nr % (NRSAMPLES + 1));
		for (i = 0; i < vperfctr_ring_nr(v); i++)
			check_sample(v, i, consumed + i);
		/* Consume in two parts, if there are enough. */
		ck_assert_int_eq(vperfctr_ring_consume(v, i / 2), 0);
		consumed += i / 2;
		i = vperfctr_ring_nr(v);
		ck_assert_uint_eq(consumed + i, written);
		if (i)
			check_sample(v, i - 1, written - 1);
		ck_assert_int_eq(vperfctr_ring_consume(v, i + 1), -EINVAL);
		ck_assert_int_eq(vperfctr_ring_consume(v, i), 0);
		consumed += i;
	}
	ck_assert_uint_eq(vperfctr_ring_dropped(v), 0);
	for (i = 0; i < NRSAMPLES + 3; i++)
		write_sample(written++, 0);
	ck_assert_uint_eq(vperfctr_ring_nr(v), NRSAMPLES);
	ck_assert_uint_eq(vperfctr_ring_dropped(v), 3);
	check_sample(v, NRSAMPLES - 1, written - 4);
	vperfctr_close(v);
}
END_TEST

START_TEST(ring_errors)
{
	static const int errors[] = { ESRCH, EPERM, EAGAIN, EOPNOTSUPP, ENOMEM };
	struct vperfctr_ring r = { .nrsamples = 3, .watermark = 1 };
	struct vperfctr *v;
	size_t i;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	/* Without a ring there are no samples, and nothing fails that cannot return an error. */
	ck_assert_uint_eq(vperfctr_ring_nr(v), 0);
	ck_assert_uint_eq(vperfctr_ring_dropped(v), 0);
	ck_assert_int_eq(vperfctr_ring_consume(v, 0), -EINVAL);
	ck_assert_int_eq(vperfctr_ring_map(v, 8192), -EINVAL);
	ck_assert_int_eq(vperfctr_ring_open(v, &r), -EINVAL);
	r.nrsamples = 4;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake.fail[FAKE_RING] = errors[i];
		ck_assert_int_eq(vperfctr_ring_open(v, &r), -errors[i]);
	}
	ck_assert_uint_eq(fake.calls[FAKE_RING_MMAP], 1);
	fake.fail[FAKE_RING] = 0;
	fake.fail[FAKE_RING_MMAP] = ENOMEM;
	ck_assert_int_eq(vperfctr_ring_open(v, &r), -ENOMEM);
	ck_assert_uint_eq(vperfctr_ring_nr(v), 0);
	/* The ring exists, though. */
	fake.fail[FAKE_RING_MMAP] = 0;
	ck_assert_int_eq(vperfctr_ring_map(v, r.map_size + 4096), -EINVAL);
	ck_assert_int_eq(vperfctr_ring_open(v, &r), 0);
	fake.fail[FAKE_CONSUME] = EINVAL;
	ck_assert_int_eq(vperfctr_ring_consume(v, 0), -EINVAL);
	fake.fail[FAKE_CONSUME] = 0;
	ck_assert_int_eq(vperfctr_ring_consume(v, 0), 0);
	/* A 32-bit kernel interface would see 0. */
	ck_assert_int_eq(vperfctr_ring_consume(v, UINT64_C(1) << 32), -EINVAL);
	vperfctr_close(v);
}
END_TEST

/* Chains, the registers and the stack follow each other, and any of them may be absent. */
START_TEST(registers_and_stack)
{
	static struct {
		struct vperfctr_ring_page page;
		uint64_t slots[2][64];
	} ring;
	const uint64_t nrsums = 3, depth = _i & 1 ? 4 : 0, calls = 2, regs = 17;
	const uint64_t kernel_depth = _i & 8 ? 5 : 0, kernel_calls = 3, *chain;
	struct vperfctr v = { .ring = &ring.page };
	uint64_t *at = ring.slots[1] + 7 + nrsums, nr;
	struct vperfctr_user user;
	unsigned int i;

	memset(&ring, 0xee, sizeof(ring));
	ring.page = (struct vperfctr_ring_page) {
		.nrsamples = 2, .sample_size = sizeof(ring.slots[0]), .data = sizeof(ring.page),
		.head = 2, .nrsums = nrsums, .depth = depth, .stack = _i & 2 ? 32 : 0,
		.kernel_depth = kernel_depth,
	};
	if (kernel_depth) {
		*at++ = kernel_calls;
		for (i = 0; i < kernel_calls; i++)
			*at++ = ~UINT64_C(0xfff) + i;
	}
	if (depth) {
		*at++ = calls;
		for (i = 0; i < calls; i++)
			*at++ = 0x1000 + i;
	}
	*at = _i & 4 ? VPERFCTR_USER_NONE : VPERFCTR_USER_64;
	at[1 + regs] = 24;
	vperfctr_ring_user(&v, vperfctr_ring_sample(&v, 1), &user);
	if ((_i & 6) != 2) {
		ck_assert_uint_eq(user.mode, VPERFCTR_USER_NONE);
		ck_assert_ptr_null(user.regs);
		ck_assert_uint_eq(user.nrregs + user.stack_size, 0);
	} else {
		ck_assert_uint_eq(user.mode, VPERFCTR_USER_64);
		ck_assert_uint_eq(user.nrregs, regs);
		ck_assert_ptr_eq(user.regs, at + 1);
		ck_assert_ptr_eq(user.stack, at + 2 + regs);
		ck_assert_uint_eq(user.stack_size, 24);
	}
	chain = vperfctr_ring_chain(&v, vperfctr_ring_sample(&v, 1), &nr);
	ck_assert_uint_eq(nr, depth ? calls : 0);
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(chain[i], 0x1000 + i);
	chain = vperfctr_ring_kernel_chain(&v, vperfctr_ring_sample(&v, 1), &nr);
	ck_assert_uint_eq(nr, kernel_depth ? kernel_calls : 0);
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(chain[i], ~UINT64_C(0xfff) + i);
}
END_TEST

/* A ring of four slots, which no kernel has made. */
static struct {
	struct vperfctr_ring_page page;
	unsigned char slots[4][56];
} made;

/* Write a record with a name of this length behind `skipped` slots, over the ring's end. */
static unsigned int make_record(unsigned int skipped, unsigned int len)
{
	static unsigned char flat[72 + 4096];
	struct vperfctr_record *r = (struct vperfctr_record *)flat;
	struct vperfctr_more more = { .type = VPERFCTR_RECORD_MORE };
	unsigned int i, done = 56, n;

	memset(&made, 0xee, sizeof(made));
	memset(flat, 0, sizeof(flat));
	memset(flat + sizeof(*r), 'x', len);
	*r = (struct vperfctr_record) {
		.type = VPERFCTR_RECORD_MAP, .size = sizeof(*r) + (len + 8) / 8 * 8,
		.text = sizeof(*r), .pid = 1, .tid = 2, .tsc = 3, .start = 4, .end = 5,
		.offset = 6, .major = 7, .minor = 8, .inode = 9,
	};
	r->slots = 1 + (r->size - 56 + 47) / 48;
	memcpy(made.slots[skipped % 4], flat, 56);
	for (i = 1; i < r->slots; i++) {
		n = r->size - done < 48 ? r->size - done : 48;
		more.slots = r->slots - i;
		more.size = sizeof(more) + n;
		memcpy(made.slots[(skipped + i) % 4], &more, sizeof(more));
		memcpy(made.slots[(skipped + i) % 4] + sizeof(more), flat + done, n);
		done += n;
	}
	made.page = (struct vperfctr_ring_page) {
		.nrsamples = 4, .sample_size = 56, .data = sizeof(made.page),
		.tail = skipped, .head = skipped + r->slots, .lost = 10,
	};
	return r->slots;
}

/* Records of one to four slots, which begin at each slot. */
START_TEST(records_of_a_ring)
{
	struct { struct vperfctr_record r; char text[200]; } rec;
	unsigned int skipped, len, slots;
	struct vperfctr *v, with;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	with = *v;
	with.ring = &made.page;
	for (len = 1; len <= 119; len++) {
		for (skipped = 0; skipped < 4; skipped++) {
			slots = make_record(skipped, len);
			ck_assert_int_eq(vperfctr_ring_record(&with, 0, &rec.r, sizeof(rec)), slots);
			ck_assert_uint_eq(strlen(vperfctr_record_text(&rec.r)), len);
			ck_assert_uint_eq(strspn(vperfctr_record_text(&rec.r), "x"), len);
			ck_assert_uint_eq(rec.r.inode, 9);
			/* Its size is enough, and no less. */
			ck_assert_int_eq(vperfctr_ring_record(&with, 0, &rec.r, rec.r.size), slots);
			ck_assert_int_eq(vperfctr_ring_record(&with, 0, &rec.r, rec.r.size - 1),
					 -ENOBUFS);
			/* No record begins there. */
			ck_assert_int_eq(vperfctr_ring_record(&with, 1, &rec.r, sizeof(rec)), -EINVAL);
			ck_assert_int_eq(vperfctr_ring_record(&with, slots, &rec.r, sizeof(rec)),
					 -EINVAL);
			/* The kernel has not written the last slot. */
			made.page.head--;
			ck_assert_int_eq(vperfctr_ring_record(&with, 0, &rec.r, sizeof(rec)),
					 slots == 1 ? -EINVAL : 0);
		}
	}
	ck_assert_uint_eq(vperfctr_ring_lost(&with), 10);
	((struct vperfctr_record *)made.slots[3])->type = VPERFCTR_SAMPLE_OVERFLOW;
	ck_assert_int_eq(vperfctr_ring_record(&with, 0, &rec.r, sizeof(rec)), -EINVAL);
	rec.r.text = 0;
	ck_assert_str_eq(vperfctr_record_text(&rec.r), "");
	ck_assert_int_eq(vperfctr_ring_record(v, 0, &rec.r, sizeof(rec)), -EINVAL);
	ck_assert_uint_eq(vperfctr_ring_lost(v), 0);
	vperfctr_close(v);
}
END_TEST

START_TEST(ring_of_another_format)
{
	struct vperfctr_ring r = { .nrsamples = 4, .watermark = 1 };
	struct vperfctr *v;

	fake.ring_format++;
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_eq(vperfctr_ring_open(v, &r), -EPROTONOSUPPORT);
	ck_assert_uint_eq(vperfctr_ring_nr(v), 0);
	vperfctr_close(v);
}
END_TEST

/* A second handle maps the existing ring: by vperfctr_ring_open(), or by its size. */
START_TEST(ring_exists)
{
	struct vperfctr_ring r, other = { .nrsamples = 1024, .watermark = 1 };
	struct vperfctr *v = open_ring(&r), *w, *x;

	ck_assert_int_eq(vperfctr_open(&w, VPERFCTR_OPEN_NOMAP), 0);
	ck_assert_int_eq(vperfctr_ring_open(w, &other), 0);
	ck_assert_uint_eq(other.map_size, r.map_size);
	ck_assert_uint_eq(w->ring->nrsamples, NRSAMPLES);
	ck_assert_int_eq(vperfctr_open_fd(&x, dup(vperfctr_fd(v)), 0), 0);
	ck_assert_int_eq(vperfctr_ring_map(x, r.map_size), 0);
	/* A second call does nothing. */
	ck_assert_int_eq(vperfctr_ring_map(x, r.map_size), 0);
	ck_assert_uint_eq(fake.calls[FAKE_RING_MMAP], 3);
	write_sample(1, 0);
	check_sample(w, 0, 1);
	check_sample(x, 0, 1);
	ck_assert_int_eq(vperfctr_ring_consume(x, 1), 0);
	ck_assert_uint_eq(vperfctr_ring_nr(v), 0);
	vperfctr_close(v);
	vperfctr_close(w);
	vperfctr_close(x);
}
END_TEST

/*
 * A child does not inherit the ring's mapping, and can map it for itself, also if it has the process
 * ID of its parent (1).
 */
START_TEST(ring_in_child)
{
	struct vperfctr_ring r;
	struct vperfctr *v = open_ring(&r);
	pid_t pid;
	int status;

	write_sample(1, 0);
	pid = fork();
	if (!pid) {
		munmap((void *)v->ring, r.map_size);
		if (_i)
			to_handle(v)->ring_mapper.pid = getpid();
		if (vperfctr_ring_map(v, r.map_size))
			_exit(1);
		if (vperfctr_ring_map(v, r.map_size))
			_exit(2);
		_exit(vperfctr_ring_nr(v) == 1 ? 0 : 3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(vperfctr_ring_nr(v), 1);
	vperfctr_close(v);
}
END_TEST

START_TEST(ring_unmapped)
{
	struct vperfctr_ring r;
	struct vperfctr *v = open_ring(&r);
	void *ring = (void *)v->ring;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (mmap(ring, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != ring)
			_exit(2);
		if (_i)
			to_handle(v)->ring_mapper.pid = getpid();
		vperfctr_close(v);
		*(volatile char *)ring = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	vperfctr_close(v);
	ck_assert_int_eq(msync(ring, 4096, MS_ASYNC), -1);
	ck_assert_int_eq(msync((char *)ring + r.map_size - 4096, 4096, MS_ASYNC), -1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("lib-calls");
	TCase *t = tcase_create("calls");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, info);
	tcase_add_test(t, info_of);
	tcase_add_loop_test(t, device_fails, 0, sizeof(device_errors) / sizeof(device_errors[0]));
	tcase_add_test(t, abi);
	tcase_add_test(t, attach_beside);
	tcase_add_test(t, abi_of_page);
	tcase_add_test(t, versions);
	tcase_add_test(t, nanoseconds);
	tcase_add_loop_test(t, why, 0, NR_REASONS);
	tcase_add_test(t, why_of_control);
	tcase_add_test(t, why_of_access);
	tcase_add_test(t, holders);
	tcase_add_test(t, not_of_perf);
	tcase_add_test(t, cpus);
	tcase_add_test(t, open_and_create);
	tcase_add_test(t, device_kept);
	tcase_add_loop_test(t, stranger_answers, 0, 2);
	tcase_add_test(t, open_flags);
	tcase_add_loop_test(t, open_fails, 0, 6);
	tcase_add_test(t, open_tid);
	tcase_add_test(t, read_children);
	tcase_add_test(t, mapping_fails);
	tcase_add_test(t, open_fd);
	tcase_add_loop_test(t, close_after_fork, 0, 4);
	tcase_add_loop_test(t, read_after_fork, 0, 3);
	tcase_add_test(t, close_inherited);
	tcase_add_test(t, control);
	tcase_add_test(t, stop);
	tcase_add_loop_test(t, simple_calls, 0, 4);
	tcase_add_loop_test(t, control_fails, 0, 8);
	tcase_add_test(t, read_state);
	tcase_add_test(t, control_cannot_add);
	tcase_add_test(t, control_imode);
	tcase_add_test(t, control_add_ctr);
	tcase_add_test(t, iresume);
	tcase_add_test(t, ring_goes_round);
	tcase_add_test(t, open_with_control);
	tcase_add_test(t, control_narrows_affinity);
	tcase_add_test(t, reset);
	tcase_add_test(t, control_for_any_kind);
	tcase_add_test(t, ring_errors);
	tcase_add_loop_test(t, registers_and_stack, 0, 16);
	tcase_add_test(t, records_of_a_ring);
	tcase_add_test(t, ring_of_another_format);
	tcase_add_test(t, ring_exists);
	tcase_add_loop_test(t, ring_in_child, 0, 2);
	tcase_add_loop_test(t, ring_unmapped, 0, 2);
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
