// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_depthwise.h"

#include "core/cpu/integer_dots.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// One byte of a weight that may need several, which add up to it.
int8_t byteOf(int32_t weight, size_t part) {
    for (size_t i = 0; i < part; ++i)
        weight -= std::clamp(weight, -128, 127);
    return static_cast<int8_t>(std::clamp(weight, -128, 127));
}

size_t bytesOfWeights(const std::vector<IntegerMatrix>& channels) {
    int32_t most = 0; // above int8's largest or below its smallest
    for (const IntegerMatrix& channel : channels)
        for (int32_t weight : channel.values)
            most = std::max(most, weight < 0 ? -weight - 1 : weight);
    return static_cast<size_t>(most) / 128 + 1 + (most == 255 ? 1 : 0);
}

/// `quads` of taps for each byte of the weights, one after the other.
std::vector<int8_t> packedDots(const std::vector<IntegerMatrix>& channels, size_t parts,
                               size_t quads) {
    const auto taps = static_cast<size_t>(channels[0].k);
    std::vector<int8_t> out;
    for (size_t at = 0; at < channels.size();) {
        const ByteDots::Block block = ByteDots::blockAt(at, channels.size());
        for (size_t q = 0; q < parts * quads; ++q)
            for (size_t i = 0; i < (block.wide ? ByteDots::block : ByteDots::columns); ++i) {
                const size_t channel =
                    block.first + (block.wide ? ByteDots::depthwiseChannel(i) : i);
                for (size_t tap = 4 * (q % quads); tap < 4 * (q % quads) + 4; ++tap)
                    out.push_back(channel < channels.size() && tap < taps
                                      ? byteOf(channels[channel].values[tap], q / quads)
                                      : int8_t{0});
            }
        at = block.next;
    }
    return out;
}

} // namespace

IntegerDepthwise::IntegerDepthwise(const std::vector<IntegerMatrix>& channels,
                                   const Contraction& program, const IntegerRows& rows,
                                   const VectorTable& table)
    : m_loops(table.integer), m_rows(rows), m_dims(program), m_channels(channels.size()),
      m_taps(static_cast<size_t>(channels[0].k)), m_parts(bytesOfWeights(channels)),
      m_quads((m_taps + 3) / 4) {
    if (table.integer.dots.depthwise) {
        m_dots = packedDots(channels, m_parts, m_quads);
        return;
    }
    for (size_t tap = 0; tap < m_taps; ++tap)
        for (const IntegerMatrix& channel : channels)
            m_weights.push_back(static_cast<float>(channel.values[tap]));
}

size_t IntegerDepthwise::scratchBytes() const {
    return (m_channels + 63) / 64 * 64 + 4 * m_parts * m_quads * sizeof(const uint8_t*);
}

void IntegerDepthwise::sums(const std::byte* a, const Strip& strip, uint8_t fill, int32_t* c,
                            int64_t step, std::byte* scratch) const {
    auto* padding = reinterpret_cast<uint8_t*>(scratch);
    std::fill_n(padding, m_channels, fill);
    auto* taps = reinterpret_cast<const uint8_t**>(scratch + (m_channels + 63) / 64 * 64);
    const bool together = !m_dots.empty() && step == static_cast<int64_t>(m_channels);
    Extents at = strip.origin;
    const int64_t outerCount = m_dims.outer ? strip.box[*m_dims.outer] : 1;
    const int64_t innerCount = strip.box[m_dims.inner];
    for (int64_t y = 0; y < outerCount; ++y) {
        if (m_dims.outer)
            at[*m_dims.outer] = strip.origin[*m_dims.outer] + y;
        at[m_dims.inner] = strip.origin[m_dims.inner];
        const IntegerRows::Inside inside = m_rows.insideFrom(at, innerCount);
        for (int64_t x = 0, pixels = 1; x < innerCount; x += pixels, c += pixels * step) {
            at[m_dims.inner] = strip.origin[m_dims.inner] + x;
            const bool isInside = x >= inside.first && x < inside.last;
            m_rows.taps(a, at, isInside, padding, taps);
            pixels = isInside && together ? inside.last - x : 1;
            if (m_dots.empty()) {
                m_loops.depthwise(c, taps, m_weights.data(), m_taps, m_channels, m_rows.flip());
                continue;
            }
            std::fill_n(taps + m_taps, 4 * m_quads - m_taps, taps[0]); // of no weight
            for (size_t part = 1; part < m_parts; ++part)
                std::copy_n(taps, 4 * m_quads, taps + 4 * part * m_quads);
            m_loops.dots.depthwise(c, taps, static_cast<size_t>(m_rows.step()),
                                   static_cast<size_t>(pixels), m_dots.data(), m_parts * m_quads,
                                   m_channels, m_rows.flip());
        }
    }
}

} // namespace fuselage::cpu
