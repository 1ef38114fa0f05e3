#!/usr/bin/env python3
"""Writes cmake/function_order.txt: which functions models call while they are read, compiled and run.

    scripts/order_functions.py [--add] build/release/bin/run_ir MODEL.xml...

The linker puts them side by side, those of the same models together (ir_runtime_link_small in cmake/compile_options.cmake), so that a
process has fewer pages of code in memory. Code that changed since costs some of these pages and nothing else. Each
line is how names of functions begin, as a linker sees them; @ stands for the namespace of a SIMD target. Processors
choose other algorithms: with --add, what the list has besides, of another machine, stays at its end. Runs on x86-64
Linux, needs nm, and the more models, the better.
"""

import bisect
import ctypes
import itertools
import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ORDER_FILE = Path(__file__).parent.parent / "cmake" / "function_order.txt"
# What may come along to make a line shorter: functions that nobody called, and those that about the same models call.
SPARE_BYTES = 100
OTHER_MODELS = 4
TARGET_NAMESPACE = re.compile(r"\d+N_(?:SSSE3|AVX2|AVX3|NEON\w*)")

PTRACE_TRACEME, PTRACE_CONT, PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_SETOPTIONS = 0, 7, 12, 13, 0x4200
PTRACE_O_TRACECLONE, PTRACE_O_EXITKILL = 8, 0x100000
WAIT_FOR_THREADS = 0x40000000
BREAKPOINT = 0xCC

libc = ctypes.CDLL(None, use_errno=True)


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
        "fs_base gs_base ds es fs gs").split()]


def ptrace(request, thread, data=0):
    if libc.ptrace(request, thread, None, ctypes.c_void_p(data) if isinstance(data, int) else data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request}")


def functions_of(binary):
    """Address in the file, size and name of every function."""
    listing = subprocess.run(["nm", "--print-size", "--defined-only", binary], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwW" and fields[3].startswith("_Z"):
            yield int(fields[0], 16), int(fields[1], 16), fields[3]


def called_addresses(command, addresses):
    """Which of the addresses in the file `command` executes: a breakpoint waits at each until it is met."""
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        ptrace(PTRACE_TRACEME, 0)
        os.execv(command[0], command)
    os.waitpid(process, 0)
    ptrace(PTRACE_SETOPTIONS, process, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    base = int(next(line for line in maps if line.endswith(os.path.realpath(command[0]))).split("-")[0], 16)
    original = {}
    with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
        for address in addresses:
            memory.seek(base + address)
            original[base + address] = memory.read(1)
            memory.seek(base + address)
            memory.write(bytes([BREAKPOINT]))
        called = set()
        registers = Registers()
        thread, passed_on = process, 0
        while True:
            ptrace(PTRACE_CONT, thread, passed_on)
            thread, status = os.waitpid(-1, WAIT_FOR_THREADS)
            while not os.WIFSTOPPED(status):
                if thread == process:
                    return called
                thread, status = os.waitpid(-1, WAIT_FOR_THREADS)
            sent = os.WSTOPSIG(status)
            passed_on = 0 if sent in (signal.SIGSTOP, signal.SIGTRAP) else sent
            if sent != signal.SIGTRAP:  # a thread that begins, or the program's own affair
                continue
            ptrace(PTRACE_GETREGS, thread, ctypes.byref(registers))
            met = registers.rip - 1
            if met not in original:  # a thread was made
                continue
            memory.seek(met)
            memory.write(original[met])
            called.add(met - base)
            registers.rip = met
            ptrace(PTRACE_SETREGS, thread, ctypes.byref(registers))


def beginnings_of(sizes, models_of):
    """How the names of called functions begin, and a bit for each model that calls one of them."""
    names = sorted(sizes)

    def are_alike(first, last, models):
        called = (models_of.get(name, models) for name in names[first:last])
        return all((other ^ models).bit_count() <= OTHER_MODELS for other in called)

    uncalled = list(itertools.accumulate((0 if name in models_of else sizes[name] for name in names), initial=0))
    beginnings = {}
    for name, models in models_of.items():
        for length in range(1, len(name) + 1):
            beginning = name[:length]
            first = bisect.bisect_left(names, beginning)
            last = bisect.bisect_left(names, beginning + "~")
            if uncalled[last] - uncalled[first] <= SPARE_BYTES and are_alike(first, last, models):
                break
        beginnings[beginning] = beginnings.get(beginning, 0) | models
    return beginnings


def in_order(beginnings):
    """Those of most models first, then always those whose models differ least from those of the last ones."""
    of_models = defaultdict(list)
    for beginning in sorted(beginnings):
        of_models[beginnings[beginning]].append(beginning)
    ordered = []
    last = max(of_models, key=int.bit_count)
    while of_models:
        last = min(of_models, key=lambda models: ((models ^ last).bit_count(), -models.bit_count()))
        ordered += of_models.pop(last)
    return ordered


def besides(ordered):
    """Lines of the list for functions that none of `ordered` stands for, nor one of which stands for these."""
    known = set(ordered)
    for line in ORDER_FILE.read_text().splitlines():
        if any(line[:length] in known for length in range(1, len(line) + 1)):
            continue
        if not any(beginning.startswith(line) for beginning in ordered):
            yield line


def base_object(name):
    """The constructor or destructor of the base that `name`, one of a complete object, is the same as."""
    return re.sub(r"([CD])1(?=[EI])", r"\g<1>2", name)


def main():
    arguments = sys.argv[1:]
    adds = arguments[:1] == ["--add"]
    if len(arguments) < 2 + adds:
        sys.exit(__doc__)
    binary, *models = arguments[adds:]
    sizes = {}
    names_at = defaultdict(set)  # several where the compiler has merged functions
    for address, size, symbol in functions_of(binary):
        name = TARGET_NAMESPACE.sub("@", symbol).removesuffix(".localalias")
        sizes[name] = max(sizes.get(name, 0), size)
        names_at[address].add(name)
    for names in names_at.values():  # sections are named by the constructor of the base alone
        names -= {name for name in names if base_object(name) in names - {name}}
    if not sizes:
        sys.exit(f"{binary} has no symbols")
    models_of = defaultdict(int)
    for index, model in enumerate(models):
        called = set()
        for threads in ("1", "2"):
            command = [binary, "bench", model, "-niter", "2", "--nthreads", threads]
            called |= called_addresses(command, names_at)
        for name in set().union(*(names_at[address] for address in called)):
            models_of[name] |= 1 << index
        print(f"{model}: {len(called)} functions", file=sys.stderr)
    ordered = in_order(beginnings_of(sizes, models_of))
    if adds:
        ordered += list(besides(ordered))
    ORDER_FILE.write_text("".join(f"{beginning}\n" for beginning in ordered))


main()
