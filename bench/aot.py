"""Compile every kernel ahead of time, without a card, and say what each takes of one.

    python bench/aot.py [--arch 80 90 gfx942 ..] [--few | --tiles] [--json] [--out FILE] [--beside FILE]

A line a kernel, architecture, dtype and choice of tiles and flags: registers a thread, stack (spills lie there), local
memory, shared memory, matrix instructions and asynchronous copies in the PTX. `--few` compiles the largest tile of
bf16, and one of rotary positions; `--tiles` the tiles of head and attention in bf16 and float32. Exit status 1 when a
kernel spills, needs more shared memory than a block may have, multiplies bf16 or fp16 without matrix units, does not
pipeline its loads, or does not round what it must, on a card that takes the kernels.

Another Triton is taken from the front of the path: unpack its wheel, and set PYTHONPATH (`make aot-versions`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)  # interpreted kernels cannot be compiled

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from calprobe.kernels import gated_unit_triton as gate
from calprobe.kernels import gather_reduce_triton as gather
from calprobe.kernels import linear_logprob_triton as linear
from calprobe.kernels import rms_norm_triton as norm
from calprobe.kernels import rotary_triton as rotary
from calprobe.kernels import tree_attention_triton as tree
from calprobe.kernels.arguments import RotaryRule
from calprobe.kernels.tiles import (
    CDNA,
    OLDEST_CAPABILITY,
    WIDEST_GATE,
    WIDEST_NORM,
    Precision,
    Tiles,
    TileSet,
    row_tiles,
    tile_choices,
    tile_set,
)

Arch = int | str  # compute capability, or AMD's name
# Bytes of shared memory that a block may have (CUDA C++ guide, compute capabilities; AMD: 64 KiB).
SHARED_LIMIT: dict[Arch, int] = {
    75: 64 * 1024, 80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 103: 227 * 1024,
    110: 227 * 1024, 120: 99 * 1024, 121: 99 * 1024, "gfx90a": 64 * 1024, "gfx942": 64 * 1024,
}  # fmt: skip
# Their instructions are another card's of this list, so that each tile is compiled with all flags alone.
LIKE_ANOTHER: tuple[Arch, ...] = (75, 89, 103, 121, "gfx90a")
TYPE_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
INPUTS = ("p_hidden", "p_weight", "p_bias", "p_query", "p_key", "p_value", "p_out", "p_x", "p_gate", "p_up")
ANGLES = ("p_cos", "p_sin")
MODULES = {
    "_partial_lse_kernel": linear, "_target_logprob_kernel": linear, "_gather_reduce_kernel": gather,
    "_tree_attention_kernel": tree, "_rms_norm_kernel": norm, "_gated_unit_kernel": gate,
    "_rotary_kernel": rotary,
}  # fmt: skip
MULTIPLY = ("_partial_lse_kernel", "_tree_attention_kernel")
# Heads, the states of gemma-7b, the widest row in one part, and one in three; gates of gemma-7b, and a narrow one.
NORM_WIDTHS = (64, 3072, WIDEST_NORM, 2 * WIDEST_NORM + 8)
GATE_WIDTHS = (24_576, 768)
# Heads, their width and how much of it is turned: of Llama, of gemma-7b, and a quarter of each.
HEADS = ((32, 128, 128), (16, 256, 256), (16, 256, 64))
WAYS_TO_TURN = ((False, False, False), (True, False, True), (True, True, False))  # Llama, Cohere, GLM
# Bytes of stack a thread that are no fault: with more than a hundred registers in use, ptxas may keep a few addresses
# there, which are read once a tile.
FEW_BYTES = 32
POINTERS = {
    "p_partial": "fp32", "p_target": "i64", "p_row": "i64", "p_lse": "fp32", "p_logprob": "fp32",
    "p_edge_logprob": "fp32", "p_edge_of_token": "i32", "p_role": "i8", "p_offset": "i64", "p_sum": "fp64",
    "p_sum_answer": "fp64", "p_n_tokens": "i32", "p_n_answer": "i32", "p_first": "fp64", "p_first_role": "i8",
    "p_end": "i32", "p_depth": "i32", "p_ancestors": "i32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variant:
    """One compilation: a kernel's name in its module, the inputs' dtype, constants and launch options."""

    kernel: str
    dtype: str
    constants: tuple[tuple[str, Any], ...]
    warps: int = 4
    stages: int = 3
    fuses_products: bool = True  # with their sums

    @property
    def has_ones(self) -> bool:
        """Whether its sizes are compiled in as 1."""
        return "n_vocab" in dict(self.constants)

    @property
    def label(self) -> str:
        """Tiles and flags in short: `128x256x64 w8 s4 BIAS SOFTCAP`; of a kernel over rows also their width."""
        values = dict(self.constants)
        sizes = {name: value for name, value in values.items() if name.startswith("BLOCK_") and name != "BLOCK_PLACES"}
        blocks = "x".join(map(str, sizes.values()))
        flags = [name.removeprefix("HAS_") for name, value in values.items() if value is True]
        precision = [values["PRECISION"]] if self.dtype == "fp32" and "PRECISION" in values else []
        ones = ["ONES"] if self.has_ones else []
        width = [f"of {values['WIDTH']}"] if "WIDTH" in values else []
        width += [f"turns {values['TURNED']}"] if "TURNED" in values else []
        return " ".join([blocks, *width, f"w{self.warps}", f"s{self.stages}", *precision, *flags, *ones])


@dataclass(frozen=True, slots=True)
class Usage:
    """What one compiled kernel takes; bytes, except registers (a thread's) and counts of PTX instructions."""

    kernel: str
    arch: Arch
    dtype: str
    label: str
    registers: int
    stack: int
    local: int
    shared: int
    wgmma: int
    mma: int  # with AMD's v_mfma
    tcgen05: int
    async_copies: int  # of 16 bytes each, from global to shared memory while the products run
    fused: int = 0  # float32 products fused with their sums, of a kernel that must not

    def faults(self) -> list[str]:
        """What keeps this kernel from being used on its card; empty when nothing does."""
        found = []
        if self.stack > FEW_BYTES or self.local:
            found.append(f"spills: {self.stack} bytes of stack, {self.local} of local memory")
        if self.shared > SHARED_LIMIT[self.arch]:
            found.append(f"shared memory {self.shared} of {SHARED_LIMIT[self.arch]} bytes")
        on_tensor_cores = self.wgmma + self.mma + self.tcgen05 > 0
        multiplies = self.kernel in MULTIPLY
        if multiplies and self.dtype != "fp32" and not on_tensor_cores:
            found.append("no tensor-core instruction")
        if multiplies and not is_hip(self.arch) and not self.async_copies and not self.label.endswith("ONES"):
            found.append("loads are not pipelined in 16 bytes")
        if self.fused:
            found.append(f"{self.fused} products are not rounded before they are added")
        return found


def is_hip(arch: Arch) -> bool:
    """Whether that is a card of AMD."""
    return isinstance(arch, str)


def takes_kernels(arch: Arch) -> bool:
    """Whether launches come to that card; to others torch's own products do."""
    return arch in CDNA if isinstance(arch, str) else arch // 10 >= OLDEST_CAPABILITY


def variants(arch: Arch, few: bool, tiles: bool = False) -> Iterator[Variant]:
    """What a launch may choose on that architecture: every variant, or `few`, or each tile once; `tiles`: of those that
    multiply, with flags or without."""
    chosen = "hip" if isinstance(arch, str) else tile_set(arch // 10, SHARED_LIMIT[arch])
    if few:
        yield _partial_lse(torch.bfloat16, "ieee", tile_choices(torch.bfloat16, "ieee", chosen)[-1], False)
        yield _tree_attention(torch.bfloat16, 64, False, False)
        yield _rotary(torch.float32, HEADS[0], RotaryRule())
        return
    for variant in every_variant(chosen):
        is_one_of_a_tile = dict(variant.constants).get("HAS_SOFTCAP", True) and variant.dtype != "fp16"
        is_asked = variant.kernel in MULTIPLY and variant.dtype != "fp16" if tiles else is_one_of_a_tile
        if not (tiles or arch in LIKE_ANOTHER) or (is_asked and not variant.has_ones):
            yield variant


def every_variant(chosen: TileSet) -> Iterator[Variant]:
    """Every tile, flags all off and all on; fp16 compiles as bf16 does, so once a tile.

    Triton compiles an integer argument of 1 in as a constant, which is other code: so each kernel once with all ones.
    """
    choices: list[tuple[torch.dtype, Precision]] = [
        (torch.bfloat16, "ieee"), (torch.float16, "ieee"), (torch.float32, "ieee"), (torch.float32, "tf32x3"),
    ]  # fmt: skip
    on_hip = chosen == "hip"
    choices = choices[:-1] if on_hip else choices
    for dtype, precision in choices:
        for flag in (False, True) if dtype != torch.float16 else (True,):
            for tiles in tile_choices(dtype, precision, chosen):
                yield _partial_lse(dtype, precision, tiles, flag)
    for dtype in TYPE_NAMES:
        blocks = {"BLOCK_TARGETS": linear.BLOCK_TARGETS, "BLOCK_DIM": linear.BLOCK_TARGET_DIM}
        yield Variant("_target_logprob_kernel", TYPE_NAMES[dtype], _constants(True, **blocks))
    sizes = (("ANSWER_ROLE", gather.ANSWER), ("BLOCK_STATEMENTS", gather.BLOCK_STATEMENTS))
    yield Variant("_gather_reduce_kernel", "fp32", sizes)
    for dtype in TYPE_NAMES:
        for width in NORM_WIDTHS:
            flags = ((True, False), (False, True)) if dtype != torch.float16 else ((False, True),)
            yield from (_rms_norm(dtype, width, *each) for each in flags)
        yield from (_gated_unit(dtype, width, times) for width in GATE_WIDTHS for times in (1, 2))
        ways = WAYS_TO_TURN if dtype != torch.float16 else WAYS_TO_TURN[:1]
        yield from (_rotary(dtype, heads, RotaryRule(*flags)) for heads in HEADS for flags in ways)
    for block_dim in tree.BLOCK_DIMS:
        for dtype in (torch.bfloat16, torch.float32):
            yield from (_tree_attention(dtype, block_dim, *flags, on_hip) for flags in ((False, False), (True, True)))
        yield _tree_attention(torch.bfloat16, block_dim, False, True, on_hip)  # a window alone, as Mistral has it
        yield _tree_attention(torch.float16, block_dim, True, True, on_hip)
    smallest = _partial_lse(torch.bfloat16, "ieee", tile_choices(torch.bfloat16, "ieee", chosen)[0], True)
    targets = Variant("_target_logprob_kernel", "bf16", _constants(True, **blocks))
    for variant in (smallest, targets):
        yield replace(variant, constants=variant.constants + tuple((name, 1) for name in _sizes(variant.kernel)))


def _partial_lse(dtype: torch.dtype, precision: Precision, tiles: Tiles, flag: bool) -> Variant:
    options = tiles.launch_options()
    warps, stages = options.pop("num_warps"), options.pop("num_stages")
    constants = _constants(flag, PRECISION=precision, **options)
    return Variant("_partial_lse_kernel", TYPE_NAMES[dtype], constants, warps, stages)


def _tree_attention(dtype: torch.dtype, block_dim: int, softcap: bool, window: bool, on_hip: bool = False) -> Variant:
    tiles = tree.attention_tiles(dtype, block_dim, on_hip)
    options = tiles.launch_options()
    warps, stages = options.pop("num_warps"), options.pop("num_stages")
    flags = (
        ("HAS_SOFTCAP", softcap),
        ("HAS_WINDOW", window),
        ("PRECISION", "ieee"),
        ("BLOCK_PLACES", tree.BLOCK_PLACES),
    )
    constants = (*flags, *options.items(), ("BLOCK_DIM", block_dim))
    return Variant("_tree_attention_kernel", TYPE_NAMES[dtype], constants, warps, stages)


def _rms_norm(dtype: torch.dtype, width: int, one_plus: bool, rounds_first: bool) -> Variant:
    options = row_tiles(width, WIDEST_NORM).launch_options()
    warps = options.pop("num_warps")
    constants = (("ONE_PLUS", one_plus), ("ROUNDS_FIRST", rounds_first), ("WIDTH", width), *options.items())
    return Variant("_rms_norm_kernel", TYPE_NAMES[dtype], constants, warps)


def _gated_unit(dtype: torch.dtype, width: int, times: int) -> Variant:
    """Gate and up as arrays of their own, or as halves of one (`times` 2)."""
    options = row_tiles(width, WIDEST_GATE).launch_options()
    warps = options.pop("num_warps")
    constants = (("IS_GELU", times == 1), ("WIDTH", width), ("STRIDE", times * width), *options.items())
    return Variant("_gated_unit_kernel", TYPE_NAMES[dtype], constants, warps)


def _rotary(dtype: torch.dtype, heads: tuple[int, int, int], rule: RotaryRule) -> Variant:
    options = rotary.rotary_sizes(*heads)
    warps = options.pop("num_warps")
    constants = (*((name.upper(), value) for name, value in asdict(rule).items()), *options.items())
    return Variant("_rotary_kernel", TYPE_NAMES[dtype], constants, warps, fuses_products=False)


def _kernel(name: str) -> Any:
    return getattr(MODULES[name], name)


def _sizes(kernel: str) -> list[str]:
    """Names of the integer arguments that Triton specialises: in lower case, and not named as the same for all."""
    arguments = _kernel(kernel).params
    names = [argument.name for argument in arguments if not argument.do_not_specialize]
    return [name for name in names if name.islower() and name[:2] != "p_" and name not in ("scale", "softcap")]


def _constants(flag: bool, **others: Any) -> tuple[tuple[str, Any], ...]:
    return (("HAS_BIAS", flag), ("HAS_SOFTCAP", flag), *others.items())


def compile_variant(variant: Variant, arch: Arch) -> Usage:
    """Compile for that card and read off what it takes. Pointers and strides alone are known to be aligned."""
    kernel = _kernel(variant.kernel)
    constants = dict(variant.constants)
    signature = {name: _argument_type(name, variant.dtype, constants) for name in kernel.arg_names}
    aligned = [name.startswith(("p_", "x_", "out_", "cos_")) for name in kernel.arg_names]
    divisible = {(i,): [["tt.divisibility", 16]] for i, is_aligned in enumerate(aligned) if is_aligned}
    compiled = triton.compile(
        ASTSource(kernel, signature, constants, divisible),
        target=GPUTarget("hip", arch, 64) if is_hip(arch) else GPUTarget("cuda", arch, 32),
        options={
            "num_warps": variant.warps,
            "num_stages": variant.stages,
            "enable_fp_fusion": variant.fuses_products,
        },
    )
    named: dict[str, Any] = {"kernel": variant.kernel, "arch": arch, "dtype": variant.dtype, "label": variant.label}
    if is_hip(arch):
        return _usage_on_amd(compiled.asm["amdgcn"], named, compiled.metadata.shared, variant.fuses_products)
    resources = _resources(compiled.asm["cubin"])
    ptx = compiled.asm["ptx"]
    return Usage(
        **named,
        registers=resources["REG"],
        stack=resources["STACK"],
        local=resources["LOCAL"],
        shared=compiled.metadata.shared,
        wgmma=ptx.count("wgmma.mma_async"),
        mma=ptx.count("mma.sync"),
        tcgen05=ptx.count("tcgen05.mma"),
        async_copies=ptx.count("cp.async.cg"),
        fused=0 if variant.fuses_products else _dumped(compiled.asm["cubin"], "-sass").count("FFMA"),
    )


def _usage_on_amd(assembly: str, named: dict[str, Any], shared: int, fuses_products: bool) -> Usage:
    """What AMD's assembler is told a thread and a block take."""

    def sizes(name: str) -> int:
        return max(map(int, re.findall(rf"\.{name}:\s+(\d+)", assembly)), default=0)

    return Usage(
        **named,
        registers=sizes("vgpr_count"),
        stack=sizes("private_segment_fixed_size"),
        local=0,
        shared=shared,
        wgmma=0,
        mma=assembly.count("v_mfma"),
        tcgen05=0,
        async_copies=0,
        fused=0 if fuses_products else len(re.findall(r"v_(?:pk_)?(?:fma|fmac|mac)_f32", assembly)),
    )


def _argument_type(name: str, dtype: str, constants: dict[str, Any]) -> str:
    if name in constants:
        return "constexpr"
    if name.startswith("p_"):
        if name in ANGLES:
            return "*fp32" if constants["ROUNDS_LAST"] else "*" + dtype
        return "*" + (dtype if name in INPUTS else POINTERS[name])
    return "fp32" if name in ("scale", "softcap", "eps") else "i32"


def _resources(cubin: bytes) -> dict[str, int]:
    """Registers and bytes; without a driver Triton knows none."""
    printed = _dumped(cubin, "--dump-resource-usage")
    return {name: int(value) for name, value in re.findall(r"(REG|STACK|LOCAL):(\d+)", printed)}


def _dumped(cubin: bytes, what: str) -> str:
    """What `cuobjdump` of the triton package prints of it."""
    tools = Path(triton.__file__).parent / "backends/nvidia/bin"
    path = {"PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}  # it calls nvdisasm
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tools / "cuobjdump"), what, file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | path).stdout


def main() -> int:
    """Compile, print, and say by the exit status whether all of it can be used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", type=_arch, nargs="+", default=list(SHARED_LIMIT), choices=list(SHARED_LIMIT))
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
    parser.add_argument("--few", action="store_true", help="one tile for each architecture")
    parser.add_argument("--tiles", action="store_true", help="the tiles of head and attention")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table as JSON")
    parser.add_argument(
        "--beside", type=Path, metavar="FILE", help="the same, in a file that has those of other Tritons"
    )
    options = parser.parse_args()
    usages: list[Usage] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for arch in options.arch:
            for usage in pool.map(partial(compile_variant, arch=arch), variants(arch, options.few, options.tiles)):
                usages.append(usage)
                print(json.dumps(asdict(usage) | {"faults": usage.faults()}) if options.json else _line(usage))
    if options.beside is not None:
        tables = json.loads(options.beside.read_text()) if options.beside.is_file() else {}
        tables[triton.__version__] = [asdict(usage) | {"faults": usage.faults()} for usage in usages]
        options.beside.write_text(json.dumps(tables, indent=1) + "\n")
    if options.out is not None:
        rows = [asdict(usage) | {"faults": usage.faults()} for usage in usages]
        table = {"triton": triton.__version__, "shared_limit_bytes": SHARED_LIMIT, "kernels": rows}
        options.out.write_text(json.dumps(table, indent=1) + "\n")
    return 1 if any(usage.faults() for usage in usages if takes_kernels(usage.arch)) else 0


def _arch(text: str) -> Arch:
    return int(text) if text.isdigit() else text


def _line(usage: Usage) -> str:
    card = usage.arch if is_hip(usage.arch) else f"sm_{usage.arch}"
    head = f"{card} {usage.dtype} {usage.kernel.strip('_'):22} {usage.label:36}"
    sizes = f"regs {usage.registers:3} stack {usage.stack} local {usage.local} shared {usage.shared:6}"
    instructions = f"wgmma {usage.wgmma:2} mma {usage.mma:3} tcgen05 {usage.tcgen05:2} copies {usage.async_copies:2}"
    return f"{head} {sizes} {instructions} {'; '.join(usage.faults())}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
