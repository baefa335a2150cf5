// SPDX-License-Identifier: Apache-2.0
// The layout engine that asks the worker: cache first, then the process, then the linear pass. A
// worker that dies, hangs, is missing or talks nonsense costs one Problem and nothing else.
#pragma once

#include "app/studio/layout/frames.h"

#include <QProcess>
#include <QString>
#include <QStringList>
#include <memory>

namespace fuselage::studio {

struct DotOptions {
    QString program;                ///< empty: fuselage-studio in the folder of this program
    QStringList arguments;          ///< empty: --layout-worker
    QString cache;                  ///< folder; empty: none is kept
    int milliseconds = 1500;        ///< for one container and one effort
    int totalMilliseconds = 20'000; ///< after that the rest is laid out linearly
};

/// Lives on the thread that calls layout().
class DotLayout final : public scene::LayoutEngine {
public:
    explicit DotLayout(DotOptions options);
    ~DotLayout() override;

    /// Never an error but "cancelled".
    Result<scene::LayoutResult> layout(const scene::LayoutRequest& request,
                                       Progress& progress) override;

    /// Why parts are laid out linearly; empty: none are.
    const QString& trouble() const { return m_trouble; }

    bool usedWorker() const { return m_used; }

private:
    enum class Answer { Good, Timeout, Dead };

    Answer ask(const LayoutJob& job, scene::LayoutResult& result, Progress& progress);
    bool start();
    void end();
    QString cacheFile(const QByteArray& frame) const;

    DotOptions m_options;
    std::unique_ptr<QProcess> m_process;
    QString m_trouble;
    qint64 m_spent = 0;
    bool m_broken = false, m_used = false;
};

/// The worker can be tried: it was built in.
bool dotIsBuiltIn();

/// Folder of finished layouts of this person.
QString layoutCacheFolder();

} // namespace fuselage::studio
