// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/warp_lanes.h"

#include <algorithm>
#include <utility>

namespace simt::counts {

namespace {

constexpr unsigned mostLanes = 32;
constexpr uintptr_t sectorBytes = 32, bankBytes = 4, banks = 32;

/// The lanes that go next: all that stand at the lowest place, doing the same.
uint32_t nextLanes(std::span<const std::span<const Event>> lanes,
                   const std::array<size_t, mostLanes>& at) {
    const Event* first = nullptr;
    uint32_t out = 0, waiting = 0;
    for (unsigned lane = 0; lane < lanes.size(); ++lane) {
        if (at[lane] == lanes[lane].size())
            continue;
        const Event& event = lanes[lane][at[lane]];
        if (event.doing == Doing::Meeting) {
            waiting |= 1U << lane;
            continue;
        }
        if (first == nullptr || event.place < first->place) {
            first = &event;
            out = 0;
        }
        if (event.place == first->place && event.doing == first->doing)
            out |= 1U << lane;
    }
    return first == nullptr ? waiting : out;
}

} // namespace

void forEachRequest(std::span<const std::span<const Event>> lanes,
                    const std::function<void(const Request&)>& visit) {
    std::array<size_t, mostLanes> at{};
    while (const uint32_t next = nextLanes(lanes, at)) {
        Request request;
        request.lanes = next;
        for (unsigned lane = 0; lane < lanes.size(); ++lane) {
            if (!request.active(lane))
                continue;
            const Event& event = lanes[lane][at[lane]++];
            request.doing = event.doing;
            request.place = reinterpret_cast<const void*>(event.place);
            request.address[lane] = event.address;
            request.bytes[lane] = event.bytes;
        }
        if (request.doing != Doing::Block && request.doing != Doing::Meeting)
            visit(request);
    }
}

namespace {

/// Distinct words of the most used bank, of lanes [first, first + count).
uint64_t passesOf(const Request& request, unsigned first, unsigned count) {
    std::vector<uintptr_t> words;
    for (unsigned lane = first; lane < first + count; ++lane)
        if (request.active(lane))
            for (uintptr_t word = request.address[lane] / bankBytes;
                 word * bankBytes < request.address[lane] + request.bytes[lane]; ++word)
                words.push_back(word);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<uint64_t, banks> used{};
    for (uintptr_t word : words)
        ++used[word % banks];
    return *std::max_element(used.begin(), used.end());
}

} // namespace

Wavefronts wavefrontsOf(const Request& request) {
    uint16_t widest = 0;
    for (unsigned lane = 0; lane < mostLanes; ++lane)
        if (request.active(lane))
            widest = std::max(widest, request.bytes[lane]);
    // What the banks give at once: all lanes of 4 bytes, half of them of 8, a quarter of 16.
    const unsigned together = widest <= 4 ? 32 : widest <= 8 ? 16 : 8;
    Wavefronts out;
    for (unsigned first = 0; first < mostLanes; first += together)
        if (const uint64_t passes = passesOf(request, first, together); passes > 0) {
            out.taken += passes;
            ++out.ideal;
        }
    return out;
}

Sectors sectorsOf(const Request& request) {
    std::vector<std::pair<uintptr_t, uintptr_t>> parts;
    for (unsigned lane = 0; lane < mostLanes; ++lane)
        if (request.active(lane))
            parts.emplace_back(request.address[lane], request.address[lane] + request.bytes[lane]);
    std::sort(parts.begin(), parts.end());
    Sectors out;
    uintptr_t distinct = 0, end = 0;
    for (const auto& [from, to] : parts) {
        if (to > std::max(from, end))
            distinct += to - std::max(from, end);
        end = std::max(end, to);
        for (uintptr_t sector = from / sectorBytes; sector * sectorBytes < to; ++sector)
            if (out.touched.empty() || sector > out.touched.back())
                out.touched.push_back(sector);
    }
    out.ideal = (distinct + sectorBytes - 1) / sectorBytes;
    return out;
}

} // namespace simt::counts
