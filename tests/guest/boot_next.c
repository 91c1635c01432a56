// SPDX-License-Identifier: GPL-2.0
/*
 * Boot the kernel /inner/vmlinux with the initial RAM disk /inner/initrd by kexec, while counters
 * of the module and the NMI watchdog count.  ../vm/run has put the files there.
 *
 * kexec resets no processor.  So the next kernel finds the counters as this one leaves them.
 * The suite's inner programs run there: the next kernel's init writes their results after ours.
 *
 * The kernel's own loader wants a compressed image, which the machine does not have.  So this one
 * enters the uncompressed kernel by the 64-bit boot protocol: Documentation/x86/boot.rst.
 */
#include <asm/bootparam.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "overflow.h"

/* Addresses in the memory of the next kernel. */
#define PARAMETERS	0x10000		/* struct boot_params */
#define COMMAND_LINE	0x11000
#define ENTRY		0x12000		/* our first instructions */
#define INITRD		0x20000000

#define TYPE_RAM	1
#define LOADER_UNKNOWN	0xff

static struct kexec_segment segments[KEXEC_SEGMENT_MAX];
static unsigned int nr_segments;

static void add_segment(const void *buf, size_t size, unsigned long address, size_t room)
{
	struct kexec_segment *s = &segments[nr_segments++];

	if (nr_segments > KEXEC_SEGMENT_MAX)
		die("too many segments");
	s->buf = buf;
	s->bufsz = size;
	s->mem = (void *)(address & -4096UL);
	if ((unsigned long)s->mem != address)
		die("a segment at %#lx, which is no page", address);
	s->memsz = (room + 4095) & -4096UL;
}

static const void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	*size = st.st_size;
	return p;
}

/* Load the parts of the kernel.  Return: the address of its first instruction. */
static unsigned long add_kernel(void)
{
	size_t size;
	const char *file = map_file("/inner/vmlinux", &size);
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Phdr *part = (const void *)(file + header->e_phoff);
	unsigned int i;

	for (i = 0; i < header->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD)
			add_segment(file + part[i].p_offset, part[i].p_filesz, part[i].p_paddr, part[i].p_memsz);
	}
	return header->e_entry;
}

static void find_memory(struct boot_params *p)
{
	FILE *f = fopen("/proc/iomem", "r");
	unsigned long long first, last;
	char line[128];

	if (!f)
		die("/proc/iomem: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		/* Lines of parts are indented. */
		if (*line == ' ' || !strstr(line, " : System RAM") ||
		    sscanf(line, "%llx-%llx", &first, &last) != 2)
			continue;
		p->e820_table[p->e820_entries].addr = first;
		p->e820_table[p->e820_entries].size = last + 1 - first;
		p->e820_table[p->e820_entries++].type = TYPE_RAM;
	}
	fclose(f);
}

static void load(void)
{
	static struct boot_params p;
	static char command_line[2048];
	static unsigned char code[] = {
		0x48, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0,	/* mov $PARAMETERS, %rsi */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,	/* mov $kernel, %rax */
		0xff, 0xe0,				/* jmp *%rax */
	};
	u64 parameters = PARAMETERS, kernel = add_kernel();
	size_t size;
	const void *initrd = map_file("/inner/initrd", &size);
	int fd = open("/proc/cmdline", O_RDONLY);

	if (fd < 0 || read(fd, command_line, sizeof(command_line) - 1) <= 0)
		die("/proc/cmdline: %s", strerror(errno));
	*strchrnul(command_line, '\n') = '\0';
	p.hdr.boot_flag = 0xaa55;
	p.hdr.header = 0x53726448;
	p.hdr.version = 0x020f;
	p.hdr.type_of_loader = LOADER_UNKNOWN;
	p.hdr.loadflags = LOADED_HIGH;
	p.hdr.ramdisk_image = INITRD;
	p.hdr.ramdisk_size = size;
	p.hdr.cmd_line_ptr = COMMAND_LINE;
	p.hdr.cmdline_size = sizeof(command_line);
	find_memory(&p);
	memcpy(code + 2, &parameters, sizeof(parameters));
	memcpy(code + 12, &kernel, sizeof(kernel));
	add_segment(&p, sizeof(p), PARAMETERS, sizeof(p));
	add_segment(command_line, sizeof(command_line), COMMAND_LINE, sizeof(command_line));
	add_segment(code, sizeof(code), ENTRY, sizeof(code));
	add_segment(initrd, size, INITRD, size);
	if (syscall(SYS_kexec_load, ENTRY, nr_segments, segments, KEXEC_ARCH_DEFAULT))
		die("kexec_load: %s", strerror(errno));
}

/* The thread that boots the next kernel counts in kernel mode, and soon overflows there. */
static void start_counters(void)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_BOTH);
	if (nr_fixed())
		control_add(&control, FIXED(FIXED_INSNS), FIXED_USER | FIXED_KERNEL);
	control_add_imode(&control, nth_general(1), INSNS_BOTH, 1 << 30);
	if (set_control(open_state(0), &control))
		die("CONTROL failed");
}

int main(void)
{
	open_device();
	load();
	start_counters();
	/* For ../vm/judge this program has ended, unless the next kernel does not start. */
	printf("\n@vm exit 1 0\n");
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	die("kexec: %s", strerror(errno));
}
