// SPDX-License-Identifier: Apache-2.0
// Convolutions and transposed convolutions, grouped, depthwise, dilated, in 1 to 3 dimensions.
#include "core/cpu/layout.h"
#include "core/cpu/onednn_engine_internal.h"

#include <algorithm>
#include <utility>

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

/// With one element along some dimensions several orders describe the same memory; oneDNN picks its
/// implementation by name of the order, and channels last has the good ones.
memory::desc describeImage(const Extents& extents, const Extents& strides, DType dtype) {
    Extents last = channelsLast(extents);
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] != 1 && strides[d] != last[d])
            return describe(extents, strides, dtype);
    return {extents, dataType(dtype), last};
}

class ConvolutionEngine final : public EngineBase {
public:
    ConvolutionEngine(const Contraction& program, const OperandLayout& x, const OperandLayout& w,
                      const EngineTarget& c, const MatchedEpilogue& epilogue, Pages& pages)
        : m_program(program), m_pages(pages), m_w(w),
          m_epilogue(canScale(w) ? epilogue : withoutScale(epilogue)), m_out(program.space) {
        setGeometry(x);
        m_source = describeImage(x.extents, x.strides, x.dtype);
        if (hasLongBorder())
            takeBorder(x.extents);
        m_destination = describeImage(m_out, c.at.strides, c.dtype);
        Extents channelDims(m_out.size(), 1);
        channelDims[1] = m_out[1];
        PostOps postOps = makePostOps(m_epilogue, channelDims);
        if (program.kind == Contraction::Kind::Conv)
            create<dnnl::convolution_forward>(dnnl::algorithm::convolution_direct, postOps, x);
        else
            create<dnnl::deconvolution_forward>(dnnl::algorithm::deconvolution_direct, postOps, x);
    }

private:
    bool transposed() const { return m_program.kind == Contraction::Kind::ConvTranspose; }

    /// oneDNN takes a kernel of its own for each part of a window that lies in the border: a window
    /// of 512 over a border of 256 is ten times slower than over a copy of x between zeros.
    bool hasLongBorder() const {
        constexpr int64_t longKernel = 48;
        for (size_t d = 0; d < m_padsEnd.size() && !transposed(); ++d)
            if (m_program.window.kernel[d] >= longKernel &&
                (m_padsBegin[d] > 0 || m_padsEnd[d] > 0))
                return std::all_of(m_padsBegin.begin(), m_padsBegin.end(), isNoCut) &&
                       std::all_of(m_padsEnd.begin(), m_padsEnd.end(), isNoCut);
        return false;
    }

    static bool isNoCut(int64_t pad) { return pad >= 0; }

    void takeBorder(const Extents& extents) {
        m_between = extents;
        m_offsets.assign(extents.size(), 0);
        for (size_t d = 0; d < m_padsBegin.size(); ++d) {
            m_offsets[d + 2] = std::exchange(m_padsBegin[d], 0);
            m_between[d + 2] += m_offsets[d + 2] + std::exchange(m_padsEnd[d], 0);
        }
    }

    void setGeometry(const OperandLayout& x) {
        const SlidingWindow& window = m_program.window;
        for (size_t d = 0; d < window.kernel.size(); ++d) {
            int64_t in = x.extents[d + 2], out = m_out[d + 2];
            int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
            int64_t small = transposed() ? in : out, large = transposed() ? out : in;
            m_dilations.push_back(window.dilations[d] - 1);
            m_padsBegin.push_back(window.padsBegin[d]);
            // Rounding of the extents is taken up by the padding at the end.
            m_padsEnd.push_back((small - 1) * window.strides[d] + extent - large -
                                window.padsBegin[d]);
        }
        // Conv's W is [K, C/groups, ...], ConvTranspose's [C, K/groups, ...].
        int64_t g = m_program.groups, k = m_out[1] / g, channels = x.extents[1] / g;
        m_weightDims = {k, channels};
        Extents strides = {m_w.strides[0], m_w.strides[1]};
        if (transposed())
            std::swap(strides[0], strides[1]);
        if (g > 1) {
            m_weightDims.insert(m_weightDims.begin(), g);
            strides.insert(strides.begin(), (transposed() ? channels : k) * m_w.strides[0]);
        }
        m_weightDims.insert(m_weightDims.end(), window.kernel.begin(), window.kernel.end());
        strides.insert(strides.end(), m_w.strides.begin() + 2, m_w.strides.end());
        m_plainWeights = memory::desc(m_weightDims, dataType(m_w.dtype), strides);
    }

    template <typename Primitive>
    typename Primitive::primitive_desc descriptor(dnnl::algorithm algorithm,
                                                  const memory::desc& source,
                                                  const PostOps& postOps) const {
        memory::desc bias({m_out[1]}, memory::data_type::f32, memory::format_tag::x);
        const SlidingWindow& window = m_program.window;
        typename Primitive::desc desc(
            dnnl::prop_kind::forward_inference, algorithm, source,
            describeAny(m_weightDims, m_w.dtype), m_epilogue.shift.empty() ? memory::desc() : bias,
            m_destination, window.strides, m_dilations, m_padsBegin, m_padsEnd);
        return {desc, postOps.attributes, engine()};
    }

    template <typename Primitive>
    void create(dnnl::algorithm algorithm, PostOps& postOps, const OperandLayout& x) {
        const Extents& extents = m_between.empty() ? x.extents : m_between;
        const memory::desc last = describe(extents, channelsLast(extents), x.dtype);
        const memory::desc used =
            m_between.empty() ? m_source : describeImage(extents, channelsLast(extents), x.dtype);
        auto pd = descriptor<Primitive>(algorithm, used, postOps);
        if (isSlow(pd.impl_info_str())) {
            // Another order of the source's elements may have a good implementation.
            const memory::desc& other = last;
            auto alternative = descriptor<Primitive>(algorithm, other, postOps);
            if (paceOf(alternative.impl_info_str()) < paceOf(pd.impl_info_str()))
                pd = alternative;
        }
        implementation = pd.impl_info_str();
        slow = isSlow(implementation);
        if (addsByReference()) {
            implementation += " with a reference epilogue";
            slow = true;
        }
        bind(Primitive(pd), m_source, pd.src_desc(), pd.dst_desc(), pd.scratchpad_desc(),
             std::move(postOps),
             m_between.empty() ? std::nullopt
                               : std::optional(pd.src_desc().submemory_desc(x.extents, m_offsets)));
        if (!m_epilogue.shift.empty())
            bindBias(m_epilogue.shift, m_out[1], pd.bias_desc());
        if (m_w.constant)
            packWeights(pd.weights_desc());
        else
            bindVaryingWeights(m_plainWeights, pd.weights_desc());
    }

    /// Transposed convolutions run as gradients of convolutions, which have no epilogue: oneDNN
    /// adds bias and post-ops by reference loops, 20 to 500 times slower than the products.
    bool addsByReference() const {
        return transposed() && implementation.find("brg") == std::string::npos &&
               (!m_epilogue.shift.empty() || !m_epilogue.postOps.empty());
    }

    /// As they are, or times the epilogue's scale.
    void packWeights(const memory::desc& packed) {
        const auto& scale = m_epilogue.scale;
        if (scale.empty() || m_w.constant->elementCount() == 0)
            return bindWeights(m_w.constant->bytes(), m_plainWeights, packed, m_pages);
        const auto channels = static_cast<size_t>(m_out[1]);
        const auto perGroup = channels / static_cast<size_t>(m_program.groups);
        size_t length = static_cast<size_t>(m_w.constant->elementCount()) / channels;
        size_t ofGroup = perGroup; // W is [K, C/groups, ...]
        if (transposed()) {        // W is [C, K/groups, ...]
            const auto perChannel = static_cast<size_t>(m_w.constant->extents()[0]);
            length = static_cast<size_t>(m_w.constant->elementCount()) / perChannel / perGroup;
            ofGroup = perChannel / static_cast<size_t>(m_program.groups) * perGroup;
        }
        const std::vector<float> values = scaledRuns(*m_w.constant, length, [&](size_t run) {
            return scale[scale.size() == 1 ? 0 : run / ofGroup * perGroup + run % perGroup];
        });
        bindWeights(values.data(), m_plainWeights, packed, m_pages);
    }

    const Contraction& m_program; // these three are used while constructing only
    Pages& m_pages;
    const OperandLayout& m_w;
    MatchedEpilogue m_epilogue;
    Extents m_out;
    Extents m_dilations, m_padsBegin, m_padsEnd, m_weightDims;
    Extents m_between, m_offsets; ///< x with its border, and where x lies in it; or empty
    memory::desc m_source, m_destination, m_plainWeights;
};

Extents withRow(Extents values, int64_t row) {
    values.insert(values.begin() + 2, row);
    return values;
}

OperandLayout withRow(OperandLayout layout) {
    layout.strides = withRow(layout.strides, layout.strides[2] * layout.extents[2]);
    layout.extents = withRow(layout.extents, 1);
    return layout;
}

/// A grouped convolution along one dimension as one of images of one row: only for those has oneDNN
/// loops over the channels of many groups at once, which take a tenth of the time.
struct OfImages {
    Contraction program;
    OperandLayout x, w;
    EngineTarget c;

    OfImages(const Contraction& along, const OperandLayout& from, const OperandLayout& weights,
             const EngineTarget& to)
        : program(along), x(withRow(from)), w(withRow(weights)), c(to) {
        program.space.insert(program.space.begin() + 2, 1);
        SlidingWindow& window = program.window;
        for (Extents* values : {&window.kernel, &window.strides, &window.dilations})
            values->insert(values->begin(), 1);
        for (Extents* values : {&window.padsBegin, &window.padsEnd})
            values->insert(values->begin(), 0);
        c.at.strides = withRow(c.at.strides, c.at.strides[2] * along.space[2]);
    }
};

} // namespace

EngineResult makeConvolutionEngine(const Contraction& program, const OperandLayout& x,
                                   const OperandLayout& w, const EngineTarget& c,
                                   const MatchedEpilogue& epilogue, Pages& pages) {
    if (auto reason = postOpsReason(epilogue))
        return std::move(*reason);
    try {
        if (program.groups > 1 && program.window.kernel.size() == 1) {
            const OfImages image(program, x, w, c);
            return std::make_unique<ConvolutionEngine>(image.program, image.x, image.w, image.c,
                                                       epilogue, pages);
        }
        return std::make_unique<ConvolutionEngine>(program, x, w, c, epilogue, pages);
    } catch (const dnnl::error& error) {
        return Reason{"support", std::string("oneDNN convolution: ") + error.what(), {}, {}};
    }
}

} // namespace fuselage::cpu
