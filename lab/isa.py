# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The instruction sets that programs are built for and run on in QEMU's user mode."""

from dataclasses import dataclass
from functools import cache

from .errors import LabError

CLANG = "clang-19"
OPTS = ("O0", "O1", "O2", "O3", "Os")

# A misaligned load: never emitted, or emitted wherever the source asks for one.
STRICT, UNALIGNED = "strict", "unaligned"


@dataclass(frozen=True)
class Compiler:
    """How one compiler is called for one instruction set."""

    command: tuple[str, ...]
    package: str
    strict: tuple[str, ...] = ()
    unaligned: tuple[str, ...] = ()
    linker: tuple[str, ...] = ()  # where it is not the instruction set's


@dataclass(frozen=True)
class Isa:
    """One instruction set; `flags` are for both compilers, `linker` links what either made."""

    name: str
    title: str
    compilers: dict[str, Compiler]
    linker: tuple[str, ...]
    emulator: tuple[str, ...]
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("-lgcc",)
    families: tuple[str, ...] = ()  # folders of src/bytes
    is_big_endian: bool = False
    is_strict: bool = True  # built not to misalign anything

    def compiler(self, name: str) -> Compiler:
        """One of its compilers."""
        if name not in self.compilers:
            raise LabError(f"{self.name} has no {name} here; it has: {', '.join(self.compilers)}")
        return self.compilers[name]


def _clang(target: str, *more: str, **about: tuple[str, ...]) -> Compiler:
    return Compiler((CLANG, f"--target={target}", "-Qunused-arguments", *more), "clang-19", **about)


_ARM_STRICT = {"strict": ("-mno-unaligned-access",), "unaligned": ("-munaligned-access",)}
_STRICT = {"strict": ("-mstrict-align",), "unaligned": ("-mno-strict-align",)}


def _arm(name: str, title: str, target: str, *flags: str, can_misalign: bool = False) -> Isa:
    align = _ARM_STRICT if can_misalign else {}
    gcc = Compiler(("arm-none-eabi-gcc",), "gcc-arm-none-eabi", **align)
    return Isa(
        name,
        title,
        {"gcc": gcc, "clang": _clang(target, **align)},
        ("arm-none-eabi-gcc", *flags),
        ("qemu-arm",),
        (*flags, "-mfloat-abi=soft"),
        families=("arm", "thumb"),
    )


def _mips(name: str, title: str, prefix: str, is_big_endian: bool) -> Isa:
    flags = ("-march=mips32", "-mno-abicalls", "-fno-pic", "-G0", "-msoft-float")
    gcc = Compiler((f"{prefix}-linux-gnu-gcc",), f"gcc-{prefix}-linux-gnu")
    return Isa(
        name,
        title,
        {"gcc": gcc, "clang": _clang(f"{prefix}-linux-gnu")},
        (f"{prefix}-linux-gnu-gcc", "-march=mips32", "-mno-abicalls", "-no-pie"),
        (f"qemu-{prefix}",),
        flags,
        libraries=(),
        families=("mips",),
        is_big_endian=is_big_endian,
    )


def _riscv(bits: int, abi: str) -> Isa:
    flags = (f"-march=rv{bits}imac", f"-mabi={abi}", "-mcmodel=medany", "-mno-relax")
    # gcc takes the cores of its default tuning to be slow at misaligned words.
    gcc = Compiler(
        ("riscv64-unknown-elf-gcc",),
        "gcc-riscv64-unknown-elf",
        ("-mstrict-align",),
        ("-mno-strict-align", "-mtune=thead-c906"),
    )
    return Isa(
        f"rv{bits}",
        f"RV{bits}",
        # GNU ld of binutils 2.40 crashes on what clang-19 makes for rv32.
        {"gcc": gcc, "clang": _clang(f"riscv{bits}-unknown-elf", linker=("ld.lld-19",), **_STRICT)},
        ("riscv64-unknown-elf-gcc", *flags),
        (f"qemu-riscv{bits}",),
        flags,
        libraries=(),
        families=("riscv",),
    )


ISAS = (
    _arm("armv5", "ARMv5 (ARM state)", "armv5te-none-eabi", "-march=armv5te", "-marm"),
    _arm(
        "armv7a", "ARMv7-A (ARM state)", "armv7a-none-eabi", "-march=armv7-a", "-marm",
        can_misalign=True,
    ),
    _arm("thumb1", "Cortex-M0 (Thumb-1)", "thumbv6m-none-eabi", "-mcpu=cortex-m0", "-mthumb"),
    _arm(
        "thumb2", "Cortex-M3 (Thumb-2)", "thumbv7m-none-eabi", "-mcpu=cortex-m3", "-mthumb",
        can_misalign=True,
    ),
    Isa(
        "aarch64",
        "AArch64",
        {
            "gcc": Compiler(("aarch64-linux-gnu-gcc",), "gcc-aarch64-linux-gnu", **_STRICT),
            "clang": _clang("aarch64-none-elf", **_ARM_STRICT),
        },
        ("aarch64-linux-gnu-gcc", "-no-pie"),
        ("qemu-aarch64",),
        ("-mgeneral-regs-only", "-fno-pic"),
        families=("aarch64",),
    ),
    Isa(
        "sparcv8",
        "SPARC V8",
        {
            "gcc": Compiler(
                ("sparc64-linux-gnu-gcc", "-m32", "-mflat"), "gcc-sparc64-linux-gnu"
            ),
            "clang": _clang("sparc-linux-gnu"),
        },
        ("sparc64-linux-gnu-gcc", "-m32", "-no-pie"),
        ("qemu-sparc",),
        ("-mcpu=v8", "-msoft-float", "-fno-pic"),
        libraries=(),
        families=("sparc",),
        is_big_endian=True,
    ),
    _mips("mips32be", "MIPS32, big endian", "mips", True),
    _mips("mips32le", "MIPS32, little endian", "mipsel", False),
    _riscv(32, "ilp32"),
    _riscv(64, "lp64"),
    Isa(
        "loongarch64",
        "LoongArch64",
        {"clang": _clang("loongarch64-linux-gnu", "-mno-lsx", **_STRICT)},
        ("ld.lld-19",),
        ("qemu-loongarch64",),
        ("-fno-pic", "-mno-relax"),
        libraries=(),
        families=("loongarch",),
    ),
    Isa(
        "x86_64",
        "x86-64",
        {"gcc": Compiler(("gcc",), "gcc"), "clang": Compiler((CLANG,), "clang-19")},
        ("gcc", "-no-pie"),
        ("qemu-x86_64", "-cpu", "max"),
        ("-fno-pic", "-fcf-protection=none"),
        families=("x86",),
        is_strict=False,
    ),
)


@cache
def isa(name: str) -> Isa:
    """One instruction set by its name in the records."""
    for known in ISAS:
        if known.name == name:
            return known
    raise LabError(f"no instruction set {name!r}; there are: {', '.join(i.name for i in ISAS)}")
