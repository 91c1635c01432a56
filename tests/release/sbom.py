# SPDX-License-Identifier: GPL-2.0
"""usage: sbom.py SBOM TREE REUSE

Print what is wrong with an SBOM of packaging/sbom: compared with the unpacked archive, with the
output of "reuse lint --json" there, and with what SPDX 2.3 demands.
"""

import hashlib
import json
import os
import re
import sys

FILE = {"SPDXID", "fileName", "checksums", "licenseConcluded", "licenseInfoInFiles", "copyrightText"}
PACKAGE = {"SPDXID", "name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"}
DOCUMENT = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}


def digest(path, kind):
    """Return the checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.new(kind.lower(), file.read()).hexdigest()


def main():
    """Print the differences, one a line."""
    with open(sys.argv[1], encoding="utf-8") as file:
        sbom = json.load(file)
    with open(sys.argv[3], encoding="utf-8") as file:
        reuse = {
            entry["path"]: entry["spdx_expressions"][0]["value"]
            for entry in json.load(file)["files"]
        }
    tree = sys.argv[2]
    for name in DOCUMENT - set(sbom):
        print("the document has no", name)
    for package in sbom["packages"]:
        for name in PACKAGE - set(package):
            print(package.get("name"), "has no", name)
    identifiers = ["SPDXRef-DOCUMENT"]
    for entry in sbom["packages"] + sbom["files"]:
        identifiers.append(entry["SPDXID"])
        if not re.fullmatch(r"SPDXRef-[-A-Za-z0-9.]+", entry["SPDXID"]):
            print("not an identifier:", entry["SPDXID"])
    if len(set(identifiers)) != len(identifiers):
        print("an identifier is there twice")
    for relation in sbom["relationships"]:
        for side in ("spdxElementId", "relatedSpdxElement"):
            if relation[side] not in identifiers:
                print("no such element:", relation[side])

    missing = set()
    for directory, _, names in os.walk(tree):
        missing.update(os.path.relpath(os.path.join(directory, name), tree) for name in names)
    for entry in sbom["files"]:
        path = entry["fileName"][2:]
        for name in FILE - set(entry):
            print(path, "has no", name)
        if path not in missing:
            print(path, "is not in the archive")
            continue
        missing.remove(path)
        for sum_ in entry["checksums"]:
            if digest(os.path.join(tree, path), sum_["algorithm"]) != sum_["checksumValue"]:
                print(path, "has another", sum_["algorithm"])
        own = entry["licenseConcluded"]
        if path in reuse and own not in ("NOASSERTION", reuse[path]):
            print(path, "is", own, "by its own line, and", reuse[path], "in REUSE.toml")
    for path in sorted(missing):
        print(path, "is not in the SBOM")


main()
