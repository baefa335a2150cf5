// SPDX-License-Identifier: Apache-2.0
// Running a graph whose shapes depend on data, again and again: once two runs in a row had the same
// shapes, the next are run by a plan for them.
#pragma once

#include "app/pipeline/staged.h"

#include <memory>

namespace fuselage::app {

/// `general` runs the graph for any data, and is the one that tactics and times of steps are about.
/// Where the data ask for other shapes than the last, it runs again; after a few such runs no more
/// plans are made for shapes.
std::unique_ptr<Executable> makeSettling(std::unique_ptr<Executable> general,
                                         std::shared_ptr<const Graph> graph,
                                         PrepareGraphRun prepare);

} // namespace fuselage::app
