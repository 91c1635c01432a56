# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Results that are remembered, by the hash of all that a test depends on.  A test that has passed
# with the same inputs is not run again where REMEMBER is set, as check-all sets it; it is listed as
# "passed before".  FRESH=1 runs it, and so does CI=... .

# passed_before NAME KEY DIR: true if it has; then report it, with the summary in DIR
passed_before()
{
    local name=$1 file=$cache/passed/$2 dir=$3

    [[ -n ${REMEMBER:-} && -z ${FRESH:-}${CI:-} && -s $file ]] || return 1
    mkdir -p "$dir"
    cp "$file" "$dir/summary"
    touch "$file"
    printf '%-10s %s (passed before)\n' "$name" "$(cat "$file")"
}

# keep_passed KEY DIR: remember the summary in DIR, if nothing has failed
keep_passed()
{
    local tmp

    mkdir -p "$cache/passed"
    tmp=$(mktemp "$cache/passed/tmp.XXXXXX")
    if grep -x '[1-9][0-9]* passed, 0 failed' "$2/summary" > "$tmp"; then
        mv "$tmp" "$cache/passed/$1"
    else
        rm -f "$tmp"
    fi
    # three months after it was needed last
    find "$cache/passed" -type f -mtime +90 -delete 2> /dev/null || true
}

# settings_here: print the variables that change a test on this machine: those that a Makefile takes
# from the environment, and those of programs and scripts
settings_here()
{
    local names

    names=$(find . -path ./build -prune -o -name Makefile -exec grep -hoE '^[A-Za-z_][A-Za-z_0-9]* *\?=' {} + |
        tr -d ' ?=' | LC_ALL=C sort -u | tr '\n' '|')
    env | grep -E "^(${names}CK_[A-Z_]*|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|KCFLAGS|JOBS|V|W|SEED|SECONDS|LINT_ALL|BASE|EVERY|ROUNDS)=" |
        LC_ALL=C sort || true
}

# inputs_here NAME: print what a test on this machine depends on: the project, Debian's packages and
# their settings, and the kernels whose headers it reads
inputs_here()
{
    local leave_out=()

    echo "$1"
    cd "$top" || return
    case $1 in
    # no test of a program reads a document
    unit)           leave_out=(-e '^\./\(.*/\)\?[^/]*\.md$' -e '^\./doc/') ;;
    # what changed, and what a clone and an archive have
    lint|clone|packages|check-*) git rev-parse HEAD 2> /dev/null || true ;;
    esac
    # a file may be listed and missing
    if [ -e .git ]; then
        git ls-files -z --cached --others --exclude-standard | sed -z 's,^,./,'
    else
        find . -path ./build -prune -o -type f -print0
    fi | grep -zv "${leave_out[@]:--e^$}" | LC_ALL=C sort -z |
        xargs -0 sh -c 'stat -c "%a %N" "$@"; sha256sum "$@"' sh 2> /dev/null || true
    dpkg-query -W
    stat -c '%n %s %Y' "$cache"/kernels/debian-{6.1-amd64,newest-amd64,6.1-arm64}/{release,vmlinux} 2> /dev/null || true
    settings_here
}

# inputs_machine COMMAND...: print what a virtual machine depends on: the words of the command, and
# the contents of the files that it names.  $dir is the directory of this run.
inputs_machine()
{
    local word

    for word; do
        echo "${word//"$dir"/.}"
        [ ! -f "$word" ] || sha256sum < "$word"
    done
    # firmware; sizes and times identify the files of packages
    find /usr/share/qemu /usr/share/seabios -type f -printf '%p %s %T@\n' 2> /dev/null | LC_ALL=C sort
    # the harness, without the table of suites, whose lines are in the command and in the image
    (cd "$vm" && find . -maxdepth 1 -type f ! -name suites ! -name '*.md' ! -name selftest -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum)
}
