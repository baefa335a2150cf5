// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::conformance {

namespace {

bool close(double a, double b, const Tolerance& tolerance) {
    if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b))
        return a == b;
    return std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b);
}

Tolerance tolerated(DType type, Tolerance tolerance) {
    if (type == DType::Float16)
        return {std::max(tolerance.relative, 1e-2), std::max(tolerance.absolute, 1e-3)};
    if (type == DType::BFloat16)
        return {std::max(tolerance.relative, 2e-2), std::max(tolerance.absolute, 1e-2)};
    return tolerance;
}

std::optional<std::string> elementDifference(const ReferenceValue& actual,
                                             const ReferenceValue& expected,
                                             const Tolerance& tolerance) {
    if (expected.dtype == DType::String) {
        for (size_t i = 0; i < expected.strings.size(); ++i)
            if (actual.strings[i] != expected.strings[i])
                return fmt::format("element {} is \"{}\", expected \"{}\"", i, actual.strings[i],
                                   expected.strings[i]);
        return std::nullopt;
    }
    // The reference keeps wide values: round them as a file would.
    const ReferenceValue rounded = ReferenceValue::from(actual.toTensor());
    const Tolerance limit = tolerated(expected.dtype, tolerance);
    size_t wrong = 0;
    std::string first;
    for (int64_t i = 0; i < expected.count(); ++i) {
        const bool same = isFloat(expected.dtype) ? close(rounded.at(i), expected.at(i), limit)
                                                  : rounded.intAt(i) == expected.intAt(i);
        if (!same && wrong++ == 0)
            first = fmt::format("element {} is {}, expected {}", i, rounded.at(i), expected.at(i));
    }
    if (wrong == 0)
        return std::nullopt;
    return fmt::format("{} ({} of {} differ)", first, wrong, expected.count());
}

} // namespace

std::optional<std::string> typeDifference(const ReferenceValue& actual,
                                          const ReferenceValue& expected) {
    if (actual.kind != expected.kind)
        return "another kind of value";
    if (actual.kind != TypeKind::Tensor)
        return std::nullopt;
    if (actual.dtype != expected.dtype || actual.extents != expected.extents)
        return fmt::format("{}{}, expected {}{}", nameOf(actual.dtype), text(actual.extents),
                           nameOf(expected.dtype), text(expected.extents));
    if (actual.count() != elementCount(actual.extents))
        return "fewer elements than the extents say";
    return std::nullopt;
}

std::optional<std::string> difference(const ReferenceValue& actual, const ReferenceValue& expected,
                                      const Tolerance& tolerance) {
    if (auto found = typeDifference(actual, expected))
        return found;
    if (expected.kind == TypeKind::Tensor)
        return elementDifference(actual, expected, tolerance);
    if (actual.elements.size() != expected.elements.size())
        return fmt::format("{} elements, expected {}", actual.elements.size(),
                           expected.elements.size());
    for (size_t i = 0; i < expected.elements.size(); ++i)
        if (auto found = difference(actual.elements[i], expected.elements[i], tolerance))
            return fmt::format("[{}]: {}", i, *found);
    return std::nullopt;
}

std::optional<std::string> contradiction(const Type& inferred, const ReferenceValue& value) {
    if (inferred.dtype == DType::Undefined && !inferred.shape)
        return std::nullopt;
    const Type real = tensorType(value.dtype, toShape(value.extents));
    auto wrong = [&] { return fmt::format("inferred as {}, is {}", inferred.text(), real.text()); };
    if (inferred.kind != value.kind)
        return wrong();
    if (value.kind != TypeKind::Tensor)
        return std::nullopt;
    if (inferred.dtype != DType::Undefined && inferred.dtype != value.dtype)
        return wrong();
    if (!inferred.shape)
        return std::nullopt;
    bool fits = inferred.rank() == value.extents.size();
    for (size_t i = 0; fits && i < inferred.rank(); ++i)
        fits = !certainlyDifferent((*inferred.shape)[i], Dim(value.extents[i]));
    return fits ? std::nullopt : std::optional(wrong());
}

} // namespace fuselage::conformance
