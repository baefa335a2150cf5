// SPDX-License-Identifier: Apache-2.0
#include "app/lsp/match_counter.h"

#include "app/pipeline/model.h"
#include "core/graph/bodies.h"
#include "core/rewrite/match_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace fuselage::lsp {

namespace {

struct Job {
    uint64_t number = 0;
    std::vector<dsl::RuleInput> texts;
    dsl::ImportResolver resolver;
};

using Counts = std::map<std::string, uint64_t>;

/// The model, made ready for matching once, and what was found in it.
struct Subject {
    explicit Subject(Graph loaded)
        : graph(std::move(loaded)), facts(graph), convexity(graph, facts.order),
          cache(graph, facts, convexity, {}) {}

    Graph graph;
    GraphFacts facts;
    Convexity convexity;
    MatchCache cache;
};

/// The model and its bodies.
using Subjects = std::vector<std::unique_ptr<Subject>>;

Subjects subjectsOf(Graph model) {
    takeCapturedConstants(model);
    Subjects out;
    for (const BodyPlace& body : bodiesOf(model))
        out.push_back(std::make_unique<Subject>(body.graph->clone()));
    out.push_back(std::make_unique<Subject>(std::move(model)));
    return out;
}

/// How long an answer waits for a near miss that nobody has looked for.
constexpr std::chrono::milliseconds patience{30};

constexpr uint64_t stepsForNearMisses = 2'000'000;

/// Where the rule comes nearest to a match, in words; nothing when `stop` became true.
std::optional<std::string> nearestOf(Subjects& subjects, const RuleSet& rules,
                                     const std::string& name, FunctionRef<bool()> stop) {
    const auto rule =
        std::ranges::find_if(rules.rules, [&](const Rule& each) { return each.name == name; });
    if (rule == rules.rules.end())
        return std::string();
    const IndexedRule indexed(*rule, 0);
    MatcherOptions options;
    options.explain = true;
    options.maxNearMisses = 1;
    options.ruleBudget = stepsForNearMisses;
    std::optional<NearMiss> nearest;
    for (const auto& subject : subjects) {
        auto keep = [&](const IndexedRule&, MatchResult& found) {
            for (NearMiss& miss : found.nearMisses)
                if (!nearest || miss.step > nearest->step)
                    nearest = std::move(miss);
            return true;
        };
        Matcher matcher(subject->graph, subject->facts, subject->convexity, options);
        if (!matcher.findEach({&indexed}, keep, stop))
            return std::nullopt;
    }
    if (!nearest)
        return "; nothing comes near";
    std::string out = fmt::format("; nearest at `{}`, {} of {} steps fit: {}", nearest->anchor,
                                  nearest->step, nearest->steps, nearest->reason.message);
    return nearest->reason.flip.empty() ? out : out + "; " + nearest->reason.flip;
}

/// Legal matches of each rule; nothing when `stop` became true.
std::optional<Counts> countMatches(Subjects& subjects, const dsl::LoadedRules& loaded,
                                   FunctionRef<bool()> stop) {
    Counts counts;
    for (const auto& subject : subjects) {
        const auto found = subject->cache.update(loaded.rules, stop);
        if (!found)
            return std::nullopt;
        for (const MatchCache::Entry* entry : *found)
            counts[entry->rule->name] += entry->found.matches.size();
    }
    return counts;
}

} // namespace

struct MatchCounter::State {
    std::string path;
    Progress progress;
    mutable std::mutex mutex;
    std::condition_variable wake;
    Job wanted;
    uint64_t counted = 0; ///< number of the job that `counts` belongs to
    Counts counts;
    std::set<std::string> asked;                ///< rules whose near miss is wanted
    std::map<std::string, std::string> nearest; ///< in words, by rule; of the job counted
    std::condition_variable told;
    std::string broken; ///< why the model cannot be used
    bool stop = false;
    std::thread thread; ///< last: starts when the rest is there

    void run();
};

void MatchCounter::State::run() {
    auto model = app::loadModel(path, {}, progress);
    if (!model) {
        const std::lock_guard lock(mutex);
        broken = model.error().text();
        return;
    }
    Subjects subjects = subjectsOf(std::move(model->graph));
    SourceSet sources;
    dsl::LoadedRules loaded; ///< of the job counted
    std::unique_lock lock(mutex);
    for (;;) {
        wake.wait(lock, [&] { return stop || wanted.number > counted || !asked.empty(); });
        if (stop)
            return;
        const Job job = wanted;
        auto isOld = [&] {
            const std::lock_guard inner(mutex);
            return stop || wanted.number > job.number;
        };
        if (job.number == counted) {
            const std::string rule = *asked.begin();
            lock.unlock();
            auto words = nearestOf(subjects, loaded.rules, rule, isOld);
            lock.lock();
            asked.erase(rule);
            if (words && wanted.number == job.number)
                nearest[rule] = std::move(*words);
            told.notify_all();
            continue;
        }
        lock.unlock();
        sources = SourceSet();
        loaded = dsl::loadRules(sources, job.texts, job.resolver);
        auto result = countMatches(subjects, loaded, isOld);
        lock.lock();
        if (result && wanted.number == job.number) {
            counts = std::move(*result);
            counted = job.number;
            nearest.clear();
        }
    }
}

MatchCounter::MatchCounter(std::string modelPath) : m_state(std::make_unique<State>()) {
    m_state->path = std::move(modelPath);
    m_state->thread = std::thread([state = m_state.get()] { state->run(); });
}

MatchCounter::~MatchCounter() {
    m_state->progress.cancel();
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->stop = true;
    }
    m_state->wake.notify_all();
    m_state->thread.join();
}

void MatchCounter::update(std::vector<dsl::RuleInput> texts, dsl::ImportResolver resolver) {
    const std::lock_guard lock(m_state->mutex);
    m_state->wanted = {m_state->wanted.number + 1, std::move(texts), std::move(resolver)};
    m_state->wake.notify_all();
}

std::optional<uint64_t> MatchCounter::matches(const std::string& rule) const {
    const std::lock_guard lock(m_state->mutex);
    if (m_state->counted == 0 || m_state->counted < m_state->wanted.number)
        return std::nullopt;
    auto found = m_state->counts.find(rule);
    return found == m_state->counts.end() ? std::nullopt : std::optional(found->second);
}

std::string MatchCounter::describe(const std::string& rule) const {
    const std::string model = std::filesystem::path(m_state->path).filename().string();
    const auto count = matches(rule);
    std::unique_lock lock(m_state->mutex);
    if (count) {
        const std::string out =
            fmt::format("{} {} on `{}`", *count, *count == 1 ? "match" : "matches", model);
        if (*count > 0)
            return out;
        if (!m_state->nearest.contains(rule)) {
            m_state->asked.insert(rule);
            m_state->wake.notify_all();
            m_state->told.wait_for(lock, patience, [&] { return !m_state->asked.contains(rule); });
        }
        const auto words = m_state->nearest.find(rule);
        return words != m_state->nearest.end() ? out + words->second
                                               : out + "; what comes nearest is being looked for";
    }
    if (!m_state->broken.empty())
        return fmt::format("no match count: {}", m_state->broken);
    if (m_state->counted > 0 && m_state->counted == m_state->wanted.number)
        return fmt::format("not counted on `{}`: the rule has mistakes or is replaced", model);
    return fmt::format("matches on `{}` are being counted", model);
}

} // namespace fuselage::lsp
