// SPDX-License-Identifier: Apache-2.0
// `fuselage-studio --layout-worker`: reads jobs from standard input and writes results to standard
// output until the pipe is shut. No QApplication, no display.
#pragma once

namespace fuselage::studio {

/// Exit code: 0 when the pipe was shut between frames, 1 for what is no job.
int runLayoutWorker();

} // namespace fuselage::studio
