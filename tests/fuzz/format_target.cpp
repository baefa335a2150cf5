// SPDX-License-Identifier: Apache-2.0
// Any bytes through the formatter: no word and no comment is lost or moved, formatting twice
// changes nothing more, and the tree stays the same.
#include "dsl/parse.h"
#include "dsl/service/format.h"
#include "tests/fuzz/target.h"
#include "tests/support/syntax_text.h"

using namespace fuselage;
using fuzz::promise;

namespace {

std::string wordsOf(const std::string& text) {
    std::string out;
    for (const dsl::Token& token : dsl::tokenize(text)) {
        std::string_view word = dsl::textOf(token, text);
        // The formatter drops white space at the end of a comment.
        if (token.kind == dsl::Token::Kind::Comment || token.kind == dsl::Token::Kind::DocComment)
            word = word.substr(0, word.find_last_not_of(" \t\r") + 1);
        out.append(word).append("\n");
    }
    return out;
}

std::string treeOf(const std::string& text) {
    SourceSet sources;
    dsl::ParsedFile parsed = dsl::parse(sources, sources.add("fuzz.fuse", text));
    return parsed.diagnostics.hasErrors() ? "errors" : testing_support::syntaxText(parsed.file);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string text = fuzz::textOf(data, size);
    std::string formatted = dsl::formatText(text);
    promise(wordsOf(formatted) == wordsOf(text), "formatting keeps words and comments", formatted);
    promise(dsl::formatText(formatted) == formatted, "formatting is stable", formatted);
    // A text with mistakes may lose one: `0all` becomes two words.
    std::string tree = treeOf(text);
    promise(tree == "errors" || treeOf(formatted) == tree, "formatting keeps the meaning",
            formatted);
    return 0;
}
