#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: annotation.py FILE PROGRAM	read what perfex --report -j --annotate has printed;
#					check that its sums are right, and that whole
#					functions have the instructions that objdump finds.
#					Print each address with samples, from the function
#					on, and the samples there

import json
import re
import subprocess
import sys


def objdump(program, start, end):
    out = subprocess.run(["objdump", "-d", f"--start-address={start}", f"--stop-address={end}",
                          program], check=True, capture_output=True, text=True).stdout
    # an instruction of many bytes has a second line, without text
    return [int(m.group(1), 16) for m in
            re.finditer(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t\S", out, re.M)]


def check_function(f, program):
    for rows in (f["lines"], f["instructions"]):
        for key in ("samples", "weight"):
            assert sum(r[key] for r in rows) == f[key], (key, f)
        assert not f["weight"] or abs(sum(r["share"] for r in rows) - 1) < 1e-3
    places = {(r["source"], r["line"], r["inlined"]) for r in f["instructions"]}
    assert places == {(r["source"], r["line"], r["inlined"]) for r in f["lines"]}
    if f["disassembled"]:
        found = objdump(program, f["address"], f["address"] + f["size"])
        listed = [r["address"] for r in f["instructions"]]
        if f["inlined"]:
            assert set(listed) < set(found)
        else:
            assert listed == found, (listed, found)
        assert all(r["text"] for r in f["instructions"])
    else:
        assert not any(r["text"] for r in f["instructions"])


def main():
    with open(sys.argv[1]) as f:
        report = json.load(f)
    for event in report["events"]:
        for f in event["functions"]:
            check_function(f, sys.argv[2])
            name = f"{f['inlined']} in {f['symbol']}" if f["inlined"] else f["symbol"]
            for row in f["instructions"]:
                if row["samples"]:
                    print(event["event"], name, row["address"] - f["address"], row["samples"])


main()
