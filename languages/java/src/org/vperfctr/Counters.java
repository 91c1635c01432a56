// SPDX-License-Identifier: LGPL-2.1-or-later

package org.vperfctr;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * The performance counters of a thread.
 *
 * <pre>
 * try (var c = new Counters("instructions:u,page-faults")) {
 *     long[] before = c.read();
 *     work();
 *     long[] after = c.read();
 * }
 * </pre>
 *
 * Only the thread that has made them, which must not be a virtual one, may use them; all but names()
 * throw WrongThreadException in others.  The names are those of vperfctr_event(3).  Where the module
 * vperfctr cannot count, perf_event does.
 */
public final class Counters implements AutoCloseable {
	/** VPERFCTR_MAX_CTRS, and the sizes of structures of the C library. */
	private static final int MAX_CTRS = 32;
	private static final int WHY_SIZE = 1024;
	private static final int BACKEND_PERF = 1;
	private static final int EPERM = 1, EBUSY = 16, EINVAL = 22;

	private final Arena arena;
	private final List<String> names;
	private final long[] soft;	// of each name: its software counters; 0: it has a counter
	private final int nr;		// counters
	private final Thread owner = Thread.currentThread();
	private final MemorySegment values;
	private MemorySegment v;

	/** The reason why the C library cannot be used: see Library. */
	private static volatile String missing = "libvperfctr-event.so.0 was not found: install it first";

	/** The functions of the C library. */
	private static final class Library {
		static final MethodHandle COUNT, NAME, BACKEND, READ, READ_SOFT, RESET, CLOSE, STRERROR;

		static {
			final Linker linker = Linker.nativeLinker();
			final SymbolLookup library;

			try {
				library = SymbolLookup.libraryLookup("libvperfctr-event.so.0", Arena.global());
			} catch (IllegalArgumentException e) {
				throw new CountersException(0, missing);
			}
			COUNT = function(linker, library, "vperfctr_count",
				FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS));
			NAME = function(linker, library, "vperfctr_counter_name",
				FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
			BACKEND = function(linker, library, "vperfctr_backend", FunctionDescriptor.of(JAVA_INT, ADDRESS));
			READ = function(linker, library, "vperfctr_read",
				FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_INT));
			READ_SOFT = function(linker, library, "vperfctr_read_soft",
				FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS));
			RESET = function(linker, library, "vperfctr_reset", FunctionDescriptor.of(JAVA_INT, ADDRESS));
			CLOSE = function(linker, library, "vperfctr_close", FunctionDescriptor.ofVoid(ADDRESS));
			STRERROR = function(linker, linker.defaultLookup(), "strerror",
				FunctionDescriptor.of(ADDRESS, JAVA_INT));
		}

		private static MethodHandle function(Linker linker, SymbolLookup library, String name,
						     FunctionDescriptor type) {
			return linker.downcallHandle(library.find(name).orElseThrow(() -> {
				missing = "libvperfctr-event.so.0 has no " + name + ": install a later one";
				return new CountersException(0, missing);
			}), type);
		}
	}

	/** Start to count events for the calling thread: names with commas between them. */
	public Counters(String names) {
		if (Thread.currentThread().isVirtual())
			throw new CountersException(0, "a virtual thread changes its thread, and cannot be counted");
		/* The C library would see the names up to there. */
		if (names.indexOf('\0') >= 0)
			throw new CountersException(EINVAL, "a name has a NUL");
		this.names = List.of(names.split(","));
		this.soft = new long[this.names.size()];
		/* From here on, close() frees what an exception leaves. */
		this.arena = Arena.ofConfined();
		try {
			this.values = arena.allocate(JAVA_LONG, MAX_CTRS);
			this.v = open(names);
			this.nr = findCounters();
		} catch (Throwable e) {
			close();
			throw unchecked(e);
		}
	}

	private MemorySegment open(String text) throws Throwable {
		final MemorySegment handle = arena.allocate(ADDRESS), why = arena.allocate(WHY_SIZE);
		final int err = (int)Library.COUNT.invokeExact(handle, arena.allocateFrom(text), 0, why);

		if (err != 0)
			throw new CountersException(-err, why.getString(0).isEmpty() ? reason(err) : why.getString(0));
		return handle.get(ADDRESS, 0);
	}

	/** Find out which names have counters, in their order.  Return their number. */
	private int findCounters() throws Throwable {
		int found = 0;

		for (int i = 0; i < soft.length; i++) {
			final MemorySegment name = (MemorySegment)Library.NAME.invokeExact(v, found);

			if (name.address() != 0 && name.reinterpret(Long.MAX_VALUE).getString(0).equals(names.get(i)))
				found++;
			else
				soft[i] = softwareOf(names.get(i));
		}
		return found;
	}

	/** Return VPERFCTR_SOFT_* of a software event. */
	private static long softwareOf(String name) {
		switch (name.split(":")[0]) {
		case "task-clock":
			return 0x01;
		case "context-switches", "cs":
			return 0x02;
		case "cpu-migrations", "migrations":
			return 0x04;
		case "minor-faults":
			return 0x08;
		case "major-faults":
			return 0x10;
		case "page-faults", "faults":
			return 0x18;
		default:
			throw new CountersException(EINVAL, "the event " + name + " has no counter");
		}
	}

	private static RuntimeException unchecked(Throwable e) {
		if (e instanceof ExceptionInInitializerError && e.getCause() instanceof CountersException)
			return (CountersException)e.getCause();
		if (e instanceof RuntimeException)
			return (RuntimeException)e;
		if (e instanceof NoClassDefFoundError)
			return new CountersException(0, missing);
		if (e instanceof Error)
			throw (Error)e;
		return new IllegalStateException(e);
	}

	/** Return the names, in the order of the values of read(). */
	public List<String> names() {
		return names;
	}

	/** Return what counts: "module" or "perf". */
	public String backend() {
		try {
			return (int)Library.BACKEND.invokeExact(handle()) == BACKEND_PERF ? "perf" : "module";
		} catch (Throwable e) {
			throw unchecked(e);
		}
	}

	/* The owner may free the handle at any time, so another thread must not even pass it to C. */
	private void checkThread() {
		if (Thread.currentThread() != owner)
			throw new WrongThreadException("the counters belong to " + owner);
	}

	private MemorySegment handle() {
		checkThread();
		if (v == null)
			throw new IllegalStateException("the counters are closed");
		return v;
	}

	private static String reason(int err) throws Throwable {
		final MemorySegment text;

		switch (-err) {
		case EPERM:
			return "another thread counts, or the process that forked";
		case EBUSY:
			return "perf_event has lost the counters";
		default:
			text = (MemorySegment)Library.STRERROR.invokeExact(-err);
			return text.reinterpret(Long.MAX_VALUE).getString(0);
		}
	}

	private static void check(int err) throws Throwable {
		if (err != 0)
			throw new CountersException(-err, reason(err));
	}

	/** Return what has been counted since the beginning or reset(). */
	public long[] read() {
		final long[] read = new long[soft.length];

		read(read);
		return read;
	}

	/** Read what has been counted since the beginning or reset() into an array. */
	public void read(long[] into) {
		int next = 0;

		try {
			if (nr > 0)
				check((int)Library.READ.invokeExact(handle(), MemorySegment.NULL, values, nr));
			for (int i = 0; i < soft.length; i++)
				if (soft[i] == 0)
					into[i] = values.getAtIndex(JAVA_LONG, next++);
			for (int i = 0; i < soft.length; i++) {
				if (soft[i] != 0) {
					check((int)Library.READ_SOFT.invokeExact(handle(), soft[i], values));
					into[i] = values.get(JAVA_LONG, 0);
				}
			}
		} catch (Throwable e) {
			throw unchecked(e);
		}
	}

	/** Let all counts begin at zero. */
	public void reset() {
		try {
			check((int)Library.RESET.invokeExact(handle()));
		} catch (Throwable e) {
			throw unchecked(e);
		}
	}

	/** End the counting. */
	@Override
	public void close() {
		checkThread();
		try {
			if (v != null)
				Library.CLOSE.invokeExact(v);
			v = null;
			if (arena.scope().isAlive())
				arena.close();
		} catch (Throwable e) {
			throw unchecked(e);
		}
	}
}
