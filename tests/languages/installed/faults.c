// SPDX-License-Identifier: GPL-2.0
/* Count the page faults of touching 1000 pages, and what the same with 2000 adds to that. */
#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vperfctr-event.h>

static uint64_t faults_of(struct vperfctr *v, size_t pages)
{
	const size_t size = pages * sysconf(_SC_PAGESIZE);
	uint64_t before, after;
	size_t i;
	char *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
		err(1, "mmap");
	vperfctr_read_soft(v, VPERFCTR_SOFT_PAGE_FAULTS, &before);
	for (i = 0; i < pages; i++)
		p[i * sysconf(_SC_PAGESIZE)] = 1;
	vperfctr_read_soft(v, VPERFCTR_SOFT_PAGE_FAULTS, &after);
	munmap(p, size);
	return after - before;
}

int main(void)
{
	struct vperfctr_why why;
	struct vperfctr *v;
	uint64_t few;

	if (vperfctr_count(&v, "page-faults", 0, &why))
		errx(1, "%s", why.text);
	faults_of(v, 10);
	few = faults_of(v, 1000);
	printf("%d\n", (int)(faults_of(v, 2000) - few));
	vperfctr_close(v);
	return 0;
}
