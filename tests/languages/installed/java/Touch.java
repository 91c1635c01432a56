// SPDX-License-Identifier: GPL-2.0

package test;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.openjdk.jmh.annotations.Benchmark;
import org.vperfctr.Counters;
import org.vperfctr.CountersException;

/**
 * Print how many page faults the touch of 2000 pages makes beyond that of 1000; and a benchmark
 * that touches 1000.
 */
public class Touch {
	private static final long PAGE = 4096;
	private static final Linker LINKER = Linker.nativeLinker();
	private static final MethodHandle MMAP = c("mmap", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_LONG,
		JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
	private static final MethodHandle MUNMAP = c("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
	private static final MethodHandle MADVISE = c("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG,
		JAVA_INT));

	private static MethodHandle c(String name, FunctionDescriptor type) {
		return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
	}

	/* PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MADV_NOHUGEPAGE */
	static void touch(long pages) throws Throwable {
		final MemorySegment at = (MemorySegment)MMAP.invokeExact(MemorySegment.NULL, pages * PAGE, 3, 0x22, -1, 0L);
		final MemorySegment memory = at.reinterpret(pages * PAGE);
		int err = (int)MADVISE.invokeExact(at, pages * PAGE, 15);

		for (long page = 0; page < pages; page++)
			memory.set(JAVA_BYTE, page * PAGE, (byte)1);
		err |= (int)MUNMAP.invokeExact(at, pages * PAGE);
		if (err != 0)
			throw new IllegalStateException("munmap");
	}

	private static long faults(Counters c, long pages) throws Throwable {
		final long before = c.read()[0];

		touch(pages);
		return c.read()[0] - before;
	}

	@Benchmark
	public void thousand() throws Throwable {
		touch(1000);
	}

	public static void main(String[] args) throws Throwable {
		long few = Long.MAX_VALUE, many = Long.MAX_VALUE;

		try (Counters c = new Counters("page-faults")) {
			/* the virtual machine has faults of its own, in some */
			for (int i = 0; i < 20; i++) {
				few = Math.min(few, faults(c, 1000));
				many = Math.min(many, faults(c, 2000));
			}
		} catch (CountersException e) {
			System.err.println(e.getMessage());
			System.exit(1);
		}
		System.out.println(many - few);
	}
}
