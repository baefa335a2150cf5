// SPDX-License-Identifier: Apache-2.0
// What an expression of a rule can be: numbers, texts, dimensions, lists, tensors, values of the
// graph, none, or unknown. Comparing is three-valued: what is unknown is never taken for false.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fuselage {

enum class Truth : uint8_t { False, True, Unknown };

inline Truth truthOf(bool value) {
    return value ? Truth::True : Truth::False;
}

Truth operator&&(Truth a, Truth b);
Truth operator||(Truth a, Truth b);
Truth operator!(Truth a);

struct Number {
    double value = 0;
    bool isInteger = false;
};

struct Quantity {
    struct None {};

    struct Unknown {
        std::string why; ///< "the shape of `x`"
    };

    using List = std::vector<Quantity>;
    using Data =
        std::variant<None, Unknown, bool, Number, std::string, Dim, List, TensorPtr, ValueId>;

    Data data;

    static Quantity none() { return {}; }

    static Quantity unknown(std::string why) { return {Unknown{std::move(why)}}; }

    static Quantity integer(int64_t value) { return {Number{static_cast<double>(value), true}}; }

    static Quantity real(double value) { return {Number{value, false}}; }

    static Quantity truth(Truth value);

    static Quantity ofText(std::string text) { return {std::move(text)}; }

    static Quantity list(List items) { return {std::move(items)}; }

    /// A number, a symbolic dimension, or unknown.
    static Quantity dimension(const Dim& dim);
    /// The dimensions as a list; unknown without rank.
    static Quantity shape(const Type& type);
    static Quantity attribute(const AttributeValue& value);

    template <typename T> const T* as() const { return std::get_if<T>(&data); }

    bool isNone() const { return as<None>() != nullptr; }

    bool isUnknown() const { return as<Unknown>() != nullptr; }

    /// Number, bool, or a constant with one distinct element.
    std::optional<double> number() const;
    std::optional<int64_t> integerValue() const;
    /// A number or symbol as Dim; unknown otherwise.
    Dim dim() const;
    /// The items of a list, or the elements of a rank-1 tensor.
    std::optional<List> items() const;

    Truth truth() const;

    /// "[1, N, 3]", "none", "?": for messages.
    std::string text() const;
};

Truth equal(const Quantity& a, const Quantity& b);

/// a < b; unknown when they have no order that is known.
Truth less(const Quantity& a, const Quantity& b);

/// + - * / % on numbers and dimensions; lists element by element, with lists of the same length or
/// with one number. Unknown where the lengths differ.
Quantity arithmetic(const std::string& symbol, const Quantity& a, const Quantity& b);

/// `comparison` is one of == != < <= > >= in. A list compares with a number, and by < <= > >= with
/// a list of the same length, as all its items do; != is what == is not.
Truth compare(const std::string& comparison, const Quantity& a, const Quantity& b);

/// The only element of a tensor, or the one that all its elements equal.
std::optional<double> splatOf(const Tensor& tensor);

} // namespace fuselage
