// SPDX-License-Identifier: GPL-2.0
/* Check the objects of <vperfctr/counters.hpp>, by the page faults of a thread. */
#include <dirent.h>
#include <iostream>
#include <type_traits>
#include <vperfctr/counters.hpp>

static_assert(!std::is_constructible<vperf::region, vperf::counters>::value,
	      "the counters would end before the region");

static void check(const char *what, bool good)
{
	std::cout << what << (good ? ": good\n" : ": bad\n");
}

static int descriptors()
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* An assignment ends the old counters. */
static void test_moves()
{
	const int none = descriptors();

	{
		vperf::counters c("page-faults");
		const int one = descriptors();
		vperf::counters other("page-faults"), &self = c;
		const vperfctr *v = other.get();

		c = std::move(other);
		check("an assignment ends what was counted", descriptors() == one);
		check("and moves", c.get() == v && !other.get());
		c = std::move(self);
		check("to itself", c.get() == v && c.read_soft(VPERFCTR_SOFT_PAGE_FAULTS) > 0);
	}
	check("the end", descriptors() == none);
}

int main()
{
	try {
		test_moves();
	} catch (const vperf::error &e) {
		std::cerr << e.what() << '\n';
		return 1;
	}
}
