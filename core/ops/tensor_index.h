// SPDX-License-Identifier: Apache-2.0
// Index arithmetic that shape functions and reference functions share: axes, broadcasting, strided
// walks, element copies between reference values, and the checks that keep hostile models out.
// Knows no operator.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <utility>
#include <vector>

namespace fuselage {

/// Results with more elements are refused by the reference functions.
constexpr int64_t maxReferenceElements = int64_t(1) << 31;

/// Longer integer tensors do not carry symbolic contents.
constexpr int64_t maxContents = 1024;

/// The error of a reference function: "Gather: index 7 ...", at the node.
Failure badInput(const Node& node, const std::string& message);

/// The input, or null when it is omitted or past the end.
inline const ReferenceValue* inputAt(ReferenceInputs inputs, size_t index) {
    return index < inputs.size() ? inputs[index] : nullptr;
}

/// Negative axes count from the end. None when out of range.
std::optional<size_t> normalizedAxis(int64_t axis, size_t rank);

/// All axes in the given order; none when one is out of range or named twice.
std::optional<std::vector<size_t>> normalizedAxes(const std::vector<int64_t>& axes, size_t rank);

/// Whether data of these extents have every place that indices name, but for places along `axis`.
bool coversElsewhere(const Extents& data, const Extents& indices, size_t axis);

/// Numpy broadcasting; none when the extents do not fit.
std::optional<Extents> broadcastExtents(const Extents& a, const Extents& b);

/// The same for shapes: a dimension is unknown where the symbols do not decide it.
std::optional<Shape> broadcastShapes(const Shape& a, const Shape& b);

/// Strides that read a tensor of extents `from` at every index of `to`: 0 where it is repeated.
Extents broadcastStrides(const Extents& from, const Extents& to);

/// True when the interpreter can hold a tensor of these extents on this machine.
bool fitsReference(const Extents& extents);

/// Zeroed tensor of a size that is checked first.
Result<ReferenceValue> allocateResult(const Node& node, DType dtype, Extents extents);

/// The parts one behind the other along the axis; `extents` are those of the result, which the
/// parts were checked against.
Result<ReferenceValue> joinAlong(const Node& node, size_t axis, const Extents& extents,
                                 const std::vector<const ReferenceValue*>& parts);

/// All elements as int64 (axes, sizes, indices); floats are truncated.
std::vector<int64_t> intsOf(const ReferenceValue& value);

/// Product of extents[begin, end).
int64_t countOf(const Extents& extents, size_t begin, size_t end);

/// True when elements can be copied between the two: floats, integers or strings on both sides.
bool sameClass(const ReferenceValue& a, const ReferenceValue& b);

/// Calls body(fromElements, toElements) with the vectors of the class that both share.
template <typename Body>
void onElements(const ReferenceValue& from, ReferenceValue& to, Body&& body) {
    if (to.dtype == DType::String)
        body(from.strings, to.strings);
    else if (isFloat(to.dtype))
        body(from.floats, to.floats);
    else
        body(from.ints, to.ints);
}

/// A tensor of `extents` whose element i is element source(i) of x, or zero where that is negative.
template <typename Source>
Result<ReferenceValue> mapElements(const Node& node, const ReferenceValue& x, Extents extents,
                                   Source&& source) {
    auto out = allocateResult(node, x.dtype, std::move(extents));
    if (!out)
        return out;
    onElements(x, *out, [&](const auto& from, auto& to) {
        for (size_t i = 0; i < to.size(); ++i) {
            const int64_t at = source(static_cast<int64_t>(i));
            if (at >= 0)
                to[i] = from[static_cast<size_t>(at)];
        }
    });
    return out;
}

/// Walks extents in row-major order and keeps the linear offset in several strided tensors.
///     for (StridedWalk walk(extents, {aStrides, bStrides}); walk.valid(); walk.next())
///         out[walk.position()] = a[walk.offset(0)] + b[walk.offset(1)];
class StridedWalk {
public:
    explicit StridedWalk(Extents extents, std::vector<Extents> strides = {});

    bool valid() const { return m_position < m_count; }

    void next();

    /// Number of steps done: the row-major index in `extents`.
    int64_t position() const { return m_position; }

    int64_t offset(size_t operand) const { return m_offsets[operand]; }

    /// The current index, one number a dimension.
    const Extents& index() const { return m_index; }

private:
    Extents m_extents;
    std::vector<Extents> m_strides;
    Extents m_index;
    Extents m_offsets;
    int64_t m_position = 0;
    int64_t m_count = 0;
};

/// Checks what every reference function on tensors relies on: as many inputs as the row asks for,
/// all of them tensors.
Result<void> checkTensorInputs(const Node& node, ReferenceInputs inputs);

/// Drops results that the node does not ask for (trailing optional outputs).
std::vector<ReferenceValue> trimmed(const Node& node, std::vector<ReferenceValue> results);

/// A reference function that is entered only with tensors: `.reference = onTensors<runReshape>`.
template <ReferenceFunction function>
Result<std::vector<ReferenceValue>> onTensors(const Node& node, ReferenceInputs inputs,
                                              ReferenceContext& context) {
    if (auto checked = checkTensorInputs(node, inputs); !checked)
        return failure(checked.error());
    return function(node, inputs, context);
}

/// One result as the vector that a reference function returns; errors pass through.
Result<std::vector<ReferenceValue>> single(Result<ReferenceValue> result);

} // namespace fuselage
