// SPDX-License-Identifier: Apache-2.0
// What a person sees before a model is open: samples that need no GPU, recent files, a place to
// drop files, and what this machine has.
#pragma once

#include "app/studio/session/job_lane.h"
#include "app/studio/workbench/said_label.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QTreeWidget>
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

    /// Name with a picture, date, folder; a row a file.
    const QTreeWidget& recent() const { return *m_recent; }

Q_SIGNALS:
    void openWanted();
    void tourWanted();
    void filesWanted(const QStringList& paths);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void showPictures();
    void makeSample(QPushButton& button, const QString& model);

    QTreeWidget* m_recent;
    SaidLabel* m_hardware;
    QHBoxLayout* m_samples;
    QPushButton* m_sample = nullptr; ///< the first of them
    JobLane m_lane, m_inspection;
    bool m_inspected = false;
};

} // namespace fuselage::studio
