#!/usr/bin/env python3
"""Times networks here and in ONNX Runtime, in turn, and prints a table with the ratios.

usage: compare_peers.py --run-ir build/release/bin/run_ir --ir FOLDER [--onnx FOLDER --package FOLDER] [NETWORK...]

--ir holds NETWORK/model.xml or NETWORK.xml, --onnx holds NETWORK.onnx (or NETWORK/model.onnx) with the same weights,
--package holds node_modules/onnxruntime-node ("npm install --ignore-scripts onnxruntime-node" there). Nothing is
fetched. Without the peer its columns stay empty.

Each network is run once per round and engine, in processes of their own, one after the other; what is printed is the
median over the rounds. Only the standard library is used.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SESSION = Path(__file__).resolve().parent / "onnx_session.mjs"
MEGABYTE = 1e6


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names to time; all of --ir by default")
    parser.add_argument("--run-ir", type=Path, default=Path("build/release/bin/run_ir"))
    parser.add_argument("--ir", type=Path, required=True, help="folder of IR models")
    parser.add_argument("--onnx", type=Path, help="folder of ONNX models")
    parser.add_argument("--package", type=Path, help="folder with node_modules/onnxruntime-node")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    parser.add_argument("--seconds", type=float, default=1.0, help="steady time per round and engine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for all figures of all rounds")
    arguments = parser.parse_args()
    try:
        arguments.threads = [int(text) for text in arguments.threads.split(",")]
    except ValueError:
        parser.error("--threads takes numbers")
    if min(arguments.threads) < 1 or arguments.rounds < 1 or arguments.seconds <= 0:
        parser.error("--threads, --rounds and --seconds take numbers above 0")
    return arguments


def find_models(folder, names):
    """Paths by network."""
    found = {path.parent.name: path for path in folder.glob("*/model.xml")}
    found.update({path.stem: path for path in folder.glob("*.xml")})
    missing = [name for name in names if name not in found]
    if missing:
        sys.exit(f"{folder}: no network {', '.join(missing)}")
    return {name: found[name] for name in (names or sorted(found))}


def find_peer(arguments):
    """Whether ONNX Runtime can be asked; says so when not."""
    if arguments.onnx is None or arguments.package is None:
        reason = "--onnx and --package were not given"
    else:
        try:
            command = ["node", str(SESSION), "", "--package", str(arguments.package)]
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                return True
            reason = asked.stderr.strip()
        except FileNotFoundError:
            reason = "node is not installed"
    print(f"The comparison with ONNX Runtime is skipped: {reason}.\n")
    return False


def measured(command):
    """What the command prints as JSON, with the most memory that its process held."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            print(f"failed with status {process.returncode}: {' '.join(command)}", file=sys.stderr)
            return None
        output.seek(0)
        result = json.loads(output.read())
    result.setdefault("peak_bytes", usage.ru_maxrss * 1024)
    return result


def run_here(arguments, model, threads):
    command = [str(arguments.run_ir), "bench", str(model), "-t", str(arguments.seconds), "--nthreads", str(threads)]
    result = measured(command + ["--json"])
    if result is not None:
        result["ready_ms"] = result["load_ms"] + result["compile_ms"]
    return result


def run_peer(arguments, name, threads):
    model = arguments.onnx / f"{name}.onnx"
    if not model.exists():
        model = arguments.onnx / name / "model.onnx"
    if not model.exists():
        return None
    command = ["node", str(SESSION), str(model), "--package", str(arguments.package)]
    result = measured(command + ["--threads", str(threads), "--seconds", str(arguments.seconds)])
    if result is not None:
        result["ready_ms"] = result["load_ms"]
    return result


def medians(results):
    results = [result for result in results if result is not None]
    if not results:
        return None
    numbers = [key for key, value in results[0].items() if isinstance(value, (int, float))]
    return {key: statistics.median(result[key] for result in results) for key in numbers}


def needed_bytes(model, here):
    """Weights and activations: less memory than this cannot do, where nothing is paged in from the file."""
    weights = model.with_suffix(".bin")
    return (weights.stat().st_size if weights.exists() else 0) + here["activation_bytes"]


def cell(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def ratio(a, b):
    return None if a is None or b is None or b == 0 else a / b


HEADER = [
    "network", "threads", "ORT ms", "ms", "ratio", "ORT ready ms", "ready ms", "first ms", "first / steady",
    "ORT peak MB", "peak MB", "peak / needed", "of the model / needed",
]  # fmt: skip


def row(name, threads, model, here, peer):
    def of_peer(key):
        return None if peer is None else peer[key]

    return [
        name,
        str(threads),
        cell(of_peer("median_ms"), 2),
        cell(here["median_ms"], 2),
        cell(ratio(here["median_ms"], of_peer("median_ms")), 2),
        cell(of_peer("ready_ms"), 0),
        cell(here["ready_ms"], 0),
        cell(here["first_ms"], 2),
        cell(ratio(here["first_ms"], here["median_ms"]), 2),
        cell(ratio(of_peer("peak_bytes"), MEGABYTE), 0),
        cell(here["peak_bytes"] / MEGABYTE, 0),
        cell(ratio(here["peak_bytes"], needed_bytes(model, here)), 2),
        cell(ratio(here["peak_bytes"] - here["start_bytes"] - here["input_bytes"], needed_bytes(model, here)), 2),
    ]


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def print_summary(figures, threads):
    """`figures[name][threads]` is a pair: here, peer."""
    for count in threads:
        ratios = {}
        for name, by_threads in figures.items():
            here, peer = by_threads.get(count, (None, None))
            if here is not None and peer is not None:
                ratios[name] = here["median_ms"] / peer["median_ms"]
        if not ratios:
            continue
        mean = statistics.geometric_mean(ratios.values())
        worst = max(ratios, key=ratios.get)
        print(
            f"{count} threads, {len(ratios)} networks: geometric mean of the ratios {mean:.3f} "
            f"({1 / mean:.2f}x faster), worst {worst} {ratios[worst]:.2f}"
        )
    if len(threads) < 2:
        return
    few, many = min(threads), max(threads)
    for title, engine in (("here", 0), ("in ONNX Runtime", 1)):
        speedups = {}
        for name, by_threads in figures.items():
            slow = by_threads.get(few, (None, None))[engine]
            fast = by_threads.get(many, (None, None))[engine]
            if slow is not None and fast is not None:
                speedups[name] = slow["median_ms"] / fast["median_ms"]
        if speedups:
            mean = statistics.geometric_mean(speedups.values())
            text = ", ".join(f"{name} {value:.2f}" for name, value in speedups.items())
            print(f"{many} threads are {mean:.2f}x as fast as {few} {title}: {text}")


def main():
    arguments = parse_arguments()
    models = find_models(arguments.ir, arguments.networks)
    if not models:
        sys.exit(f"{arguments.ir}: no models")
    if not arguments.run_ir.is_file():
        sys.exit(f"{arguments.run_ir}: there is no such file; --run-ir says where the tool is")
    with_peer = find_peer(arguments)
    figures = {}
    rounds = []
    print_row(HEADER)
    print_row(["---"] * len(HEADER))
    for name, model in models.items():
        for threads in arguments.threads:
            here, peer = [], []
            for _ in range(arguments.rounds):
                if with_peer:
                    peer.append(run_peer(arguments, name, threads))
                here.append(run_here(arguments, model, threads))
            rounds.append({"network": name, "threads": threads, "here": here, "peer": peer})
            pair = (medians(here), medians(peer))
            if pair[0] is None:
                continue
            figures.setdefault(name, {})[threads] = pair
            print_row(row(name, threads, model, *pair))
    print()
    print_summary(figures, arguments.threads)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rounds, indent=1) + "\n", encoding="utf-8")
    return 0 if len(figures) == len(models) else 1


if __name__ == "__main__":
    sys.exit(main())
