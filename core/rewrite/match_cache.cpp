// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/match_cache.h"

#include <algorithm>

namespace fuselage {

MatchCache::MatchCache(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
                       MatcherOptions options)
    : m_matcher(graph, facts, convexity, std::move(options)) {}

std::optional<std::vector<const MatchCache::Entry*>> MatchCache::update(const RuleSet& rules,
                                                                        FunctionRef<bool()> stop) {
    std::vector<std::string> replaced = replacedRules(rules);
    std::map<std::string, Entry> kept;
    std::vector<const Entry*> out;
    std::vector<const IndexedRule*> fresh;
    std::vector<Entry*> waiting; // parallel to fresh
    for (uint32_t i = 0; i < rules.rules.size(); ++i) {
        const Rule& rule = rules.rules[i];
        if (std::find(replaced.begin(), replaced.end(), rule.name) != replaced.end())
            continue;
        std::string key = matchKey(rule);
        if (auto known = m_entries.extract(key))
            kept.insert(std::move(known));
        auto [entry, isNew] = kept.try_emplace(std::move(key));
        if (isNew) {
            entry->second.rule = std::make_unique<const Rule>(rule);
            entry->second.indexed = std::make_unique<IndexedRule>(*entry->second.rule, i);
            fresh.push_back(entry->second.indexed.get());
            waiting.push_back(&entry->second);
        }
        out.push_back(&entry->second);
    }
    size_t done = 0;
    auto keep = [&](const IndexedRule&, MatchResult& found) {
        waiting[done++]->found = std::move(found);
        return true;
    };
    bool stopped = !m_matcher.findEach(fresh, keep, stop);
    m_searched = done;
    for (size_t i = done; i < fresh.size(); ++i)
        std::erase_if(kept, [&](const auto& entry) { return &entry.second == waiting[i]; });
    m_entries = std::move(kept);
    return stopped ? std::nullopt : std::optional(std::move(out));
}

} // namespace fuselage
