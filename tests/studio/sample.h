// SPDX-License-Identifier: Apache-2.0
// A zoo model as a file, and waiting for a Session: what most tests of Studio start from.
#pragma once

#include "app/studio/session/session.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

namespace fuselage::studio::testing {

/// Writes the zoo model into the folder and returns its path.
inline QString writeZooModel(const QTemporaryDir& folder, const std::string& name) {
    QString path = folder.filePath(QString::fromStdString(name) + ".onnx");
    auto graph = zoo::build(name);
    if (!graph || !model_io::save(*graph, path.toStdString()))
        qFatal("cannot write the model of the zoo");
    return path;
}

inline QString writeText(const QTemporaryDir& folder, const QString& name, const QByteArray& text) {
    QString path = folder.filePath(name);
    QFile file(path);
    if (!file.open(QFile::WriteOnly) || file.write(text) != text.size())
        qFatal("cannot write a file");
    return path;
}

/// Waits until the session is neither working nor about to.
inline bool settled(Session& session) {
    return QTest::qWaitFor([&] { return !session.busy() && !session.pending(); }, 60'000);
}

} // namespace fuselage::studio::testing
