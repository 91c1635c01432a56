# SPDX-License-Identifier: LGPL-2.1-or-later
"""The performance counters of a thread.

    with vperfctr.count("instructions:u,cycles:u") as c:
        work()
    print(c["instructions:u"])

The counts include the instructions by which Python calls the two ends of "with".  Where
the module vperfctr cannot count, perf_event does.

An object belongs to the thread that made it: in another thread, and in the child of a fork,
its reads raise PermissionError.  A child that counts itself makes an object of its own.
"""

from ._vperfctr import __version__, count, thread_read

__all__ = ["count", "thread_read", "__version__"]
