// SPDX-License-Identifier: Apache-2.0
// Many models, each in a child process of its own that runs `fuselage bench`, joined to one
// RunReport. A model that breaks, hangs or eats memory marks itself and nothing else.
#pragma once

#include "app/batch/child.h"
#include "app/report/run_report.h"

#include <string>
#include <vector>

namespace fuselage::batch {

struct Shard {
    size_t index = 1, of = 1; ///< 1-based
};

/// "I/N". Error "usage.shard".
Result<Shard> parseShard(const std::string& text);

/// An option of `bench` for some of the models.
struct ModelOption {
    std::string models;      ///< ids: a name, or a pattern (fitsId in gates/gate.h)
    std::string name, value; ///< "--dim", "N=4"; of a flag "true" or "false"
    bool flag = false;
};

struct BatchOptions {
    std::vector<std::string> models;    ///< files, or folders of them
    std::vector<std::string> forward;   ///< options of `bench` that every child gets
    std::vector<ModelOption> forModels; ///< in place of those of the same name in `forward`
    std::string output;                 ///< folder
    std::string program;                ///< to start: ownProgram()
    std::string version;
    std::string config; ///< hash of the options that results depend on
    size_t jobs = 1;
    double timeoutSeconds = 600;
    int64_t memoryBytes = 0;
    bool failFast = false;
    bool keepModels = true; ///< fused models beside the reports
    bool redact = false;    ///< what a child says of its mistake may hold names of the model
    Shard shard;
};

/// One model of the run.
struct ModelFile {
    std::string id, path;
};

/// Files in the folders and those named, sorted by id. An id is the file's name without its ending,
/// and where several files have one name, the folders before it that tell them apart:
/// "speech-encoder-model". Errors: "load.file" for what
/// is not there, "usage.models" when nothing is.
Result<std::vector<ModelFile>> findModels(const std::vector<std::string>& paths);

/// Those of one shard: by a stable hash of the id, so that a new model moves no other.
std::vector<ModelFile> ofShard(const std::vector<ModelFile>& models, const Shard& shard);

/// A line of progress for each model that starts or ends.
using Log = FunctionRef<void(const std::string& line)>;

/// Runs the models; files of each are in OUTPUT/models. Without gates; reasons are settled.
Result<app::RunReport> runModels(const BatchOptions& options, const Log& log, Progress& progress);

/// One model once more in a fresh process, without touching the output folder; for confirming
/// times.
Result<app::Report> measureAgain(const BatchOptions& options, const ModelFile& model,
                                 Progress& progress);

} // namespace fuselage::batch
