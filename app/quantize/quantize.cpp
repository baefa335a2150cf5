// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/quantize.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/take_pairs_out.h"
#include "app/quantize/fold_norm.h"
#include "app/quantize/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::quantize {

namespace {

/// What is quantised already gets no second pair.
void leaveQuantised(const Graph& model, Placement& placement) {
    std::erase_if(placement.places, [&](const Place& place) {
        const NodeId maker = model.producer(place.value);
        if (!maker.valid() || model.node(maker).op != Op::DequantizeLinear)
            return false;
        placement.leftOut.push_back({place.rule, place.point, model.value(place.value).name,
                                     "the model quantises it already"});
        return true;
    });
}

class Job {
public:
    Job(const app::LoadedModel& model, const app::RuleLibrary& library, const InputSets& sets,
        const QuantizeOptions& options, Progress& progress)
        : m_model(model), m_library(library), m_sets(sets), m_options(options),
          m_progress(progress), m_float(model.graph.name()), m_graph(model.graph.clone()) {}

    Result<Quantized> run() {
        if (m_options.maxError && m_options.plan)
            return failure("usage.mixed", "a plan says what is quantised", "--mixed",
                           "leave --plan or --mixed out");
        if (auto runnable = app::requireOperators(m_graph); !runnable)
            return failure(runnable.error());
        if (m_options.again)
            if (auto taken = app::takePairsOut(m_graph); !taken)
                return failure(taken.error());
        m_float = m_graph.clone();
        const bool fold = m_options.plan ? m_options.plan->foldedNorm : m_options.foldNorm;
        if (fold)
            m_out.foldedNorms = foldNormalisation(m_graph);
        if (auto done = place(); !done)
            return failure(done.error());
        m_out.plan.model = m_graph.name();
        m_out.plan.data = m_sets.text();
        m_out.plan.foldedNorm = fold;
        auto planned = m_options.plan ? replayPlan() : makePlan();
        if (!planned)
            return failure(planned.error());
        if (m_out.plan.pairs.empty())
            return failure("quantize.nothing", "no rule asks for a pair in this model",
                           m_model.path, "give rules with a `qdq` clause by -p, or fewer --skip");
        if (auto ranges = calibrate(); !ranges)
            return failure(ranges.error());
        if (auto chosen = choose(); !chosen)
            return failure(chosen.error());
        return write();
    }

private:
    Result<void> place() {
        app::FuseOptions fusing = m_options.fuse;
        fusing.dims = m_model.dims;
        auto fused = app::fuseGraph(m_graph, m_library, fusing, m_progress);
        if (!fused)
            return failure(fused.error());
        m_placement = placesOf(m_graph, fused->trace);
        leaveQuantised(m_graph, m_placement);
        if (m_options.plan)
            return {};
        if (auto done = leaveOut(m_graph, m_options.skip, m_placement); !done)
            return done;
        return keepFloat(m_graph, m_options.keepFloat, m_placement);
    }

    Pair pairOf(const Place& place) const {
        const Node& node = m_graph.node(place.read.node);
        Pair pair{node.name, place.read.slot, place.point, m_options.type, {}, {},
                  {},        place.rule,      place.file,  place.line,     0};
        pair.method = m_options.range.method;
        if (m_graph.isConstant(place.value)) {
            pair.type = StoredType::Int8;
            pair.method = RangeMethod::MinMax;
            pair.axis = place.axis ? place.axis : channelAxis(m_graph, place.read);
        }
        return pair;
    }

    Result<void> makePlan() {
        for (const Place& place : m_placement.places)
            m_out.plan.pairs.push_back(pairOf(place));
        return {};
    }

    /// Each line against what rules ask for now.
    Result<void> replayPlan() {
        std::map<Use, const Place*, bool (*)(const Use&, const Use&)> asked(
            [](const Use& a, const Use& b) {
                return std::pair(a.node, a.slot) < std::pair(b.node, b.slot);
            });
        for (const Place& place : m_placement.places)
            asked[place.read] = &place;
        for (const Pair& pair : m_options.plan->pairs) {
            auto read = readOf(m_graph, pair);
            if (!read)
                return failure(read.error());
            auto found = asked.find(*read);
            const bool kept = found != asked.end() && found->second->rule == pair.rule &&
                              found->second->point == pair.point;
            if (!pair.rule.empty() && !kept)
                return lost(pair, found == asked.end() ? nullptr : found->second);
        }
        m_out.plan.pairs = m_options.plan->pairs;
        std::map<std::pair<NodeId, uint32_t>, bool> byHand; // reads of the plan
        for (const Pair& pair : m_out.plan.pairs)
            if (auto read = readOf(m_graph, pair))
                byHand[{read->node, read->slot}] = pair.rule.empty();
        std::erase_if(m_placement.places, [&](const Place& place) {
            const auto line = byHand.find({place.read.node, place.read.slot});
            if (line != byHand.end() && !line->second)
                return false;
            m_placement.leftOut.push_back(
                {place.rule, place.point, m_graph.value(place.value).name,
                 line == byHand.end() ? "not in the plan" : "the plan has the read by hand"});
            return true;
        });
        return {};
    }

    Failure lost(const Pair& pair, const Place* instead) const {
        std::string why = fmt::format("{} does not ask for it any more", pair.rule);
        if (instead)
            why = fmt::format("{} asks for it as {} now ({}:{})", instead->rule, instead->point,
                              instead->file, instead->line);
        for (const LeftOut& out : m_placement.leftOut)
            if (!instead && out.rule == pair.rule && out.point == pair.point)
                why += ", elsewhere because " + out.why;
        return failure("plan.lost", fmt::format("line {}: {}: {}", pair.line, pairText(pair), why),
                       "",
                       "write `by hand` to keep the pair whatever the rules say, take the line "
                       "out, or write the plan again with --plan-out");
    }

    /// Ranges for activations that have none.
    Result<void> calibrate() {
        std::vector<std::pair<Pair*, ValueId>> open;
        std::set<ValueId> values;
        for (Pair& pair : m_out.plan.pairs) {
            auto read = readOf(m_graph, pair);
            if (!read)
                return failure(read.error());
            const ValueId value = m_graph.node(read->node).inputs[read->slot];
            if (pair.range || m_graph.isConstant(value))
                continue;
            open.emplace_back(&pair, value);
            values.insert(value);
        }
        if (open.empty()) {
            m_out.plan.data = m_options.plan ? m_options.plan->data : m_out.plan.data;
            return {};
        }
        auto seen = observe(m_graph, {values.begin(), values.end()}, request(), m_progress);
        if (!seen)
            return failure(seen.error());
        m_histograms = std::move(*seen);
        for (auto& [pair, value] : open) {
            RangeChoice choice = m_options.range;
            choice.method = pair->method;
            pair->range = m_histograms.at(value).range(choice, pair->type);
        }
        m_rangesGenerated = m_sets.areGenerated();
        if (m_rangesGenerated)
            m_out.notes.push_back(fmt::format(
                "ranges come from generated inputs ({}), which say nothing about real data: give "
                "--data FOLDER",
                m_sets.text()));
        return {};
    }

    Result<void> makeJudge() {
        if (m_judge)
            return {};
        auto judge = OutputJudge::make(m_float, request(), m_options.checkSets, m_progress);
        if (!judge)
            return failure(judge.error());
        m_judge = std::move(*judge);
        return {};
    }

    /// Unfused and fused, predicted for the profile of the decisions.
    Result<app::Analysis> predicted(const Graph& graph) {
        app::LoadedModel model;
        model.path = m_model.path;
        model.graph = graph.clone();
        model.dims = m_model.dims;
        auto profile = deviceProfile(m_options.fuse.profile);
        if (!profile)
            return failure(profile.error());
        app::AnalysisOptions options{m_options.fuse, *profile};
        return app::analyse(model, m_library, options, m_progress);
    }

    /// Takes pairs out until the outputs keep to the limit.
    Result<void> choose() {
        if (!m_options.maxError)
            return {};
        if (auto judge = makeJudge(); !judge)
            return judge;
        auto plain = predicted(m_graph);
        if (!plain)
            return failure(plain.error());
        MixedOptions mixing{*m_options.maxError, m_options.bias, {}, {}};
        for (const Step& step : plain->before.plan->steps)
            for (const std::string& node : step.sources)
                mixing.nodeSeconds[node] +=
                    step.predicted.seconds / static_cast<double>(step.sources.size());
        mixing.predict = [&](const Graph& graph) -> Result<double> {
            auto found = predicted(graph);
            if (!found)
                return failure(found.error());
            return found->after.plan->totalPredicted().seconds;
        };
        auto mixed = chooseMixed(m_graph, m_out.plan, m_histograms, *m_judge, mixing, m_progress);
        if (!mixed)
            return failure(mixed.error());
        m_out.mixed = std::move(*mixed);
        takeOut();
        return {};
    }

    /// What the choice left in float.
    void takeOut() {
        std::set<std::string> kept;
        for (const MixedUnit& unit : m_out.mixed.units)
            if (!unit.quantised)
                kept.insert(unit.node);
        std::erase_if(m_out.plan.pairs, [&](const Pair& pair) { return kept.contains(pair.node); });
        std::erase_if(m_placement.places, [&](const Place& place) {
            if (!kept.contains(m_graph.node(place.read.node).name))
                return false;
            m_placement.leftOut.push_back({place.rule, place.point, m_graph.value(place.value).name,
                                           "--mixed keeps its node in float"});
            return true;
        });
    }

    ObserveRequest request() const { return {&m_sets, m_model.dims, m_options.run}; }

    Result<Quantized> write() {
        m_out.graph = m_graph.clone();
        auto inserted = insertPairs(m_out.graph, m_out.plan, m_options.bias);
        if (!inserted)
            return failure(inserted.error());
        m_out.inserted = *inserted;
        sayHow();
        count();
        m_out.bytesBefore = constantBytes(m_graph);
        m_out.bytesAfter = constantBytes(m_out.graph);
        m_out.leftOut = std::move(m_placement.leftOut);
        if (!m_options.check)
            return std::move(m_out);
        if (auto judge = makeJudge(); !judge)
            return failure(judge.error());
        auto errors = m_judge->compare(m_out.graph, 0, m_progress);
        if (!errors)
            return failure(errors.error());
        m_out.errors = std::move(*errors);
        m_out.checkedOn = m_sets.text();
        if (const double error = worst(m_out.errors); !(error < ruined))
            m_out.notes.push_back(fmt::format(
                "the worst output is off by {:.2g} of its size: {}", error,
                m_options.maxError ? "a smaller --max-error leaves more nodes in float"
                                   : "--mixed finds the nodes that cost it and leaves them in "
                                     "float"));
        return std::move(m_out);
    }

    /// The file's own account of itself.
    void sayHow() {
        Metadata& metadata = m_out.graph.metadata;
        metadata["fuselage.quantize.data"] =
            m_out.plan.data +
            (m_rangesGenerated ? ": generated inputs say nothing about real data" : "");
        metadata["fuselage.quantize.type"] = nameOf(m_options.type);
        metadata["fuselage.quantize.range"] =
            m_options.plan ? "by plan" : nameOf(m_options.range.method);
        metadata["fuselage.quantize.bias"] = nameOf(m_options.bias);
        metadata["fuselage.quantize.norm"] = m_out.plan.foldedNorm ? "folded" : "kept";
    }

    void count() {
        std::map<std::pair<std::string, std::string>, size_t> rows;
        auto rowFor = [&](const std::string& rule, const std::string& point) -> PointCount& {
            auto [at, isNew] = rows.try_emplace({rule, point}, m_out.counts.size());
            if (isNew)
                m_out.counts.push_back({rule, point, 0, 0});
            return m_out.counts[at->second];
        };
        for (const Place& place : m_placement.places)
            ++rowFor(place.rule, place.point).placed;
        for (const Pair& pair : m_out.plan.pairs)
            if (pair.rule.empty())
                ++rowFor("by hand", pair.point).placed;
        for (const LeftOut& out : m_placement.leftOut)
            ++rowFor(out.rule, out.point).leftOut;
    }

    const app::LoadedModel& m_model;
    const app::RuleLibrary& m_library;
    static constexpr double ruined = 0.1; ///< relative error of an output that few can use

    const InputSets& m_sets;
    bool m_rangesGenerated = false;
    const QuantizeOptions& m_options;
    Progress& m_progress;
    Graph m_float; ///< what outputs are compared with
    Graph m_graph; ///< the same, normalisations folded where wanted
    Placement m_placement;
    Histograms m_histograms; ///< of what was calibrated
    std::optional<OutputJudge> m_judge;
    Quantized m_out;
};

} // namespace

Result<Quantized> quantizeModel(const app::LoadedModel& model, const app::RuleLibrary& library,
                                const InputSets& sets, const QuantizeOptions& options,
                                Progress& progress) {
    return Job(model, library, sets, options, progress).run();
}

} // namespace fuselage::quantize
