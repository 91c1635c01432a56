#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: shares.py FORMAT FILE	read what perfex --report has exported, check that it is
#				consistent, and print each function's share of the first
#				event

import collections
import json
import sys

sums = collections.Counter()


def folded(name):
    """PATH;OF;FUNCTIONS COUNT"""
    seen = set()
    with open(name) as f:
        for line in f:
            path, count = line.rstrip("\n").rsplit(" ", 1)
            assert path not in seen
            seen.add(path)
            sums[path.split(";")[-1]] += int(count)


def check_tree(node):
    below = node.get("below", [])
    assert sum(n["weight"] for n in below) <= node["weight"]
    return node["self"] + sum(check_tree(n) for n in below)


def report(name):
    """perfex's own JSON"""
    with open(name) as f:
        event = json.load(f)["events"][0]
    for row in event["rows"]:
        assert abs(row["share"] - row["weight"] / event["weight"]) < 1e-5
        if row["weight"]:
            sums[row["symbol"]] += row["weight"]
    for tree in "callees", "callers":
        assert event[tree]["weight"] == event["weight"]
        assert check_tree(event[tree]) == event["weight"]


{"folded": folded, "json": report}[sys.argv[1]](sys.argv[2])
total = sum(sums.values())
for function, weight in sums.most_common():
    print("%s %.3f" % (function, 100 * weight / total))
