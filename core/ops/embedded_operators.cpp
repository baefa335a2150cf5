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

std::vector<std::string_view> textsOf(std::string_view kind) {
    std::vector<std::string_view> out;
    for (const EmbeddedText& text : operatorTexts)
        if (text.name.starts_with(kind))
            out.push_back(text.text);
    return out;
}

} // namespace

std::vector<std::string_view> embeddedOperators() {
    return textsOf("operators");
}

std::vector<std::string_view> embeddedBodies() {
    return textsOf("bodies");
}

} // namespace fuselage
