#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# usage: shares.py FORMAT FILE [paths]	read what perfex --report has exported, check that it
#					is consistent, and print each function's share of the
#					first event; or the samples of each path, in which
#					functions of the kernel are marked as in folded stacks

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

sums = collections.Counter()
paths = collections.Counter()


def marked(name, file):
    """A function, or the label of its file where it has no name"""
    return name + "_[k]" if file == "[kernel]" != name else name


def folded(name):
    """THREAD;PATH;OF;FUNCTIONS COUNT"""
    seen = set()
    with open(name) as f:
        for line in f:
            path, count = line.rstrip("\n").rsplit(" ", 1)
            assert path not in seen
            seen.add(path)
            sums[path.split(";")[-1]] += int(count)
            paths[path.split(";", 1)[1]] += int(count)


def check_tree(node, path):
    """Only functions have a file."""
    below = node.get("below", [])
    if "dso" in node:
        path = path + [marked(node["symbol"], node["dso"])]
    paths[";".join(path)] += node["self"]
    assert sum(n["weight"] for n in below) <= node["weight"]
    return node["self"] + sum(check_tree(n, path) for n in below)


def report(name):
    """perfex's own JSON"""
    with open(name) as f:
        event = json.load(f)["events"][0]
    for row in event["rows"]:
        assert abs(row["share"] - row["weight"] / event["weight"]) < 1e-5
        if row["weight"]:
            sums[row["symbol"]] += row["weight"]
    for tree in "callers", "callees":
        paths.clear()
        assert event[tree]["weight"] == event["weight"]
        assert check_tree(event[tree], []) == event["weight"]


def svg(name):
    """A flame graph: a function's own samples are those with no box above."""
    root = xml.etree.ElementTree.parse(name).getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = {}
    for g in root.iter(space + "g"):
        if g.get("class") != "n":
            continue
        at, weight, depth = (int(g.get("data-" + k)) for k in ("at", "weight", "depth"))
        rect, text, title = (g.find(space + t) for t in ("rect", "text", "title"))
        assert text.text is None or g.get("data-name").startswith(text.text.rstrip("."))
        assert title.text.startswith(g.get("data-name"))
        # The title has the function and its file; the kernel has a colour of its own.
        label = marked(g.get("data-name"), title.text.rsplit(": ", 1)[0].rsplit(" ", 1)[-1])
        assert label.endswith(("_[k]", "[kernel]")) == rect.get("fill").startswith("hsl(200,")
        boxes.setdefault(depth, []).append(
            (at, weight, g.get("data-name"), float(rect.get("x")), float(rect.get("width")), label))
    (at, total, _, left, width, _), = boxes[0]
    assert at == 0 and total > 0
    for depth, row in boxes.items():
        end = 0
        for at, weight, function, x, w, _ in sorted(row):
            assert at >= end
            end = at + weight
            assert abs(x - left - at / total * width) < 0.01
            assert abs(w - weight / total * width) < 0.01
            # It is on top of one box.
            assert not depth or sum(a <= at and end <= a + b
                                    for a, b, *_ in boxes[depth - 1]) == 1
            above = sum(b for a, b, *_ in boxes.get(depth + 1, []) if at <= a < end)
            sums[function] += weight - above
            # Below the outermost function are the name of the thread, and all.
            paths[";".join(b[5] for d in range(2, depth + 1) for b in boxes[d]
                           if b[0] <= at < b[0] + b[1])] += weight - above
    for function in [f for f in sums if not sums[f]]:
        del sums[function]


def message(lines):
    """The text that protoc makes of a message: {field: [values]}"""
    fields = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            fields[line[:-1].strip()].append(message(lines))
        else:
            key, value = line.split(": ", 1)
            fields[key].append(value[1:-1] if value[0] == '"' else
                               1 if value == "true" else int(value))
    return fields


def pprof(name):
    with gzip.open(name) as f:
        text = subprocess.run(
            ["protoc", "--decode=Profile", "-I", os.path.dirname(os.path.abspath(__file__)), "pprof.proto"],
            input=f.read(), stdout=subprocess.PIPE, check=True).stdout.decode()
    # A field that the description lacks has a number.
    assert not re.search(r"^ *[0-9]+:", text, re.M)
    profile = message(iter(text.splitlines()))
    strings = profile["string_table"]
    assert strings[0] == ""

    def by_id(kind):
        ids = {x["id"][0]: x for x in profile[kind]}
        assert 0 not in ids and len(ids) == len(profile[kind])
        return ids

    functions, locations, mappings = by_id("function"), by_id("location"), by_id("mapping")
    names = {i: strings[f["name"][0]] for i, f in functions.items()}
    # pprof looks for programs under these names.
    assert not any(strings[m["filename"][0]].endswith("(deleted)") for m in mappings.values())
    for location in locations.values():
        assert location["mapping_id"][0] in mappings
        assert all(line["function_id"][0] in names for line in location["line"])
    types = [strings[t["type"][0]] for t in profile["sample_type"]]
    assert types[0] == strings[profile["period_type"][0]["type"][0]]
    period = profile["period"][0]
    for sample in profile["sample"]:
        assert len(sample["value"]) == len(types)
        assert sample["value"][0] % period == 0
        keys = [strings[label["key"][0]] for label in sample["label"]]
        assert keys == ["thread", "pid", "tid"]
        if not sample["value"][0]:
            continue
        path = [[marked(names[line["function_id"][0]],
                        strings[mappings[locations[i]["mapping_id"][0]]["filename"][0]])
                 for line in locations[i]["line"]] for i in sample["location_id"]]
        leaf = locations[sample["location_id"][0]]["line"][0]["function_id"][0]
        sums[names[leaf]] += sample["value"][0]
        paths[";".join([f for frames in path for f in frames][::-1])] += sample["value"][0] // period


def firefox(name):
    with open(name) as f:
        profile = json.load(f)
    assert profile["meta"]["preprocessedProfileVersion"] == 49
    # The profiler shows one main thread for each process, and finds threads by their numbers.
    ids = [(thread["pid"], thread["tid"]) for thread in profile["threads"]]
    assert len(set(ids)) == len(ids), ids
    mains = [thread["pid"] for thread in profile["threads"] if thread["isMainThread"]]
    assert len(set(mains)) == len(mains), mains
    for thread in profile["threads"]:
        strings = thread["stringArray"]
        for table in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable"):
            columns = thread[table]
            for column, values in columns.items():
                assert not isinstance(values, list) or len(values) == columns["length"], column
        stacks, frames = thread["stackTable"], thread["frameTable"]
        functions, samples = thread["funcTable"], thread["samples"]
        for i, prefix in enumerate(stacks["prefix"]):
            assert prefix is None or 0 <= prefix < i
        assert samples["time"] == sorted(samples["time"])
        for resource in functions["resource"]:
            assert 0 <= thread["resourceTable"]["lib"][resource] < len(profile["libs"])
        for stack, weight in zip(samples["stack"], samples["weight"]):
            function = frames["func"][stacks["frame"][stack]]
            sums[strings[functions["name"][function]]] += weight
            path = []
            while stack is not None:
                function = frames["func"][stacks["frame"][stack]]
                file = thread["resourceTable"]["name"][functions["resource"][function]]
                path.insert(0, marked(strings[functions["name"][function]], strings[file]))
                stack = stacks["prefix"][stack]
            paths[";".join(path)] += weight


formats = {"folded": folded, "json": report, "svg": svg, "pprof": pprof, "firefox": firefox}
formats[sys.argv[1]](sys.argv[2])
if sys.argv[3:] == ["paths"]:
    for path in sorted(p for p in paths if paths[p]):
        print("%s %d" % (path, paths[path]))
    sys.exit()
total = sum(sums.values())
for function, weight in sums.most_common():
    print("%s %.3f" % (function, 100 * weight / total))
