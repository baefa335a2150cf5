// SPDX-License-Identifier: Apache-2.0
#include "app/zoo/zoo.h"

#include "app/zoo/networks.h"
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
    };
    return entries;
}

Result<Graph> build(const std::string& name, uint64_t seed) {
    for (const ZooEntry& entry : models())
        if (entry.name == name)
            return entry.build(seed);
    return failure("zoo.unknown", "no model `" + name + "` in the zoo", "",
                   "one of: " + joined(models(), std::mem_fn(&ZooEntry::name)));
}

} // namespace fuselage::zoo
