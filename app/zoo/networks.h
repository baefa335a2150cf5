// SPDX-License-Identifier: Apache-2.0
// One function a network; zoo.cpp lists them.
#pragma once

#include "core/graph/graph.h"

namespace fuselage::zoo {

Graph resnet18(uint64_t seed);
Graph resnet50(uint64_t seed);
Graph convnextTiny(uint64_t seed);
Graph convnextBase(uint64_t seed);
Graph mobilenetV3Large(uint64_t seed);
Graph unet(uint64_t seed);
Graph vitB16(uint64_t seed);
Graph bertBase(uint64_t seed);
Graph gpt2Block(uint64_t seed);
Graph lstm(uint64_t seed);
Graph llamaBlock(uint64_t seed);
Graph llamaBlockStandard(uint64_t seed);
Graph llamaBlockContrib(uint64_t seed);
Graph llamaBlockFourBits(uint64_t seed);
Graph whisperEncoder(uint64_t seed);
Graph unetSdBlock(uint64_t seed);
Graph ditBlock(uint64_t seed);
Graph detr(uint64_t seed);

} // namespace fuselage::zoo
