// SPDX-License-Identifier: Apache-2.0
// Taking large things apart away from the window's thread: freeing a model of ten thousand nodes
// takes longer than a frame.
#pragma once

#include <QThreadPool>

namespace fuselage::studio {

/// A deleter for std::shared_ptr.
template <typename Thing> void disposeLater(Thing* thing) {
    QThreadPool::globalInstance()->start([thing] { delete thing; });
}

} // namespace fuselage::studio
