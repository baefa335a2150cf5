// SPDX-License-Identifier: Apache-2.0
// What a panel gets: the things of the window that are shared. Passed by reference, no singletons.
#pragma once

#include "app/studio/session/mark_board.h"
#include "app/studio/session/measurements.h"
#include "app/studio/session/selection_hub.h"
#include "app/studio/session/session.h"
#include "app/studio/workbench/command_table.h"

#include <QUndoStack>

namespace fuselage::studio {

struct Workbench {
    Session& session;
    SelectionHub& selection;
    CommandTable& commands;
    MarkBoard& marks;
    QUndoStack& undo; ///< of everything but texts
    Measurements& measurements;
};

} // namespace fuselage::studio
