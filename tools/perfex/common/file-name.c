// SPDX-License-Identifier: GPL-2.0
/* -o with %h, %p and %r: a file for each host, process and rank. */
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"

/*
 * Return: the number of this process among those of a parallel program, or NULL.  Starters
 * set these.  SLURM_PROCID is also that of a script which calls mpirun, so it comes last.
 */
static const char *find_rank(void)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
	};
	const char *value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = getenv(names[i]);
		if (value && *value && strlen(value) < 12 && strspn(value, "0123456789") == strlen(value))
			return value;
	}
	return NULL;
}

/* Print what stands for %c.  Return: false: it stands for itself. */
static bool print_place(FILE *f, char c, bool *missing)
{
	char host[256] = "";
	const char *rank;

	switch (c) {
	case 'h':
		gethostname(host, sizeof(host) - 1);
		/* The name is no path. */
		for (rank = host; *rank; rank++)
			putc(*rank == '/' ? '_' : *rank, f);
		return true;
	case 'p':
		fprintf(f, "%d", (int)getpid());
		return true;
	case 'r':
		rank = find_rank();
		*missing |= !rank;
		fputs(rank ? rank : "", f);
		return true;
	case '%':
		putc('%', f);
		return true;
	default:
		return false;
	}
}

int file_name(char **name, const char *pattern, struct error *e)
{
	bool missing = false;
	const char *p;
	size_t size;
	FILE *f;

	*name = NULL;
	f = open_memstream(name, &size);
	if (!f)
		return fail_with(e, "out of memory");
	for (p = pattern; *p; p++) {
		if (*p == '%' && p[1] && print_place(f, p[1], &missing))
			p++;
		else
			putc(*p, f);
	}
	fclose(f);
	if (!*name)
		return fail_with(e, "out of memory");
	if (missing)
		return fail_with(e, "%%r in '%.200s' is the rank in a parallel program, and mpirun or srun has not started this perfex",
				 pattern);
	return 0;
}
