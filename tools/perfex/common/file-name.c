// SPDX-License-Identifier: GPL-2.0
/*
 * Names of files: those of -o, with %h, %p and %r for each host, process and rank; and those of
 * programs.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static bool is_executable(const char *path)
{
	struct stat st;

	return !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) && !stat(path, &st) && S_ISREG(st.st_mode);
}

bool find_program(char *path, size_t size, const char *name)
{
	const char *dir = getenv("PATH");
	size_t length;
	int n;

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size && is_executable(path);
	for (dir = dir ? dir : "/bin:/usr/bin";; dir += length + 1) {
		length = strcspn(dir, ":");
		n = snprintf(path, size, "%.*s%s%s", (int)length, dir, length ? "/" : "", name);
		if (n < (int)size && is_executable(path))
			return true;
		if (!dir[length])
			return false;
	}
}
