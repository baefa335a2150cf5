// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/options_dialog.h"

#include "core/cost/cost.h"

#include <QFormLayout>
#include <QPushButton>
#include <QRegularExpression>

namespace fuselage::studio {

namespace {

template <typename Field>
Field* row(QFormLayout* form, const QString& title, const QString& help, Field* field) {
    field->setToolTip(help);
    field->setAccessibleName(title);
    form->addRow(title, field);
    return field;
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
    static const QRegularExpression separator(QStringLiteral("[,\\s]+"));
    for (const QString& entry : text.split(separator, Qt::SkipEmptyParts)) {
        bool good = false;
        qlonglong value = entry.section('=', 1).toLongLong(&good);
        if (!good || value < 0 || entry.startsWith('='))
            return std::nullopt;
        out[entry.section('=', 0, 0).toStdString()] = value;
    }
    return out;
}

OptionsDialog::OptionsDialog(const SessionOptions& options, const MeasureSettings& settings,
                             const DimensionValues& taken, QWidget* parent)
    : QDialog(parent), m_options(options) {
    setWindowTitle(tr("Options"));
    setObjectName("options");
    auto* form = new QFormLayout(this);
    m_backend = row(form, tr("Backend"), tr("what measures; auto is cuda where it can be used"),
                    new QComboBox(this));
    m_backend->addItems({"auto", "cpu", "cuda", "reference"});
    m_backend->setCurrentText(settings.backend);
    m_device =
        row(form, tr("Predict for"), tr("device profile of predicted times"), new QComboBox(this));
    for (const std::string& name : deviceProfileNames())
        m_device->addItem(QString::fromStdString(name));
    m_device->setCurrentText(options.device);
    m_precision =
        row(form, tr("Precision"), tr("what float32 values are stored as"), new QComboBox(this));
    for (const char* name : precisionNames)
        m_precision->addItem(name);
    m_precision->setCurrentText(nameOf(options.precision));
    m_precisionOf = row(form, tr("Precision of nodes"),
                        tr("exceptions, with semicolons between: NODES=fp32 or NODES=fp16; NODES "
                           "is a name (* stands for anything), op:Softmax, op:Conv group>1, "
                           "rule:LayerNorm or @FILE"),
                        new QLineEdit(options.precisionOf.join("; "), this));
    m_precisionOf->setPlaceholderText(tr("e.g. op:Softmax=fp32; /head/*=fp32"));
    m_threads = row(form, tr("Threads"), tr("0: all of this machine"), new QSpinBox(this));
    m_threads->setRange(0, 1024);
    m_threads->setValue(settings.threads);
    m_seconds = row(form, tr("Seconds"), tr("to measure for, both sides together"),
                    new QDoubleSpinBox(this));
    m_seconds->setRange(0.1, 3600);
    m_seconds->setValue(settings.seconds);
    m_dims = row(form, tr("Dimensions"),
                 tr("sizes of open dimensions, or of axes of inputs, e.g. N=4, x.2=320"),
                 new QLineEdit(dimsText(options.fuse.dims), this));
    m_dims->setPlaceholderText(taken.empty() ? tr("none are open") : dimsText(taken));
    m_verify =
        row(form, tr("Verify"), tr("compare outputs with the reference"), new QCheckBox(this));
    m_verify->setChecked(settings.verify);
    m_counters =
        row(form, tr("Hardware counters"),
            tr("count bytes on a CUDA device, in runs after the timed ones"), new QCheckBox(this));
    m_counters->setChecked(settings.counters);
    m_strict = row(form, tr("Strict"), tr("bit-exact with the unfused run"), new QCheckBox(this));
    m_strict->setChecked(options.fuse.strict);
    m_builtin = row(form, tr("Standard library"), tr("run the built-in rules before yours"),
                    new QCheckBox(this));
    m_builtin->setChecked(options.rules.builtin);
    m_cost = row(form, tr("Ask the cost model"), tr("fuse only where the prediction gains"),
                 new QCheckBox(this));
    m_cost->setChecked(options.fuse.decide != Decide::Rules);
    m_wrong = new QLabel(this);
    m_wrong->setAccessibleName(tr("what is wrong"));
    form->addRow(m_wrong);
    m_buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    form->addRow(m_buttons);
    connect(m_buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(m_buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_dims, &QLineEdit::textChanged, this, &OptionsDialog::check);
    connect(m_precisionOf, &QLineEdit::textChanged, this, &OptionsDialog::check);
    connect(m_precision, &QComboBox::currentTextChanged, this, &OptionsDialog::check);
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
