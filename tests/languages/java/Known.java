// SPDX-License-Identifier: GPL-2.0

package test;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import org.vperfctr.Counters;

/** Count a loop of known length: a thousand rounds are two thousand instructions. */
public class Known {
	private static final MethodHandle LOOP = Linker.nativeLinker().downcallHandle(
		SymbolLookup.libraryLookup("libknown.so", Arena.global()).find("known_loop").orElseThrow(),
		FunctionDescriptor.ofVoid(JAVA_LONG));

	private static long cost(Counters c, long rounds) throws Throwable {
		final long before = c.read()[0];

		LOOP.invokeExact(rounds);
		return c.read()[0] - before;
	}

	public static void main(String[] args) throws Throwable {
		long few = Long.MAX_VALUE, many = Long.MAX_VALUE;

		try (Counters c = new Counters("instructions:u")) {
			System.out.println("backend " + c.backend());
			/* The code around the loop is translated in between, and then the same for both. */
			for (int i = 0; i < 2000; i++) {
				few = Math.min(few, cost(c, 1000));
				many = Math.min(many, cost(c, 3000));
			}
		}
		System.out.println("loop " + (many - few));
	}
}
