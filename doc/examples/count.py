# SPDX-License-Identifier: GPL-2.0
#
# The instructions of Python's own loop: each thousand rounds take as many.
#
#	python3 count.py

import vperfctr


def rounds(n):
    for _ in range(n):
        pass


def count(n):
    with vperfctr.count("instructions:u") as c:
        rounds(n)
    return c["instructions:u"]


# CPython rewrites code that has run a few times.
for _ in range(20):
    count(1000)
for n in (1000, 2000, 3000):
    print(f"{count(n)} instructions in {n} rounds")
