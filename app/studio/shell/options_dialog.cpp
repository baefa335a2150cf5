// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/options_dialog.h"

#include "core/cost/cost.h"

#include <QFormLayout>
#include <QGroupBox>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

/// A titled part of the dialog.
QFormLayout* group(QDialog* dialog, const QString& title) {
    auto* box = new QGroupBox(title, dialog);
    dialog->layout()->addWidget(box);
    return new QFormLayout(box);
}

template <typename Field>
Field* row(QFormLayout* form, const QString& title, const QString& help, Field* field) {
    field->setToolTip(help);
    field->setAccessibleName(title);
    form->addRow(title, field);
    return field;
}

/// A box with its words beside it.
QCheckBox* tick(QFormLayout* form, const QString& title, const QString& help, QWidget* parent) {
    auto* box = new QCheckBox(title, parent);
    box->setToolTip(help);
    box->setAccessibleName(title);
    form->addRow(box);
    return box;
}

QString dimsText(const std::map<std::string, int64_t>& dims) {
    QStringList out;
    for (const auto& [name, value] : dims)
        out << QStringLiteral("%1=%2").arg(QString::fromStdString(name)).arg(value);
    return out.join(", ");
}

QStringList exceptionsFromText(const QString& text) {
    QStringList out;
    for (const QString& entry : text.split(';', Qt::SkipEmptyParts))
        if (!entry.trimmed().isEmpty())
            out << entry.trimmed();
    return out;
}

} // namespace

std::optional<std::map<std::string, int64_t>> dimsFromText(const QString& text) {
    std::map<std::string, int64_t> out;
    // A name may hold blanks: "batch size=4, x.2=320". It ends at the last "=" before a number.
    static const QRegularExpression entry(
        QStringLiteral("\\s*([^=,\\s][^=,]*?)\\s*=\\s*([0-9]+)\\s*(?:[,\\s]\\s*|$)"));
    const QString given = text.trimmed();
    for (qsizetype at = 0; at < given.size();) {
        const auto found = entry.match(given, at, QRegularExpression::NormalMatch,
                                       QRegularExpression::AnchorAtOffsetMatchOption);
        bool good = found.hasMatch();
        const qlonglong value = good ? found.captured(2).toLongLong(&good) : 0;
        if (!good)
            return std::nullopt;
        out[found.captured(1).toStdString()] = value;
        at = found.capturedEnd();
    }
    return out;
}

OptionsDialog::OptionsDialog(const SessionOptions& options, const MeasureSettings& settings,
                             const DimensionValues& taken, QWidget* parent)
    : QDialog(parent), m_options(options) {
    setWindowTitle(tr("Options"));
    setObjectName("options");
    auto* column = new QVBoxLayout(this);
    QFormLayout* rules = group(this, tr("Rules"));
    m_builtin = tick(rules, tr("Use the built-in library"), tr("its rules run before yours"), this);
    m_cost = tick(rules, tr("Fuse only where the prediction gains"),
                  tr("else every legal match is taken that the gate of its rule admits"), this);
    m_strict = tick(rules, tr("Keep every bit of the unfused results"),
                    tr("rounds at every inner edge; of the rewrites only exact ones run"), this);
    QFormLayout* model = group(this, tr("Model"));
    m_dims = row(model, tr("Sizes of open dimensions"),
                 tr("of dimensions, or of axes of inputs, e.g. N=4, x.2=320"),
                 new QLineEdit(dimsText(options.fuse.dims), this));
    m_dims->setPlaceholderText(taken.empty() ? tr("none are open") : dimsText(taken));
    m_precision = row(model, tr("Store float32 values as"),
                      tr("tf32 only lets multiplications round; fp16 and bf16 halve the bytes"),
                      new QComboBox(this));
    for (const char* name : precisionNames)
        m_precision->addItem(name);
    m_precisionOf = row(model, tr("Except at these nodes"),
                        tr("exceptions, with semicolons between: NODES=fp32 or NODES=fp16; NODES "
                           "is a name (* stands for anything), op:Softmax, op:Conv group>1, "
                           "rule:LayerNorm or @FILE"),
                        new QLineEdit(this));
    m_precisionOf->setPlaceholderText(tr("e.g. op:Softmax=fp32; /head/*=fp32"));
    QFormLayout* predicting = group(this, tr("Prediction"));
    m_device = row(predicting, tr("Predict for"), tr("device profile of predicted times"),
                   new QComboBox(this));
    for (const std::string& name : deviceProfileNames())
        m_device->addItem(QString::fromStdString(name));
    QFormLayout* measuring = group(this, tr("Measuring"));
    m_backend = row(measuring, tr("Backend"), tr("what runs it; auto is cuda where it can be used"),
                    new QComboBox(this));
    m_backend->addItems({"auto", "cpu", "cuda", "reference"});
    m_threads = row(measuring, tr("Threads"), tr("that compute"), new QSpinBox(this));
    m_threads->setRange(0, 1024);
    m_threads->setSpecialValueText(tr("all of this machine"));
    m_seconds =
        row(measuring, tr("Measure for"), tr("both sides together"), new QDoubleSpinBox(this));
    m_seconds->setRange(0.1, 3600);
    m_seconds->setDecimals(1);
    m_seconds->setSuffix(tr(" s"));
    m_verify = tick(measuring, tr("Compare the outputs with the reference"),
                    tr("slow for large models"), this);
    m_counters = tick(measuring, tr("Count bytes with hardware counters"),
                      tr("on a CUDA device, in runs after the timed ones"), this);
    m_wrong = new SaidLabel(tr("what is wrong"), this);
    m_wrong->setTextFormat(Qt::PlainText);
    column->addWidget(m_wrong);
    m_buttons = new QDialogButtonBox(
        QDialogButtonBox::Ok | QDialogButtonBox::Cancel | QDialogButtonBox::RestoreDefaults, this);
    column->addWidget(m_buttons);
    fill(options, settings);
    connect(m_buttons->button(QDialogButtonBox::RestoreDefaults), &QPushButton::clicked, this,
            &OptionsDialog::takeDefaults);
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_dims, &QLineEdit::textChanged, this, &OptionsDialog::check);
    connect(m_precisionOf, &QLineEdit::textChanged, this, &OptionsDialog::check);
    connect(m_precision, &QComboBox::currentTextChanged, this, &OptionsDialog::check);
}

void OptionsDialog::fill(const SessionOptions& options, const MeasureSettings& settings) {
    m_backend->setCurrentText(settings.backend);
    m_threads->setValue(settings.threads);
    m_seconds->setValue(settings.seconds);
    m_verify->setChecked(settings.verify);
    m_counters->setChecked(settings.counters);
    m_device->setCurrentText(options.device);
    m_precision->setCurrentText(nameOf(options.precision));
    m_precisionOf->setText(options.precisionOf.join("; "));
    m_strict->setChecked(options.fuse.strict);
    m_builtin->setChecked(options.rules.builtin);
    m_cost->setChecked(options.fuse.decide != Decide::Rules);
}

void OptionsDialog::takeDefaults() {
    fill({}, {});
}

/// Whether all that is typed can be used, and if not why.
void OptionsDialog::check() {
    QString wrong;
    if (!dimsFromText(m_dims->text()))
        wrong = tr("write dimensions as NAME=NUMBER, e.g. N=4");
    SessionOptions tried;
    const auto all = precisionFromName(m_precision->currentText().toStdString());
    if (auto set = tried.setPrecision(*all, exceptionsFromText(m_precisionOf->text())); !set)
        wrong = QString::fromStdString(set.error().message +
                                       (set.error().fix.empty() ? "" : ": " + set.error().fix));
    m_buttons->button(QDialogButtonBox::Ok)->setEnabled(wrong.isEmpty());
    m_wrong->setText(wrong);
}

SessionOptions OptionsDialog::sessionOptions() const {
    SessionOptions out = m_options;
    out.device = m_device->currentText();
    if (auto precision = precisionFromName(m_precision->currentText().toStdString()))
        (void)out.setPrecision(*precision, exceptionsFromText(m_precisionOf->text()));
    if (auto dims = dimsFromText(m_dims->text()))
        out.fuse.dims = *dims;
    out.fuse.strict = m_strict->isChecked();
    out.fuse.decide = m_cost->isChecked() ? Decide::Cost : Decide::Rules;
    out.rules.builtin = m_builtin->isChecked();
    return out;
}

MeasureSettings OptionsDialog::measureSettings() const {
    MeasureSettings out;
    out.backend = m_backend->currentText();
    out.threads = m_threads->value();
    out.seconds = m_seconds->value();
    out.verify = m_verify->isChecked();
    out.counters = m_counters->isChecked();
    return out;
}

} // namespace fuselage::studio
