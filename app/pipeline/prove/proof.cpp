// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/proof.h"

#include "app/pipeline/prove/confirm_guard.h"
#include "app/pipeline/prove/judge.h"
#include "app/pipeline/prove/unsampled.h"
#include "core/algebra/exact_proof.h"
#include "core/graph/text.h"
#include "dsl/lint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

constexpr uint32_t samplesOfRewrite = 96;
/// Of a rewrite that fits some shapes only: where it is wrong it may fit seldom.
constexpr uint32_t samplesOfPartial = 480;
constexpr uint32_t samplesOfFusion = 24; ///< kernels are prepared for each
constexpr int maxShrinkSteps = 1500;
constexpr uint32_t samplesOfAnswer = 4; ///< more, for each way that a rewrite's pattern leaves open
constexpr uint32_t mostOfAnswers = 384;
constexpr uint32_t clearlyFailing = 12;
constexpr uint32_t hopeless = 400; ///< attempts without one sample that fits

const char* nameOf(Contents contents) {
    constexpr const char* names[] = {"distinct numbers",
                                     "multiples of 1/4",
                                     "0, 1 and -1",
                                     "normal numbers",
                                     "magnitudes from 1e-4 to 1e4",
                                     "the ends of the type",
                                     "NaN and infinities among them",
                                     "NaN among them"};
    return names[static_cast<size_t>(contents)];
}

/// Smaller is simpler: fewer nodes, then fewer elements, then fewer decisions off their default.
struct Size {
    size_t nodes = 0;
    int64_t elements = 0;
    uint64_t choices = 0;

    friend auto operator<=>(const Size&, const Size&) = default;
};

struct Failing {
    Sample sample;
    Verdict verdict;
    Size size;
    std::vector<uint32_t> choices;
};

class Shrinker {
public:
    Shrinker(const PreparedRule& rule, const Judge& judge, Failing failing, Progress& progress)
        : m_rule(rule), m_judge(judge), m_best(std::move(failing)), m_progress(progress) {}

    Failing run();

private:
    bool accept(std::vector<uint32_t> choices);
    bool dropRuns();
    bool lowerEach();

    const PreparedRule& m_rule;
    const Judge& m_judge;
    Failing m_best;
    Progress& m_progress;
    int m_steps = 0;
    std::set<std::vector<uint32_t>> m_tried; ///< in vain: what is best only gets smaller
};

Size sizeOf(const Sample& sample, const std::vector<uint32_t>& choices) {
    constexpr int64_t odd = 100; // a dimension of 0 is simpler for nobody who reads it
    Size size;
    size.nodes = sample.graph.nodeCount();
    for (ValueId value : sample.graph.values()) {
        size.elements += sample.graph.value(value).type.elementCount().value_or(0);
        auto extents = sample.graph.value(value).type.extents();
        for (int64_t extent : extents.value_or(Extents{}))
            size.elements += extent > 4 ? 1000 * extent : extent == 0 ? odd : 0;
    }
    for (uint32_t choice : choices)
        size.choices += choice;
    return size;
}

bool Shrinker::accept(std::vector<uint32_t> tried) {
    if (m_progress.cancelled() || !m_tried.insert(tried).second || ++m_steps > maxShrinkSteps)
        return false;
    Choices choices(std::move(tried));
    auto sample = generateSample(m_rule, choices, m_progress);
    if (!sample)
        return false;
    Size size = sizeOf(*sample, choices.taken());
    if (!(size < m_best.size))
        return false;
    Verdict verdict = m_judge.of(*sample, m_progress);
    if (verdict.kind != Verdict::Kind::Differs)
        return false;
    m_best = {std::move(*sample), std::move(verdict), size, choices.taken()};
    return true;
}

/// Decisions taken out: what comes after them moves up.
bool Shrinker::dropRuns() {
    bool better = false;
    for (size_t length : {8, 4, 2, 1})
        for (size_t at = 0; at + length <= m_best.choices.size();) {
            std::vector<uint32_t> tried = m_best.choices;
            auto from = tried.begin() + static_cast<std::ptrdiff_t>(at);
            tried.erase(from, from + static_cast<std::ptrdiff_t>(length));
            if (accept(std::move(tried)))
                better = true;
            else
                ++at;
        }
    return better;
}

bool Shrinker::lowerEach() {
    bool better = false;
    for (size_t at = 0; at < m_best.choices.size(); ++at)
        for (uint32_t value = 0;
             at < m_best.choices.size() && value < m_best.choices[at] && value < 6; ++value) {
            std::vector<uint32_t> tried = m_best.choices;
            tried[at] = value;
            if (accept(std::move(tried))) {
                better = true;
                break;
            }
        }
    return better;
}

Failing Shrinker::run() {
    while ((lowerEach() || dropRuns()) && m_steps <= maxShrinkSteps)
        ;
    return std::move(m_best);
}

Counterexample exampleOf(const Failing& failing, uint64_t seed) {
    TextOptions options;
    options.maxConstant = 4096;
    Counterexample out{seed, text(failing.sample.graph, options), failing.verdict.reason,
                       nameOf(failing.sample.contents), 0};
    for (ValueId value : failing.sample.graph.values())
        if (isFloat(failing.sample.graph.value(value).type.dtype)) // not the length of a pads list
            for (int64_t extent :
                 failing.sample.graph.value(value).type.extents().value_or(Extents{}))
                out.largestExtent = std::max(out.largestExtent, extent);
    return out;
}

/// Alternatives, optional steps and the like: each is to be met several times.
uint32_t answersOf(const Rule& rule) {
    size_t out = 0;
    for (const Term& term : rule.terms) {
        out += term.alternatives.size() > 1 ? term.alternatives.size() : 0;
        out += term.kind == Term::Kind::Optional || term.mayBeAbsent ? 2 : 0;
        out += term.kind == Term::Kind::Node && term.ops.size() > 1 ? term.ops.size() : 0;
    }
    return static_cast<uint32_t>(std::min<size_t>(out, mostOfAnswers));
}

/// Samples beyond the usual number are worth fewer tries each.
uint32_t mostAttempts(uint32_t wanted, const ProofOptions& options) {
    const uint32_t usual = std::min(wanted, samplesOfRewrite);
    return usual * options.attempts + (wanted - usual) * options.attempts / 4;
}

/// What was found wrong is not proved, whatever the algebra says.
void decideLevel(const Rule& rule, const ProofOptions& options, RuleProof& proof,
                 Progress& progress) {
    if (proof.failing > 0)
        return;
    proof.level = proof.samples > 0 ? ProofLevel::Tested : ProofLevel::None;
    // What is not allowed wherever it matches cannot be right.
    if (!options.exact || (proof.samples == 0 && proof.refused > 0))
        return;
    ExactProof exact = proveExactly(rule, progress);
    proof.obstacle = std::move(exact.obstacle);
    if (exact.level == ExactProof::Level::None)
        return;
    proof.level = exact.level == ExactProof::Level::Bits ? ProofLevel::Bits : ProofLevel::Reals;
    proof.conditions = std::move(exact.conditions);
}

std::string withoutBody(const Expression& expression) {
    std::string found =
        expression.custom && !expression.custom->body ? expression.custom->text() : "";
    for (const Expression& argument : expression.args)
        found = found.empty() ? withoutBody(argument) : found;
    return found;
}

/// What a call says of its operator's operands.
struct Given {
    size_t positional = 0;
    std::set<std::string> named;
};

/// The first operand that the body reads and the call leaves out: such a node computes nothing.
std::string withoutOperand(const CustomOperator& custom, const Given& given) {
    for (size_t i = given.positional; custom.body && i < custom.inputs.size(); ++i)
        if (!given.named.contains(custom.inputs[i]))
            return fmt::format("`{}` computes nothing without its operand `{}`", custom.text(),
                               custom.inputs[i]);
    return {};
}

std::string withoutOperand(const Expression& expression) {
    std::string found;
    if (expression.custom)
        found = withoutOperand(*expression.custom, {expression.args.size(), {}});
    for (const Expression& argument : expression.args)
        found = found.empty() ? withoutOperand(argument) : found;
    return found;
}

std::string withoutOperand(const Rule& rule) {
    std::string found;
    for (const Term& term : rule.terms) {
        Given given;
        for (const Argument& argument : term.arguments) {
            given.positional += argument.name.empty();
            given.named.insert(argument.name);
        }
        for (const CustomOperatorPtr& custom : term.custom)
            if (found.empty() && term.hasArguments)
                found = withoutOperand(*custom, given);
    }
    for (const Assignment& assignment : rule.rewrite)
        found = found.empty() ? withoutOperand(assignment.value) : found;
    return found;
}

/// The first operator of the rule that nobody computes; empty: none.
std::string withoutBody(const Rule& rule) {
    for (const Term& term : rule.terms)
        for (const CustomOperatorPtr& custom : term.custom)
            if (!custom->body)
                return custom->text();
    for (const Assignment& assignment : rule.rewrite)
        if (std::string found = withoutBody(assignment.value); !found.empty())
            return found;
    return {};
}

/// For a rule that fires in no sample.
std::string adviceFor(const Rule& rule) {
    Diagnostics replaced;
    dsl::lintReplaced(rule, replaced);
    if (const auto& all = replaced.all(); !all.empty())
        return all[0].message + "; " + all[0].fix;
    return "give sizes that reach it, `verify 24 with { N in {...} };`, or test it with "
           "`expect same`";
}

/// Of a rule that is right for its own numbers and wrong for those that its match takes for them.
std::string adviceAtEdge(const Rule& rule) {
    const auto number = std::find_if(rule.terms.begin(), rule.terms.end(), [](const Term& term) {
        return term.kind == Term::Kind::Number && term.tolerance > 0 && term.number != 0;
    });
    if (number == rule.terms.end())
        return {};
    return fmt::format(
        "`{0:g}` stands for all numbers within {1:g} of it, relatively: for this one "
        "alone write `k: const scalar` in its place and `where k.value == {0:g}`",
        number->number, number->tolerance);
}

} // namespace

const char* verdictOf(const RuleProof& proof) {
    if (proof.failing > 0)
        return "unsound";
    constexpr const char* words[] = {"without a sample", "tested", "equal over the reals",
                                     "proved"};
    return words[static_cast<size_t>(proof.level)];
}

std::string verdictText(const RuleProof& proof) {
    std::string out = verdictOf(proof);
    if (!proof.open.empty())
        return out + ": " + proof.open;
    constexpr size_t mostNamed = 6;
    if (proof.level == ProofLevel::Tested) {
        out += fmt::format(" on {} samples; not proved: {}", proof.samples, proof.obstacle);
        const size_t count = proof.unsampled.size();
        if (count > 0)
            out += "; not sampled: ";
        for (size_t i = 0; i < std::min(count, mostNamed); ++i)
            out += (i > 0 ? ", " : "") + proof.unsampled[i];
        return count > mostNamed ? out + fmt::format(" and {} more", count - mostNamed) : out;
    }
    if (proof.isExact() && !proof.conditions.empty())
        out += fmt::format(" (given: {})", fmt::join(proof.conditions, "; "));
    return out;
}

RuleProof proveRule(const Rule& rule, const ProofOptions& options, Progress& progress) {
    if (rule.writtenOut)
        return proveRule(*rule.writtenOut, options, progress);
    RuleProof proof;
    proof.rule = rule.name;
    proof.where = fmt::format("{}:{}", rule.file, rule.line);
    proof.isRewrite = rule.isRewrite;
    proof.span = rule.span;
    if (const std::string custom = withoutBody(rule); !custom.empty()) {
        proof.open = fmt::format("`{}` has no body", custom);
        return proof;
    }
    auto prepared = prepareRule(rule);
    const std::vector<GuardTerm> terms = guardTerms(rule);
    const Judge judge(rule);
    uint32_t wanted = samplesOfFusion;
    if (rule.isRewrite)
        wanted = samplesOfRewrite + std::min(samplesOfAnswer * answersOf(rule), mostOfAnswers);
    if (rule.verify)
        wanted = rule.verify->samples;
    if (options.samples > 0)
        wanted = options.samples;
    PairCoverage coverage;
    Met met;
    Judged judged;
    std::optional<Failing> smallest;
    uint64_t seedOfSmallest = 0;
    uint32_t failingAtEdge = 0;
    uint32_t partial = 0; ///< attempts in which the rewrite was of another type
    const bool isOpen = rule.isRewrite && !rule.verify && options.samples == 0;
    const uint32_t most = mostAttempts(wanted, options);
    // Where samples are rare, a few differences say enough; many do where a rule has many answers.
    auto isClear = [&] {
        return (proof.failing >= clearlyFailing && proof.attempts > 20 * proof.samples) ||
               (proof.failing >= samplesOfRewrite / 2 && proof.samples >= samplesOfRewrite);
    };
    while (proof.samples < wanted && proof.attempts < most && !isClear() &&
           !(proof.samples == 0 && proof.attempts > hopeless * 4) && !progress.cancelled()) {
        ++proof.attempts;
        // Many optional steps that seldom go together: most of them left out is a sample at least.
        const bool isScarce = proof.attempts > hopeless && proof.samples * 40 < proof.attempts;
        Choices choices(sampleSeed(options.seed, proof.attempts), coverage,
                        isScarce && proof.attempts % 2 == 0);
        auto sample = generateSample(*prepared, choices, progress, terms);
        // Infeasible pairs count too, else they would be tried forever.
        coverage.add(choices.structure());
        if (!sample) {
            if (proof.samples == 0)
                proof.unfit = "no valid graph";
            continue;
        }
        Verdict verdict = judge.of(*sample, progress);
        proof.refused += verdict.isRefused ? 1 : 0;
        if (verdict.kind == Verdict::Kind::Unfit) {
            proof.unfit = verdict.reason;
            partial += verdict.isPartial ? 1 : 0;
            continue;
        }
        ++proof.samples;
        if (isOpen && wanted < samplesOfPartial && partial * 20 > proof.attempts &&
            proof.samples == wanted)
            wanted = samplesOfPartial;
        note(met, choices.structure(), *sample);
        const bool isAgreed = verdict.kind == Verdict::Kind::Agrees;
        (isAgreed ? judged.agreed : judged.differed).push_back(choices.taken());
        if (isAgreed) {
            judged.passing.push_back(sample->facts);
            continue;
        }
        ++proof.failing;
        failingAtEdge += sample->isAtEdge ? 1 : 0;
        judged.failing.push_back(sample->facts);
        Size size = sizeOf(*sample, choices.taken());
        if (!smallest || size < smallest->size) {
            smallest = Failing{std::move(*sample), std::move(verdict), size, choices.taken()};
            seedOfSmallest = proof.attempts;
        }
    }
    if (!met.hasResults && proof.failing == 0) {
        proof.empty = proof.samples;
        proof.samples = 0;
        proof.unfit = proof.empty > 0 ? "dimensions of 0" : proof.unfit;
    }
    if (smallest) {
        Failing shrunk = Shrinker(*prepared, judge, std::move(*smallest), progress).run();
        proof.counterexamples.push_back(exampleOf(shrunk, seedOfSmallest));
        if (failingAtEdge == proof.failing) {
            proof.advice = adviceAtEdge(rule);
        } else {
            const Guard guard =
                confirmedGuard(*prepared, std::move(judged), options.seed + 1, progress);
            proof.shared = guard.shared;
            proof.guard = guard.suggested;
            proof.guarded = guard.agreeing;
            proof.isGuardProved = guard.isProved;
        }
    }
    if (proof.samples > 0)
        proof.unsampled = unsampled(rule, met);
    else
        proof.open = withoutOperand(rule);
    if (proof.samples == 0)
        proof.advice = proof.empty > 0     ? "let `verify` draw sizes that are not 0"
                       : proof.refused > 0 ? "look at types and attributes: wherever it matched, "
                                             "ONNX does not allow the rewrite"
                                           : adviceFor(rule);
    decideLevel(rule, options, proof, progress);
    return proof;
}

Result<std::vector<RuleProof>> proveRules(const RuleLibrary& library, const ProofOptions& options,
                                          Progress& progress) {
    std::vector<const Rule*> chosen;
    // Forms first: a rule with a `spec` is as true as they are.
    for (const auto* rules : {&library.loaded.forms, &library.loaded.rules.rules})
        for (const Rule& rule : *rules) {
            bool inFile = options.files.empty() ||
                          std::find(options.files.begin(), options.files.end(), rule.file) !=
                              options.files.end();
            if (inFile && (options.rule.empty() || options.rule == rule.name))
                chosen.push_back(&rule);
        }
    std::vector<RuleProof> out;
    for (const Rule* rule : chosen) {
        progress.report("rule proofs", out.size(), chosen.size());
        out.push_back(proveRule(*rule, options, progress));
        if (progress.cancelled())
            return cancelledFailure("rule proofs");
    }
    progress.report("rule proofs", out.size(), chosen.size());
    return out;
}

std::string withoutSample(const RuleProof& proof) {
    return proof.empty > 0
               ? fmt::format("no sample: of the {} graphs in which it fired none has a result "
                             "with an element",
                             proof.empty)
               : fmt::format("no sample: it fired in none of {} generated graphs", proof.attempts);
}

std::string guardAdvice(const RuleProof& proof) {
    return proof.isGuardProved
               ? fmt::format("with {} it is proved", proof.guard)
               : fmt::format(
                     "with {} the {} samples that are left agree; that proves nothing: look "
                     "whether it is the cause",
                     proof.guard, proof.guarded);
}

std::string proofText(const RuleProof& proof) {
    if (proof.passed())
        return {};
    bool isForm = proof.rule.starts_with("form ");
    const std::string what =
        isForm ? "form `" + proof.rule.substr(5) + "`" : "rule `" + proof.rule + "`";
    if (proof.failing == 0)
        return fmt::format("warning[W0503]: {} has {}\t{}\n   = the last one: {}\n   = fix: {}\n",
                           what, withoutSample(proof), proof.where, proof.unfit, proof.advice);
    const Counterexample& example = proof.counterexamples[0];
    std::string out = fmt::format("error[E0501]: {} is unsound: {} of {} samples differ"
                                  "\t{}\n",
                                  what, proof.failing, proof.samples, proof.where);
    out += fmt::format("   = smallest counterexample (seed {}, inputs {}): {}\n", example.seed,
                       example.contents, example.difference);
    size_t from = 0;
    while (from < example.graph.size()) {
        size_t end = std::min(example.graph.find('\n', from), example.graph.size());
        out += "   | " + example.graph.substr(from, end - from) + "\n";
        from = end + 1;
    }
    if (!proof.guard.empty())
        out += fmt::format("   = the failing samples share {}\n   = fix: {}\n", proof.shared,
                           guardAdvice(proof));
    else if (!proof.advice.empty())
        out += "   = fix: " + proof.advice + "\n";
    return out;
}

} // namespace fuselage::app
