// SPDX-License-Identifier: Apache-2.0
// A phase in a body of If, Loop or Scan sees names of that body alone; outside, they have its path
// in front. Translates options on the way in and the Trace on the way out.
#pragma once

#include "core/rewrite/engine_options.h"

#include <string>

namespace fuselage {

/// Of the options those for the body: matches that are switched off there.
EngineOptions optionsInside(const EngineOptions& options, const std::string& path);

/// Every name of a node or value gets the path.
Trace withPath(Trace trace, const std::string& path);

/// What `part` says follows what is there; counts are added.
void append(Trace& to, Trace part);

bool appliedAny(const Trace& trace);

} // namespace fuselage
