/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A "processor" whose every step a test can interrupt: see fake.h. */
#ifndef FAKE_ARCH_H
#define FAKE_ARCH_H

#ifdef FAKE_WITHOUT_RDPMC
#define VPERFCTR_HAVE_RDPMC	0
#define VPERFCTR_HAVE_RDTSC	0
#else
#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1
#endif

void fake_step(void);
uint64_t fake_rdpmc(uint32_t map);
uint64_t fake_rdpmc_ordered(uint32_t map);
uint64_t fake_rdtsc(void);
uint64_t fake_rdtsc_ordered(void);
uintptr_t fake_thread(void);

#define __vperfctr_barrier()		fake_step()
#define __vperfctr_barrier_value(x)	((void)(x), fake_step())
#define __vperfctr_read_barrier()	fake_step()
#define __vperfctr_thread()		fake_thread()
#define __VPERFCTR_FLIP(word, flips)	((word) ^ (flips))
#define __vperfctr_thread_xor(x, other)	(fake_step(), (void)((x) = fake_thread() ^ (other)))
#define __vperfctr_rdpmc(map)		fake_rdpmc(map)
#define __vperfctr_rdpmc_ordered(map)	fake_rdpmc_ordered(map)
#define __vperfctr_rdtsc()		fake_rdtsc()
#define __vperfctr_rdtsc_ordered()	fake_rdtsc_ordered()

#endif /* FAKE_ARCH_H */
