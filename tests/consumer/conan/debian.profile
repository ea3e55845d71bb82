include(default)
[settings]
compiler.cppstd=20
build_type=Release
[platform_requires]
