// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE_NAME	"fake-vperfctr-device"
#define STATE_NAME	"fake-vperfctr-state"
#define CPUS_NAME	"fake-vperfctr-cpus"
#define STATE_MAPPING	"/memfd:" STATE_NAME " (deleted)"
#define STATE_SIZE	8192	/* the page; what only the kernel knows */
#define RING_AT		STATE_SIZE	/* in the memfd */
#define RING_DATA	4096

struct fake fake;
struct fake_seen *fake_seen;

struct state {
	union {
		struct vperfctr_page page;
		char room[4096];
	};
	int32_t tid;			/* 0: this thread's */
	int32_t owner;			/* that process */
	uintptr_t thread;		/* its thread pointer */
	uint32_t status;
	bool unlinked;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	uint64_t ring_size;		/* 0: none */
};

static struct state *live;

int __real_open64(const char *path, int flags, ...);
long __real_syscall(long number, ...);
FILE *__real_fopen64(const char *path, const char *mode);
int __real_ioctl(int fd, unsigned long request, ...);
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);

int __real_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
		 const sigset_t *mask);

int __wrap_open64(const char *path, int flags, ...);
long __wrap_syscall(long number, ...);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
		 const sigset_t *mask);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

static int refuse(int err)
{
	errno = err;
	return -1;
}

static bool fails(enum fake_call call)
{
	fake.calls[call]++;
	errno = fake.fail[call];
	return errno;
}

static bool is_fd(int fd, const char *name)
{
	char path[64], target[128];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return strstr(target, name);
}

int fake_device_fd(void)
{
	int fd;

	for (fd = 0; fd < 1024; fd++) {
		if (is_fd(fd, DEVICE_NAME))
			return fd;
	}
	return -1;
}

int __wrap_open64(const char *path, int flags, ...)
{
	if (strcmp(path, "/dev/vperfctr")) {
		va_list ap;
		int mode;

		va_start(ap, flags);
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;
		va_end(ap);
		return __real_open64(path, flags, mode);
	}
	if (flags != (O_RDONLY | O_CLOEXEC))
		abort();
	if (fails(FAKE_DEVICE))
		return -1;
	return memfd_create(DEVICE_NAME, MFD_CLOEXEC);
}

/* There is no perf_event: test_perf has a fake of it. */
long __wrap_syscall(long number, ...)
{
	long arg[5];
	unsigned int i;
	va_list ap;

	va_start(ap, number);
	for (i = 0; i < 5; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_perf_event_open)
		return refuse(ENOSYS);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
}

static FILE *show(const char *text)
{
	FILE *f = tmpfile();

	fputs(text, f);
	rewind(f);
	return f;
}

/* Return: a file about the CPUs, or NULL if it is none. */
static FILE *open_cpu_file(const char *path)
{
	char text[1024] = "", what[64];
	unsigned int cpu;
	size_t len = 0;

	if (!strcmp(path, "/sys/devices/system/cpu/online")) {
		for (cpu = 0; cpu < fake.nrwords * 32; cpu++)
			if ((fake.cpus[cpu / 32] & ~(cpu < 32 ? fake.offline : 0)) >> cpu % 32 & 1)
				len += (size_t)sprintf(text + len, "%s%u", len ? "," : "", cpu);
		strcpy(text + len, "\n");
		return show(text);
	}
	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/topology/%63s", &cpu, what) != 2)
		return NULL;
	if (!strcmp(what, "thread_siblings_list"))
		sprintf(text, fake.siblings >> cpu & 1 ? "%u,%u\n" : "%u\n", cpu, cpu + 32);
	else if (!strcmp(what, "physical_package_id"))
		sprintf(text, "%u\n", cpu / 2);
	else
		sprintf(text, "%u\n", !strcmp(what, "core_id") ? cpu % 2 : 0);
	return show(text);
}

/* Show the name that the kernel gives to the mapping of a state. */
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	char line[4096], *name;
	FILE *real, *shown;

	shown = open_cpu_file(path);
	if (shown)
		return shown;
	if (fake.suid_dumpable && !strcmp(path, "/proc/sys/fs/suid_dumpable"))
		return show(fake.suid_dumpable);
	real = __real_fopen64(path, mode);
	if (!real || strcmp(path, "/proc/self/maps"))
		return real;
	shown = tmpfile();
	while (fgets(line, sizeof(line), real)) {
		name = strstr(line, STATE_MAPPING);
		if (name)
			strcpy(name, "anon_inode:[vperfctr]\n");
		fputs(line, shown);
	}
	fclose(real);
	rewind(shown);
	return shown;
}

static struct state *state_of(int fd);

/* A set of CPUs: of a state it has the ring. */
static struct state of_cpus;

static void *map_ring(void *addr, size_t len, int prot, int flags, int fd)
{
	struct state *s = is_fd(fd, CPUS_NAME) ? &of_cpus : state_of(fd);
	uint64_t size = s->ring_size;

	if (s != &of_cpus)
		munmap(s, STATE_SIZE);
	if (fails(FAKE_RING_MMAP))
		return MAP_FAILED;
	if (addr || prot != PROT_READ || flags != MAP_SHARED)
		abort();
	errno = EINVAL;
	return !size || len != size ? MAP_FAILED :
	       __real_mmap64(NULL, len, prot, flags, fd, RING_AT);
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (fd >= 0 && is_fd(fd, CPUS_NAME) && off == VPERFCTR_RING_OFFSET)
		return map_ring(addr, len, prot, flags, fd);
	if (fd < 0 || !is_fd(fd, STATE_NAME))
		return __real_mmap64(addr, len, prot, flags, fd, off);
	if (off == VPERFCTR_RING_OFFSET)
		return map_ring(addr, len, prot, flags, fd);
	if (fails(FAKE_MMAP))
		return MAP_FAILED;
	if (addr || len != (size_t)sysconf(_SC_PAGESIZE) || prot != PROT_READ ||
	    flags != MAP_SHARED || off)
		abort();
	return __real_mmap64(addr, len, prot, flags, fd, off);
}

/* ---- other threads --------------------------------------------------------- */

/* True if the thread exists and, with `stopped`, is stopped under this process's ptrace. */
static bool is_thread(int32_t tid, bool stopped)
{
	char path[64], line[256], state = 0;
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "TracerPid: %d", &tracer);
	}
	fclose(f);
	return stopped ? state == 't' && tracer == getpid() : state != 'Z' && state != 'X';
}

static struct vperfctr_ring_page *ring_of(int fd, size_t size);
static int state_control(struct state *s, int fd, const struct vperfctr_control *c);

/* Return the state's poll events, as the kernel does. */
static short state_events(int fd)
{
	struct state *s = state_of(fd);
	struct vperfctr_ring_page *ring;
	short events = 0;

	if (s->unlinked || !is_thread(s->tid ? s->tid : s->owner, false))
		events |= POLLHUP;
	if (s->ring_size) {
		ring = ring_of(fd, s->ring_size);
		if (ring->head - ring->tail >= ring->watermark)
			events |= POLLIN;
		munmap(ring, s->ring_size);
	}
	munmap(s, STATE_SIZE);
	return events;
}

/* Poll the states: poll() itself finds a memfd always ready. */
static int states_ready(struct pollfd *fds, nfds_t nr)
{
	int ended = 0;
	nfds_t i;

	for (i = 0; i < nr; i++) {
		if (fds[i].fd < 0 || !is_fd(fds[i].fd, STATE_NAME))
			continue;
		fds[i].revents = state_events(fds[i].fd) & (fds[i].events | POLLHUP);
		ended += fds[i].revents != 0;
	}
	return ended;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
		 const sigset_t *mask)
{
	const struct timespec step = { .tv_nsec = 5000000 };
	double left = timeout ? (double)timeout->tv_sec + (double)timeout->tv_nsec / 1e9 : 1e9;
	struct pollfd *others = calloc(nr, sizeof(*others));
	int ret = 0, ended;
	nfds_t i;

	do {
		for (i = 0; i < nr; i++) {
			others[i] = fds[i];
			if (fds[i].fd >= 0 && is_fd(fds[i].fd, STATE_NAME))
				others[i].fd = -1;
		}
		ret = __real_ppoll(others, nr, &step, mask);
		for (i = 0; ret >= 0 && i < nr; i++)
			fds[i].revents = others[i].revents;
		ended = states_ready(fds, nr);
		left -= 0.005;
	} while (!ret && !ended && left > 0);
	free(others);
	return ret < 0 ? ret : ret + ended;
}

/* ---- affinity -------------------------------------------------------------- */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	memset(set, 0, size);
	memcpy(set, &fake.affinity, sizeof(fake.affinity));
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	uint32_t cpus;

	(void)pid;
	(void)size;
	memcpy(&cpus, set, sizeof(cpus));
	if (!cpus || (fake.rewrites && fake.rewrites-- % 2))
		return refuse(EINVAL);
	fake.affinity = fake_seen->affinity = cpus;
	if (fake.rewrites)
		fake.affinity = 0xf;
	return 0;
}

static uint32_t cpus_of_kind(uint32_t kind)
{
	if (fake.nrkinds == 1 || kind == VPERFCTR_ANY_KIND)
		return ~fake.foreign_cpus;
	return (0x55555555U << kind) & ~fake.foreign_cpus;
}

/* True if the kind exists, or is any kind and as many do. */
static bool is_kind(uint32_t kind, uint32_t nrkinds)
{
	return kind == VPERFCTR_ANY_KIND ? nrkinds <= fake.nrkinds :
					   kind < fake.nrkinds && !nrkinds;
}

/* ---- the device ----------------------------------------------------------- */

static int dev_info(struct vperfctr_info *arg)
{
	struct vperfctr_info info = fake.info;

	info.used_pmcs |= fake_seen->used_pmcs;
	if (fails(FAKE_INFO))
		return -1;
	if (arg->size != sizeof(*arg) || arg->core_type || arg->kind >= fake.nrkinds)
		return refuse(EINVAL);
	info.kind = arg->kind;
	if (fake.nrkinds > 1)
		info.core_type = arg->kind ? 0x20000001 : 0x40000001;
	if (arg->kind) {
		info.pmc_mask &= ~fake.only_kind0;
		info.nrctrs -= (uint32_t)__builtin_popcountll(fake.only_kind0);
	}
	info.nrkinds = fake.nrkinds;
	/* Return the size that a newer kernel with a larger structure returns. */
	info.size = sizeof(info) + 64;
	*arg = info;
	return 0;
}

/* Kind 0 has the CPUs with even numbers, kind 1 the others. */
static int dev_kind_cpus(struct vperfctr_kind_cpus *arg)
{
	uint32_t room = arg->nrwords, i;

	if (fails(FAKE_CPUS))
		return -1;
	if (arg->size != sizeof(*arg) || !is_kind(arg->kind, arg->nrkinds))
		return refuse(EINVAL);
	arg->nrwords = fake.nrwords;
	if (room < fake.nrwords)
		return refuse(EOVERFLOW);
	for (i = 0; i < fake.nrwords; i++)
		arg->mask[i] = fake.cpus[i] &
			       cpus_of_kind(arg->nrkinds == 1 ? 0 : arg->kind);
	return 0;
}

static int dev_cpus(struct vperfctr_cpu_mask *arg, bool forbidden)
{
	uint32_t room = arg->nrwords, i;

	if (fails(FAKE_CPUS))
		return -1;
	if (arg->size != sizeof(*arg))
		return refuse(EINVAL);
	arg->nrwords = fake.nrwords;
	if (room < fake.nrwords)
		return refuse(EOVERFLOW);
	for (i = 0; i < fake.nrwords; i++)
		arg->mask[i] = forbidden ? ~fake.cpus[i] : fake.cpus[i];
	return 0;
}

static int new_state(int32_t tid)
{
	int fd = memfd_create(STATE_NAME, MFD_CLOEXEC);
	struct state *s;

	if (ftruncate(fd, STATE_SIZE))
		abort();
	s = __real_mmap64(NULL, STATE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	s->tid = tid;
	s->owner = getpid();
	s->thread = fake.thread;
	s->page.version = fake.page_version;
	s->page.mask = fake.mask;
	s->status = VPERFCTR_STATUS_ATTACHED;
	/* The fuzzer makes states without end. */
	if (!tid && live)
		munmap(live, STATE_SIZE);
	if (!tid)
		live = s;
	else
		munmap(s, STATE_SIZE);
	return fd;
}

static int dev_open(const struct vperfctr_open *arg)
{
	const uint32_t life = VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_KEEP;
	const uint32_t creat_only = life | VPERFCTR_OPEN_OBSERVER;

	if (fails(FAKE_OPEN))
		return -1;
	if (arg->size != sizeof(*arg) || arg->reserved ||
	    arg->flags & ~(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOCLOEXEC | creat_only) ||
	    (arg->flags & creat_only && !(arg->flags & VPERFCTR_OPEN_CREAT)) ||
	    (arg->flags & life) == life ||
	    (arg->control && !(arg->flags & VPERFCTR_OPEN_CREAT)))
		return refuse(EINVAL);
	fake_seen->open_flags = arg->flags;
	fake_seen->opens++;
	if (arg->tid) {
		if (!is_thread(arg->tid, false))
			return refuse(ESRCH);
		if (!is_thread(arg->tid, true))
			return refuse(EPERM);
		if (!(arg->flags & VPERFCTR_OPEN_CREAT))
			return refuse(ENOENT);
		return new_state(arg->tid);
	}
	if (arg->flags & VPERFCTR_OPEN_CREAT) {
		if (fake.state_fd >= 0)
			return refuse(EEXIST);
		/* The fake keeps a descriptor of its own: the library may close the other. */
		fake.state_fd = new_state(0);
		if (arg->control &&
		    state_control(live, fake.state_fd, (void *)(uintptr_t)arg->control)) {
			close(fake.state_fd);
			fake.state_fd = -1;
			return -1;
		}
	} else if (fake.state_fd < 0) {
		return refuse(ENOENT);
	}
	return fcntl(fake.state_fd, arg->flags & VPERFCTR_OPEN_NOCLOEXEC ?
		     F_DUPFD : F_DUPFD_CLOEXEC, 0);
}

/* ---- a state ------------------------------------------------------------------ */

/* Map the state of this descriptor, which may have come from another process. */
static struct state *state_of(int fd)
{
	struct state *s = __real_mmap64(NULL, STATE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (s == MAP_FAILED)
		abort();
	return s;
}

/* ---- the ring ----------------------------------------------------------------- */

static struct vperfctr_ring_page *ring_of(int fd, size_t size)
{
	void *ring = __real_mmap64(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RING_AT);

	if (ring == MAP_FAILED)
		abort();
	return ring;
}

static int state_ring(struct state *s, int fd, struct vperfctr_ring *r)
{
	uint32_t sample_size = sizeof(struct vperfctr_sample) +
			       (r->nrsums + (r->depth ? 1 + r->depth : 0) +
				(r->kernel_depth ? 1 + r->kernel_depth : 0)) * sizeof(uint64_t) +
			       (r->stack ? (2 + VPERFCTR_X86_REGS) * sizeof(uint64_t) + r->stack : 0);
	struct vperfctr_ring_page *page;

	if (fails(FAKE_RING))
		return -1;
	if (r->size != sizeof(*r) || r->flags & ~(VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS) || !r->nrsamples ||
	    r->nrsamples & (r->nrsamples - 1) || r->nrsamples > VPERFCTR_RING_MAX ||
	    !r->watermark || r->watermark > r->nrsamples || r->nrsums > VPERFCTR_MAX_CTRS ||
	    r->depth > VPERFCTR_CHAIN_MAX || r->kernel_depth > VPERFCTR_CHAIN_MAX ||
	    (r->kernel_depth && !(r->flags & VPERFCTR_RING_KERNEL)) || r->stack > VPERFCTR_STACK_MAX || r->stack % 8)
		return refuse(EINVAL);
	fake_seen->ring = *r;
	if (!s->ring_size) {
		s->ring_size = (RING_DATA + (uint64_t)r->nrsamples * sample_size + 4095) & ~4095ul;
		if (ftruncate(fd, RING_AT + (off_t)s->ring_size))
			abort();
		page = ring_of(fd, s->ring_size);
		page->size = sizeof(*page);
		page->format = fake.ring_format;
		page->flags = r->flags;
		page->nrsamples = r->nrsamples;
		page->watermark = r->watermark;
		page->nrsums = r->nrsums;
		page->depth = r->depth;
		page->stack = r->stack;
		page->kernel_depth = r->kernel_depth;
		page->sample_size = sample_size;
		page->data = RING_DATA;
		munmap(page, s->ring_size);
		r->sample_size = sample_size;
		r->map_size = s->ring_size;
		return 0;
	}
	page = ring_of(fd, s->ring_size);
	r->sample_size = page->sample_size;
	r->map_size = s->ring_size;
	munmap(page, s->ring_size);
	return refuse(EEXIST);
}

static int state_consume(struct state *s, int fd, uintptr_t nr)
{
	struct vperfctr_ring_page *page;
	bool ok;

	if (fails(FAKE_CONSUME))
		return -1;
	if (!s->ring_size)
		return refuse(EINVAL);
	fake_seen->consumes++;
	page = ring_of(fd, s->ring_size);
	ok = nr <= page->head - page->tail;
	if (ok)
		page->tail += nr;
	munmap(page, s->ring_size);
	return ok ? 0 : refuse(EINVAL);
}

/* Register i is 0x2000 + i.  The stack has words from 0x3000 on, as many as there are calls. */
static void add_user(__u64 *to, uint32_t size)
{
	uint64_t i, n = fake.nrcalls < size / 8 ? fake.nrcalls : size / 8;

	*to++ = fake.nrcalls ? VPERFCTR_USER_64 : VPERFCTR_USER_NONE;
	for (i = 0; fake.nrcalls && i < VPERFCTR_X86_REGS; i++)
		*to++ = 0x2000 + i;
	if (fake.nrcalls)
		*to++ = n * 8;
	for (i = 0; i < n; i++)
		*to++ = 0x3000 + i;
}

/*
 * In the kernel there is one call less than in user mode: their addresses end with 1, 2, ...
 * The kernel has 32 bits if the sample's address has.
 */
static __u64 *add_kernel_calls(__u64 *to, uint32_t depth, const struct vperfctr_sample *sample)
{
	const uint64_t top = UINT64_C(1) << (sample->ip >> 32 ? 63 : 31);
	uint64_t i, n = sample->flags & VPERFCTR_SAMPLE_KERNEL && fake.nrcalls ? fake.nrcalls - 1 : 0;

	if (n > depth)
		n = depth;
	*to++ = n;
	for (i = 1; i <= n; i++)
		*to++ = top + i;
	return to;
}

static void add_sample(struct state *s, int fd, const struct vperfctr_sample *sample,
		       const uint64_t *sums)
{
	struct vperfctr_ring_page *page = ring_of(fd, s->ring_size);
	struct vperfctr_sample *to;
	uint64_t i;
	__u64 *chain;

	if (page->head - page->tail == page->nrsamples) {
		page->dropped++;
	} else {
		to = (void *)((char *)page + page->data +
			      page->head % page->nrsamples * page->sample_size);
		*to = *sample;
		if (s->control.clock_period && to->type == VPERFCTR_SAMPLE_OVERFLOW) {
			to->type = VPERFCTR_SAMPLE_CLOCK;
			to->overflow = 0;
		}
		if (page->nrsums)
			memcpy(to->sums, sums, page->nrsums * sizeof(*sums));
		chain = to->sums + page->nrsums;
		if (page->kernel_depth)
			chain = add_kernel_calls(chain, page->kernel_depth, sample);
		for (i = 0; page->depth && i <= page->depth && i <= fake.nrcalls; i++)
			chain[i] = i ? 0x1000 + i :
				   fake.nrcalls < page->depth ? fake.nrcalls : page->depth;
		if (page->stack)
			add_user(chain + (page->depth ? 1 + chain[0] : 0), page->stack);
		/* A child's samples are its own.  CPUs have idle tasks, too. */
		if (!to->pid && s != &of_cpus)
			to->pid = to->tid = (uint32_t)getpid();
		page->dropped += sample->dropped;
		page->head++;
	}
	munmap(page, s->ring_size);
}

static void *next_slot(struct vperfctr_ring_page *page)
{
	return (char *)page + page->data + page->head++ % page->nrsamples * page->sample_size;
}

/* Context: the ring has room. */
static void add_record(struct state *s, int fd, const struct fake_record *from)
{
	struct vperfctr_ring_page *page = ring_of(fd, s->ring_size);
	union {
		struct vperfctr_record r;
		char room[VPERFCTR_RECORD_MAX];
	} u = { .r = {
		.type = from->type, .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid(),
		.tsc = from->tsc, .start = from->start, .end = from->end,
		.major = from->major, .minor = from->minor, .inode = from->inode,
		.parent_pid = (uint32_t)getppid(), .parent_tid = (uint32_t)getppid(),
	} };
	size_t room = page->sample_size, more = room - sizeof(struct vperfctr_more), at, len;
	uint16_t left;
	char *to;

	u.r.size = sizeof(u.r);
	if (*from->text) {
		u.r.text = sizeof(u.r);
		strcpy(u.room + sizeof(u.r), from->text);
		u.r.size += (uint16_t)strlen(from->text) + 1;
	}
	left = u.r.slots = (uint16_t)(u.r.size <= room ? 1 : 1 + (u.r.size - room + more - 1) / more);
	memcpy(next_slot(page), u.room, u.r.size < room ? u.r.size : room);
	for (at = room; at < u.r.size; at += len) {
		len = u.r.size - at < more ? u.r.size - at : more;
		to = next_slot(page);
		*(struct vperfctr_more *)to = (struct vperfctr_more){
			.type = VPERFCTR_RECORD_MORE, .slots = --left,
			.size = (uint16_t)(len + sizeof(struct vperfctr_more)),
		};
		memcpy(to + sizeof(struct vperfctr_more), u.room + at, len);
	}
	page->lost = fake.lost;
	munmap(page, s->ring_size);
}

static bool has_records(struct state *s, int fd)
{
	struct vperfctr_ring_page *page = ring_of(fd, s->ring_size);
	bool has = page->flags & VPERFCTR_RING_RECORDS;

	munmap(page, s->ring_size);
	return has;
}

void fake_sample(const struct vperfctr_sample *sample, const uint64_t *sums)
{
	add_sample(live, fake.state_fd, sample, sums);
}

static bool has_counter(const struct vperfctr_control *c, uint64_t pmcs, uint64_t fixed)
{
	const struct vperfctr_ctr *ctr = (const void *)(uintptr_t)c->ctr;
	unsigned int i;

	for (i = 0; i < c->nractrs + c->nrictrs; i++)
		if ((ctr[i].map & VPERFCTR_FIXED ? fixed : pmcs) >> (ctr[i].map & 63) & 1)
			return true;
	return false;
}

static int state_control(struct state *s, int fd, const struct vperfctr_control *c)
{
	const bool any = c->kind == VPERFCTR_ANY_KIND;
	uint32_t nr = c->nractrs + c->nrictrs, nrall = nr * (any ? c->nrkinds : 1), i;
	uint64_t n;

	if (fake_seen->tries++ < fake.busy_tries)
		return refuse(EBUSY);
	if (fails(FAKE_CONTROL))
		return -1;
	fake_seen->used_pmcs |= fake.late_pmcs;
	fake.late_pmcs = 0;
	if (has_counter(c, fake.info.used_pmcs | fake_seen->used_pmcs, 0))
		return refuse(EADDRINUSE);
	if (c->size != sizeof(*c) || c->reserved || c->ctr_size != sizeof(struct vperfctr_ctr) ||
	    !is_kind(c->kind, c->nrkinds) || (any && (!nr || !c->nrkinds)) ||
	    (!nr && c->kind) || nr > fake.info.nrctrs || nrall > VPERFCTR_MAX_CTRS ||
	    (c->flags & VPERFCTR_CONTROL_RING && (!(c->nrictrs || c->clock_period) || !s->ring_size)) ||
	    (c->clock_period && (!(c->flags & VPERFCTR_CONTROL_RING) || !c->tsc_on ||
				 c->nrictrs || c->clock_period < VPERFCTR_CLOCK_MIN)) ||
	    (c->flags & VPERFCTR_CONTROL_INHERIT && c->nrictrs &&
	     !(c->flags & VPERFCTR_CONTROL_RING)) ||
	    (c->flags & VPERFCTR_CONTROL_SPREAD &&
	     (!(c->flags & VPERFCTR_CONTROL_INHERIT) || (!c->nrictrs && !c->clock_period))))
		return refuse(EINVAL);
	if (s->tid && !is_thread(s->tid, true))
		return refuse(EPERM);
	if (c->flags & VPERFCTR_CONTROL_AFFINITY && !s->tid &&
	    fake.affinity & ~(cpus_of_kind(c->nrkinds == 1 ? 0 : c->kind) & ~fake.siblings))
		return refuse(EUSERS);
	fake_seen->controls++;
	fake_seen->control_flags = c->flags;
	fake_seen->control = *c;
	if (nr)
		memcpy(fake_seen->ctr, (void *)(uintptr_t)c->ctr, nrall * sizeof(s->ctr[0]));
	s->status &= VPERFCTR_STATUS_ATTACHED;
	if (!c->tsc_on && !c->nractrs && !c->nrictrs && !c->soft) {
		s->page.cstatus &= ~(VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC);
		return 0;
	}
	s->control = *c;
	memcpy(s->ctr, (void *)(uintptr_t)c->ctr, nrall * sizeof(s->ctr[0]));
	s->status |= VPERFCTR_STATUS_ACTIVE;
	s->page.cstatus = nr | c->nractrs << 8;
	s->page.tsc_sum = 0;
	for (i = 0; i < nr; i++) {
		s->page.ctr[i].map = s->ctr[i].map;
		s->page.ctr[i].sum = 0;
	}
	/* An exec removes the fake, so the final counts appear at once. */
	if (c->flags & VPERFCTR_CONTROL_START_ON_EXEC && !fake.exec_uncounted) {
		s->page.tsc_sum = fake.exec_tsc;
		for (i = 0; i < nr; i++)
			s->page.ctr[i].sum = fake.no_events ? 0 : 1000000 + i;
		for (n = 0; c->flags & VPERFCTR_CONTROL_RING && n < fake.nrrecords &&
			    has_records(s, fd); n++)
			add_record(s, fd, &fake.records[n]);
		for (n = 0; c->flags & VPERFCTR_CONTROL_RING && n < fake.nrsamples; n++)
			add_sample(s, fd, &fake.samples[n % 4], NULL);
	} else if (s->tid) {
		s->page.tsc_sum = 3000;
		for (i = 0; i < nr; i++)
			s->page.ctr[i].sum = 1000 + i;
	}
	return 0;
}

static void write_control(const struct state *s, struct vperfctr_control *c)
{
	struct vperfctr_ctr *ctr = (struct vperfctr_ctr *)(uintptr_t)c->ctr;

	if (c->size != sizeof(*c) || c->ctr_size != sizeof(*ctr) ||
	    (s->control.nrkinds > 1 && c->nrkinds < s->control.nrkinds))
		abort();
	*c = s->control;
	c->size = sizeof(*c);
	c->ctr = (uintptr_t)ctr;
	memcpy(ctr, s->ctr, (c->nractrs + c->nrictrs) * (c->nrkinds ? c->nrkinds : 1) *
			    sizeof(*ctr));
	if (fake.replaced)
		ctr[0].evntsel ^= 1;
	c->flags ^= fake.replaced_flags;
}

static void write_soft(const struct state *s, struct vperfctr_soft *soft)
{
	unsigned int i;

	if (soft->size != sizeof(*soft))
		abort();
	soft->soft = s->control.soft;
	for (i = 0; i < VPERFCTR_NR_SOFT; i++) {
		const bool has = s->control.soft >> i & 1;

		soft->count[i].own = has ? 2000000 + i : 0;
		soft->count[i].children = has && fake.children &&
			s->control.flags & VPERFCTR_CONTROL_INHERIT ? fake.children + i : 0;
	}
}

/* READ: return the page's sums plus what the owner has counted since the last switch. */
static int state_read(struct state *s, struct vperfctr_read *r)
{
	uint32_t nr = VPERFCTR_CSTATUS_NRCTRS(s->page.cstatus), i;
	uint64_t *sums = (uint64_t *)(uintptr_t)r->sums;
	uint64_t *children = (uint64_t *)(uintptr_t)r->children;
	bool running = s->page.cstatus & VPERFCTR_CSTATUS_RUNNING;

	if (fails(FAKE_READ))
		return -1;
	if (!(r->flags & VPERFCTR_READ_OWNER) && fake.fail_sums && !--fake.fail_sums)
		return (int)refuse(ENOMEM);
	if (r->size != sizeof(*r) ||
	    (r->flags & ~(VPERFCTR_READ_MEMBERS | VPERFCTR_READ_OWNER)))
		return refuse(EINVAL);
	if (r->nrctrs < nr) {
		r->nrctrs = nr;
		return refuse(EOVERFLOW);
	}
	r->nrctrs = nr;
	r->status = s->status | (s->unlinked ? 0 : fake.status);
	if (r->flags & VPERFCTR_READ_OWNER && r->status & VPERFCTR_STATUS_ATTACHED &&
	    !fake.foreign && s->owner == getpid() && s->thread == fake.thread)
		r->status |= VPERFCTR_STATUS_OWNER;
	r->children_missed = fake.children_missed;
	r->overflow = fake.overflow;
	if (r->control)
		write_control(s, (struct vperfctr_control *)(uintptr_t)r->control);
	if (r->soft)
		write_soft(s, (struct vperfctr_soft *)(uintptr_t)r->soft);
	for (i = 0; children && i <= nr; i++)
		children[i] = !(s->control.flags & VPERFCTR_CONTROL_INHERIT) || !fake.children ? 0 :
			      fake.children + (i ? i - 1 : 0);
	if (!sums)
		return 0;
	sums[0] = s->page.tsc_sum;
	if (running && s->page.cstatus & VPERFCTR_CSTATUS_TSC)
		sums[0] += fake.tsc - s->page.tsc_start;
	for (i = 0; i < nr; i++) {
		sums[1 + i] = s->page.ctr[i].sum;
		if (running)
			sums[1 + i] += (fake.reg[i] - s->page.ctr[i].start) & fake.mask;
	}
	return 0;
}

/* ---- CPUs ---------------------------------------------------------------------- */

static struct {
	uint32_t mask[4], nrcpus, nrctrs;
	unsigned int reads;
} counted;

static int dev_open_cpus(struct vperfctr_open_cpus *arg)
{
	const uint32_t *mask = (const uint32_t *)(uintptr_t)arg->mask;
	uint32_t i;

	if (fails(FAKE_OPEN_CPUS))
		return -1;
	if (arg->size != sizeof(*arg) || arg->flags || arg->nrcpus || !arg->nrwords ||
	    arg->nrwords > 4)
		return refuse(EINVAL);
	memset(&counted, 0, sizeof(counted));
	memset(&of_cpus, 0, sizeof(of_cpus));
	for (i = 0; i < arg->nrwords; i++) {
		if (mask[i] & ~(i < fake.nrwords ? fake.cpus[i] : 0))
			return refuse(ENODEV);
		counted.mask[i] = mask[i];
		counted.nrcpus += (uint32_t)__builtin_popcount(mask[i]);
	}
	if (!counted.nrcpus)
		return refuse(EINVAL);
	fake_seen->counted_cpus = mask[0];
	arg->nrcpus = counted.nrcpus;
	return memfd_create(CPUS_NAME, MFD_CLOEXEC);
}

static int cpus_control(int fd, const struct vperfctr_control *c)
{
	uint32_t nr = c->nractrs + c->nrictrs;
	uint64_t n;

	if (fake_seen->tries++ < fake.busy_tries)
		return refuse(EBUSY);
	if (fails(FAKE_CONTROL))
		return -1;
	if (c->flags & ~VPERFCTR_CONTROL_RING || c->soft || c->clock_period || !nr ||
	    !(c->flags & VPERFCTR_CONTROL_RING) != !c->nrictrs ||
	    (c->nrictrs && !of_cpus.ring_size))
		return refuse(EINVAL);
	fake_seen->controls++;
	fake_seen->control = *c;
	memcpy(fake_seen->ctr, (void *)(uintptr_t)c->ctr, nr * sizeof(*fake_seen->ctr));
	counted.nrctrs = nr;
	counted.reads = 0;
	for (n = 0; c->nrictrs && n < fake.nrsamples; n++)
		add_sample(&of_cpus, fd, &fake.samples[n % 4], NULL);
	return 0;
}

static int cpus_ring(int fd, struct vperfctr_ring *r)
{
	return r->flags & VPERFCTR_RING_RECORDS ? refuse(EOPNOTSUPP) : state_ring(&of_cpus, fd, r);
}

static int cpus_read(struct vperfctr_read_cpus *r)
{
	struct vperfctr_cpu *cpu = (struct vperfctr_cpu *)(uintptr_t)r->cpus;
	uint64_t *sums = (uint64_t *)(uintptr_t)r->sums;
	uint32_t room = r->nrcpus, ctrs = r->nrctrs, i, k;
	bool off;

	if (fails(FAKE_READ_CPUS))
		return -1;
	r->nrcpus = counted.nrcpus;
	r->nrctrs = counted.nrctrs;
	if (room < r->nrcpus || ctrs < r->nrctrs)
		return refuse(EOVERFLOW);
	counted.reads++;
	for (i = 0; i < 128; i++) {
		if (!(counted.mask[i / 32] >> i % 32 & 1))
			continue;
		off = i < 32 && fake.offline >> i & 1;
		*cpu = (struct vperfctr_cpu){ i, off ? VPERFCTR_CPU_STATUS_OFFLINE : VPERFCTR_CPU_STATUS_COUNTS };
		if (i < 32 && fake.was_offline >> i & 1)
			cpu->status |= VPERFCTR_CPU_STATUS_OFFLINE;
		if (i < 32 && fake.broken >> i & 1)
			cpu->status = VPERFCTR_CPU_STATUS_FAILED;
		cpu++;
		*sums++ = off ? 0 : counted.reads * UINT64_C(2000000);
		for (k = 0; k < counted.nrctrs; k++)
			*sums++ = off ? 0 : counted.reads * (UINT64_C(1000) * (i + 1) + k);
	}
	return 0;
}

static int cpus_ioctl(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case VPERFCTR_CONTROL:
		return cpus_control(fd, arg);
	case VPERFCTR_RING:
		return cpus_ring(fd, arg);
	case VPERFCTR_CONSUME:
		return state_consume(&of_cpus, fd, (uintptr_t)arg);
	case VPERFCTR_READ_CPUS:
		return cpus_read(arg);
	case VPERFCTR_SUSPEND:
		return fails(FAKE_SUSPEND) ? -1 : 0;
	default:
		return refuse(ENOTTY);
	}
}

static int state_simple(struct state *s, enum fake_call call, uintptr_t arg)
{
	if (fails(call))
		return -1;
	if (arg)
		return refuse(EINVAL);
	if (s->tid && !is_thread(s->tid, true))
		return refuse(EPERM);
	if (call == FAKE_UNLINK) {
		s->status &= ~(uint32_t)VPERFCTR_STATUS_ATTACHED;
		s->unlinked = true;
		fake_seen->unlinks++;
	}
	if (call == FAKE_IRESUME) {
		if (!fake.overflow)
			return refuse(ENODATA);
		fake.overflow = 0;
	}
	return 0;
}

/* Describe the device, and the counters that states of the owner have, as far as tests say it. */
static int state_info(const struct state *s, struct vperfctr_info *arg)
{
	const bool attached = s->status & VPERFCTR_STATUS_ATTACHED;

	if (dev_info(arg))
		return -1;
	arg->used_pmcs = attached ? fake.used_pmcs : 0;
	arg->used_fixed = attached ? fake.used_fixed : 0;
	arg->own_pmcs = arg->own_fixed = 0;
	return 0;
}

static int state_ioctl(struct state *s, int fd, unsigned long request, void *arg)
{
	switch (request) {
	case VPERFCTR_INFO:
		return state_info(s, arg);
	case VPERFCTR_CONTROL:
		return state_control(s, fd, arg);
	case VPERFCTR_RING:
		return state_ring(s, fd, arg);
	case VPERFCTR_CONSUME:
		return state_consume(s, fd, (uintptr_t)arg);
	case VPERFCTR_IRESUME:
		return state_simple(s, FAKE_IRESUME, (uintptr_t)arg);
	case VPERFCTR_READ:
		return state_read(s, arg);
	case VPERFCTR_SUSPEND:
		return state_simple(s, FAKE_SUSPEND, (uintptr_t)arg);
	case VPERFCTR_RESUME:
		return state_simple(s, FAKE_RESUME, (uintptr_t)arg);
	case VPERFCTR_UNLINK:
		return state_simple(s, FAKE_UNLINK, (uintptr_t)arg);
	default:
		return refuse(ENOTTY);
	}
}

/* Sets are not made: the call fails, if for no other reason then as in a module without it. */
static int dev_attach(struct vperfctr_attach *arg)
{
	const struct vperfctr_control *control = (const void *)(uintptr_t)arg->control;

	if (fails(FAKE_ATTACH))
		return -1;
	if (!has_counter(control, fake.used_pmcs, fake.used_fixed))
		return refuse(ENOTTY);
	arg->used_pmcs = fake.used_pmcs;
	arg->used_fixed = fake.used_fixed;
	return refuse(EADDRINUSE);
}

static int dev_ioctl(unsigned long request, void *arg)
{
	switch (request) {
	case VPERFCTR_INFO:
		return dev_info(arg);
	case VPERFCTR_CPUS:
		return dev_cpus(arg, false);
	case VPERFCTR_KIND_CPUS:
		return dev_kind_cpus(arg);
	case VPERFCTR_CPUS_FORBIDDEN:
		return dev_cpus(arg, true);
	case VPERFCTR_OPEN:
		return dev_open(arg);
	case VPERFCTR_OPEN_CPUS:
		return dev_open_cpus(arg);
	case VPERFCTR_ATTACH:
		return dev_attach(arg);
	default:
		return refuse(ENOTTY);
	}
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct state *s;
	va_list ap;
	void *arg;
	int ret, err;
	bool own;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (is_fd(fd, DEVICE_NAME))
		return dev_ioctl(request, arg);
	if (is_fd(fd, CPUS_NAME))
		return cpus_ioctl(fd, request, arg);
	/* A file of others may take any call for its own. */
	if (is_fd(fd, FAKE_STRANGER))
		return 0;
	if (!is_fd(fd, STATE_NAME))
		return __real_ioctl(fd, request, arg);
	s = state_of(fd);
	ret = state_ioctl(s, fd, request, arg);
	err = errno;
	own = !s->tid;
	munmap(s, STATE_SIZE);
	errno = err;
	/* After UNLINK the thread can have a new state. */
	if (!ret && own && request == VPERFCTR_UNLINK && fake.state_fd >= 0) {
		close(fake.state_fd);
		fake.state_fd = -1;
	}
	return ret;
}

/* ---- processor and scheduler ------------------------------------------------------ */

void fake_step(void)
{
	unsigned int step = fake.steps++;

	if (fake.on_step)
		fake.on_step(step);
}

/* A test can interrupt before and after the read: the value may be old when it is used. */
uint64_t fake_rdpmc_ordered(uint32_t map)
{
	uint64_t value;

	fake_step();
	if (map < FAKE_MAP_BASE || map - FAKE_MAP_BASE >= VPERFCTR_MAX_CTRS)
		abort();	/* #GP */
	fake.rdpmcs++;
	value = fake.reg[map - FAKE_MAP_BASE];
	fake_step();
	return value;
}

/* The processor may execute it before instructions before it have ended. */
uint64_t fake_rdpmc(uint32_t map)
{
	uint64_t value = fake_rdpmc_ordered(map);

	return (value - fake.rdpmcs * 7 % (fake.early + 1)) & fake.mask;
}

uintptr_t fake_thread(void)
{
	return fake.thread;
}

uint64_t fake_rdtsc_ordered(void)
{
	uint64_t value;

	fake_step();
	fake.rdtscs++;
	value = fake.tsc;
	fake_step();
	return value;
}

uint64_t fake_rdtsc(void)
{
	uint64_t value = fake_rdtsc_ordered();

	return value - fake.rdtscs * 7 % (fake.early + 1);
}

struct vperfctr_page *fake_page(void)
{
	return &live->page;
}

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	if (!fake_seen)
		fake_seen = __real_mmap64(NULL, sizeof(*fake_seen), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(fake_seen, 0, sizeof(*fake_seen));
	fake.state_fd = -1;
	fake.thread = 0x7f1234567890;
	fake.page_version = VPERFCTR_ABI_VERSION;
	fake.ring_format = VPERFCTR_RING_FORMAT;
	fake.nrkinds = 1;
	fake.affinity = 0xf;
	fake.exec_tsc = 3000000;
	fake.nrwords = 3;
	fake.cpus[0] = 0x0000000f;
	fake.cpus[1] = 0x80000001;
	fake.cpus[2] = 0x00000001;
	fake.mask = (UINT64_C(1) << 48) - 1;
	fake.info = (struct vperfctr_info){
		.size = sizeof(fake.info),
		.abi_version = VPERFCTR_ABI_VERSION,
		.features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			    VPERFCTR_FEATURE_INHERIT | VPERFCTR_FEATURE_KERNEL |
			    VPERFCTR_FEATURE_PCINT | VPERFCTR_FEATURE_ANY_KIND |
			    VPERFCTR_FEATURE_INHERIT_IMODE | VPERFCTR_FEATURE_RECORDS |
			    VPERFCTR_FEATURE_CLOCK | VPERFCTR_FEATURE_CPUS |
			    VPERFCTR_FEATURE_SPREAD,
		.cpu_type = VPERFCTR_CPU_INTEL_ARCH,
		.tsc_khz = 2000000,
		.arch_events = 0x7f,
		.nrctrs = 7,
		.pmc_width = 48,
		.fixed_width = 48,
		.pmc_mask = 0xf,
		.fixed_mask = 0x7,
		.driver_version = "0.1",
		.cpu_name = "Fake",
		.max_period = (UINT64_C(1) << 31) - 1,
		.min_period = 1,
	};
}

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void resume(uint32_t flags)
{
	struct vperfctr_page *page = fake_page();
	uint32_t nr = VPERFCTR_CSTATUS_NRCTRS(page->cstatus), i;

	for (i = 0; i < nr; i++)
		page->ctr[i].start = fake.reg[i];
	page->tsc_start = fake.tsc;
	page->cstatus = (page->cstatus & 0xffff) | flags;
	page->samplecount++;
}

static void suspend(void)
{
	struct vperfctr_page *page = fake_page();
	uint32_t nr = VPERFCTR_CSTATUS_NRCTRS(page->cstatus), i;

	if (!(page->cstatus & VPERFCTR_CSTATUS_RUNNING)) {
		page->samplecount++;
		return;
	}
	for (i = 0; i < nr; i++)
		page->ctr[i].sum += (fake.reg[i] - page->ctr[i].start) & fake.mask;
	if (page->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += fake.tsc - page->tsc_start;
	page->samplecount++;
}

/* Other threads use the hardware and leave arbitrary values in the counters. */
static void others_run(void)
{
	uint32_t i;

	/* Odd counters are about to wrap. */
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		fake.reg[i] = i & 1 ? fake.mask - (noise() & 0xff) : noise() & fake.mask;
	fake.tsc += noise() >> 16;
}

void fake_run(unsigned int nr, bool tsc_on)
{
	struct vperfctr_page *page = fake_page();
	unsigned int i;

	others_run();
	page->mask = fake.mask;
	page->cstatus = nr | nr << 8;
	for (i = 0; i < nr; i++) {
		page->ctr[i].map = FAKE_MAP_BASE + i;
		/* All differ and are wider than 48 bits, so that a test finds confused values. */
		page->ctr[i].sum = fake.counted[i] = (i + 1) * UINT64_C(0x1000000000000) + i;
	}
	page->tsc_sum = fake.tsc_counted = tsc_on ? 77 : 0;
	resume(VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC |
	       (tsc_on ? VPERFCTR_CSTATUS_TSC : 0));
}

void fake_count(uint64_t delta)
{
	const struct vperfctr_page *page = fake_page();
	uint32_t nr = VPERFCTR_CSTATUS_NRCTRS(page->cstatus), i;
	bool running = page->cstatus & VPERFCTR_CSTATUS_RUNNING;

	/* While the thread is suspended, the registers advance for others. */
	for (i = 0; i < nr; i++) {
		fake.reg[i] = (fake.reg[i] + delta) & fake.mask;
		fake.counted[i] += running ? delta : 0;
	}
	fake.tsc += delta;
	if (running && page->cstatus & VPERFCTR_CSTATUS_TSC)
		fake.tsc_counted += delta;
}

void fake_switch_to(uint64_t delta, uint32_t cstatus_flags)
{
	fake_count(delta);
	suspend();
	others_run();
	resume(cstatus_flags);
	/* Make start differ from the counter. */
	fake_count(delta / 3);
}

void fake_switch(uint64_t delta)
{
	fake_switch_to(delta, fake_page()->cstatus & 0xffff0000);
}
