# SPDX-License-Identifier: Apache-2.0
"""The peers in the same run: torch.compile of the same networks inside a captured graph, fp16, and a
copy on the device. Prints one JSON object of seconds (and bytes a second for the copy).
"""
import json
import sys

import torch
import torchvision

ROUNDS = 50


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


def networks():
    vision = {"resnet50": torchvision.models.resnet50,
              "convnext_tiny": torchvision.models.convnext_tiny,
              "vit_b_16": torchvision.models.vit_b_16}
    for name, make in vision.items():
        model = make().half().cuda().eval().to(memory_format=torch.channels_last)
        for batch in (1, 32):
            image = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half)
            yield f"{name}.{batch}", model, image.to(memory_format=torch.channels_last)
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        return
    bert = BertModel(BertConfig(), add_pooling_layer=False).half().cuda().eval()
    for batch in (1, 32):
        yield f"bert_base.{batch}", bert, torch.randint(0, 30000, (batch, 128), device="cuda")


out = {}
torch.backends.cudnn.benchmark = True
with torch.no_grad():
    for name, model, data in networks():
        try:
            compiled = torch.compile(model)
            out[name] = median(captured(lambda: compiled(data)))
        except Exception as error:  # a peer that fails is a row that is not measured
            print(f"{name}: {error}", file=sys.stderr)
        torch._dynamo.reset()
    source = torch.empty(1 << 30, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    out["copy_bytes_per_second"] = 2 * source.nbytes / median(captured(lambda: target.copy_(source)))
print(json.dumps(out))
