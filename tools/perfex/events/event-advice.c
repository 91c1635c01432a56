// SPDX-License-Identifier: GPL-2.0
/* Names that perfex does not count: what they are, and the nearest that it does. */
#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "perfex.h"

/* ---- perf's names ---------------------------------------------------------------- */

/* Events that perf stat counts without a counter and perfex does not, and the replacement. */
static const struct {
	const char *name, *instead;
} software[] = {
	{ "alignment-faults", NULL }, { "bpf-output", NULL }, { "cgroup-switches", NULL },
	{ "dummy", NULL }, { "emulation-faults", NULL },
	{ "cpu-clock", "count task-clock" },
};

/* perf's names of hardware events: the nearest one here, and a word for perfex list. */
static const struct {
	const char *prefix, *suffix, *nearest, *word;
} hardware[] = {
	{ "branch-load", "-misses", "branch-misses", "branch" },
	{ "branch-load", "", "branches", "branch" },
	{ "llc-", "-misses", "cache-misses", "cache" },
	{ "llc-", "", "cache-references", "cache" },
	{ "l1-dcache-", "", NULL, "L1D" },
	{ "l1-icache-", "", NULL, "ICACHE" },
	{ "dtlb-", "", NULL, "DTLB" },
	{ "itlb-", "", NULL, "ITLB" },
	{ "node-", "", NULL, NULL },
	{ "bus-cycles", "", "ref-cycles", "cycles" },
	{ "stalled-cycles-", "", NULL, "stall" },
	{ "idle-cycles-", "", NULL, "stall" },
	{ "mem-loads", "", NULL, "load" },
	{ "mem-stores", "", NULL, "store" },
	{ "topdown-", "", NULL, "slots" },
	{ "slots", "", NULL, "slots" },
};

/* Beginnings of names of units outside of the cores: perf's, then libpfm4's. */
static const char *const uncore[] = {
	"uncore_", "amd_df/", "amd_l3/", "amd_umc", "amd_iommu", "arm_cmn", "arm_dsu", "arm_smmu",
	"unc_", "amd64_fam17h_zen2_l3::", "amd64_fam17h_zen1_l3::", "amd64_fam19h_zen3_l3::",
	"arm_n1_dsu::",
};

static const char *const rapl[] = { "power/", "power_core/", "rapl::", "rapl_" };

/* Without modifiers, in lower case. */
static void simplify_name(char *buf, size_t size, const char *name)
{
	size_t i, len = strcspn(name, ":@");

	for (i = 0; i < len && i + 1 < size; i++)
		buf[i] = (char)tolower((unsigned char)name[i]);
	buf[i] = '\0';
}

static bool is_countable(const char *name, const struct vperfctr_info *info)
{
	struct vperfctr_event event;

	return !vperfctr_event(&event, name, info, NULL);
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text), k = strlen(suffix);

	return n >= k && !strcmp(text + n - k, suffix);
}

static int fail_hardware(struct error *e, const char *name, const char *nearest,
			 const char *word, const struct vperfctr_info *info)
{
	char list[64] = "";

	if (word && list_has_word(word, info))
		snprintf(list, sizeof(list), "'perfex list %s' shows events of this processor",
			 word);
	if (nearest && !is_countable(nearest, info))
		nearest = NULL;
	if (nearest)
		return fail_with(e, "'%s' is perf's name: the nearest event here is '%s'%s%s", name,
				 nearest, *list ? ", and " : "", list);
	return fail_with(e, "'%s' is perf's name: %s", name,
			 *list ? list : "use perf stat for it");
}

/* Groups of the kernel's tracepoints whose names have no "_", or of which perf's users write a "*". */
static const char *const tracepoints[] = {
	"alarmtimer", "block", "bpf", "btrfs", "cgroup", "clk", "compaction", "cpuhp", "drm", "exceptions",
	"ext4", "fib", "filelock", "filemap", "ftrace", "gpio", "hda", "i2c", "io_uring", "iommu", "irq",
	"irq_vectors", "jbd2", "kmem", "kvm", "libata", "lock", "mce", "migrate", "mmc", "module", "msr",
	"napi", "net", "nfs", "nmi", "nvme", "oom", "page_pool", "pagemap", "percpu", "power", "printk",
	"qdisc", "random", "ras", "raw_syscalls", "rcu", "regmap", "rpm", "rseq", "sched", "scsi", "signal",
	"skb", "smbus", "sock", "sunrpc", "swiotlb", "syscalls", "task", "tcp", "thermal", "timer", "tlb",
	"udp", "vmscan", "vsyscall", "workqueue", "writeback", "x86_fpu", "xdp", "xen", "xfs",
};

/* True if this is a tracepoint, or one that perf probe makes; group: what is before the colon */
static bool is_tracepoint(const char *group, const char *name, const char *colon)
{
	size_t i;

	if (is_generic(group) || !islower((unsigned char)*name))
		return false;
	/* Events of processors have no lower-case letter on both sides of a colon. */
	if ((islower((unsigned char)colon[1]) && strchr(colon, '_')) || !strcmp(group, "probe") ||
	    !strncmp(group, "probe_", 6) || !strncmp(group, "sdt_", 4))
		return true;
	for (i = 0; i < ARRAY_SIZE(tracepoints); i++)
		if (!strcmp(group, tracepoints[i]))
			return true;
	return false;
}

/* 0: it is none of perf's names; -1: *e */
static int advise_perf_name(struct error *e, const char *name, const struct vperfctr_info *info)
{
	const char *colon = strchr(name, ':');
	char simple[64];
	size_t i;

	simplify_name(simple, sizeof(simple), name);
	for (i = 0; i < ARRAY_SIZE(software); i++) {
		if (strcmp(simple, software[i].name))
			continue;
		return fail_with(e, "'%s' is counted by the kernel, not by the processor: %s%suse perf stat or perf record for it",
				 name, software[i].instead ? software[i].instead : "",
				 software[i].instead ? "; or " : "");
	}
	for (i = 0; i < ARRAY_SIZE(hardware); i++) {
		const char *nearest = hardware[i].nearest;

		if (strncmp(simple, hardware[i].prefix, strlen(hardware[i].prefix)) ||
		    !ends_with(simple, hardware[i].suffix))
			continue;
		/* On Arm, cache-references and cache-misses are those of the L1 data cache. */
		if (info->cpu_type == VPERFCTR_CPU_ARM_PMUV3 && !strcmp(hardware[i].prefix, "llc-"))
			nearest = NULL;
		return fail_hardware(e, name, nearest, hardware[i].word, info);
	}
	if (!strncmp(name, "mem:", 4) && strchr("0123456789", name[4]))
		return fail_with(e, "'%s' is a breakpoint on data: use perf stat or perf record for it", name);
	if (!strncmp(name, "cpu_core/", 9) || !strncmp(name, "cpu_atom/", 9))
		return fail_with(e, "'%s' is an event of one kind of CPUs: --kind=%.4s chooses these, with the event's name between the slashes",
				 name, name + 4);
	if (strchr(name, '/') && name[0] != '0')
		return fail_with(e, "'%s' is perf's syntax for the events of a unit: raw events of a core are %s here; for other units, use perf stat",
				 name, raw_events_of(info)->form);
	if (colon && is_tracepoint(simple, name, colon))
		return fail_with(e, "'%s' is a tracepoint of the kernel: use perf stat or perf record for it", name);
	return 0;
}

static bool begins_with_any(const char *name, const char *const *prefixes, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strncasecmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* 0: it is an event of a core; -1: *e */
static int advise_other_unit(struct error *e, const char *name)
{
	const char *unit = strstr(name, "::");

	if (begins_with_any(name, rapl, ARRAY_SIZE(rapl)))
		return fail_with(e, "'%s' is energy (RAPL), which no counter of a core counts: use 'perf stat -a -e power/energy-pkg/', or turbostat",
				 name);
	if (!strncasecmp(name, "cstate_", 7))
		return fail_with(e, "'%s' is the time in a sleep state, which no counter of a core counts: use 'perf stat -a -e %s', or turbostat",
				 name, name);
	/* libpfm4's: snbep_unc_imc0::UNC_M_CAS_COUNT */
	if (begins_with_any(name, uncore, ARRAY_SIZE(uncore)) ||
	    (unit && begins_with_any(unit + 2, uncore, ARRAY_SIZE(uncore))))
		return fail_with(e, "'%s' is an event of the uncore, which the cores share, and perfex counts events of cores: use perf stat -a with perf's name of it ('perf list' shows them), or pcm",
				 name);
	return 0;
}

/* ---- nearly right ----------------------------------------------------------------- */

/* 0: not that; -1: *e */
static int advise_generic_name(struct error *e, const char *name)
{
	const char *colon = strchr(name, ':');
	char simple[64];

	simplify_name(simple, sizeof(simple), name);
	if (!is_generic(simple))
		return 0;
	if (strncmp(name, simple, strlen(simple)))
		return fail_with(e, "unknown event '%s': did you mean '%s'? Generic names are in lower case",
				 name, simple);
	/* The modes are right; the counter after them is not. */
	if (colon && strspn(colon + 1, "uk") == strcspn(colon + 1, "@") && strchr(colon, '@'))
		return 0;
	if (colon && colon[1])
		return fail_with(e, "'%s': a generic event may be followed by ':u', ':k' or ':uk', and not by '%s'%s",
				 name, colon,
				 strchr(colon, 'p') ? "; perf's precise events are not available" : "");
	return 0;
}

struct unit_masks {
	const char *event;
	size_t len;		/* of its name */
	char text[800];
	size_t used;
	bool more;
};

static int collect_unit_mask(const struct vperfctr_event *event, const char *description, void *arg)
{
	struct unit_masks *m = arg;
	const char *mask = event->name + m->len + 1;

	(void)description;
	if (strncasecmp(event->name, m->event, m->len) || event->name[m->len] != ':' ||
	    (!event->general && !event->fixed))
		return 0;
	if (m->used + strlen(mask) + sizeof(", ...") >= sizeof(m->text)) {
		m->more = true;
		return 0;
	}
	m->used += (size_t)sprintf(m->text + m->used, "%s%s", m->used ? ", " : "", mask);
	return 0;
}

/* List the unit masks of an event of libpfm4 whose name has none, or a wrong one. */
static int advise_unit_masks(struct error *e, const char *name, const struct vperfctr_info *info,
			     const struct vperfctr_why *why)
{
	const char *prefix = strstr(name, "::");
	struct unit_masks m = { .event = prefix ? prefix + 2 : name };

	m.len = strcspn(m.event, ":@");
	if (!m.len)
		return 0;
	vperfctr_event_list(info, collect_unit_mask, &m);
	if (!m.used)
		return 0;
	if (!m.event[m.len])
		return fail_with(e, "'%s' needs a unit mask, as in %s:%.*s; it has %s%s", name, name,
				 (int)strcspn(m.text, ","), m.text, m.text, m.more ? ", ..." : "");
	return fail_with(e, "%s; its unit masks are %s%s", why->text, m.text, m.more ? ", ..." : "");
}

int fail_event(struct error *e, int err, const char *name, const struct vperfctr_info *info,
	       const struct vperfctr_why *why)
{
	const char *hint = "";

	if (err == -EPERM)
		return fail_kernel_mode(e, name);
	if (err == -EOPNOTSUPP && strstr(why->text, "no performance counters"))
		return fail_with(e, "'%s' cannot be counted, as there are no counters here, as in many virtual machines: perfex doctor says more",
				 name);
	if (strstr(why->text, "says twice"))
		return fail_with(e, "%s", why->text);
	if (advise_other_unit(e, name))
		return -1;
	/* libpfm4 mistakes some of perf's own names for events of another unit: EINVAL. */
	if ((err == -ENOENT || err == -EINVAL) &&
	    (advise_perf_name(e, name, info) || advise_generic_name(e, name)))
		return -1;
	if (err == -EINVAL && advise_unit_masks(e, name, info, why))
		return -1;
	if (err == -ENOENT && !strstr(why->text, "did you mean"))
		hint = ": perfex list shows those that there are, perfex list --help how raw ones are written";
	else if (strstr(why->text, "this processor has no"))
		hint = ": see perfex info";
	else if (strstr(why->text, "cannot count that event"))
		hint = ": see perfex list";
	return fail_with(e, "%s%s", why->text, hint);
}
