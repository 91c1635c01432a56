/* SPDX-License-Identifier: GPL-2.0 */
/* Where the code of a program is in its file, which is in the test's directory. */
#ifndef CODE_PLACES_H
#define CODE_PLACES_H

#include "perfex-command.h"

/* Return: the hexadecimal number that a command prints. */
static inline uint64_t hex_of(const char *command)
{
	char line[512];
	FILE *f;

	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	f = popen(line, "r");
	ck_assert_msg(fgets(line, sizeof(line), f), "%s", command);
	pclose(f);
	return strtoul(line, NULL, 16);
}

/* Return: the offset of an address of the file's code. */
static inline uint64_t offset_of_address(const char *file, uint64_t address)
{
	char command[256];
	uint64_t segment, offset;

	snprintf(command, sizeof(command), "readelf -lW %s | awk '$1 == \"LOAD\" && / R E / { print $3 }'", file);
	segment = hex_of(command);
	snprintf(command, sizeof(command), "readelf -lW %s | awk '$1 == \"LOAD\" && / R E / { print $2 }'", file);
	offset = hex_of(command);
	return address - segment + offset;
}

/* Return: the offset of the first function whose name matches awk's condition on $3. */
static inline uint64_t offset_of_symbol(const char *file, const char *condition)
{
	char command[256];

	snprintf(command, sizeof(command), "nm --plugin none %s | awk '$3 %s { print $1; exit }'", file, condition);
	return offset_of_address(file, hex_of(command));
}

#endif /* CODE_PLACES_H */
