// SPDX-License-Identifier: Apache-2.0
// What goes through the pipe between the window and the layout worker: requests one way, results
// the other, each in a frame with its length. Both ends take the other for broken.
#pragma once

#include "app/report/scene/layout.h"

#include <QByteArray>
#include <optional>

namespace fuselage::studio {

/// How hard dot tries.
enum class Effort : quint8 {
    Full,    ///< without limits
    Limited, ///< network simplex and crossings are cut short
};

struct LayoutJob {
    Effort effort = Effort::Full;
    scene::LayoutRequest request;
};

QByteArray jobFrame(const LayoutJob& job);
QByteArray resultFrame(const scene::LayoutResult& result);

enum class FrameState { Partial, Complete, Broken };

/// Whether the bytes begin with a whole frame; `size` is then its length.
FrameState frameState(const QByteArray& bytes, qsizetype& size);

/// Nothing when the frame does not hold one: counts, indices and numbers are checked.
std::optional<LayoutJob> jobOf(const QByteArray& frame);
/// A result that fits the request: as many places and ways, finite numbers.
std::optional<scene::LayoutResult> resultOf(const QByteArray& frame,
                                            const scene::LayoutRequest& request);

} // namespace fuselage::studio
