// SPDX-License-Identifier: Apache-2.0
// Any bytes open in an editor: everything that the language service answers, at places spread over
// the text; places of answers are in the text.
#include "dsl/service/service.h"
#include "tests/fuzz/target.h"
#include "tests/support/standard_import.h"

#include <algorithm>

using namespace fuselage;
using fuzz::promise;
using testing_support::smallImport;

namespace {

constexpr uint32_t places = 8;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string name = "fuzz.fuse";
    auto end = static_cast<uint32_t>(size);
    auto inside = [&](const auto& piece) {
        promise(piece.begin <= piece.end && piece.end <= end, "an answer stands in the text");
    };
    dsl::LanguageService service(smallImport, {{"resnet50"}, {"std/activation"}});
    service.set(name, fuzz::textOf(data, size));
    for (const Diagnostic& diagnostic : service.diagnose(name))
        inside(diagnostic.span);
    for (const dsl::Highlight& highlight : service.highlight(name))
        inside(highlight);
    for (const dsl::Symbol& symbol : service.symbols(name))
        inside(symbol);
    for (const dsl::Fold& fold : service.folds(name))
        inside(fold);
    std::string formatted = service.format(name);
    service.actions(name, 0, end);
    for (uint32_t i = 0; i <= places; ++i) {
        uint32_t at = static_cast<uint32_t>(uint64_t{end} * i / places);
        service.complete(name, at);
        if (auto hover = service.hover(name, at))
            inside(*hover);
        if (auto place = service.definition(name, at); place && place->name == name)
            inside(*place);
        for (const dsl::Place& place : service.references(name, at))
            if (place.name == name)
                inside(place);
        if (auto edits = service.rename(name, at, "renamed"))
            for (const dsl::TextEdit& edit : *edits)
                inside(edit.place);
    }
    return 0;
}
