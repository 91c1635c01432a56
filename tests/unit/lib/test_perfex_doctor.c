// SPDX-License-Identifier: GPL-2.0
/* Tests of perfex doctor: each fault is planted below a root directory of the test's own. */
#include <check.h>
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "perfex.h"

#define RELEASE		"6.1.0-tested-amd64"
#define SECURE_BOOT	"sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static char root[64];
static char printed[8192];

static void sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Run commands in the root directory, which other users may enter whatever the tester's umask. */
static void sh(const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	size_t len;

	len = (size_t)snprintf(command, sizeof(command), "set -e; umask 022; cd %s; ", root);
	va_start(ap, fmt);
	vsnprintf(command + len, sizeof(command) - len, fmt, ap);
	va_end(ap);
	ck_assert_msg(!system(command), "%s", command);
}

/* A machine without a fault. */
static void setup(void)
{
	fake_reset();
	strcpy(root, "/tmp/perfex-doctor-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(chmod(root, 0755), 0);
	sh("mkdir -p proc/sys/kernel sys/module/vperfctr dev boot lib/modules/%s/kernel", RELEASE);
	sh("echo %s > proc/sys/kernel/osrelease; echo 0 > proc/sys/kernel/nmi_watchdog", RELEASE);
	sh("echo 'CONFIG_PREEMPT_NOTIFIERS=y' > boot/config-%s", RELEASE);
	sh("printf 'vendor_id : GenuineIntel\\nflags : fpu arch_perfmon\\n' > proc/cpuinfo");
	sh("> dev/vperfctr; chmod 666 dev/vperfctr; > proc/modules; mkdir -p sys/bus/event_source/devices/cpu");
	sh("printf 'watchdog: none\\nperf: none\\n' > proc/vperfctr");
}

static void teardown(void)
{
	sh("rm -r %s", root);
}

/* Return what perfex doctor returned; `printed` is what it printed. */
static int examine(bool json)
{
	struct error e;
	FILE *f = tmpfile();
	int ret = doctor(f, json, root, &e);
	size_t n;

	rewind(f);
	n = fread(printed, 1, sizeof(printed) - 1, f);
	printed[n] = '\0';
	fclose(f);
	return ret;
}

/* perfex doctor finds this fault and no other, and names this remedy. */
static void finds(const char *fault, const char *remedy)
{
	const char *p;
	unsigned int nr = 0;

	ck_assert_int_eq(examine(false), 1);
	for (p = printed; *p; p = strchr(p, '\n') + 1)
		nr += *p != ' ' && strncmp(p, "note: ", 6);
	ck_assert_msg(nr == 1 && !strncmp(printed, fault, strlen(fault)) &&
		      printed[strlen(fault)] == ':', "%s", printed);
	ck_assert_msg(strstr(printed, remedy), "%s", printed);
}

START_TEST(none)
{
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed, "no fault was found\n");
	ck_assert_int_eq(examine(true), 0);
	ck_assert_str_eq(printed, "");
}
END_TEST

static void unload(void)
{
	sh("rmdir sys/module/vperfctr; rm dev/vperfctr");
}

START_TEST(module)
{
	unload();
	finds("not-installed", "sudo make dkms-install");
	/* It is built for another kernel; one without the module is no reason. */
	sh("mkdir -p lib/modules/6.0-older/kernel lib/modules/6.6-other/updates/dkms");
	finds("not-installed", "sudo make dkms-install");
	sh("> lib/modules/6.6-other/updates/dkms/vperfctr.ko.xz");
	finds("other-kernel", "sudo dkms autoinstall -k " RELEASE);
	ck_assert_ptr_nonnull(strstr(printed, "built for Linux 6.6-other,"));
	sh("mkdir -p lib/modules/%s/extra; > lib/modules/%s/extra/vperfctr.ko", RELEASE, RELEASE);
	finds("module", "sudo modprobe vperfctr");
	sh("mkdir run; > run/.containerenv");
	finds("module", "on the host: sudo modprobe vperfctr");
}
END_TEST

/* The kernel refuses the module, which is a second fault beside its being unloaded. */
static void finds_beside_module(const char *fault, const char *remedy)
{
	char *second;

	ck_assert_int_eq(examine(false), 1);
	second = strstr(printed, "\nmodule: ");
	ck_assert_msg(second && !strncmp(printed, fault, strlen(fault)), "%s", printed);
	*second = '\0';
	ck_assert_msg(strstr(printed, remedy), "%s", printed);
}

START_TEST(refused)
{
	unload();
	sh("mkdir -p lib/modules/%s/extra; > lib/modules/%s/extra/vperfctr.ko", RELEASE, RELEASE);

	sh("echo '# CONFIG_PREEMPT_NOTIFIERS is not set' > boot/config-%s", RELEASE);
	finds_beside_module("preempt-notifiers", "CONFIG_KVM");
	/* Without its file, the configuration is not known. */
	sh("rm boot/config-%s", RELEASE);
	finds("module", "sudo modprobe vperfctr");
	sh("echo '# CONFIG_PREEMPT_NOTIFIERS is not set' > lib/modules/%s/config", RELEASE);
	finds_beside_module("preempt-notifiers", "CONFIG_KVM");
	sh("rm lib/modules/%s/config", RELEASE);

	sh("rm proc/modules");
	finds("no-modules", "CONFIG_MODULES");
	sh("> proc/modules");

	sh("echo 1 > proc/sys/kernel/modules_disabled");
	finds_beside_module("modules-disabled", "restart the machine");
	sh("echo 0 > proc/sys/kernel/modules_disabled");
	finds("module", "sudo modprobe vperfctr");

	sh("mkdir -p $(dirname %s); printf '\\006\\0\\0\\0\\001' > %s", SECURE_BOOT, SECURE_BOOT);
	finds_beside_module("secure-boot", "sudo mokutil --import");
	sh("printf '\\006\\0\\0\\0\\0' > %s", SECURE_BOOT);
	finds("module", "sudo modprobe vperfctr");

	sh("mkdir -p sys/kernel/security; echo 'none [integrity] confidentiality' > sys/kernel/security/lockdown");
	finds_beside_module("lockdown", "sign the module");
	sh("echo 'none integrity [confidentiality]' > sys/kernel/security/lockdown");
	finds_beside_module("lockdown", "sign the module");
	sh("echo '[none] integrity confidentiality' > sys/kernel/security/lockdown");
	finds("module", "sudo modprobe vperfctr");

	sh("mkdir -p sys/module/module/parameters; echo Y > sys/module/module/parameters/sig_enforce");
	finds_beside_module("signatures", "restart without module.sig_enforce=1");
	sh("echo N > sys/module/module/parameters/sig_enforce");
	finds("module", "sudo modprobe vperfctr");

	/* A module that is loaded was not refused. */
	sh("mkdir sys/module/vperfctr; > dev/vperfctr; chmod 666 dev/vperfctr; echo 1 > proc/sys/kernel/modules_disabled");
	ck_assert_int_eq(examine(false), 0);
}
END_TEST

START_TEST(device)
{
	sh("rm dev/vperfctr");
	finds("device", "sudo udevadm trigger");
	sh("> .dockerenv");
	finds("container", "--device /dev/vperfctr");
	sh("> dev/vperfctr; chmod 666 dev/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	fake.info.abi_version = VPERFCTR_ABI_VERSION + 0x10000;
	finds("version", "install the two from the same release");
	fake.info.abi_version = VPERFCTR_ABI_VERSION;
	fake.fail[FAKE_DEVICE] = EMFILE;
	finds("device", "Too many open files");
}
END_TEST

/* Root may open all, so an ordinary user examines. */
START_TEST(access_denied)
{
	pid_t pid;
	int status;

	sh("chmod 660 dev/vperfctr");
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		if (examine(false) != 1 || strncmp(printed, "access: ", 8))
			_exit(!!fputs(printed, stderr));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* Without root the file is the tester's own group's. */
	if (!geteuid())
		ck_assert_int_eq(status, 0);
}
END_TEST

/* The device's group may be any of a user's many groups. */
START_TEST(access_by_group)
{
	gid_t groups[300];
	unsigned int i;
	int status;
	pid_t pid;

	if (geteuid())
		return;
	for (i = 0; i < 300; i++)
		groups[i] = 1000 + i;
	sh("chgrp 1299 dev/vperfctr; chmod 660 dev/vperfctr");
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (setgroups(300, groups) || setgid(65534) || setuid(65534))
			_exit(2);
		if (examine(false) != 0)
			_exit(!!fputs(printed, stderr));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(counters)
{
	/* By what it has, not by its sysctl. */
	sh("printf 'watchdog: holds\\nperf: none\\n' > proc/vperfctr");
	finds("watchdog", "sudo sysctl kernel.nmi_watchdog=0");
	sh("printf 'watchdog: waits\\nperf: none\\n' > proc/vperfctr");
	finds("watchdog-waits", "end perf's event that is pinned to that CPU");
	sh("printf 'watchdog: kept\\nperf: none\\n' > proc/vperfctr; echo 1 > proc/sys/kernel/nmi_watchdog");
	ck_assert_int_eq(examine(false), 0);
	sh("printf 'watchdog: none\\nperf: none\\nguest: holds\\n' > proc/vperfctr");
	finds("guest", "enable_mediated_pmu=0");
	sh("printf 'watchdog: none\\nperf: holds\\n' > proc/vperfctr");
	sh("mkdir -p proc/1234/fd; echo perf > proc/1234/comm");
	sh("ln -s 'anon_inode:[eventfd]' proc/1234/fd/3");
	ck_assert_int_eq(examine(false), 0);
	sh("ln -s 'anon_inode:[perf_event]' proc/1234/fd/4");
	finds("perf", "sudo kill 1234");
	ck_assert_ptr_nonnull(strstr(printed, "perf (process 1234)"));
	/* A file of an older module, or none. */
	sh("> proc/vperfctr");
	finds("perf", "sudo kill 1234");
	/* It has only software events. */
	sh("printf 'watchdog: none\\nperf: none\\n' > proc/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed, "no fault was found\n");
	/* It may have hardware events that do not count. */
	sh("printf 'watchdog: none\\nperf: idle\\n' > proc/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed, "note: no event of perf_event counts now, but those of perf (process 1234) may keep all counters from vperfctr\n"
				  "no fault was found\n");
	/* There are no counters that it could have. */
	fake.info.nrctrs = 0;
	sh("printf 'watchdog: unknown\\nperf: unknown\\n' > proc/vperfctr");
	finds("no-counters", "vperfctr-processors(7)");
}
END_TEST

/* Those who count are named.  That is no fault. */
START_TEST(holders)
{
	sh("printf 'watchdog: none\\nperf: none\\nthread: 12 12 0 gzip\\nthread: 12 13 0 worker\\nthread: 14 14 0 a b\\n' > proc/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed,
			 "note: vperfctr counts threads for gzip (process 12) and a b (process 14), and perf_event gets no counters meanwhile\n"
			 "no fault was found\n");
	sh("printf 'watchdog: none\\nperf: holds\\nperf_counters: kept\\nthread: 12 12 0 gzip\\n' > proc/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed,
			 "note: vperfctr counts threads for gzip (process 12), and perf_event gets only its own counters (perf_counters) meanwhile\n"
			 "no fault was found\n");
	sh("echo 'cpus: 77 77 0 agent' > proc/vperfctr");
	ck_assert_int_eq(examine(true), 0);
	ck_assert_str_eq(printed,
			 "{\"note\" : \"vperfctr counts CPUs for agent (process 77), and perf_event gets no counters meanwhile\"}\n");
	/* Without that file, others may count.  Without the module, none does. */
	sh("rm proc/vperfctr");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed,
			 "note: /proc/vperfctr cannot be read, so it is not known who counts\n"
			 "no fault was found\n");
	unload();
	ck_assert_int_eq(examine(false), 1);
	ck_assert_msg(!strstr(printed, "note:"), "%s", printed);
}
END_TEST

/* Counting costs more in a virtual machine that has counters.  That is no fault. */
START_TEST(virtual_machine)
{
	ck_assert_int_eq(examine(false), 0);
	ck_assert_str_eq(printed, "no fault was found\n");
	sh("printf 'vendor_id : GenuineIntel\\nflags : fpu arch_perfmon hypervisor\\n' > proc/cpuinfo");
	ck_assert_int_eq(examine(false), 0);
	ck_assert_ptr_nonnull(strstr(printed, "note: in most virtual machines each access to a counter takes"));
	ck_assert_ptr_nonnull(strstr(printed, "\nno fault was found\n"));
	ck_assert_int_eq(examine(true), 0);
	ck_assert_ptr_nonnull(strstr(printed, "{\"note\" : \"in most virtual machines"));
	ck_assert_ptr_null(strstr(printed, "fault"));
}
END_TEST

/* Each machine has no counters, and the module knows it. */
static void no_counters_of_virtual(const char *vendor, const char *flags)
{
	fake.info.nrctrs = 0;
	sh("printf 'vendor_id : %s\\nflags : fpu %s\\n' > proc/cpuinfo", vendor, flags);
	finds("no-pmu", "pmu=on");
}

START_TEST(no_pmu)
{
	no_counters_of_virtual("GenuineIntel", "hypervisor");
	no_counters_of_virtual("AuthenticAMD", "hypervisor");
	/* The hypervisor hides its bit, but not its name. */
	sh("mkdir -p sys/class/dmi/id; echo QEMU > sys/class/dmi/id/sys_vendor");
	no_counters_of_virtual("GenuineIntel", "");
	no_counters_of_virtual("AuthenticAMD", "");
	sh("echo 'VMware, Inc.' > sys/class/dmi/id/sys_vendor");
	no_counters_of_virtual("AuthenticAMD", "");
	sh("echo LENOVO > sys/class/dmi/id/sys_vendor");
	finds("no-counters", "vperfctr-processors(7)");
	/* Arm: by the firmware, or by the board. */
	sh("printf 'CPU implementer\\t: 0x41\\n' > proc/cpuinfo; mkdir -p proc/device-tree/hypervisor");
	finds("no-pmu", "pmu=on");
	sh("rmdir proc/device-tree/hypervisor; printf 'linux,dummy-virt\\0' > proc/device-tree/compatible");
	finds("no-pmu", "pmu=on");
	sh("echo 'raspberrypi,4-model-b' > proc/device-tree/compatible");
	finds("no-counters", "vperfctr-processors(7)");
	/* The module has found counters. */
	fake.info.nrctrs = 4;
	sh("rmdir sys/bus/event_source/devices/cpu");
	ck_assert_int_eq(examine(false), 0);
}
END_TEST

/* Without the module, the kernel's own driver tells. */
START_TEST(no_pmu_unloaded)
{
	unload();
	sh("rmdir sys/bus/event_source/devices/cpu; mkdir sys/bus/event_source/devices/software");
	sh("mkdir -p lib/modules/%s/extra; > lib/modules/%s/extra/vperfctr.ko; mkdir run; > run/.containerenv", RELEASE, RELEASE);
	sh("printf 'vendor_id : AuthenticAMD\\nflags : fpu hypervisor\\n' > proc/cpuinfo");
	ck_assert_int_eq(examine(false), 1);
	ck_assert_ptr_nonnull(strstr(printed, "module: the vperfctr module is not loaded, and this is a container"));
	ck_assert_ptr_nonnull(strstr(printed, "\nno-pmu: this virtual machine has no performance counters"));
	sh("mkdir sys/bus/event_source/devices/armv8_pmuv3_0");
	finds("module", "on the host: sudo modprobe vperfctr");
	sh("rm -r sys/bus");
	finds("module", "on the host: sudo modprobe vperfctr");
	/* Only CPUID of Intel's processors tells. */
	sh("printf 'vendor_id : GenuineIntel\\nflags : fpu hypervisor\\n' > proc/cpuinfo");
	ck_assert_int_eq(examine(false), 1);
	ck_assert_ptr_nonnull(strstr(printed, "\nno-pmu: "));
}
END_TEST

START_TEST(removed_package)
{
	sh("mkdir -p var/lib/dpkg; printf 'Package: other\\nStatus: deinstall ok config-files\\n\\nPackage: vperfctr-dkms\\nStatus: install ok installed\\n' > var/lib/dpkg/status");
	ck_assert_int_eq(examine(false), 0);
	sh("printf 'Package: vperfctr-dkms\\nStatus: deinstall ok config-files\\n' > var/lib/dpkg/status");
	finds("removed", "sudo apt install vperfctr-dkms");
	ck_assert_ptr_nonnull(strstr(printed, "until the machine restarts"));
	unload();
	finds("removed", "sudo apt purge vperfctr-dkms");
	/* Another way of installing it has followed. */
	sh("mkdir -p lib/modules/%s/extra; > lib/modules/%s/extra/vperfctr.ko", RELEASE, RELEASE);
	finds("module", "sudo modprobe vperfctr");
}
END_TEST

/* A user examines: root may use perf_event whatever this is. */
START_TEST(paranoid)
{
	pid_t pid;
	int status;

	unload();
	sh("mkdir -p lib/modules/%s/extra; > lib/modules/%s/extra/vperfctr.ko", RELEASE, RELEASE);
	sh("echo 3 > proc/sys/kernel/perf_event_paranoid");
	if (!geteuid())
		finds("module", "sudo modprobe vperfctr");
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		_exit(examine(false) != 1 || strncmp(printed, "paranoid: ", 10) ||
		      !strstr(printed, "sudo sysctl kernel.perf_event_paranoid=2"));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	sh("echo 2 > proc/sys/kernel/perf_event_paranoid");
	finds("module", "sudo modprobe vperfctr");
}
END_TEST

START_TEST(json)
{
	sh("echo 'watchdog: holds' > proc/vperfctr; rm dev/vperfctr");
	ck_assert_int_eq(examine(true), 1);
	ck_assert_str_eq(printed,
			 "{\"fault\" : \"device\", \"text\" : \"there is no /dev/vperfctr, though the module is loaded\", "
			 "\"remedy\" : \"sudo udevadm trigger --sysname-match=vperfctr\"}\n"
			 "{\"fault\" : \"watchdog\", \"text\" : \"the NMI watchdog holds a counter of each CPU, and with it keeps all\", "
			 "\"remedy\" : \"sudo sysctl kernel.nmi_watchdog=0\"}\n");
}
END_TEST

START_TEST(no_proc)
{
	struct error e;

	sh("rm proc/sys/kernel/osrelease");
	ck_assert_int_eq(doctor(stdout, false, root, &e), -1);
	ck_assert_int_eq(e.status, 125);
	ck_assert_ptr_nonnull(strstr(e.text, "is /proc mounted?"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perfex-doctor");
	TCase *t = tcase_create("doctor");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, none);
	tcase_add_test(t, module);
	tcase_add_test(t, refused);
	tcase_add_test(t, device);
	tcase_add_test(t, access_denied);
	tcase_add_test(t, access_by_group);
	tcase_add_test(t, counters);
	tcase_add_test(t, holders);
	tcase_add_test(t, virtual_machine);
	tcase_add_test(t, no_pmu);
	tcase_add_test(t, no_pmu_unloaded);
	tcase_add_test(t, removed_package);
	tcase_add_test(t, paranoid);
	tcase_add_test(t, json);
	tcase_add_test(t, no_proc);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
