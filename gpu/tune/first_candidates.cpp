// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/first_candidates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace fuselage::gpu {

namespace {

/// Of one kind no more: sizes of its tile are predicted alike.
constexpr size_t mostOfKind = 2;

/// "tensor" of "tensor_64x64 2", "blocked_wgmma" of "blocked_wgmma_64x64", "cudnn" of "cudnn e5";
/// and whether its blocks share operands, since those may be faster or slower than any without.
std::pair<std::string_view, bool> kindOf(const std::string& name) {
    size_t end = name.find_first_of("_ ");
    for (size_t at = end; at != std::string::npos; at = name.find('_', at + 1))
        if (at + 1 < name.size() && name[at + 1] >= '0' && name[at + 1] <= '9') {
            end = at; // in front of a tile's size
            break;
        }
    return {std::string_view(name).substr(0, end), name.find("_pair") != std::string::npos};
}

/// One key's candidates in the order in which they are worth building: the fastest, its judge, the
/// rest of the first of each kind.
std::vector<size_t> orderOf(const std::vector<OfferedCandidate>& offered) {
    std::vector<size_t> byTime(offered.size());
    std::iota(byTime.begin(), byTime.end(), 0);
    std::sort(byTime.begin(), byTime.end(), [&](size_t a, size_t b) {
        const OfferedCandidate &x = offered[a], &y = offered[b];
        return x.seconds != y.seconds ? x.seconds < y.seconds : x.name < y.name;
    });
    std::vector<size_t> out;
    std::map<std::pair<std::string_view, bool>, size_t> ofKind;
    for (size_t i : byTime)
        if (!offered[i].plain && ofKind[kindOf(offered[i].name)]++ < mostOfKind)
            out.push_back(i);
    const auto judge =
        std::find_if(byTime.begin(), byTime.end(), [&](size_t i) { return offered[i].plain; });
    if (judge == byTime.end())
        return out;
    // In front of a last resort.
    const bool isFirst = out.empty() || offered[*judge].seconds <= offered[out.front()].seconds;
    out.insert(out.begin() + (isFirst ? 0 : 1), *judge);
    return out;
}

} // namespace

std::vector<FirstCandidate> firstCandidates(const std::vector<std::vector<OfferedCandidate>>& keys,
                                            size_t most) {
    std::vector<std::vector<size_t>> orders;
    std::vector<size_t> byWeight(keys.size());
    std::iota(byWeight.begin(), byWeight.end(), 0);
    size_t all = 0, longest = 0;
    for (const auto& key : keys)
        all += key.size();
    for (const auto& key : keys) {
        orders.push_back(orderOf(key));
        for (size_t i = 0; all <= most && i < key.size(); ++i)
            if (std::find(orders.back().begin(), orders.back().end(), i) == orders.back().end())
                orders.back().push_back(i);
        longest = std::max(longest, orders.back().size());
    }
    auto seconds = [&](size_t key) {
        return orders[key].empty() ? 0 : keys[key][orders[key].front()].seconds;
    };
    std::stable_sort(byWeight.begin(), byWeight.end(),
                     [&](size_t a, size_t b) { return seconds(a) > seconds(b); });
    std::vector<FirstCandidate> out;
    for (size_t place = 0; place < longest; ++place)
        for (size_t key : byWeight)
            if (place < orders[key].size() && (place == 0 || out.size() < most))
                out.push_back({key, orders[key][place]});
    return out;
}

} // namespace fuselage::gpu
