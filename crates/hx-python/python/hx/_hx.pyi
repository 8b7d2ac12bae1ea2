import inspect
from typing import Any, final

from ._modules import Parameter
from ._results import Cost, Member, TunedShape

__all__ = ["Engine", "Instance", "Kernel", "__version__", "dlpack_dtype", "packed"]

__version__: str

def dlpack_dtype(code: int, bits: int, lanes: int) -> str | None: ...
def packed(array: Any, order: str, back: bool) -> bytes: ...

@final
class Engine:
    def __new__(cls, command: str) -> Engine: ...
    def open(self, path: str) -> str: ...
    def text(self, name: str, text: str) -> str: ...
    def reload(self, path: str) -> None: ...
    def forget_tuned(self) -> None: ...
    def forked(self) -> None: ...
    def items(self, path: str) -> tuple[list[str], list[str], str]: ...
    def std_modules(self) -> list[str]: ...
    def counters(self) -> dict[str, int]: ...
    def kernel(self, path: str, name: str) -> Kernel: ...
    def devices(self) -> list[tuple[int, str, tuple[int, int]]]: ...

@final
class Kernel:
    """A kernel of a file.

    Call it with tensors and numbers in the order of its parameters, or by name. Compile-time arguments are given by name, as numbers,
    element types, or texts such as `"relu"` and `"(8,8):(8,1)"`. Tensors on a GPU are used in place, on PyTorch's current stream or on
    `stream`; arrays in host memory run on the simulator. `tune="first-call"` measures the fastest members of the kernel's family at the
    first call of a shape; `tune="model"` takes the estimates.
    """

    @property
    def name(self) -> str:
        """The name of the kernel in its file."""
    @property
    def __name__(self) -> str: ...
    @property
    def path(self) -> str:
        """The path of the file, `std/…` for the standard library."""
    @property
    def doc(self) -> str | None:
        """The doc comment."""
    @property
    def header(self) -> str:
        """The header as it is written."""
    @property
    def params(self) -> list[Parameter]:
        """The run-time parameters, in the order of the header."""
    #: `None` of the class.
    __signature__: inspect.Signature | None
    @property
    def fixed(self) -> dict[str, str]:
        """The compile-time arguments that `specialize` fixed, as they are written."""
    @property
    def cuda(self) -> str:
        """The CUDA C++ text."""
    @property
    def ptx(self) -> str:
        """The assembly of the virtual machine. It needs the CUDA compiler, and no GPU."""
    @property
    def sass(self) -> str:
        """The machine code, disassembled. It needs the CUDA compiler, and no GPU."""
    def __call__(self, *args: Any, stream: Any = None, tune: str | None = None, **kwargs: Any) -> None:
        """Launches the kernel, and does not wait for it on a GPU. Raises `LaunchError` if the arguments do not fit."""
    def warmup(self, *args: Any, **kwargs: Any) -> None:
        """Prepares a launch, and launches nothing: chooses the member of the kernel's family, compiles it and loads it."""
    def members(self, *args: Any, **kwargs: Any) -> list[Member]:
        """Returns the members of the kernel's family for a launch, fastest first, which does not happen."""
    def check(self, *args: Any, **kwargs: Any) -> None:
        """Checks the arguments of a launch, and launches nothing."""
    def instance(self, *args: Any, **kwargs: Any) -> Instance:
        """Returns the instance that a launch with these arguments takes, which does not happen."""
    def specialize(self, **arguments: Any) -> Kernel:
        """Returns this kernel with some compile-time arguments fixed."""
    def emit(self, stage: str) -> str:
        """Returns the text of a stage: `tile`, `constraints`, `layouts`, `thread`, `cuda`, `ptx` or `sass`."""
    def layouts(self) -> str:
        """Returns the layout of every tensor and the instruction of every operation."""
    def why(self, tensor: str | None = None) -> str:
        """Explains the layout of a tensor, or of all."""
    def cost(self, **dims: int) -> Cost:
        """Returns the resources of a block, and the estimated cycles of a launch with these dimensions and strides."""
    def tune(self, *shapes: str | dict[str, Any], limit: int | None = None, baseline: str | None = None, dry_run: bool = False, write: bool = True, device: str | None = None) -> list[TunedShape]:
        """Measures the candidates of the kernel's `tune` clause for shapes, and keeps the best in `hx.tuned.toml`."""
    def __reduce__(self) -> tuple[Any, tuple[str, str, dict[str, str]]]: ...
    def _order(self, dtype: str, place: int, of: str | None = None) -> str | None: ...
    def _params(self) -> list[tuple[str, str, str, list[str] | None, list[str] | None, bool]]: ...
    def _generics(self) -> list[tuple[str, str | None]]: ...
    def _compile_time(self, given: list[tuple[str, str]]) -> list[tuple[str, str]]: ...

@final
class Instance:
    """The instance of a kernel that a launch takes: the kernel with its compile-time arguments and with what is known of the launch's shapes.

    `kernel.instance(x, y)` returns it, and launches nothing.
    """

    @property
    def kernel(self) -> str:
        """The name of the kernel that runs: the member, if the called kernel has a family."""
    @property
    def arguments(self) -> dict[str, str]:
        """All compile-time arguments, as they are written in hx."""
    @property
    def facts(self) -> list[str]:
        """The facts that the code relies on: the divisors of dimensions and strides below 16, as in `k % 8`, and strides that are 1."""
    @property
    def chosen(self) -> list[str]:
        """Why the launch takes these arguments: the tuned result or the member of the family, one line each."""
    @property
    def device(self) -> str:
        """`sim` or `cuda:0`."""
    @property
    def target(self) -> str:
        """The architecture, such as `sm_90a`."""
    @property
    def cuda(self) -> str:
        """The CUDA C++ text."""
    @property
    def ptx(self) -> str:
        """The assembly of the virtual machine. It needs the CUDA compiler, and no GPU."""
    @property
    def sass(self) -> str:
        """The machine code, disassembled. It needs the CUDA compiler, and no GPU."""
    @property
    def registers(self) -> int | None:
        """The registers of a thread, as the assembler reports them. It needs the CUDA compiler, and no GPU."""
    @property
    def spills(self) -> tuple[int, int] | None:
        """The bytes that each thread stores and loads because registers do not suffice. It needs the CUDA compiler, and no GPU."""
    def emit(self, stage: str) -> str:
        """Returns the text of a stage, as `Kernel.emit` does."""
    def why(self, tensor: str | None = None) -> str:
        """Explains the layout of a tensor, or of all."""
