// SPDX-License-Identifier: Apache-2.0
// Laying out the children of one container: sizes and edges in, places out. The linear engine is
// the default everywhere; another (Graphviz in a process of its own) plugs in here.
#pragma once

#include "app/report/scene/scene.h"
#include "core/support/progress.h"

#include <cstdint>
#include <vector>

namespace fuselage::scene {

struct LayoutEdge {
    uint32_t from = 0, to = 0;
    uint32_t weight = 1; ///< heavier edges are kept straighter
};

struct LayoutRequest {
    struct Size {
        double w = 0, h = 0;

        friend bool operator==(const Size&, const Size&) = default;
    };

    std::vector<Size> sizes;
    std::vector<uint32_t> ranks;   ///< rows from the top, a proposal: edges go to larger ones
    std::vector<LayoutEdge> edges; ///< from smaller to larger ranks
    double rowGap = 26;
    double columnGap = 22;
};

struct LayoutResult {
    std::vector<Point> places;             ///< top left corners
    std::vector<std::vector<Point>> bends; ///< of each edge, between its ends
    double width = 0, height = 0;
};

class LayoutEngine {
public:
    virtual ~LayoutEngine() = default;
    virtual Result<LayoutResult> layout(const LayoutRequest& request, Progress& progress) = 0;
};

/// Rows as proposed, order by two sweeps of barycentres, places by least squares with fixed gaps.
/// Time is linear in nodes, edges and the rows that edges cross. Error "cancelled".
class LinearLayout final : public LayoutEngine {
public:
    Result<LayoutResult> layout(const LayoutRequest& request, Progress& progress) override;
};

/// Longest-path rows of a graph whose nodes stand in their preferred order. Edges that would close
/// a cycle are marked in `backward` (parallel to edges) and do not count; nodes without
/// predecessors sink to their first reader.
std::vector<uint32_t> longestPathRanks(size_t nodes, const std::vector<LayoutEdge>& edges,
                                       std::vector<bool>& backward);

} // namespace fuselage::scene
