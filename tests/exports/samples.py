#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: samples.py PROGRAM FILE [plain]	write a file of perfex --sample: in four functions of
#						PROGRAM are 10, 20, 30 and 40 % of the samples, with
#						their callers, or plain

import struct
import subprocess
import sys

program, name = sys.argv[1:3]
chains = sys.argv[3:] != ["plain"]
symbols = {}
for line in subprocess.check_output(["nm", program], text=True).splitlines():
    fields = line.split()
    if len(fields) == 3:
        symbols[fields[2]] = int(fields[0], 16)

# See tools/perfex/record/sample-file.h.
HEADER = struct.Struct("<8sIIIIII64s")
EVENT = struct.Struct("<IIQQ")
TASK = struct.Struct("<IIQ")
MAPPING = struct.Struct("<IIQQQQIIQ")
SAMPLE = struct.Struct("<IIIIIIQQQQ")
END = struct.Struct("<QQQQQQQ")

out = open(name, "wb")
out.write(HEADER.pack(b"perfexS\n", 2, HEADER.size, 1, 1000000, chains, 0, b"a processor"))


def record(kind, data, text=None):
    if text is not None:
        data += text.encode() + b"\0"
    data += b"\0" * (-len(data) % 8)
    out.write(struct.pack("<II", kind, 8 + len(data)) + data)


record(1, b"", "calls x")
record(6, EVENT.pack(0, 0, 10007, 0), "instructions:u")
record(10, TASK.pack(20, 20, 1), "calls")
record(8, MAPPING.pack(20, 20, 2, 0x400000, 0x404000, 0, 0, 0, 0), program)
tsc = 1000000
for share, function in enumerate(("ten", "twenty", "thirty", "forty"), 1):
    for n, caller in enumerate(("left", "middle", "right"), 1):
        for _ in range(10 * share * n):
            tsc += 1000
            calls = struct.pack("<QQ", symbols[caller] + 8, symbols["main"] + 8) if chains else b""
            record(7, SAMPLE.pack(SAMPLE.size + len(calls), 1, 20, 20, 0, len(calls) // 8,
                                  symbols[function] + 1, tsc, 1, 0) + calls)
record(5, END.pack(600, 0, 0, 10**9, 10**9, 1, 600 * 10007))
