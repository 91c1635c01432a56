/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a machine that is built with memory.c, without the headers of the machine. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

/* gcc has a macro for AddressSanitizer, clang a feature. */
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN	1
#endif
#endif

/* Save the machine's memory, and from the second call on, restore it. */
void host_reset(void);

/* In the place of _exit() in the machine and the module. */
void host_exit(int status);

#endif /* SIM_HOST_H */
