// SPDX-License-Identifier: Apache-2.0
// What a person sees before a model is open: a sample that needs no GPU, recent files, a place to
// drop files, and what this machine has.
#pragma once

#include "app/studio/session/job_lane.h"

#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QWidget>

namespace fuselage::studio {

class StartPage : public QWidget {
    Q_OBJECT

public:
    explicit StartPage(QWidget* parent);

    void setRecent(const QStringList& paths);

    /// What `doctor` says, found in the background the first time the page is shown.
    const QLabel& hardware() const { return *m_hardware; }

    QPushButton& sample() { return *m_sample; }

Q_SIGNALS:
    void openWanted();
    void filesWanted(const QStringList& paths);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void makeSample();

    QListWidget* m_recent;
    QLabel* m_hardware;
    QPushButton* m_sample;
    JobLane m_lane, m_inspection;
    bool m_inspected = false;
};

/// The file of the sample; made when it is not there.
QString sampleFile();

} // namespace fuselage::studio
