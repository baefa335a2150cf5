// SPDX-License-Identifier: Apache-2.0
// The sizes that a model leaves open: each with the axes where it stands and sizes that are usual
// there. Returns values; applies nothing.
#pragma once

#include "app/studio/session/session.h"
#include "app/studio/workbench/said_label.h"

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>

namespace fuselage::studio {

class DimensionsDialog : public QDialog {
    Q_OBJECT

public:
    DimensionsDialog(const QList<OpenDimension>& dimensions, const QString& model, QWidget* parent);

    /// Those that a person gave; none for a line that is empty.
    DimensionValues values() const;

private:
    void check();

    QList<OpenDimension> m_dimensions;
    QList<QComboBox*> m_sizes;
    SaidLabel* m_wrong;
    QDialogButtonBox* m_buttons;
};

/// Sizes that people usually give, the most usual first: by the name and by where it stands.
QList<int64_t> usualSizes(const OpenDimension& dimension);

} // namespace fuselage::studio
