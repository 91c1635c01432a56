# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Boot a virtual machine.  What it is like is in variables, which these are the
# defaults of; a test suite and the command line set others.

: "${kernel:=debian-6.1-amd64}"	# a file in kernels/
: "${cpu:=SandyBridge}"		# QEMU's name
: "${pmu=}"			# QEMU_X86_PMU, see ../pmu-model/README.md; "off": none
: "${smp:=1}"
: "${icount=0}"			# 2^icount virtual ns per instruction: exact; empty: real time
: "${cmdline=}"			# added to the kernel's

# vm_kernel_says NAME: the value in the kernel's entry, or nothing
vm_kernel_says()
{
    # shellcheck source=kernels/debug-6.1-amd64
    (declare "$1="; . "$vm/kernels/$kernel"; echo "${!1}")
}

# vm_prepare: get what it takes; sets qemu, kernel_dir, base_image, memory, kernel_cmdline
vm_prepare()
{
    memory=$(vm_kernel_says memory)
    kernel_cmdline=$(vm_kernel_says cmdline)
    qemu=$("$vm/qemu")
    kernel_dir=$("$vm/kernel" "$kernel")
    base_image=$("$vm/image" base)
}

# vm_layer DIR START: the beginnings of a layer whose /vm/start is guest/START
vm_layer()
{
    rm -rf "$1"
    mkdir -p "$1"/{root,tests,usr/bin,usr/lib,vm}
    cp "$vm/guest/$2" "$1/vm/start"
}

# vm_install DIR: the module, the library and the command, as built
vm_install()
{
    local module f

    module=$O/module-$(cat "$kernel_dir/release")/vperfctr.ko
    for f in "$module" "$O/bin/perfex"; do
        [ -e "$f" ] || die "$f has not been built"
    done
    cp "$module" "$1/vm/"
    cp "$O/bin/perfex" "$1/usr/bin/"
    find "$O/lib" -maxdepth 1 -name '*.so*' -exec cp -P -t "$1/usr/lib" {} +
}

# vm_command DIR LAYER QEMU_OPTION...: sets the array "command", which boots with
# the layer on top of the base image.  The options have to include the serial
# ports; DIR is for what it takes to boot.
vm_command()
{
    local dir=$1 layer=$2 clock=() boot=$kernel_dir/vmlinux model=$cpu,-hypervisor,-tsc-deadline
    shift 2

    "$vm/image" pack "$layer" "$dir/layer.cpio"
    cat "$base_image" "$dir/layer.cpio" > "$dir/initrd"
    rm -rf "$layer" "$dir/layer.cpio"
    if [ -n "$icount" ]; then
        # time is instructions and idle time passes at once: each run is the same
        clock=(-icount "shift=$icount,${sleep:-sleep=off}"
            -rtc "base=2026-01-01T00:00:00,clock=vm" -seed 1)
    fi
    [ -e "$boot" ] || boot=$kernel_dir/bzImage
    command=(env)
    case $pmu in
    off) model+=,pmu=off ;;
    "")  model+=,pmu=on ;;
    *)   model+=,pmu=on; command+=("QEMU_X86_PMU=$pmu") ;;
    esac
    # shellcheck disable=SC2154 # vm_prepare did
    command+=("$qemu" -M pc -m "${memory:-512}" -cpu "$model" -smp "$smp" "${clock[@]}"
        -nodefaults -display none -no-reboot -L /usr/share/seabios -L /usr/share/qemu
        -kernel "$boot" -initrd "$dir/initrd"
        -append "panic=-1 oops=panic norandmaps nmi_watchdog=0 console=ttyS0 $kernel_cmdline $cmdline"
        "$@")
}
