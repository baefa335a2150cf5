// SPDX-License-Identifier: Apache-2.0
// Helpers of the dsl tests: one text in, its tree and its diagnostics out.
#pragma once

#include "dsl/load.h"
#include "tests/support/standard_import.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fuselage::dsl::test {

/// "E0101 3:7 expected `;`" for each diagnostic.
inline std::vector<std::string> problemsOf(const Diagnostics& diagnostics,
                                           const SourceSet& sources) {
    std::vector<std::string> out;
    for (const Diagnostic& d : diagnostics.all()) {
        LineColumn at = sources[d.span.source].position(d.span.begin);
        out.push_back(d.code + " " + std::to_string(at.line) + ":" + std::to_string(at.column) +
                      " " + d.message);
    }
    return out;
}

using testing_support::standardImport;

struct Parsed {
    SourceSet sources;
    ParsedFile result;

    explicit Parsed(const std::string& text) {
        result = parse(sources, sources.add("t.fuse", text));
    }

    std::vector<std::string> problems() const { return problemsOf(result.diagnostics, sources); }

    std::string rendered() const { return render(result.diagnostics, sources); }
};

struct Loaded {
    SourceSet sources;
    LoadedRules result;

    explicit Loaded(const std::string& text) {
        result = loadRules(sources, {{"t.fuse", text}}, standardImport);
    }

    const Rule& rule() const { return result.rules.rules.at(0); }

    std::vector<std::string> problems() const { return problemsOf(result.diagnostics, sources); }

    std::string rendered() const { return render(result.diagnostics, sources); }
};

inline std::string readFile(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::string exampleText() {
    return readFile(std::string(DSL_TEST_DATA) + "/language.fuse");
}

} // namespace fuselage::dsl::test
