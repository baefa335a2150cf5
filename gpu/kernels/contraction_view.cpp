// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/contraction_view.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace fuselage::gpu {

namespace {

int64_t product(const Extents& extents) {
    int64_t out = 1;
    for (int64_t extent : extents)
        out *= extent;
    return out;
}

/// Builds the view of one program.
class Viewer {
public:
    explicit Viewer(const KernelRequest& request)
        : m_request(request), m_code(std::get<Contraction>(request.program->code)) {}

    ContractionView run();

    /// Strides of a weight over all dims of the view from those of its logical dims.
    StridedAccess accessB(const ContractionView& view, const Extents& logical) const;

private:
    bool isMatMul() const { return m_code.kind == Contraction::Kind::MatMul; }

    size_t spatial() const { return m_code.space.size() - 2; }

    void divideMatMul();
    void divideConvolution();
    void boundTaps();
    StridedAccess accessA(const Extents& logical) const;
    StridedAccess resultAccess(const StridedAccess& access) const;
    void addOperands();
    void sortRows();
    bool isWide() const;

    const KernelRequest& m_request;
    const Contraction& m_code;
    ContractionView m_view;
};

void Viewer::divideMatMul() {
    const auto begin = m_code.space.begin();
    const auto m = begin + m_code.batchDims, n = m + m_code.mDims;
    m_view.batch.assign(begin, m);
    m_view.m.assign(m, n);
    m_view.n.assign(n, n + m_code.nDims);
    m_view.k = m_code.k;
}

void Viewer::divideConvolution() {
    m_view.transposed = m_code.kind == Contraction::Kind::ConvTranspose;
    const Extents& weight = m_request.inputs[m_code.b.operand].extents;
    const int64_t channels = m_view.transposed ? weight[0] / m_code.groups : weight[1];
    m_view.batch = {m_code.groups};
    m_view.m = m_code.space;
    m_view.m.erase(m_view.m.begin() + 1);
    m_view.n = {m_code.space[1] / m_code.groups};
    m_view.k = m_code.window.kernel;
    m_view.k.push_back(channels);
}

void Viewer::boundTaps() {
    const OperandLayout& x = m_request.inputs[m_code.a.operand];
    const SlidingWindow& window = m_code.window;
    for (size_t d = 0; d < spatial(); ++d) {
        const TapBound bound{d + 1,
                             d,
                             window.strides[d],
                             window.dilations[d],
                             window.padsBegin[d],
                             x.extents[d + 2],
                             x.strides[d + 2]};
        const int64_t last =
            (m_view.m[d + 1] - 1) * bound.stride + (m_view.k[d] - 1) * bound.dilation - bound.pad;
        if (m_view.transposed || bound.pad > 0 || last >= bound.extent)
            m_view.bounds.push_back(bound);
    }
}

StridedAccess Viewer::accessA(const Extents& logical) const {
    if (isMatMul())
        return strided(m_code.a, logical, m_code.space.size() + m_code.k.size());
    StridedAccess out;
    const int64_t channels = m_view.k.back();
    out.strides = {channels * logical[1], logical[0]};
    for (size_t d = 0; d < spatial(); ++d) {
        out.strides.push_back(m_view.transposed ? 0 : m_code.window.strides[d] * logical[d + 2]);
        out.offset -= m_view.transposed ? 0 : m_code.window.padsBegin[d] * logical[d + 2];
    }
    out.strides.push_back(0);
    for (size_t d = 0; d < spatial(); ++d)
        out.strides.push_back(m_view.transposed ? 0 : m_code.window.dilations[d] * logical[d + 2]);
    out.strides.push_back(logical[1]);
    return out;
}

StridedAccess Viewer::accessB(const ContractionView& view, const Extents& logical) const {
    if (isMatMul())
        return strided(m_code.b, logical, m_code.space.size() + m_code.k.size());
    const size_t nDim = view.transposed ? 1 : 0, kDim = 1 - nDim;
    StridedAccess out;
    out.strides = {view.transposed ? view.k.back() * logical[0] : view.n[0] * logical[0]};
    out.strides.resize(1 + view.m.size(), 0);
    out.strides.push_back(logical[nDim]);
    for (size_t d = 0; d < spatial(); ++d)
        out.strides.push_back(logical[d + 2]);
    out.strides.push_back(logical[kDim]);
    return out;
}

/// From [N, K, spatial...] to [group, N, spatial..., K of the group].
StridedAccess Viewer::resultAccess(const StridedAccess& access) const {
    if (isMatMul())
        return access;
    StridedAccess out;
    out.offset = access.offset;
    out.strides = {m_view.n[0] * access.strides[1], access.strides[0]};
    out.strides.insert(out.strides.end(), access.strides.begin() + 2, access.strides.end());
    out.strides.push_back(access.strides[1]);
    return out;
}

void Viewer::addOperands() {
    auto input = [&](uint32_t operand, StridedAccess access) {
        const OperandLayout& layout = m_request.inputs[operand];
        return KernelOperand{fmt::format("in{}", operand), layout.dtype, std::move(access),
                             layout.alignment};
    };
    m_view.a = input(m_code.a.operand, accessA(m_request.inputs[m_code.a.operand].strides));
    m_view.b = input(m_code.b.operand, accessB(m_view, m_request.inputs[m_code.b.operand].strides));
    // A prologue reads over the dims of its operand: through them like the operand itself.
    auto through = [&](const std::optional<Prologue>& prologue, uint32_t operand, bool isA,
                       std::vector<KernelOperand>& out) {
        if (!prologue)
            return;
        for (const Access& read : prologue->reads) {
            const StridedAccess own = strided(read, m_request.inputs[read.operand].strides,
                                              m_request.inputs[operand].extents.size());
            StridedAccess access = isA ? accessA(own.strides) : accessB(m_view, own.strides);
            access.offset += own.offset;
            if (isA && m_view.transposed)
                m_view.stepsA.emplace_back(own.strides.begin() + 2, own.strides.end());
            out.push_back(input(read.operand, std::move(access)));
        }
    };
    through(m_code.prologueA, m_code.a.operand, true, m_view.readsA);
    through(m_code.prologueB, m_code.b.operand, false, m_view.readsB);
    const size_t dims = m_code.space.size();
    for (const Access& read : m_code.epilogue.reads) {
        KernelOperand operand = readOperand(m_request, read, dims);
        operand.access = resultAccess(operand.access);
        m_view.reads.push_back(std::move(operand));
    }
    for (const Access& write : m_code.epilogue.writes) {
        KernelOperand operand = writtenOperand(m_request, write, dims);
        operand.access = resultAccess(operand.access);
        m_view.writes.push_back(std::move(operand));
    }
}

/// Rows of a product in the order in which A has them, where one stride steps over all of them
/// then: A is a matrix, whatever the order of the results.
void Viewer::sortRows() {
    const size_t first = m_view.batch.size();
    const Extents& strides = m_view.a.access.strides;
    std::vector<size_t> order(m_view.m.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
        return std::abs(strides[first + i]) > std::abs(strides[first + j]);
    });
    for (size_t i = 1; i < order.size(); ++i)
        if (strides[first + order[i - 1]] != strides[first + order[i]] * m_view.m[order[i]])
            return;
    const auto sorted = [&](Extents& dims, size_t begin) {
        const Extents before = dims;
        for (size_t i = 0; i < order.size(); ++i)
            dims[begin + i] = before[begin + order[i]];
    };
    sorted(m_view.m, 0);
    for (KernelOperand* operand : {&m_view.a, &m_view.b})
        sorted(operand->access.strides, first);
    for (auto* operands : {&m_view.readsA, &m_view.readsB, &m_view.reads, &m_view.writes})
        for (KernelOperand& operand : *operands)
            sorted(operand.access.strides, first);
}

bool Viewer::isWide() const {
    constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
    __int128 results = static_cast<__int128>(m_view.batchCount) * m_view.mCount * m_view.nCount;
    if (results > limit || m_view.kCount > limit)
        return true;
    for (const auto* layouts : {&m_request.inputs, &m_request.outputs})
        for (const OperandLayout& layout : *layouts) {
            __int128 reach = 0;
            for (size_t d = 0; d < layout.extents.size(); ++d)
                reach += static_cast<__int128>(std::abs(layout.strides[d])) * layout.extents[d];
            if (reach > limit)
                return true;
        }
    return false;
}

ContractionView Viewer::run() {
    if (isMatMul()) {
        divideMatMul();
    } else {
        divideConvolution();
        boundTaps();
    }
    m_view.batchCount = product(m_view.batch);
    m_view.mCount = product(m_view.m);
    m_view.nCount = product(m_view.n);
    m_view.kCount = product(m_view.k);
    m_view.wide = isWide();
    addOperands();
    if (isMatMul())
        sortRows();
    return std::move(m_view);
}

/// What each logical dim of B is: 0 batch, 1 n, 2 k; nothing when one dim is several of them.
std::optional<std::vector<int>> rolesOfB(const Contraction& code) {
    if (code.kind == Contraction::Kind::ConvTranspose)
        return std::nullopt;
    std::vector<int> out;
    for (const DimIndex& index : code.b.index) {
        const size_t d = out.size();
        if (code.kind == Contraction::Kind::Conv) {
            out.push_back(d == 0 ? 1 : 2);
            continue;
        }
        int role = 0;
        for (const IndexTerm& term : index.terms) {
            const int of = term.dim < code.batchDims ? 0 : term.dim < code.space.size() ? 1 : 2;
            if (&term != &index.terms[0] && of != role)
                return std::nullopt;
            role = of;
        }
        out.push_back(role);
    }
    return out;
}

} // namespace

bool ContractionView::moves(const KernelOperand& operand, size_t first, size_t count) const {
    const auto begin = operand.access.strides.begin() + static_cast<ptrdiff_t>(first);
    return std::any_of(begin, begin + static_cast<ptrdiff_t>(count),
                       [](int64_t stride) { return stride != 0; });
}

ContractionView viewOf(const KernelRequest& request) {
    return Viewer(request).run();
}

bool packB(const KernelRequest& request, ContractionView& view) {
    const auto& code = std::get<Contraction>(request.program->code);
    const auto roles = rolesOfB(code);
    const bool constant = request.constant(code.b.operand) != nullptr;
    // A zero point of integers comes in elsewhere: what is packed is the weight as it is stored.
    if (!roles || !constant || (code.prologueB && isFloat(code.accumulate)))
        return false;
    PackedOperand packed;
    packed.input = code.b.operand;
    for (int role = 0; role < 3; ++role)
        for (uint32_t d = 0; d < roles->size(); ++d)
            if ((*roles)[d] == role && !(code.kind == Contraction::Kind::Conv && d == 1))
                packed.order.push_back(d);
    if (code.kind == Contraction::Kind::Conv)
        packed.order.push_back(1); // channels after the taps
    const Extents& extents = request.inputs[packed.input].extents;
    for (uint32_t d : packed.order)
        packed.extents.push_back(extents[d]);
    // Rows of 16 bytes, where k is one dim.
    const auto lanes = static_cast<int64_t>(16 / sizeOf(view.b.dtype));
    if (view.k.size() == 1 && !packed.extents.empty())
        packed.extents.back() = (packed.extents.back() + lanes - 1) / lanes * lanes;
    const Extents dense = rowMajorStrides(packed.extents);
    Extents logical(extents.size(), 0);
    for (size_t i = 0; i < packed.order.size(); ++i)
        logical[packed.order[i]] = dense[i];
    view.b.access = Viewer(request).accessB(view, logical);
    view.b.pointer = "packed0";
    view.b.alignment = 16;
    view.packed = std::move(packed);
    return true;
}

std::optional<ColumnSums> columnSumsOfB(const KernelRequest& request, const ContractionView& view) {
    const auto& code = std::get<Contraction>(request.program->code);
    const auto roles = rolesOfB(code);
    if (!roles || request.constant(code.b.operand) == nullptr)
        return std::nullopt;
    ColumnSums out;
    out.packed.input = code.b.operand;
    const Extents& extents = request.inputs[code.b.operand].extents;
    for (uint32_t d = 0; d < roles->size(); ++d)
        if ((*roles)[d] != 2) {
            out.packed.order.push_back(d);
            out.packed.extents.push_back(extents[d]);
        }
    const Extents dense = rowMajorStrides(out.packed.extents);
    Extents logical(extents.size(), 0);
    for (size_t i = 0; i < out.packed.order.size(); ++i)
        logical[out.packed.order[i]] = dense[i];
    out.operand = {"columnSums", DType::Int32, Viewer(request).accessB(view, logical), 16};
    return out;
}

std::vector<ExtraParameter> packedParameters(const ContractionView& view) {
    if (view.made)
        return {{fmt::format("const {}*", storageType(view.b.dtype)),
                 "made0",
                 {KernelArgument::Kind::Scratch, 0, 0}}};
    if (!view.packed)
        return {};
    return {{fmt::format("const {}*", storageType(view.b.dtype)),
             "packed0",
             {KernelArgument::Kind::Packed, 0, 0}}};
}

LoopNest axisNest(const ContractionView& view, const Extents& axis, size_t first,
                  const std::vector<KernelOperand>& operands) {
    const LoopNest nest(axis, operands, first);
    return view.wide ? LoopNest(nest.loops(), true) : nest;
}

} // namespace fuselage::gpu
