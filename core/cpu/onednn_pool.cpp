// SPDX-License-Identifier: Apache-2.0
// Max and average pooling of float data.
#include "core/cpu/contraction.h"
#include "core/cpu/layout.h"
#include "core/cpu/onednn_internal.h"

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

class OneDnnPool final : public PoolEngine {
public:
    /// `source` is where the operand lies; it is copied when the primitive wants another order.
    OneDnnPool(const dnnl::pooling_v2_forward::primitive_desc& pd, const memory::desc& source)
        : m_primitive(pd), m_given(source, engine(), nullptr),
          m_source(pd.src_desc(), engine(), nullptr), m_target(pd.dst_desc(), engine(), nullptr),
          m_scratchpad(pd.scratchpad_desc(), engine(), nullptr) {
        implementation = pd.impl_info_str();
        m_copyAt = (pd.scratchpad_desc().get_size() + 63) / 64 * 64;
        scratchBytes = m_copyAt;
        if (source == pd.src_desc())
            return;
        m_reorder = dnnl::reorder(m_given, m_source);
        scratchBytes += pd.src_desc().get_size();
    }

    void run(const std::byte* source, std::byte* target, std::byte* scratch) override {
        m_given.set_data_handle(const_cast<std::byte*>(source));
        m_source.set_data_handle(m_reorder ? scratch + m_copyAt : m_given.get_data_handle());
        m_target.set_data_handle(target);
        m_scratchpad.set_data_handle(scratch);
        if (m_reorder)
            execute(*m_reorder, {{DNNL_ARG_FROM, m_given}, {DNNL_ARG_TO, m_source}});
        execute(m_primitive, {{DNNL_ARG_SRC, m_source},
                              {DNNL_ARG_DST, m_target},
                              {DNNL_ARG_SCRATCHPAD, m_scratchpad}});
    }

private:
    dnnl::pooling_v2_forward m_primitive;
    std::optional<dnnl::reorder> m_reorder;
    memory m_given, m_source, m_target, m_scratchpad;
    size_t m_copyAt = 0;
};

} // namespace

std::unique_ptr<PoolEngine> makePoolEngine(PoolKind kind, const SlidingWindow& window,
                                           const Extents& inExtents, const Extents& inStrides,
                                           const Extents& outExtents, const Extents& outStrides) {
    if (kind == PoolKind::Lp || inExtents.size() < 3 || inExtents.size() > 5)
        return nullptr;
    Extents dilations, padsEnd;
    for (size_t d = 0; d < window.kernel.size(); ++d) {
        int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
        dilations.push_back(window.dilations[d] - 1);
        padsEnd.push_back((outExtents[d + 2] - 1) * window.strides[d] + extent - inExtents[d + 2] -
                          window.padsBegin[d]);
        // A window that ceil mode lets reach past the padding counts differently here.
        if (kind == PoolKind::AverageIncludingPad && padsEnd[d] > window.padsEnd[d])
            return nullptr;
        if (padsEnd[d] >= extent || window.padsBegin[d] >= extent)
            return nullptr; // a window of nothing but padding
    }
    try {
        memory::desc source = describe(inExtents, inStrides, DType::Float32);
        memory::desc target = describe(outExtents, outStrides, DType::Float32);
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        auto primitiveFor = [&](const memory::desc& operand) {
            dnnl::pooling_v2_forward::desc desc(
                dnnl::prop_kind::forward_inference, poolAlgorithm(kind), operand, target,
                window.strides, window.kernel, dilations, window.padsBegin, padsEnd);
            return dnnl::pooling_v2_forward::primitive_desc(desc, attributes, engine());
        };
        auto pd = primitiveFor(source);
        if (isSlow(pd.impl_info_str())) {
            // A part of a larger value, or another order than the result's: pool a dense copy.
            auto dense =
                primitiveFor(describe(inExtents, denseLike(inExtents, outStrides), DType::Float32));
            if (!isSlow(dense.impl_info_str()))
                pd = dense;
        }
        return std::make_unique<OneDnnPool>(pd, source);
    } catch (const dnnl::error&) {
        return nullptr; // the caller has its own loops
    }
}

} // namespace fuselage::cpu
