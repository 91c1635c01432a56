# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f suites.awk suites [FILE]
#
# Print the table of suites without comments, each setting and program on a line of its own, with
# the lines of a group in place of "use GROUP", and a section for each word of [NAME on WORD, ...].
# FILE is one more suite, without a section header: it becomes [FILE].

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

# Begin the section of that name.  Its lines have this word in place of *.
function begin(name, word)
{
	if (name in count)
		fail("[" name "] is there twice")
	count[name] = 0
	if (name !~ /^group /)
		order[++sections] = name
	now[++begun] = name
	in_place[begun] = word
}

# Add a line to the sections that the last header has begun.
function add(line,    i, own)
{
	for (i = 1; i <= begun; i++) {
		own = line
		if (in_place[i] != "")
			gsub(/\*/, in_place[i], own)
		text[now[i], ++count[now[i]]] = own
	}
}

# Add what stands between two semicolons: "run A, B" is two lines.
function add_all(part,    n, i, programs, word)
{
	sub(/^[ \t]+/, "", part)
	sub(/[ \t]+$/, "", part)
	if (part !~ /^(run|inner) /) {
		if (part != "")
			add(part)
		return
	}
	word = part
	sub(/ .*/, "", word)
	sub(/^[a-z]+ +/, "", part)
	n = split(part, programs, / *, */)
	for (i = 1; i <= n; i++)
		add(word " " programs[i])
}

FNR == 1 && NR != 1 {
	begun = 0
	begin("FILE", "")
}

{
	sub(/[ \t]*#.*/, "")
	sub(/[ \t]+$/, "")
}

/^$/ { next }

/^\[.*\]$/ {
	if (FNR != NR)
		fail("a suite file has no sections")
	header = substr($0, 2, length($0) - 2)
	begun = 0
	if (!match(header, / on /)) {
		begin(header, "")
		next
	}
	name = substr(header, 1, RSTART - 1)
	n = split(substr(header, RSTART + 4), words, / *, */)
	for (i = 1; i <= n; i++) {
		section = name ~ /\*/ ? name : name "-*"
		gsub(/\*/, words[i], section)
		begin(section, words[i])
	}
	if (name !~ /\*/)
		add("processor=*")
	next
}

{
	if (!begun)
		fail("a line before the first section")
	n = split($0, parts, /;/)
	for (i = 1; i <= n; i++)
		add_all(parts[i])
}

END {
	if (failed)
		exit 1
	for (i = 1; i <= sections; i++) {
		print "[" order[i] "]"
		lines_of(order[i], 0)
	}
}
