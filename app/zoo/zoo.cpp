// SPDX-License-Identifier: Apache-2.0
#include "app/zoo/zoo.h"

#include "app/zoo/networks.h"
#include "core/onnx/model_file.h"
#include "core/support/text.h"

#include <functional>

namespace fuselage::zoo {

const std::vector<ZooEntry>& models() {
    static const std::vector<ZooEntry> entries{
        {"resnet18", "ResNet-18, BatchNormalization kept, [N,3,224,224]", resnet18},
        {"resnet50", "ResNet-50, BatchNormalization kept, [N,3,224,224]", resnet50},
        {"convnext_tiny", "ConvNeXt-Tiny, [N,3,224,224]", convnextTiny},
        {"convnext_base", "ConvNeXt-Base, [N,3,224,224]", convnextBase},
        {"vit_b_16", "ViT-B/16 with the exporter's shape arithmetic, [N,3,224,224]", vitB16},
        {"bert_base", "BERT-base encoder, packed in-projection, [N,128] tokens", bertBase},
        {"mobilenet_v3_large", "MobileNetV3-Large, BatchNormalization kept, [N,3,224,224]",
         mobilenetV3Large},
        {"gpt2_block", "one GPT-2 block with key/value cache, [N,S,768]", gpt2Block},
        {"lstm", "two-layer bidirectional LSTM tagger, [N,S] tokens", lstm},
        {"unet", "small U-Net with transposed convolutions, [N,3,128,128]", unet},
        {"llama_block", "one Llama-like block with key/value cache, written out, [N,S,768]",
         llamaBlock},
        {"llama_block_23", "the same in operators of opset 23", llamaBlockStandard, true},
        {"llama_block_ort", "the same in operators of com.microsoft", llamaBlockContrib, true},
        {"llama_block_int4", "the same with weights of 4 bits (MatMulNBits)", llamaBlockFourBits,
         true},
        {"whisper_encoder", "Whisper's encoder, two layers, [N,80,600]", whisperEncoder},
        {"unet_sd_block", "a block of Stable Diffusion's U-Net, [N,320,H,W]", unetSdBlock},
        {"dit_block", "a block of a diffusion transformer, [N,256,384]", ditBlock},
        {"detr", "DETR's transformer on features [N,2048,16,16]", detr},
    };
    return entries;
}

namespace {

Result<const ZooEntry*> find(const std::string& name) {
    for (const ZooEntry& entry : models())
        if (entry.name == name)
            return &entry;
    return failure("zoo.unknown", "no model `" + name + "` in the zoo", "",
                   "one of: " + joined(models(), std::mem_fn(&ZooEntry::name)));
}

} // namespace

Result<Graph> written(const std::string& name, uint64_t seed) {
    auto entry = find(name);
    if (!entry)
        return failure(entry.error());
    return (*entry)->write(seed);
}

Result<Graph> build(const std::string& name, uint64_t seed) {
    auto entry = find(name);
    if (!entry)
        return failure(entry.error());
    Graph graph = (*entry)->write(seed);
    if (!(*entry)->isRead)
        return graph;
    auto bytes = model_io::toBytes(graph);
    if (!bytes)
        return failure(bytes.error());
    return model_io::loadBytes(*bytes, ".", {});
}

} // namespace fuselage::zoo
