// SPDX-License-Identifier: Apache-2.0
#include "tests/lsp/edits.h"

#include "app/lsp/text_position.h"

#include <algorithm>

namespace fuselage::lsp_test {

using Json = nlohmann::json;

std::string withEdits(std::string text, Json edits) {
    std::sort(edits.begin(), edits.end(), [](const Json& a, const Json& b) {
        return std::pair(a["range"]["start"]["line"], a["range"]["start"]["character"]) >
               std::pair(b["range"]["start"]["line"], b["range"]["start"]["character"]);
    });
    for (const Json& edit : edits) {
        const lsp::PositionMap map(text);
        auto at = [&](const char* end) {
            return map.offset({edit["range"][end]["line"], edit["range"][end]["character"]});
        };
        const uint32_t begin = at("start");
        text.replace(begin, at("end") - begin, edit["newText"].get<std::string>());
    }
    return text;
}

} // namespace fuselage::lsp_test
