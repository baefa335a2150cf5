// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantity.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

// Attributes are float32 in files, rules are written in decimal.
constexpr double relativeTolerance = 1e-6;

bool near(double a, double b) {
    return a == b || std::abs(a - b) <= relativeTolerance * std::max(std::abs(a), std::abs(b));
}

Truth equalLists(const Quantity::List& a, const Quantity::List& b) {
    if (a.size() != b.size())
        return Truth::False;
    Truth all = Truth::True;
    for (size_t i = 0; i < a.size(); ++i)
        all = all && equal(a[i], b[i]);
    return all;
}

bool isDimLike(const Quantity& q) {
    const Number* number = q.as<Number>();
    return q.as<Dim>() || (number && number->isInteger);
}

std::string unknownReason(const Quantity& a, const Quantity& b) {
    if (const auto* unknown = a.as<Quantity::Unknown>())
        return unknown->why;
    if (const auto* unknown = b.as<Quantity::Unknown>())
        return unknown->why;
    return a.text() + " and " + b.text();
}

Quantity numberArithmetic(char symbol, double a, double b, bool integers) {
    auto result = [&](double value) { return Quantity{Number{value, integers}}; };
    switch (symbol) {
    case '+':
        return result(a + b);
    case '-':
        return result(a - b);
    case '*':
        return result(a * b);
    case '/':
        if (b == 0)
            return Quantity::unknown("a division by zero");
        return Quantity{Number{a / b, integers && std::floor(a / b) == a / b}};
    default:
        if (b == 0)
            return Quantity::unknown("a remainder by zero");
        return result(a - b * std::floor(a / b));
    }
}

Quantity dimArithmetic(char symbol, const Dim& a, const Dim& b) {
    switch (symbol) {
    case '+':
        return Quantity::dimension(a + b);
    case '-':
        return Quantity::dimension(a - b);
    case '*':
        return Quantity::dimension(a * b);
    case '/':
        return Quantity::dimension(Dim::divide(a, b));
    default:
        return Quantity::dimension(a - Dim::divide(a, b) * b);
    }
}

Quantity::List mapped(const Quantity::List& list, auto function) {
    Quantity::List out;
    for (const Quantity& item : list)
        out.push_back(function(item));
    return out;
}

} // namespace

Truth operator&&(Truth a, Truth b) {
    if (a == Truth::False || b == Truth::False)
        return Truth::False;
    return a == Truth::True && b == Truth::True ? Truth::True : Truth::Unknown;
}

Truth operator||(Truth a, Truth b) {
    return !(!a && !b);
}

Truth operator!(Truth a) {
    return a == Truth::Unknown ? a : truthOf(a == Truth::False);
}

Quantity Quantity::truth(Truth value) {
    if (value == Truth::Unknown)
        return unknown("a comparison with an unknown side");
    return {value == Truth::True};
}

Quantity Quantity::dimension(const Dim& dim) {
    if (dim.isUnknown())
        return unknown("a dimension");
    if (dim.isNumber())
        return integer(dim.value());
    return {dim};
}

Quantity Quantity::shape(const Type& type) {
    if (!type.hasRank())
        return unknown("a shape without rank");
    List dims;
    dims.reserve(type.shape->size());
    for (const Dim& dim : *type.shape)
        dims.push_back(dimension(dim));
    return list(std::move(dims));
}

Quantity Quantity::attribute(const AttributeValue& value) {
    struct Convert {
        Quantity operator()(int64_t v) const { return integer(v); }

        Quantity operator()(double v) const { return real(v); }

        Quantity operator()(const std::string& v) const { return ofText(v); }

        Quantity operator()(const std::vector<int64_t>& v) const {
            List out;
            for (int64_t item : v)
                out.push_back(integer(item));
            return list(std::move(out));
        }

        Quantity operator()(const std::vector<double>& v) const {
            List out;
            for (double item : v)
                out.push_back(real(item));
            return list(std::move(out));
        }

        Quantity operator()(const std::vector<std::string>& v) const {
            List out;
            for (const std::string& item : v)
                out.push_back(ofText(item));
            return list(std::move(out));
        }

        Quantity operator()(const TensorPtr& v) const { return v ? Quantity{v} : none(); }

        Quantity operator()(const std::shared_ptr<Graph>&) const { return unknown("a subgraph"); }
    };

    return std::visit(Convert{}, value);
}

std::optional<double> splatOf(const Tensor& tensor) {
    if (tensor.elementCount() == 0 || tensor.dtype() == DType::String || !tensor.defined())
        return std::nullopt;
    double first = tensor.at(0);
    for (int64_t i = 1; i < tensor.elementCount(); ++i)
        if (tensor.at(i) != first)
            return std::nullopt;
    return first;
}

std::optional<double> Quantity::number() const {
    if (const Number* number = as<Number>())
        return number->value;
    if (const bool* boolean = as<bool>())
        return *boolean ? 1 : 0;
    if (const TensorPtr* tensor = as<TensorPtr>())
        return splatOf(**tensor);
    return std::nullopt;
}

std::optional<int64_t> Quantity::integerValue() const {
    std::optional<double> value = number();
    if (!value || *value != std::floor(*value) || std::abs(*value) > 9.2e18)
        return std::nullopt;
    return static_cast<int64_t>(*value);
}

Dim Quantity::dim() const {
    if (const Dim* symbolic = as<Dim>())
        return *symbolic;
    std::optional<int64_t> whole = integerValue();
    return whole ? Dim(*whole) : Dim();
}

std::optional<Quantity::List> Quantity::items() const {
    if (const List* list = as<List>())
        return *list;
    const TensorPtr* tensor = as<TensorPtr>();
    if (!tensor || (*tensor)->rank() != 1 || (*tensor)->elementCount() > 4096)
        return std::nullopt;
    List out;
    for (int64_t i = 0; i < (*tensor)->elementCount(); ++i)
        out.push_back(isFloat((*tensor)->dtype()) ? real((*tensor)->at(i))
                                                  : integer((*tensor)->intAt(i)));
    return out;
}

Truth Quantity::truth() const {
    if (isUnknown())
        return Truth::Unknown;
    if (isNone())
        return Truth::False;
    if (std::optional<double> value = number())
        return truthOf(*value != 0);
    if (const List* list = as<List>())
        return truthOf(!list->empty());
    return as<ValueId>() || as<std::string>() ? Truth::True : Truth::Unknown;
}

std::string Quantity::text() const {
    struct Print {
        std::string operator()(None) const { return "none"; }

        std::string operator()(const Unknown&) const { return "?"; }

        std::string operator()(bool v) const { return v ? "true" : "false"; }

        std::string operator()(const Number& v) const {
            return v.isInteger ? fmt::format("{:.0f}", v.value) : fmt::format("{:.7g}", v.value);
        }

        std::string operator()(const std::string& v) const { return "\"" + v + "\""; }

        std::string operator()(const Dim& v) const { return v.text(); }

        std::string operator()(const List& v) const {
            return "[" + joined(v, std::mem_fn(&Quantity::text)) + "]";
        }

        std::string operator()(const TensorPtr& v) const { return v->type().text(); }

        std::string operator()(ValueId v) const { return fmt::format("value {}", v.index()); }
    };

    return std::visit(Print{}, data);
}

Truth equal(const Quantity& a, const Quantity& b) {
    if (a.isUnknown() || b.isUnknown())
        return Truth::Unknown;
    if (a.isNone() || b.isNone())
        return truthOf(a.isNone() && b.isNone());
    if (a.as<Dim>() || b.as<Dim>()) {
        Dim left = a.dim();
        Dim right = b.dim();
        if (left == right)
            return Truth::True;
        return certainlyDifferent(left, right) ? Truth::False : Truth::Unknown;
    }
    if (const ValueId* left = a.as<ValueId>(); left && b.as<ValueId>())
        return truthOf(*left == *b.as<ValueId>());
    if (a.as<Quantity::List>() || b.as<Quantity::List>()) {
        if (a.as<Quantity::List>() && b.as<Quantity::List>())
            return equalLists(*a.as<Quantity::List>(), *b.as<Quantity::List>());
        std::optional<Quantity::List> left = a.items();
        std::optional<Quantity::List> right = b.items();
        return left && right ? equalLists(*left, *right) : Truth::False;
    }
    if (const auto* left = a.as<TensorPtr>(); left && b.as<TensorPtr>())
        return truthOf(identical(**left, **b.as<TensorPtr>()));
    std::optional<double> left = a.number();
    std::optional<double> right = b.number();
    if (left && right)
        return truthOf(near(*left, *right));
    const std::string* leftText = a.as<std::string>();
    const std::string* rightText = b.as<std::string>();
    return truthOf(leftText && rightText && *leftText == *rightText);
}

Truth less(const Quantity& a, const Quantity& b) {
    if (a.as<Dim>() || b.as<Dim>()) {
        Dim difference = a.dim() - b.dim();
        return difference.isNumber() ? truthOf(difference.value() < 0) : Truth::Unknown;
    }
    const std::string* leftText = a.as<std::string>();
    const std::string* rightText = b.as<std::string>();
    if (leftText && rightText)
        return truthOf(*leftText < *rightText);
    std::optional<double> left = a.number();
    std::optional<double> right = b.number();
    return left && right ? truthOf(*left < *right) : Truth::Unknown;
}

Quantity arithmetic(const std::string& symbol, const Quantity& a, const Quantity& b) {
    const auto* left = a.as<Quantity::List>();
    const auto* right = b.as<Quantity::List>();
    // Beside a list a tensor of rank 1 is one.
    if (left && b.as<TensorPtr>())
        if (std::optional<Quantity::List> items = b.items())
            return arithmetic(symbol, a, Quantity::list(*items));
    if (right && a.as<TensorPtr>())
        if (std::optional<Quantity::List> items = a.items())
            return arithmetic(symbol, Quantity::list(*items), b);
    if (left && right) {
        if (left->size() != right->size())
            return Quantity::unknown("lists of " + std::to_string(left->size()) + " and " +
                                     std::to_string(right->size()) + " items");
        Quantity::List out;
        for (size_t i = 0; i < left->size(); ++i)
            out.push_back(arithmetic(symbol, (*left)[i], (*right)[i]));
        return Quantity::list(std::move(out));
    }
    if (left && !right)
        return Quantity::list(
            mapped(*left, [&](const Quantity& item) { return arithmetic(symbol, item, b); }));
    if (right && !left)
        return Quantity::list(
            mapped(*right, [&](const Quantity& item) { return arithmetic(symbol, a, item); }));
    if ((a.as<Dim>() && isDimLike(b)) || (b.as<Dim>() && isDimLike(a)) ||
        (a.as<Dim>() && b.as<Dim>()))
        return dimArithmetic(symbol[0], a.dim(), b.dim());
    std::optional<double> leftNumber = a.number();
    std::optional<double> rightNumber = b.number();
    if (!leftNumber || !rightNumber)
        return Quantity::unknown(unknownReason(a, b));
    return numberArithmetic(symbol[0], *leftNumber, *rightNumber, isDimLike(a) && isDimLike(b));
}

namespace {

bool isList(const Quantity& quantity) {
    return quantity.as<Quantity::List>() != nullptr;
}

/// A list beside a number, or beside one of the same length: what holds for every item.
Truth compareItems(const std::string& comparison, const Quantity& a, const Quantity& b) {
    const std::optional<Quantity::List> left = isList(a) || b.items() ? a.items() : std::nullopt;
    const std::optional<Quantity::List> right = isList(b) || a.items() ? b.items() : std::nullopt;
    if (left && right && left->size() != right->size())
        return Truth::Unknown;
    Truth all = Truth::True;
    const size_t count = left ? left->size() : right ? right->size() : 0;
    for (size_t i = 0; i < count; ++i)
        all = all && compare(comparison, left ? (*left)[i] : a, right ? (*right)[i] : b);
    return left || right ? all : Truth::Unknown;
}

} // namespace

Truth compare(const std::string& comparison, const Quantity& a, const Quantity& b) {
    const bool ofItems = !a.isUnknown() && !b.isUnknown() && !a.isNone() && !b.isNone() &&
                         (isList(a) || isList(b)) && comparison != "in";
    const bool beside = ofItems && isList(a) != isList(b) && !(isList(a) ? b : a).items() &&
                        (isList(a) ? b : a).number().has_value();
    if (comparison == "!=")
        return !compare("==", a, b);
    if (comparison == "==")
        return beside ? compareItems("==", a, b) : equal(a, b);
    if (ofItems)
        return compareItems(comparison, a, b);
    if (comparison == "<")
        return less(a, b);
    if (comparison == ">")
        return less(b, a);
    if (comparison == "<=")
        return !less(b, a);
    if (comparison == ">=")
        return !less(a, b);
    std::optional<Quantity::List> choices = b.items();
    if (!choices)
        return Truth::Unknown;
    Truth any = Truth::False;
    for (const Quantity& choice : *choices)
        any = any || equal(a, choice);
    return any;
}

} // namespace fuselage
