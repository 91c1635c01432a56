# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian packages, as files.  The packages come from the mirror that apt on this
# machine uses.

apt_update()
{
    [ "$(id -u)" = 0 ] || die "the package lists are missing or too old; as root: apt-get update"
    # A broken third-party source does not matter: the download of a package reports what
    # is missing.
    logged "$cache/log/apt-update.log" "updating the package lists" \
        apt-get -o DPkg::Lock::Timeout=600 update || true
}

apt_mirror()
{
    # apt expands this, not the shell
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' \
        'Created-By: Packages' | head -n 1
}

# apt_private DIR ARCH SUITE...: make apt-get and apt-cache in this script use only these
# suites, with package lists in DIR; the lists of the machine stay as they are
apt_private()
{
    local dir=$1 arch=$2 mirror suite
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 2

    mirror=${MIRROR:-$(apt_mirror)}
    if [ -z "$mirror" ]; then
        apt_update
        mirror=$(apt_mirror)
    fi
    [ -n "$mirror" ] || die "apt knows no Debian mirror: set MIRROR to the address of one"
    mkdir -p "$dir"/etc/apt/{apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d} \
        "$dir"/var/lib/{apt/lists/partial,dpkg} "$dir"/var/cache/apt/archives/partial
    : > "$dir/var/lib/dpkg/status"
    cat > "$dir/apt.conf" <<-EOF
	Dir "$dir/";
	Dir::State "var/lib/apt";
	Dir::State::status "$dir/var/lib/dpkg/status";
	Dir::Cache "var/cache/apt";
	Dir::Etc "etc/apt";
	APT::Architecture "$arch";
	APT::Architectures { "$arch"; "$native"; };
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	# The lists of a mirror may have expired.
	Acquire::Check-Valid-Until "false";
	EOF
    for suite in "$@"; do
        printf '%s [signed-by=%s] %s %s main\n' deb "$key" "$mirror" "$suite" \
            deb-src "$key" "$mirror" "$suite"
    done > "$dir/etc/apt/sources.list.d/suites.list"
    export APT_CONFIG=$dir/apt.conf
    logged "$dir/update.log" "reading the package lists of $*" apt-get update
}
