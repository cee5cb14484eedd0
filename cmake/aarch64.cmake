# Cross-builds for 64-bit ARM with Debian's compiler and its arm64 libraries (tools/scripts/packages, set aarch64).
# What is built is run under qemu-user: CMAKE_CROSSCOMPILING_EMULATOR, or by hand `qemu-aarch64-static build/aarch64/...`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# Both architectures' libraries lie under /usr, each in its own folder.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
