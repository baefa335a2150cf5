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
    explicit OneDnnPool(const dnnl::pooling_v2_forward::primitive_desc& pd)
        : m_primitive(pd), m_source(pd.src_desc(), engine(), nullptr),
          m_target(pd.dst_desc(), engine(), nullptr),
          m_scratchpad(pd.scratchpad_desc(), engine(), nullptr) {
        implementation = pd.impl_info_str();
        scratchBytes = pd.scratchpad_desc().get_size();
    }

    void run(const std::byte* source, std::byte* target, std::byte* scratch) override {
        m_source.set_data_handle(const_cast<std::byte*>(source));
        m_target.set_data_handle(target);
        m_scratchpad.set_data_handle(scratch);
        execute(m_primitive, {{DNNL_ARG_SRC, m_source},
                              {DNNL_ARG_DST, m_target},
                              {DNNL_ARG_SCRATCHPAD, m_scratchpad}});
    }

private:
    dnnl::pooling_v2_forward m_primitive;
    memory m_source, m_target, m_scratchpad;
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
        dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, poolAlgorithm(kind),
                                            source, target, window.strides, window.kernel,
                                            dilations, window.padsBegin, padsEnd);
        dnnl::pooling_v2_forward::primitive_desc pd(desc, attributes, engine());
        return std::make_unique<OneDnnPool>(pd);
    } catch (const dnnl::error&) {
        return nullptr; // the caller has its own loops
    }
}

} // namespace fuselage::cpu
