// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/ranking.h"

#include <algorithm>
#include <tuple>

namespace fuselage::gpu {

namespace {

constexpr double tieShare = 0.02, tieMicroseconds = 0.3;

/// Candidates of one tier never compare by time with those of another.
int tierOf(const CandidateRecord& record) {
    return record.fallback ? 2 : record.eliminated ? 1 : 0;
}

} // namespace

double tieBand(double median) {
    return std::max(tieShare * median, tieMicroseconds);
}

std::vector<size_t> ranking(const TimingEntry& entry) {
    std::vector<size_t> left;
    for (size_t i = 0; i < entry.size(); ++i)
        if (entry[i].refused.empty() && entry[i].rounds != 0)
            left.push_back(i);
    auto bySpeed = [&](size_t i) {
        return std::tie(entry[i].median, entry[i].workspace, entry[i].name);
    };
    std::sort(left.begin(), left.end(), [&](size_t a, size_t b) {
        const int tierA = tierOf(entry[a]), tierB = tierOf(entry[b]);
        return tierA != tierB ? tierA < tierB : bySpeed(a) < bySpeed(b);
    });
    auto preferred = [&](size_t a, size_t b) {
        const CandidateRecord &x = entry[a], &y = entry[b];
        return std::tuple(!x.deterministic, x.workspace, std::string_view(x.name)) <
               std::tuple(!y.deterministic, y.workspace, std::string_view(y.name));
    };
    std::vector<size_t> out;
    while (!left.empty()) {
        const CandidateRecord& fastest = entry[left.front()];
        const double limit = fastest.median + tieBand(fastest.median);
        auto end = std::find_if(left.begin(), left.end(), [&](size_t i) {
            return tierOf(entry[i]) != tierOf(fastest) || entry[i].median > limit;
        });
        auto best = std::min_element(left.begin(), end, preferred);
        out.push_back(*best);
        left.erase(best);
    }
    return out;
}

} // namespace fuselage::gpu
