# SPDX-License-Identifier: Apache-2.0
"""Prints results.md from what the rows of tests/gpu/run left in a folder so far.

usage: table.py FOLDER [WHY_NOT_MEASURED]. A row without its report says that it was not measured, and
the command that measures it; no figure is ever filled in from elsewhere.
"""
import json
import os
import sys

folder = sys.argv[1]
absent = sys.argv[2] if len(sys.argv) > 2 else ""

NETWORKS = [  # name, title, aim and least acceptable ratio to torch.compile
    ("resnet50", "ResNet-50", 0.65, 0.85),
    ("convnext_tiny", "ConvNeXt-T", 0.60, 0.85),
    ("vit_b_16", "ViT-B/16", 0.75, 0.92),
    ("bert_base", "BERT-base s128", 0.70, 0.92),
]
BYTES = 2 * 65536 * 4096 * 2  # read and written once, fp16


def text(*path):
    try:
        with open(os.path.join(folder, *path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read(name):
    try:
        return json.loads(text("reports", name))
    except ValueError:
        return None


def row_state(name):
    """[word, seconds, detail] of a row; None where it has not run."""
    fields = text("rows", name).rstrip("\n").split("\t")
    return fields[1:4] if len(fields) >= 4 else None


def seconds(model, batch=None):
    """Of a row that passed: a report that an earlier or a failed run left is no result."""
    state = row_state(f"time.{model}.{batch}" if batch else f"time.{model}")
    if not state or state[0] != "passed":
        return None
    after = ((read(f"{model}.{batch or 'fixed'}.json") or {}).get("timings") or {}).get("after") or {}
    return after["median_us"] * 1e-6 if after.get("median_us") else None


def kernel_seconds(model):
    """The slowest kernel alone: the others of that model only put its operands in place."""
    if seconds(model) is None:
        return None
    kernels = read(f"{model}.fixed.json")["timings"].get("kernels", [])
    times = [kernel["median_us"] * 1e-6 for kernel in kernels if kernel.get("median_us")]
    return max(times) if times else None


def missing(row):
    why = absent or "not measured"
    state = row_state(row)
    if state:
        why = f"{state[0]}: {state[2]}"
    return f"{why}; `tests/gpu/run BUILD --only {row}`"


def verdict(value, aim, least, smaller=True):
    better = (lambda a, b: a <= b) if smaller else (lambda a, b: a >= b)
    return "aim reached" if better(value, aim) else "enough" if better(value, least) else "BELOW"


def agreement(model, batch=None):
    """What the row that compares with the reference says."""
    state = row_state(f"verify.{model}.{batch}" if batch else f"verify.{model}")
    return "not compared" if not state else "agrees" if state[0] == "passed" else "DIFFERS or failed"


def peer(name):
    return (read(f"peer.{name}.json") or {}).get("value")


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def network_rows():
    for name, title, aim, least in NETWORKS:
        for batch in (1, 32):
            ours, theirs = seconds(name, batch), peer(f"{name}.{batch}")
            row, agrees = f"{title} fp16, batch {batch}", agreement(name, batch)
            if ours is None:
                line(row, missing(f"time.{name}.{batch}"), "", "", aim, least, "", agrees)
            elif theirs is None:
                line(row, f"{ours * 1e3:.3f} ms", missing(f"peer.{name}"), "", aim, least, "", agrees)
            else:
                ratio = ours / theirs
                line(row, f"{ours * 1e3:.3f} ms", f"{theirs * 1e3:.3f} ms", f"{ratio:.2f}", aim, least,
                     verdict(ratio, aim, least), agrees)


def memory_rows():
    copy = peer("copy_bytes_per_second")
    for name in ("gelu", "layer_norm", "softmax"):
        ours, row = seconds(name), f"{name} 65536x4096 fp16"
        agrees = agreement(name)
        if ours is None:
            line(row, missing(f"time.{name}"), "", "", "95 %", "85 %", "", agrees)
        elif copy is None:
            line(row, f"{BYTES / ours / 1e12:.2f} TB/s", missing("peer.copy"), "", "95 %", "85 %", "",
                 agrees)
        else:
            share = BYTES / ours / copy
            line(row, f"{BYTES / ours / 1e12:.2f} TB/s", f"copy {copy / 1e12:.2f} TB/s", f"{share:.0%}",
                 "95 %", "85 %", verdict(share, 0.95, 0.85, smaller=False), agrees)


def sequence_rows():
    bare, fused = seconds("linear"), seconds("linear_gelu")
    row, agrees = "linear + bias + erf-GELU over the bare GEMM", agreement("linear_gelu")
    if bare is None or fused is None:
        line(row, missing("time.linear" if bare is None else "time.linear_gelu"), "", "", "1.10",
             "1.30", "", agrees)
    else:
        line(row, f"{fused * 1e6:.1f} us", f"{bare * 1e6:.1f} us", f"{fused / bare:.2f}", "1.10", "1.30",
             verdict(fused / bare, 1.10, 1.30), agrees)
    for name, title, aim, least in (("depthwise", "depthwise 7x7 32x96x56x56 + bias", 25, 45),
                                    ("stem", "stem conv7x7 + BN + relu + maxpool", 45, 90)):
        ours = kernel_seconds(name) if name == "depthwise" else seconds(name)
        agrees = agreement(name)
        if ours is None:
            line(title, missing(f"time.{name}"), "", "", f"{aim} us", f"{least} us", "", agrees)
        else:
            line(title, f"{ours * 1e6:.1f} us", "", "", f"{aim} us", f"{least} us",
                 verdict(ours * 1e6, aim, least), agrees)
    for start, aim, least in (("cold", 5, 15), ("warm", 0.5, 1.5)):
        row, state = f"ResNet-50, file to first result, {start}", row_state(f"start.{start}")
        first = (read(f"start.{start}.json") or {}).get("seconds")
        if not first or not state or state[0] != "passed":
            line(row, missing(f"start.{start}"), "", "", f"{aim} s", f"{least} s", "", "")
        else:
            line(row, f"{first:.2f} s", "", "", f"{aim} s", f"{least} s", verdict(first, aim, least), "")


def print_table():
    print("\n| row | measured | peer | ratio or share | aim | at least | verdict | reference |")
    print("|---|---|---|---|---|---|---|---|")
    for part in (network_rows, memory_rows, sequence_rows):
        try:
            part()
        except Exception as error:  # a report of another form costs its own rows only
            line(part.__name__, f"FAILED: {type(error).__name__}: {error}", "", "", "", "", "", "")


print("# Results on a GPU\n")
if os.path.exists(os.path.join(folder, "rehearsal")):
    print("**REHEARSAL with small models: no figure below is a measurement of a device.**\n")
print(f"```\n{text('doctor.txt').rstrip()}\n```")
print_table()
kinds = sorted({read(f"peer.{name}.json").get("source", "torch") for name in
                ["copy_bytes_per_second"] + [f"{n[0]}.{b}" for n in NETWORKS for b in (1, 32)]
                if read(f"peer.{name}.json")})
print(f"\nPeer figures: {', '.join(kinds) or 'none'}. Times are medians of captured graphs without "
      "their copies in and out; reports of every kernel lie in `reports/`.")
print("\n| check | result | seconds | said |")
print("|---|---|---|---|")
rows = sorted(os.listdir(os.path.join(folder, "rows"))) if os.path.isdir(
    os.path.join(folder, "rows")) else []
for name in sorted(rows, key=lambda name: (row_state(name) or ["", ""])[0] == "passed"):
    state = row_state(name) or ["FAILED", "0", "its verdict cannot be read"]
    line(name, *state)
if not rows:
    line("all", absent or "not run yet", "", "")
