# SPDX-License-Identifier: LGPL-2.1-or-later
"""Build the extension, with the installed libraries, which pkg-config finds.

"make wheel" puts copies of the libraries into the package instead: VPERFCTR_LIB is their
directory, and VPERFCTR_INCLUDE those of their headers.  libpfm4, which Debian has only as a shared
library that can be linked here, is beside the extension, as auditwheel would place it.
"""

import os
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = (
    "vperfctr: libvperfctr-event was not found: install it first, by libvperfctr-dev of Debian, "
    'vperfctr-devel, or "make install" in the source of vperfctr; PKG_CONFIG_PATH names the '
    "directory of its .pc file if that is in another place"
)


def version():
    """Return the version: in an archive of "sdist" it is that of the metadata."""
    for path, pattern in (
        ("PKG-INFO", r"^Version: (\S+)"),
        ("../../lib/include/vperfctr.h", r'^#define VPERFCTR_VERSION\s+"(.*)"'),
    ):
        try:
            with open(os.path.join(HERE, path), encoding="utf-8") as file:
                return re.search(pattern, file.read(), re.M).group(1)
        except OSError:
            continue
    return os.environ.get("VPERFCTR_VERSION", "0")


def pkg_config(option):
    """Return pkg-config's words for the library."""
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), option, "libvperfctr-event"]
    try:
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, universal_newlines=True
        ).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        sys.exit(MISSING)


class Build(build_ext):
    """Find the libraries only where something is built: an sdist needs none."""

    def build_extension(self, ext):
        if "VPERFCTR_LIB" in os.environ:
            lib = os.environ["VPERFCTR_LIB"]
            ext.include_dirs += os.environ["VPERFCTR_INCLUDE"].split(":")
            ext.extra_objects += [lib + "/libvperfctr-event.a", lib + "/libvperfctr.a"]
            ext.libraries += ["pfm"]
            ext.extra_link_args += ["-pthread", "-Wl,-z,nodelete", "-Wl,-rpath,$ORIGIN"]
        else:
            ext.extra_compile_args += pkg_config("--cflags")
            ext.extra_link_args += pkg_config("--libs")
        super().build_extension(ext)


setup(
    name="vperfctr",
    version=version(),
    description="The performance counters of a thread",
    license="LGPL-2.1-or-later",
    python_requires=">=3.8",
    packages=["vperfctr"],
    package_data={"vperfctr": ["*.pyi", "py.typed", "libpfm*"]},
    zip_safe=False,
    options={"bdist_wheel": {"py_limited_api": "cp38"}},
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "vperfctr._vperfctr",
            ["module.c"],
            define_macros=[("_GNU_SOURCE", None), ("_FILE_OFFSET_BITS", "64")],
            py_limited_api=True,
        )
    ],
)
