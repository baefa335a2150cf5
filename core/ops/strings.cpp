// SPDX-License-Identifier: Apache-2.0
// Case is changed for ASCII letters only; the `locale` attribute is not read.
#include "core/ops/strings.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

std::string withCase(std::string text, bool upper) {
    for (char& c : text) {
        if (upper && c >= 'a' && c <= 'z')
            c = static_cast<char>(c - 'a' + 'A');
        else if (!upper && c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

// --- StringNormalizer ---------------------------------------------------------------------

void inferNormalizer(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x && !x->empty()) {
        shape = *x;
        shape->back() = Dim(); // stop words are dropped
    }
    setTensor(context, 0, DType::String, std::move(shape));
}

Results runNormalizer(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const bool vector = x.extents.size() == 1;
    if (x.dtype != DType::String || (!vector && (x.extents.size() != 2 || x.extents[0] != 1)))
        return badInput(
            node, fmt::format("the input must be strings [C] or [1,C], not {}", text(x.extents)));
    const bool sensitive = node.attributes.integer("is_case_sensitive") != 0;
    const std::string action = node.attributes.string("case_change_action", "NONE");
    std::vector<std::string> stopwords = node.attributes.strings("stopwords");
    if (!sensitive)
        for (std::string& word : stopwords)
            word = withCase(word, false);
    std::vector<std::string> kept;
    for (const std::string& word : x.strings) {
        const std::string compared = sensitive ? word : withCase(word, false);
        if (std::find(stopwords.begin(), stopwords.end(), compared) != stopwords.end())
            continue;
        kept.push_back(action == "NONE" ? word : withCase(word, action == "UPPER"));
    }
    if (kept.empty())
        kept.emplace_back(); // the standard wants one empty string then
    ReferenceValue out;
    out.dtype = DType::String;
    out.extents = {static_cast<int64_t>(kept.size())};
    if (!vector)
        out.extents.insert(out.extents.begin(), 1);
    out.strings = std::move(kept);
    return single(std::move(out));
}

// --- StringConcat, StringSplit, RegexFullMatch --------------------------------------------

void inferConcatenation(InferContext& context) {
    const Shape* a = shapeOf(context, 0);
    const Shape* b = shapeOf(context, 1);
    std::optional<Shape> shape;
    if (a && b) {
        shape = broadcastShapes(*a, *b);
        if (!shape)
            return context.fail(fmt::format("{} and {} do not broadcast", text(*a), text(*b)));
    }
    setTensor(context, 0, DType::String, std::move(shape));
}

Results runConcatenation(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& a = *inputs[0];
    const ReferenceValue& b = *inputs[1];
    const auto extents = broadcastExtents(a.extents, b.extents);
    if (!extents || a.dtype != DType::String || b.dtype != DType::String)
        return badInput(
            node, fmt::format("{} and {} do not broadcast", text(a.extents), text(b.extents)));
    auto out = allocateResult(node, DType::String, *extents);
    if (!out)
        return single(std::move(out));
    for (StridedWalk walk(*extents, {broadcastStrides(a.extents, *extents),
                                     broadcastStrides(b.extents, *extents)});
         walk.valid(); walk.next())
        out->strings[static_cast<size_t>(walk.position())] =
            a.strings[static_cast<size_t>(walk.offset(0))] +
            b.strings[static_cast<size_t>(walk.offset(1))];
    return single(std::move(out));
}

/// Pieces of a string; an empty delimiter splits at runs of white space.
std::vector<std::string> pieces(const std::string& text, const std::string& delimiter,
                                int64_t most) {
    std::vector<std::string> out;
    constexpr const char* space = " \t\n\v\f\r";
    size_t at = delimiter.empty() ? text.find_first_not_of(space) : 0;
    while (at != std::string::npos && at <= text.size()) {
        if (text.empty())
            break;
        const bool last = most >= 0 && static_cast<int64_t>(out.size()) == most;
        const size_t end = last                ? std::string::npos
                           : delimiter.empty() ? text.find_first_of(space, at)
                                               : text.find(delimiter, at);
        if (end == std::string::npos) {
            std::string rest = text.substr(at);
            if (delimiter.empty())
                rest.erase(rest.find_last_not_of(space) + 1);
            out.push_back(std::move(rest));
            break;
        }
        out.push_back(text.substr(at, end - at));
        at = delimiter.empty() ? text.find_first_not_of(space, end) : end + delimiter.size();
    }
    return out;
}

void inferSplitting(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape = x ? std::optional(*x) : std::nullopt;
    setTensor(context, 1, DType::Int64, shape);
    if (shape)
        shape->push_back(Dim());
    setTensor(context, 0, DType::String, std::move(shape));
}

Results runSplitting(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    if (x.dtype != DType::String)
        return badInput(node, "the input must be strings");
    const std::string delimiter = node.attributes.string("delimiter");
    const int64_t most = node.attributes.integer("maxsplit", -1);
    std::vector<std::vector<std::string>> split;
    size_t longest = 0;
    ReferenceValue counts = ReferenceValue::tensor(DType::Int64, x.extents);
    for (const std::string& word : x.strings) {
        split.push_back(pieces(word, delimiter, most));
        counts.ints[split.size() - 1] = static_cast<int64_t>(split.back().size());
        longest = std::max(longest, split.back().size());
    }
    Extents extents = x.extents;
    extents.push_back(static_cast<int64_t>(longest));
    auto out = allocateResult(node, DType::String, std::move(extents));
    if (!out)
        return failure(out.error());
    for (size_t i = 0; i < split.size(); ++i)
        std::move(split[i].begin(), split[i].end(),
                  out->strings.begin() + static_cast<std::ptrdiff_t>(i * longest));
    std::vector<ReferenceValue> results;
    results.push_back(std::move(*out));
    results.push_back(std::move(counts));
    return trimmed(node, std::move(results));
}

void inferRegex(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, DType::Bool, x ? std::optional(*x) : std::nullopt);
}

/// The library's matcher recurses over its input, so both lengths are bounded.
constexpr size_t maxPattern = 1024;
constexpr size_t maxSubject = 4096;

Results runRegex(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const std::string pattern = node.attributes.string("pattern");
    if (x.dtype != DType::String || pattern.size() > maxPattern)
        return badInput(node, fmt::format("the input must be strings, the pattern at most {} bytes",
                                          maxPattern));
    ReferenceValue out = ReferenceValue::tensor(DType::Bool, x.extents);
    auto flags = std::regex::ECMAScript;
#ifdef __GLIBCXX__
    flags |= std::regex_constants::__polynomial; // no exponential backtracking
#endif
    try {
        const std::regex regex(pattern, flags);
        for (size_t i = 0; i < x.strings.size(); ++i) {
            if (x.strings[i].size() > maxSubject)
                return badInput(node,
                                fmt::format("string {} is longer than {} bytes", i, maxSubject));
            out.ints[i] = std::regex_match(x.strings[i], regex);
        }
    } catch (const std::regex_error& error) {
        return badInput(node, fmt::format("pattern `{}`: {}", pattern, error.what()));
    }
    return single(std::move(out));
}

// --- TfIdfVectorizer ----------------------------------------------------------------------

/// One past the largest output position; 0 when an index is negative or too large.
int64_t vectorWidth(const Attributes& attributes) {
    int64_t width = 0;
    for (int64_t index : attributes.integers("ngram_indexes")) {
        if (index < 0 || index >= maxReferenceElements)
            return 0;
        width = std::max(width, index + 1);
    }
    return width;
}

void inferTfIdf(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x && !x->empty()) {
        shape = *x;
        shape->back() = vectorWidth(context.node().attributes);
    }
    setTensor(context, 0, DType::Float32, std::move(shape));
}

struct GramSettings {
    int64_t shortest = 1;
    int64_t longest = 1;
    int64_t skips = 0;
};

/// Position in the pool of every known n-gram.
template <typename Token>
std::optional<std::map<std::vector<Token>, size_t>> gramsOf(const std::vector<Token>& pool,
                                                            const std::vector<int64_t>& starts) {
    std::map<std::vector<Token>, size_t> out;
    size_t next = 0;
    for (size_t n = 1; n <= starts.size(); ++n) {
        const auto size = static_cast<int64_t>(pool.size());
        const int64_t begin = starts[n - 1];
        const int64_t end = n < starts.size() ? starts[n] : size;
        if (begin < 0 || begin > end || end > size || (end - begin) % static_cast<int64_t>(n) != 0)
            return std::nullopt;
        for (int64_t at = begin; at < end; at += static_cast<int64_t>(n))
            out.emplace(
                std::vector<Token>(pool.begin() + at, pool.begin() + at + static_cast<int64_t>(n)),
                next++);
    }
    return out;
}

/// Calls found(position in the pool) for every n-gram of a row, with and without skips.
template <typename Token, typename Found>
void countGrams(const std::map<std::vector<Token>, size_t>& grams, const Token* row, int64_t length,
                const GramSettings& settings, Found&& found) {
    for (int64_t n = settings.shortest; n <= settings.longest; ++n)
        for (int64_t skip = 0; skip <= (n == 1 ? 0 : settings.skips); ++skip) {
            const int64_t span = (n - 1) * (skip + 1) + 1;
            if (span > length)
                break;
            for (int64_t begin = 0; begin + span <= length; ++begin) {
                std::vector<Token> gram;
                for (int64_t k = 0; k < n; ++k)
                    gram.push_back(row[begin + k * (skip + 1)]);
                if (const auto known = grams.find(gram); known != grams.end())
                    found(known->second);
            }
        }
}

Results runTfIdf(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const Attributes& attributes = node.attributes;
    const std::vector<int64_t> starts = attributes.integers("ngram_counts");
    const std::vector<int64_t> indexes = attributes.integers("ngram_indexes");
    const std::vector<double> weights = attributes.numbers("weights");
    const std::string mode = attributes.string("mode", "TF");
    const int64_t width = vectorWidth(attributes);
    if (x.extents.empty() || x.extents.size() > 2 || isFloat(x.dtype) || width == 0 ||
        (!weights.empty() && weights.size() != indexes.size()))
        return badInput(node, "the input or the n-gram attributes cannot be used");
    GramSettings settings;
    const auto known = static_cast<int64_t>(starts.size());
    settings.shortest = std::max<int64_t>(1, attributes.integer("min_gram_length", 1));
    settings.longest = std::min(known, attributes.integer("max_gram_length", 1));
    settings.skips = std::clamp<int64_t>(attributes.integer("max_skip_count"), 0, x.extents.back());
    Extents extents = x.extents;
    extents.back() = width;
    auto out = allocateResult(node, DType::Float32, std::move(extents));
    if (!out)
        return single(std::move(out));
    bool usable = true;
    const auto run = [&](const auto& values, const auto& pool) {
        const auto grams = gramsOf(pool, starts);
        usable = grams && grams->size() <= indexes.size();
        const int64_t length = x.extents.back();
        for (int64_t row = 0; usable && length > 0 && row < x.count() / length; ++row) {
            std::vector<double> counts(indexes.size(), 0.0);
            countGrams(*grams, values.data() + row * length, length, settings,
                       [&](size_t gram) { counts[gram] += 1; });
            for (size_t i = 0; i < counts.size(); ++i) {
                const double weight = weights.empty() ? 1 : weights[i];
                const double value = mode == "TF"    ? counts[i]
                                     : mode == "IDF" ? (counts[i] > 0 ? weight : 0.0)
                                                     : counts[i] * weight;
                out->floats[static_cast<size_t>(row * width + indexes[i])] += value;
            }
        }
    };
    if (x.dtype == DType::String)
        run(x.strings, attributes.strings("pool_strings"));
    else
        run(x.ints, attributes.integers("pool_int64s"));
    if (!usable)
        return badInput(node, "`ngram_counts` does not divide the pool");
    return single(std::move(out));
}

} // namespace

std::span<const OpRow> stringsRows() {
    static const OpRow rows[] = {
        {.op = Op::RegexFullMatch,
         .name = "RegexFullMatch",
         .since = 20,
         .attributes = "pattern:string",
         .infer = inferRegex,
         .reference = onTensors<runRegex>},
        {.op = Op::StringConcat,
         .name = "StringConcat",
         .since = 20,
         .minInputs = 2,
         .maxInputs = 2,
         .inputs = "X Y",
         .infer = inferConcatenation,
         .reference = onTensors<runConcatenation>},
        {.op = Op::StringNormalizer,
         .name = "StringNormalizer",
         .since = 10,
         .attributes = "case_change_action:string='NONE' is_case_sensitive:int=0 locale:string "
                       "stopwords:strings",
         .infer = inferNormalizer,
         .reference = onTensors<runNormalizer>},
        {.op = Op::StringSplit,
         .name = "StringSplit",
         .since = 20,
         .minOutputs = 2,
         .maxOutputs = 2,
         .attributes = "delimiter:string maxsplit:int",
         .infer = inferSplitting,
         .reference = onTensors<runSplitting>},
        {.op = Op::TfIdfVectorizer,
         .name = "TfIdfVectorizer",
         .since = 9,
         .attributes =
             "max_gram_length:int! max_skip_count:int! min_gram_length:int! mode:string! "
             "ngram_counts:ints! ngram_indexes:ints! pool_int64s:ints pool_strings:strings "
             "weights:floats",
         .infer = inferTfIdf,
         .reference = onTensors<runTfIdf>},
    };
    return rows;
}

} // namespace fuselage
