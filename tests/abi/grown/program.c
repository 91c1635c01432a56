// SPDX-License-Identifier: GPL-2.0
/*
 * A program for libraries that may have been compiled with another version of the headers.
 * Memory that it does not give to the library must not change, and no field that the library
 * does not know may have a value.  The program has its own kernel, of a later version than all:
 * it fills in all bytes that a structure has by its size.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vperfctr-event.h>

#define GUARD	64
#define GUARDED	0xa5
#define FILLED	0x5a

static int failed;

static void check(int ok, const char *what, int line)
{
	if (!ok)
		printf("line %d: not true: %s\n", line, what);
	failed |= !ok;
}

#define CHECK(what)	check(what, #what, __LINE__)

/* ---- the kernel ---------------------------------------------------------------------- */

static struct vperfctr_control got;	/* the last control */
static struct vperfctr_ctr got_ctr[4];

/* Fill in what a later kernel has behind the known fields. */
static void fill(void *to, size_t size, size_t known)
{
	if (size > known)
		memset((char *)to + known, FILLED, size - known);
}

static int new_fd(void)
{
	const struct vperfctr_page page = { .version = VPERFCTR_ABI_VERSION };
	const struct vperfctr_ring_page ring = { .format = VPERFCTR_RING_FORMAT };
	int fd = memfd_create("state", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, VPERFCTR_RING_OFFSET + 8192) ||
	    pwrite(fd, &page, sizeof(page), 0) != sizeof(page) ||
	    pwrite(fd, &ring, sizeof(ring), VPERFCTR_RING_OFFSET) != sizeof(ring))
		exit(2);
	return fd;
}

int open(const char *path, int flags, ...)
{
	return strcmp(path, "/dev/vperfctr") ? openat(AT_FDCWD, path, flags) : new_fd();
}

static int get_info(struct vperfctr_info *info)
{
	fill(info, info->size, 232);
	info->abi_version = VPERFCTR_ABI_VERSION;
	info->cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	info->features = VPERFCTR_FEATURE_KERNEL | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_ANY_KIND;
	info->nrkinds = 2;
	info->nrctrs = info->kind ? 5 : 7;
	info->pmc_mask = info->kind ? 0x7 : 0xf;
	info->fixed_mask = 0x7;
	info->arch_events = 0x7f;
	info->soft = 0x1f;
	return 0;
}

static int make_ring(struct vperfctr_ring *ring)
{
	fill(ring, ring->size, 48);
	ring->sample_size = 64;
	ring->map_size = 8192;
	return 0;
}

static int set_control(const struct vperfctr_control *control)
{
	unsigned int i;

	got = *control;
	for (i = 0; i < 4 && i < control->nractrs + control->nrictrs; i++)
		got_ctr[i] = *(const struct vperfctr_ctr *)
			((const char *)(uintptr_t)control->ctr + i * control->ctr_size);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	(void)fd;
	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	switch (request) {
	case VPERFCTR_INFO:
		return get_info(arg);
	case VPERFCTR_OPEN:
		return new_fd();
	case VPERFCTR_CONTROL:
		return set_control(arg);
	case VPERFCTR_READ:
		fill(arg, *(uint32_t *)arg, 64);
		return 0;
	case VPERFCTR_READ_CPUS:
		fill(arg, *(uint32_t *)arg, 32);
		return 0;
	case VPERFCTR_RING:
		return make_ring(arg);
	case VPERFCTR_ATTACH:
		make_ring((void *)(uintptr_t)((struct vperfctr_attach *)arg)->ring);
		return new_fd();
	case VPERFCTR_CPUS:
		((struct vperfctr_cpu_mask *)arg)->nrwords = 1;
		((struct vperfctr_cpu_mask *)arg)->mask[0] = 3;
		return 0;
	default:
		errno = EINVAL;
		return -1;
	}
}

/* ---- guarded structures -------------------------------------------------------------- */

/* Return `size` bytes of zeros, with guards around them. */
static void *guarded(size_t size)
{
	char *at = malloc(size + 2 * GUARD);

	if (!at)
		exit(2);
	memset(at, GUARDED, size + 2 * GUARD);
	return memset(at + GUARD, 0, size);
}

static int is_filled(const void *from, size_t size, int c)
{
	const unsigned char *at = from;

	while (size && at[size - 1] == c)
		size--;
	return !size;
}

static int is_guarded(const void *from, size_t size)
{
	return is_filled((const char *)from - GUARD, GUARD, GUARDED) &&
	       is_filled((const char *)from + size, GUARD, GUARDED);
}

#define NEW(type, nr)		((type *)guarded((nr) * sizeof(type)))
#define CHECK_GUARDS(p, nr)	CHECK(is_guarded(p, (nr) * sizeof(*(p))))
#ifdef GROWN
#define CHECK_NEWER(p, c)	CHECK(is_filled((p)->newer, sizeof((p)->newer), c))
#else
#define CHECK_NEWER(p, c)
#endif

/* ---- the calls ----------------------------------------------------------------------- */

static void try_calls(struct vperfctr *v, struct vperfctr *attached)
{
	struct vperfctr_read *read = NEW(struct vperfctr_read, 1);
	struct vperfctr_read_cpus *cpus = NEW(struct vperfctr_read_cpus, 1);
	struct vperfctr_ring *ring = NEW(struct vperfctr_ring, 1);
	struct vperfctr_ring *other = NEW(struct vperfctr_ring, 1);
	struct vperfctr_attached *found = NEW(struct vperfctr_attached, 1);
	struct vperfctr_region *region = NEW(struct vperfctr_region, 1);
	struct vperfctr_info *info = NEW(struct vperfctr_info, 1);
	struct vperfctr_control *control = NEW(struct vperfctr_control, 1);
	struct vperfctr_ctr *ctr = NEW(struct vperfctr_ctr, 1);
	struct vperfctr_cpu_mask *mask;

	CHECK(!vperfctr_read_state(v, read));
	CHECK_GUARDS(read, 1);
	CHECK_NEWER(read, FILLED);
	CHECK(read->size == sizeof(*read));
	CHECK(!vperfctr_read_cpus(v, cpus));
	CHECK_GUARDS(cpus, 1);
	CHECK(!vperfctr_ring_open(v, ring));
	CHECK_GUARDS(ring, 1);
	CHECK(ring->sample_size == 64);
	vperfctr_region_init(region, v, 0);
	CHECK_GUARDS(region, 1);
	CHECK(!vperfctr_cpus(&mask) && mask->mask[0] == 3);
	CHECK(!vperfctr_info_of(info, v, 1));
	CHECK_GUARDS(info, 1);
	CHECK_NEWER(info, FILLED);
	CHECK(info->size == sizeof(*info) && info->nrctrs == 5);

	vperfctr_control_init(control, ctr);
	vperfctr_control_add_imode(control, 3, 4, 5);
	CHECK(!vperfctr_control(v, control));
	CHECK(got.size == sizeof(*control) && got.ctr_size == sizeof(*ctr));
	CHECK(got_ctr[0].map == 3 && got_ctr[0].ireset == -5);
	control->flags = VPERFCTR_CONTROL_RING;
	CHECK(!vperfctr_attach_ring(&attached, 0, control, other, NULL, 0));
	CHECK_GUARDS(other, 1);
	vperfctr_close(attached);
	CHECK(!vperfctr_attach_beside(&attached, 0, control, other, found, 0));
	CHECK_GUARDS(found, 1);
	CHECK_NEWER(found, 0);
	CHECK_GUARDS(other, 1);
	CHECK_GUARDS(control, 1);
	CHECK_GUARDS(ctr, 1);
	vperfctr_close(attached);
}

/* The functions that other languages call instead of those of the header. */
static void try_exported(struct vperfctr *v)
{
	struct vperfctr_control *control = NEW(struct vperfctr_control, 1);
	struct vperfctr_ctr *ctr = NEW(struct vperfctr_ctr, 4), table[2] = { { 0 } };
	void (*init)(struct vperfctr_control *to, size_t size, struct vperfctr_ctr *array,
		     size_t ctr_size) = dlsym(RTLD_DEFAULT, "vperfctr_control_init_sized");
	int (*add)(struct vperfctr_control *to, uint32_t map, uint64_t evntsel) =
		dlsym(RTLD_DEFAULT, "vperfctr_control_add");
	int (*add_ctr)(struct vperfctr_control *to, const struct vperfctr_ctr *from) =
		dlsym(RTLD_DEFAULT, "vperfctr_control_add_ctr");
	void (*add_kind)(struct vperfctr_control *to, const struct vperfctr_ctr *from) =
		dlsym(RTLD_DEFAULT, "vperfctr_control_add_kind");

	CHECK(init && add && add_ctr && add_kind);
	if (!init || !add || !add_ctr || !add_kind)
		return;
	table[0].map = 20;
	table[1].map = 21;
	table[1].aux = 210;
	init(control, sizeof(*control), ctr, sizeof(*ctr));
	add(control, 10, 100);
	add_ctr(control, &table[1]);
	add_kind(control, table);
	CHECK_GUARDS(control, 1);
	CHECK_GUARDS(ctr, 4);
	CHECK(ctr[0].map == 10 && ctr[0].evntsel == 100 && ctr[1].map == 21 && ctr[1].aux == 210);
	CHECK(ctr[2].map == 20 && ctr[3].map == 21 && ctr[3].aux == 210);
	CHECK(!vperfctr_control(v, control) && got.nractrs == 2 && got.nrkinds == 2);
	CHECK(got.size == sizeof(*control) && got.ctr_size == sizeof(*ctr));
}

static int see(const struct vperfctr_event *event, const char *description, void *arg)
{
	unsigned int *nr = arg;

	(void)description;
	CHECK(*event->name);
	CHECK_NEWER(event, 0);
	(*nr)++;
	return 0;
}

static void try_events(void)
{
	struct vperfctr_info *info = NEW(struct vperfctr_info, 2);
	struct vperfctr_event *event = NEW(struct vperfctr_event, 3);
	struct vperfctr_ctr *ctr = NEW(struct vperfctr_ctr, 3), *all = NEW(struct vperfctr_ctr, 4);
	struct vperfctr_control *control = NEW(struct vperfctr_control, 1);
	struct vperfctr_why why = { "" };
	unsigned int nr = 0;

	CHECK(!vperfctr_info(&info[0], 0));
	CHECK(!vperfctr_info(&info[1], 1));
	CHECK_GUARDS(info, 2);
	CHECK_NEWER(&info[0], FILLED);
	CHECK(info->size == sizeof(*info) && info->nrctrs == 7 && info[1].nrctrs == 5);
	vperfctr_event_common(info, 2);
	CHECK_GUARDS(info, 2);
	CHECK(info[0].nrctrs == 5 && info[0].pmc_mask == 7 && info[1].kind == 1);
	if (vperfctr_event(&event[0], "branches:u", info, &why) ||
	    vperfctr_event(&event[1], "cs", info, &why) ||
	    vperfctr_event(&event[2], "r010e@2", info, &why))
		CHECK(!*why.text);
	CHECK_GUARDS(event, 3);
	CHECK_NEWER(&event[2], 0);
	CHECK(event[1].soft && event[2].general == 4);
	CHECK(!vperfctr_event_assign(ctr, event, 3, info, &why));
	CHECK_GUARDS(ctr, 3);
	CHECK(ctr[0].evntsel && !ctr[1].evntsel && ctr[2].map == 2);
	CHECK_NEWER(&ctr[2], 0);
	CHECK(!vperfctr_event_list(info, see, &nr) && nr > 100);

	CHECK(!vperfctr_event_control(control, all, 1, "branches:u", 0, &why));
	CHECK(control->size == sizeof(*control) && control->ctr_size == sizeof(*all));
	CHECK(control->ctr == (uintptr_t)all && control->nractrs == 1);
	CHECK(vperfctr_event_control(control, all, 3, "branches:u,r010e@2", VPERFCTR_ANY_KIND,
				     &why) == -EOVERFLOW);
	CHECK_GUARDS(control, 1);
	CHECK_GUARDS(all, 4);
#ifdef GROWN
	/* An old library cannot do what it does not know; a later one may. */
	event[1].newer[1] = 1;
	nr = (unsigned int)-vperfctr_event_assign(ctr, event, 3, info, &why);
	CHECK(nr == 0 || nr == E2BIG);
#endif
}

/*
 * Without perf_event, or without the right to use it, the calls fail.  The events are not started:
 * there is no ioctl() for them.
 */
static void try_perf(void)
{
	struct vperfctr_perf_place *place = NEW(struct vperfctr_perf_place, 1);
	struct vperfctr_perf_groups *groups = NEW(struct vperfctr_perf_groups, 1);
	const int any = -1;
	const pid_t me = 0;
	struct vperfctr_why why;
	struct vperfctr *v;
	int err;

	place->tid = &me;
	place->cpu = &any;
	place->nrtids = place->nrcpus = 1;
	err = vperfctr_perf_open_at(&v, "task-clock", place, VPERFCTR_PERF_STOPPED, &why);
	CHECK(!err || err == -ENODEV);
	if (!err) {
		CHECK(!vperfctr_perf_descriptors(v, groups));
		CHECK(groups->nrgroups == 1 && groups->nrevents == 1 && groups->fd);
		vperfctr_close(v);
	}
	CHECK_GUARDS(groups, 1);
	CHECK_NEWER(groups, 0);
#ifdef GROWN
	place->newer[1] = 1;
	err = vperfctr_perf_open_at(&v, "task-clock", place, VPERFCTR_PERF_STOPPED, &why);
	CHECK(err == -E2BIG || !err || err == -ENODEV);
#endif
	CHECK_GUARDS(place, 1);
}

int main(void)
{
	struct vperfctr *v, *attached = NULL;

	if (vperfctr_open(&v, VPERFCTR_OPEN_CREAT)) {
		CHECK(!"vperfctr_open()");
		return 1;
	}
	try_calls(v, attached);
	try_exported(v);
	try_events();
	try_perf();
	vperfctr_close(v);
	return failed;
}
