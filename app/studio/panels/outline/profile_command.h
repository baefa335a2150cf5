// SPDX-License-Identifier: Apache-2.0
// "Open ONNX Runtime profile": reads one in the background and gives its times to the MarkBoard.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

/// Adds the command "file.openProfile"; files are asked for over `window`.
void addProfileCommand(Workbench& workbench, QWidget* window);

/// Reads that file; what is wrong with it is a problem, how many of its nodes the model has a note.
void openProfile(Workbench& workbench, JobLane& lane, const QString& path);

} // namespace fuselage::studio
