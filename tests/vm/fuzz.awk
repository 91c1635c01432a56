# SPDX-License-Identifier: GPL-2.0
#
# Print a round of a log of tests/guest/fuzz.c as a test in C: see fuzz.

# word(at, size): a little-endian number in the data, in hexadecimal
function word(at, size,    text)
{
	while (size--)
		text = text substr(data, 2 * (at + size) + 1, 2)
	sub(/^0+/, "", text)
	return text == "" ? "0" : text
}

# control(): print the fields of a control as a comment, for the reader of the test
function control(    n, i, at)
{
	printf "\t/* flags %s, tsc_on %s, %s a-mode, %s i-mode, signal %s, clock_period %s\n",
	       word(4, 4), word(8, 4), word(12, 4), word(16, 4), word(20, 4), word(80, 8)
	n = length(data) / 2
	for (at = 88; at + 32 <= n; at += 32)
		printf "\t *\tmap %s, evntsel %s, aux %s, ireset %s\n", word(at, 4), word(at + 8, 8),
		       word(at + 16, 8), word(at + 24, 8)
	print "\t */"
}

BEGIN {
	print "// SPDX-License-Identifier: GPL-2.0"
	print "/* A round of fuzz.c: numbers are hexadecimal in the comments. */"
	print "#include \"fuzz-step.h\"\n#include \"suite.h\"\n"
	print "static const struct step steps[] = {"
}

{
	split($1, name, ".")
	data = $7 == "-" ? "" : $7
	if ($2 == "CONTROL")
		control()
	printf "\t{ %d, OP_%s, %d, 0x%s, 0x%s, 0x%s, %d,", name[3], $2, $3, $4, $5, $6, length(data) / 2
	for (at = 0; at == 0 || at < length(data); at += 32) {
		printf "\n\t  \""
		for (i = at; i < at + 32 && i < length(data); i += 2)
			printf "\\x%s", substr(data, i + 1, 2)
		printf "\""
	}
	print " },"
}

END {
	print "};\n"
	print "START_TEST(does_no_harm)\n{"
	print "\tint status = replay_steps(steps, sizeof(steps) / sizeof(steps[0]));"
	print "\tconst char *why;\n"
	print "\tck_assert_msg(!round_failed(status), \"the round ended with status %d\", status);"
	print "\twhy = why_not_exact(0);"
	print "\tck_assert_msg(!why, \"%s\", why);"
	print "}\nEND_TEST\n"
	print "static void add_tests(TCase *tc)\n{\n\ttcase_add_test(tc, does_no_harm);\n}\n"
	print "int main(void)\n{\n\topen_device();"
	printf "\treturn run_tests(\"round %s\", add_tests);\n}\n", round
}
