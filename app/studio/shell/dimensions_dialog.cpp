// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/dimensions_dialog.h"

#include <QGridLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

constexpr int mostHeight = 420; ///< of the rows; more scroll

/// "" for what Fuselage chooses; nothing for what is no size.
std::optional<int64_t> sizeOf(const QString& text) {
    bool good = false;
    const qlonglong size = text.trimmed().toLongLong(&good);
    return good && size >= 0 ? std::optional<int64_t>(size) : std::nullopt;
}

} // namespace

QList<int64_t> usualSizes(const OpenDimension& dimension) {
    const QString name = dimension.name.toLower();
    const QString axis = dimension.axes.isEmpty() ? dimension.name : dimension.axes.first();
    const int position = axis.section('.', -1).toInt();
    const auto has = [&](std::initializer_list<const char*> words) {
        for (const char* word : words)
            if (name.contains(QLatin1String(word)))
                return true;
        return false;
    };
    if (has({"past", "cache"}))
        return {0, 16, 128, 512};
    if (has({"seq", "len", "token", "time"}))
        return {128, 16, 64, 256, 512, 1024};
    if (has({"height", "width"}) || name == "h" || name == "w" || position >= 2)
        return {224, 48, 320, 480, 640, 1024};
    if (has({"batch"}) || name == "n" || position == 0)
        return {1, 2, 4, 8, 16, 32};
    return {1, 16, 64, 128, 256};
}

DimensionsDialog::DimensionsDialog(const QList<OpenDimension>& dimensions, const QString& model,
                                   QWidget* parent)
    : QDialog(parent), m_dimensions(dimensions), m_wrong(new SaidLabel(tr("what is wrong"), this)),
      m_buttons(new QDialogButtonBox(
          QDialogButtonBox::Ok | QDialogButtonBox::Cancel | QDialogButtonBox::Reset, this)) {
    setWindowTitle(tr("Dimensions of %1").arg(model));
    setObjectName("dimensions");
    auto* intro = new QLabel(tr("The model leaves these sizes open. What is left empty, Fuselage "
                                "chooses; what you give is kept for this model."),
                             this);
    intro->setWordWrap(true);
    auto* rows = new QWidget(this);
    auto* grid = new QGridLayout(rows);
    for (int i = 0; i < dimensions.size(); ++i) {
        const OpenDimension& each = dimensions[i];
        auto* size = new QComboBox(this);
        size->setEditable(true);
        size->setCompleter(nullptr);        // would make 320 of the 32 that is typed
        size->setMinimumContentsLength(14); // "224 (chosen)" is read whole
        for (int64_t usual : usualSizes(each))
            size->addItem(QString::number(usual));
        size->setCurrentText(each.given ? QString::number(each.size) : QString());
        size->lineEdit()->setPlaceholderText(each.size > 0 ? tr("%1 (chosen)").arg(each.size)
                                                           : tr("to be given"));
        size->setAccessibleName(tr("size of %1").arg(each.name));
        auto* name = new QLabel(QStringLiteral("<b>%1</b>").arg(each.name.toHtmlEscaped()), this);
        name->setBuddy(size);
        auto* axes = new QLabel(each.axes.join(QStringLiteral(", ")), this);
        axes->setTextFormat(Qt::PlainText);
        axes->setToolTip(tr("axes of inputs where it stands"));
        grid->addWidget(name, i, 0);
        grid->addWidget(size, i, 1);
        grid->addWidget(axes, i, 2);
        connect(size, &QComboBox::editTextChanged, this, &DimensionsDialog::check);
        m_sizes << size;
    }
    grid->setColumnStretch(2, 1);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(rows);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setMinimumHeight(std::min(rows->sizeHint().height() + 4, mostHeight));
    scroll->setMinimumWidth(420);
    m_wrong->setTextFormat(Qt::PlainText);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(intro);
    layout->addWidget(scroll, 1);
    layout->addWidget(m_wrong);
    layout->addWidget(m_buttons);
    m_buttons->button(QDialogButtonBox::Reset)->setText(tr("Let Fuselage choose"));
    connect(m_buttons->button(QDialogButtonBox::Reset), &QPushButton::clicked, this, [this] {
        for (QComboBox* size : m_sizes)
            size->setCurrentText({});
    });
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    if (!m_sizes.isEmpty())
        m_sizes.first()->setFocus();
}

void DimensionsDialog::check() {
    QString wrong;
    for (int i = 0; i < m_sizes.size(); ++i)
        if (const QString text = m_sizes[i]->currentText();
            !text.trimmed().isEmpty() && !sizeOf(text))
            wrong = tr("`%1` is no size for %2: write a number").arg(text, m_dimensions[i].name);
    m_wrong->setText(wrong);
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(wrong.isEmpty());
}

DimensionValues DimensionsDialog::values() const {
    DimensionValues out;
    for (int i = 0; i < m_sizes.size(); ++i)
        if (const auto size = sizeOf(m_sizes[i]->currentText()))
            out[m_dimensions[i].name.toStdString()] = *size;
    return out;
}

} // namespace fuselage::studio
