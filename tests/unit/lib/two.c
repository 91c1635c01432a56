// SPDX-License-Identifier: GPL-2.0
/* Something for samples to be in: where its functions are is known from its symbols. */
int main(int argc, char **argv);
void first(void);
void second(void);

volatile int n;

void first(void)
{
	n++;
	n--;
}

void second(void)
{
	n += 2;
}

int main(int argc, char **argv)
{
	(void)argv;
	first();
	second();
	return argc - 1;
}
