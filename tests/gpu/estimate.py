# SPDX-License-Identifier: Apache-2.0
"""Prints the page of tests/gpu/estimate from the reports in a folder.

usage: estimate.py FOLDER DEVICE. A kernel's time is the model's: what its bytes, products and instructions
take, as far as they overlap. Beside it stands what the device took on its day, where measured/DEVICE.tsv says.
"""
import collections
import datetime
import json
import os
import re
import statistics
import sys

folder, device = sys.argv[1], sys.argv[2]

ROWS = [  # file, title
    ("resnet50.1", "ResNet-50, batch 1"), ("resnet50.32", "ResNet-50, batch 32"),
    ("convnext_tiny.1", "ConvNeXt-T, batch 1"), ("convnext_tiny.32", "ConvNeXt-T, batch 32"),
    ("vit_b_16.1", "ViT-B/16, batch 1"), ("vit_b_16.32", "ViT-B/16, batch 32"),
    ("bert_base.1", "BERT-base, 128 tokens, batch 1"), ("bert_base.32", "BERT-base, 128 tokens, batch 32"),
    ("gelu.fixed", "gelu(x + b), 65536x4096"), ("layer_norm.fixed", "LayerNorm, 65536x4096"),
    ("softmax.fixed", "softmax, 65536x4096"), ("linear.fixed", "linear, 6304x768x3072"),
    ("linear_gelu.fixed", "linear + bias + GELU, 6304x768x3072"),
    ("depthwise.fixed", "depthwise 7x7 + bias, 32x96x56x56"),
    ("stem.fixed", "convolution 7x7 + BN + relu + pool, 32x3x224x224"),
]


def measured():
    """{(row, side): {step: (tactic, how many steps of its kind, microseconds of one)}}."""
    out = collections.defaultdict(dict)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured", device + ".tsv")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split("\t")
                if len(fields) == 7 and not line.startswith("#"):
                    out[fields[0], fields[1]][fields[2]] = (fields[3], int(fields[4]), float(fields[5]))
    return out


def total(steps):
    return sum(count * us for _, count, us in steps.values())


def megabytes(number):
    return f"{number / 1e6:.1f}"


def known(number):
    return number if isinstance(number, (int, float)) else 0


def figures(report):
    """Sums over the kernels of the fused side."""
    kernels = list(zip(report["results"]["kernels"], report["timings"]["kernels"]))
    out = collections.Counter()
    limits, kinds = collections.Counter(), collections.Counter()
    widest = (0, "")
    for result, timing in kernels:
        hidden = timing.get("hidden") or {}
        launches = hidden.get("launches", 1)
        if launches == 0:  # computed once while preparing
            continue
        traffic = result["traffic"]
        out["launches"] += launches
        out["passed"] += 2 * hidden.get("passed_bytes", 0)
        out["logical"] += traffic["logical_read"] + traffic["logical_written"]
        out["l2"] += known(traffic["l2_predicted"])
        out["dram"] += known(traffic["dram_predicted"])
        out["flops"] += result["flops"]
        out["us"] += known(timing["predicted_us"])
        limits[timing["limiter"] or "unknown"] += known(timing["predicted_us"])
        kinds[result["program"]] += 1
        facts = timing.get("device") or {}
        out["spilled"] += facts.get("spilled_bytes", 0)
        out["compiled"] += 1 if facts.get("registers") else 0
        if facts.get("registers", 0) > widest[0]:
            widest = (facts["registers"], timing["tactic"])
    return out, limits, kinds, widest


def report_of(name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def row(name, title):
    try:
        out, limits, kinds, widest = figures(report_of(name))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [title, f"not planned: {type(error).__name__}: {error}"] + [""] * 8
    parts = ", ".join(f"{limit} {us:.0f}" for limit, us in limits.most_common())
    steps = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    registers = f"{widest[0]} ({widest[1]})" if widest[0] else "not compiled"
    if out["spilled"]:
        registers += f", spills {out['spilled']} bytes"
    return [title, out["launches"], megabytes(out["logical"] + out["passed"]), megabytes(out["l2"]),
            megabytes(out["dram"]), f"{out['flops'] / 1e9:.1f}", registers, f"{out['us']:.0f}",
            f"{total(taken[name, 'fused']):.0f}" if (name, "fused") in taken else "-", f"{parts}; {steps}"]


def errors():
    """{kind of tactic: [(measured / predicted, microseconds)]}, one for each kernel on either side."""
    out = collections.defaultdict(list)
    for name, _ in ROWS:
        try:
            report = report_of(name)
        except (OSError, ValueError):
            continue
        for side, kernels in (("fused", "kernels"), ("unfused", "kernels_before")):
            for timing in report["timings"][kernels]:
                tactic, count, us = taken[name, side].get(timing["name"], ("", 0, 0))
                if count and known(timing["predicted_us"]):
                    kind = re.match(r"[a-z_]*[a-z]", tactic).group(0)
                    out[kind] += [(us / timing["predicted_us"], us)] * count
    return out


def error_cells(ratios):
    ordered = sorted(ratio for ratio, _ in ratios)
    off = sorted(max(ratio, 1 / ratio) for ratio in ordered)
    return [len(ordered), f"{sum(us for _, us in ratios):.0f}", f"{statistics.median(ordered):.2f}",
            f"{ordered[len(ordered) // 10]:.2f} to {ordered[len(ordered) * 9 // 10]:.2f}", f"{statistics.median(off):.2f}"]


taken = measured()
lines = [row(*each) for each in ROWS]
print(f"""# What the table's rows should take, without a device

Made by `tests/gpu/estimate BUILD {device}` on {datetime.date.today().isoformat()}, for a device of the profile `{device}`. **But for what is said
to be measured nothing here was**, and a prediction is no forecast: it has the profile's peaks, what share of them the kernels of a few networks
reach, and what one product waits for.

- launches: kernels of one run, what a kernel launches twice counted twice, what is computed while preparing not at all.
- MB logical: what each kernel reads and writes, each byte once, exact; with parts of sums that blocks pass on. L2, DRAM: as predicted.
- registers: of the kernel that takes the most of a thread, as NVRTC compiled each step's preferred kernel.
- us: the sum of the kernels' predicted times; measured: of those that a device ran on the day that `RESULTS.md` names, which may be
  others, and libraries' among them. The last column says which limit the kernels of those microseconds meet
  (`dram` and `l2` bytes, `matrix` products, `issue` of instructions, `launch`), then how many steps of each program there are.
""")
print("| row, fp16 | launches | MB logical | MB L2 | MB DRAM | GFLOP | registers | us | measured | made of |")
print("|---|--:|--:|--:|--:|--:|---|--:|--:|---|")
for cells in lines:
    print("| " + " | ".join(str(cell) for cell in cells) + " |")
by_kind = errors()
if by_kind:
    print(f"""
## How far the model is from what was measured

Every kernel of both sides, fused and unfused, of the rows above that a device ran (`measured/{device}.tsv`), beside what the model says today
of the step that it computes: measured / predicted, the middle, and what eight of ten lie between. *Off by* is the middle of how many times one
is the other. The figures of the profile were set with these kernels in view, so this says how well the model's form fits, not how well it
will do on others.

| kind of kernel | kernels | measured us | measured / predicted | 8 of 10 | off by |
|---|--:|--:|--:|--:|--:|""")
    for kind, ratios in sorted(by_kind.items(), key=lambda item: -sum(us for _, us in item[1])):
        print("| " + " | ".join(str(cell) for cell in [kind] + error_cells(ratios)) + " |")
    print("| " + " | ".join(str(cell) for cell in ["all"] + error_cells(sum(by_kind.values(), []))) + " |")
if any(str(cells[1]).startswith("not planned") for cells in lines):
    sys.exit(1)
