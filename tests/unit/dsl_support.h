// SPDX-License-Identifier: Apache-2.0
// Helpers of the dsl tests: one text in, its tree and its diagnostics out.
#pragma once

#include "dsl/parse.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fuselage::dsl::test {

struct Parsed {
    SourceSet sources;
    ParsedFile result;

    explicit Parsed(const std::string& text) {
        result = parse(sources, sources.add("t.fuse", text));
    }

    /// "E0101 3:7 expected `;`" for each diagnostic.
    std::vector<std::string> problems() const {
        std::vector<std::string> out;
        for (const Diagnostic& d : result.diagnostics.all()) {
            LineColumn at = sources[d.span.source].position(d.span.begin);
            out.push_back(d.code + " " + std::to_string(at.line) + ":" + std::to_string(at.column) +
                          " " + d.message);
        }
        return out;
    }

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
