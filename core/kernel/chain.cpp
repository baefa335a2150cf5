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

/// What writes rows: some dimensions of them, then one of their elements.
struct MadeRows {
    Extents space;
    const Access* write = nullptr;
};

/// The dimension of a product's space, k behind it, that each dimension of rows is which it
/// multiplies, one of one element aside; none: the rows are not those of the product.
std::optional<std::vector<uint32_t>> dimsOfProduct(const Extents& rows,
                                                   const Contraction& product) {
    std::vector<uint32_t> out(rows.size(), 0);
    uint32_t next = 0;
    auto skipOnes = [&] {
        while (next < product.mDims && product.space[next] == 1)
            ++next;
    };
    for (size_t d = 0; d + 1 < rows.size(); ++d) {
        if (rows[d] == 1)
            continue;
        skipOnes();
        if (next == product.mDims || product.space[next] != rows[d])
            return std::nullopt;
        out[d] = next++;
    }
    skipOnes();
    out.back() = static_cast<uint32_t>(product.space.size());
    return next == product.mDims && rows.back() == product.k[0] ? std::optional(out) : std::nullopt;
}

/// The product multiplies these rows, each with its elements along k.
bool multiplies(const Contraction& second, const MadeRows& first) {
    const auto dims = dimsOfProduct(first.space, second);
    const std::vector<DimIndex>&made = first.write->index, &read = second.a.index;
    if (!dims || made.size() != read.size())
        return false;
    std::vector<bool> met(first.space.size(), false);
    for (size_t d = 0; d < made.size(); ++d) {
        std::optional<uint32_t> from, to;
        if (!follows(made[d], from) || !follows(read[d], to))
            return false;
        if (from && first.space[*from] == 1 && !to)
            continue;
        if (from.has_value() != to.has_value() || (from && *to != (*dims)[*from]))
            return false;
        if (from)
            met[*from] = true;
    }
    for (size_t d = 0; d < met.size(); ++d)
        if (!met[d] && first.space[d] != 1)
            return false;
    return true;
}

/// What a Row or a plain product writes, if it is one result for each element of its space; null
/// where it writes otherwise. None: the program is neither.
std::optional<MadeRows> rowsMadeBy(const KernelProgram& program) {
    MadeRows out;
    if (const auto* row = std::get_if<Row>(&program.code)) {
        if (row->inner.size() != 1)
            return std::nullopt;
        out.space = row->outer;
        out.space.push_back(row->inner[0]);
        if (row->elementWrites.size() == 1 && row->rowWrites.empty())
            out.write = row->elementWrites.data();
        return out;
    }
    const auto* product = std::get_if<Contraction>(&program.code);
    if (!isPlain(product) || product->nDims != 1)
        return std::nullopt;
    out.space = product->space;
    if (product->epilogue.writes.size() == 1)
        out.write = product->epilogue.writes.data();
    return out;
}

/// The product that takes the rows of `first`; null: `second` does not stand behind it.
const Contraction* multiplierOf(const KernelProgram& first, const KernelProgram& second) {
    if (const auto* product = std::get_if<Contraction>(&second.code))
        return isPlain(product) ? product : nullptr;
    const auto* chain = std::get_if<Chain>(&second.code);
    const bool isPair = chain != nullptr && rowsOf(*chain) == nullptr;
    return isPair && std::holds_alternative<Row>(first.code) ? &productOf(*chain, 0) : nullptr;
}

/// Nothing but A of its first product is this input of the program.
bool readsOnlyAsA(const KernelProgram& program, uint32_t link) {
    if (const auto* chain = std::get_if<Chain>(&program.code)) // it numbers them as its first does
        return readsOnlyAsA(chain->members[0], link);
    const auto& code = std::get<Contraction>(program.code);
    const auto& reads = code.epilogue.reads;
    return code.b.operand != link &&
           std::none_of(reads.begin(), reads.end(),
                        [&](const Access& read) { return read.operand == link; });
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
    const auto made = rowsMadeBy(first);
    const Contraction* two = multiplierOf(first, second);
    if (!made || two == nullptr)
        return Reason{
            "kind", "they are no two plain matrix products, nor a row and one or two such", {}, {}};
    const uint32_t link = two->a.operand;
    if (first.outputs.size() != 1 || made->write == nullptr || !readsOnlyAsA(second, link))
        return Reason{"io-count", "what the first one makes is not A of the second alone", {}, {}};
    const OperandType &written = first.outputs[0], &read = second.inputs[link];
    if (written.dtype != read.dtype || written.extents != read.extents || !multiplies(*two, *made))
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

uint32_t linkOf(const Chain& chain) {
    // A chain numbers the inputs of its first member as that does.
    return rowsOf(chain) != nullptr ? productOf(chain, 0).a.operand : productOf(chain, 1).a.operand;
}

uint32_t chainInput(const Chain& chain, size_t member, uint32_t input) {
    if (member == 0)
        return input;
    const auto before = static_cast<uint32_t>(chain.members[0].inputs.size());
    return before + input - (input > linkOf(chain) ? 1 : 0);
}

const KernelProgram* rowsOf(const Chain& chain) {
    return std::holds_alternative<Row>(chain.members[0].code) ? chain.members.data() : nullptr;
}

size_t productCount(const Chain& chain) {
    return std::holds_alternative<Contraction>(chain.members[1].code) && rowsOf(chain) ? 1 : 2;
}

const KernelProgram& productProgram(const Chain& chain, size_t product) {
    if (rowsOf(chain) == nullptr)
        return chain.members[product];
    const auto* behind = std::get_if<Chain>(&chain.members[1].code);
    return behind != nullptr ? behind->members[product] : chain.members[1];
}

const Contraction& productOf(const Chain& chain, size_t product) {
    return std::get<Contraction>(productProgram(chain, product).code);
}

std::optional<uint32_t> productInput(const Chain& chain, size_t product, uint32_t input) {
    const auto* behind = std::get_if<Chain>(&chain.members[1].code);
    const Chain& products = behind != nullptr ? *behind : chain;
    if (product == 1 && input == linkOf(products))
        return std::nullopt;
    if (rowsOf(chain) == nullptr)
        return chainInput(chain, product, input);
    const uint32_t own = behind != nullptr ? chainInput(products, product, input) : input;
    return own == linkOf(chain) ? std::nullopt : std::optional(chainInput(chain, 1, own));
}

uint32_t chainWeight(const Chain& chain, size_t product) {
    return *productInput(chain, product, productOf(chain, product).b.operand);
}

Access rowReadInProduct(const Chain& chain, const Access& read) {
    const auto& row = std::get<Row>(chain.members[0].code);
    Extents space = row.outer;
    space.push_back(row.inner[0]);
    const auto dims = dimsOfProduct(space, productOf(chain, 0));
    Access out = read;
    for (DimIndex& index : out.index) {
        std::erase_if(index.terms, [&](const IndexTerm& term) { return space[term.dim] == 1; });
        for (IndexTerm& term : index.terms)
            term.dim = (*dims)[term.dim];
    }
    return out;
}

int64_t chainRows(const Chain& chain) {
    const Contraction& first = productOf(chain, 0);
    return elementCount(Extents(first.space.begin(), first.space.end() - 1)).value_or(0);
}

} // namespace fuselage
