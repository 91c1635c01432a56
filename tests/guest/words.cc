// SPDX-License-Identifier: GPL-2.0
/*
 * A usual program in C++, whose profile two profilers must agree on: it counts words in maps,
 * sorts them and joins them.
 */
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace words {

class Source {
public:
	[[gnu::noinline]] std::string next();

private:
	std::uint32_t state = 1;

	[[gnu::noinline]] std::uint32_t draw(std::uint32_t below);
};

std::uint32_t Source::draw(std::uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 16) % below;
}

std::string Source::next()
{
	std::string word;

	for (std::uint32_t left = 3 + draw(8); left; left--)
		word += static_cast<char>('a' + draw(4));
	return word;
}

template <typename Map>
[[gnu::noinline]] void count(Map &counts, const std::vector<std::string> &all)
{
	for (const auto &word : all)
		counts[word]++;
}

struct ByLength {
	[[gnu::noinline]] bool operator()(const std::string &a, const std::string &b) const
	{
		return a.size() != b.size() ? a.size() < b.size() : a < b;
	}
};

[[gnu::noinline]] std::uint64_t checksum(const std::vector<std::string> &all)
{
	std::uint64_t sum = 0;

	for (const auto &word : all)
		for (char c : word)
			sum = sum * 31 + static_cast<unsigned char>(c);
	return sum;
}

} // namespace words

int main()
{
	words::Source source;
	std::vector<std::string> all;
	std::map<std::string, int> tree;
	std::unordered_map<std::string, int> table;

	for (int i = 0; i < 20000; i++)
		all.push_back(source.next());
	words::count(tree, all);
	words::count(table, all);
	std::sort(all.begin(), all.end(), words::ByLength());
	std::cout << tree.size() << ' ' << table.size() << ' ' << words::checksum(all) << '\n';
}
