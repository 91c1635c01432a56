# SPDX-License-Identifier: GPL-2.0
"""Print how many page faults the touch of 2000 pages makes beyond that of 1000."""

import mmap
import os
import sys

import vperfctr

PAGE = mmap.PAGESIZE


def faults(pages):
    """Count the faults of touching that many fresh pages."""
    with mmap.mmap(-1, pages * PAGE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        with vperfctr.count("page-faults") as c:
            for at in range(0, pages * PAGE, PAGE):
                memory[at] = 1
        return c["page-faults"]


try:
    faults(2000)
    few = faults(1000)
    print(faults(2000) - few)
except OSError as error:
    sys.exit(os.environ.get("VPERFCTR_BACKEND", "") + ": " + error.strerror)
