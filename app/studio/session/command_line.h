// SPDX-License-Identifier: Apache-2.0
// What is on the screen as a command line of `fuselage`: the one that is copied, and the one that a
// measurement runs.
#pragma once

#include "app/studio/session/session.h"

#include <QStringList>

namespace fuselage::studio {

/// How a measurement is made; the rest is in SessionOptions.
struct MeasureSettings {
    QString backend = QStringLiteral("auto");
    int threads = 0;    ///< 0: all of the machine
    double seconds = 3; ///< for both sides together
    bool verify = true;
    bool counters = false; ///< bytes by the device's hardware counters
};

/// "bench MODEL ...": what `fuselage` is given. A predicted profile is named only when a person
/// chose another than the default.
QStringList benchArguments(const QString& model, const SessionOptions& options,
                           const MeasureSettings& settings);

/// "run MODEL --value NAME ... -o FOLDER": values inside, computed on generated inputs, of the
/// model or of its fused form.
QStringList runArguments(const QString& model, const SessionOptions& options,
                         const MeasureSettings& settings, bool fused, const QStringList& values,
                         const QString& folder);

/// "fuse MODEL ... -o FILE"; `as`: "--plan-out" for the matches that are applied.
QStringList fuseArguments(const QString& model, const SessionOptions& options,
                          const QString& output, const QString& as = QStringLiteral("-o"));

/// What `fuselage-studio` is given to write a drawing; empty where its options say less than those
/// of the window.
QStringList drawingArguments(const QString& model, const SessionOptions& options,
                             const QString& output);

/// One line for a shell, with quotes where a word needs them.
QString shellText(const QStringList& words);

/// The `fuselage` that stands beside this program, else the one in PATH; empty when there is none.
QString findFuselage();

/// Rules as files: unsaved texts are written into the folder, and the paths name those. Errors:
/// "measure.builtin" (a built-in file was changed, which no command line can say), "save.write".
Result<app::RuleOptions> rulesOnDisk(const app::RuleOptions& rules, const QString& folder);

} // namespace fuselage::studio
