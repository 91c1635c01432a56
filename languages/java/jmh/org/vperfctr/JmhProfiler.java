// SPDX-License-Identifier: LGPL-2.1-or-later

package org.vperfctr;

import java.io.File;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Counts of each operation, as a profiler of JMH: -prof vperfctr:events=instructions:u,page-faults
 *
 * JMH asks for it on both sides: in the JVM that starts another one for the benchmark, where it
 * adds options, and in that JVM.  There, Workers has the threads of the benchmark, each of which
 * counts itself.  The compiler and the garbage collector have threads of their own, which are not
 * counted.  Where nothing can be counted, it says why, and the benchmark has its times.
 */
public class JmhProfiler implements ExternalProfiler, InternalProfiler {
	private static final String EVENTS = "org.vperfctr.events";
	private static final String DEFAULT_EVENTS = "instructions:u";

	private final String events;

	public JmhProfiler(String options) throws ProfilerException {
		String found = DEFAULT_EVENTS;

		for (String option : options.split(";")) {
			if (option.startsWith("events="))
				found = option.substring("events=".length());
			else if (!option.isEmpty())
				throw new ProfilerException("vperfctr: the only option is events=NAME,...");
		}
		events = found;
	}

	@Override
	public String getDescription() {
		return "Counts of the benchmark's threads, by vperfctr or perf_event";
	}

	/* ---- in the JVM that starts the benchmark's ---- */

	@Override
	public Collection<String> addJVMInvokeOptions(BenchmarkParams params) {
		return List.of();
	}

	@Override
	public Collection<String> addJVMOptions(BenchmarkParams params) {
		return List.of("--enable-native-access=ALL-UNNAMED", "-Djmh.executor=CUSTOM",
			       "-Djmh.executor.class=" + Workers.class.getName(), "-D" + EVENTS + "=" + events);
	}

	@Override
	public void beforeTrial(BenchmarkParams params) {
	}

	@Override
	public Collection<? extends Result> afterTrial(BenchmarkResult result, long pid, File out, File err) {
		return List.of();
	}

	@Override
	public boolean allowPrintOut() {
		return true;
	}

	@Override
	public boolean allowPrintErr() {
		return true;
	}

	/* ---- in the benchmark's ---- */

	@Override
	public void beforeIteration(BenchmarkParams params, IterationParams iteration) {
		Workers.begin();
	}

	@Override
	public Collection<? extends Result> afterIteration(BenchmarkParams params, IterationParams iteration,
							   IterationResult result) {
		final List<ScalarResult> results = new ArrayList<>();
		final String[] names = events.split(",");
		final long ops = result.getMetadata().getAllOps();
		final long[] sums = Workers.end();

		for (int i = 0; sums != null && ops > 0 && i < names.length; i++)
			results.add(new ScalarResult(names[i], (double)sums[i] / ops, "#/op", AggregationPolicy.AVG));
		return results;
	}

	/** The threads of the benchmark.  JMH makes it by the name of its class. */
	public static final class Workers extends ThreadPoolExecutor {
		private static final String NAMES = System.getProperty(EVENTS);

		private static final ThreadLocal<Counters> OWN = new ThreadLocal<>();
		private static long[] sums;	// these are protected by the class
		private static int running;
		private static boolean exist;
		private static String reason, said;

		public Workers(int threads, String prefix) {
			super(threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
				final Thread thread = new Thread(task, prefix + "-vperfctr-worker");

				thread.setDaemon(true);
				return thread;
			});
			exist = true;
		}

		/** Count this thread while it runs a task: one iteration. */
		@Override
		public void execute(Runnable task) {
			synchronized (Workers.class) {
				running++;
			}
			super.execute(() -> {
				long[] before = null;

				try {
					before = read();
					task.run();
				} finally {
					add(before, before == null ? null : read());
				}
			});
		}

		/** Return this thread's counts, or null if it cannot be counted. */
		private static long[] read() {
			try {
				if (OWN.get() == null)
					OWN.set(new Counters(NAMES));
				return OWN.get().read();
			} catch (CountersException e) {
				fail(e.getMessage());
				return null;
			} catch (RuntimeException | Error e) {
				/* JMH waits for the task, which must run all the same. */
				fail("vperfctr: " + e);
				return null;
			}
		}

		private static synchronized void fail(String why) {
			reason = why;
		}

		private static synchronized void add(long[] before, long[] after) {
			for (int i = 0; after != null && i < after.length; i++)
				sums[i] += after[i] - before[i];
			running--;
			Workers.class.notifyAll();
		}

		static synchronized void begin() {
			sums = NAMES == null ? null : new long[NAMES.split(",").length];
			reason = exist ? null : "vperfctr: only a benchmark with a JVM of its own is counted (-f 1)";
		}

		/** Wait for the tasks, whose results JMH has.  Return the sums, or null if there are none. */
		static synchronized long[] end() {
			try {
				while (running > 0)
					Workers.class.wait();
			} catch (InterruptedException e) {
				Thread.currentThread().interrupt();
				return null;
			}
			if (reason == null)
				return sums;
			if (!reason.equals(said))
				System.out.println(reason);
			said = reason;
			return null;
		}
	}
}
