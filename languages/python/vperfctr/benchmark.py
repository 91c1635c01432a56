# SPDX-License-Identifier: LGPL-2.1-or-later
"""Instructions instead of seconds, for pytest-benchmark and pyperf.

    pytest --benchmark-timer=vperfctr.benchmark.instructions

A benchmark's "nanosecond" is then one instruction in user mode, and its "second" a thousand
million of them.  For pyperf:

    runner.bench_time_func("name", vperfctr.benchmark.time_func(function))
"""

from ._vperfctr import thread_read


def instructions():
    """Return what the calling thread has executed, in thousand millions."""
    return thread_read("instructions:u")[0] * 1e-9


def time_func(function):
    """Return a function that calls another one that many times, and counts."""

    def run(loops):
        before = thread_read("instructions:u")[0]
        for _ in range(loops):
            function()
        return (thread_read("instructions:u")[0] - before) * 1e-9

    return run
