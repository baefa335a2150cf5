// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/quantize.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/measure.h"
#include "app/pipeline/take_pairs_out.h"
#include "app/quantize/calibrate.h"
#include "app/quantize/fold_norm.h"
#include "app/quantize/left_in_float.h"
#include "app/quantize/onnx_runtime.h"
#include "app/quantize/selection.h"
#include "app/quantize/smooth.h"
#include "app/quantize/tensorrt.h"
#include "core/graph/bodies.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::quantize {

namespace {

/// What is quantised already gets no second pair.
void leaveQuantised(Placement& placement) {
    std::erase_if(placement.places, [&](const Place& place) {
        const NodeId maker = place.graph->producer(place.value);
        if (!maker.valid() || place.graph->node(maker).op != Op::DequantizeLinear)
            return false;
        placement.leftOut.push_back({place.rule, place.point, place.valuePath(), quantisedAlready});
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
        takeCapturedConstants(m_graph);
        const bool fold = m_options.plan ? m_options.plan->foldedNorm : m_options.foldNorm;
        if (fold)
            m_out.foldedNorms = foldNormalisation(m_graph);
        if (auto moved = smoothe(); !moved)
            return failure(moved.error());
        if (auto done = place(); !done)
            return failure(done.error());
        m_out.plan.model = m_graph.name();
        m_out.plan.data = m_sets.text();
        m_out.plan.foldedNorm = fold;
        auto planned = m_options.plan ? replayPlan() : makePlan();
        if (!planned)
            return failure(planned.error());
        if (m_out.plan.pairs.empty())
            return nothingToQuantise(m_graph, m_placement, m_model.path);
        if (auto ranges = calibrate(); !ranges)
            return failure(ranges.error());
        if (auto chosen = choose(); !chosen)
            return failure(chosen.error());
        return write();
    }

private:
    /// The factors come from data, which must be the plan's.
    Result<void> smoothe() {
        const auto strength = m_options.plan ? m_options.plan->smooth : m_options.smooth;
        if (!strength)
            return {};
        if (m_options.plan && m_options.plan->data != m_sets.text())
            return failure("plan.smooth",
                           fmt::format("its ranges are of weights that `{}` changed, here is `{}`",
                                       m_options.plan->data, m_sets.text()),
                           "", "give the same --data, or take the line `smooth` and ranges out");
        auto moved = migrateScales(m_graph, request(), *strength, m_progress);
        if (!moved)
            return failure(moved.error());
        m_out.smoothed = *moved;
        if (*moved == 0)
            m_out.notes.push_back("--smooth has no effect: all readers of a normalisation must be "
                                  "matrix products with constant weights, and here of none are");
        m_out.plan.smooth = strength;
        return {};
    }

    Result<void> place() {
        app::FuseOptions fusing = m_options.fuse;
        fusing.dims = m_model.dims;
        auto fused = app::fuseGraph(m_graph, m_library, fusing, m_progress);
        if (!fused)
            return failure(fused.error());
        m_placement = placesOf(m_graph, fused->trace);
        leaveQuantised(m_placement);
        if (m_options.plan)
            return {};
        if (!m_options.type)
            leaveActivations();
        if (auto done = leaveOut(m_options.skip, m_placement); !done)
            return done;
        if (auto done = keepFloat(m_graph, m_options.keepFloat, m_placement); !done)
            return done;
        if (!m_options.everywhere)
            leaveUnopened(m_placement);
        return {};
    }

    void leaveActivations() {
        std::erase_if(m_placement.places, [&](const Place& place) {
            if (place.graph->isConstant(place.value))
                return false;
            m_placement.leftOut.push_back(
                {place.rule, place.point, place.valuePath(), "activations stay in float"});
            return true;
        });
    }

    Pair pairOf(const Place& place) const {
        Pair pair;
        pair.node = place.nodePath();
        pair.operand = place.read.slot;
        pair.point = place.point;
        pair.rule = place.rule;
        pair.file = place.file;
        pair.ruleLine = place.line;
        if (!place.graph->isConstant(place.value)) {
            pair.type = *m_options.type;
            pair.method = m_options.range.method;
            return pair;
        }
        pair.type = m_options.weights;
        pair.axis = place.axis ? place.axis : channelAxis(*place.graph, place.read);
        const auto summed = summedAxis(*place.graph, place.read);
        if (isOfConstants(pair.type) && m_options.block > 0 && summed) {
            pair.axis = summed;
            pair.block = m_options.block;
        }
        return pair;
    }

    Result<void> makePlan() {
        bool hasBlocks = false;
        for (const Place& place : m_placement.places) {
            m_out.plan.pairs.push_back(pairOf(place));
            hasBlocks = hasBlocks || m_out.plan.pairs.back().block > 0;
        }
        if (isOfConstants(m_options.weights) && m_options.block > 0 && !hasBlocks)
            m_out.notes.push_back(fmt::format(
                "--block {} has no effect: no weight here is what a matrix product sums along; "
                "each has a scale for every output channel",
                m_options.block));
        if (const std::string unasked = unaskedNodes(m_graph, m_placement); !unasked.empty())
            m_out.notes.push_back("no rule asks for pairs at " + unasked + ", which stay in float");
        return {};
    }

    /// Each line against what rules ask for now.
    Result<void> replayPlan() {
        const PairPlan& plan = *m_options.plan;
        if (plan.modelLine > 0 && plan.model != m_graph.name())
            return failure("plan.model",
                           fmt::format("line {}: the plan is of the model `{}`, this one is `{}`",
                                       plan.modelLine, plan.model, m_graph.name()),
                           "",
                           "give the model that the plan was made of, or take the line out: nodes "
                           "are looked up by their names then");
        using Read = std::pair<std::string, uint32_t>;
        std::map<Read, const Place*> asked;
        for (const Place& place : m_placement.places)
            asked[{place.nodePath(), place.read.slot}] = &place;
        for (const Pair& pair : plan.pairs) {
            auto read = readOf(m_graph, pair);
            if (!read)
                return failure(read.error());
            auto found = asked.find({pair.node, pair.operand});
            const bool kept = found != asked.end() && found->second->rule == pair.rule &&
                              found->second->point == pair.point;
            if (!pair.rule.empty() && !kept)
                return lost(pair, found == asked.end() ? nullptr : found->second);
        }
        m_out.plan.pairs = plan.pairs;
        std::map<Read, bool> byHand; // reads of the plan
        for (const Pair& pair : m_out.plan.pairs)
            byHand[{pair.node, pair.operand}] = pair.rule.empty();
        std::erase_if(m_placement.places, [&](const Place& place) {
            const auto line = byHand.find({place.nodePath(), place.read.slot});
            if (line != byHand.end() && !line->second)
                return false;
            m_placement.leftOut.push_back(
                {place.rule, place.point, place.valuePath(),
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
        auto calibrated =
            calibratePlan(m_graph, m_out.plan, m_options.range, request(), m_progress);
        if (!calibrated)
            return failure(calibrated.error());
        if (!calibrated->any) {
            m_out.plan.data = m_options.plan ? m_options.plan->data : m_out.plan.data;
            return {};
        }
        m_histograms = std::move(calibrated->histograms);
        std::erase_if(m_placement.places, [&](const Place& place) {
            const auto lost = calibrated->lost.find(place.nodePath());
            if (lost == calibrated->lost.end())
                return false;
            m_placement.leftOut.push_back(
                {place.rule, place.point, place.valuePath(), lost->second});
            return true;
        });
        if (m_out.plan.pairs.empty())
            return nothingToQuantise(m_graph, m_placement, m_model.path);
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
        MixedOptions mixing{*m_options.maxError, m_options.bias, {}, m_options.mixedPoints, {}, {}};
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
        mixing.measure = [&](const std::vector<Graph>& graphs) { return measured(graphs); };
        auto mixed = chooseMixed(m_graph, m_out.plan, m_histograms, *m_judge, mixing, m_progress);
        if (!mixed)
            return failure(mixed.error());
        m_out.mixed = std::move(*mixed);
        const auto& units = m_out.mixed.units;
        if (std::none_of(units.begin(), units.end(), [](const auto& it) { return it.quantised; }))
            m_out.notes.push_back("no node can be quantised within --max-error: the model is "
                                  "written in float");
        takeOut();
        return {};
    }

    /// Seconds of the first set of inputs through each, fused, one after the other in each round.
    Result<std::vector<double>> measured(const std::vector<Graph>& graphs) {
        constexpr size_t rounds = 7;
        auto inputs = m_sets.read(m_float, m_model.dims, 0);
        if (!inputs)
            return failure(inputs.error());
        std::vector<CompiledGraph> forms;
        for (const Graph& graph : graphs) {
            auto found = predicted(graph);
            if (!found)
                return failure(found.error());
            std::vector<std::string> notes;
            Graph fused = found->fused->clone();
            if (auto bound = bindToInputs(fused, *inputs, {}, notes); !bound)
                return failure(bound.error());
            auto form = CompiledGraph::compile(std::move(fused), m_options.run, m_progress);
            if (!form)
                return failure(form.error());
            if (auto warm = form->run(*inputs); !warm)
                return failure(warm.error());
            forms.push_back(std::move(*form));
        }
        std::vector<std::vector<double>> seconds(forms.size());
        for (size_t round = 0; round < rounds; ++round)
            for (size_t i = 0; i < forms.size(); ++i) {
                m_progress.report("timing", round * forms.size() + i, rounds * forms.size());
                auto run = app::timeRun(forms[i].executable(), *inputs, m_progress);
                if (!run)
                    return failure(run.error());
                seconds[i].push_back(run->seconds);
            }
        std::vector<double> out;
        for (std::vector<double>& times : seconds)
            out.push_back(summarise(std::move(times)).median);
        return out;
    }

    /// What the choice left in float.
    void takeOut() {
        std::set<size_t> kept;
        std::set<std::pair<std::string, uint32_t>> reads;
        for (const MixedUnit& unit : m_out.mixed.units)
            if (!unit.quantised)
                kept.insert(unit.pairs.begin(), unit.pairs.end());
        std::vector<Pair> left;
        for (size_t i = 0; i < m_out.plan.pairs.size(); ++i) {
            Pair& pair = m_out.plan.pairs[i];
            if (kept.contains(i))
                reads.insert({pair.node, pair.operand});
            else
                left.push_back(std::move(pair));
        }
        m_out.plan.pairs = std::move(left);
        std::erase_if(m_placement.places, [&](const Place& place) {
            if (!reads.contains({place.nodePath(), place.read.slot}))
                return false;
            m_placement.leftOut.push_back(
                {place.rule, place.point, place.valuePath(), "--mixed keeps it in float"});
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
        returnCapturedConstants(m_out.graph);
        sayHow();
        count();
        m_out.bytesBefore = constantBytes(m_graph);
        m_out.bytesAfter = constantBytes(m_out.graph);
        m_out.leftOut = std::move(m_placement.leftOut);
        for (std::string note : {tensorRtNote(m_out.plan), onnxRuntimeNote(m_out.plan)})
            if (!note.empty())
                m_out.notes.push_back(std::move(note));
        if (!m_options.check)
            return std::move(m_out);
        if (auto judge = makeJudge(); !judge)
            return failure(judge.error());
        auto errors = m_judge->compare(m_out.graph, m_progress);
        if (!errors)
            return failure(errors.error());
        m_out.errors = std::move(*errors);
        m_out.checkedOn = m_sets.text();
        if (const double error = worst(m_out.errors); !(error < ruined))
            m_out.notes.push_back(fmt::format(
                "the worst output is off by {:.2g} of its size: {}", error,
                m_options.maxError
                    ? "a smaller --max-error leaves more nodes in float"
                    : "another --range may cost less, and --mixed finds the nodes that cost it and "
                      "leaves them in float"));
        return std::move(m_out);
    }

    /// The file's own account of itself.
    void sayHow() {
        Metadata& metadata = m_out.graph.metadata;
        metadata["fuselage.quantize.data"] =
            m_out.plan.data +
            (m_rangesGenerated ? ": generated inputs say nothing about real data" : "");
        metadata["fuselage.quantize.type"] = m_options.type ? nameOf(*m_options.type) : "float";
        metadata["fuselage.quantize.weights"] = nameOf(m_options.weights);
        metadata["fuselage.quantize.range"] =
            m_options.plan ? "by plan" : nameOf(m_options.range.method);
        metadata["fuselage.quantize.bias"] = nameOf(m_options.bias);
        if (m_out.plan.smooth)
            metadata["fuselage.quantize.smooth"] = fmt::format("{}", *m_out.plan.smooth);
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
