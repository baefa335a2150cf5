// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/left_out.h"

#include "core/support/wildcard.h"

#include <map>

namespace fuselage::gpu {

std::string_view familyOf(std::string_view tactic) {
    return tactic.substr(0, tactic.find(' '));
}

std::set<std::string, std::less<>> condemnedFamilies(const TimingCache& cache,
                                                     const TacticKey& key) {
    constexpr size_t mostKeys = 2;
    std::map<std::string_view, std::set<const TacticKey*>> lost;
    for (const auto& [known, entry] : cache.entries())
        for (const CandidateRecord& record : entry)
            if ((record.refused == "device.lost" || record.refused == "device.hung") &&
                known.device == key.device && known.software == key.software)
                lost[familyOf(record.name)].insert(&known);
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
                out.emplace(familyOf(record.name));
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
