// SPDX-License-Identifier: Apache-2.0
// The part that the matmul and convolution engines share: bias, weights packed once, arguments.
#pragma once

#include "core/cpu/contraction_engine.h"
#include "core/cpu/onednn_internal.h"

#include <atomic>
#include <functional>

namespace fuselage::cpu::onednn {

/// Folds need constant weights: otherwise the scale becomes a post-op.
MatchedEpilogue withoutScale(const MatchedEpilogue& epilogue);

/// 16-bit weights stay as the model has them: scaled ones would be rounded again.
bool canScale(const OperandLayout& weights);

/// Runs of `length` float32 elements, each run times its factor in double precision, rounded once.
std::vector<float> scaledRuns(const Tensor& weights, size_t length,
                              const std::function<double(size_t)>& factorOf);

class EngineBase : public ContractionEngine {
public:
    void run(const Arguments& arguments, std::byte* scratch) override;
    bool isShareable() const override;
    void runShared(const std::byte* a, std::byte* c, std::byte* scratch) const override;

protected:
    /// Sets up everything but the weights, once the primitive is known. `within`: the part of
    /// `sourceUsed` that the source is copied to, between zeros.
    void bind(const dnnl::primitive& primitive, const dnnl::memory::desc& source,
              const dnnl::memory::desc& sourceUsed, const dnnl::memory::desc& destination,
              const dnnl::memory::desc& scratchpad, PostOps postOps,
              const std::optional<dnnl::memory::desc>& within = {});
    void bindBias(const std::vector<double>& shift, int64_t channels,
                  const dnnl::memory::desc& desc);
    /// Packs constant weights now; `values` are not needed afterwards.
    void bindWeights(const void* values, const dnnl::memory::desc& plain,
                     const dnnl::memory::desc& packed, Pages& pages);
    /// Reorders weights at every run when they are not in the layout already.
    void bindVaryingWeights(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed);

    size_t reserveScratch(size_t bytes);

private:
    struct Reorder {
        dnnl::reorder primitive;
        dnnl::memory from, to;
        size_t scratchAt = 0;
        size_t cleared = 0; ///< bytes that are zero where nothing is copied to
    };

    using Memories = std::unordered_map<int, dnnl::memory>;
    /// Whether each run gives the argument's address.
    bool varies(int argument) const;
    void runWith(Memories& memories, const Arguments& arguments, std::byte* scratch) const;

    dnnl::primitive m_primitive;
    Memories m_arguments;
    std::atomic_flag m_inUse = ATOMIC_FLAG_INIT; ///< m_arguments by a run
    std::optional<Reorder> m_sourceReorder, m_weightsReorder;
    bool m_constantWeights = false;
    std::vector<PostOpArgument> m_operands;
    size_t m_scratchpadAt = 0;
};

} // namespace fuselage::cpu::onednn
