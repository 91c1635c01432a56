// SPDX-License-Identifier: GPL-2.0
/* Check the objects of <vperfctr/counters.hpp>, by the page faults of a thread. */
#include <dirent.h>
#include <iostream>
#include <memory>
#include <sys/mman.h>
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

/* True if the page faults of touching a new page count. */
static bool runs(const vperf::counters &c)
{
	const size_t size = 1 << 20;
	const uint64_t before = c.read_soft(VPERFCTR_SOFT_PAGE_FAULTS);
	void *page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*static_cast<volatile char *>(page) = 1;
	munmap(page, size);
	return c.read_soft(VPERFCTR_SOFT_PAGE_FAULTS) != before;
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
		check("to itself", c.get() == v && runs(c));
	}
	check("the end", descriptors() == none);
}

/* The counting resumes after the last pause. */
static void test_pauses()
{
	vperf::counters c("page-faults");

	check("it counts", runs(c));
	{
		vperf::pause outer(c);
		{
			vperf::pause inner(c);
			check("two pauses", !runs(c));
		}
		check("the outer pause", !runs(c));
	}
	check("after pauses", runs(c));
	c.suspend();
	{
		vperf::pause pause(c);
	}
	check("suspended before and after a pause", !runs(c));
	c.resume();
	check("resumed", runs(c));
	{
		vperf::pause outer(c);
		c.resume();
		check("a resume ends pauses", runs(c));
		{
			vperf::pause inner(c);
			check("a pause after it", !runs(c));
		}
		check("its end", runs(c));
	}
	check("the end of an ended pause", runs(c));
	{
		vperf::pause outer(c);
		c.reset();
		check("a reset ends pauses", runs(c));
	}
	{
		vperf::pause pause(c);
		check("a pause after a reset", !runs(c));
	}
	check("its end, too", runs(c));
}

/* The end of a pause that has ended already ends no later one. */
static void test_ended_pause()
{
	vperf::counters c("page-faults");
	auto first = std::make_unique<vperf::pause>(c);

	c.reset();
	{
		vperf::pause second(c);

		first.reset();
		check("a pause beyond the end of an ended one", !runs(c));
	}
	check("then it counts", runs(c));
}

/* A move ends pauses of both objects. */
static void test_moves_in_pauses()
{
	vperf::counters from("page-faults"), to("page-faults");

	{
		vperf::pause of_from(from), of_to(to);

		to = std::move(from);
		check("a move ends pauses", runs(to));
		vperf::pause pause(to);
		check("a pause after it", !runs(to));
	}
	check("the end of all three", runs(to));
	to.suspend();
	{
		vperf::pause pause(to);
		vperf::counters last(std::move(to));

		check("what is suspended remains so", !runs(last));
		last.resume();
		check("until it is resumed", runs(last));
	}
}

/* The C library would see the names up to the NUL. */
static void test_names()
{
	try {
		vperf::counters c(std::string("page-faults\0,task-clock", 23));

		check("a name with a NUL", false);
	} catch (const vperf::error &e) {
		check("a name with a NUL is refused", e.code().value() == EINVAL);
	}
}

int main()
{
	try {
		test_names();
		test_moves();
		test_pauses();
		test_moves_in_pauses();
		test_ended_pause();
	} catch (const vperf::error &e) {
		std::cerr << e.what() << '\n';
		return 1;
	}
}
