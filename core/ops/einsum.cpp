// SPDX-License-Identifier: Apache-2.0
#include "core/ops/einsum.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// An index is a letter; the dimensions of an ellipsis are numbered from its right end, after all
/// letters.
using Term = std::vector<int>;

constexpr int ellipsisIndex = 1000;

struct Equation {
    std::vector<std::string> inputs;
    std::string output;
    bool explicitOutput = false;
};

Equation parseEquation(const std::string& text) {
    Equation out;
    std::string clean;
    for (char c : text)
        if (c != ' ')
            clean += c;
    size_t arrow = clean.find("->");
    out.explicitOutput = arrow != std::string::npos;
    if (out.explicitOutput)
        out.output = clean.substr(arrow + 2);
    std::string left = clean.substr(0, arrow);
    for (size_t begin = 0; begin <= left.size();) {
        size_t comma = std::min(left.find(',', begin), left.size());
        out.inputs.push_back(left.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return out;
}

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The indices of a term whose ellipsis stands for `hidden` dimensions; none when it is malformed.
std::optional<Term> indicesOf(const std::string& term, size_t hidden) {
    Term out;
    for (size_t i = 0; i < term.size(); ++i) {
        if (isLetter(term[i])) {
            out.push_back(term[i]);
        } else if (term.compare(i, 3, "...") == 0) {
            for (size_t k = hidden; k-- > 0;)
                out.push_back(ellipsisIndex + static_cast<int>(k));
            i += 2;
        } else {
            return std::nullopt;
        }
    }
    return out;
}

/// Dimensions of a term of that rank which its ellipsis stands for.
std::optional<size_t> hiddenCount(const std::string& term, size_t rank) {
    auto letters = static_cast<size_t>(std::count_if(term.begin(), term.end(), isLetter));
    bool dots = term.find("...") != std::string::npos;
    if (letters > rank || (!dots && letters != rank))
        return std::nullopt;
    return rank - letters;
}

/// Without "->": the ellipsis, then letters that occur once, in alphabetical order.
std::string implicitOutput(const Equation& equation) {
    std::map<char, int> counts;
    bool dots = false;
    for (const std::string& term : equation.inputs) {
        dots = dots || term.find("...") != std::string::npos;
        for (char c : term)
            if (isLetter(c))
                ++counts[c];
    }
    std::string out = dots ? "..." : "";
    for (const auto& [letter, count] : counts)
        if (count == 1)
            out += letter;
    return out;
}

} // namespace

std::optional<EinsumIndices> einsumIndices(const std::string& text,
                                           const std::vector<size_t>& ranks) {
    Equation equation = parseEquation(text);
    if (equation.inputs.size() != ranks.size())
        return std::nullopt;
    EinsumIndices out;
    size_t widest = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
        auto hidden = hiddenCount(equation.inputs[i], ranks[i]);
        auto term = hidden ? indicesOf(equation.inputs[i], *hidden) : std::nullopt;
        if (!term)
            return std::nullopt;
        widest = std::max(widest, *hidden);
        out.inputs.push_back(std::move(*term));
    }
    auto output =
        indicesOf(equation.explicitOutput ? equation.output : implicitOutput(equation), widest);
    if (!output)
        return std::nullopt;
    out.output = std::move(*output);
    for (int index : out.output) {
        auto has = [&](const Term& term) {
            return std::find(term.begin(), term.end(), index) != term.end();
        };
        if (std::none_of(out.inputs.begin(), out.inputs.end(), has) ||
            std::count(out.output.begin(), out.output.end(), index) != 1)
            return std::nullopt;
    }
    return out;
}

namespace {

/// Strides of one operand over `order`; an index that it does not have is read at stride 0.
Extents stridesOver(const Term& term, const Extents& extents, const std::vector<int>& order) {
    Extents own = rowMajorStrides(extents), out(order.size(), 0);
    for (size_t d = 0; d < term.size(); ++d)
        for (size_t k = 0; k < order.size(); ++k)
            if (order[k] == term[d] && extents[d] != 1)
                out[k] += own[d]; // an index named twice walks the diagonal
    return out;
}

/// The product over one output element: offsets walk the summed indices.
template <typename T>
T sumOfProducts(const std::vector<const T*>& operands,
                const std::vector<std::vector<int64_t>>& steps, size_t count) {
    T sum{};
    for (size_t s = 0; s < count; ++s) {
        T product = operands[0][steps[0][s]];
        for (size_t k = 1; k < operands.size(); ++k)
            product *= operands[k][steps[k][s]];
        sum += product;
    }
    return sum;
}

std::vector<std::vector<int64_t>> offsetsOver(const Extents& extents,
                                              const std::vector<Extents>& strides) {
    std::vector<std::vector<int64_t>> out(strides.size());
    for (StridedWalk walk(extents, strides); walk.valid(); walk.next())
        for (size_t k = 0; k < strides.size(); ++k)
            out[k].push_back(walk.offset(k));
    return out;
}

template <typename T, typename Elements>
void contract(const std::vector<std::vector<int64_t>>& outer,
              const std::vector<std::vector<int64_t>>& inner, ReferenceInputs inputs,
              Elements elements, std::vector<T>& out, ThreadPool& threads) {
    const size_t summed = inner[0].size();
    threads.forRange(out.size(), 1 + 4096 / (summed + 1), [&](size_t begin, size_t end) {
        std::vector<const T*> operands(inputs.size());
        for (size_t i = begin; i < end; ++i) {
            for (size_t k = 0; k < inputs.size(); ++k)
                operands[k] = elements(*inputs[k]) + outer[k][i];
            out[i] = sumOfProducts(operands, inner, summed);
        }
    });
}

/// Extents by index; an extent of 1 is broadcast.
Result<std::map<int, int64_t>> indexSizes(const Node& node, const EinsumIndices& indexed,
                                          ReferenceInputs inputs) {
    std::map<int, int64_t> sizes;
    for (size_t k = 0; k < inputs.size(); ++k)
        for (size_t d = 0; d < inputs[k]->extents.size(); ++d) {
            int64_t& size = sizes.try_emplace(indexed.inputs[k][d], 1).first->second;
            int64_t own = inputs[k]->extents[d];
            if (own != 1 && size != 1 && own != size)
                return badInput(node, fmt::format("an index of `{}` has extents {} and {}",
                                                  node.attributes.string("equation"), size, own));
            size = own == 1 ? size : own;
        }
    return sizes;
}

Outputs runEinsum(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    std::vector<size_t> ranks;
    for (const ReferenceValue* input : inputs) {
        if (!input || input->dtype != inputs[0]->dtype || input->dtype == DType::String)
            return badInput(node, "operands must be numbers of one type");
        ranks.push_back(input->extents.size());
    }
    const std::string equation = node.attributes.string("equation");
    auto indexed = einsumIndices(equation, ranks);
    if (!indexed)
        return badInput(node, fmt::format("equation `{}` does not fit the operands", equation));
    auto sizes = indexSizes(node, *indexed, inputs);
    if (!sizes)
        return failure(sizes.error());
    std::vector<int> summed;
    Extents outer, inner;
    for (int index : indexed->output)
        outer.push_back((*sizes)[index]);
    for (const auto& [index, size] : *sizes)
        if (std::find(indexed->output.begin(), indexed->output.end(), index) ==
            indexed->output.end()) {
            summed.push_back(index);
            inner.push_back(size);
        }
    auto out = allocateResult(node, inputs[0]->dtype, outer);
    auto count = elementCount(inner);
    if (!out || !count || *count > maxReferenceElements)
        return out ? Outputs(badInput(node, "the sum is too large")) : failure(out.error());
    std::vector<Extents> outerStrides, innerStrides;
    for (size_t k = 0; k < inputs.size(); ++k) {
        outerStrides.push_back(
            stridesOver(indexed->inputs[k], inputs[k]->extents, indexed->output));
        innerStrides.push_back(stridesOver(indexed->inputs[k], inputs[k]->extents, summed));
    }
    auto outerOffsets = offsetsOver(outer, outerStrides);
    auto innerOffsets = offsetsOver(inner, innerStrides);
    if (isFloat(out->dtype)) {
        contract<double>(
            outerOffsets, innerOffsets, inputs,
            [](const ReferenceValue& v) { return v.floats.data(); }, out->floats,
            context.threads());
    } else {
        std::vector<uint64_t> sums(out->ints.size()); // unsigned: sums may wrap
        contract<uint64_t>(
            outerOffsets, innerOffsets, inputs,
            [](const ReferenceValue& v) {
                return reinterpret_cast<const uint64_t*>(v.ints.data());
            },
            sums, context.threads());
        for (size_t i = 0; i < sums.size(); ++i)
            out->ints[i] = wrapTo(out->dtype, static_cast<int64_t>(sums[i]));
    }
    return single(std::move(out));
}

void inferEinsum(InferContext& context) {
    std::vector<size_t> ranks;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        const Shape* shape = shapeOf(context, i);
        if (!shape)
            return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
        ranks.push_back(shape->size());
    }
    const std::string equation = context.node().attributes.string("equation");
    auto indexed = einsumIndices(equation, ranks);
    if (!indexed) {
        context.fail(fmt::format("Einsum: equation `{}` does not fit the operands", equation));
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    }
    std::map<int, Dim> sizes;
    for (size_t k = 0; k < ranks.size(); ++k)
        for (size_t d = 0; d < ranks[k]; ++d) {
            const Dim& own = (*shapeOf(context, k))[d];
            Dim& size = sizes.try_emplace(indexed->inputs[k][d], 1).first->second;
            auto joined = broadcastShapes({size}, {own});
            if (!joined)
                context.fail(fmt::format("Einsum: an index of `{}` has extents {} and {}", equation,
                                         size.text(), own.text()));
            else
                size = joined->front();
        }
    Shape out;
    for (int index : indexed->output)
        out.push_back(sizes[index]);
    setTensor(context, 0, dtypeOf(context, 0), std::move(out));
}

} // namespace

std::span<const OpRow> einsumRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::Einsum,
         .name = "Einsum",
         .since = 12,
         .maxInputs = variadic,
         .traits = ContractionOp,
         .inputs = "Inputs",
         .attributes = "equation:string!",
         .infer = inferEinsum,
         .reference = onTensors<runEinsum>},
    };
    return rows;
}

} // namespace fuselage
