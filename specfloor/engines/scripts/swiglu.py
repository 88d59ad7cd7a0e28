"""Run the SwiGLU kernels of an engine at and around their limit, against float64.

Run by the interpreter that has the engine; needs ``torch`` and ``vllm``. The request is the first
argument, as JSON, ``{"limits": [...], "rows": [...], "widths": [...], "seed": n}``; the answer is
one line of JSON after ``MARK``, with one case for each path, type, limit, number of rows and width.
A path that this engine does not have is left out, one that cannot be run says why.

The error of an element is divided by its magnitude: the sum of what each rounding on the way can
move it by if it moves its operand by the whole of it, which are the four roundings of the product
and that of the sigmoid's argument. A kernel that rounds to nearest so errs by one unit roundoff of
its type at most. Of a quantised result the error is divided by one step of its row instead.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import vllm
import vllm._custom_ops as ops  # loads the compiled kernels, which layers look for
from vllm.model_executor.layers import activation
from vllm.platforms import current_platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = "swiglu kernels:"
DTYPES = ("bfloat16", "float16", "float32")
OAI: dict[str, Any] = {"limit": 7.0, "alpha": 1.702, "beta": 1.0}
"""The parameters of the variant that GPT-OSS brought."""
STEP = 2.0**-10
"""Inputs are whole numbers of this before they are rounded to their type."""


@dataclass(frozen=True)
class Kernel:
    """One way to compute SwiGLU: ``run`` takes rows of gate and up and returns their product.

    The result is gate · sigmoid(alpha · gate) · (up + beta), of a gate clamped from above and an up
    clamped on both sides by ``limit``; ``after``: the gate is clamped after its sigmoid.
    ``interleaved``: gate and up alternate. ``quantised`` results come back multiplied by their
    scales. ``must_run``: a model cannot do without it.
    """

    name: str
    run: Callable[[torch.Tensor], torch.Tensor]
    limit: float | None = None
    alpha: float = 1.0
    beta: float = 0.0
    after: bool = False
    interleaved: bool = False
    quantised: bool = False
    must_run: bool = False


@dataclass(frozen=True)
class Inputs:
    """Gate and up, each [rows, width], in one type."""

    gate: torch.Tensor
    up: torch.Tensor

    def joined(self, *, interleaved: bool) -> torch.Tensor:
        """Return them as a kernel takes them, [rows, 2 · width]."""
        if interleaved:
            return torch.stack((self.gate, self.up), dim=-1).flatten(-2).contiguous()
        return torch.cat((self.gate, self.up), dim=-1).contiguous()


def main() -> None:
    """Answer the request."""
    request = json.loads(sys.argv[1])
    device = "npu" if importlib.util.find_spec("torch_npu") else current_platform.device_type
    with configured():
        use_ascend_layers()
        kernels = list(kernels_of(device, request["limits"]))
        found = [
            case
            for dtype in DTYPES
            for kernel in kernels
            for case in cases(kernel, dtype, device, request)
        ]
    answer = {"vllm": vllm.__version__, "device": device, "cases": found}
    sys.stdout.write(f"\n{MARK}{json.dumps(answer)}\n")


def configured() -> contextlib.AbstractContextManager[Any]:
    """Return the context that the layers of recent versions want to be made in."""
    config = importlib.import_module("vllm.config")
    if not hasattr(config, "set_current_vllm_config"):
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[Any] = config.set_current_vllm_config(
        config.VllmConfig()
    )
    return context


def use_ascend_layers() -> None:
    """Let vLLM's layers be those of vLLM-Ascend, as its worker does when it starts."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("vllm_ascend.utils").register_ascend_customop()


def kernels_of(device: str, limits: list[float | None]) -> Iterator[Kernel]:
    """Yield every kernel that this engine has, once for each limit that it can take."""
    bounds = [limit for limit in limits if limit is not None]
    yield Kernel("SiluAndMul", activation.SiluAndMul(), must_run=True)
    for limit in bounds:
        if clamped := getattr(activation, "SiluAndMulWithClamp", None):
            yield Kernel("SiluAndMulWithClamp", clamped(limit), limit, must_run=True)
        if step := getattr(activation, "SwigluStepAndMul", None):
            yield Kernel("SwigluStepAndMul", step(limit), limit, after=True)
    if oai := getattr(activation, "SwigluOAIAndMul", None):
        layer = oai(OAI["alpha"], OAI["limit"])
        yield Kernel("SwigluOAIAndMul", layer, **OAI, interleaved=True)
    if device == "cpu":
        yield from cpu_kernels()
    elif device == "npu":
        yield from npu_kernels(bounds)


def cpu_kernels() -> Iterator[Kernel]:
    """Yield vLLM's compiled kernels for the CPU: alone, quantised, and inside an expert."""
    if hasattr(torch.ops._C, "silu_and_mul"):
        yield Kernel("_C.silu_and_mul", silu_and_mul)
        if hasattr(torch.ops._C, "dynamic_scaled_int8_quant"):
            yield Kernel("_C.silu_and_mul to int8", silu_and_mul_int8, quantised=True)
    if hasattr(torch.ops._C, "cpu_fused_moe"):
        yield Kernel("_C.cpu_fused_moe silu", lambda x: one_expert(x, "silu"))
        yield Kernel(
            "_C.cpu_fused_moe swigluoai",
            lambda x: one_expert(x, "swigluoai"),
            **OAI,
            interleaved=True,
        )


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """Return what the kernel writes."""
    out = torch.empty(len(x), x.shape[-1] // 2, dtype=x.dtype)
    torch.ops._C.silu_and_mul(out, x)
    return out


def silu_and_mul_int8(x: torch.Tensor) -> torch.Tensor:
    """Return the same, quantised a row at a time and back again."""
    values, scales = ops.scaled_int8_quant(silu_and_mul(x))[:2]
    return values.double() * scales.double()


def one_expert(x: torch.Tensor, act: str) -> torch.Tensor:
    """Return what one expert makes of ``x`` whose matrices let everything through."""
    width = x.shape[-1]
    matrices = (torch.eye(width, dtype=x.dtype), torch.eye(width, width // 2, dtype=x.dtype))
    packed = [ops.cpu_prepack_moe_weight(matrix[None].contiguous(), "vec") for matrix in matrices]
    routing = torch.ones(len(x), 1), torch.zeros(len(x), 1, dtype=torch.int32)
    out = torch.zeros_like(x)
    arguments = (x, *packed, None, None, *routing, act, "vec")
    if "out" in inspect.signature(ops.cpu_fused_moe).parameters:  # up to 0.28 it was returned
        ops.cpu_fused_moe(out, *arguments)
    else:
        out = ops.cpu_fused_moe(*arguments)
    return out[:, : width // 2]


def npu_kernels(bounds: list[float]) -> Iterator[Kernel]:
    """Yield the fused operators of torch_npu and of vLLM-Ascend that are present."""
    npu = importlib.import_module("torch_npu")
    ascend = getattr(torch.ops, "_C_ascend", None)
    if hasattr(npu, "npu_swiglu"):
        yield Kernel("npu_swiglu", npu.npu_swiglu)
    if hasattr(npu, "npu_clipped_swiglu"):
        for limit in bounds:
            yield Kernel("npu_clipped_swiglu", clipped(npu.npu_clipped_swiglu, limit), limit)
    if op := getattr(npu, "npu_dequant_swiglu_quant", None):
        yield Kernel("npu_dequant_swiglu_quant", dequantising(op), quantised=True)
    if op := getattr(ascend, "npu_dequant_swiglu_quant", None):
        name = "_C_ascend.npu_dequant_swiglu_quant"
        yield Kernel(name, dequantising(op), quantised=True)
        for limit in bounds:
            run = dequantising(op, swiglu_mode=1, clamp_limit=limit)
            yield Kernel(name, run, limit, quantised=True)


def clipped(op: Callable[..., Any], limit: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator with the parameters of the plain variant."""

    def run(x: torch.Tensor) -> torch.Tensor:
        return op(x, interleaved=False, alpha=1.0, limit=limit, bias=0.0)

    return run


def dequantising(op: Callable[..., Any], **options: float) -> Callable[[torch.Tensor], Any]:
    """Return the operator on integers with scales, as a quantised matrix product leaves them."""

    def run(x: torch.Tensor) -> torch.Tensor:
        values, scales = op(
            x=torch.round(x.double() / STEP).to(torch.int32),
            weight_scale=torch.full((1, x.shape[-1]), STEP, device=x.device),
            activation_scale=torch.ones(len(x), device=x.device),
            bias=None,
            quant_scale=None,
            quant_offset=None,
            group_index=None,
            activate_left=True,
            quant_mode=1,
            **options,
        )
        return values.double() * scales.double().reshape(len(x), 1)

    return run


def cases(
    kernel: Kernel, dtype: str, device: str, request: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield what a kernel does with every shape."""
    for width in request["widths"]:
        for rows in request["rows"]:
            case = {
                "path": kernel.name,
                "dtype": dtype,
                "limit": kernel.limit,
                "rows": rows,
                "width": width,
                "quantised": kernel.quantised,
                "must_run": kernel.must_run,
            }
            inputs = draw(kernel.limit, (rows, width), request["seed"], getattr(torch, dtype))
            try:
                result = kernel.run(inputs.joined(interleaved=kernel.interleaved).to(device))
                got = result.double().cpu()
            except Exception as error:  # noqa: BLE001 - whatever a kernel raises is the answer
                yield case | {"problem": f"{type(error).__name__}: {error}"[:300]}
            else:
                yield case | compare(kernel, inputs, got)


def draw(limit: float | None, shape: tuple[int, int], seed: int, dtype: torch.dtype) -> Inputs:
    """Return every pair of values at and around the limit, in a seeded order.

    What a shape has room for besides is drawn with the spread of real activations, a part of it
    beyond the limit.
    """
    generator = torch.Generator().manual_seed(seed)
    at, count = limit or OAI["limit"], shape[0] * shape[1]
    near = [0.0, 0.5, 1.0, at * 0.9, at - 0.0625, at, at + 0.0625, at * 1.1, at * 2, at * 4]
    values = torch.tensor([*near, *(-v for v in near[1:])], dtype=torch.float64)
    pairs = torch.cartesian_prod(values, values)
    pairs = pairs[torch.randperm(len(pairs), generator=generator)][:count]
    drawn = torch.randn(count, 2, generator=generator, dtype=torch.float64) * at / 2
    drawn[: len(pairs)] = pairs
    gate, up = (torch.round(drawn / STEP) * STEP).to(dtype).reshape(*shape, 2).unbind(-1)
    return Inputs(gate, up)


def compare(kernel: Kernel, inputs: Inputs, got: torch.Tensor) -> dict[str, Any]:
    """Return the largest error of a result and where it is."""
    gate, up = inputs.gate.double(), inputs.up.double()
    highest = float("inf") if kernel.limit is None else kernel.limit
    linear = up.clamp(-highest, highest)
    clamped = gate if kernel.after else gate.clamp(max=highest)
    sigmoid = torch.sigmoid(kernel.alpha * clamped)
    act = (clamped * sigmoid).clamp(max=highest)
    want = act * (linear + kernel.beta)
    if got.shape != want.shape:
        return {"problem": f"its result has the shape {list(got.shape)}, not {list(want.shape)}"}
    if kernel.quantised:
        magnitude = (want.abs().amax(dim=-1, keepdim=True) / 127).expand_as(want)
    else:
        operands = linear.abs() + abs(kernel.beta)
        magnitude = 4 * act.abs() * operands
        magnitude += want.abs() * (kernel.alpha * clamped).abs() * (1 - sigmoid)
        # a sigmoid that is too small for the type becomes its least number, or nothing
        magnitude += least(inputs.gate.dtype) * (1 + clamped.abs()) * (1 + operands)
    errors = (got - want).abs() / magnitude.clamp(min=1e-30)
    errors = torch.where(torch.isfinite(got), errors, torch.inf)
    row, column = divmod(int(errors.argmax()), want.shape[-1])
    at = (row, column)
    return {
        "finite": bool(torch.isfinite(got).all()),
        "worst": number(errors[at]),
        "row": row,
        "column": column,
        "gate": number(gate[at]),
        "up": number(up[at]),
        "got": number(got[at]),
        "want": number(want[at]),
    }


def least(dtype: torch.dtype) -> float:
    """Return half of the least number of a type, in its unit roundoffs."""
    info = torch.finfo(dtype)
    unit_roundoff = info.eps / 2
    return float(info.smallest_normal * info.eps / 2 / unit_roundoff)


def number(value: torch.Tensor) -> float | None:
    """Return a number as JSON has it: it knows no infinity."""
    plain = float(value)
    return plain if abs(plain) < float("inf") else None


if __name__ == "__main__":
    main()
