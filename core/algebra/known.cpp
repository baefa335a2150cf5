// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/known.h"

namespace fuselage::algebra {

Known Known::word(std::string text) {
    Known out;
    out.kind = Kind::Word;
    out.text = std::move(text);
    return out;
}

Known Known::ofText(std::string text) {
    Known out = word(std::move(text));
    out.kind = Kind::Text;
    return out;
}

Known Known::truth(bool value) {
    Known out = word(value ? "true" : "false");
    out.kind = Kind::Truth;
    out.literal = value ? 1 : 0;
    return out;
}

Known Known::ofNumber(Expr number, std::string text, std::optional<double> literal) {
    Known out = word(std::move(text));
    out.kind = Kind::Number;
    out.number = std::move(number);
    out.literal = literal;
    return out;
}

Known Known::list(std::vector<Known> items) {
    Known out = word("[");
    for (const Known& item : items)
        out.text += (out.text.size() > 1 ? ", " : "") + item.text;
    out.text += "]";
    out.kind = Kind::List;
    out.items = std::move(items);
    return out;
}

Known Known::ofValue(size_t value) {
    Known out = word("value " + std::to_string(value));
    out.kind = Kind::Value;
    out.value = value;
    return out;
}

} // namespace fuselage::algebra
