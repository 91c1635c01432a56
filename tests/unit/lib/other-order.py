#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: other-order.py FILE	write a file of perfex --sample as a machine of the other byte
#				order would have written it

import struct
import sys

HEADER = {1: "QQIIII", 2: "IIII"}
# Text follows the numbers; records with other parts have a function below.
RECORDS = {
    1: {2: "", 3: "QQQ"},
    2: {6: "IIQQ", 8: "IIQQQQIIQ", 9: "IIQ", 10: "IIQ", 11: "IIQII", 12: "IIQ", 13: "QQ",
        14: "IIQQQQQQI", 15: "QQ", 16: "IIQII", 17: "II"},
}
SAMPLE = "IIIIIIQQQQ"


class File:
    def __init__(self, data):
        self.data, self.at, self.out = data, 0, []
        little = struct.unpack_from("<I", data, 8)[0] < 0x10000
        self.order, self.other = "<>" if little else "><"

    def take(self, size):
        self.out.append(self.data[self.at:self.at + size])
        self.at += size

    def numbers(self, form):
        found = struct.unpack_from(self.order + form, self.data, self.at)
        packed = struct.pack(self.other + form, *found)
        self.out.append(packed)
        self.at += len(packed)
        return found

    def sample(self, stacks):
        start = self.at
        size, _, _, _, _, nr = self.numbers(SAMPLE)[:6]
        self.numbers("Q" * nr)
        end = start + size
        if stacks and self.at < end:
            mode, nrregs, stack = self.numbers("IIQ")
            self.numbers("Q" * nrregs)
            # the stack of a program with words of 4 or 8 bytes
            word = "Q" if mode == 2 else "I"
            self.numbers(word * (stack // struct.calcsize(word)))
        self.take(end - self.at)

    def convert(self):
        self.take(8)
        version, size = self.numbers("II")
        more = self.numbers(HEADER[version])
        stacks = version == 2 and more[2] & 2
        self.take(size - self.at)
        while self.at < len(self.data):
            kind, size = self.numbers("II")
            end = self.at + size - 8
            if kind == 5:
                self.numbers("Q" * ((end - self.at) // 8))
            elif (version, kind) == (1, 4):
                while self.at < end:
                    self.numbers("QQII")
            elif (version, kind) == (2, 7):
                while self.at < end:
                    self.sample(stacks)
            else:
                self.numbers(RECORDS[version].get(kind, ""))
            self.take(end - self.at)
        return b"".join(self.out)


with open(sys.argv[1], "rb") as f:
    converted = File(f.read()).convert()
with open(sys.argv[1], "wb") as f:
    f.write(converted)
