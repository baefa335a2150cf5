// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/conv_result.h"

#include <fmt/format.h>

namespace fuselage::gpu {

ConvResult::ConvResult(const ConvSpec& spec, int width, const std::string& name)
    : m_spec(spec), m_width(width), m_function(spec.epilogue(name)) {}

bool ConvResult::wideStores() const {
    for (const KernelOperand& write : m_spec.writes)
        if (!m_spec.vectors(write, m_width))
            return false;
    return true;
}

/// Loads `width` channels of an operand into the array `to`.
std::string ConvResult::lanes(const KernelOperand& read, const std::string& to,
                              const std::string& n, const std::string& c, const std::string& y,
                              const std::string& x, const std::string& indent) const {
    std::string out = fmt::format("{}{} {}[{}];\n", indent, registerType(read.dtype), to, m_width);
    const bool whole = m_spec.results % m_width == 0;
    if (m_width > 1 && whole && m_spec.vectors(read, m_width))
        return out + fmt::format("{}loadLanes<{}>({}, {});\n", indent, m_width,
                                 m_spec.offset(read, n, c, y, x), to);
    std::string channel = c + " + v";
    if (!whole) // the last ones are not there, and not stored
        channel =
            fmt::format("({0} < {1} ? {0} : {2})", channel, m_spec.results, m_spec.results - 1);
    return out + fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n"
                             "{0}    {2}[v] = load({3});\n",
                             indent, m_width, to, m_spec.offset(read, n, channel, y, x));
}

std::string ConvResult::hoisted(const std::string& c, const std::string& indent) const {
    std::string out;
    for (uint16_t input : m_function.used)
        if (input > 0 && m_spec.perChannel(m_spec.reads[input - 1U]))
            out += lanes(m_spec.reads[input - 1U], fmt::format("e{}", input), "0", c, "0", "0",
                         indent);
    return out;
}

std::string ConvResult::apply(const std::string& accumulator, const std::string& n,
                              const std::string& c, const std::string& y, const std::string& x,
                              const std::string& indent) const {
    std::string out;
    std::vector<std::string> inputs(m_spec.reads.size() + 1), results;
    for (uint16_t input : m_function.used) {
        inputs[input] = input == 0 ? accumulator : fmt::format("e{}[v]", input);
        if (input > 0 && !m_spec.perChannel(m_spec.reads[input - 1U]))
            out += lanes(m_spec.reads[input - 1U], fmt::format("e{}", input), n, c, y, x, indent);
    }
    for (size_t w = 0; w < m_function.outputs.size(); ++w) {
        out +=
            fmt::format("{}{} z{}[{}];\n", indent, registerType(m_function.outputs[w]), w, m_width);
        results.push_back(fmt::format("z{}[v]", w));
    }
    return out + fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n{0}    {2};\n",
                             indent, m_width, m_function.call(inputs, results));
}

std::string ConvResult::store(const std::string& n, const std::string& c, const std::string& y,
                              const std::string& x, const std::string& indent) const {
    std::string out;
    for (size_t w = 0; w < m_spec.writes.size(); ++w) {
        const KernelOperand& write = m_spec.writes[w];
        if (m_width > 1 && m_spec.vectors(write, m_width))
            out += fmt::format("{}storeLanes<{}, false>({}, z{});\n", indent, m_width,
                               m_spec.offset(write, n, c, y, x), w);
        else
            out += fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n"
                               "{0}    store({2}, z{3}[v]);\n",
                               indent, m_width, m_spec.offset(write, n, c + " + v", y, x), w);
    }
    return out;
}

} // namespace fuselage::gpu
