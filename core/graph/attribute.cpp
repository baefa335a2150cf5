// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attribute.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

auto lowerBound(auto& entries, std::string_view name) {
    return std::lower_bound(
        entries.begin(), entries.end(), name,
        [](const auto& entry, std::string_view key) { return entry.name < key; });
}

template <typename T> const T* findAs(const Attributes& attributes, std::string_view name) {
    const AttributeValue* value = attributes.find(name);
    return value ? std::get_if<T>(value) : nullptr;
}

template <typename T> T valueOr(const Attributes& attributes, std::string_view name, T fallback) {
    const T* found = findAs<T>(attributes, name);
    return found ? *found : std::move(fallback);
}

std::string listed(const auto& values, auto print) {
    return "[" + joined(values, print) + "]";
}

std::string quoted(const std::string& value) {
    return fmt::format("\"{}\"", value);
}

std::string shortest(double value) {
    // Attributes are stored as float32 in files; print the shortest text that reads back the same.
    std::string out = fmt::format("{}", static_cast<float>(value));
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

} // namespace

const AttributeValue* Attributes::find(std::string_view name) const {
    auto at = lowerBound(m_entries, name);
    return at != m_entries.end() && at->name == name ? &at->value : nullptr;
}

void Attributes::set(std::string_view name, AttributeValue value) {
    auto at = lowerBound(m_entries, name);
    if (at != m_entries.end() && at->name == name)
        at->value = std::move(value);
    else
        m_entries.insert(at, {std::string(name), std::move(value)});
}

void Attributes::erase(std::string_view name) {
    std::erase_if(m_entries, [&](const Entry& entry) { return entry.name == name; });
}

int64_t Attributes::integer(std::string_view name, int64_t fallback) const {
    return valueOr(*this, name, fallback);
}

double Attributes::number(std::string_view name, double fallback) const {
    if (const auto* whole = findAs<int64_t>(*this, name))
        return static_cast<double>(*whole);
    return valueOr(*this, name, fallback);
}

std::string Attributes::string(std::string_view name, std::string_view fallback) const {
    return valueOr(*this, name, std::string(fallback));
}

std::vector<int64_t> Attributes::integers(std::string_view name,
                                          std::vector<int64_t> fallback) const {
    return valueOr(*this, name, std::move(fallback));
}

std::vector<double> Attributes::numbers(std::string_view name) const {
    return valueOr(*this, name, std::vector<double>{});
}

std::vector<std::string> Attributes::strings(std::string_view name) const {
    return valueOr(*this, name, std::vector<std::string>{});
}

TensorPtr Attributes::tensor(std::string_view name) const {
    return valueOr(*this, name, TensorPtr{});
}

std::shared_ptr<Graph> Attributes::graph(std::string_view name) const {
    return valueOr(*this, name, std::shared_ptr<Graph>{});
}

std::string text(const AttributeValue& value) {
    struct Printer {
        std::string operator()(int64_t v) const { return std::to_string(v); }
        std::string operator()(double v) const { return shortest(v); }
        std::string operator()(const std::string& v) const { return quoted(v); }
        std::string operator()(const std::vector<int64_t>& v) const {
            return listed(v, [](int64_t x) { return std::to_string(x); });
        }
        std::string operator()(const std::vector<double>& v) const { return listed(v, shortest); }
        std::string operator()(const std::vector<std::string>& v) const {
            return listed(v, quoted);
        }
        std::string operator()(const TensorPtr& v) const { return v ? v->type().text() : "none"; }
        std::string operator()(const std::shared_ptr<Graph>&) const { return "{...}"; }
    };
    return std::visit(Printer{}, value);
}

bool equal(const AttributeValue& a, const AttributeValue& b) {
    const auto* left = std::get_if<TensorPtr>(&a);
    const auto* right = std::get_if<TensorPtr>(&b);
    if (left && right)
        return *left == *right || (*left && *right && identical(**left, **right));
    return a == b;
}

} // namespace fuselage
