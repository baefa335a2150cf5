// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/chain.h"

#include "core/graph/subgraph.h"

#include <algorithm>

namespace fuselage {

namespace {

/// A matrix product without batch and prologues, in floats.
bool isPlain(const Contraction* code) {
    return code && code->kind == Contraction::Kind::MatMul && code->batchDims == 0 &&
           !code->prologueA && !code->prologueB && !code->poolWindow && isFloat(code->accumulate) &&
           code->k.size() == 1;
}

/// The one dimension of the iteration space that an index follows; none: it stays where it is.
/// False where it is anything else.
bool follows(const DimIndex& index, std::optional<uint32_t>& dim) {
    if (index.offset != 0 || index.terms.size() > 1 ||
        (index.terms.size() == 1 && index.terms[0].scale != 1))
        return false;
    dim = index.terms.empty() ? std::nullopt : std::optional(index.terms[0].dim);
    return true;
}

/// The second product has the rows of the first one, each with its columns along k.
bool sameRows(const Contraction& first, const Contraction& second) {
    if (first.nDims != 1 || first.mDims != second.mDims || first.space.back() != second.k[0] ||
        !std::equal(first.space.begin(), first.space.end() - 1, second.space.begin()))
        return false;
    const std::vector<DimIndex>&made = first.epilogue.writes[0].index, &read = second.a.index;
    std::vector<bool> met(first.space.size(), false);
    for (size_t d = 0; d < made.size(); ++d) {
        std::optional<uint32_t> from, to;
        if (!follows(made[d], from) || !follows(read[d], to) || from.has_value() != to.has_value())
            return false;
        if (!from)
            continue;
        const auto wanted =
            *from == first.mDims ? static_cast<uint32_t>(second.space.size()) : *from;
        if (*to != wanted)
            return false;
        met[*from] = true;
    }
    for (size_t d = 0; d < met.size(); ++d)
        if (!met[d] && first.space[d] != 1)
            return false;
    return true;
}

std::shared_ptr<const Graph> chainedBody(const KernelProgram& first, const KernelProgram& second,
                                         uint32_t link) {
    Graph body("chain");
    std::vector<ValueId> hidden;
    for (const KernelProgram* member : {&first, &second}) {
        const Graph& own = *member->body;
        std::vector<ValueId> inputs;
        for (uint32_t i = 0; i < own.inputs().size(); ++i) {
            const Value& value = own.value(own.inputs()[i]);
            inputs.push_back(member == &second && i == link
                                 ? hidden[0]
                                 : body.addInput(body.freshName(value.name), value.type));
        }
        hidden = inlineBody(body, own, inputs);
    }
    for (ValueId result : hidden)
        body.addOutput(result);
    return std::make_shared<const Graph>(std::move(body));
}

} // namespace

std::variant<KernelProgram, Reason> chained(const KernelProgram& first,
                                            const KernelProgram& second) {
    const auto* one = std::get_if<Contraction>(&first.code);
    const auto* two = std::get_if<Contraction>(&second.code);
    if (!isPlain(one) || !isPlain(two))
        return Reason{"kind", "one of the two is no plain matrix product", {}, {}};
    const uint32_t link = two->a.operand;
    const auto& reads = two->epilogue.reads;
    if (first.outputs.size() != 1 || one->epilogue.writes.size() != 1 || two->b.operand == link ||
        std::any_of(reads.begin(), reads.end(),
                    [&](const Access& read) { return read.operand == link; }))
        return Reason{
            "io-count", "what the first product makes is not A of the second alone", {}, {}};
    const OperandType &made = first.outputs[0], &read = second.inputs[link];
    if (made.dtype != read.dtype || made.extents != read.extents || !sameRows(*one, *two))
        return Reason{"shape-mismatch",
                      "the rows of the second product are not those of the first, one by one",
                      {},
                      {}};
    KernelProgram out;
    out.inputs = first.inputs;
    for (uint32_t i = 0; i < second.inputs.size(); ++i)
        if (i != link)
            out.inputs.push_back(second.inputs[i]);
    out.outputs = second.outputs;
    out.numeric = std::max(first.numeric, second.numeric);
    if (first.body && second.body)
        out.body = chainedBody(first, second, link);
    out.code = Chain{{first, second}};
    return out;
}

const Contraction& productOf(const Chain& chain, size_t member) {
    return std::get<Contraction>(chain.members[member].code);
}

uint32_t linkOf(const Chain& chain) {
    return productOf(chain, 1).a.operand;
}

uint32_t chainInput(const Chain& chain, size_t member, uint32_t input) {
    if (member == 0)
        return input;
    const auto before = static_cast<uint32_t>(chain.members[0].inputs.size());
    return before + input - (input > linkOf(chain) ? 1 : 0);
}

uint32_t chainWeight(const Chain& chain, size_t member) {
    return chainInput(chain, member, productOf(chain, member).b.operand);
}

int64_t chainRows(const Chain& chain) {
    const Contraction& first = productOf(chain, 0);
    return elementCount(Extents(first.space.begin(), first.space.end() - 1)).value_or(0);
}

} // namespace fuselage
