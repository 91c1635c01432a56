# SPDX-License-Identifier: GPL-2.0
"""usage: compress-perf.py PERF.DATA TYPE [zeros]: compress its records as perf record -z does, in
pieces.

TYPE is 81, or 83, whose pieces have a size and are padded.  Records are in two streams' frames.
zeros: 128 MB of records that have nothing but zeros, instead."""
import struct
import subprocess
import sys

with open(sys.argv[1], 'rb') as f:
    old = f.read()
kind = int(sys.argv[2])
offset, size = struct.unpack_from('<QQ', old, 40)
features = sum(bin(word).count('1') for word in struct.unpack_from('<4Q', old, 72))
records = old[offset:offset + size]
if sys.argv[3:] == ['zeros']:
    records = (struct.pack('<IHH', 1000, 0, 0xfff8) + bytes(0xfff0)) * 2000
stream = b''
for part in records[:len(records) // 2 + 3], records[len(records) // 2 + 3:]:
    stream += subprocess.run(['zstd', '-q', '-c'], input=part, stdout=subprocess.PIPE,
                             check=True).stdout
new = b''
for at in range(0, len(stream), 101):
    piece = stream[at:at + 101]
    if kind == 83:
        piece = struct.pack('<Q', len(piece)) + piece + bytes(-len(piece) % 8)
    new += struct.pack('<IHH', kind, 0, 8 + len(piece)) + piece
table = bytearray(old[offset + size:])
for i in range(features):
    at, length = struct.unpack_from('<QQ', table, 16 * i)
    struct.pack_into('<QQ', table, 16 * i, at + len(new) - size, length)
head = bytearray(old[:offset])
struct.pack_into('<Q', head, 48, len(new))
with open(sys.argv[1], 'wb') as f:
    f.write(head + new + table)
