// SPDX-License-Identifier: Apache-2.0
#include "app/cli/common_options.h"

#include "app/cli/console.h"
#include "core/support/file.h"

#include <CLI/CLI.hpp>

namespace fuselage::cli {

void addRewriteOptions(CLI::App& app, RewriteOptions& options) {
    // One value each time: what follows may be the model.
    app.add_option("--dim", options.dims, "bind a symbolic dimension, e.g. N=4; repeatable")
        ->allow_extra_args(false);
    app.add_option("-p,--patterns", options.rules.paths,
                   ".fuse file or folder of them; repeatable, after the built-in library")
        ->allow_extra_args(false);
    app.add_flag_callback(
        "--no-builtin", [&options] { options.rules.builtin = false; },
        "only the rules given with -p");
    app.add_option("--pipeline", options.fuse.pipeline, "pipeline of the rule files to run")
        ->capture_default_str();
    app.add_option("--decide", options.fuse.decide,
                   "rules: every legal match; cost: what the gates allow")
        ->capture_default_str();
    addPrecisionOption(app, options.precision);
    app.add_flag("-q,--quiet", options.quiet, "no progress");
}

void addPrecisionOption(CLI::App& app, std::string& precision) {
    app.add_option("--precision", precision,
                   "fp32, tf32, fp16 or bf16: what float32 values are stored as")
        ->capture_default_str();
}

Result<Precision> parsePrecision(const std::string& name) {
    if (auto precision = precisionFromName(name))
        return *precision;
    return failure("usage.precision", "no precision `" + name + "`", "--precision",
                   "one of: fp32, tf32, fp16, bf16");
}

Result<void> finish(RewriteOptions& options) {
    auto dims = parseDims(options.dims);
    if (!dims)
        return failure(dims.error());
    auto precision = parsePrecision(options.precision);
    if (!precision)
        return failure(precision.error());
    options.fuse.dims = *dims;
    options.fuse.precision = *precision;
    return {};
}

Result<void> writeFile(const std::string& path, const std::string& content) {
    if (path.rfind("-.", 0) == 0) {
        printOut(content);
        return {};
    }
    return fuselage::writeFile(content, path);
}

} // namespace fuselage::cli
