// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/values/values_panel.h"

#include "app/pipeline/inner_values.h"
#include "app/pipeline/verify.h"
#include "app/studio/graph_view/colours.h"
#include "app/studio/item_models/tensor_values.h"
#include "app/studio/session/counted.h"
#include "app/studio/workbench/file_dialogs.h"
#include "core/graph/captures.h"
#include "core/onnx/npy_file.h"

#include <QAbstractItemView>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QPainter>
#include <QSaveFile>
#include <QVBoxLayout>
#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr int64_t valuesShown = 400;
constexpr int histogramHeight = 90;
constexpr int nodesLookedAt = 20;

struct Constant {
    QString name;
    TensorPtr data;
};

using Lookup = std::function<TensorPtr(ValueId)>; ///< constants that a body reads from outside

/// What the node of that path reads and is constant; paths go into If, Loop and Scan.
std::vector<Constant> constantsOf(const Graph& graph, const std::string& path,
                                  const Lookup& outside) {
    const auto constant = [&](ValueId id) {
        return graph.value(id).constant ? graph.value(id).constant : outside(id);
    };
    std::vector<Constant> out;
    if (const NodeId id = graph.findNode(path); id.valid()) {
        for (ValueId input : graph.node(id).inputs)
            if (input.valid())
                if (TensorPtr data = constant(input))
                    out.push_back({QString::fromStdString(graph.value(input).name), data});
        return out;
    }
    for (NodeId id : graph.nodes())
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id))) {
            const Node& node = graph.node(id);
            const std::string inner = node.name + '/' + ref.attribute + '/';
            if (!path.starts_with(inner))
                continue;
            const auto captured = [&](ValueId value) -> TensorPtr {
                const auto& captures = ref.graph->captures();
                const auto at = std::find(captures.begin(), captures.end(), value);
                if (at == captures.end())
                    return nullptr;
                const ValueId around =
                    node.inputs[ref.firstCapture + static_cast<size_t>(at - captures.begin())];
                return around.valid() ? constant(around) : nullptr;
            };
            out = constantsOf(*ref.graph, path.substr(inner.size()), captured);
            if (!out.empty())
                return out;
        }
    return out;
}

QString factsText(const Tensor& tensor, const app::TensorFacts& facts) {
    const QString held = QString::fromStdString(app::factsText(facts));
    QStringList out{
        QString::fromStdString(tensor.type().text()),
        counted(static_cast<qsizetype>(facts.count), QObject::tr("value"), QObject::tr("values"))};
    if (!held.isEmpty())
        out << held;
    return out.join('\n');
}

/// How far the fused form is from the unfused one.
QString differenceText(const Tensor& unfused, const TensorPtr& fused) {
    if (!fused)
        return QObject::tr("after fusion: not stored, or not computed");
    if (unfused.dtype() == DType::String || fused->elementCount() != unfused.elementCount())
        return QObject::tr("after fusion: %1").arg(QString::fromStdString(fused->type().text()));
    const app::OutputAgreement found =
        app::compareOutput({}, {}, ReferenceValue::from(unfused), *fused);
    return QObject::tr("after fusion: at most %1 away, %2 of the largest value")
        .arg(found.maxAbsolute, 0, 'g', 3)
        .arg(found.maxRelative, 0, 'g', 2);
}

} // namespace

Histogram::Histogram(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("histogram of the values"));
    setFixedHeight(histogramHeight);
}

void Histogram::show(const std::optional<app::TensorFacts>& facts) {
    m_facts = facts;
    update();
}

void Histogram::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    Colours colours(palette());
    painter.fillRect(rect(), colours["background"]);
    if (!m_facts)
        return;
    const int text = fontMetrics().height(), floor = height() - text - 2;
    const auto& bins = m_facts->histogram;
    const int64_t most = *std::max_element(bins.begin(), bins.end());
    if (most <= 0)
        return;
    const double step = double(width()) / app::TensorFacts::bins;
    for (size_t i = 0; i < bins.size(); ++i) {
        const double high = double(floor) * double(bins[i]) / double(most);
        // What is there at all is seen.
        painter.fillRect(QRectF(double(i) * step, floor - std::max(high, bins[i] > 0 ? 1.0 : 0.0),
                                std::max(1.0, step - 1), std::max(high, bins[i] > 0 ? 1.0 : 0.0)),
                         colours["series.after"]);
    }
    painter.setPen(colours["axis"]);
    painter.drawLine(0, floor, width(), floor);
    painter.setPen(colours["text.dim"]);
    const QRect below(0, floor + 2, width(), text);
    painter.drawText(below, Qt::AlignLeft, QString::number(m_facts->least, 'g', 4));
    painter.drawText(below, Qt::AlignRight, QString::number(m_facts->most, 'g', 4));
}

ValuesPanel::ValuesPanel(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_choice(new QComboBox(this)),
      m_compute(new QPushButton(tr("Compute results"), this)),
      m_save(new QPushButton(tr("Save as .npy ..."), this)),
      m_facts(new SaidLabel(tr("statistics of the values"), this)),
      m_histogram(new Histogram(this)), m_text(new QPlainTextEdit(this)) {
    m_choice->setAccessibleName(tr("value of the selected node"));
    m_choice->view()->setAccessibleName(tr("values of the selected node"));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_facts->setTextFormat(Qt::PlainText);
    m_facts->setWordWrap(true);
    m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text->setAccessibleName(tr("first values"));
    m_text->setReadOnly(true);
    m_text->setTabChangesFocus(true);
    m_text->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_compute);
    buttons->addWidget(m_save);
    buttons->addStretch();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->addWidget(m_choice);
    layout->addLayout(buttons);
    layout->addWidget(m_facts);
    layout->addWidget(m_histogram);
    layout->addWidget(m_text, 1);
    setFocusProxy(m_choice);
    auto changed = [this] {
        m_outdated = true;
        if (isVisible())
            collect();
    };
    m_compute->setToolTip(tr("run the model on generated inputs, unfused and fused, and show what "
                             "the selected nodes give"));
    connect(m_compute, &QPushButton::clicked, this,
            [this] { m_workbench.measurements.startValues(m_results); });
    connect(&workbench.measurements, &Measurements::valuesKnown, this,
            [this](const QMap<QString, ComputedValue>& values) {
                for (auto at = values.begin(); at != values.end(); ++at)
                    m_values[at.key()] = at.value();
                collect();
            });
    connect(&workbench.selection, &SelectionHub::changed, this, changed);
    connect(&workbench.session, &Session::snapshotChanged, this, changed);
    connect(&workbench.measurements, &Measurements::runningChanged, this, changed);
    connect(m_choice, &QComboBox::currentIndexChanged, this, &ValuesPanel::look);
    connect(m_save, &QPushButton::clicked, this, [this] {
        const QString proposed =
            m_rows[static_cast<size_t>(m_choice->currentIndex())].name.replace('/', '_') + ".npy";
        askSaveFile(this, tr("Save values"), proposed, tr("numpy (*.npy)"),
                    [this](const QString& path) { save(path); });
    });
    collect();
}

void ValuesPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_outdated)
        collect();
}

void ValuesPanel::collect() {
    m_outdated = false;
    const QString chosen = m_choice->currentText();
    m_rows.clear();
    m_results.clear();
    const SnapshotPtr& snapshot = m_workbench.session.snapshot();
    if (m_of != snapshot) {
        m_values.clear();
        m_of = snapshot;
    }
    if (snapshot)
        for (const QString& path : m_workbench.selection.selection().before.mid(0, nodesLookedAt)) {
            const std::string node = path.toStdString();
            for (const std::string& name : app::namesOfResults(snapshot->before(), node))
                m_results << QString::fromStdString(name);
            for (Constant& each :
                 constantsOf(snapshot->before(), node, [](ValueId) { return TensorPtr(); }))
                m_rows.push_back({each.name, std::move(each.data), nullptr, false});
        }
    for (const QString& name : m_results)
        if (const auto at = m_values.constFind(name); at != m_values.cend())
            m_rows.push_back({name, at->unfused, at->fused, true});
    {
        const QSignalBlocker quiet(m_choice);
        m_choice->clear();
        for (const Row& row : m_rows)
            m_choice->addItem(row.result ? tr("%1 (result)").arg(row.name) : row.name);
        m_choice->setCurrentIndex(std::max(0, m_choice->findText(chosen)));
    }
    m_choice->setEnabled(!m_rows.empty());
    m_compute->setEnabled(!m_results.isEmpty() && !m_workbench.measurements.running());
    look();
}

void ValuesPanel::look() {
    const int at = m_choice->currentIndex();
    m_save->setEnabled(at >= 0);
    m_histogram->show({});
    m_text->clear();
    if (at < 0) {
        m_lane.cancel();
        m_facts->setText(m_workbench.session.sketch() && !m_workbench.session.previewing()
                             ? tr("this model can only be looked at: it cannot be run, "
                                  "or its weights are absent")
                         : m_results.isEmpty()
                             ? tr("select a node: what it reads and gives is shown here")
                             : tr("this node reads no constants; Compute results runs the "
                                  "model and shows what it gives"));
        return;
    }
    const Row row = m_rows[static_cast<size_t>(at)];
    m_facts->setText(tr("counting ..."));
    m_text->setPlainText(valuesText(*row.data, valuesShown));
    m_lane.start([this, row](Progress& progress) -> JobLane::Delivery {
        auto facts = app::factsOf(*row.data, [&] { return progress.cancelled(); });
        if (!facts)
            return {};
        const QString differs =
            row.result ? '\n' + differenceText(*row.data, row.fused) : QString();
        return [this, row, facts, differs] {
            m_facts->setText(factsText(*row.data, *facts) + differs);
            m_histogram->show(row.data->dtype() == DType::String ? std::nullopt : facts);
        };
    });
}

bool ValuesPanel::save(const QString& path) {
    const int at = m_choice->currentIndex();
    if (at < 0)
        return false;
    const auto bytes = model_io::npyOf(*m_rows[static_cast<size_t>(at)].data);
    if (!bytes) {
        m_facts->setText(tr("numpy has no element type for this one"));
        return false;
    }
    QSaveFile file(path);
    const bool good = file.open(QFile::WriteOnly) &&
                      file.write(bytes->data(), static_cast<qint64>(bytes->size())) ==
                          static_cast<qint64>(bytes->size()) &&
                      file.commit();
    m_facts->setText(good ? tr("saved %1").arg(path) : tr("cannot write %1").arg(path));
    return good;
}

QWidget* makeValuesPanel(Workbench& workbench, QWidget* parent) {
    return new ValuesPanel(workbench, parent);
}

} // namespace fuselage::studio
