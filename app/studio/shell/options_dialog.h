// SPDX-License-Identifier: Apache-2.0
// The dialog of how the open model is analysed and measured. Returns values; applies nothing.
#pragma once

#include "app/studio/session/measurements.h"
#include "app/studio/workbench/said_label.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSpinBox>

namespace fuselage::studio {

class OptionsDialog : public QDialog {
    Q_OBJECT

public:
    /// `taken` are the sizes of dimensions that the model leaves open.
    OptionsDialog(const SessionOptions& options, const MeasureSettings& settings,
                  const DimensionValues& taken, QWidget* parent);

    /// What is chosen on a fresh start; sizes of dimensions belong to the model and stay.
    void takeDefaults();

    SessionOptions sessionOptions() const;
    MeasureSettings measureSettings() const;

private:
    void fill(const SessionOptions& options, const MeasureSettings& settings);

    SessionOptions m_options;
    QComboBox *m_backend, *m_device, *m_precision;
    QSpinBox* m_threads;
    QDoubleSpinBox* m_seconds;
    QLineEdit *m_dims, *m_precisionOf;
    QCheckBox *m_verify, *m_counters, *m_strict, *m_builtin, *m_cost;
    SaidLabel* m_wrong;
    QDialogButtonBox* m_buttons;

    void check();
};

/// "N=4, seq=128"; nothing when an entry is not NAME=NUMBER with a number of at least 0.
std::optional<std::map<std::string, int64_t>> dimsFromText(const QString& text);

} // namespace fuselage::studio
