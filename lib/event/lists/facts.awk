# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: awk -f facts.awk OLD/NAME/FILE.json... NEW/NAME/FILE.json...
#
# Print which general counters count each event of Intel's lists, in hexadecimal:
#
#	NAME CORE EVENT UMASK WITH COUNTERS
#
# NAME is the list's directory.  CORE is bits 31-24 of CPUID leaf 1AH EAX, or 0 if all
# cores are alike.  WITH has those of the bits edge (18), inv (23) and cmask (24-31) that
# the list demands.  Events of fixed counters are left out.
#
# The files have one key in each line.  NEW has the field Counter.  For processors that
# have eight counters for a core and four for each of two hyper-threads, it names four.
# OLD has the field CounterHTOff in addition: the counters without hyper-threading.

function hex(text,    i, n, digit)
{
	text = tolower(text)
	sub(/^0x/, "", text)
	n = 0
	for (i = 1; i <= length(text); i++) {
		digit = index("0123456789abcdef", substr(text, i, 1))
		if (!digit)
			fail("no number: " text)
		n = 16 * n + digit - 1
	}
	return n
}

function number(text)
{
	return text ~ /^0[xX]/ ? hex(text) : text + 0
}

function fail(text)
{
	print FILENAME ":" FNR ": " text > "/dev/stderr"
	failed = 1
	exit 1
}

function both(a, b,    bit, n)
{
	n = 0
	for (bit = 1; bit <= a && bit <= b; bit *= 2)
		if (int(a / bit) % 2 && int(b / bit) % 2)
			n += bit
	return n
}

# Return a mask of the counters in "0,1,2,3", or 0 if they are fixed ones.
function counters(text,    i, n, list, mask)
{
	if (text ~ /Fixed/)
		return 0
	n = split(text, list, /, */)
	mask = 0
	for (i = 1; i <= n; i++) {
		if (list[i] !~ /^[0-9]+$/)
			fail("no counters: " text)
		# perf's numbers of fixed counters
		if (list[i] >= 32)
			return 0
		mask += 2 ^ list[i]
	}
	return mask
}

# Call put() for each code of the event that has been read.
function put_event(    i, n, list, with, umask)
{
	if (!("EventName" in field) || !("Counter" in field))
		return
	core = 0
	if ("Unit" in field) {
		if (field["Unit"] == "cpu_core")
			core = 64
		else if (field["Unit"] == "cpu_atom")
			core = 32
		else
			return
	}
	umask = "UMask" in field ? number(field["UMask"]) : 0
	with = number(field["CounterMask"]) * 2 ^ 24 + (field["Invert"] ? 2 ^ 23 : 0) + \
	       (field["EdgeDetect"] ? 2 ^ 18 : 0)
	n = split(field["EventCode"], list, /, */)
	for (i = 1; i <= n; i++)
		put(number(list[i]), umask, with)
	# On Atoms and Xeon Phi, unit mask 02H selects the other register of off-core responses.
	if (n == 1 && number(list[1]) == 183 && umask == 1 && field["MSRIndex"] ~ /1[aA]7/)
		put(183, 2, with)
}

function put(event, umask, with,    mask, key)
{
	# With UMASK2, bits 40 to 47 of the event select, which the kernel refuses.
	if (umask > 255)
		return
	if (event > 255)
		fail(field["EventName"] ": too long a code")
	mask = counters(field["Counter"])
	if (!mask)
		return
	key = sprintf("%s %x %x %x %x", name, core, event, umask, with)
	if ("CounterHTOff" in field) {
		mask = counters(field["CounterHTOff"])
		if (key in more)
			mask = both(more[key], mask)
		more[key] = mask
		return
	}
	if (old)
		return
	if (mask == 15 && key in more)
		mask = more[key]
	if (key in found)
		mask = both(found[key], mask)
	found[key] = mask
}

FNR == 1 {
	n = split(FILENAME, path, "/")
	name = path[n - 1]
	old = path[n - 2] == "OLD"
}

/^ *\{/ { split("", field) }

/^ *"[A-Za-z]+": "/ {
	key = $0
	sub(/^ *"/, "", key)
	sub(/".*/, "", key)
	value = $0
	sub(/^ *"[A-Za-z]+": "/, "", value)
	sub(/",? *$/, "", value)
	field[key] = value
}

/^ *\}/ { put_event() }

END {
	if (failed)
		exit 1
	for (key in found)
		printf "%s %x\n", key, found[key]
}
