"""The types of results that are dictionaries."""

from __future__ import annotations

from typing import TypedDict


class Resources(TypedDict, total=False):
    """The resources of a block. They are missing if the kernel has no program."""

    #: The threads of a block.
    threads: int
    #: The bytes of shared memory of a block.
    shared_bytes: int
    #: The registers of a thread.
    registers: int
    #: Whether the assembler has reported the registers; otherwise they are estimated.
    registers_reported: bool
    #: The blocks that a multiprocessor holds together; `None` if that is not known.
    blocks_per_multiprocessor: int | None


class Cost(Resources):
    """The result of `kernel.cost(m=4096, …)`."""

    #: The estimated cycles of a launch; `None` without dimensions.
    cycles: float | None


class Member(TypedDict):
    """A member of a kernel's family, for the arguments of a launch."""

    #: The member with its arguments, as in `gemm_split<BN = 128>`.
    name: str
    #: The time of a launch; `None` if the launch does not fit the member.
    microseconds: float | None
    #: Whether the time was measured; otherwise it is estimated.
    measured: bool
    #: The reason why the launch does not fit the member.
    unfit: str | None


class TunedSample(TypedDict):
    """The times of a candidate in microseconds."""

    median_us: float
    low_us: float
    high_us: float
    runs: int


class TunedRow(TypedDict):
    """A candidate of `kernel.tune(…)`."""

    #: The candidate as text: `BN = 256, STAGES = 4`, or `gemm_split<BN = 128>` for a member of the kernel's family.
    candidate: str
    #: The kernel that runs, if it is a member of the kernel's family.
    member: str | None
    #: The tuned arguments: `kernel.specialize(**row["arguments"])` is the candidate.
    arguments: dict[str, int | float | bool | str]
    is_default: bool
    estimate_us: float | None
    #: The resource that bounds the estimate.
    bound: str | None
    #: The measured times; `None` if the candidate was not measured.
    sample: TunedSample | None
    relative: float | None
    #: The baseline's time divided by that of the candidate.
    ratio: float | None
    round: int | None
    #: Whether the time is of an earlier run.
    stored: bool
    #: The reason why the candidate has no code.
    refused: str | None
    chosen: bool


class TunedShape(TypedDict):
    """The result of `kernel.tune(…)` for a shape."""

    kernel: str
    shape: str
    device: str
    summary: str
    baseline: str
    baseline_us: float | None
    flops: float | None
    bytes: float
    #: The candidates, the best first.
    rows: list[TunedRow]
    #: Whether the run was stopped before a candidate was chosen.
    stopped: bool
