// SPDX-License-Identifier: LGPL-2.1-or-later

import org.openjdk.jmh.profile.ProfilerException;
import org.vperfctr.JmhProfiler;

/** JMH finds a profiler by the name of its class: this one is -prof vperfctr. */
public final class vperfctr extends JmhProfiler {
	public vperfctr(String options) throws ProfilerException {
		super(options);
	}
}
