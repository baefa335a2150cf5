// SPDX-License-Identifier: Apache-2.0
// MatMulNBits with weights of 4 or 8 bits: a warp owns some columns and streams them in accesses of
// 8 or 16 bytes, which lie in one block of the quantisation, so that a lane needs one scale and one
// zero point for them. sum(x * (q - zero) * scale) is (sum(x * q) - zero * sum(x)) * scale. Rows
// come from the caches; more of them than a block takes read the weight again.
#include "core/graph/type.h"
#include "gpu/kernels/blocked_operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostRows = 4, mostColumns = 4, warps = 8;

class NibbleEmitter {
public:
    NibbleEmitter(const BlockedOperands& operands, double units)
        : m_operands(operands), m_geometry(operands.geometry),
          m_rows(std::min(operands.rows, mostRows)), m_columns(m_rows == 1 ? mostColumns : 2) {
        while (m_columns > 1 && static_cast<double>(blocks()) < units)
            m_columns /= 2;
    }

    KernelPart emit() const;

private:
    int64_t tiles() const { return (m_geometry.n + warps * m_columns - 1) / (warps * m_columns); }

    int64_t blocks() const { return tiles() * ((m_operands.rows + m_rows - 1) / m_rows); }

    /// Of a lane's access: half as many where A comes one by one, whose loads are all in flight.
    int64_t elements() const {
        return std::min<int64_t>(together() > 1 ? 32 : 16, m_geometry.block);
    }

    int64_t words() const { return elements() * m_geometry.bits / 32; }

    /// Neighbours of A that one load takes.
    int64_t together() const {
        return m_geometry.k % 8 == 0 && m_operands.a.layout.alignment % 16 == 0 ? 8 : 1;
    }

    std::string elementsOfA(const char* indent) const;
    std::string zeroPoint() const;
    std::string walk() const;
    std::string results() const;

    const BlockedOperands& m_operands;
    const BlockedWeights& m_geometry;
    int64_t m_rows, m_columns; ///< of a warp
};

/// Fills x, and `whole` with its sum: zeros behind the row's end.
std::string NibbleEmitter::elementsOfA(const char* indent) const {
    const int64_t together = this->together(), elements = this->elements();
    const std::string inside = m_geometry.k % elements == 0
                                   ? std::string("true")
                                   : fmt::format("k + e * {} < {}", together, m_geometry.k);
    const std::string at = fmt::format("{} + ((rowOf(m) * {}) + k + e * {})", m_operands.a.pointer,
                                       m_geometry.k, together);
    std::string out = fmt::format("{0}float x[{1}], whole = 0.0f;\n#pragma unroll\n"
                                  "{0}for (int e = 0; e < {2}; ++e)\n"
                                  "{0}    if ({3})\n",
                                  indent, elements, elements / together, inside);
    out += together > 1 ? fmt::format("{}        loadLanes<8>({}, x + e * 8);\n", indent, at)
                        : fmt::format("{}        x[e] = load({});\n", indent, at);
    if (inside != "true")
        out += fmt::format("{0}    else\n#pragma unroll\n{0}        for (int v = 0; v < {1}; ++v)\n"
                           "{0}            x[e * {1} + v] = 0.0f;\n",
                           indent, together);
    return out + fmt::format("#pragma unroll\n{0}for (int e = 0; e < {1}; ++e)\n"
                             "{0}    whole += x[e];\n",
                             indent, elements);
}

/// Of block `at / blocks` of column n, as a float.
std::string NibbleEmitter::zeroPoint() const {
    const LibraryOperand& zeros = m_operands.zeros;
    if (!zeros)
        return floatLiteral(DType::Float32, static_cast<double>(m_geometry.middle()));
    if (isFloat(zeros.layout.dtype))
        return fmt::format("static_cast<float>(load({} + at))", zeros.pointer);
    if (m_geometry.bits == 8)
        return fmt::format("static_cast<float>(load({} + at))", zeros.pointer);
    return fmt::format("static_cast<float>((load({} + (n * {} + quant / 2)) >> (quant % 2 * 4)) & "
                       "15)",
                       zeros.pointer, m_geometry.zeroBytes);
}

std::string NibbleEmitter::walk() const {
    const int64_t each = elements();
    const bool nibbles = m_geometry.bits == 4;
    std::string out = fmt::format(
        "#pragma unroll 1\n    for (int k = lane * {0}; k < {1}; k += {2}) {{\n"
        "        const int quant = k / {3};\n        unsigned words[{4}][{5}];\n"
        "        float scale[{4}], zero[{4}];\n#pragma unroll\n"
        "        for (int c = 0; c < {4}; ++c) {{\n"
        "            const int n = columnOf(c), at = n * {6} + quant;\n"
        "            loadWords<{7}>({8} + (n * {9} + {12}), words[c]);\n"
        "            scale[c] = static_cast<float>(load({10} + at));\n"
        "            zero[c] = {11};\n        }}\n",
        each, m_geometry.k, each * 32, m_geometry.block, m_columns, words(), m_geometry.blocks,
        words() * 4, m_operands.weights.pointer, m_geometry.blocks * m_geometry.blobBytes,
        m_operands.scales.pointer, zeroPoint(), nibbles ? "k / 2" : "k");
    return out + fmt::format(
                     "#pragma unroll\n        for (int m = 0; m < {0}; ++m) {{\n{1}"
                     "#pragma unroll\n            for (int c = 0; c < {2}; ++c) {{\n"
                     "                float dot = 0.0f;\n#pragma unroll\n"
                     "                for (int w = 0; w < {3}; w += {4}) {{\n"
                     "                    float q[8];\n"
                     "                    {5};\n#pragma unroll\n"
                     "                    for (int e = 0; e < 8; ++e)\n"
                     "                        dot += x[w / {4} * 8 + e] * q[e];\n"
                     "                }}\n"
                     "                sums[m][c] += (dot - zero[c] * whole) * scale[c];\n"
                     "            }}\n        }}\n    }}\n",
                     m_rows, elementsOfA("            "), m_columns, words(), nibbles ? 1 : 2,
                     nibbles ? "nibblesToFloat(words[c][w], q)" : "bytesToFloat(words[c] + w, q)");
}

/// Lane m * columns + c ends that result.
std::string NibbleEmitter::results() const {
    std::string value = "reduceWarp<Sum>(sums[m][c])";
    std::string out =
        fmt::format("#pragma unroll\n    for (int m = 0; m < {0}; ++m)\n"
                    "#pragma unroll\n        for (int c = 0; c < {1}; ++c) {{\n"
                    "            float y = {2};\n"
                    "            if (lane == m * {1} + c && firstRow + m < {3} && firstColumn + c "
                    "< {4}) {{\n",
                    m_rows, m_columns, value, m_operands.rows, m_geometry.n);
    if (m_operands.bias)
        out += fmt::format("                y += load({} + (firstColumn + c));\n",
                           m_operands.bias.pointer);
    return out + fmt::format("                store({} + ((firstRow + m) * {} + firstColumn + c), "
                             "y);\n            }}\n        }}\n",
                             m_operands.result.pointer, m_geometry.n);
}

KernelPart NibbleEmitter::emit() const {
    KernelPart part;
    part.helpers = {"vectors", "reduce", "nibbles"};
    part.threads = 32 * warps;
    part.blocks = blocks();
    part.numeric = NumericClass::Reassociated;
    part.comment = {
        fmt::format("{} rows of {} against {} columns of {} bits, blocks of {}: {} rows "
                    "and {} columns a warp, {} elements a lane at a time",
                    m_operands.rows, m_geometry.k, m_geometry.n, m_geometry.bits, m_geometry.block,
                    m_rows, m_columns, elements())};
    // Rows and columns beyond the last ones read the last ones again and end nothing.
    part.body = fmt::format(
        "    const int lane = threadIdx.x % 32u, warp = threadIdx.x / 32u;\n"
        "    const int firstColumn = (static_cast<int>(block % {0}u) * {1} + warp) * {2};\n"
        "    const int firstRow = static_cast<int>(block / {0}u) * {3};\n"
        "    auto columnOf = [&](int c) {{ return firstColumn + c < {4} ? firstColumn + c : {5}; "
        "}};\n"
        "    auto rowOf = [&](int m) {{ return firstRow + m < {6} ? firstRow + m : {7}; }};\n"
        "    float sums[{3}][{2}] = {{}};\n",
        tiles(), warps, m_columns, m_rows, m_geometry.n, m_geometry.n - 1, m_operands.rows,
        m_operands.rows - 1);
    part.body += walk() + results();
    return part;
}

} // namespace

EmitResult emitGemvNibbles(const KernelRequest& request) {
    const char* name = "gemv_nibbles";
    auto operands = blockedOperands(request);
    if (auto* reason = std::get_if<Reason>(&operands))
        return finish(name, request, PartResult(*reason));
    const double units = request.profile ? request.profile->units : 132;
    return finish(name, request,
                  PartResult(NibbleEmitter(std::get<BlockedOperands>(operands), units).emit()));
}

} // namespace fuselage::gpu
