// SPDX-License-Identifier: Apache-2.0
#include "core/graph/type.h"
#include "gpu/kernels/chain.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t everyShared = 48 << 10, reservedBytes = 1024; ///< the driver's

/// The work between the products has names of its own.
std::string hiddenNames(std::string text) {
    return ownNames(std::move(text), "hidden_");
}

/// The hidden value as if it lay in memory, its rows in the order of A's: views of both products
/// sort their rows by that.
OperandLayout hiddenLayout(const KernelRequest& request, const Contraction& first,
                           const OperandType& type) {
    const StridedAccess a = strided(first.a, request.inputs[first.a.operand].strides,
                                    first.space.size() + first.k.size());
    const std::vector<DimIndex>& made = first.epilogue.writes[0].index;
    OperandLayout out{type.dtype, type.extents, Extents(type.extents.size(), 0), 16};
    for (size_t d = 0; d < made.size(); ++d)
        if (!made[d].terms.empty())
            out.strides[d] =
                made[d].terms[0].dim == first.mDims ? 1 : a.strides[made[d].terms[0].dim];
    return out;
}

} // namespace

std::string ownNames(std::string text, const char* prefix) {
    for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1))
        text.insert(at + 1, prefix);
    return text;
}

Contraction renumbered(const Chain& chain, size_t product, uint32_t made) {
    Contraction out = productOf(chain, product);
    auto move = [&](Access& access) {
        access.operand = productInput(chain, product, access.operand).value_or(made);
    };
    move(out.a);
    move(out.b);
    for (Access& read : out.epilogue.reads)
        move(read);
    return out;
}

int64_t sharedOf(const KernelRequest& request) {
    const double known = request.profile ? request.profile->sharedBytesPerUnit : 0;
    return known > 0 ? static_cast<int64_t>(known) - reservedBytes : everyShared;
}

std::variant<std::unique_ptr<ChainSpec>, Reason> ChainSpec::make(const KernelRequest& request,
                                                                 FirstWeight first) {
    std::unique_ptr<ChainSpec> out(new ChainSpec(request, first));
    if (auto reason = out->build())
        return std::move(*reason);
    return out;
}

std::optional<Reason> ChainSpec::build() {
    if (auto reason = gpu::refuseTypes(m_request))
        return reason;
    if (m_request.strict)
        return refusal("numeric-class", "a strict plan keeps the order of sums");
    const auto& chain = std::get<Chain>(m_request.program->code);
    if (productCount(chain) != 2)
        return refusal("kind", "one product alone stands behind the row");
    if (const KernelProgram* rows = rowsOf(chain))
        if (auto reason = buildRow(*rows))
            return reason;
    const auto hidden = static_cast<uint32_t>(m_request.inputs.size());
    const OperandType& between = productProgram(chain, 0).outputs[0];
    for (size_t i = 0; i < 2; ++i) {
        ChainMember& member = m_members[i];
        member.program = productProgram(chain, i);
        Contraction code = renumbered(chain, i, hidden);
        if (i == 0 && m_read)
            code.a = *m_read;
        member.program.code = code;
        member.request = m_request;
        member.request.program = &member.program;
        KernelRequest inMemory = member.request;
        inMemory.inputs.push_back(
            hiddenLayout(m_request, std::get<Contraction>(m_members[0].program.code), between));
        if (i == 0)
            inMemory.outputs = {inMemory.inputs.back()};
        member.view = viewOf(inMemory);
    }
    if (auto reason = refuseTypes())
        return reason;
    if (auto reason = refuseRows())
        return reason;
    for (size_t i = 0; i < 2; ++i)
        if (auto reason = packWeight(i))
            return reason;
    const ContractionView& first = m_members[0].view;
    m_rows.emplace(axisNest(first, first.m, 0, {first.a}));
    m_members[0].epilogue.emplace(m_members[0].request, first, ResultLanes{},
                                  EpilogueEnd::Unrounded);
    ResultLanes lanes = widestResults(m_members[1].view);
    if (lanes.alongM || (lanes.width > 1 && (lanes.width < 8 || results() % 32 != 0)))
        lanes = {lanes.alongM ? 1 : 2, false};
    m_members[1].epilogue.emplace(m_members[1].request, m_members[1].view, lanes);
    return std::nullopt;
}

/// Its kernel is called "@front", over rows that lie as the first product's fragments.
std::optional<Reason> ChainSpec::buildRow(const KernelProgram& rows) {
    const OperandType& made = rows.outputs[0];
    KernelRequest request = m_request;
    request.program = &rows;
    request.outputs = {{made.dtype, made.extents, rowMajorStrides(made.extents)}};
    RowEmitter emitter(request);
    auto read = emitter.heldRead();
    if (auto* reason = std::get_if<Reason>(&read))
        return std::move(*reason);
    const auto& row = std::get<Row>(rows.code);
    const auto& chain = std::get<Chain>(m_request.program->code);
    m_read = rowReadInProduct(chain, row.reads[std::get<size_t>(read)]);
    m_row = emitter.emitHeld(std::get<size_t>(read), "@front", parameterList(m_request, {}, true));
    m_row.functions = ownNames(std::move(m_row.functions), "row_");
    return std::nullopt;
}

std::optional<Reason> ChainSpec::refuseTypes() const {
    const DType type = element();
    const auto& chain = std::get<Chain>(m_request.program->code);
    bool same = type == DType::Float16 || type == DType::BFloat16;
    for (const ChainMember& member : m_members)
        same = same && member.view.a.dtype == type && member.view.b.dtype == type;
    for (size_t i = 0; i < 2; ++i)
        same = same && productOf(chain, i).accumulate == DType::Float32;
    if (!same)
        return refusal("dtype", "the elements of both products are not all float16 or bfloat16");
    if (m_members[0].view.wide || m_members[1].view.wide)
        return refusal("support", "an operand has more than 2^30 elements");
    return std::nullopt;
}

std::optional<Reason> ChainSpec::refuseRows() const {
    const ContractionView& first = m_members[0].view;
    if (rows() == 0 || terms() == 0 || hidden() == 0 || results() == 0)
        return refusal("support", "there is nothing to multiply");
    if (first.m != m_members[1].view.m)
        return refusal("layout", "the rows of the two products lie in different orders");
    const KernelOperand& a = first.a;
    bool wide = a.access.strides.back() == 1 && a.alignment % 16 == 0 && a.access.offset % 8 == 0;
    for (size_t d = 0; d < first.m.size(); ++d)
        wide = wide && a.access.strides[d] % 8 == 0;
    if (!wide)
        return refusal("layout", "rows of A are not made of whole 16 bytes");
    return std::nullopt;
}

std::optional<Reason> ChainSpec::packWeight(size_t member) {
    const auto& code = std::get<Contraction>(m_members[member].program.code);
    const uint32_t operand = code.b.operand;
    const std::vector<DimIndex>& index = code.b.index;
    const auto n = static_cast<uint32_t>(code.space.size() - 1),
               k = static_cast<uint32_t>(code.space.size());
    const bool byColumns = member == 0 && m_first == FirstWeight::ByColumns;
    const uint32_t outer = byColumns ? n : k, inner = byColumns ? k : n;
    PackedOperand packed{operand, {}, {}};
    bool isMatrix = index.size() == 2 && code.nDims == 1 && m_request.constant(operand) != nullptr;
    for (const uint32_t dim : {outer, inner})
        for (uint32_t d = 0; d < index.size() && isMatrix; ++d)
            if (index[d].offset == 0 && index[d].terms == std::vector<IndexTerm>{{dim, 1}}) {
                packed.order.push_back(d);
                packed.extents.push_back(m_request.inputs[operand].extents[d]);
            }
    const Extents wanted = byColumns     ? Extents{hidden(), terms()}
                           : member == 0 ? Extents{terms(), hidden()}
                                         : Extents{hidden(), results()};
    if (!isMatrix || packed.extents != wanted)
        return refusal("layout", "a weight is no constant matrix of its terms and columns");
    m_packed.push_back(std::move(packed));
    return std::nullopt;
}

bool ChainSpec::endsByEights() const {
    return endWidth() == 8;
}

std::string ChainSpec::hiddenRow(const std::string& m) const {
    const ContractionView& view = m_members[0].view;
    const bool reads =
        std::any_of(view.reads.begin(), view.reads.end(),
                    [&](const KernelOperand& read) { return view.moves(read, 0, view.m.size()); });
    return reads ? fmt::format("minimum({}, {}u)", m, rows() - 1) : m;
}

std::string ChainSpec::splitRow(const std::string& m, const std::string& indent) const {
    return m_rows->split(m, "a", indent);
}

std::string ChainSpec::rowAddress() const {
    const KernelOperand& a = m_members[0].view.a;
    return fmt::format("{} + {} + ({})", a.pointer, a.access.offset, m_rows->offset(0, "a"));
}

std::string ChainSpec::makeRows(int64_t pieces) const {
    if (!m_read)
        return {};
    return fmt::format(
        "#pragma unroll\n        for (int i = 0; i < {0}; ++i)\n#pragma unroll\n"
        "            for (int h = 0; h < 2; ++h) {{\n"
        "                float x[{1}][2];\n#pragma unroll\n"
        "                for (int step = 0; step < {1}; ++step)\n#pragma unroll\n"
        "                    for (int v = 0; v < 2; ++v)\n"
        "                        x[step][v] =\n"
        "                            lane(a[i][step / 2] + step % 2 * 2 + h, v, type);"
        "\n                @row_front(x, t, {2});\n#pragma unroll\n"
        "                for (int step = 0; step < {1}; ++step)\n"
        "                    a[i][step / 2][step % 2 * 2 + h] =\n"
        "                        packPair(x[step][0], x[step][1], type);\n"
        "            }}\n",
        pieces, terms() / 8, parameterList(m_request, {}, false));
}

std::string ChainSpec::activate(const std::string& sum, const std::string& m,
                                const std::string& n) const {
    return hiddenNames(m_members[0].epilogue->call(sum, "0", m, n));
}

std::string ChainSpec::end(const std::string& sums, const std::string& m,
                           const std::string& n) const {
    return m_members[1].epilogue->call(sums, "0", m, n);
}

KernelPart ChainSpec::part() const {
    KernelPart out;
    out.functions = m_row.functions + hiddenNames(m_members[0].epilogue->text()) +
                    m_members[1].epilogue->text();
    out.helpers = {"vectors", "async", "mma"};
    if (m_read)
        out.helpers.emplace_back("reduce");
    const std::string type = fmt::format("const {}*", storageType(element()));
    for (uint32_t i = 0; i < 2; ++i)
        out.extra.push_back(
            {type, fmt::format("packed{}", i), {KernelArgument::Kind::Packed, i, 0}});
    out.numeric = std::max({NumericClass::Reassociated, m_row.numeric,
                            m_members[0].epilogue->numeric(), m_members[1].epilogue->numeric()});
    return out;
}

SetNeeds ChainSpec::needs() const {
    return {m_packed, 0, {}, 0};
}

} // namespace fuselage::gpu
