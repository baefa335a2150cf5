// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/values/values_panel.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/workbench/file_dialogs.h"
#include "core/graph/captures.h"

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

QString factsText(const Tensor& tensor, const TensorFacts& facts) {
    const auto number = [](double value) { return QString::number(value, 'g', 5); };
    QStringList out{QString::fromStdString(tensor.type().text()),
                    QObject::tr("%1 values, %2 zero")
                        .arg(facts.count)
                        .arg(facts.count > 0
                                 ? QStringLiteral("%1 %").arg(
                                       100.0 * double(facts.zeros) / double(facts.count), 0, 'f', 1)
                                 : QStringLiteral("none"))};
    if (facts.count > facts.notFinite && tensor.dtype() != DType::String)
        out << QObject::tr("from %1 to %2, mean %3, standard deviation %4")
                   .arg(number(facts.least), number(facts.most), number(facts.mean),
                        number(facts.deviation));
    if (facts.notFinite > 0)
        out << QObject::tr("%1 are not finite").arg(facts.notFinite);
    return out.join('\n');
}

} // namespace

Histogram::Histogram(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("histogram of the values"));
    setFixedHeight(histogramHeight);
}

void Histogram::show(const std::optional<TensorFacts>& facts) {
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
    const double step = double(width()) / TensorFacts::bins;
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
      m_save(new QPushButton(tr("Save as .npy ..."), this)), m_facts(new QLabel(this)),
      m_histogram(new Histogram(this)), m_values(new QPlainTextEdit(this)) {
    m_choice->setAccessibleName(tr("constant of the selected node"));
    m_choice->view()->setAccessibleName(tr("constants of the selected node"));
    m_choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_facts->setAccessibleName(tr("statistics of the values"));
    m_facts->setWordWrap(true);
    m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_values->setAccessibleName(tr("first values"));
    m_values->setReadOnly(true);
    m_values->setTabChangesFocus(true);
    m_values->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_values->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    auto* top = new QHBoxLayout;
    top->addWidget(m_choice, 1);
    top->addWidget(m_save);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->addLayout(top);
    layout->addWidget(m_facts);
    layout->addWidget(m_histogram);
    layout->addWidget(m_values, 1);
    setFocusProxy(m_choice);
    auto changed = [this] {
        m_outdated = true;
        if (isVisible())
            collect();
    };
    connect(&workbench.selection, &SelectionHub::changed, this, changed);
    connect(&workbench.session, &Session::snapshotChanged, this, changed);
    connect(m_choice, &QComboBox::currentIndexChanged, this, &ValuesPanel::look);
    connect(m_save, &QPushButton::clicked, this, [this] {
        const QString proposed = m_choice->currentText().replace('/', '_') + ".npy";
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
    std::vector<Constant> found;
    if (const SnapshotPtr& snapshot = m_workbench.session.snapshot())
        for (const QString& node : m_workbench.selection.selection().before.mid(0, 20))
            for (Constant& each : constantsOf(snapshot->before(), node.toStdString(),
                                              [](ValueId) { return TensorPtr(); }))
                found.push_back(std::move(each));
    {
        const QSignalBlocker quiet(m_choice);
        m_choice->clear();
        m_tensors.clear();
        for (const Constant& each : found) {
            m_choice->addItem(each.name);
            m_tensors.push_back(each.data);
        }
    }
    m_choice->setEnabled(!found.empty());
    look();
}

void ValuesPanel::look() {
    const int at = m_choice->currentIndex();
    m_save->setEnabled(at >= 0);
    m_histogram->show({});
    m_values->clear();
    if (at < 0) {
        m_lane.cancel();
        m_facts->setText(m_workbench.session.sketch()
                             ? tr("this model can only be looked at: its weights were not loaded")
                             : tr("select a node with constants: their values are shown here"));
        return;
    }
    const TensorPtr tensor = m_tensors[static_cast<size_t>(at)];
    m_facts->setText(tr("counting ..."));
    m_values->setPlainText(valuesText(*tensor, valuesShown));
    m_lane.start([this, tensor](Progress& progress) -> JobLane::Delivery {
        auto facts = factsOf(*tensor, [&] { return progress.cancelled(); });
        if (!facts)
            return {};
        return [this, tensor, facts] {
            m_facts->setText(factsText(*tensor, *facts));
            m_histogram->show(tensor->dtype() == DType::String ? std::nullopt : facts);
        };
    });
}

bool ValuesPanel::save(const QString& path) {
    const int at = m_choice->currentIndex();
    if (at < 0)
        return false;
    const QByteArray bytes = npyOf(*m_tensors[static_cast<size_t>(at)]);
    if (bytes.isEmpty()) {
        m_facts->setText(tr("numpy has no element type for this one"));
        return false;
    }
    QSaveFile file(path);
    const bool good =
        file.open(QFile::WriteOnly) && file.write(bytes) == bytes.size() && file.commit();
    m_facts->setText(good ? tr("saved %1").arg(path) : tr("cannot write %1").arg(path));
    return good;
}

QWidget* makeValuesPanel(Workbench& workbench, QWidget* parent) {
    return new ValuesPanel(workbench, parent);
}

} // namespace fuselage::studio
