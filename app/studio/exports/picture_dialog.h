// SPDX-License-Identifier: Apache-2.0
// The form "Export picture": side, view or whole graph, format and scale, with the size that comes
// of it; to a file or to the clipboard. Writes nothing.
#pragma once

#include "app/studio/exports/picture.h"
#include "app/studio/workbench/said_label.h"

#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QPushButton>

namespace fuselage::studio {

class PictureDialog : public QDialog {
    Q_OBJECT

public:
    /// `views` are both canvases as they are now.
    PictureDialog(DrawingPtr drawing, const PictureChoice (&views)[2], scene::Side side,
                  QWidget* parent);

    PictureChoice choice() const;

Q_SIGNALS:
    void copyWanted(); ///< to the clipboard; the form stays

private:
    void showSize();

    DrawingPtr m_drawing;
    PictureChoice m_views[2];
    QComboBox *m_side, *m_what, *m_format;
    QDoubleSpinBox* m_scale;
    SaidLabel* m_size;
    QPushButton *m_save, *m_copy;
};

} // namespace fuselage::studio
