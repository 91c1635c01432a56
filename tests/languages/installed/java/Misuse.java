// SPDX-License-Identifier: GPL-2.0

package test;

import org.vperfctr.Counters;

/** Print what calls by a wrong thread, by wrong names and after errors do: see library.c. */
public class Misuse {
	private static void refused(String what, Runnable call) {
		try {
			call.run();
			System.out.println(what + ": no exception");
		} catch (RuntimeException e) {
			System.out.println(what + ": " + e.getClass().getSimpleName());
		}
	}

	/** Call all methods from another thread, which must not reach the C library. */
	private static void inOtherThread(Counters c) throws InterruptedException {
		final Thread other = new Thread(() -> {
			refused("read", c::read);
			refused("reset", c::reset);
			refused("backend", c::backend);
			refused("close", c::close);
		});

		other.start();
		other.join();
	}

	public static void main(String[] args) throws Throwable {
		try (Counters c = new Counters("instructions:u")) {
			inOtherThread(c);
			System.out.println("read " + c.read()[0]);
		}
	}
}
