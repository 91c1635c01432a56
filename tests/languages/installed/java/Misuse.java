// SPDX-License-Identifier: GPL-2.0

package test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.vperfctr.Counters;
import org.vperfctr.CountersException;

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

	/** Let reads fail: the name is the error's number, for library.c. */
	private static void errors() {
		for (int errno : new int[] {1, 3, 16}) {
			try (Counters c = new Counters(Integer.toString(errno))) {
				c.read();
				System.out.println("no exception");
			} catch (CountersException e) {
				System.out.println(e.errno() + ": " + e.getMessage());
			}
		}
	}

	/** Return the pages of memory that this process has. */
	private static long pages() throws IOException {
		return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
	}

	/** Objects that cannot be made must leave no memory of C: 400000 would leave a hundred megabytes. */
	private static void fail() throws IOException {
		long before = 0;

		for (int i = 0; i < 500000; i++) {
			if (i == 100000)
				before = pages();
			try (Counters c = new Counters(null)) {
				System.out.println("no exception");
			} catch (NullPointerException e) {
				continue;
			}
		}
		System.out.println("memory: " + (pages() - before < 10000 ? "freed" : "lost"));
	}

	public static void main(String[] args) throws Throwable {
		try (Counters c = new Counters("instructions:u")) {
			inOtherThread(c);
			System.out.println("read " + c.read()[0]);
		}
		refused("NUL", () -> new Counters("page-faults:u\0x"));
		errors();
		fail();
	}
}
