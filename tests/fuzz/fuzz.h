/* SPDX-License-Identifier: GPL-2.0 */
/* Each target defines this; libFuzzer, or without-libfuzzer.c, calls it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
