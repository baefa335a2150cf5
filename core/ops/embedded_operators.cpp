// SPDX-License-Identifier: Apache-2.0
#include "core/ops/embedded_operators.h"

namespace fuselage {

namespace {

struct EmbeddedText {
    std::string_view name, text;
};

constexpr EmbeddedText operatorTexts[] = {
#include "embedded_operators.inc"
};

} // namespace

std::string_view embeddedOperators() {
    return operatorTexts[0].text;
}

std::string_view embeddedBodies() {
    return operatorTexts[1].text;
}

} // namespace fuselage
