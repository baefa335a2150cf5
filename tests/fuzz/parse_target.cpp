// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .fuse text: places of messages are in the text, and what parses without an error
// prints to a text that parses to the same tree.
#include "dsl/parse.h"
#include "dsl/print.h"
#include "tests/fuzz/target.h"
#include "tests/support/syntax_text.h"

using namespace fuselage;
using fuzz::promise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    SourceSet sources;
    uint32_t source = sources.add("fuzz.fuse", fuzz::textOf(data, size));
    dsl::ParsedFile parsed = dsl::parse(sources, source);
    for (const Diagnostic& diagnostic : parsed.diagnostics.all())
        promise(diagnostic.span.begin <= diagnostic.span.end && diagnostic.span.end <= size,
                "a message stands in the text", diagnostic.message);
    std::string rendered = render(parsed.diagnostics, sources);
    std::string printed = dsl::print(parsed.file);
    if (parsed.diagnostics.hasErrors())
        return 0;
    uint32_t again = sources.add("again.fuse", printed);
    dsl::ParsedFile reparsed = dsl::parse(sources, again);
    promise(!reparsed.diagnostics.hasErrors(), "what was printed parses",
            render(reparsed.diagnostics, sources) + printed);
    promise(testing_support::syntaxText(reparsed.file) == testing_support::syntaxText(parsed.file),
            "what was printed means the same", printed);
    promise(dsl::print(reparsed.file) == printed, "printing is stable", printed);
    return 0;
}
