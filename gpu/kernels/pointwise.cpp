// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/pointwise.h"

#include "core/graph/type.h"
#include "gpu/emit/lane_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t assumedL2Bytes = 50 << 20, assumedUnits = 132;

/// Text of a kernel over one PointwiseSpec with a fixed number of elements a thread.
class PointwiseEmitter {
public:
    PointwiseEmitter(const PointwiseSpec& spec, int width, int unroll, bool streamed)
        : m_spec(spec), m_operands(spec.writes), m_width(width), m_unroll(unroll),
          m_streamed(streamed) {
        m_operands.insert(m_operands.end(), spec.reads.begin(), spec.reads.end());
    }

    LoopNest nest() const { return {m_spec.space, m_operands, 0, m_operands.empty() ? -1 : 0}; }

    KernelPart emit();

private:
    size_t readNumber(size_t read) const { return m_spec.writes.size() + read; }

    LaneAccess accessOf(const LoopNest& nest, size_t number) const {
        return laneAccess(nest, m_operands[number], number, m_width);
    }

    /// Address of an operand's element at the linear index of this name, after split().
    std::string address(const LoopNest& nest, size_t number, const std::string& linear) const {
        const KernelOperand& operand = m_operands[number];
        const int64_t base = operand.access.offset;
        const std::string offset = nest.offset(number, "i", linear);
        return operand.pointer + (base == 0 ? "" : fmt::format(" + {}", base)) +
               (offset == "0"      ? ""
                : offset == linear ? " + " + linear
                                   : " + (" + offset + ")");
    }

    std::string split(const LoopNest& nest, const std::string& linear,
                      const std::string& indent) const {
        return nest.needsSplit(m_operands.size()) ? nest.split(linear, "i", indent) : "";
    }

    std::string oneElement(const LoopNest& nest, const std::string& indent) const;
    std::string loads(const LoopNest& nest) const;
    std::string results(const LoopNest& nest) const;
    std::string gathers(const LoopNest& nest, const std::string& indent) const;

    const PointwiseSpec& m_spec;
    std::vector<KernelOperand> m_operands; ///< writes, then reads
    int m_width, m_unroll;
    bool m_streamed;
    TapeFunction m_function;
};

/// Loads, computes and stores the element at `index`.
std::string PointwiseEmitter::oneElement(const LoopNest& nest, const std::string& indent) const {
    std::string out = split(nest, "index", indent);
    std::vector<std::string> inputs(m_spec.reads.size()), outputs;
    for (uint16_t read : m_function.used) {
        inputs[read] = fmt::format("x{}", read);
        const size_t number = readNumber(read);
        out += fmt::format("{}const {} x{} = load({});\n", indent,
                           registerType(m_operands[number].dtype), read,
                           address(nest, number, "index"));
    }
    for (size_t w = 0; w < m_spec.writes.size(); ++w) {
        outputs.push_back(fmt::format("y{}", w));
        out += fmt::format("{}{} y{};\n", indent, registerType(m_function.outputs[w]), w);
    }
    out += indent + m_function.call(inputs, outputs) + ";\n";
    for (size_t w = 0; w < m_spec.writes.size(); ++w)
        out += fmt::format("{}store({}, y{});\n", indent, address(nest, w, "index"), w);
    return out;
}

/// Offsets that differ from lane to lane.
std::string PointwiseEmitter::gathers(const LoopNest& nest, const std::string& indent) const {
    std::string out;
    for (uint16_t read : m_function.used) {
        const size_t number = readNumber(read);
        if (accessOf(nest, number) == LaneAccess::Gather)
            out +=
                fmt::format("{}x{}[u][v] = load({});\n", indent, read, address(nest, number, "at"));
    }
    return out;
}

/// Everything that a thread reads, before it writes anything.
std::string PointwiseEmitter::loads(const LoopNest& nest) const {
    std::string out;
    for (uint16_t read : m_function.used) {
        const bool uniform = accessOf(nest, readNumber(read)) == LaneAccess::Uniform;
        out += fmt::format("    {} x{}[{}]{};\n", registerType(m_operands[readNumber(read)].dtype),
                           read, m_unroll, uniform ? "" : fmt::format("[{}]", m_width));
    }
    out += fmt::format("#pragma unroll\n    for (int u = 0; u < {}; ++u) {{\n", m_unroll);
    out += fmt::format("        const {} index = first + u * {}u;\n", nest.indexType(),
                       defaultThreads * static_cast<uint32_t>(m_width));
    out += split(nest, "index", "        ");
    for (uint16_t read : m_function.used) {
        const size_t number = readNumber(read);
        const std::string at = address(nest, number, "index");
        switch (accessOf(nest, number)) {
        case LaneAccess::Uniform:
            out += fmt::format("        x{}[u] = load({});\n", read, at);
            break;
        case LaneAccess::Vector:
            out += fmt::format("        loadLanes<{}>({}, x{}[u]);\n", m_width, at, read);
            break;
        case LaneAccess::Gather:
            break;
        }
    }
    if (const std::string each = gathers(nest, "            "); !each.empty()) {
        out += fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v) {{\n", m_width);
        out += fmt::format("            const {} at = index + v;\n", nest.indexType());
        out += split(nest, "at", "            ") + each + "        }\n";
    }
    return out + "    }\n";
}

std::string PointwiseEmitter::results(const LoopNest& nest) const {
    std::string out =
        fmt::format("#pragma unroll\n    for (int u = 0; u < {}; ++u) {{\n", m_unroll);
    out += fmt::format("        const {} index = first + u * {}u;\n", nest.indexType(),
                       defaultThreads * static_cast<uint32_t>(m_width));
    std::vector<std::string> inputs(m_spec.reads.size()), outputs;
    for (uint16_t read : m_function.used)
        inputs[read] = fmt::format(
            "x{}[u]{}", read, accessOf(nest, readNumber(read)) == LaneAccess::Uniform ? "" : "[v]");
    for (size_t w = 0; w < m_spec.writes.size(); ++w) {
        outputs.push_back(fmt::format("y{}[v]", w));
        out +=
            fmt::format("        {} y{}[{}];\n", registerType(m_function.outputs[w]), w, m_width);
    }
    out += fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v)\n", m_width);
    out += "            " + m_function.call(inputs, outputs) + ";\n";
    out += split(nest, "index", "        ");
    std::string each;
    for (size_t w = 0; w < m_spec.writes.size(); ++w) {
        if (accessOf(nest, w) == LaneAccess::Vector)
            out += fmt::format("        storeLanes<{}, {}>({}, y{});\n", m_width, m_streamed,
                               address(nest, w, "index"), w);
        else
            each += fmt::format("            store({}, y{}[v]);\n", address(nest, w, "at"), w);
    }
    if (!each.empty()) {
        out += fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v) {{\n", m_width);
        out += fmt::format("            const {} at = index + v;\n", nest.indexType());
        out += split(nest, "at", "            ") + each + "        }\n";
    }
    return out + "    }\n";
}

KernelPart PointwiseEmitter::emit() {
    const LoopNest nest = this->nest();
    KernelPart part;
    m_function = printTape("@map", m_spec.tape, m_spec.style);
    part.functions = m_function.text;
    part.numeric = m_function.numeric;
    const int64_t count = nest.count(), perThread = static_cast<int64_t>(m_width) * m_unroll;
    const int64_t perBlock = perThread * defaultThreads;
    part.blocks = (count + perBlock - 1) / perBlock;
    part.comment.push_back(fmt::format("{} elements of {}, {} a thread in accesses of {}", count,
                                       text(m_spec.space), perThread, m_width));
    part.memory = askedAlong(nest, m_operands, m_spec.writes.size(), m_width, defaultThreads);
    const std::string type = nest.indexType();
    if (m_width == 1) {
        part.body = fmt::format("    const {0} index = static_cast<{0}>(block) * {1}u + "
                                "threadIdx.x;\n    if (index >= {2}u)\n        return;\n",
                                type, defaultThreads, count) +
                    oneElement(nest, "    ");
        return part;
    }
    part.helpers = {"vectors"};
    part.body = fmt::format("    const {0} first = static_cast<{0}>(block) * {1}u + threadIdx.x * "
                            "{2}u;\n",
                            type, perBlock, m_width);
    if (count % perBlock != 0)
        part.body += fmt::format("    if (first >= {}u)\n        return;\n", count);
    if (count % m_width != 0)
        part.body += fmt::format("    if (first + {}u > {}u) {{\n"
                                 "        for ({} index = first; index < {}u; ++index) {{\n",
                                 m_width, count, type, count) +
                     oneElement(nest, "            ") + "        }\n        return;\n    }\n";
    part.body += loads(nest) + results(nest);
    return part;
}

/// How many consecutive elements a thread should own, and the share of operands that then move
/// with vector accesses; zero when none does.
int chooseWidth(const PointwiseSpec& spec) {
    std::vector<KernelOperand> operands = spec.writes;
    operands.insert(operands.end(), spec.reads.begin(), spec.reads.end());
    size_t smallest = 8;
    for (const KernelOperand& operand : operands)
        smallest = std::min(smallest, sizeOf(operand.dtype));
    const LoopNest nest(spec.space, operands, 0, 0);
    int best = 0;
    size_t bestScore = 0;
    for (int width = std::min<int>(8, static_cast<int>(16 / smallest)); width >= 2; width /= 2) {
        size_t vectors = 0, gathers = 0;
        bool possible = true;
        for (size_t k = 0; k < operands.size(); ++k) {
            const LaneAccess access = laneAccess(nest, operands[k], k, width);
            possible = possible && static_cast<size_t>(width) * sizeOf(operands[k].dtype) >= 2;
            vectors += access == LaneAccess::Vector ? 1 : 0;
            gathers += access == LaneAccess::Gather ? 1 : 0;
        }
        const size_t score = 2 * vectors + (gathers == 0 ? 1 : 0);
        if (possible && vectors > 0 && score > bestScore) {
            best = width;
            bestScore = score;
        }
    }
    return best;
}

} // namespace

PointwiseSpec pointwiseSpec(const KernelRequest& request, const Pointwise& program) {
    PointwiseSpec out;
    out.space = program.space;
    out.tape = program.tape;
    for (const Access& write : program.writes)
        out.writes.push_back(writtenOperand(request, write, program.space.size()));
    for (const Access& read : program.reads)
        out.reads.push_back(readOperand(request, read, program.space.size()));
    out.style = {request.strict, storesNarrow(request, out.writes), {}};
    for (const KernelOperand& write : out.writes)
        out.style.stored.push_back(write.dtype);
    return out;
}

KernelPart plainPart(const PointwiseSpec& spec) {
    return PointwiseEmitter(spec, 1, 1, false).emit();
}

PartResult vectorPart(const PointwiseSpec& spec, const DeviceProfile* profile) {
    if (spec.writes.empty())
        return refusal("support", "nothing is written");
    const int width = chooseWidth(spec);
    if (width == 0)
        return refusal("layout", "no operand has consecutive aligned elements");
    int64_t count = 1, bytes = 0;
    for (int64_t extent : spec.space)
        count *= extent;
    for (const auto* operands : {&spec.writes, &spec.reads})
        for (const KernelOperand& operand : *operands)
            bytes += count * static_cast<int64_t>(sizeOf(operand.dtype));
    const double l2 = profile && profile->l2Bytes > 0 ? profile->l2Bytes : assumedL2Bytes;
    const double units = profile ? profile->units : static_cast<double>(assumedUnits);
    // A second vector in flight a thread pays where there are waves enough to fill the device.
    const int64_t perBlock = 2 * static_cast<int64_t>(width) * defaultThreads;
    const size_t lanes = static_cast<size_t>(width) * (spec.reads.size() + spec.writes.size());
    const bool two =
        count % perBlock == 0 && static_cast<double>(count / perBlock) >= 16 * units && lanes <= 32;
    return PointwiseEmitter(spec, width, two ? 2 : 1, static_cast<double>(bytes) > l2).emit();
}

EmitResult emitPointwiseVector(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return finish("pointwise_vector", request, PartResult(*reason));
    return finish("pointwise_vector", request,
                  vectorPart(pointwiseSpec(request, std::get<Pointwise>(request.program->code)),
                             request.profile));
}

EmitResult emitPointwisePlain(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return finish("pointwise_plain", request, PartResult(*reason));
    return finish(
        "pointwise_plain", request,
        PartResult(plainPart(pointwiseSpec(request, std::get<Pointwise>(request.program->code)))));
}

} // namespace fuselage::gpu
