# SPDX-License-Identifier: GPL-2.0
#
# Tests of the Python package in a virtual machine, by the module or by perf_event.  The
# summary has libcheck's form.
#
# usage: test_python.py module|perf

import errno
import os
import sys
import threading

import known
import vperfctr
import vperfctr.benchmark

checks = failures = 0


def check(what, got, expected):
    global checks, failures
    checks += 1
    if got != expected:
        failures += 1
        print(f"{what}: {got!r}, not {expected!r}")


def refused(what, number, f):
    """Check that f() raises OSError with this number."""
    try:
        f()
    except OSError as e:
        check(what, e.errno, number)
        check(what + ": the reason", len(str(e)) > 20, True)
    else:
        check(what, "no error", number)


def region(c, rounds):
    before = c.read()[0]
    known.loop(rounds)
    return c.read()[0] - before


def is_exact(c):
    """True if twice as many rounds are twice as many instructions, to the instruction."""
    # CPython rewrites code that has run a few times.
    for _ in range(20):
        region(c, 1000)
    return region(c, 2000) - region(c, 1000) == 2000 and region(c, 51000) - region(c, 50000) == 2000


def with_statement(rounds):
    with vperfctr.count("instructions:u") as c:
        known.loop(rounds)
    return c[0]


def test_counts():
    c = vperfctr.count("instructions:u,task-clock,cycles:u")
    check("backend", c.backend, sys.argv[1])
    check("names", c.names, ("instructions:u", "task-clock", "cycles:u"))
    check("length", len(c), 3)
    check("a known loop", is_exact(c), True)
    values = c.read()
    check("all count", all(v > 0 for v in values), True)
    check("by name", c["task-clock"] >= values[1], True)
    c.suspend()
    check("suspended", c.read()[0], c.read()[0])
    c.resume()
    c.reset()
    check("zeroed", c.read()[0] < values[0], True)
    c.close()
    try:
        c.read()
        check("a closed object", "read", "ValueError")
    except ValueError:
        pass


def test_with():
    for _ in range(20):
        with_statement(1000)
    check("in with", with_statement(3000) - with_statement(1000), 4000)
    with vperfctr.count("instructions:u") as c:
        known.loop(1000)
    first = c.read()
    known.loop(1000)
    check("after with", c.read(), first)
    check("backend after with", c.backend, sys.argv[1])
    check("in with, about", 2000 < first[0] < 4000, True)


def is_closed(c):
    """True if a read says so."""
    try:
        c.read()
    except ValueError:
        return True
    return False


def test_closed_in_with():
    with vperfctr.count("task-clock") as c:
        c.close()
        check("closed in with", is_closed(c), True)
    check("closed after with", is_closed(c), True)


def test_failing_exit():
    """Leave "with" where the values cannot be read: in the child of a fork."""
    c = vperfctr.count("task-clock").__enter__()
    other = vperfctr.count("task-clock").__enter__()
    pid = os.fork()
    if not pid:
        before = failures
        fds = len(os.listdir("/proc/self/fd"))
        refused("the end of with", errno.EPERM, lambda: c.__exit__(None, None, None))
        check("an end that fails closes", is_closed(c), True)
        check("the program's own exception", other.__exit__(KeyError, KeyError("x"), None), False)
        check("its end closes, too", is_closed(other), True)
        check("descriptors", len(os.listdir("/proc/self/fd")) < fds, True)
        os._exit(failures - before)
    check("the child", os.waitpid(pid, 0)[1], 0)
    c.__exit__(None, None, None)
    other.__exit__(None, None, None)
    check("the parent", c.read()[0] > 0 and other.read()[0] > 0, True)


def test_errors():
    refused("an unknown event", errno.ENOENT, lambda: vperfctr.count("nonsense"))
    c = vperfctr.count("instructions:u")
    if sys.argv[1] == "module":
        with vperfctr.count("instructions:u") as other:
            known.loop(1000)
            check("another object", other.read()[0] > 1000, True)
            check("its backend", other.backend, "module")
    for key, kind in (("x", KeyError), (1, IndexError), (None, TypeError)):
        try:
            c[key]
            check("a wrong key", key, kind)
        except kind:
            pass
    c.close()
    for f in (vperfctr.count, vperfctr.thread_read):
        try:
            f("instructions:u\0x")
            check("a NUL", "no error", ValueError)
        except ValueError:
            pass
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        vperfctr.count("instructions:u")
    check("objects that nothing refers to are closed", len(os.listdir("/proc/self/fd")), fds)


def test_threads():
    c = vperfctr.count("instructions:u")
    results = []

    def other():
        refused("another thread", errno.EPERM, c.read)
        own = vperfctr.count("instructions:u")
        results.append(is_exact(own))
        own.close()
        first = vperfctr.thread_read("instructions:u")
        known.loop(1000)
        results.append(vperfctr.thread_read("instructions:u")[0] - first[0] > 2000)

    def of_software():
        first = vperfctr.thread_read("task-clock,instructions:u")
        known.loop(1000)
        last = vperfctr.thread_read("task-clock,instructions:u")
        results.append([len(last), last[0] > first[0], last[1] - first[1] > 2000])

    for target in (other, of_software):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    check("threads that count themselves", results, [True, True, [2, True, True]])
    check("the first thread", is_exact(c), True)
    c.close()


def test_fork():
    c = vperfctr.count("instructions:u")
    before = c.read()[0]
    pid = os.fork()
    if not pid:
        before = failures
        refused("the parent's object", errno.EPERM, c.read)
        c.close()
        c = vperfctr.count("instructions:u")
        check("a child", is_exact(c), True)
        os._exit(failures - before)
    check("the child", os.waitpid(pid, 0)[1], 0)
    check("the parent", is_exact(c) and c.read()[0] > before, True)
    c.close()


def test_software_only():
    c = vperfctr.count("task-clock,page-faults")
    check("software events", c.read()[0] > 0, True)
    thread = threading.Thread(target=refused, args=("another thread", errno.EPERM, c.read))
    thread.start()
    thread.join()
    pid = os.fork()
    if not pid:
        before = failures
        refused("the parent's software events", errno.EPERM, c.read)
        os._exit(failures - before)
    check("the child", os.waitpid(pid, 0)[1], 0)
    check("the parent", c.read()[0] > 0, True)
    c.close()


def test_benchmark():
    count = vperfctr.benchmark.time_func(lambda: known.loop(1000))
    for _ in range(20):
        count(10)
    # A loop's first and last round differ from the others.
    differences = [round((count(n + 1) - count(n)) * 1e9) for n in (10, 20, 30)]
    check("each call costs the same", len(set(differences)), 1)
    check("and some more than the loop", 2000 < differences[0] < 3000, True)
    check("instructions()", vperfctr.benchmark.instructions() < vperfctr.benchmark.instructions(), True)


for test in (test_counts, test_with, test_closed_in_with, test_failing_exit, test_errors, test_threads, test_fork,
             test_software_only, test_benchmark):
    test()
print(f"{100 * (checks - failures) // checks}%: Checks: {checks}, Failures: {failures}, Errors: 0")
sys.exit(failures != 0)
