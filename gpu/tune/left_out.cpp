// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/left_out.h"

#include "core/support/wildcard.h"

#include <algorithm>
#include <map>

namespace fuselage::gpu {

std::string_view familyOf(std::string_view tactic) {
    return tactic.substr(0, tactic.find(' '));
}

std::vector<std::string_view> familiesOf(std::string_view tactic) {
    constexpr std::string_view between = " + ";
    size_t end = tactic.find(between);
    if (end == std::string_view::npos)
        return {familyOf(tactic)};
    std::vector<std::string_view> out;
    for (size_t begin = familyOf(tactic).size() + 1; begin < tactic.size();
         begin = end + between.size()) {
        end = std::min(tactic.find(between, begin), tactic.size());
        out.push_back(familyOf(tactic.substr(begin, end - begin)));
    }
    return out;
}

bool isAmong(std::string_view tactic, const std::set<std::string, std::less<>>& families) {
    const std::vector<std::string_view> own = familiesOf(tactic);
    return std::all_of(own.begin(), own.end(),
                       [&](std::string_view family) { return families.contains(family); });
}

std::set<std::string, std::less<>> condemnedFamilies(const TimingCache& cache,
                                                     const TacticKey& key) {
    constexpr size_t mostKeys = 2;
    std::map<std::string_view, std::set<const TacticKey*>> lost;
    for (const auto& [known, entry] : cache.entries())
        for (const CandidateRecord& record : entry)
            if ((record.refused == "device.lost" || record.refused == "device.hung") &&
                known.device == key.device && known.software == key.software)
                for (std::string_view family : familiesOf(record.name))
                    lost[family].insert(&known);
    std::set<std::string, std::less<>> out;
    for (const auto& [family, keys] : lost)
        if (keys.size() >= mostKeys)
            out.emplace(family);
    return out;
}

std::set<std::string, std::less<>> measuredFamilies(const TimingCache& cache,
                                                    const TacticKey& key) {
    std::set<std::string, std::less<>> out;
    for (const auto& [known, entry] : cache.entries())
        for (const CandidateRecord& record : entry)
            if (record.rounds != 0 && !record.fallback && known.device == key.device &&
                known.software == key.software)
                for (std::string_view family : familiesOf(record.name))
                    out.emplace(family);
    return out;
}

std::optional<Reason> whyLeftOut(const std::string& tactic, bool generated,
                                 const std::vector<std::string>& without,
                                 const std::set<std::string, std::less<>>& condemned) {
    const std::string_view family = familyOf(tactic);
    for (const std::string& pattern : without)
        if (fitsWildcard(pattern, family))
            return Reason{"left-out",
                          tactic + ": left out by --without " + pattern,
                          "leave --without out",
                          {{"tactic", tactic}}};
    if (generated && condemned.contains(family))
        return Reason{"variant-lost",
                      tactic + ": its variant took the device with it in two other steps",
                      "remove their records from the timing cache to try it again",
                      {{"tactic", tactic}}};
    return std::nullopt;
}

} // namespace fuselage::gpu
