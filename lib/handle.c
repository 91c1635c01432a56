// SPDX-License-Identifier: LGPL-2.1-or-later
/* Open and close handles. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "mapping.h"

/*
 * This page sends each reader to the kernel.  RUNNING keeps a read from using the sums
 * of this page.  Without RDPMC and TSC it does not use the start values either.
 */
const struct vperfctr_page __vperfctr_no_page = {
	.cstatus = VPERFCTR_CSTATUS_RUNNING,
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int map_page(struct vperfctr_handle *h)
{
	void *page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, h->fd, 0);
	int err;

	if (page == MAP_FAILED)
		return -errno;
	h->pub.page = (const struct vperfctr_page *)page;
	err = __vperfctr_abi_check(h->pub.page->version);
	if (err) {
		munmap(page, page_size());
		return err;
	}
	__vperfctr_this_process(&h->mapper);
	h->pub.thread = __vperfctr_thread();
	return 0;
}

int __vperfctr_new_handle(struct vperfctr **v, int fd, int map)
{
	struct vperfctr_handle *h = (struct vperfctr_handle *)malloc(sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	memset(h, 0, sizeof(*h));
	h->pub.page = &__vperfctr_no_page;
	h->pub.ring = &__vperfctr_no_ring;
	h->fd = fd;
	if (map) {
		err = map_page(h);
		if (err) {
			free(h);
			return err;
		}
	}
	*v = &h->pub;
	return 0;
}

static int open_state(pid_t tid, unsigned int flags, const struct vperfctr_control *control)
{
	struct vperfctr_open arg = {
		.size = sizeof(arg),
		.tid = tid,
		.flags = flags,
		.control = (uintptr_t)control,
	};
	int dev, ret;

	do {
		dev = __vperfctr_device_get();
		if (dev < 0)
			return dev;
		ret = __vperfctr_control_call(dev, VPERFCTR_OPEN, &arg, control);
	} while (__vperfctr_device_put(dev, ret));
	return ret;
}

static int open_handle(struct vperfctr **v, pid_t tid, unsigned int flags,
		       const struct vperfctr_control *control)
{
	const bool map = !(flags & VPERFCTR_OPEN_NOMAP);
	int fd, err;

	*v = NULL;
	for (;;) {
		fd = open_state(tid, flags & ~VPERFCTR_OPEN_NOMAP, control);
		if (fd < 0)
			return fd;
		/* That a page can be mapped shows that the answer was the module's; else look. */
		if (!map && !__vperfctr_device_holds())
			continue;
		err = __vperfctr_new_handle(v, fd, map);
		if (!err || __vperfctr_device_holds())
			break;
	}
	if (err) {
		/* Do not leave a state behind that this call has made. */
		if (flags & VPERFCTR_OPEN_CREAT)
			__vperfctr_ioctl(fd, VPERFCTR_UNLINK, NULL);
		close(fd);
	}
	return err;
}

int vperfctr_open(struct vperfctr **v, unsigned int flags)
{
	return open_handle(v, 0, flags, NULL);
}

int vperfctr_open_control(struct vperfctr **v, const struct vperfctr_control *control,
			  unsigned int flags)
{
	return open_handle(v, 0, flags | VPERFCTR_OPEN_CREAT, control);
}

/*
 * Open without the page, by which only the owner can read.  A monitor's state must not outlive
 * the monitor unless that is wanted.
 */
int vperfctr_open_tid(struct vperfctr **v, pid_t tid, unsigned int flags)
{
	if ((flags & VPERFCTR_OPEN_CREAT) && !(flags & VPERFCTR_OPEN_KEEP))
		flags |= VPERFCTR_OPEN_TRANSIENT;
	return open_handle(v, tid, flags | VPERFCTR_OPEN_NOMAP, NULL);
}

int vperfctr_open_fd(struct vperfctr **v, int fd, unsigned int flags)
{
	struct vperfctr_read probe = {
		.size = sizeof(probe),
		.nrctrs = VPERFCTR_MAX_CTRS,
		.flags = VPERFCTR_READ_OWNER,
	};
	int err;

	*v = NULL;
	if (flags & ~VPERFCTR_FD_MAP)
		return -EINVAL;
	err = __vperfctr_ioctl(fd, VPERFCTR_READ, &probe);
	if (err == -ENOTTY && !flags && __vperfctr_count_cpus(fd) > 0)
		err = 0;
	if (!err && (flags & VPERFCTR_FD_MAP) && !(probe.status & VPERFCTR_STATUS_OWNER))
		err = probe.status & VPERFCTR_STATUS_ATTACHED ? -EPERM : -ESRCH;
	if (err)
		return err;
	return __vperfctr_new_handle(v, fd, flags & VPERFCTR_FD_MAP);
}

int __vperfctr_set_names(struct vperfctr *v, const char *names)
{
	struct vperfctr_handle *h = to_handle(v);
	char *copy = strdup(names), *p;

	if (!copy)
		return -ENOMEM;
	h->nrnames = *copy ? 1 : 0;
	for (p = copy; (p = strchr(p, ',')); h->nrnames++)
		*p++ = '\0';
	free(h->names);
	h->names = copy;
	return 0;
}

const char *vperfctr_counter_name(const struct vperfctr *v, unsigned int i)
{
	const struct vperfctr_handle *h = to_const_handle(v);
	const char *name = h->names;

	if (i >= h->nrnames)
		return NULL;
	while (i--)
		name += strlen(name) + 1;
	return name;
}

unsigned int vperfctr_backend(const struct vperfctr *v)
{
	return to_const_handle(v)->perf ? VPERFCTR_BACKEND_PERF : VPERFCTR_BACKEND_MODULE;
}

int vperfctr_fd(const struct vperfctr *v)
{
	return to_const_handle(v)->fd;
}

void vperfctr_close(struct vperfctr *v)
{
	struct vperfctr_handle *h = to_handle(v);

	if (!h)
		return;
	free(h->names);
	if (h->perf) {
		/* The handle's descriptor is one of its events. */
		__vperfctr_perf_close(h->perf);
		free(h);
		return;
	}
	if (__vperfctr_is_this_process(&h->mapper) ||
	    (h->mapper.pid && __vperfctr_is_state_mapped(h->pub.page)))
		munmap((void *)h->pub.page, page_size());
	__vperfctr_ring_unmap(h);
	close(h->fd);
	free(h);
}
