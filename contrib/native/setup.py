"""The compiled module; everything else stands in setup.cfg."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "hoodoo_native._bloom",
            ["src/hoodoo_native/_bloom.c"],
            extra_compile_args=["-O3"],
            py_limited_api=True,
        )
    ]
)
