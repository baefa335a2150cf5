// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/sample_model.h"

#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace fuselage::studio {

QString sampleFile(const QString& network) {
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
           QStringLiteral("/fuselage/%1.onnx").arg(network);
}

bool makeSample(const QString& network) {
    const QString path = sampleFile(network);
    if (QFileInfo::exists(path))
        return true;
    QDir().mkpath(QFileInfo(path).path());
    auto graph = zoo::build(network.toStdString());
    return graph && model_io::save(*graph, path.toStdString());
}

} // namespace fuselage::studio
