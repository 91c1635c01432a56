// SPDX-License-Identifier: GPL-2.0
/*
 * perfex doctor: what is wrong on this machine, and the command that repairs it.
 *
 * All files are looked up below `root`, which is empty but in tests.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "perfex.h"

/* Whether this machine has counters. */
enum counters { UNKNOWN, COUNTERS, NO_COUNTERS };

struct doctor {
	FILE *f;
	bool json;
	const char *root;
	char release[80];	/* of the running kernel */
	bool container;
	bool may_use_perf;	/* whatever perf_event_paranoid is */
	enum counters counters;
	unsigned int nrfaults;
};

static const char *in_root(const struct doctor *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Return: a path below the root, until the next call. */
static const char *in_root(const struct doctor *d, const char *fmt, ...)
{
	static char path[512];
	size_t len;
	va_list ap;

	len = (size_t)snprintf(path, sizeof(path) / 2, "%s", d->root);
	va_start(ap, fmt);
	vsnprintf(path + len, sizeof(path) - len, fmt, ap);
	va_end(ap);
	return path;
}

static void report(struct doctor *d, const char *fault, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Print a fault.  remedy: a command, or words; NULL: the text has it. */
static void report(struct doctor *d, const char *fault, const char *remedy, const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->nrfaults++;
	if (!d->json) {
		fprintf(d->f, "%s: %s%s%s\n", fault, text, remedy ? "\n    " : "",
			remedy ? remedy : "");
		return;
	}
	fputs("{\"fault\" : ", d->f);
	json_string(d->f, fault);
	fputs(", \"text\" : ", d->f);
	json_string(d->f, text);
	if (remedy) {
		fputs(", \"remedy\" : ", d->f);
		json_string(d->f, remedy);
	}
	fputs("}\n", d->f);
}

/* Print what is no fault. */
static void note(const struct doctor *d, const char *text)
{
	if (!d->json) {
		fprintf(d->f, "note: %s\n", text);
		return;
	}
	fputs("{\"note\" : ", d->f);
	json_string(d->f, text);
	fputs("}\n", d->f);
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* Read a file's first bytes.  Return: their number; 0 if there is no such file. */
static size_t read_bytes(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	*buf = '\0';
	if (!f)
		return 0;
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	fclose(f);
	return n;
}

static bool has_text(const char *path, const char *text)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	fclose(f);
	return found;
}

/* True if the file has this whole line.  Users can choose a part of other lines. */
static bool has_line(const char *path, const char *wanted)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strcmp(line, wanted);
	if (f)
		fclose(f);
	return found;
}

/* ---- the module is not loaded ---------------------------------------------------- */

/* True if the directory, or one below it, has the module. */
static bool has_module(const char *path, unsigned int depth)
{
	const struct dirent *entry;
	bool found = false;
	char below[512];
	DIR *dir = opendir(path);

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "vperfctr.ko", strlen("vperfctr.ko")))
			found = true;
		/* "build" and "source" lead out of here. */
		if (found || entry->d_name[0] == '.' || !depth ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		snprintf(below, sizeof(below), "%.255s/%.255s", path, entry->d_name);
		found = has_module(below, depth - 1);
	}
	closedir(dir);
	return found;
}

/* True if the release has the module where modules are that are no part of the kernel. */
static bool is_installed_for(const struct doctor *d, const char *release)
{
	static const char *const places[] = { "updates", "extra", "extramodules", "kernel/drivers/misc" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (has_module(in_root(d, "/lib/modules/%s/%s", release, places[i]), 3))
			return true;
	return false;
}

/* Find another kernel that the module is built for. */
static bool find_other_kernel(const struct doctor *d, char *release, size_t size)
{
	const struct dirent *entry;
	bool found = false;
	DIR *dir = opendir(in_root(d, "/lib/modules"));

	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		found = is_installed_for(d, entry->d_name);
		snprintf(release, size, "%.79s", entry->d_name);
	}
	closedir(dir);
	return found;
}

static void check_installed(struct doctor *d)
{
	char other[80], remedy[256];

	if (is_installed_for(d, d->release)) {
		report(d, "module", "sudo modprobe vperfctr", "the vperfctr module is not loaded");
	} else if (find_other_kernel(d, other, sizeof(other))) {
		snprintf(remedy, sizeof(remedy),
			 "install the headers of the running kernel, then: sudo dkms autoinstall -k %s && sudo modprobe vperfctr",
			 d->release);
		report(d, "other-kernel", remedy,
		       "the vperfctr module is built for Linux %s, and not for the running one, %s",
		       other, d->release);
	} else {
		report(d, "not-installed", "in vperfctr's sources: sudo make dkms-install && sudo modprobe vperfctr",
		       "the vperfctr module is not installed for the running kernel, %s",
		       d->release);
	}
}

/* The file of the kernel's configuration; NULL: there is none. */
static const char *find_config(const struct doctor *d)
{
	static const char *const places[] = {
		"/boot/config-%s", "/lib/modules/%s/config", "/lib/modules/%s/build/.config",
		"/usr/lib/kernel/config-%s",
	};
	const char *config;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		config = in_root(d, places[i], d->release);
		if (exists(config))
			return config;
	}
	return NULL;
}

static void check_config(struct doctor *d)
{
	const char *config = find_config(d);

	if (config && !has_text(config, "CONFIG_PREEMPT_NOTIFIERS=y"))
		report(d, "preempt-notifiers", "use a kernel with KVM: CONFIG_KVM selects CONFIG_PREEMPT_NOTIFIERS",
		       "this kernel was built without CONFIG_PREEMPT_NOTIFIERS, which the module needs");
}

#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* The kernel may refuse modules. */
static void check_signatures(struct doctor *d)
{
	unsigned int before;
	char buf[128];

	if (read_bytes(in_root(d, "/proc/sys/kernel/modules_disabled"), buf, sizeof(buf)) && *buf == '1')
		report(d, "modules-disabled", "restart the machine, and load the module before kernel.modules_disabled is set",
		       "the kernel loads no modules any more, as kernel.modules_disabled is 1");
	/* Secure Boot and lockdown set sig_enforce, too: they are the cause. */
	before = d->nrfaults;
	/* Four bytes of attributes precede the value. */
	if (read_bytes(in_root(d, SECURE_BOOT), buf, sizeof(buf)) >= 5 && buf[4] == 1)
		report(d, "secure-boot", "sudo mokutil --import /var/lib/dkms/mok.pub, then restart and confirm the key",
		       "Secure Boot is on: the kernel loads only modules that are signed by a key that the machine knows");
	read_bytes(in_root(d, "/sys/kernel/security/lockdown"), buf, sizeof(buf));
	if (strstr(buf, "[integrity]") || strstr(buf, "[confidentiality]"))
		report(d, "lockdown", "sign the module by a key that the kernel knows, or restart without lockdown=",
		       "the kernel is locked down, and loads only modules that are signed by a key that it knows");
	if (read_bytes(in_root(d, "/sys/module/module/parameters/sig_enforce"), buf, sizeof(buf)) && *buf == 'Y' &&
	    d->nrfaults == before)
		report(d, "signatures", "sign the module by a key that the kernel knows, or restart without module.sig_enforce=1",
		       "the kernel loads only modules that are signed by a key that it knows, as module.sig_enforce is 1");
}

/* True if dpkg has removed the package, whose state is then "deinstall ok config-files". */
static bool was_removed(const struct doctor *d, const char *package)
{
	FILE *f = fopen(in_root(d, "/var/lib/dpkg/status"), "re");
	bool here = false, removed = false;
	char line[4096], name[128];

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Package: %127s", name) == 1)
			here = !strcmp(name, package);
		else if (here && !strncmp(line, "Status: deinstall", 17))
			removed = true;
	}
	fclose(f);
	return removed;
}

/* A package that was removed leaves its configuration, and a module until the next restart. */
static bool check_removed(struct doctor *d, bool loaded)
{
	if (!was_removed(d, "vperfctr-dkms") || is_installed_for(d, d->release))
		return false;
	report(d, "removed", "sudo apt install vperfctr-dkms, or, to remove its configuration too: sudo apt purge vperfctr-dkms",
	       loaded ? "the package vperfctr-dkms was removed, and its module is loaded only until the machine restarts" :
			"the package vperfctr-dkms was removed, and has left only its configuration");
	return true;
}

/* Without the module, perfex counts by perf_event, which Debian can keep from users. */
static void check_paranoid(struct doctor *d)
{
	const int paranoid = read_number(in_root(d, "/proc/sys/kernel/perf_event_paranoid"));

	if (paranoid > 2 && !d->may_use_perf)
		report(d, "paranoid", "sudo sysctl kernel.perf_event_paranoid=2, or load the module, which does not depend on it",
		       "without the module perfex counts by perf_event, which kernel.perf_event_paranoid = %d forbids to users",
		       paranoid);
}

static void check_unloaded(struct doctor *d)
{
	check_paranoid(d);
	if (d->container) {
		report(d, "module", "on the host: sudo modprobe vperfctr",
		       "the vperfctr module is not loaded, and this is a container, which cannot load it");
		return;
	}
	/* /proc is that of a kernel that loads modules, or this file is missing. */
	if (!exists(in_root(d, "/proc/modules"))) {
		report(d, "no-modules", "use a kernel that was built with CONFIG_MODULES",
		       "this kernel loads no modules: perfex counts by perf_event");
		return;
	}
	check_config(d);
	check_signatures(d);
	if (!check_removed(d, false))
		check_installed(d);
}

/* ---- the device ------------------------------------------------------------------- */

static void check_device(struct doctor *d)
{
	const char *device = in_root(d, "/dev/vperfctr");
	struct vperfctr_why why;
	struct vperfctr_info info;
	struct stat st;
	int err;

	if (stat(device, &st)) {
		if (d->container)
			report(d, "container", "start the container with: --device /dev/vperfctr",
			       "this container has no /dev/vperfctr, though the module is loaded");
		else
			report(d, "device", "sudo udevadm trigger --sysname-match=vperfctr",
			       "there is no /dev/vperfctr, though the module is loaded");
		return;
	}
	if (faccessat(AT_FDCWD, device, R_OK, AT_EACCESS)) {
		vperfctr_why_at(-EACCES, VPERFCTR_WHY_OPEN, NULL, device, PROC, &why);
		report(d, "access", NULL, "%s", why.text);
		return;
	}
	err = vperfctr_info(&info, 0);
	if (err) {
		vperfctr_why_at(err, VPERFCTR_WHY_OPEN, NULL, device, PROC, &why);
		report(d, err == -EPROTONOSUPPORT ? "version" : "device", NULL, "%s", why.text);
		return;
	}
	d->counters = info.nrctrs ? COUNTERS : NO_COUNTERS;
}

/* ---- the counters -------------------------------------------------------------------- */

/* perf waits for them, or gets EBUSY: no fault, but what its user looks for. */
static void note_holders(const struct doctor *d, const struct vperfctr_holders *h,
			 const char *what, bool perf_keeps)
{
	char names[256], text[400];

	if (!h->nr)
		return;
	vperfctr_describe_holders(names, sizeof(names), h);
	snprintf(text, sizeof(text), "vperfctr counts %s for %s, and perf_event gets %s meanwhile",
		 what, names, perf_keeps ? "only its own counters (perf_counters)" : "no counters");
	note(d, text);
}

/*
 * Name the processes with descriptors of perf_event, some of which may have only software events.
 * They are at fault only if the module's file does not say that none has a counter.
 */
static void check_perf(struct doctor *d, const char *proc, const char *file)
{
	struct vperfctr_holders h;
	char names[256], text[400], remedy[128];
	unsigned int i;
	size_t len;

	if (d->counters == NO_COUNTERS || has_line(file, "perf: none\n"))
		return;
	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_PERF, proc);
	vperfctr_describe_holders(names, sizeof(names), &h);
	if (!h.nr)
		return;
	if (has_line(file, "perf: idle\n")) {
		snprintf(text, sizeof(text), "no event of perf_event counts now, but those of %s may keep all counters from vperfctr",
			 names);
		note(d, text);
		return;
	}
	len = (size_t)snprintf(remedy, sizeof(remedy), "sudo kill");
	for (i = 0; i < h.nr && i < VPERFCTR_MAX_HOLDERS; i++)
		len += (size_t)snprintf(remedy + len, sizeof(remedy) - len, " %d", (int)h.holder[i].pid);
	report(d, "perf", remedy, "perf_event may hold counters for %s", names);
}

static void check_holders(struct doctor *d)
{
	struct vperfctr_holders h;
	char proc[256], file[512];
	bool keeps;

	snprintf(proc, sizeof(proc), "%s", in_root(d, "/proc"));
	snprintf(file, sizeof(file), "%s/vperfctr", proc);
	/* Not by the watchdog's sysctl: it may be on without a counter, or keep only its own. */
	if (has_line(file, "watchdog: holds\n"))
		report(d, "watchdog", "sudo sysctl kernel.nmi_watchdog=0",
		       "the NMI watchdog holds a counter of each CPU, and with it keeps all");
	if (has_line(file, "watchdog: waits\n"))
		report(d, "watchdog-waits", "end perf's event that is pinned to that CPU ('perf stat -a -e EVENT:D'), or those whom 'perfex info --holders' names",
		       "the NMI watchdog is on, and some CPU has none: it waits there until another event of perf's, or the counting, ends");
	if (has_line(file, "guest: holds\n"))
		report(d, "guest", NULL, "a virtual machine had the counters when they were last asked for: end it, or load kvm_intel or kvm_amd with enable_mediated_pmu=0");
	keeps = has_line(file, "perf_counters: kept\n");
	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_THREADS, proc);
	if (h.hidden && exists(in_root(d, "/sys/module/vperfctr")))
		note(d, "/proc/vperfctr cannot be read, so it is not known who counts");
	note_holders(d, &h, "threads", keeps);
	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_CPUS, proc);
	note_holders(d, &h, "CPUs", keeps);
	check_perf(d, proc, file);
}

/* True if a hypervisor has named the machine.  The hypervisor may hide its bit of CPUID. */
static bool is_virtual(const struct doctor *d)
{
	static const char *const makers[] = {
		"QEMU", "KVM", "VMware", "innotek", "VirtualBox", "Xen", "Bochs", "Parallels", "bhyve",
		"Virtual Machine", "Google Compute", "OpenStack", "Amazon EC2", "Alibaba Cloud ECS",
	};
	static const char *const files[] = {
		"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
		"/proc/device-tree/compatible",
	};
	char buf[256];
	unsigned int i, k;
	size_t n;

	if (has_text(in_root(d, "/proc/cpuinfo"), " hypervisor") ||
	    exists(in_root(d, "/proc/device-tree/hypervisor")) ||
	    (read_bytes(in_root(d, "/sys/hypervisor/type"), buf, sizeof(buf)) && strcmp(buf, "none\n")))
		return true;
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		n = read_bytes(in_root(d, "%s", files[i]), buf, sizeof(buf));
		for (k = 0; k < ARRAY_SIZE(makers); k++)
			if (memmem(buf, n, makers[k], strlen(makers[k])))
				return true;
		/* "linux,dummy-virt" is QEMU's board for Arm. */
		if (memmem(buf, n, "dummy-virt", 10))
			return true;
	}
	return false;
}

/* Find whether the kernel's own driver has counters, where there is no module. */
static enum counters ask_kernel(const struct doctor *d)
{
	/* x86; hybrid x86; names of arm64 begin with the second group. */
	static const char *const names[] = { "cpu", "cpu_core", "cpu_atom", "cpum_sf" };
	static const char *const prefixes[] = { "arm", "apple_", "riscv" };
	const char *devices = in_root(d, "/sys/bus/event_source/devices");
	enum counters found = NO_COUNTERS;
	const struct dirent *entry;
	unsigned int i;
	DIR *dir = opendir(devices);

	if (!dir)
		return UNKNOWN;
	while ((entry = readdir(dir))) {
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (!strcmp(entry->d_name, names[i]))
				found = COUNTERS;
		for (i = 0; i < ARRAY_SIZE(prefixes); i++)
			if (!strncmp(entry->d_name, prefixes[i], strlen(prefixes[i])))
				found = COUNTERS;
	}
	closedir(dir);
	return found;
}

/* The module knows; without it, the kernel; without that, CPUID of Intel's processors. */
static void check_processor(struct doctor *d)
{
	char file[512];

	if (d->counters == UNKNOWN)
		d->counters = ask_kernel(d);
	snprintf(file, sizeof(file), "%s", in_root(d, "/proc/cpuinfo"));
	if (d->counters == UNKNOWN && has_text(file, " hypervisor") &&
	    has_text(file, "GenuineIntel") && !has_text(file, " arch_perfmon"))
		d->counters = NO_COUNTERS;
	if (d->counters == COUNTERS && is_virtual(d))
		note(d, "in most virtual machines each access to a counter takes one or two microseconds, so count few events, and without --region: see \"Virtual machines\" in vperfctr's install.md");
	if (d->counters != NO_COUNTERS)
		return;
	if (is_virtual(d))
		report(d, "no-pmu", "give the virtual machine a PMU: QEMU and KVM: -cpu host,pmu=on; libvirt: <pmu state='on'/>; VMware: vpmc.enable",
		       "this virtual machine has no performance counters: only times and software events can be counted");
	else
		report(d, "no-counters", "see vperfctr-processors(7); in a virtual machine, let it have a PMU",
		       "no performance counters of this processor are known: only times and software events can be counted");
}

int doctor(FILE *f, bool json, const char *root, struct error *e)
{
	struct doctor d = { .f = f, .json = json, .root = root };

	if (!read_bytes(in_root(&d, "/proc/sys/kernel/osrelease"), d.release, sizeof(d.release)))
		return fail_with(e, "cannot read /proc/sys/kernel/osrelease: is /proc mounted?");
	d.release[strcspn(d.release, "\n")] = '\0';
	d.container = exists(in_root(&d, "/.dockerenv")) ||
		      exists(in_root(&d, "/run/.containerenv")) ||
		      exists(in_root(&d, "/run/systemd/container"));
	d.may_use_perf = !geteuid();
	if (exists(in_root(&d, "/sys/module/vperfctr"))) {
		check_removed(&d, true);
		check_device(&d);
	} else {
		check_unloaded(&d);
	}
	check_processor(&d);
	check_holders(&d);
	if (!d.nrfaults && !json)
		fputs("no fault was found\n", f);
	return d.nrfaults ? 1 : 0;
}
