// SPDX-License-Identifier: Apache-2.0
// Scenes and charts as SVG by hand: small, with ids and classes for scripts, titles for people.
// Colours are classes; one style element holds them for light and dark.
#pragma once

#include "app/pipeline/report.h"
#include "app/report/chart/chart.h"
#include "app/report/scene/scene.h"

#include <string>

namespace fuselage::app {

/// The elements of one side, moved by (x, y); ids get the prefix. Not a document.
std::string svgElements(const scene::Scene& scene, scene::Side side, double x, double y,
                        const std::string& idPrefix);

/// The elements of a chart. Not a document.
std::string svgElements(const chart::Chart& chart, double x, double y);

/// Rules for the classes that svgElements uses. `scope` stands before each selector ("" or
/// ".drawing "); colours are those of the light theme, and of the dark one where that is wanted.
std::string svgStyle(const std::string& scope);

/// The same with the page's variables for colours: "var(--rule-3)".
std::string svgPageStyle(const std::string& scope);

/// A document of one chart, or of one side.
std::string svgDocument(const chart::Chart& chart);
std::string svgDocument(const scene::Scene& scene, scene::Side side);

/// A part of one side, `zoom` pixels a unit of the scene.
std::string svgDocument(const scene::Scene& scene, scene::Side side, const scene::Rect& area,
                        double zoom);

/// What `--report x.svg` writes: both sides of the collapsed scene, legend, figures.
std::string renderSvg(const Report& report);

} // namespace fuselage::app
