// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/picture_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>

namespace fuselage::studio {

PictureDialog::PictureDialog(DrawingPtr drawing, const PictureChoice (&views)[2], scene::Side side,
                             QWidget* parent)
    : QDialog(parent), m_drawing(std::move(drawing)), m_views{views[0], views[1]},
      m_side(new QComboBox(this)), m_what(new QComboBox(this)), m_format(new QComboBox(this)),
      m_scale(new QDoubleSpinBox(this)), m_size(new SaidLabel(tr("size of the picture"), this)) {
    setWindowTitle(tr("Export picture"));
    setObjectName("exportPicture");
    m_side->addItems({tr("graph before fusion"), tr("graph after fusion")});
    m_side->setCurrentIndex(side == scene::Before ? 0 : 1);
    m_what->addItems({tr("what is on the screen"), tr("the whole graph")});
    m_format->addItems({tr("PNG"), tr("SVG")});
    m_scale->setRange(0.05, 16);
    m_scale->setSingleStep(0.5);
    m_scale->setValue(2);
    m_side->setAccessibleName(tr("side"));
    m_what->setAccessibleName(tr("part"));
    m_format->setAccessibleName(tr("format"));
    m_scale->setAccessibleName(tr("scale"));
    m_size->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Close, this);
    m_save = buttons->button(QDialogButtonBox::Save);
    m_copy = buttons->addButton(tr("Copy"), QDialogButtonBox::ActionRole);
    m_copy->setObjectName("copyPicture");
    m_copy->setToolTip(tr("the picture goes to the clipboard, as pixels"));
    connect(m_copy, &QPushButton::clicked, this, &PictureDialog::copyWanted);
    auto* form = new QFormLayout(this);
    form->addRow(tr("Side"), m_side);
    form->addRow(tr("Part"), m_what);
    form->addRow(tr("Format"), m_format);
    form->addRow(tr("Scale"), m_scale);
    form->addRow(tr("Size"), m_size);
    form->addRow(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    for (QComboBox* each : {m_side, m_what, m_format})
        connect(each, &QComboBox::currentIndexChanged, this, &PictureDialog::showSize);
    connect(m_scale, &QDoubleSpinBox::valueChanged, this, &PictureDialog::showSize);
    showSize();
}

PictureChoice PictureDialog::choice() const {
    PictureChoice out = m_views[m_side->currentIndex()];
    out.whole = m_what->currentIndex() == 1;
    out.svg = m_format->currentIndex() == 1;
    out.scale = m_scale->value();
    return out;
}

void PictureDialog::showSize() {
    const PictureChoice now = choice();
    const QSize size = sizeOf(now, *m_drawing);
    const double most = mostScale(now, *m_drawing);
    QString text = tr("%1 x %2 pixels").arg(size.width()).arg(size.height());
    const bool fits = now.svg || now.scale <= most * 1.001;
    if (!fits)
        text = tr("%1: too large for other programs; at most scale %2, or SVG")
                   .arg(text)
                   .arg(std::floor(most * 100) / 100);
    m_size->setText(text);
    m_save->setEnabled(fits);
    m_copy->setEnabled(now.scale <= most * 1.001); // pixels, whatever a file would be
}

} // namespace fuselage::studio
