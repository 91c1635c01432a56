# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f suites.awk suites [FILE]
#
# Print the table of suites without comments, and with the lines of a group in place of
# "use GROUP".  FILE is one more suite, without a section header: it becomes [FILE].

function fail(text)
{
	print FILENAME ":" FNR ": " text > "/dev/stderr"
	failed = 1
	exit 1
}

# The lines of a section, groups resolved.
function lines_of(name, depth,    n, i, line, words)
{
	if (depth > 9) {
		print "suites: [" name "] uses itself" > "/dev/stderr"
		exit failed = 1
	}
	n = count[name]
	for (i = 1; i <= n; i++) {
		line = text[name, i]
		if (split(line, words) == 2 && words[1] == "use") {
			if (!(("group " words[2]) in count)) {
				print "suites: [" name "]: no group " words[2] > "/dev/stderr"
				exit failed = 1
			}
			lines_of("group " words[2], depth + 1)
		} else {
			print line
		}
	}
}

FNR == 1 && NR != 1 {
	section = "FILE"
	order[++sections] = section
	count[section] = 0
}

{
	sub(/[ \t]*#.*/, "")
	sub(/[ \t]+$/, "")
}

/^$/ { next }

/^\[.*\]$/ {
	if (FNR != NR)
		fail("a suite file has no sections")
	section = substr($0, 2, length($0) - 2)
	if (section in count)
		fail("[" section "] is there twice")
	count[section] = 0
	if (section !~ /^group /)
		order[++sections] = section
	next
}

{
	if (section == "")
		fail("a line before the first section")
	text[section, ++count[section]] = $0
}

END {
	if (failed)
		exit 1
	for (i = 1; i <= sections; i++) {
		print "[" order[i] "]"
		lines_of(order[i], 0)
	}
}
