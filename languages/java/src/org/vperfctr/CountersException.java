// SPDX-License-Identifier: LGPL-2.1-or-later

package org.vperfctr;

/** An error of the C library: its number, such as 16 (EBUSY), and the reason. */
public final class CountersException extends RuntimeException {
	private static final long serialVersionUID = 1;

	private final int errno;

	CountersException(int errno, String reason) {
		super("vperfctr: " + reason);
		this.errno = errno;
	}

	/** Return the number, or 0 if the library itself is not there. */
	public int errno() {
		return errno;
	}
}
