// SPDX-License-Identifier: Apache-2.0
// Any bytes as the JSON of a report or a run: refused by an error, or read so that writing it and
// reading that again changes nothing.
#include "app/report/json.h"
#include "app/report/json_read.h"
#include "app/report/run_json.h"
#include "tests/fuzz/target.h"

using namespace fuselage;
using fuzz::promise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string text = fuzz::textOf(data, size);
    if (Result<app::Report> report = app::readJson(text)) {
        std::string written = app::renderJson(*report);
        Result<app::Report> again = app::readJson(written);
        promise(again, "a written report is read");
        promise(app::renderJson(*again) == written, "a report keeps what it says", written);
    }
    if (Result<app::RunReport> run = app::readRun(text, {})) {
        Result<app::RunReport> again = app::readRun(app::renderResults(*run), {});
        promise(again, "a written run is read");
    }
    return 0;
}
