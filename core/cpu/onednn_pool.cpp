// SPDX-License-Identifier: Apache-2.0
// Max and average pooling of float data.
#include "core/cpu/layout.h"
#include "core/cpu/onednn_internal.h"
#include "core/cpu/pool.h"

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

bool isSlowPool(const std::string& implementation) {
    return isSlow(implementation) || implementation.find("simple") != std::string::npos;
}

class OneDnnPool final : public PoolEngine {
public:
    /// `source` is where the operand lies; it is copied when the primitive wants another order.
    OneDnnPool(const dnnl::pooling_v2_forward::primitive_desc& pd, const memory::desc& source)
        : m_primitive(pd), m_given(source), m_source(pd.src_desc()), m_target(pd.dst_desc()),
          m_scratchpad(pd.scratchpad_desc()) {
        implementation = std::string("onednn ") + pd.impl_info_str();
        m_copyAt = (pd.scratchpad_desc().get_size() + 63) / 64 * 64;
        scratchBytes = m_copyAt;
        if (source == pd.src_desc())
            return;
        m_reorder =
            dnnl::reorder(memory(m_given, engine(), nullptr), memory(m_source, engine(), nullptr));
        scratchBytes += pd.src_desc().get_size();
    }

    void run(const std::byte* source, std::byte* target, std::byte* scratch) override {
        memory given(m_given, engine(), const_cast<std::byte*>(source));
        memory used = given;
        if (m_reorder) {
            used = memory(m_source, engine(), scratch + m_copyAt);
            execute(*m_reorder, {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, used}});
        }
        execute(m_primitive, {{DNNL_ARG_SRC, used},
                              {DNNL_ARG_DST, memory(m_target, engine(), target)},
                              {DNNL_ARG_SCRATCHPAD, memory(m_scratchpad, engine(), scratch)}});
    }

private:
    dnnl::pooling_v2_forward m_primitive;
    std::optional<dnnl::reorder> m_reorder;
    memory::desc m_given, m_source, m_target, m_scratchpad;
    size_t m_copyAt = 0;
};

} // namespace

std::unique_ptr<PoolEngine> makePoolEngine(PoolKind kind, const SlidingWindow& window,
                                           const Extents& inExtents, const Extents& inStrides,
                                           const Extents& outExtents, const Extents& outStrides,
                                           bool mayCopy) {
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
        if (isSlowPool(pd.impl_info_str())) {
            if (!mayCopy)
                return nullptr;
            // A part of a larger value, or another order than the result's: pool a dense copy.
            auto dense =
                primitiveFor(describe(inExtents, denseLike(inExtents, outStrides), DType::Float32));
            if (isSlowPool(dense.impl_info_str()))
                return nullptr;
            pd = dense;
        }
        return std::make_unique<OneDnnPool>(pd, source);
    } catch (const dnnl::error&) {
        return nullptr; // the caller has its own loops
    }
}

} // namespace fuselage::cpu
