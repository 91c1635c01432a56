#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: perf-stacks.py FILE EVENT PERIOD	print the samples of an event in a perf.data as
#						perf finds them: a line for each thread's name
#						and path of calls, and the samples, as perfex
#						--export=folded does

import collections
import re
import subprocess
import sys

name, event, period = sys.argv[1:]
head = re.compile(r"^(?P<comm>.*?) +(?P<pid>\d+)/(?P<tid>\d+) +\[\d+\] +\d+\.\d+: +"
                  r"(?P<period>\d+) +(?P<event>\S+):(?: +(?P<one>.*))?$")
frame = re.compile(r"^ *(?P<ip>[0-9a-f]+) (?P<symbol>.*) \((?P<dso>.*)\)$")

sums = collections.Counter()
comm = weight = None
path = []


def label(line):
    """What perfex calls the function: code without a name has its file's"""
    match = frame.match(line.replace("\t", " "))
    if not match:
        sys.exit("what is " + repr(line))
    symbol, dso = match["symbol"], match["dso"]
    kernel = int(match["ip"], 16) >> 63
    if symbol == "[unknown]" and kernel:
        return "[kernel]"
    if symbol == "[unknown]" and dso != "[unknown]":
        return dso if dso[0] == "[" else "[" + dso.rsplit("/", 1)[-1] + "]"
    return symbol + "_[k]" if kernel else symbol


def end():
    """A sample's frames are complete."""
    if comm is not None:
        sums[";".join([comm] + path[::-1])] += weight


text = subprocess.run(["perf", "script", "--no-inline", "-i", name, "-F",
                       "comm,pid,tid,cpu,time,period,event,ip,sym,dso"],
                      check=True, capture_output=True, text=True).stdout
for line in text.splitlines() + [""]:
    match = head.match(line)
    if match:
        end()
        comm = match["comm"].strip() if match["event"] == event else None
        weight = int(match["period"])
        path = [label(match["one"])] if match["one"] else []
    elif line.strip():
        found = label(line)
        # One place, as in perfex's paths, if functions of the kernel have no names.
        if not (found == "[kernel]" and path and path[-1] == found):
            path.append(found)
end()
for path in sorted(sums):
    assert sums[path] % int(period) == 0, path
    print(path, sums[path] // int(period))
