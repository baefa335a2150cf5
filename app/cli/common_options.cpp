// SPDX-License-Identifier: Apache-2.0
#include "app/cli/common_options.h"

#include "app/cli/console.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace fuselage::cli {

namespace {

/// Removes what was begun.
Failure cannotWrite(const std::string& beside, const std::string& path) {
    std::string reason = std::strerror(errno);
    std::remove(beside.c_str());
    return failure("write.file", "the file cannot be written: " + reason, path,
                   "check the folder's permissions and free space");
}

} // namespace

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
    app.add_flag("-q,--quiet", options.quiet, "no progress");
}

Result<void> finish(RewriteOptions& options) {
    auto dims = parseDims(options.dims);
    if (!dims)
        return failure(dims.error());
    options.fuse.dims = *dims;
    return {};
}

Result<void> writeFile(const std::string& path, const std::string& content) {
    if (path.rfind("-.", 0) == 0) {
        printOut(content);
        return {};
    }
    std::string beside = path + ".partial";
    {
        std::ofstream out(beside, std::ios::binary);
        out << content;
        out.flush();
        if (!out)
            return cannotWrite(beside, path);
    }
    if (std::rename(beside.c_str(), path.c_str()) != 0)
        return cannotWrite(beside, path);
    return {};
}

} // namespace fuselage::cli
