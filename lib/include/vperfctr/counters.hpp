/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The counters of a thread as C++ objects, in C++14 and later.  Link with
 * -lvperfctr-event -lvperfctr.
 *
 *	vperf::counters c("instructions:u,cycles:u");
 *	auto before = c.read<2>();
 *	...
 *	auto after = c.read<2>();
 *
 * The namespace is vperf, as the C headers have a structure called vperfctr.  Objects throw
 * vperf::error, whose what() has the reason and whose code() has the error number.  Comments
 * in <vperfctr.h> and <vperfctr-event.h> at the C functions of the same names say more.
 *
 * counters and region belong to the thread that made them, like the C handles: another
 * thread gets EPERM.
 */
#ifndef VPERFCTR_COUNTERS_HPP
#define VPERFCTR_COUNTERS_HPP

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include <vperfctr-event.h>

namespace vperf {

class error : public std::system_error {
public:
	/* err is a negative error number, as the C functions return them. */
	error(int err, const std::string &reason)
		: std::system_error(-err, std::generic_category(), reason), text(reason) { }

	const char *what() const noexcept override
	{
		return text.c_str();
	}

private:
	std::string text;
};

/* Throw if a C function has returned an error. */
inline void check(int err, const char *call)
{
	if (__builtin_expect(err != 0, 0))
		throw error(err, std::string(call) + ": " +
			    std::generic_category().message(-err));
}

/*
 * Counts the thread that makes it, until it is destroyed: vperfctr_count().  Do not move from or
 * assign to counters of which a pause exists: a move ends the pauses of both.
 */
class counters {
public:
	explicit counters(const std::string &names, unsigned int flags = 0)
	{
		struct vperfctr_why why;

		/* The C library would see the names up to there. */
		if (names.find('\0') != std::string::npos)
			throw error(-EINVAL, "a name has a NUL");

		int err = vperfctr_count(&v, names.c_str(), flags, &why);

		if (err)
			throw error(err, why.text);
		for (nr = 0; vperfctr_counter_name(v, nr); nr++)
			;
	}

	counters(counters &&from) noexcept
		: v(std::exchange(from.v, nullptr)), nr(std::exchange(from.nr, 0)),
		  suspended(std::exchange(from.suspended, false))
	{
		/* The pauses know the other object. */
		if (from.pauses && !suspended)
			vperfctr_resume(v);
		from.end_pauses();
	}

	/* The old counters end. */
	counters &operator=(counters &&from) noexcept
	{
		counters taken(std::move(from));

		std::swap(v, taken.v);
		std::swap(nr, taken.nr);
		std::swap(suspended, taken.suspended);
		end_pauses();
		return *this;
	}

	counters(const counters &) = delete;
	counters &operator=(const counters &) = delete;

	~counters()
	{
		vperfctr_close(v);
	}

	/* The number of counters: names of software events are none. */
	unsigned int size() const noexcept
	{
		return nr;
	}

	/* The name of counter i, or NULL. */
	const char *name(unsigned int i) const noexcept
	{
		return vperfctr_counter_name(v, i);
	}

	/* VPERFCTR_BACKEND_MODULE or VPERFCTR_BACKEND_PERF. */
	unsigned int backend() const noexcept
	{
		return vperfctr_backend(v);
	}

	/* Read the first N counters.  The code is inline. */
	template<unsigned int N> std::array<uint64_t, N> read() const
	{
		std::array<uint64_t, N> sums;

		check(vperfctr_read(v, nullptr, sums.data(), N), "vperfctr_read");
		return sums;
	}

	std::vector<uint64_t> read_all() const
	{
		std::vector<uint64_t> sums(nr);

		check(vperfctr_read(v, nullptr, sums.data(), nr), "vperfctr_read");
		return sums;
	}

	/* Read counter i. */
	uint64_t read(unsigned int i) const
	{
		uint64_t sum;

		check(vperfctr_read_pmc(v, i, &sum), "vperfctr_read_pmc");
		return sum;
	}

	uint64_t read_tsc() const
	{
		uint64_t ticks;

		check(vperfctr_read_tsc(v, &ticks), "vperfctr_read_tsc");
		return ticks;
	}

	/* Read a software event, VPERFCTR_SOFT_*. */
	uint64_t read_soft(uint64_t soft) const
	{
		uint64_t sum;

		check(vperfctr_read_soft(v, soft, &sum), "vperfctr_read_soft");
		return sum;
	}

	/* This also ends a suspend() and all pauses. */
	void reset()
	{
		check(vperfctr_reset(v), "vperfctr_reset");
		end_pauses();
		suspended = false;
	}

	void suspend()
	{
		check(vperfctr_suspend(v), "vperfctr_suspend");
		suspended = true;
	}

	/* This also ends all pauses. */
	void resume()
	{
		check(vperfctr_resume(v), "vperfctr_resume");
		end_pauses();
		suspended = false;
	}

	/* The handle, for the C functions.  The object still owns it. */
	struct vperfctr *get() const noexcept
	{
		return v;
	}

private:
	friend class pause;

	void end_pauses() noexcept
	{
		pauses = 0;
		age++;
	}

	struct vperfctr *v = nullptr;
	unsigned int nr = 0;
	unsigned int pauses = 0;	/* that have not ended */
	uint64_t age = 0;		/* of pauses: those of another one have ended */
	bool suspended = false;		/* by suspend() */
};

/* Suspends the counting while it exists.  Pauses may nest: the counting resumes after the last. */
class pause {
public:
	explicit pause(counters &of) : c(of), age(of.age)
	{
		if (!c.pauses && !c.suspended)
			check(vperfctr_suspend(c.v), "vperfctr_suspend");
		c.pauses++;
	}

	~pause()
	{
		/* A resume or reset has ended all pauses of that time. */
		if (age != c.age)
			return;
		/* The call fails only if the counting has ended. */
		if (!--c.pauses && !c.suspended)
			vperfctr_resume(c.v);
	}

	pause(const pause &) = delete;
	pause &operator=(const pause &) = delete;

private:
	counters &c;
	const uint64_t age;
};

/*
 * The counts of a piece of code, less the cost of the two reads around it: see "regions" in
 * <vperfctr.h>.  The counters must exist as long as the region.
 */
class region {
public:
	explicit region(const counters &c)
	{
		check(vperfctr_region_init(&r, c.get(), c.size()), "vperfctr_region_init");
	}

	/* These would end before the region. */
	explicit region(const counters &&) = delete;
	region(const region &) = delete;
	region &operator=(const region &) = delete;

	void begin()
	{
		vperfctr_region_begin(&r);
	}

	void end()
	{
		check(vperfctr_region_end(&r), "vperfctr_region_end");
	}

	/* Call f() between begin and end.  An exception of f() ends the pass, too. */
	template<typename F> void count(F &&f)
	{
		struct pass {
			struct vperfctr_region *r;

			~pass()
			{
				if (r)
					vperfctr_region_end(r);
			}
		} p = { &r };

		vperfctr_region_begin(&r);
		f();
		p.r = nullptr;
		check(vperfctr_region_end(&r), "vperfctr_region_end");
	}

	/* The count of counter i in all passes. */
	uint64_t operator[](unsigned int i) const noexcept
	{
		return vperfctr_region_pmc(&r, i);
	}

	uint64_t tsc() const noexcept
	{
		return vperfctr_region_tsc(&r);
	}

	uint64_t passes() const noexcept
	{
		return vperfctr_region_passes(&r);
	}

	uint64_t disturbed() const noexcept
	{
		return vperfctr_region_disturbed(&r);
	}

private:
	struct vperfctr_region r;
};

} /* namespace vperf */

#endif /* VPERFCTR_COUNTERS_HPP */
