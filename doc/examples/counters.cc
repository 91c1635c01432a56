// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of a thread as a C++ object, which compares the costs of two containers.
 *
 *	c++ -O2 -o counters counters.cc -lvperfctr-event -lvperfctr
 */
#include <cstring>
#include <iostream>
#include <list>
#include <stdexcept>
#include <string>
#include <vector>
#include <vperfctr-event.h>

class Counters {
public:
	/* For the calling thread: no other may use the object. */
	explicit Counters(const std::vector<std::string> &names) : events(names.size())
	{
		std::vector<struct vperfctr_ctr> ctr(names.size());
		const unsigned int nr = static_cast<unsigned int>(names.size());
		/* "struct", as there are functions with the same names. */
		struct vperfctr_control control;
		struct vperfctr_info info;
		struct vperfctr_why why;

		check(vperfctr_info(&info, 0), "no counters");
		for (unsigned int i = 0; i < nr; i++)
			if (vperfctr_event(&events[i], names[i].c_str(), &info, &why))
				throw std::runtime_error(why.text);
		if (vperfctr_event_assign(ctr.data(), events.data(), nr, &info, &why))
			throw std::runtime_error(why.text);
		check(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT), "cannot open");
		vperfctr_control_init(&control, ctr.data());
		for (const struct vperfctr_ctr &c : ctr)
			vperfctr_control_add_ctr(&control, &c);
		int err = vperfctr_control(v, &control);
		if (err) {
			vperfctr_close(v);
			check(err, "cannot count");
		}
	}

	~Counters()
	{
		vperfctr_close(v);
	}

	Counters(const Counters &) = delete;
	Counters &operator=(const Counters &) = delete;

	/* Return how many of each event f() causes. */
	template<typename F> std::vector<uint64_t> count(F f) const
	{
		std::vector<uint64_t> counts(events.size());
		struct vperfctr_region region;

		check(vperfctr_region_init(&region, v, static_cast<unsigned int>(events.size())),
		      "cannot calibrate");
		vperfctr_region_begin(&region);
		f();
		check(vperfctr_region_end(&region), "cannot read");
		for (unsigned int i = 0; i < counts.size(); i++)
			counts[i] = vperfctr_region_pmc(&region, i);
		return counts;
	}

	const char *name(std::size_t i) const
	{
		return events[i].name;
	}

private:
	static void check(int err, const std::string &what)
	{
		if (err)
			throw std::runtime_error(what + ": " + std::strerror(-err));
	}

	std::vector<struct vperfctr_event> events;
	struct vperfctr *v = nullptr;
};

template<typename C> static void fill()
{
	C container;

	for (int i = 0; i < 1000; i++)
		container.push_back(i);
}

int main()
{
	try {
		Counters counters({ "instructions:u", "cycles:u" });
		auto vector = counters.count(fill<std::vector<int>>);
		auto list = counters.count(fill<std::list<int>>);

		for (std::size_t i = 0; i < vector.size(); i++)
			std::cout << counters.name(i) << ": vector " << vector[i]
				  << ", list " << list[i] << '\n';
	} catch (const std::exception &e) {
		std::cerr << "counters: " << e.what() << '\n';
		return 1;
	}
}
