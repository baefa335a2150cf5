// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/generated_tactic.h"

#include "gpu/emit/packed_constant.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/early_code.h"
#include "gpu/runtime/occupancy.h"
#include "gpu/runtime/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage::gpu {

namespace {

using Kind = KernelArgument::Kind;

class GeneratedTactic final : public Tactic {
public:
    GeneratedTactic(std::string name, KernelSet set, const KernelRequest& request,
                    std::shared_ptr<CubinCache> cache)
        : m_name(std::move(name)), m_set(std::move(set)), m_constants(request.constants),
          m_cache(std::move(cache)) {
        m_options.arch = archName(request.capability);
        m_options.contraction = !request.strict;
        if (request.profile != nullptr)
            m_limits = smLimits(*request.profile, request.capability);
    }

    std::string name() const override { return m_name; }

    Result<void> build(Progress& progress) override;
    TacticFacts facts() const override;
    Result<void> packConstants() override;
    Result<void> load(Device& device) override;
    Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) override;

    bool reads(size_t operand) const override {
        for (const KernelText& kernel : m_set.kernels)
            for (const KernelArgument& argument : kernel.arguments)
                if (argument.kind == Kind::Input && argument.index == operand)
                    return true;
        return false;
    }

    const KernelSet* kernels() const override { return &m_set; }

private:
    Result<std::vector<std::byte>> bytesOf(const PackedOperand& packed) const;
    DevicePointer addressOf(const KernelArgument& argument, const LaunchArguments& from) const;

    std::string m_name;
    KernelSet m_set;
    std::vector<TensorPtr> m_constants;
    std::shared_ptr<CubinCache> m_cache;
    CompileOptions m_options;
    SmLimits m_limits;
    std::vector<std::shared_ptr<const CompiledKernel>> m_compiled; ///< parallel to the kernels
    std::vector<std::shared_ptr<const Module>> m_modules;
    std::vector<LoadedKernel> m_loaded;
    std::vector<bool> m_waits; ///< of each kernel: it may be launched early
    bool m_ready = false;
    std::vector<std::vector<std::byte>> m_packedBytes; ///< until they are on the device
    std::vector<DeviceMemory> m_tables, m_packed;
    DeviceMemory m_tickets; ///< of this step alone: each launch leaves zeros
};

Result<void> GeneratedTactic::build(Progress& progress) {
    m_compiled.clear();
    for (const KernelText& kernel : m_set.kernels) {
        if (progress.cancelled())
            return cancelledFailure("build");
        auto compiled = m_cache->compile(kernel, m_options);
        if (!compiled)
            return failure(compiled.error());
        m_compiled.push_back(std::move(*compiled));
    }
    return {};
}

TacticFacts GeneratedTactic::facts() const {
    TacticFacts out;
    out.numeric = m_set.numeric;
    out.workspaceBytes = m_set.scratchBytes;
    out.passedBytes = m_set.scratchBytes;
    out.launches = static_cast<uint32_t>(m_set.kernels.size());
    for (const VariantRow& row : kernelVariants())
        out.plain = out.plain || (row.plain && row.name == m_set.variant);
    for (size_t i = 0; i < m_compiled.size(); ++i) {
        out.registers = std::max(out.registers, m_compiled[i]->registers);
        out.localBytes = std::max(out.localBytes, m_compiled[i]->localBytes);
        out.sharedBytes =
            std::max(out.sharedBytes, m_compiled[i]->sharedBytes + m_set.kernels[i].sharedBytes);
        const Occupancy held = occupancyOf(m_set.kernels[i], *m_compiled[i], m_limits);
        if (i == 0 || held.share < out.occupancy) {
            out.residentBlocks = held.blocks;
            out.occupancy = held.share;
        }
    }
    if (out.localBytes > 0)
        out.notes = fmt::format("spills {} bytes", out.localBytes);
    return out;
}

Result<std::vector<std::byte>> GeneratedTactic::bytesOf(const PackedOperand& packed) const {
    const TensorPtr constant =
        packed.input < m_constants.size() ? m_constants[packed.input] : nullptr;
    if (!constant)
        return failure("device.pack", fmt::format("`{}` packs operand {}, which is no constant",
                                                  m_name, packed.input));
    return pack(recipeOf(packed, constant->dtype(), constant->extents()), m_constants);
}

Result<void> GeneratedTactic::packConstants() {
    while (!m_ready && m_packedBytes.size() < m_set.packed.size()) {
        auto bytes = bytesOf(m_set.packed[m_packedBytes.size()]);
        if (!bytes)
            return failure(bytes.error());
        m_packedBytes.push_back(std::move(*bytes));
    }
    return {};
}

Result<void> GeneratedTactic::load(Device& device) {
    if (m_ready) // measured before it was chosen
        return {};
    m_loaded.clear();
    m_waits.clear();
    m_modules.clear();
    m_tables.clear();
    m_packed.clear();
    for (const KernelText& kernel : m_set.kernels) {
        for (const TensorMapText& map : kernel.maps)
            if (auto there = requireTensorMap(*device.context(), map); !there)
                return there;
        if (kernel.clusterBlocks > 1)
            if (auto there = requireClusters(*device.context()); !there)
                return there;
    }
    for (size_t i = 0; i < m_set.kernels.size(); ++i) {
        auto module = device.load(m_compiled[i]->cubin);
        if (!module)
            return failure(module.error());
        auto kernel = (*module)->kernel(m_set.kernels[i].name, m_set.kernels[i].sharedBytes);
        if (!kernel)
            return failure(kernel.error());
        m_modules.push_back(std::move(*module));
        m_loaded.push_back(*kernel);
        m_waits.push_back(m_set.kernels[i].waits && whyNotEarly(m_compiled[i]->cubin).empty());
    }
    for (const std::string& table : m_set.tables) {
        auto memory = device.allocate(static_cast<int64_t>(table.size()));
        if (!memory)
            return failure(memory.error());
        m_tables.push_back(std::move(*memory));
        if (auto sent = device.upload(m_tables.back().address(), table.data(), table.size()); !sent)
            return sent;
    }
    if (m_set.tickets > 0) {
        const std::vector<uint32_t> zeros(static_cast<size_t>(m_set.tickets), 0);
        auto memory = device.allocate(m_set.tickets * 4);
        if (!memory)
            return failure(memory.error());
        m_tickets = std::move(*memory);
        if (auto sent = device.upload(m_tickets.address(), zeros.data(), zeros.size() * 4); !sent)
            return sent;
    }
    if (auto packed = packConstants(); !packed)
        return packed;
    for (const std::vector<std::byte>& bytes : m_packedBytes) {
        auto memory = device.allocate(static_cast<int64_t>(bytes.size()));
        if (!memory)
            return failure(memory.error());
        m_packed.push_back(std::move(*memory));
        if (auto sent = device.upload(m_packed.back().address(), bytes.data(), bytes.size()); !sent)
            return sent;
    }
    m_packedBytes = {};
    m_ready = true;
    return {};
}

DevicePointer GeneratedTactic::addressOf(const KernelArgument& argument,
                                         const LaunchArguments& from) const {
    const auto offset = static_cast<DevicePointer>(argument.offset);
    switch (argument.kind) {
    case Kind::Input:
        return from.inputs[argument.index] + offset;
    case Kind::Output:
        return from.outputs[argument.index] + offset;
    case Kind::Scratch:
        return from.workspace + offset;
    case Kind::Table:
        return m_tables[argument.index].address() + offset;
    case Kind::Tickets:
        return m_tickets.address() + offset;
    case Kind::Packed:
        return m_packed[argument.index].address() + offset;
    }
    return 0;
}

Result<void> GeneratedTactic::enqueue(Stream& stream, const LaunchArguments& arguments) {
    for (size_t i = 0; i < m_set.kernels.size(); ++i) {
        const KernelText& kernel = m_set.kernels[i];
        std::vector<DevicePointer> addresses;
        for (const KernelArgument& argument : kernel.arguments)
            addresses.push_back(addressOf(argument, arguments));
        std::vector<TensorMapValue> maps;
        for (const TensorMapText& map : kernel.maps) {
            auto made = tensorMapOf(*stream.context(), map, addressOf(map.memory, arguments));
            if (!made)
                return failure(made.error());
            maps.push_back(*made);
        }
        KernelLaunch launch{m_loaded[i].function, kernel.name.c_str(), kernel.grid, kernel.block,
                            kernel.sharedBytes,   addresses,           maps,        m_waits[i],
                            kernel.clusterBlocks};
        if (auto launched = stream.launch(launch); !launched)
            return launched;
    }
    return {};
}

class GeneratedSource final : public TacticSource {
public:
    explicit GeneratedSource(std::shared_ptr<CubinCache> cache) : m_cache(std::move(cache)) {}

    const char* name() const override { return "nvrtc"; }

    std::string version() const override { return m_cache->compiler().version(); }

    TacticList candidates(const KernelRequest& request) override {
        TacticList out;
        Candidates all = emitAll(request);
        out.refused = std::move(all.refused);
        std::map<std::string, int> seen;
        for (KernelSet& set : all.accepted) {
            const int number = ++seen[set.variant];
            std::string name =
                number == 1 ? set.variant : fmt::format("{} {}", set.variant, number);
            out.candidates.push_back(std::make_unique<GeneratedTactic>(
                std::move(name), std::move(set), request, m_cache));
        }
        return out;
    }

private:
    std::shared_ptr<CubinCache> m_cache;
};

} // namespace

std::unique_ptr<TacticSource> makeGeneratedSource(std::shared_ptr<CubinCache> cache) {
    return std::make_unique<GeneratedSource>(std::move(cache));
}

} // namespace fuselage::gpu
