# SPDX-License-Identifier: Apache-2.0
"""A peer in the same run: peers.py NAME FOLDER writes FOLDER/peer.*.json, a value and where it is
from, as soon as each is measured. NAME is `copy` (bytes a second, read and written) or a network: seconds of torch.compile in a captured graph, fp16, batch 1 and 32.
"""
import json
import os
import sys

import torch

ROUNDS = 50


def write(name, value):
    path = os.path.join(sys.argv[2], f"peer.{name}.json")
    with open(path + ".next", "w", encoding="utf-8") as file:
        json.dump({"value": value, "source": f"torch {torch.__version__}"}, file)
    os.replace(path + ".next", path)
    print(f"{name} {value:.6g}", flush=True)


def captured(call):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def median(call):
    for _ in range(10):
        call()
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return sorted(times)[ROUNDS // 2]


def bert():
    from transformers import BertConfig, BertModel
    try:
        config = BertConfig(attn_implementation="sdpa")
    except TypeError:
        config = BertConfig()
    return BertModel(config, add_pooling_layer=False).half().cuda().eval()


def network(name):
    """The model, and its input for a batch."""
    if name == "bert_base":
        return bert(), lambda batch: torch.randint(0, 30000, (batch, 128), device="cuda")
    import torchvision
    model = getattr(torchvision.models, name)(weights=None)
    model = model.half().cuda().eval().to(memory_format=torch.channels_last)

    def image(batch):
        data = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half)
        return data.to(memory_format=torch.channels_last)

    return model, image


def measure_network(name):
    """Batches that failed."""
    model, data_of = network(name)
    failed = 0
    for batch in (1, 32):
        try:
            data = data_of(batch)
            torch._dynamo.reset()
            compiled = torch.compile(model)
            write(f"{name}.{batch}", median(captured(lambda: compiled(data))))
        except Exception as error:  # a peer that fails is a row that is not measured
            print(f"error: {name} at batch {batch}: {error}", file=sys.stderr)
            failed += 1
    return failed


def measure_copy():
    """The best of a copy and of a kernel that reads and writes as much: in a captured graph a copy
    is a node of its own kind, on an H200 at 63 % of what kernels move."""
    source = torch.empty(1 << 30, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    kernel = captured(lambda: torch.add(source, 1, out=target))
    best = min(median(lambda: target.copy_(source)), median(kernel))
    write("copy_bytes_per_second", 2 * source.nbytes / best)
    return 0


torch.backends.cudnn.benchmark = True
with torch.no_grad():
    sys.exit(measure_copy() if sys.argv[1] == "copy" else measure_network(sys.argv[1]))
