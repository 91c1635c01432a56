# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a virtual machine.  These variables describe it, here with their defaults; a
# suite and the command line set others.

: "${arch:=amd64}"		# as Debian calls it
case $arch in
riscv64) : "${kernel:=debian-6.12-riscv64}" ;;	# a file in kernels/; there is no older one
i586)    : "${kernel:=i586-6.1-i386}" ;;
powerpc) : "${kernel:=ppc32-6.1-powerpc}" ;;
*)       : "${kernel:=debian-6.1-$arch}" ;;
esac
: "${pmu=}"			# QEMU_X86_PMU, see ../pmu-model/README.md; "off": none;
				# arm64: "two-kinds", see two-pmus.c
: "${smp:=1}"
: "${icount=0}"			# 2^icount virtual ns per instruction: exact; empty: real time
: "${cmdline=}"			# added to the kernel's

case $arch in
amd64|i386) : "${cpu:=SandyBridge}" ;;	# QEMU's name
i586)  : "${cpu:=pentium}" ;;
arm64) : "${cpu:=neoverse-n1}" ;;
riscv64) : "${cpu:=rv64,sscofpmf=true}" ;;
ppc64el) : "${cpu:=power9}" ;;
powerpc) : "${cpu:=7447a}" ;;
*)     die "no virtual machines for the architecture $arch" ;;
esac

# vm_kernel_says NAME: print the value in the kernel's entry, or nothing
vm_kernel_says()
{
    # shellcheck source=kernels/debug-6.1-amd64
    (declare "$1="; . "$vm/kernels/$kernel"; echo "${!1}")
}

# vm_prepare: get the emulator, the kernel and the root image; set qemu, kernel_dir,
# base_image, memory, kernel_cmdline and programs_dir.  $tools may be "no".
vm_prepare()
{
    memory=$(vm_kernel_says memory)
    kernel_cmdline=$(vm_kernel_says cmdline)
    qemu=$("$vm/qemu" "$arch")
    kernel_dir=$("$vm/kernel" "$kernel")
    base_image=$("$vm/image" base "$arch" "${tools:-tools}")
    programs_dir=$(built "$arch")
}

# vm_layer DIR START: begin a layer whose /vm/start is guest/START
vm_layer()
{
    rm -rf "$1"
    mkdir -p "$1"/{root,tests,usr/bin,usr/lib,vm}
    cp "$vm/guest/$2" "$1/vm/start"
}

# vm_install DIR [no]: copy the module, the libraries and the command into a layer; no: not
# the module
vm_install()
{
    local module f lock

    # "build" replaces these files: it must not do so now
    exec {lock}> "$O/build.lock"
    flock -s "$lock"
    module=$O/module-$(cat "$kernel_dir/release")/vperfctr.ko
    # shellcheck disable=SC2154 # vm_prepare did
    f=$programs_dir/bin/perfex
    # an i586 lacks its libraries, and "check" builds it only where a suite runs a script
    [ ! -e "$f" ] || cp "$f" "$1/usr/bin/"
    if [ "${2:-}" != no ]; then
        [ -e "$module" ] || die "$module has not been built"
        cp "$module" "$1/vm/"
    fi
    find "$programs_dir/lib" -maxdepth 1 -name '*.so*' -exec cp -P -t "$1/usr/lib" {} +
    exec {lock}>&-
}

# vm_file FILE: print a CHARDEV for vm_command that writes there
vm_file()
{
    # a comma ends a QEMU option, two of them are one
    echo "file,path=${1//,/,,}"
}

# vm_command DIR LAYER CHARDEV...: set the array "command" to a command that boots with
# the layer on top of the base image.  Each CHARDEV is an argument of -chardev without
# its id.  They become the serial ports: first the console, then /dev/ttyS1 and ttyS2 for
# the programs.  DIR gets the files that the emulator boots from.
vm_command()
{
    local dir=$1 layer=$2 clock=() boot=$kernel_dir/vmlinux model=$cpu real_time="" ports=() port i=0 n=0 console card
    local machine=virt tree=""
    shift 2

    "$vm/image" pack "$layer" "$dir/layer.cpio" "$arch"
    cat "$base_image" "$dir/layer.cpio" > "$dir/initrd"
    rm -rf "$layer" "$dir/layer.cpio"
    if [ -n "$icount" ]; then
        # instructions are the clock, and idle time passes at once: all runs are the same
        clock=(-icount "shift=$icount,${sleep:-sleep=off}"
            -rtc "base=2026-01-01T00:00:00,clock=vm" -seed 1)
    else
        # other work on this machine may stall the virtual one: the kernel must be patient
        real_time="watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120"
        # its test of the timer panics
        case $arch in amd64|i386|i586) real_time+=" no_timer_check" ;; esac
    fi
    [ -e "$boot" ] || boot=$kernel_dir/bzImage
    command=(env)
    case $arch in
    riscv64) [ "$pmu" != off ] || model+=,pmu-mask=0 ;;
    ppc64el) [ "$pmu" != off ] || die "the emulator of $arch always has a PMU" ;;
    powerpc)
        # a version of a processor, for the module; none that it knows
        case $pmu in "") ;; off) command+=(QEMU_PPC32_PVR=0) ;; *) command+=("QEMU_PPC32_PVR=$pmu") ;; esac
        ;;
    *)       [ "$pmu" = off ] && model+=,pmu=off || model+=,pmu=on ;;
    esac
    memory=${memory:-512}
    for port; do
        ports+=(-chardev "$port,id=port$i")
        i=$((i + 1))
    done
    # shellcheck disable=SC2154 # vm_prepare did
    case $arch in
    amd64|i386|i586)
        case $pmu in ""|off) ;; *) command+=("QEMU_X86_PMU=$pmu") ;; esac
        # with RDRAND the kernel has random numbers at once, else after a busy second
        command+=("$qemu" -M pc -cpu "$model,-hypervisor,-tsc-deadline,+rdrand"
            -L /usr/share/seabios -L /usr/share/qemu)
        for ((i = 0; i < $#; i++)); do ports+=(-serial "chardev:port$i"); done
        console=ttyS0
        ;;
    arm64)
        machine+=${board:+,$board}
        # the board has one port; the ports of this card are ttyS0 to ttyS3
        if [ "$pmu" = two-kinds ]; then
            # only this interrupt controller can have partitions
            machine+=,gic-version=3
            tree=$("$vm/device-tree" "$dir" "$qemu" "$machine" -cpu "$model" -smp "$smp" -m "$memory")
        fi
        command+=("$qemu" -M "$machine" -cpu "$model" ${tree:+-dtb "$tree"})
        ports+=(-serial chardev:port0 -chardev "null,id=unused0" -chardev "null,id=unused3")
        for ((; i < 3; i++)); do ports+=(-chardev "null,id=port$i"); done
        card=pci-serial-4x
        for port in unused0 port1 port2 unused3; do
            card=$card,chardev$((n += 1))=$port
        done
        ports+=(-device "$card")
        console=ttyAMA0
        ;;
    riscv64)
        command+=("$qemu" -M "$machine${board:+,$board}" -cpu "$model"
            -bios /usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin)
        # the kernel has four ports: that of the board, and those of this card
        ports+=(-serial chardev:port0)
        for ((; i < 3; i++)); do ports+=(-chardev "null,id=port$i"); done
        ports+=(-device "pci-serial-2x,chardev1=port1,chardev2=port2")
        console=ttyS0
        ;;
    ppc64el)
        # Linux starts from the board's own small firmware; the emulator has none of the
        # mitigations of speculation that the board promises by default
        machine=pseries,x-vof=on,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off
        command+=("$qemu" -M "$machine${board:+,$board}" -cpu "$model" -L /usr/share/qemu)
        # the ports of this card are ttyS0 to ttyS3
        ports+=(-serial chardev:port0 -chardev "null,id=unused0" -chardev "null,id=unused3")
        for ((; i < 3; i++)); do ports+=(-chardev "null,id=port$i"); done
        ports+=(-device "pci-serial-4x,chardev1=unused0,chardev2=port1,chardev3=port2,chardev4=unused3")
        console=hvc0
        ;;
    powerpc)
        # mac99 has a 74xx, g3beige an older processor; without "graphics=off" the firmware has
        # no console
        machine=${board:-mac99,via=pmu}
        command+=("$qemu" -M "$machine,graphics=off" -cpu "$model" -L /usr/share/qemu)
        # the board has two ports; those of this card are ttyS0 to ttyS3
        ports+=(-serial chardev:port0 -chardev "null,id=unused0" -chardev "null,id=unused3")
        for ((; i < 3; i++)); do ports+=(-chardev "null,id=port$i"); done
        ports+=(-device "pci-serial-4x,chardev1=unused0,chardev2=port1,chardev3=port2,chardev4=unused3")
        console=ttyPZ0
        ;;
    esac
    # the kernel's tests of its ciphers would take most of its boot
    command+=(-m "$memory" -smp "$smp" "${clock[@]}" -nodefaults -display none -no-reboot
        -kernel "$boot" -initrd "$dir/initrd" "${ports[@]}"
        -append "cryptomgr.notests panic=-1 oops=panic norandmaps nmi_watchdog=0 console=$console $real_time $kernel_cmdline $cmdline")
}
