# SPDX-License-Identifier: Apache-2.0
"""Prints the benchmark table from the reports that tests/gpu/run left in a folder.

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


def read(name):
    try:
        with open(os.path.join(folder, name)) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def seconds(model, batch=1):
    report = read(f"{model}.{batch}.json")
    after = (report or {}).get("timings", {}).get("after")
    return after["median_us"] * 1e-6 if after else None


def kernel_seconds(model):
    """The slowest kernel alone: the others of that model only put its operands in place."""
    report = read(f"{model}.1.json")
    kernels = (report or {}).get("timings", {}).get("kernels", [])
    times = [kernel["median_us"] * 1e-6 for kernel in kernels if "median_us" in kernel]
    return max(times) if times else None


def missing(model, batch=None):
    why = absent or "not measured: no report"
    how = f" --precision fp16 --dim N={batch}" if batch else ""
    return f"{why}; `fuselage bench {model}.onnx --backend cuda{how}`"


def verdict(value, aim, least, smaller=True):
    better = (lambda a, b: a <= b) if smaller else (lambda a, b: a >= b)
    return "aim reached" if better(value, aim) else "enough" if better(value, least) else "BELOW"


peers = read("peers.json") or {}
print("\n| row | measured | peer | ratio or share | aim | at least | verdict |")
print("|---|---|---|---|---|---|---|")
for name, title, aim, least in NETWORKS:
    for batch in (1, 32):
        ours, peer = seconds(name, batch), peers.get(f"{name}.{batch}")
        row = f"{title} fp16, batch {batch}"
        if ours is None:
            print(f"| {row} | {missing(name, batch)} | | | {aim} | {least} | |")
        elif peer is None:
            print(f"| {row} | {ours * 1e3:.3f} ms | not measured: --peers | | {aim} | {least} | |")
        else:
            ratio = ours / peer
            print(f"| {row} | {ours * 1e3:.3f} ms | {peer * 1e3:.3f} ms | {ratio:.2f} | {aim} | "
                  f"{least} | {verdict(ratio, aim, least)} |")
copy = peers.get("copy_bytes_per_second")
for name in ("gelu", "layer_norm", "softmax"):
    ours = seconds(name)
    row = f"{name} 65536x4096 fp16"
    if ours is None:
        print(f"| {row} | {missing(name)} | | | 95 % | 85 % | |")
    elif copy is None:
        print(f"| {row} | {BYTES / ours / 1e12:.2f} TB/s | not measured: --peers | | 95 % | 85 % | |")
    else:
        share = BYTES / ours / copy
        print(f"| {row} | {BYTES / ours / 1e12:.2f} TB/s | copy {copy / 1e12:.2f} TB/s | "
              f"{share:.0%} | 95 % | 85 % | {verdict(share, 0.95, 0.85, smaller=False)} |")
bare, fused = seconds("linear"), seconds("linear_gelu")
if bare is None or fused is None:
    print(f"| linear + bias + erf-GELU over the bare GEMM | {missing('linear_gelu')} | | | 1.10 | "
          "1.30 | |")
else:
    print(f"| linear + bias + erf-GELU over the bare GEMM | {fused * 1e6:.1f} us | {bare * 1e6:.1f} "
          f"us | {fused / bare:.2f} | 1.10 | 1.30 | {verdict(fused / bare, 1.10, 1.30)} |")
for name, title, aim, least in (("depthwise", "depthwise 7x7 32x96x56x56 + bias", 25, 45),
                                ("stem", "stem conv7x7 + BN + relu + maxpool", 45, 90)):
    ours = kernel_seconds(name) if name == "depthwise" else seconds(name)
    if ours is None:
        print(f"| {title} | {missing(name)} | | | {aim} us | {least} us | |")
    else:
        print(f"| {title} | {ours * 1e6:.1f} us | | | {aim} us | {least} us | "
              f"{verdict(ours * 1e6, aim, least)} |")
for start, file, aim, least in (("cold", "resnet50.1.json", 5, 15),
                                ("warm", "resnet50.1.warm.json", 0.5, 1.5)):
    first = (read(file) or {}).get("timings", {}).get("stages_s", {}).get("first_result")
    row = f"ResNet-50, file to first result, {start}"
    if not first:
        print(f"| {row} | {missing('resnet50', 1)} | | | {aim} s | {least} s | |")
    else:
        print(f"| {row} | {first:.2f} s | | | {aim} s | {least} s | {verdict(first, aim, least)} |")
