// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/cache_edit.h"

#include "gpu/tune/ranking.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace fuselage::gpu {

namespace {

std::string choiceText(const TimingEntry& entry) {
    const CandidateRecord* chosen = chosenOf(entry);
    return chosen ? fmt::format("{} {:.3f} us", chosen->name, chosen->median)
                  : "every tactic refused";
}

/// None when a plan would be the same and as fast.
std::optional<CacheDifference::Kind> difference(const TimingEntry& before,
                                                const TimingEntry& after) {
    const CandidateRecord *a = chosenOf(before), *b = chosenOf(after);
    if (!a || !b)
        return a == b ? std::nullopt : std::optional(CacheDifference::Kind::Choice);
    if (a->name != b->name)
        return CacheDifference::Kind::Choice;
    if (std::abs(a->median - b->median) > tieBand(std::min(a->median, b->median)))
        return CacheDifference::Kind::Time;
    return std::nullopt;
}

} // namespace

const CandidateRecord* chosenOf(const TimingEntry& entry) {
    const std::vector<size_t> order = ranking(entry);
    return order.empty() ? nullptr : &entry[order.front()];
}

std::vector<CacheDifference> compareCaches(const TimingCache& before, const TimingCache& after) {
    std::set<TacticKey> keys;
    for (const TimingCache* cache : {&before, &after})
        for (const auto& [key, entry] : cache->entries())
            keys.insert(key);
    std::vector<CacheDifference> out;
    for (const TacticKey& key : keys) {
        const TimingEntry *a = before.find(key), *b = after.find(key);
        using Kind = CacheDifference::Kind;
        const std::optional<Kind> kind = !a ? Kind::Added : !b ? Kind::Removed : difference(*a, *b);
        if (kind)
            out.push_back({*kind, key, a ? choiceText(*a) : "", b ? choiceText(*b) : ""});
    }
    return out;
}

size_t pruneCache(TimingCache& cache, const PruneRules& rules) {
    std::vector<TacticKey> gone;
    for (const auto& [key, entry] : cache.entries()) {
        const bool current =
            rules.emitter.empty() || key.software.ends_with("emitter " + rules.emitter);
        if (!current || key.device.find(rules.device) == std::string::npos)
            gone.push_back(key);
    }
    for (const TacticKey& key : gone)
        cache.erase(key);
    return gone.size();
}

} // namespace fuselage::gpu
