// SPDX-License-Identifier: Apache-2.0
// The Values panel: what the constants of the selected node hold, with statistics and a histogram,
// and saving one as .npy.
#pragma once

#include "app/studio/item_models/tensor_facts.h"
#include "app/studio/workbench/workbench.h"

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QWidget>

namespace fuselage::studio {

/// Bars of how often values come up, from the least to the largest.
class Histogram : public QWidget {
    Q_OBJECT

public:
    explicit Histogram(QWidget* parent);

    void show(const std::optional<TensorFacts>& facts);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::optional<TensorFacts> m_facts;
};

class ValuesPanel : public QWidget {
    Q_OBJECT

public:
    ValuesPanel(Workbench& workbench, QWidget* parent);

    QComboBox& choice() { return *m_choice; }

    QString facts() const { return m_facts->text(); }

    bool busy() const { return m_lane.busy(); }

    /// Writes the chosen constant; says why not in the panel.
    bool save(const QString& path);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void collect();
    void look();

    Workbench& m_workbench;
    JobLane m_lane;
    std::vector<TensorPtr> m_tensors; ///< of the rows of m_choice
    QComboBox* m_choice;
    QPushButton* m_save;
    QLabel* m_facts;
    Histogram* m_histogram;
    QPlainTextEdit* m_values;
    bool m_outdated = true; ///< the selection changed while nobody looked
};

QWidget* makeValuesPanel(Workbench& workbench, QWidget* parent);

} // namespace fuselage::studio
