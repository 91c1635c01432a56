// SPDX-License-Identifier: GPL-2.0
/* Each rank of an MPI program touches 1000 * (rank + 1) pages, of which each faults once. */
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE	4096

int main(int argc, char **argv)
{
	int rank, size, sum = 0;
	size_t length;
	char *p;
	size_t i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	length = (size_t)PAGE * 1000 * (size_t)(rank + 1);
	p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return EXIT_FAILURE;
	madvise(p, length, MADV_NOHUGEPAGE);
	for (i = 0; i < length; i += PAGE)
		p[i] = 1;
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return sum == size * (size - 1) / 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
