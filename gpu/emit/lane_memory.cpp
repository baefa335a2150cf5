// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/lane_memory.h"

#include <algorithm>
#include <bit>

namespace fuselage::gpu {

namespace {

constexpr int64_t sectorBytes = 32, lanesOfWarp = 32;

/// How many different numbers a list has. Where they lie close together, as most do, a bit each is
/// set; a list that is far apart is sorted.
class Distinct {
public:
    int64_t count(std::vector<int64_t>& numbers) {
        constexpr int64_t bits = 64, farthest = 16 * bits; // a number
        if (numbers.empty())
            return 0;
        const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
        const int64_t from = *least, range = *most - from + 1;
        if (range > farthest * static_cast<int64_t>(numbers.size())) {
            std::sort(numbers.begin(), numbers.end());
            return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
        }
        m_words.assign(static_cast<size_t>((range + bits - 1) / bits), 0);
        for (int64_t number : numbers)
            m_words[static_cast<size_t>((number - from) / bits)] |= uint64_t{1}
                                                                    << ((number - from) % bits);
        int64_t out = 0;
        for (uint64_t word : m_words)
            out += std::popcount(word);
        return out;
    }

private:
    std::vector<uint64_t> m_words;
};

/// Floors, also below zero: bounds are not looked at, so a tap may lie in front of its operand.
int64_t sectorOf(int64_t byte) {
    return byte >= 0 ? byte / sectorBytes : -((-byte + sectorBytes - 1) / sectorBytes);
}

} // namespace

MemoryAsked askedBy(int64_t threads, const LaneRequests& requests, double times) {
    const auto size = static_cast<int64_t>(sizeOf(requests.dtype));
    MemoryAsked out;
    std::vector<int64_t> ofWarp, ofBlock, units;
    Distinct distinct;
    for (int64_t first = 0; first < threads; first += lanesOfWarp)
        for (int64_t place = 0; place < requests.places; ++place) {
            ofWarp.clear();
            const int64_t end = std::min(threads, first + lanesOfWarp);
            for (int64_t thread = first; thread < end; ++thread) {
                const int64_t element = requests.at(thread, place);
                units.push_back(element);
                const int64_t last = sectorOf((element + requests.width) * size - 1);
                for (int64_t sector = sectorOf(element * size); sector <= last; ++sector)
                    ofWarp.push_back(sector);
            }
            out.requests += static_cast<double>(end - first);
            out.asked += static_cast<double>(distinct.count(ofWarp));
            ofBlock.insert(ofBlock.end(), ofWarp.begin(), ofWarp.end());
        }
    // The first cache keeps what it has read; what is written passes it each time.
    out.fetched = requests.isWritten ? out.asked : static_cast<double>(distinct.count(ofBlock));
    const int64_t bytes = distinct.count(units) * requests.width * size;
    out.ideal = static_cast<double>((bytes + sectorBytes - 1) / sectorBytes);
    return out * times;
}

int64_t elementAt(const LoopNest& nest, size_t operand, int64_t linear) {
    int64_t out = 0;
    for (size_t i = nest.loops().size(); i-- > 0;) {
        const Loop& loop = nest.loops()[i];
        const int64_t extent = std::max<int64_t>(loop.extent, 1);
        out += linear % extent * loop.strides[operand];
        linear /= extent;
    }
    return out;
}

std::vector<int64_t> elementsAt(const LoopNest& nest, size_t operand, int64_t first, int64_t count,
                                int64_t end) {
    std::vector<int64_t> out(static_cast<size_t>(std::max<int64_t>(count, 0)));
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = elementAt(nest, operand, (first + static_cast<int64_t>(i)) % end);
    return out;
}

MemoryAsked askedAlong(const LoopNest& nest, const std::vector<KernelOperand>& operands,
                       size_t writes, int width, int64_t threads) {
    MemoryAsked out;
    const int64_t count = nest.count();
    if (count <= 0)
        return out;
    const int64_t all = std::max<int64_t>(1, count / width);
    const int64_t sampled = std::min(threads, all);
    const int64_t first = all / 2 / sampled * sampled;
    const double times = static_cast<double>(all) / static_cast<double>(sampled);
    for (size_t k = 0; k < operands.size(); ++k) {
        const LaneAccess access = laneAccess(nest, operands[k], k, width);
        LaneRequests requests;
        requests.dtype = operands[k].dtype;
        requests.isWritten = k < writes;
        requests.width = access == LaneAccess::Vector ? width : 1;
        requests.places = access == LaneAccess::Gather ? width : 1;
        requests.at = [&nest, &operands, k, first, width](int64_t thread, int64_t place) {
            return operands[k].access.offset + elementAt(nest, k, (first + thread) * width + place);
        };
        out += askedBy(sampled, requests, times);
    }
    return out;
}

} // namespace fuselage::gpu
