# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For "make wheel", which sets these variables.
import os

from setuptools import Extension, setup

lib = os.environ["VPERFCTR_LIB"]
setup(
    name="vperfctr",
    version=os.environ["VPERFCTR_VERSION"],
    description="The performance counters of a thread",
    license="LGPL-2.1-or-later",
    python_requires=">=3.8",
    packages=["vperfctr"],
    package_data={"vperfctr": ["*.pyi", "py.typed"]},
    zip_safe=False,
    options={"bdist_wheel": {"py_limited_api": "cp38"}},
    ext_modules=[
        Extension(
            "vperfctr._vperfctr",
            ["module.c"],
            include_dirs=os.environ["VPERFCTR_INCLUDE"].split(":"),
            define_macros=[("_GNU_SOURCE", None)],
            extra_objects=[lib + "/libvperfctr-event.a", lib + "/libvperfctr.a"],
            libraries=["pfm"],
            extra_link_args=["-pthread", "-Wl,-z,nodelete"],
            py_limited_api=True,
        )
    ],
)
