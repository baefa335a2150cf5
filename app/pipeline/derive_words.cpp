// SPDX-License-Identifier: Apache-2.0
// Operators, attributes and names as a person would write them in a rule.
#include "app/pipeline/derive_internal.h"
#include "core/ops/op_table.h"
#include "dsl/resolve.h"
#include "dsl/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr size_t longestList = 16; ///< an attribute with more numbers is left out

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out + "\"";
}

template <typename List, typename Print>
std::optional<std::string> listText(const List& list, Print print) {
    if (list.size() > longestList)
        return std::nullopt;
    std::string out;
    for (const auto& each : list)
        out += (out.empty() ? "" : ", ") + print(each);
    return "[" + out + "]";
}

/// As an expression of the language; none for tensors, graphs and long lists.
struct AttributeText {
    using Text = std::optional<std::string>;

    static std::string number(double value) { return fmt::format("{:.9g}", value); }

    Text operator()(int64_t value) const { return std::to_string(value); }

    Text operator()(double value) const {
        return std::isfinite(value) ? Text(number(value)) : std::nullopt;
    }

    Text operator()(const std::string& value) const { return quoted(value); }

    Text operator()(const std::vector<int64_t>& list) const {
        return listText(list, [](int64_t each) { return std::to_string(each); });
    }

    Text operator()(const std::vector<double>& list) const { return listText(list, number); }

    Text operator()(const std::vector<std::string>& list) const { return listText(list, quoted); }

    Text operator()(const TensorPtr&) const { return std::nullopt; }

    Text operator()(const std::shared_ptr<Graph>&) const { return std::nullopt; }
};

} // namespace

std::string ruleNameOf(Op op) {
    for (const auto& [name, known] : dsl::operatorsByName())
        if (known == op)
            return name;
    return {};
}

std::optional<std::string> attributeText(const AttributeValue& value) {
    return std::visit(AttributeText{}, value);
}

std::string roleOf(Op op, size_t slot, bool isConst) {
    bool product = op == Op::Conv || op == Op::ConvTranspose || op == Op::Gemm || op == Op::MatMul;
    if (product && isConst)
        return slot == 1 ? "w" : slot == 0 ? "a" : "b";
    if (isConst && op == Op::Add)
        return "bias";
    if (isConst && (op == Op::Mul || op == Op::Div))
        return "scale";
    if (!isConst && slot > 0 && op == Op::Add)
        return "res";
    if (!isConst && slot > 0 && op == Op::MatMul)
        return "other";
    const auto& names = inputNamesOf(op);
    return isConst && !names.empty() ? names[std::min(slot, names.size() - 1)] : "x";
}

std::string freshName(const std::string& wish, std::set<std::string>& taken) {
    std::string base;
    for (char c : wish)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
            base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (base.empty() || std::isalpha(static_cast<unsigned char>(base[0])) == 0)
        base = "v" + base;
    std::string name = base;
    for (int number = 2; taken.contains(name) || dsl::isReserved(name); ++number)
        name = base + std::to_string(number);
    taken.insert(name);
    return name;
}

} // namespace fuselage::app
