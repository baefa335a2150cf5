// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/onednn_engine_internal.h"

#include <cstring>

namespace fuselage::cpu::onednn {

MatchedEpilogue withoutScale(const MatchedEpilogue& epilogue) {
    if (epilogue.scale.empty())
        return epilogue;
    MatchedEpilogue out;
    out.postOps.push_back({PostOp::Kind::MultiplyChannel, {}, epilogue.scale, 0});
    if (!epilogue.shift.empty())
        out.postOps.push_back({PostOp::Kind::AddChannel, {}, epilogue.shift, 0});
    out.postOps.insert(out.postOps.end(), epilogue.postOps.begin(), epilogue.postOps.end());
    return out;
}

bool canScale(const OperandLayout& weights) {
    return weights.constant && weights.dtype == DType::Float32;
}

std::vector<float> scaledRuns(const Tensor& weights, size_t length,
                              const std::function<double(size_t)>& factorOf) {
    const std::span<const float> values = weights.as<float>();
    std::vector<float> out(values.size());
    for (size_t at = 0; at < values.size(); at += length) {
        const double factor = factorOf(at / length);
        for (size_t i = at; i < at + length; ++i)
            out[i] = static_cast<float>(values[i] * factor);
    }
    return out;
}

size_t EngineBase::reserveScratch(size_t bytes) {
    size_t at = scratchBytes;
    scratchBytes += (bytes + 63) / 64 * 64;
    return at;
}

void EngineBase::bind(const dnnl::primitive& primitive, const dnnl::memory::desc& source,
                      const dnnl::memory::desc& sourceUsed, const dnnl::memory::desc& destination,
                      const dnnl::memory::desc& scratchpad, PostOps postOps,
                      const std::optional<dnnl::memory::desc>& within) {
    m_primitive = primitive;
    m_arguments[DNNL_ARG_SRC] = dnnl::memory(sourceUsed, engine(), nullptr);
    m_arguments[DNNL_ARG_DST] = dnnl::memory(destination, engine(), nullptr);
    m_arguments[DNNL_ARG_SCRATCHPAD] = dnnl::memory(scratchpad, engine(), nullptr);
    m_scratchpadAt = reserveScratch(scratchpad.get_size());
    if (source != sourceUsed) {
        dnnl::memory from(source, engine(), nullptr);
        dnnl::memory to(within.value_or(sourceUsed), engine(), nullptr);
        const size_t bytes = sourceUsed.get_size();
        m_sourceReorder =
            Reorder{dnnl::reorder(from, to), from, to, reserveScratch(bytes), within ? bytes : 0};
    }
    sumRead = postOps.sumRead;
    m_operands = std::move(postOps.arguments);
    for (const PostOpArgument& operand : m_operands) {
        dnnl::memory memory(operand.desc, engine(), nullptr);
        if (!operand.constants.empty()) {
            memory = dnnl::memory(operand.desc, engine());
            std::memcpy(memory.get_data_handle(), operand.constants.data(),
                        operand.constants.size() * sizeof(float));
        }
        m_arguments[operand.argument] = memory;
    }
}

void EngineBase::bindBias(const std::vector<double>& shift, int64_t channels,
                          const dnnl::memory::desc& desc) {
    if (shift.empty())
        return;
    dnnl::memory memory(desc, engine());
    auto* values = static_cast<float*>(memory.get_data_handle());
    for (size_t i = 0; i < static_cast<size_t>(channels); ++i)
        values[i] = static_cast<float>(shift[shift.size() == 1 ? 0 : i]);
    m_arguments[DNNL_ARG_BIAS] = memory;
}

void EngineBase::bindWeights(const void* values, const dnnl::memory::desc& plain,
                             const dnnl::memory::desc& packed, Pages& pages) {
    m_arguments[DNNL_ARG_WEIGHTS] = packedWeights(values, plain, packed, pages);
    m_constantWeights = true;
}

void EngineBase::bindVaryingWeights(const dnnl::memory::desc& plain,
                                    const dnnl::memory::desc& packed) {
    m_arguments[DNNL_ARG_WEIGHTS] = dnnl::memory(packed, engine(), nullptr);
    if (plain == packed)
        return;
    dnnl::memory from(plain, engine(), nullptr);
    dnnl::memory to(packed, engine(), nullptr);
    m_weightsReorder =
        Reorder{dnnl::reorder(from, to), from, to, reserveScratch(packed.get_size())};
}

bool EngineBase::isShareable() const {
    bool constant = m_constantWeights && !m_sourceReorder && !sumRead;
    for (const PostOpArgument& operand : m_operands)
        constant = constant && !operand.constants.empty();
    return constant;
}

void EngineBase::runShared(const std::byte* a, std::byte* c, std::byte* scratch) const {
    // Memory objects hold the address: those that differ between workers are made here.
    auto arguments = m_arguments;
    auto place = [&](int argument, const std::byte* data) {
        arguments[argument] = dnnl::memory(m_arguments.at(argument).get_desc(), engine(),
                                           const_cast<std::byte*>(data));
    };
    place(DNNL_ARG_SRC, a);
    place(DNNL_ARG_DST, c);
    place(DNNL_ARG_SCRATCHPAD, scratch + m_scratchpadAt);
    execute(m_primitive, arguments);
}

bool EngineBase::varies(int argument) const {
    if (argument == DNNL_ARG_WEIGHTS)
        return !m_constantWeights;
    for (const PostOpArgument& operand : m_operands)
        if (operand.argument == argument)
            return operand.constants.empty();
    return argument != DNNL_ARG_BIAS;
}

/// Memory objects hold the address: workers that run at the same time each need their own.
void EngineBase::run(const Arguments& arguments, std::byte* scratch) {
    if (!m_inUse.test_and_set(std::memory_order_acquire)) {
        runWith(m_arguments, arguments, scratch);
        m_inUse.clear(std::memory_order_release);
        return;
    }
    Memories own;
    for (const auto& [argument, memory] : m_arguments)
        own[argument] =
            varies(argument) ? dnnl::memory(memory.get_desc(), engine(), nullptr) : memory;
    runWith(own, arguments, scratch);
}

void EngineBase::runWith(Memories& memories, const Arguments& arguments, std::byte* scratch) const {
    auto place = [&](const std::optional<Reorder>& reorder, const std::byte* data, int argument) {
        auto* given = const_cast<std::byte*>(data);
        if (!reorder) {
            memories[argument].set_data_handle(given);
            return;
        }
        std::byte* to = scratch + reorder->scratchAt;
        std::memset(to, 0, reorder->cleared);
        execute(reorder->primitive,
                {{DNNL_ARG_FROM, dnnl::memory(reorder->from.get_desc(), engine(), given)},
                 {DNNL_ARG_TO, dnnl::memory(reorder->to.get_desc(), engine(), to)}});
        memories[argument].set_data_handle(to);
    };
    place(m_sourceReorder, arguments.a, DNNL_ARG_SRC);
    if (!m_constantWeights)
        place(m_weightsReorder, arguments.b, DNNL_ARG_WEIGHTS);
    memories[DNNL_ARG_DST].set_data_handle(arguments.c);
    memories[DNNL_ARG_SCRATCHPAD].set_data_handle(scratch + m_scratchpadAt);
    for (const PostOpArgument& operand : m_operands)
        if (operand.constants.empty())
            memories[operand.argument].set_data_handle(
                const_cast<std::byte*>(arguments.reads[operand.read]));
    execute(m_primitive, memories);
}

} // namespace fuselage::cpu::onednn
