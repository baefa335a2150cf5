// SPDX-License-Identifier: Apache-2.0
#include "dsl/load.h"

#include "core/support/file.h"
#include "dsl/compile.h"

#include <algorithm>
#include <charconv>

namespace fuselage::dsl {

namespace {

template <typename T> std::optional<T> numberIn(const std::string& text) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
}

void readEntry(const ast::TestEntry& entry, RuleTest& test, Diagnostics& diagnostics) {
    const std::string& word = entry.word.text;
    if (word == "graph" || word == "zoo" || word == "model") {
        if (test.given != RuleTest::Given::Nothing) {
            Diagnostic& d = diagnostics.error("E0211", entry.span, "a test has one graph");
            d.fix = "write a second test";
        }
        test.given = word == "graph" ? RuleTest::Given::Graph
                     : word == "zoo" ? RuleTest::Given::Zoo
                                     : RuleTest::Given::Model;
        test.subject = entry.text;
    } else if (word == "miss") {
        test.misses.push_back(entry.text);
    } else if (word == "same") {
        test.tolerance = numberIn<double>(entry.text);
    } else {
        std::optional<uint32_t> count = numberIn<uint32_t>(entry.text);
        if (!count) {
            Diagnostic& d = diagnostics.error("E0219", entry.span, "`" + word + "` takes a count");
            d.found = "`" + entry.text + "`";
            d.expected = "an integer";
            d.fix = "write `expect " + word + " 1`";
        }
        (word == "fires" ? test.fires : test.nodes) = count;
    }
}

RuleTest readTest(const ast::TestBlock& block, const ast::Rule& rule, const std::string& file,
                  Diagnostics& diagnostics) {
    RuleTest test;
    test.rule = rule.name.text;
    test.file = file;
    test.name = block.name;
    test.span = block.span;
    for (const ast::TestEntry& entry : block.entries)
        readEntry(entry, test, diagnostics);
    if (test.given == RuleTest::Given::Nothing && !hasSyntaxError(diagnostics, block.span)) {
        Diagnostic& d = diagnostics.error("E0210", block.span, "this test has no graph");
        d.expected = "`graph \"...\";`, `zoo name;` or `model \"path\";`";
        d.fix = "add one of them";
    }
    return test;
}

void collectTests(const Library& library, LoadedRules& out) {
    for (const auto& parsed : library.files())
        for (const ast::Item& item : parsed->file.items)
            if (auto* rule = std::get_if<ast::Rule>(&item))
                for (const ast::Clause& clause : rule->clauses)
                    if (auto* block = std::get_if<ast::TestBlock>(&clause))
                        out.tests.push_back(readTest(*block, *rule,
                                                     library.sources()[parsed->file.source].name(),
                                                     out.diagnostics));
}

} // namespace

LoadedRules loadRules(SourceSet& sources, const std::vector<RuleInput>& inputs,
                      const ImportResolver& resolver) {
    LoadedRules out;
    Library library(sources, out.diagnostics, resolver);
    // All texts are offered before any is loaded: an early one may import a later one.
    std::vector<std::pair<const RuleInput*, std::string>> texts;
    for (const RuleInput& input : inputs) {
        Result<std::string> text =
            input.text ? Result<std::string>(*input.text) : readFile(input.name);
        if (!text) {
            Diagnostic& d = out.diagnostics.error("E0202", {}, text.error().text());
            d.fix = text.error().fix;
        } else if (input.importPath.empty()) {
            texts.emplace_back(&input, std::move(*text));
        } else {
            library.offer(input.importPath, input.name, std::move(*text));
            texts.emplace_back(&input, "");
        }
    }
    for (auto& [input, text] : texts) {
        if (input->importPath.empty())
            library.add(input->name, std::move(text));
        else
            library.addOffered(input->importPath);
    }
    Compiled compiled = compile(library, out.diagnostics);
    out.rules = std::move(compiled.rules);
    out.forms = std::move(compiled.forms);
    collectTests(library, out);
    out.diagnostics.sort();
    return out;
}

} // namespace fuselage::dsl
