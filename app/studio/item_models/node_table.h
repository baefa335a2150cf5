// SPDX-License-Identifier: Apache-2.0
// The nodes of the graph before as a list: the drawing's equivalent for keyboards and screen
// readers.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

struct NodeRow {
    QString name, op, type;                      ///< type of its first output
    QString rule, fusedNode;                     ///< empty: not fused
    QString verdict = {};                        ///< "slower": its fusion loses
    double seconds = -1, bytes = -1, error = -1; ///< scene::Figures; -1: not known
    double elsewhere = -1; ///< seconds that another program measured; -1: not known
};

using NodeTable = RowTable<NodeRow>;

/// Column of what another program measured.
constexpr int elsewhereColumn = 9;

NodeTable* makeNodeTable(QObject* parent);

std::vector<NodeRow> nodeRows(const app::Report& report);

} // namespace fuselage::studio
