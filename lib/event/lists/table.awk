# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: LC_ALL=C awk -f table.awk sources mapfile.csv facts
#
# Print ../counter-lists.h, from what "extract" has written.

function hex(text,    i, n)
{
	n = 0
	for (i = 1; i <= length(text); i++)
		n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}

function fail(text)
{
	print "table.awk: " text > "/dev/stderr"
	failed = 1
	exit 1
}

function bits(a, b, any,    bit, n, in_a, in_b)
{
	n = 0
	for (bit = 1; bit <= a || bit <= b; bit *= 2) {
		in_a = int(a / bit) % 2
		in_b = int(b / bit) % 2
		if (any ? in_a || in_b : in_a && in_b)
			n += bit
	}
	return n
}

# Return what comes before row n of an array.
function separator(n, per_line)
{
	return n % per_line ? " " : "\n\t"
}

# Return the text of an array, or use the array of an earlier list that is the same.
function declare(type, what, id, text)
{
	if (text == "")
		return "NULL"
	if (!((type, text) in names)) {
		names[type, text] = what "_" id
		printf "\nstatic const struct %s %s_%s[] = {%s\n};\n", type, what, id, text
	}
	return names[type, text]
}

# Print the arrays of a list, and append its line to all.
function print_list(list,    part, id, event, umask, general, mask, with, i, n, plain,
		    row, text, special, nr_events, nr_special)
{
	split(list, part, " ")
	id = part[1]
	gsub(/-/, "_", id)
	if (part[2] != "0")
		id = id "_" part[2]
	text = special = ""
	nr_events = nr_special = 0
	for (event = 0; event < 256; event++) {
		if (!((list, event) in umasks))
			continue
		general = 65535
		for (umask = 0; umask < 256; umask++)
			if ((list, event, umask) in common)
				general = bits(general, common[list, event, umask], 0)
		row = sprintf("{ 0x%02x, 0x%02x, 0x%02x }", event, umasks[list, event], general)
		text = text separator(nr_events++, 4) row ","
		for (umask = 0; umask < 256; umask++) {
			if (!((list, event, umask) in common))
				continue
			mask = common[list, event, umask]
			# The lists name no counter for all variants: each is a row of its own.
			if (!mask) {
				n = split(variants[list, event, umask], with, " ")
				plain = 0
				for (i = 1; i <= n; i++) {
					if (with[i] == "0") {
						plain = 1
						continue
					}
					row = sprintf("{ 0x%02x, 0x%02x, 0x%02x, 0x%s }", event, umask,
						      facts[list, event, umask, with[i]], with[i])
					special = special separator(nr_special++, 3) row ","
				}
				if (!plain)
					fail(list ": no plain variant of " event)
				mask = facts[list, event, umask, "0"]
			}
			if (mask == general)
				continue
			row = sprintf("{ 0x%02x, 0x%02x, 0x%02x, 0 }", event, umask, mask)
			special = special separator(nr_special++, 3) row ","
		}
	}
	text = declare("listed_event", "events", id, text)
	special = declare("listed_umask", "umasks", id, special)
	all = all sprintf("\n\t{ \"%s\", 0x%s, %d, %d, %s, %s },", part[1],
			  part[2] == "0" ? "00" : part[2], nr_events, nr_special, text, special)
}

# Print the models of a family that a pattern of mapfile.csv matches.
function print_models(family, pattern, list,    model, stepping, id, steppings, any)
{
	for (model = 0; model < 256; model++) {
		id = sprintf("GenuineIntel-%d-%X", family, model)
		steppings = 0
		any = id ~ ("^(" pattern ")$")
		for (stepping = 0; stepping < 16; stepping++)
			if (any || sprintf("%s-%X", id, stepping) ~ ("^(" pattern ")$"))
				steppings += 2 ^ stepping
		if (steppings)
			printf "\t{ %d, 0x%02x, 0x%04x, \"%s\" },\n", family, model, steppings, list
	}
}

FILENAME ~ /sources$/ {
	version[$1] = $2
	sum[$1] = $3
}

FILENAME ~ /mapfile.csv$/ && /^GenuineIntel-[0-9]+-/ {
	split($0, part, ",")
	split(part[1], word, "-")
	pattern[++nr_patterns] = part[1]
	pattern_family[nr_patterns] = word[2]
	pattern_list[nr_patterns] = part[3]
}

FILENAME ~ /facts$/ {
	list = $1 " " $2
	event = hex($3)
	umask = hex($4)
	mask = hex($6)
	if (list != lists[nr_lists])
		lists[++nr_lists] = list
	umasks[list, event] = bits(umasks[list, event] + 0, umask, 1)
	if ((list, event, umask) in common)
		common[list, event, umask] = bits(common[list, event, umask], mask, 0)
	else
		common[list, event, umask] = mask
	variants[list, event, umask] = variants[list, event, umask] " " $5
	facts[list, event, umask, $5] = mask
}

END {
	if (failed)
		exit 1
	print "/* SPDX-License-Identifier: LGPL-2.1-or-later */"
	print "/*"
	print " * Which general counters can count the events of Intel's lists.  Made by lists/table.awk:"
	print " * do not edit, run \"make event-lists\"."
	print " *"
	print " * The facts are those of Intel's lists, which perf has: tools/perf/pmu-events/arch/x86"
	printf " * of Linux %s (field Counter) and %s (field CounterHTOff).\n", version["NEW"], version["OLD"]
	print " * SHA-256 of the files there, one after the other in the order of their names:"
	print " *"
	printf " *\t%s\n *\t%s\n", sum["NEW"], sum["OLD"]
	print " */"
	for (i = 1; i <= nr_lists; i++)
		print_list(lists[i])
	printf "\nstatic const struct counter_list counter_lists[] = {%s\n};\n", all
	print "\nstatic const struct listed_model listed_models[] = {"
	for (i = 1; i <= nr_patterns; i++)
		print_models(pattern_family[i], pattern[i], pattern_list[i])
	print "};"
}
