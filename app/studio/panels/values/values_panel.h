// SPDX-License-Identifier: Apache-2.0
// The Values panel: what the constants of the selected nodes hold, and on request what the nodes
// compute, before and after fusion; with statistics and a histogram, and saving one as .npy.
#pragma once

#include "app/pipeline/tensor_facts.h"
#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QComboBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QWidget>

namespace fuselage::studio {

/// Bars of how often values come up, from the least to the largest.
class Histogram : public QWidget {
    Q_OBJECT

public:
    explicit Histogram(QWidget* parent);

    void show(const std::optional<app::TensorFacts>& facts);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::optional<app::TensorFacts> m_facts;
};

class ValuesPanel : public QWidget {
    Q_OBJECT

public:
    ValuesPanel(Workbench& workbench, QWidget* parent);

    QComboBox& choice() { return *m_choice; }

    QPushButton& compute() { return *m_compute; }

    QString facts() const { return m_facts->text(); }

    bool busy() const { return m_lane.busy(); }

    /// Writes the chosen one; says why not in the panel.
    bool save(const QString& path);

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Row {
        QString name;
        TensorPtr data;
        TensorPtr fused; ///< of a result; null: not computed
        bool result = false;
    };

    void collect();
    void look();

    Workbench& m_workbench;
    JobLane m_lane;
    std::vector<Row> m_rows;               ///< of m_choice
    QStringList m_results;                 ///< what the selected nodes compute
    QMap<QString, ComputedValue> m_values; ///< computed of m_of
    SnapshotPtr m_of;
    QComboBox* m_choice;
    QPushButton *m_compute, *m_save;
    SaidLabel* m_facts;
    Histogram* m_histogram;
    QPlainTextEdit* m_text;
    bool m_outdated = true; ///< the selection changed while nobody looked
};

QWidget* makeValuesPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
