#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: print_flames
#
# Sample a program in C++ by its instructions, and write the flame graph of its functions to
# /dev/ttyS2: "make picture" puts it into the documents.
set -e

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$(dirname "$0")"
perfex record -q -e instructions:u -c 10007 -g -o "$tmp/samples" -- ./words > /dev/null
perfex report -i "$tmp/samples" --export=svg -o "$tmp/flames.svg"
stty -F /dev/ttyS2 raw
cat "$tmp/flames.svg" > /dev/ttyS2
