// SPDX-License-Identifier: GPL-2.0
/* Functions for samples to be in, three paths to each, and code that is inlined. */
#define NOT_INLINED	__attribute__((noinline, noclone))

int main(int argc, char **argv);
void ten(void);
void twenty(void);
void thirty(void);
void forty(void);
void left(void);
void middle(void);
void right(void);
void outer(void);

volatile int n;

NOT_INLINED void ten(void) { n += 10; }
NOT_INLINED void twenty(void) { n += 20; }
NOT_INLINED void thirty(void) { n += 30; }
NOT_INLINED void forty(void) { n += 40; }

static void all(void)
{
	ten();
	twenty();
	thirty();
	forty();
}

NOT_INLINED void left(void) { all(); n++; }
NOT_INLINED void middle(void) { all(); n--; }
NOT_INLINED void right(void) { all(); n = 1; }

static inline __attribute__((always_inline)) void innermost(void)
{
	n ^= 12345;
}

static inline __attribute__((always_inline)) void between(void)
{
	n = 7;
	innermost();
}

NOT_INLINED void outer(void)
{
	between();
}

int main(int argc, char **argv)
{
	(void)argv;
	left();
	middle();
	right();
	outer();
	return argc - 1;
}
